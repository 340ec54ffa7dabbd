"""What the attack reads: signals and masks, checked, in blocks that fit in the processor's cache."""

import numpy as np

from mia_lib import checks

# Squares of signals up to here, divided by the smallest variance, stay finite.
LARGEST = 1e100
# Entries that are worked on at a time (a few arrays of them fit in a core's second-level cache) and read at a time.
BLOCK, CHUNK = 2**16, 2**19
# Every option's values, the default first.
CHOICES = {
    "variance": ("per-example", "global"),
    "center": ("mean", "median"),
    "covariance": ("spherical", "diagonal"),
    "tail": ("one-sided", "density"),
}


def options(**options):
    return {name: checks.choice(name, value, CHOICES[name]) for name, value in options.items()}


def signals(name, value, ndim):
    """A numeric array as it is: no copy, no conversion, because it may be larger than memory."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        checks.fail(name, f"an array of dtype {array.dtype}", "a numeric array")
    if array.ndim not in ndim or array.size == 0:
        checks.fail(name, f"shape {array.shape}", f"{' or '.join(map(str, ndim))} axes and at least one entry")
    return array


def check_finite(name, array):
    # Both extremes are NaN if any entry is.
    if not (-LARGEST < array.min() and array.max() < LARGEST):
        bad = int(np.count_nonzero(~(np.abs(array) < LARGEST)))
        checks.fail(name, f"{bad} entries that are NaN, infinite or beyond {LARGEST:g}", "finite signals")


def check_counts(name, member, least, sides, expected):
    inside = np.count_nonzero(member, axis=0)
    counts = {"IN": inside, "OUT": len(member) - inside}
    for side in sides:
        short = np.flatnonzero(counts[side] < least)
        if short.size:
            first = ", ".join(map(str, short[:5])) + (", ..." if short.size > 5 else "")
            checks.fail(name, f"{short.size} examples with fewer than {least} {side} models (examples {first})",
                        f"at least {expected} on that side of every example")  # fmt: skip


def refuse_copy(name, target, shadow, rows, described):
    """Raise if one of these rows of `shadow` is a copy of the target.

    Agreement is no copy where saturated or coarse signals make it no surprise: two different values of the target
    must be found in no other row.
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
            checks.fail(name, f"signals of model {copies[0]} that equal {described} on every example",
                        "a target that is not among its shadow models")  # fmt: skip


def refuse_twins(signals):
    """Raise if a model (S, n, Q) is a copy of another; only those that agree on the first examples are compared."""
    rows = np.arange(len(signals))
    start = np.ascontiguousarray(signals[:, :16]).reshape(len(signals), -1)
    _, group, count = np.unique(start, axis=0, return_inverse=True, return_counts=True)
    for s in np.flatnonzero(count[group.ravel()] > 1):
        refuse_copy("signals", signals[s], signals, rows[rows != s], f"those of model {s}")


def blocks(name, signals, member):
    """Yield (examples, models, values) for examples with equally many IN models, models and values as (IN, OUT).

    The numbers of the models of a group are (b, count), in rising order, its signals (b, Q, count). A group that
    holds the same number for every example is a dense array: no masked arithmetic, one example's signals in one line.
    """
    n_models, n, n_queries = signals.shape
    step, width = (max(1, entries // (n_models * n_queries)) for entries in (CHUNK, BLOCK))
    for start in range(0, n, step):
        chunk = np.ascontiguousarray(signals[:, start : start + step].transpose(1, 2, 0), dtype=np.float64)
        check_finite(name, chunk)
        masks = np.ascontiguousarray(member[:, start : start + step].T)
        counts = np.count_nonzero(masks, axis=1)
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            for piece in range(0, rows.size, width):
                pick = rows[piece : piece + width]
                line = pick[:, None, None] * n_queries + np.arange(n_queries)[:, None]
                models, values = [], []
                for mask in (masks[pick], ~masks[pick]):
                    models.append((np.flatnonzero(mask) % n_models).reshape(len(pick), -1))
                    values.append(chunk.ravel().take(line * n_models + models[-1][:, None]))
                yield start + pick, models, values
