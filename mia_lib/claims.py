"""The papers' claims as data, and what the records say about each of them by one rule.

book/claims.yaml is a list of claims. An entry has

- id, paper, claim, place: a name, the file of book/papers or, of what came after the five papers,
  a name of `LATER`, the claim in our words, where it is;
- number: arguments of `results.paper` after the paper, where it prints one (may be left out);
- notebook, what: the rows of records that decide it. A list of notebooks means the records of each,
  a list of rows the first that a record has. With `minus` or `over` it is the difference or the
  ratio of two rows of one record. `what: not measured` where no record decides it;
- needs: of a row that a notebook makes of two others, these two. Where one of them is not resolved
  the notebook writes no such row, and the claim is undecided there and not unasked;
- region: [low, high], "above X" or "below X", which leave X out; reason: why that region. An end
  that the quantity cannot pass, such as a rate of 0, is infinite: an interval that is doubled may
  pass it;
- data, scale: the data sets it is asked on, or "every" one with such a record; a scale, or the
  "largest" of each data set;
- computed: true where the row is computed without any sampling, so that it needs no interval;
- cannot_say: data sets where the row cannot tell whether the claim holds, whatever it comes to, and
  why: a network that learned nothing, a floor above the region, an opponent too weak. There the
  claim is undecided;
- region_since: when the region was written down, a day or an instant with its time zone;
  seen_before: whether a record that decides the claim, or a pilot, existed by then.
"""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from mia_lib import checks, compare, results
from mia_lib.intervals import Estimate
from mia_lib.results.schema import SCALES

FILE = Path(__file__).parents[1] / "book" / "claims.yaml"  # of a clone
NOT_MEASURED = "not measured"
LATER = {  # papers that came after the five and print no number that is used here, by their claims
    "rmia": "Zarifzadeh et al. 2024",
    "base": "Lassila et al. 2025",
    "bavaria": "Brännvall 2026",
    "reliability": "Jälkö et al. 2026",
    "tail": "Dodd et al. 2025",
    "traces": "Pollock et al. 2024",
    "power-law": "Tobaben et al. 2024",
    "domias": "van Breugel et al. 2023",
}
# In a row's note: the rate is too low for the records, or the network has nothing to give away.
UNRESOLVED = ("not resolved", "not resolvable", "too few to be sure", "< floor")
UNRESOLVED += ("broke the network",)
_NEEDED = {
    "id": str,
    "paper": str,
    "claim": str,
    "place": str,
    "what": (str, list),
    "region": (str, list),
    "reason": str,
    "region_since": datetime.date,
    "seen_before": bool,
}
_MEASURED = {"notebook": (str, list), "data": (str, list), "scale": str}
_OPTIONAL = {
    "number": list,
    "minus": (str, list),
    "over": (str, list),
    "needs": list,
    "computed": bool,
    "cannot_say": dict,
}
_NAMES = ("notebook", "what", "minus", "over", "needs", "data", "number")


def load(path=None):
    """The claims of a file, checked.

    Parameters
    ----------
    path : path, optional
        None: book/claims.yaml of the project.

    Returns
    -------
    list of dict
        As written, with `region` as two floats.

    Raises
    ------
    ValueError
        No such file; an entry that is missing, unknown or of another type; two claims of one id; a
        number that the paper does not print.

    Notes
    -----
    Taught in book/replication.ipynb.

    Examples
    --------
    >>> load()[0]["paper"]
    'lira'
    """
    import yaml  # here, since a machine that only trains can do without it

    path = FILE if path is None else Path(path)
    if not path.is_file():
        checks.fail("path", repr(str(path)), "a file of claims, such as book/claims.yaml")
    claims = yaml.safe_load(path.read_text(encoding="utf-8"))
    seen = set()
    for place, claim in enumerate(claims):
        name = f"claims[{claim.get('id', place)}]"
        _check(name, claim)
        if claim["id"] in seen:
            checks.fail(f"{name}.id", "one that came before", "a new one")
        seen.add(claim["id"])
        claim["region"] = _region(f"{name}.region", claim["region"])
        if "number" in claim:
            results.paper(claim["paper"], *claim["number"])
    return claims


def evaluate(claims, records=None):
    """What the records say about each claim.

    Parameters
    ----------
    claims : list of dict
        From `load`.
    records : list of dict, optional
        Default: all records of the project.

    Returns
    -------
    pandas.DataFrame
        A line for each claim and record that decides it, and one for a claim that none decides: id,
        paper, claim, place, printed (what the paper prints, or None), region (two floats), reason,
        notebook, data, scale, date, ours (`Estimate`), verdict (of `compare.verdict`, or "not
        measured"), stays (whether the verdict is the same when both sides of the interval are
        doubled), left_open (why the row `cannot_say`, which makes the verdict "undecided"; else
        empty). An interval of no width is one only for what is `computed`; else it is left out.

    Raises
    ------
    ValueError
        A scale that no record can have.

    Notes
    -----
    The interval of a difference is [low - high, high - low] and that of a ratio of two that are not
    below 0 [low / high, high / low]. For normal errors it covers at least as often as its parts,
    however the two rows depend on each other, because the standard deviation of a difference is at
    most the sum of both. Taught in book/replication.ipynb.

    Examples
    --------
    >>> record = {"notebook": "lira", "data": "digits", "scale": "paper", "date": "2026-11-23",
    ...     "rows": [{"what": "AUC", "value": 0.6, "low": 0.59, "high": 0.61}]}
    >>> claim = {"id": "a", "paper": "lira", "claim": "It leaks.", "place": "", "notebook": "lira",
    ...     "what": "AUC", "region": (0.5, 1), "reason": "", "data": "every", "scale": "largest"}
    >>> evaluate([claim], [record]).loc[0, "verdict"]
    'confirmed'
    """
    records = results.find() if records is None else records
    lines = []
    for claim in claims:
        found = [
            {key: record[key] for key in ("notebook", "data", "scale", "date")}
            | _judged(ours, claim["region"], claim.get("computed", False))
            | _left_open(claim, record["data"])
            for record in _asked(claim, records)
            if (ours := measured(claim, record)) is not None
        ]
        nothing = Estimate(np.nan, np.nan, np.nan)
        missing = {"ours": nothing, "verdict": NOT_MEASURED, "stays": False, "left_open": ""}
        missing |= {"notebook": "".join(_listed(claim.get("notebook", []))[:1])}
        missing |= dict.fromkeys(("data", "scale", "date"), "")
        for line in found or [missing]:
            kept = ("id", "paper", "claim", "place", "region", "reason")
            number = claim.get("number")
            lines.append(
                {key: claim[key] for key in kept}
                | {"printed": None if number is None else results.paper(claim["paper"], *number)}
                | line
            )
    return pd.DataFrame(lines)


def measured(claim, record):
    """What a record has of the quantity that decides a claim.

    Parameters
    ----------
    claim : dict
        One of `load`.
    record : dict
        One of `results.find`.

    Returns
    -------
    Estimate or None
        None where the record lacks a row. Without ends where a row has no interval. NaN where a row
        says that its rate is not resolved, or one that a missing row needs: nothing is judged by
        it.

    Notes
    -----
    Used in book/replication.ipynb.

    Examples
    --------
    >>> rows = [{"what": "a", "value": 3.0, "low": 2.0, "high": 4.0},
    ...     {"what": "b", "value": 1.0, "low": 0.5, "high": 1.5}]
    >>> measured({"what": "a", "minus": "b"}, {"rows": rows})
    Estimate(value=2.0, low=0.5, high=3.5)
    """
    parts = [_row(claim[key], record["rows"]) for key in ("what", "minus", "over") if key in claim]
    if None in parts:
        needed = [_row(name, record["rows"]) for name in claim.get("needs", [])]
        unresolved = any(row is not None and np.isnan(row.value) for row in needed)
        return Estimate(np.nan, np.nan, np.nan) if unresolved else None
    if claim.get("computed"):
        return Estimate(parts[0].value, parts[0].value, parts[0].value)
    if len(parts) == 1:
        return parts[0]
    first, second = parts
    sides = (first.value, second.value), (first.low, second.high), (first.high, second.low)
    if any(side is None for pair in sides for side in pair):
        sides = sides[:1]
    elif "over" in claim:  # what is below 0 is farthest from it over the smaller number
        low = second.high if not first.low < 0 else second.low
        high = second.low if not first.high < 0 else second.high
        sides = sides[0], (first.low, low), (first.high, high)
    combined = [_over(*pair) if "over" in claim else pair[0] - pair[1] for pair in sides]
    return Estimate(*combined, *[None, None][: 3 - len(combined)])


def in_words(region):
    """A region as a reader says it.

    Parameters
    ----------
    region : (float, float)
        As `load` gives it.

    Returns
    -------
    str

    Notes
    -----
    Used in book/replication.ipynb.

    Examples
    --------
    >>> in_words((5e-324, float("inf"))), in_words((0.8, 1.25)), in_words((-float("inf"), 0.002))
    ('above 0', '0.8 to 1.25', 'at most 0.002')
    """
    low, high = region
    if np.isinf(high):
        bound, left_out = _bound(low, -np.inf)
        return f"{'above' if left_out else 'at least'} {bound}"
    if np.isinf(low):
        bound, left_out = _bound(high, np.inf)
        return f"{'below' if left_out else 'at most'} {bound}"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _bound(end, outward):
    """What somebody typed to get this end, and whether it is the neighbour of that number."""
    typed = f"{np.nextafter(end, outward) + 0.0:.12g}"
    left_out = len(typed) < len(repr(float(end)).removesuffix(".0"))
    return (typed if left_out else f"{end:g}"), left_out


def _judged(ours, region, computed):
    if not computed and ours.low == ours.high:  # resampling cannot vary what all records share
        ours = Estimate(ours.value, None, None)
    verdict = compare.verdict(ours, region)
    if ours.low is None:
        return {"ours": ours, "verdict": verdict, "stays": False}
    with np.errstate(invalid="ignore"):  # an infinite value less an infinite end
        sides = [np.nan_to_num(2 * end - ours.value, nan=end) for end in (ours.low, ours.high)]
    wide = Estimate(ours.value, *(float(side) for side in sides))
    return {"ours": ours, "verdict": verdict, "stays": compare.verdict(wide, region) == verdict}


def _left_open(claim, name):
    """Why the row of this data set cannot tell, and what a line then has instead."""
    why = claim.get("cannot_say", {}).get(name, "")
    return {"left_open": why} | ({"verdict": "undecided", "stays": True} if why else {})


def _asked(claim, records):
    """The records that a claim names: of each of its notebooks, of its data sets and scale."""
    chosen = [
        record
        for record in records
        if record["notebook"] in _listed(claim.get("notebook", []))
        and (claim["data"] == "every" or record["data"] in claim["data"])
        and claim["scale"] in ("largest", record["scale"])
        and measured(claim, record) is not None
    ]
    place = _listed(claim.get("notebook", [])).index
    chosen.sort(key=lambda r: (r["data"], place(r["notebook"]), SCALES.index(r["scale"])))
    return list({(record["data"], record["notebook"]): record for record in chosen}.values())


def _row(names, rows):
    """The first row of one of the names, with a value, as an Estimate; NaN where its note, or that
    of a row without a value, says that the rate is not resolved, which leaves the claim undecided
    and not unasked; else None.
    """
    names, there = _listed(names), {}
    for row in rows:
        if row["what"] in names:
            there.setdefault(row["what"], row)
    by_name = {name: row for name, row in there.items() if row["value"] is not None}
    for name in names:
        if name in by_name and not _unresolved(by_name[name]):
            return Estimate(*(by_name[name][key] for key in ("value", "low", "high")))
    unresolved = any(map(_unresolved, there.values()))
    return Estimate(np.nan, np.nan, np.nan) if unresolved else None


def _listed(names):
    return [names] if isinstance(names, str) else names


def _different(names):
    texts = [name for name in names if isinstance(name, str) and name]
    return 0 < len(set(texts)) == len(names)


def _unresolved(row):
    """Whether its note says that nothing follows from it, as `UNRESOLVED` has it."""
    return any(words in (row.get("note") or "") for words in UNRESOLVED)


def _over(above, below):
    if below > 0 or np.isnan(below):
        return above / below
    return np.inf if above > 0 else np.nan


def _region(name, region):
    """Two floats; "above X" and "below X" leave X out by one float."""
    if isinstance(region, str):
        word, _, bound = region.partition(" ")
        checks.choice(name, word, ("above", "below"))
        bound = float(bound)
        above = word == "above"
        return (
            (np.nextafter(bound, np.inf), np.inf)
            if above
            else (-np.inf, np.nextafter(bound, -np.inf))
        )
    low, high = map(float, region)
    if not low <= high:
        checks.fail(name, f"[{low:g}, {high:g}]", "the smaller end first")
    return low, high


def _check(name, claim):
    needed = _NEEDED | ({} if claim.get("what") == NOT_MEASURED else _MEASURED)
    for key in needed:
        if key not in claim:
            checks.fail(f"{name}.{key}", "nothing", "an entry")
    for key, value in claim.items():
        kind = (needed | _OPTIONAL).get(key)
        if kind is None:
            checks.fail(f"{name}.{key}", "an unknown entry", ", ".join([*needed, *_OPTIONAL]))
        if not isinstance(value, kind):
            checks.fail(f"{name}.{key}", repr(value), f"an entry of type {kind}")
        if key in _NAMES and not _different(_listed(value)):
            checks.fail(f"{name}.{key}", repr(value), "a name, or a list of different names")
    if "minus" in claim and "over" in claim:
        checks.fail(name, "minus and over", "one of them")
    if claim.get("computed") and ("minus" in claim or "over" in claim):
        checks.fail(name, "computed with minus or over", "what is computed alone")
    for data, why in claim.get("cannot_say", {}).items():
        if not (isinstance(why, str) and why.strip()):
            checks.fail(f"{name}.cannot_say[{data}]", repr(why), "a reason in words")
    if claim.get("scale", "largest") not in (*SCALES, "largest"):
        checks.fail(f"{name}.scale", repr(claim["scale"]), f"largest, {', '.join(SCALES)}")
    if isinstance(claim.get("data"), str) and claim["data"] != "every":
        checks.fail(f"{name}.data", repr(claim["data"]), "every, or a list of data sets")
