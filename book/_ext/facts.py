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
        return "What running takes was not measured."
    return f"Runs in {max(1, round(seconds))} processor seconds, measured."


def reading(words, lines, exercises):
    """Minutes for the page, and for its exercises if it has any."""
    page = rounded(words / WORDS_A_MINUTE + lines / LINES_A_MINUTE)
    more = exercises * MINUTES_AN_EXERCISE
    return f"Reads in {page} min, {f'exercises {more}, ' if more else ''}"


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
    return f"{running(seconds)} {reading(*counted(notebook))}", f". Outputs of {made}."


def _insert(app, doctree, name):
    """A line below the title."""
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is None or app.builder.format != "html":
        return
    before, after = facts(Path(app.srcdir), name, doctree)
    link = nodes.emphasis("", "estimated")
    if SYLLABUS in app.env.found_docs:
        address = app.builder.get_relative_uri(name, SYLLABUS)
        link = nodes.reference("", "estimated", internal=True, refuri=address)
    line = nodes.paragraph("", "", nodes.Text(before), link, nodes.Text(after))
    line["classes"].append("page-facts")
    title.parent.insert(title.parent.index(title) + 1, line)


def setup(app):
    app.connect("doctree-resolved", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
