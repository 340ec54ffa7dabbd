"""A Sphinx extension that makes the tables of the syllabus from `course/plan.yaml` and
estimates the hours from the pages themselves, so that they follow every change.
"""

import json
import math
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

WORDS_A_MINUTE = 120  # of a text with formulas, slower than a novel's 250
LINES_A_MINUTE = 5  # of code that is read, run and understood
MINUTES_AN_EXERCISE = 25
RULE = (
    f"Hours are estimates by one rule and not measured: {WORDS_A_MINUTE} words or "
    f"{LINES_A_MINUTE} lines of code a minute, and {MINUTES_AN_EXERCISE} minutes for "
    "an exercise, rounded up to half hours. Papers come on top."
)


def counted(path):
    """Words, lines of code and exercises of a page."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = {"markdown": "", "code": ""}
        for cell in cells:
            texts[cell["cell_type"]] += "".join(cell["source"]) + "\n"
    else:
        texts = {"markdown": path.read_text(encoding="utf-8"), "code": ""}
    words = [word for word in texts["markdown"].split() if any(map(str.isalpha, word))]
    lines = [line for line in texts["code"].splitlines() if line.strip()]
    return len(words), len(lines), texts["markdown"].count("{exercise}")


def hours(paths):
    """Estimated hours of reading some pages, and of their exercises."""
    words, lines, exercises = map(sum, zip(*map(counted, paths)))
    minutes = (
        words / WORDS_A_MINUTE + lines / LINES_A_MINUTE,
        exercises * MINUTES_AN_EXERCISE,
    )
    return tuple(math.ceil(one / 30) / 2 for one in minutes)


def page(book, name):
    """The file of a page."""
    (found,) = (p for p in (book / f"{name}.ipynb", book / f"{name}.md") if p.is_file())
    return found


def table(book, plan, unit):
    """Lines of a Markdown table."""
    lines = [f"| {unit} | pages | afterwards you can | papers | reading | exercises |"]
    lines.append("|---|---|---|---|---|---|")
    for place, row in enumerate(plan, 1):
        reading, exercises = hours([page(book, name) for name in row["pages"]])
        links = ", ".join(f"{{doc}}`../{name}`" for name in row["pages"])
        papers = f"{{cite:t}}`{','.join(row['papers'])}`"
        lines.append(
            f"| {place} | {links} | {row['goal']} | {papers} | {reading:g} h "
            f"| {exercises:g} h |"
        )
    return lines


def problems(book, plan):
    """Lines of a Markdown table of the problem sets, in the order of the course."""
    lines = ["| chapter | graded cells | points |", "|---|---|---|"]
    for name, points in plan["problems"].items():
        path = book / "course" / "problems" / f"{name}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        graded = sum(cell["metadata"]["nbgrader"]["grade"] for cell in cells)
        lines.append(f"| {{doc}}`../{name}` | {graded} | {points} |")
    return lines


class Syllabus(SphinxDirective):
    """`rule`, `weeks`, `days` or `problems`."""

    required_arguments = 1

    def run(self):
        book = Path(self.env.srcdir) / "book"
        source, what = book / "course" / "plan.yaml", self.arguments[0]
        lines = [RULE]
        if what != "rule":
            plan = yaml.safe_load(source.read_text(encoding="utf-8"))
            if what == "problems":
                lines = problems(book, plan)
                read = (book / "course" / "problems").glob("*.ipynb")
            else:
                lines = table(book, plan[what], what.removesuffix("s"))
                read = (page(book, n) for row in plan[what] for n in row["pages"])
            for file in (source, *read):
                self.env.note_dependency(str(file))
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=str(source)), 0, node)
        return node.children


def setup(app):
    app.add_directive("syllabus", Syllabus)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
