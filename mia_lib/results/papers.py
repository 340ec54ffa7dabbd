"""The papers' numbers, by table, row and column as printed, from the files in book/papers."""

import difflib
from decimal import Decimal
from functools import cache
from pathlib import Path

from mia_lib import checks

FOLDER = Path(__file__).parents[2] / "book" / "papers"  # of a clone


def paper(paper, table, row, column):
    """A number that a paper reports.

    Parameters
    ----------
    paper : str
        "lira", "mace-v1", "mace-v2", "song-mittal" or "hr-mmd": a file of book/papers, whose
        README.md states how names are written.
    table : str
        As printed, such as "Table I" or "Figure 3"; "text" for a number of the running text.
    row : str
        As printed, or what a number of the text is about.
    column : str
        As printed, the levels of a heading joined by ", "; "value" for a number of the text.

    Returns
    -------
    float or None
        As printed; per cent as a fraction, so that 8.4 % is 0.084. None where the paper prints a
        dash.

    Raises
    ------
    ValueError
        An unknown paper, table, row or column, with the names that are nearest to it; a library
        that is not installed from a clone and so has no files to read.

    Notes
    -----
    Used in book/lira.ipynb, book/metric_attacks.ipynb and book/defenses.ipynb.

    Examples
    --------
    >>> paper("lira", "Table I", "Ours", "TPR @ 0.1% FPR, C-10")
    0.084
    """
    numbers = _numbers(FOLDER / f"{_known('paper', paper, _papers(FOLDER))}.yaml")
    rows = numbers[_known("table", table, numbers)]
    cells = rows[_known("row", row, rows)]
    return cells[_known("column", column, cells)]


def _papers(folder):
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if not names:
        checks.fail(
            "paper",
            f"an installation without {folder}",
            "a clone of the project, installed by `pip install --editable .`",
        )
    return names


@cache
def _numbers(path):
    """What a file holds, as {table: {row: {column: number or None}}}."""
    import yaml  # here, since a machine that only trains can do without it

    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    numbers = {
        "text": {
            name: {"value": _number(entry["value"], entry["unit"])}
            for name, entry in document.get("text", {}).items()
        }
    }
    for name, table in (document["tables"] | document.get("figures", {})).items():
        units = dict.fromkeys(table["columns"], table["unit"]) | table.get("units", {})
        numbers[name] = {
            row: {column: _number(cell, units[column]) for column, cell in zip(units, cells)}
            for row, cells in table["rows"].items()
        }
    return numbers


def _number(printed, unit):
    """The cell as a float: 8.4 in per cent is 0.084, exactly the float that one types."""
    if printed is None:
        return None
    return float(Decimal(str(printed)) / (100 if unit == "%" else 1))


def _known(name, given, choices):
    if given not in list(choices):
        nearest = difflib.get_close_matches(str(given), choices, n=3, cutoff=0)
        checks.fail(name, repr(given), f"a name in book/papers, such as {nearest}")
    return given
