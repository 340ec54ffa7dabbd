"""A Sphinx extension for sections that went to another page when theirs was parted.

`book/moved.yaml` names them; what a page on several modules of the library had of one
is on the module's page. An address with such a fragment leads to the section where
it is now; without scripts it leads to the page that had it, which names the other.
"""

import json
from pathlib import Path

import yaml

SCRIPT = (
    "{{ const moved = {moved}, asked = location.hash.slice(1);"
    " if (Object.hasOwn(moved, asked))"
    " location.replace(`${{moved[asked]}}.html#${{asked}}`); }}"
)

LIBRARY = (
    "{ const asked = location.hash.match(/^#(?:module-)?mia_lib\\.(\\w+)/);"
    " if (asked) location.replace(`modules/${asked[1]}.html${location.hash}`); }"
)
GROUPS = (
    "statistics",
    "data",
    "training",
    "attacks",
    "bayes",
    "generative",
    "experiment",
)


def moved(folder):
    """Fragment to page, by page, all below book/."""
    path = Path(folder) / "book" / "moved.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _load(app, pagename, templatename, context, doctree):
    """Give a page that was parted its script, and no other page."""
    found = moved(app.srcdir).get(pagename.removeprefix("book/"))
    if found:
        app.add_js_file(None, body=SCRIPT.format(moved=json.dumps(found)))
    if pagename in [f"book/reference/{name}" for name in GROUPS]:
        app.add_js_file(None, body=LIBRARY)


def setup(app):
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
