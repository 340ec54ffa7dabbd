"""A Sphinx extension that says at the head of every page what it takes to run and to
read, and when its numbers were made.

Processor time is measured (`make costs`); it hardly depends on what else a machine
does, while a time by the clock does. Reading is estimated by the rule of the syllabus.
The day is that on which the stored outputs of the page were made.
"""

import json
import math
from pathlib import Path

from docutils import nodes
from syllabus import LINES_A_MINUTE, MINUTES_AN_EXERCISE, WORDS_A_MINUTE, counted

SYLLABUS = "book/course/syllabus"


def rounded(minutes):
    """Up to five minutes, and at least one."""
    return 5 * math.ceil(minutes / 5) if minutes > 4 else max(1, math.ceil(minutes))


def running(seconds):
    """What running takes, or that it was not measured."""
    if seconds is None:
        return "To run: not measured."
    return f"To run: {max(1, round(seconds))} s of processor time, measured."


def reading(words, lines, exercises):
    """Two estimates in minutes."""
    page = rounded(words / WORDS_A_MINUTE + lines / LINES_A_MINUTE)
    more = exercises * MINUTES_AN_EXERCISE
    extra = f", its exercises {more} min more" if more else ""
    return f"To read: about {page} min{extra}, by the rule of the "


def facts(srcdir, name, doctree):
    """The sentences before and after the link to the rule.

    Parameters
    ----------
    srcdir : pathlib.Path
        With the pages and book/costs.json.
    name : str
        Of the page, below srcdir.
    doctree : docutils.nodes.document
        A page without code is counted as it is shown, docstrings included.
    """
    notebook = srcdir / f"{name}.ipynb"
    if not notebook.is_file():
        words = doctree.astext().split()
        return reading(sum(any(map(str.isalpha, word)) for word in words), 0, 0), "."
    costs = srcdir / "book" / "costs.json"
    costs = json.loads(costs.read_text(encoding="utf-8")) if costs.is_file() else {}
    seconds = costs.get(f"{name}.ipynb", {}).get("processor_seconds")
    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]
    made = metadata.get("made", "an unknown day")
    day = f" Its numbers were made on {made}, those of recorded runs before."
    return f"{running(seconds)} {reading(*counted(notebook))}", f".{day}"


def _insert(app, doctree, name):
    """A line below the title."""
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is None or app.builder.format != "html":
        return
    before, after = facts(Path(app.srcdir), name, doctree)
    link = nodes.emphasis("", "syllabus")
    if SYLLABUS in app.env.found_docs:
        address = app.builder.get_relative_uri(name, SYLLABUS)
        link = nodes.reference("", "syllabus", internal=True, refuri=address)
    line = nodes.paragraph("", "", nodes.Text(before), link, nodes.Text(after))
    line["classes"].append("page-facts")
    title.parent.insert(title.parent.index(title) + 1, line)


def setup(app):
    app.connect("doctree-resolved", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
