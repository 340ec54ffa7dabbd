"""A Sphinx extension that mends what the theme and the bibliography leave to be desired
for those who listen to a page: toggles of the table of contents without a name, and a
list whose items have a role that lists do not know and that has since been withdrawn.
"""

from pathlib import Path

MENDED = {
    '<summary><span class="toctree-toggle"': '<summary aria-label="pages below">'
    '<span class="toctree-toggle"',
    'role="doc-biblioentry"': 'role="listitem"',
}


def _mend(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = before = path.read_text(encoding="utf-8")
        for old, new in MENDED.items():
            text = text.replace(old, new)
        if text != before:
            path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
