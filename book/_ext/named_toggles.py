"""A Sphinx extension that names what the theme leaves without a name: the toggles of the
table of contents, which a screen reader would announce as nothing.
"""

from pathlib import Path

TOGGLE = '<summary><span class="toctree-toggle"'


def _name(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if TOGGLE in text:
            named = TOGGLE.replace("<summary>", '<summary aria-label="pages below">')
            path.write_text(text.replace(TOGGLE, named), encoding="utf-8")


def setup(app):
    app.connect("build-finished", _name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
