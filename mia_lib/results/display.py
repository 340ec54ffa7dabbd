"""Records as a table of paper and ours."""

import pandas as pd

from mia_lib import checks


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
