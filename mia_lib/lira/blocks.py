"""Signals and masks in blocks that fit in the processor's cache."""

import numpy as np

from mia_lib import model_checks

# Entries that are worked on at a time (a few arrays of them fit in a core's second-level cache) and
# read at a time.
BLOCK, CHUNK = 2**16, 2**19


def chunks(name, signals, member):
    """Yield (start, signals (b, Q, S), masks (b, S)) of a few examples at a time, all that one
    example has in one line.
    """
    n_models, n, n_queries = signals.shape
    step, width = (max(1, entries // (n_models * n_queries)) for entries in (CHUNK, BLOCK))
    for start in range(0, n, step):
        part = np.ascontiguousarray(
            signals[:, start : start + step].transpose(1, 2, 0), dtype=np.float64
        )
        model_checks.bounded(name, part)
        masks = np.ascontiguousarray(member[:, start : start + step].T)
        for first in range(0, len(part), width):
            yield start + first, part[first : first + width], masks[first : first + width]


def of_equal_count(values, masks):
    """Yield (rows, models (b', count), signals (b', Q, count)) of the models in masks (b, S), rows
    of one count at a time.
    """
    counts = np.count_nonzero(masks, axis=1)
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        some, which = (values, masks) if rows.size == len(values) else (values[rows], masks[rows])
        places = np.flatnonzero(which)
        found = np.empty((*some.shape[:2], count))
        for q in range(some.shape[1]):
            found[:, q] = (
                np.ascontiguousarray(some[:, q]).ravel().take(places).reshape(len(rows), -1)
            )
        yield rows, (places % masks.shape[1]).reshape(len(rows), -1), found


def blocks(name, signals, member):
    """Yield (examples, models, values) for examples with equally many IN models, models and values
    of either side as {"IN": ..., "OUT": ...}.

    The numbers of the models of a group are (b, count), in rising order, its signals (b, Q, count).
    A group that holds the same number for every example is a dense array: no masked arithmetic, one
    example's signals in one line.
    """
    for start, values, masks in chunks(name, signals, member):
        # The complement has equal counts in the same rows, in the opposite order.
        both = zip(of_equal_count(values, masks), reversed(list(of_equal_count(values, ~masks))))
        for (rows, models, inside), (_, others, outside) in both:
            yield start + rows, {"IN": models, "OUT": others}, {"IN": inside, "OUT": outside}
