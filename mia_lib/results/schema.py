"""What a record must have: its entries, their types, and the check of a whole record."""

import math
from datetime import datetime

from mia_lib import checks

SCHEMA = 1
SCALES = ("smoke", "default", "seeds", "paper")  # from the smallest to the largest
_TEXT, _NUMBER, _WHOLE = "a text", "a finite number", "a whole number"
_HEADER = {
    "schema": (_WHOLE,),
    "notebook": (_TEXT,),
    "data": (_TEXT,),
    "scale": (_TEXT,),
    "parameters": ("an object",),
    "seed": (_WHOLE, "null"),
    "hashes": ("an object",),
    "versions": ("an object",),
    "device": (_TEXT,),
    "date": (_TEXT,),
    "seconds": (_NUMBER,),
    "rows": ("a list",),
}
_SINCE = {"processor_seconds": (_NUMBER, "null")}  # entries that the oldest records lack
_ROW = {
    "id": (_TEXT,),
    "what": (_TEXT,),
    "paper": (_NUMBER, _TEXT, "null"),
    "where": (_TEXT, "null"),
    "value": (_NUMBER, "null"),
    "low": (_NUMBER, "null"),
    "high": (_NUMBER, "null"),
    "n": (_WHOLE, "null"),
    "note": (_TEXT,),
}
_IS = {
    _TEXT: lambda v: isinstance(v, str),
    _NUMBER: lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v),
    _WHOLE: lambda v: isinstance(v, int) and not isinstance(v, bool),
    "an object": lambda v: isinstance(v, dict),
    "a list": lambda v: isinstance(v, list),
    "null": lambda v: v is None,
}


def check(record):
    """Raise unless a record has every entry that it must have, and no other.

    Parameters
    ----------
    record : dict

    Raises
    ------
    ValueError
        Names the entry: missing, unknown, of the wrong type, another schema version, low above
        high.

    Examples
    --------
    >>> check({"schema": 0})
    Traceback (most recent call last):
    ...
    ValueError: record.schema: given 0, expected 1
    """
    if not isinstance(record, dict):
        checks.fail("record", type(record).__name__, "an object")
    if record.get("schema", SCHEMA) != SCHEMA:  # first, since another version has other entries
        checks.fail("record.schema", repr(record["schema"]), str(SCHEMA))
    _check_entries(
        "record", record, _HEADER | {key: _SINCE[key] for key in _SINCE if key in record}
    )
    for i, entry in enumerate(record["rows"]):
        check_row(f"record.rows[{i}]", entry)
    if not record["rows"]:
        checks.fail("record.rows", "no row", "at least one")
    kinds = {"data": (_TEXT, "null"), "code": (_TEXT, "null")}
    _check_entries("record.hashes", record["hashes"], kinds)
    try:
        datetime.fromisoformat(record["date"])
    except ValueError:
        checks.fail("record.date", repr(record["date"]), "an ISO 8601 date")


def _check_entries(name, entries, schema):
    if not isinstance(entries, dict):
        checks.fail(name, type(entries).__name__, "an object")
    for key, kinds in schema.items():
        if key not in entries:
            checks.fail(f"{name}.{key}", "nothing", " or ".join(kinds))
        if not any(_IS[kind](entries[key]) for kind in kinds):
            checks.fail(f"{name}.{key}", repr(entries[key])[:80], " or ".join(kinds))
    for key in entries:
        if key not in schema:
            checks.fail(f"{name}.{key}", "an unknown entry", "one of " + ", ".join(schema))


def check_row(name, entry):
    _check_entries(name, entry, _ROW)
    low, high = entry["low"], entry["high"]
    if (low is None) != (high is None):
        checks.fail(
            f"{name}.{'low' if low is None else 'high'}",
            "null",
            "both ends of an interval, or none",
        )
    if low is not None and low > high:
        checks.fail(f"{name}.low", f"{low:g} above high = {high:g}", "low <= high")
