"""Notebook hygiene: what a stored notebook must be before it is committed.

    python scripts/check_notebooks.py [NOTEBOOK ...]

Without names it looks at every notebook of book/ and notebooks/.

Prints one line per problem and exits with 1 if there is any. Only the standard library is used, so
that the commit hook needs no environment. Among the problems is a compared cell whose draws depend
on training: the rule is written down in `touched_generators`.
"""

import json
import re
import sys
from pathlib import Path

import touched_generators

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
HOMES = ("home", "Users", "root", "tmp", "private/var")  # folders of one machine or one user
MACHINE_PATH = re.compile(rf"(?<![\w.:/])(?:/(?:{'|'.join(HOMES)})/|[A-Z]:\\+Users\\)[\w.\-]+")
LONGEST_CELL = 30  # lines, those of parameters aside
NO_ALT = re.compile(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")[^>]*>")


def _text(value):
    return value if isinstance(value, str) else "".join(value)


def _output_text(output):
    """What the reader sees of an output as text; pictures are left out."""
    parts = [_text(output.get("text", ""))] + [str(line) for line in output.get("traceback", [])]
    data = output.get("data", {})
    return "\n".join(parts + [_text(data[kind]) for kind in data if kind.startswith("text/")])


def _code_problems(cell):
    tags = cell["metadata"].get("tags", [])
    mystnb = cell["metadata"].get("mystnb", {})
    if "injected-parameters" in tags:
        yield "an injected parameter cell is stored"
    lines = len(_text(cell["source"]).strip().splitlines())
    if lines > LONGEST_CELL and "parameters" not in tags:
        yield f"the cell has {lines} lines, expected at most {LONGEST_CELL}"
    for output in cell["outputs"]:
        if output["output_type"] == "error" and "raises-exception" not in tags:
            yield f"an error is stored: {output.get('ename')}: {output.get('evalue')}"
        if any(kind in output.get("data", {}) for kind in PICTURES):
            if not str(mystnb.get("image", {}).get("alt", "")).strip():
                yield "a picture has no alt text (cell metadata mystnb: image: alt)"
        text = _output_text(output)
        found = MACHINE_PATH.search(text)
        if found or str(ROOT) in text:
            yield f"an output names a path of one machine: {found.group() if found else ROOT}"
    if (
        _text(cell["source"]).strip()
        and cell["execution_count"] is None
        and "skip-execution" not in tags
    ):
        yield "the cell was never executed"


def problems(path):
    """List what is wrong with one stored notebook.

    Parameters
    ----------
    path : str or Path
        An .ipynb file.

    Returns
    -------
    list of str
        One line per problem, empty for a clean notebook.
    """
    path = Path(path)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = notebook["cells"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"{path.name}: not a notebook: {type(error).__name__}: {error}"]
    found = []
    kernel = notebook["metadata"].get("kernelspec", {})
    if kernel.get("name") != "python3" or kernel.get("language", "python") != "python":
        found.append(f"the kernel is {kernel.get('name')!r}, expected 'python3'")
    if "widgets" in notebook["metadata"]:
        found.append("widget state is stored")
    if "papermill" in notebook["metadata"]:
        found.append("the metadata of a papermill run are stored")
    if notebook.get("nbformat") != 4:
        found.append(f"the format is version {notebook.get('nbformat')}, expected 4")
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            found += [f"cell {number}: {problem}" for problem in _code_problems(cell)]
        elif cell["cell_type"] == "markdown" and NO_ALT.search(_text(cell["source"])):
            found.append(f"cell {number}: a picture in the text has no alt text")
    found += touched_generators.faults(cells)
    counts = [
        cell["execution_count"]
        for cell in cells
        if cell["cell_type"] == "code" and cell["execution_count"]
    ]
    if counts != sorted(set(counts)):
        found.append("the cells were not executed from top to bottom")
    return [f"{path.name}: {line}" for line in found]


def stored():
    """Every notebook of the repository that is stored executed, sorted."""
    paths = [path for folder in ("book", "notebooks") for path in (ROOT / folder).rglob("*.ipynb")]
    return sorted(
        path
        for path in paths
        if ".ipynb_checkpoints" not in path.parts and "_build" not in path.parts
    )


def main(names):
    found = [line for path in (names or stored()) for line in problems(path)]
    print("\n".join(found) if found else "notebooks: no problem found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
