"""How far two attacks agree about records: in their order, and in those that they are surest of.

Taught in book/which_attack.ipynb.
"""

import numpy as np

from mia_lib import checks, intervals


def rank_correlation(first, second, delta=0.05, *, rng=None):
    """How far two attacks put the same records in the same order.

    Parameters
    ----------
    first, second : arrays (S, n) or (n,)
        Scores of two attacks on S targets; larger means more likely a member.
    delta : float
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Estimate
        Spearman's rank correlation within a target, averaged over targets, in [-1, 1]. 1: the same
        order, 0: unrelated. Ties share their mean rank.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, an attack that gives all records of a target the same score.

    Notes
    -----
    The interval draws examples, all targets of one kept together, and ranks every resample anew.
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> rank_correlation(x, np.exp(x), rng=np.random.default_rng(0))
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    pairs = _orders(first, second)

    def value(weights):
        found = []
        for pair in pairs:
            a, b = (_middles(weights, place) for place in pair)
            a -= _mean(weights, a)
            b -= _mean(weights, b)
            spread = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
            along = (weights * a * b).sum(axis=1)
            found.append(
                np.divide(along, spread, out=np.full(len(along), np.nan), where=spread > 0)
            )
        return np.clip(np.mean(found, axis=0).round(12), -1, 1)

    return intervals.bootstrap(value, len(pairs[0][0]), checks.delta(delta), rng=rng)


def top_overlap(first, second, share=0.01, *, delta=0.05, rng=None):
    """Which share of the records that one attack is surest of are also those that another is surest
    of.

    Parameters
    ----------
    first, second : arrays (S, n) or (n,)
        Scores of two attacks on S targets; larger means more likely a member.
    share : float
        Of the records of a target that count as the top, in (0, 1); at least one record.
    delta : float
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Estimate
        In [0, 1], averaged over targets. Attacks that have nothing in common reach `share` on
        average.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a share outside (0, 1) or of less than one record, an attack that gives
        all records of a target the same score.

    Notes
    -----
    Records tied at the border belong to the top in the part that is left of it: the expectation
    over random orders of the tied. The interval draws examples, all targets of one kept together.
    Where no record is shared resamples show next to nothing. Of one target the upper end is then at
    least the Clopper-Pearson limit of none of the ``share * n`` records of its top; of several,
    whose records are not independent, a width of 0 means few, not none. Taught in
    book/which_attack.ipynb.

    Examples
    --------
    >>> x = np.arange(200.0)
    >>> top_overlap(x, x, 0.1, rng=np.random.default_rng(0)).value, top_overlap(x, -x, 0.1,
    ...     rng=np.random.default_rng(0)).value
    (1.0, 0.0)
    """
    share = checks.number("share", share, 0, high=1, open_low=True, open_high=True)
    pairs = _orders(first, second)
    n = len(pairs[0][0])
    top = int(share * n + 1e-9)  # rounding must not cost a whole record
    if top < 1:
        checks.fail("share", f"{share:g} of {n} records", "at least one record")

    def value(weights):
        size, found = np.full((len(weights), 1), float(top)), []  # n weights of a whole record
        for pair in pairs:
            inside = []
            for place in pair:
                total = _of_ties(weights, place)
                above = np.take(total[:, ::-1].cumsum(axis=1)[:, ::-1] - total, place, axis=1)
                tied = np.take(total, place, axis=1)
                inside.append(np.clip((size - above) / np.maximum(tied, 1), 0, 1))
            found.append((weights * inside[0] * inside[1]).sum(axis=1) / size[:, 0])
        return np.mean(found, axis=0).round(12)

    found = intervals.bootstrap(value, n, checks.delta(delta), rng=rng)
    if found.value > 0 or len(pairs) > 1:
        return found
    least = float(intervals.clopper_pearson_upper(0, top, delta / 2))
    return found._replace(high=max(found.high, least))


def _orders(first, second):
    """For each target and attack: the place of every record's value among the distinct values."""
    both = [
        np.atleast_2d(checks.real_array(name, values, (1, 2), finite=False))
        for name, values in (("first", first), ("second", second))
    ]
    if both[0].shape != both[1].shape:
        checks.fail("second", f"shape {both[1].shape}", f"shape {both[0].shape}, that of first")
    pairs = []
    for rows in zip(*both):
        pair = []
        for name, row in zip(("first", "second"), rows):
            values, place = np.unique(row, return_inverse=True)
            if values.size == 1:
                checks.fail(
                    name, "one score for all records of a target", "scores that can be ranked"
                )
            pair.append(place)
        pairs.append(pair)
    return pairs


def _of_ties(weights, place):
    """How often each distinct value was drawn, (b, values)."""
    width = place.max() + 1
    cells = (place + width * np.arange(len(weights))[:, None]).ravel()
    return np.bincount(cells, weights.ravel(), width * len(weights)).reshape(len(weights), width)


def _middles(weights, place):
    """Mean rank (b, n) of every record in its resample."""
    total = _of_ties(weights, place)
    return np.take(total.cumsum(axis=1) - total / 2, place, axis=1)


def _mean(weights, values):
    return (weights * values).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
