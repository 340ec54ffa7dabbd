"""Make what students get of the problem sets: no solutions, no hidden tests, no outputs.

    python scripts/handout.py [CHAPTER ...]

The problem sets in `book/course/problems/` are in nbgrader's format, so that nbgrader can release
and grade them. This script does the first of it without nbgrader: it replaces what stands between
`### BEGIN SOLUTION` and `### END SOLUTION` by a line that raises NotImplementedError, and takes out
what stands between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`. Only the standard library
is used.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "book" / "course" / "problems"
BUILD = ROOT / "_build" / "handout"
SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")


def without(source, marks, stub=()):
    """Take the marked regions out of a cell, and put a stub in the place of each.

    Parameters
    ----------
    source : str
        The text of the cell.
    marks : (str, str)
        What the first and the last line of a region say.
    stub : sequence of str
        Lines that stand there instead, indented as the region was.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        A region that is not closed, is closed twice or begins in another one.
    """
    kept, inside = [], False
    for line in source.split("\n"):
        if line.strip() in marks:
            if inside != (line.strip() == marks[1]):
                raise ValueError(f"source: {line.strip()!r} out of its place in\n{source}")
            inside = not inside
            if inside:
                indent = re.match(r"\s*", line)[0]
                kept += [indent + one for one in stub]
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError(f"source: {marks[0]!r} is never closed in\n{source}")
    return "\n".join(kept).rstrip("\n")


def handout(notebook):
    """The students' version of a problem set; the notebook itself is left as it is."""
    cells = []
    for cell in notebook["cells"]:
        source, cell = "".join(cell["source"]), dict(cell)
        marks = cell["metadata"]["nbgrader"]
        if marks["solution"]:
            source = without(source, SOLUTION, STUB)
        if marks["grade"]:
            source = without(source, HIDDEN)
        cell["source"] = source.splitlines(keepends=True)
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
        cells.append(cell)
    return {**notebook, "cells": cells}


def build(names=(), folder=BUILD):
    """Write the handouts of some chapters, or of all; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in sorted(PROBLEMS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        made = handout(json.loads(path.read_text(encoding="utf-8")))
        written.append(folder / path.name)
        text = json.dumps(made, indent=1, ensure_ascii=False)
        written[-1].write_text(text + "\n", encoding="utf-8")
    return written


def main(names):
    there = sorted(path.stem for path in PROBLEMS.glob("*.ipynb"))
    unknown = sorted(set(names) - set(there))
    if unknown:
        print(f"no problem set {', '.join(unknown)}; there are {', '.join(there)}")
        return 1
    print(f"{len(build(names))} handouts: {BUILD}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
