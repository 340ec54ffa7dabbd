"""Records as a table of paper and ours."""

import re

import pandas as pd

from mia_lib import checks

SORT = """<script>
(() => {
  const table = document.getElementById("NAME"), body = table.tBodies[0];
  const heads = [...table.tHead.querySelectorAll("th")];
  const sort = (head, column) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const cell = row => row.cells[column].textContent.trim();
    const number = text => parseFloat(text.replace(/,/g, ""));  // the first of "1,234 [5, 6]"
    const order = (a, b) => {
      const apart = number(a) - number(b);
      if (!isNaN(apart) && apart) return apart;
      return isNaN(number(a)) - isNaN(number(b)) || a.localeCompare(b);  // numbers before words
    };
    [...body.rows].sort((a, b) => (down ? -1 : 1) * order(cell(a), cell(b)))
      .forEach(row => body.append(row));
  };
  heads.forEach((head, column) => {
    head.tabIndex = 0; head.style.cursor = "pointer"; head.title = "sort";
    head.onclick = () => sort(head, column);
    head.onkeydown = event => { if (event.key === "Enter") sort(head, column); };
  });
})();
</script>"""


def table(records, ids=None):
    """Paper and ours side by side, for display.

    Parameters
    ----------
    records : dict or list of dict
        One record or several.
    ids : list of str, optional
        Only rows with these ids, in this order.

    Returns
    -------
    pandas.DataFrame
        One line per row: id, what, data, scale, paper, where, ours with its interval, n, note.
        Texts, rounded to three digits.

    Raises
    ------
    ValueError
        No record, an id that no row has.

    Examples
    --------
    >>> from mia_lib.results import row
    >>> record = {"data": "digits", "scale": "seeds", "rows": [row("L2", "AUC", 0.7214, low=0.71,
    ...     high=0.733, n=256, paper=0.722)]}
    >>> table(record).loc[0, ["paper", "ours"]].to_list()
    ['0.722', '0.721 [0.710, 0.733]']
    """
    records = [records] if isinstance(records, dict) else list(records)
    if not records:
        checks.fail("records", "none", "at least one record")
    lines = [
        {
            "id": entry["id"],
            "what": entry["what"],
            "data": record["data"],
            "scale": record["scale"],
            "paper": _printed(entry["paper"]),
            "where": entry["where"] or "",
            "ours": _ours(entry),
            "n": "" if entry["n"] is None else f"{entry['n']:,}",
            "note": entry["note"],
        }
        for record in records
        for entry in record["rows"]
    ]
    if ids is not None:
        known = {line["id"] for line in lines}
        for wanted in ids:
            if wanted not in known:
                checks.fail("ids", repr(wanted), "one of " + ", ".join(map(repr, sorted(known))))
        lines = [line for wanted in ids for line in lines if line["id"] == wanted]
    return pd.DataFrame(lines)


def matching(records, pattern):
    """The rows whose names have one form, with the parts of the name as columns.

    Parameters
    ----------
    records : dict or list of dict
        One record or several.
    pattern : str
        A regular expression that fits all of a row's `what`, such as
        ``r"AUC, (?P<model>.*) after (?P<epochs>\\d+) epochs"``.

    Returns
    -------
    pandas.DataFrame
        One line per row: its named groups, whole numbers as such, then data, what, value, low,
        high, and ours as a text with its interval.

    Raises
    ------
    ValueError
        No row of that form.

    Notes
    -----
    Taught in book/mace_replicated.ipynb.

    Examples
    --------
    >>> from mia_lib.results import row
    >>> record = {"data": "digits", "rows": [row("B9", "AUC after 10 epochs", 0.5, n=20)]}
    >>> matching(record, r"AUC after (?P<epochs>\\d+) epochs")["epochs"].to_list()
    [10]
    """
    records = [records] if isinstance(records, dict) else list(records)
    lines = [
        found.groupdict()
        | {"data": record["data"]}
        | {name: entry[name] for name in ("what", "value", "low", "high")}
        | {"ours": _ours(entry)}
        for record in records
        for entry in record["rows"]
        if (found := re.fullmatch(pattern, entry["what"]))
    ]
    if not lines:
        checks.fail("pattern", repr(pattern), "the form of at least one row's name")
    frame = pd.DataFrame(lines)
    for name in re.compile(pattern).groupindex:
        if frame[name].str.fullmatch(r"\d+").all():
            frame[name] = frame[name].astype(int)
    return frame


def sortable(frame, name):
    """A table whose headings sort it, by mouse or keyboard: numbers by size, then words.

    Parameters
    ----------
    frame : pandas.DataFrame
        Texts; its index is not shown.
    name : str
        The table's id on the page.

    Returns
    -------
    str
        HTML with its script.

    Notes
    -----
    Taught in book/replication.ipynb.

    Examples
    --------
    >>> 'id="papers"' in sortable(pd.DataFrame({"paper": ["b", "a"]}), "papers")
    True
    """
    return frame.to_html(table_id=name, index=False, border=0) + SORT.replace("NAME", name)


def _printed(paper):
    """The paper's figure as the paper prints it."""
    return "" if paper is None else paper if isinstance(paper, str) else f"{paper:,}"


def _shown(value):
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def _ours(entry):
    if entry["value"] is None:
        return "not measured"
    if entry["low"] is None:
        return _shown(entry["value"])
    return f"{_shown(entry['value'])} [{_shown(entry['low'])}, {_shown(entry['high'])}]"
