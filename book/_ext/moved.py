"""A Sphinx extension for sections that went to another page when theirs was parted.

`book/moved.yaml` names them. An address with such a fragment leads to the section where
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


def moved(folder):
    """Fragment to page, by page, all below book/."""
    path = Path(folder) / "book" / "moved.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _load(app, pagename, templatename, context, doctree):
    """Give a page that was parted its script, and no other page."""
    found = moved(app.srcdir).get(pagename.removeprefix("book/"))
    if found:
        app.add_js_file(None, body=SCRIPT.format(moved=json.dumps(found)))


def setup(app):
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
