"""A Sphinx extension for what a page plays without a server.

    ```{play} game
    A sentence that names it for a screen reader.
    ```

becomes a place for `_static/play/game.js`, with the numbers of `play/game.json` inside
the page, so that it works from a file as from a server. Until the script has run, and
where there is none, the table `still` of the numbers stands there.
"""

import html
import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

SHARED = ("stats.js", "ui.js")


def still(table):
    """The table that is seen without scripts, as HTML."""

    def cells(tag, texts, scope=""):
        return "".join(f"<{tag}{scope}>{html.escape(text)}</{tag}>" for text in texts)

    rows = "".join(
        f"<tr>{cells('th', [first], ' scope=row')}{cells('td', rest)}</tr>"
        for first, *rest in table["rows"]
    )
    head = cells("th", table["head"], " scope=col")
    caption = html.escape(table["caption"])
    return (
        f'<div class="play-still" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


class Play(Directive):
    """The directive."""

    required_arguments = 1
    has_content = True

    def run(self):
        name, env = self.arguments[0], self.state.document.settings.env
        path = Path(env.srcdir) / "book" / "play" / f"{name}.json"
        env.note_dependency(str(path))
        env.metadata[env.docname]["play"] = name
        text = path.read_text(encoding="utf-8")
        label = html.escape(" ".join(self.content))
        inside = text.replace("</", "<\\/")
        place = (
            f'<div class="play" id="play-{name}" role="region" aria-label="{label}">'
            f"{still(json.loads(text)['still'])}"
            f'<script type="application/json">{inside}</script></div>'
        )
        return [nodes.raw("", place, format="html")]


def _load(app, pagename, templatename, context, doctree):
    """Give a page that plays its scripts, and no other page."""
    name = app.env.metadata.get(pagename, {}).get("play")
    if name:
        app.add_css_file("play/play.css")
        for script in (*SHARED, f"{name}.js"):
            app.add_js_file(f"play/{script}", loading_method="defer")


def setup(app):
    app.add_directive("play", Play)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
