"""Checks of what models answered: shapes, finite values, enough models on either side, no model
twice.
"""

import numpy as np

from mia_lib import checks

# Squares of signals up to here, divided by the smallest variance, stay finite.
LARGEST = 1e100


def signals(name, value, ndim):
    """A numeric array as it is: no copy, no conversion, because it may be larger than memory."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        checks.fail(name, f"an array of dtype {array.dtype}", "a numeric array")
    if array.ndim not in ndim or array.size == 0:
        checks.fail(
            name,
            f"shape {array.shape}",
            f"{' or '.join(map(str, ndim))} axes and at least one entry",
        )
    return array


def bounded(name, array):
    """Raise unless every entry is a number of at most `LARGEST` in magnitude."""
    # Both extremes are NaN if any entry is.
    if not (-LARGEST < array.min() and array.max() < LARGEST):
        bad = int(np.count_nonzero(~(np.abs(array) < LARGEST)))
        checks.fail(
            name, f"{bad} entries that are NaN, infinite or beyond {LARGEST:g}", "finite signals"
        )


def counts(name, member, least, sides, expected):
    """Raise unless every example has at least `least` models on each of the sides, "IN" or
    "OUT".
    """
    inside = np.count_nonzero(member, axis=0)
    counts = {"IN": inside, "OUT": len(member) - inside}
    for side in sides:
        short = np.flatnonzero(counts[side] < least)
        if short.size:
            first = ", ".join(map(str, short[:5])) + (", ..." if short.size > 5 else "")
            checks.fail(
                name,
                f"{short.size} examples with fewer than {least} {side} models (examples {first})",
                f"at least {expected} on that side of every example",
            )


def refuse_copy(name, target, shadow, rows, described):
    """Raise if one of these rows of `shadow` is a copy of the target.

    Agreement is no copy where saturated or coarse signals make it no surprise: two different values
    of the target must be found in no other row.
    """
    copies, start, step = rows, 0, 16
    while start < len(target):
        part = slice(start, start + step)
        copies = copies[(shadow[copies, part] == target[part]).all(axis=(1, 2))]
        if not copies.size:
            return
        start, step = start + step, 2 * step
    others = np.setdiff1d(rows, copies)
    if not others.size:
        return
    own = set()
    for start in range(0, len(target), 256):
        part = slice(start, start + 256)
        own.update(target[part][(shadow[others, part] != target[part]).all(axis=0)].tolist())
        if len(own) >= 2:
            checks.fail(
                name,
                f"signals of model {copies[0]} that equal {described} on every example",
                "a target that is not among its shadow models",
            )


def refuse_twins(signals):
    """Raise if a model (S, n, Q) is a copy of another; only those that agree on the first examples
    are compared.
    """
    rows = np.arange(len(signals))
    start = np.ascontiguousarray(signals[:, :16]).reshape(len(signals), -1)
    _, group, count = np.unique(start, axis=0, return_inverse=True, return_counts=True)
    for s in np.flatnonzero(count[group.ravel()] > 1):
        refuse_copy("signals", signals[s], signals, rows[rows != s], f"those of model {s}")
