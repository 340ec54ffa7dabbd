"""What the attack reads: its options, and signals and masks in blocks that fit in the processor's cache."""

import numpy as np

from mia_lib import checks, model_checks

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


def blocks(name, signals, member):
    """Yield (examples, models, values) for examples with equally many IN models, models and values as (IN, OUT).

    The numbers of the models of a group are (b, count), in rising order, its signals (b, Q, count). A group that
    holds the same number for every example is a dense array: no masked arithmetic, one example's signals in one line.
    """
    n_models, n, n_queries = signals.shape
    step, width = (max(1, entries // (n_models * n_queries)) for entries in (CHUNK, BLOCK))
    for start in range(0, n, step):
        chunk = np.ascontiguousarray(signals[:, start : start + step].transpose(1, 2, 0), dtype=np.float64)
        model_checks.bounded(name, chunk)
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
