"""Observations in one table, a record a row: CSV and Parquet.

An array of a file becomes several columns, NAME.i for the i-th number of a record, NAME.i.j for a
number of two indices: ``probabilities.0``, ``shadow_member.3``, ``shadow_logits.3.0``.
"""

import re
import warnings

import numpy as np
import pandas as pd

from mia_lib import checks

PARQUET = (".parquet", ".pq")
SUFFIXES = (".csv", *PARQUET)
OUTPUTS = ("logits", "probabilities")
BY_MODEL = ("shadow_logits", "shadow_probabilities", "shadow_member", "shadow_predictions")
# How many indices the columns of an array have; all others are single columns.
INDICES = {
    "logits": 1,
    "probabilities": 1,
    "representation": 1,
    "features": 1,
    "shadow_logits": 2,
    "shadow_probabilities": 2,
    "shadow_member": 1,
    "shadow_predictions": 1,
}
ALIASES = {"label": "labels", "members": "member", "prediction": "predictions", "target": "targets"}
YES, NO = ("true", "yes", "1"), ("false", "no", "0")


def read(path):
    """Arrays by name, as a file of arrays has them.

    Parameters
    ----------
    path : pathlib.Path
        A .csv, or a .parquet where pyarrow is there, which the extra [parquet] brings.

    Returns
    -------
    dict of str to array

    Raises
    ------
    ValueError
        No table, columns of a wrong name, two of one name or none, numbers that are text.

    Notes
    -----
    Classes may have names: the columns ``probabilities.cat`` and ``probabilities.dog`` with labels
    "cat" and "dog". A number is then a label only where a class has it for its name.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "seen.csv"
    ...     _ = path.write_text("label,member,logits.a,logits.b\\na,yes,1,2\\nb,no,3,4\\n")
    ...     found = read(path)
    >>> found["labels"].tolist(), found["member"].tolist(), found["logits"].tolist()
    ([0, 1], [True, False], [[1.0, 2.0], [3.0, 4.0]])
    """
    table = _table(path)
    if not len(table):
        checks.fail(str(path), "a table without rows", "a record a row")
    names = [str(name).strip() for name in table.columns]
    if "" in names:
        checks.fail(str(path), "a column without a name", "a name for each (index=False of pandas)")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        checks.fail(str(path), f"two columns {twice[0]!r}", "each once")
    table.columns = names
    arrays, many, classes = {}, {}, None
    for name in names:
        first, _, rest = name.partition(".")
        first = ALIASES.get(first, first)
        if first in INDICES and rest:
            many.setdefault(first, []).append((rest, name))
        elif first == "columns" and rest:
            arrays[name] = _column(table[name])
        elif rest or first in INDICES:
            expected = f"{first}.0, {first}.1, ..." if first in INDICES else "a known name"
            checks.fail(str(path), f"the column {name!r}", expected)
        elif first in arrays:
            checks.fail(str(path), f"the column {name!r} beside {first!r}", "one of them")
        else:
            arrays[first] = _column(table[name])
    for first, columns in many.items():
        if first in OUTPUTS and not all(rest.isdigit() for rest, _ in columns):
            classes = [rest for rest, _ in columns]
            columns = [(str(place), name) for place, (_, name) in enumerate(columns)]
        arrays[first] = _stacked(path, first, table, columns)
    if "member" in arrays:
        arrays["member"] = _truth("member", arrays["member"])
    if "labels" in arrays and (classes or arrays["labels"].dtype.kind == "U"):
        arrays["labels"] = _places(arrays["labels"], classes)
    if "assignment" in arrays:
        arrays["assignment"] = _one_word(arrays["assignment"])
    return arrays


def _table(path):
    try:
        if path.suffix.lower() in PARQUET:
            return pd.read_parquet(path, engine="pyarrow")
        return _csv(path)
    except ImportError:
        given = f"{path}, and pyarrow is not installed"
        checks.fail("path", given, "a .csv, or pip install pyarrow")
    except (OSError, ValueError, UnicodeError, pd.errors.ParserWarning, MemoryError) as error:
        first = (str(error) or type(error).__name__).strip().splitlines()[0]
        checks.fail("path", f"{path}, which cannot be read ({first})", "a table with a head")
    except Exception as error:  # pyarrow's errors have no common base outside of it
        checks.fail("path", f"{path}, which cannot be read ({type(error).__name__})", "a table")


def _csv(path):
    """The table of a CSV, under the names that stand in its head."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # cells beyond the head are lost
        # without index_col=False a comma at the end of each row makes row names of the first column
        table = pd.read_csv(path, low_memory=False, index_col=False)
    head = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    table.columns = head.iloc[0]  # of two columns of one name pandas would call the second another
    return table


def _column(column):
    if column.dtype.kind in "fiub":
        return column.to_numpy()
    if column.isna().any():
        checks.fail(str(column.name), f"{int(column.isna().sum())} empty cells", "a value each")
    return column.astype(str).to_numpy().astype(str)


def _stacked(path, name, table, columns):
    """Columns NAME.i or NAME.i.j as an array of one or two indices beside the record."""
    indices = INDICES[name]
    pattern = re.compile(r"\.".join([r"(\d{1,6})"] * indices))
    places = {}
    for rest, column in columns:
        found = pattern.fullmatch(rest)
        if found is None:
            expected = f"{name}." + ".".join(["0"] * indices)
            checks.fail(str(path), f"the column {column!r}", f"names such as {expected!r}")
        place = tuple(map(int, found.groups()))
        if place in places:  # 0 and 00
            checks.fail(str(path), f"the column {column!r} beside {places[place]!r}", "one of them")
        places[place] = column
    shape = tuple(max(place[k] for place in places) + 1 for k in range(indices))
    if int(np.prod(shape)) != len(places):
        given = f"{len(places)} columns {name}.*"
        checks.fail(str(path), given, f"all of {' x '.join(map(str, shape))}")
    parts = []
    for place in sorted(places):
        part = _column(table[places[place]])
        if name == "shadow_member":
            part = _truth(places[place], part)
        if part.dtype.kind not in "fiub":
            checks.fail(places[place], "texts", "numbers")
        # whole numbers in a text file may be outputs too
        parts.append(part if name in ("features", "shadow_member") else part.astype(np.float64))
    if name not in BY_MODEL:
        return np.stack(parts, axis=1)
    stacked = np.stack(parts).reshape(*shape, len(table))
    return stacked if indices == 1 else np.moveaxis(stacked, 1, 2)


def _truth(name, values):
    """Booleans, also as words."""
    if values.dtype.kind != "U":
        return values
    low = np.char.lower(np.char.strip(values))
    unknown = sorted(set(low.tolist()) - {*YES, *NO})
    if unknown:
        checks.fail(name, f"the value {unknown[0]!r}", "true or false, yes or no, 1 or 0")
    return np.isin(low, YES)


def _places(labels, classes):
    """Numbers of named classes, by the columns of the outputs."""
    if classes is None:
        expected = "whole numbers, or columns that are named by classes (probabilities.NAME)"
        checks.fail("labels", f"texts such as {str(labels[0])!r}", expected)
    given = [str(label) for label in labels.tolist()]  # a class may be called by a number
    unknown = sorted(set(given) - set(classes))
    if unknown:
        checks.fail("labels", f"the label {unknown[0]!r}", f"one of {', '.join(classes[:10])}")
    place = {name: k for k, name in enumerate(classes)}
    return np.array([place[label] for label in given])


def _one_word(values):
    words = np.unique(values)
    if words.size > 1:
        checks.fail("assignment", f"{words.size} different words", "the same in every row")
    return words.astype(str)
