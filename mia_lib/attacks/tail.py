"""Attack few examples, and those with a p-value: outliers in what the models see, and a fitted
tail.
"""

import math
from typing import NamedTuple

import numpy as np
from sklearn.metrics import pairwise_distances_chunked

from mia_lib import checks
from mia_lib.attacks import shadow_models

DECIMALS = 12  # of a cosine distance; what comes after them differs from block to block
TAIL = 0.1  # share of the OUT models that the tail is fitted to


def neighbours(features, radius):
    """How many other examples lie close to each: the degrees of the graph that tells outliers.

    Long et al. 2020 attack only examples with few neighbours among the features that reference
    models give them: a model that lacks them has nothing to learn their answer from.

    Parameters
    ----------
    features : array (n, d)
        Such as the logits of an example, averaged over all shadow models or side by side; no row of
        zeros.
    radius : float
        Largest cosine distance, 1 minus the cosine, of a neighbour, in [0, 2].

    Returns
    -------
    int array (n,)
        Number of neighbours, the example itself not counted.

    Raises
    ------
    ValueError
        Features that are not finite, a row of zeros, a radius out of range.

    Notes
    -----
    Use features of all shadow models alike: if those of the target entered in another way than
    those of the others, being selected would tell about membership. O(n^2 d) time, memory in
    blocks. Taught in book/lira.ipynb.

    Examples
    --------
    >>> neighbours([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]], radius=0.1)
    array([1, 1, 0])
    """
    return _by_blocks(features, radius, _within) - 1


def most_isolated(features, share, *, radius):
    """The examples with the fewest neighbours, exactly a share of all.

    Long et al. 2020 attack few examples, the outliers. A limit on the number of neighbours selects
    far more where many have none; so among those with equally many, the ones whose nearest other
    example is farthest away come first. Of examples that lie alike a fixed draw decides, which
    knows nothing of the order of the rows: being selected must not tell about membership.

    Parameters
    ----------
    features : array (n, d)
        As for `neighbours`.
    share : float
        Of all examples, in (0, 1]; rounded up to a whole number of them.
    radius : float
        As for `neighbours`.

    Returns
    -------
    bool array (n,)
        True for ``ceil(share * n)`` examples, at least one, for `outlier_tail` to attack.

    Raises
    ------
    ValueError
        A share out of range, or what `neighbours` refuses.

    Notes
    -----
    The equation is that of Long et al. 2020 as Carlini et al. 2022, section V-C, have it, "filters
    out a fraction of outliers"; the order among equals is ours. Taught in book/lira.ipynb.

    Examples
    --------
    >>> most_isolated([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [-1.0, 0.0]], 0.25, radius=0.1)
    array([False, False, False,  True])
    """
    share = checks.number("share", share, 0, high=1, open_low=True)
    crowd, nearest = _by_blocks(features, radius, _within_and_nearest).T
    n = len(crowd)
    count = max(1, math.ceil(round(share * n, 6)))  # 0.1 * 30 is a little more than 3
    drawn = np.random.default_rng(0).permutation(n)
    chosen = np.zeros(n, bool)
    chosen[np.lexsort((drawn, -nearest, crowd))[:count]] = True
    return chosen


def outlier_tail(target, shadow, shadow_member, *, vulnerable=None):
    """Minus the logarithm of the chance that an OUT model answers at least as well as the target.

    Long et al. 2020: a one-sided test for each example against models that were not trained on it.
    Assumes OUT models and, for values that none of them reaches, an exponential tail, fitted to the
    largest tenth of them (at least two). Between their values their distribution function is
    interpolated linearly, with (k - 1/2) / m at the k-th of m, and the mean of such ranks where
    several are equal.

    Parameters
    ----------
    target : array (n,)
        The target model's signal, larger for members; finite.
    shadow : array (S, n)
        The same signal of S shadow models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s; those models are not used.
    vulnerable : bool array (n,), optional
        The examples that are attacked, such as those of `most_isolated`; all others score 0.
        None: all.

    Returns
    -------
    float64 array (n,)
        In nats, at least 0. Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, signals that are not finite, an example with fewer than three OUT models, a
        target that is among the shadow models.

    Notes
    -----
    Where the largest tenth are all equal the tail falls off within 1e-12 of their size. Taught in
    book/lira.ipynb.

    Examples
    --------
    >>> out = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> outlier_tail(np.array([1.5]), out, np.zeros((4, 1), bool)).round(3)
    array([0.693])
    """
    target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, ("OUT",))
    _three_out("shadow_member", (~member).sum(axis=0))
    vulnerable = _chosen(vulnerable, len(target))
    scores = np.zeros(len(target))
    for i in np.flatnonzero(vulnerable):
        out = np.sort(shadow[~member[:, i], i])
        tail = _tail_size(len(out))
        scores[i] = _scores(target[i : i + 1], out, out[-tail:].mean() - out[-tail - 1])[0]
    return scores


def _every_target(signals, member, vulnerable=None):
    signals = shadow_models.one_query(signals)
    _three_out("member", (~member).sum(axis=0) - 1)
    vulnerable = _chosen(vulnerable, signals.shape[1])
    scores = np.zeros(signals.shape)
    for i, inside, outside in shadow_models.each_example(signals, member):
        if not vulnerable[i]:
            continue
        out = signals[outside, i]
        m = len(out) - 1
        tail = _tail_size(m)
        # IN targets: the lowest-numbered OUT model is left out.
        rest = np.sort(out[1:])
        scores[inside, i] = _scores(signals[inside, i], rest, rest[-tail:].mean() - rest[-tail - 1])
        # OUT targets: each leaves a sample of its own, whose tail begins one place lower if the
        # target is part of it.
        order = np.argsort(out, kind="stable")
        out, place = out[order], np.arange(m + 1)
        within = place > m - tail - 1
        top = np.where(within, out[m - tail :].sum() - out, out[m - tail + 1 :].sum()) / tail
        excess = top - np.where(within, out[m - tail - 1], out[m - tail])
        scores[outside[order], i] = _scores(out, out, excess, among=1)
    return scores


outlier_tail.every_target = _every_target
outlier_tail.needs = ("OUT",)


def _by_blocks(features, radius, reduced):
    """`reduced(distances, first row, radius)` of the cosine distances of blocks of rows, joined."""
    features = checks.real_array("features", features, 2)
    radius = checks.number("radius", radius, 0, high=2)
    if not features.any(axis=1).all():
        checks.fail(
            "features",
            f"{int((~features.any(axis=1)).sum())} rows of zeros",
            "a direction for each example",
        )
    # a direction has no length, and scikit-learn takes a tiny one for none; powers of two are exact
    size = np.frexp(np.abs(features).max(axis=1, keepdims=True))[1]
    found = pairwise_distances_chunked(
        np.ldexp(features, -size),
        metric="cosine",
        reduce_func=lambda block, start: reduced(block, start, radius),
        working_memory=64,
    )
    return np.concatenate(list(found))


def _within(block, start, radius):
    """How many of each row are within the radius, itself included, whatever rounding says of it."""
    np.round(block, DECIMALS, out=block)  # so that rows that are equal lie at 0 in every block
    rows = np.arange(len(block))
    block[rows, start + rows] = 0
    return (block <= radius).sum(axis=1)


def _within_and_nearest(block, start, radius):
    """How many of each row are within the radius, and how far the nearest other is."""
    crowd = _within(block, start, radius)
    rows = np.arange(len(block))
    block[rows, start + rows] = np.inf
    return np.c_[crowd, block.min(axis=1)]


def _scores(x, out, excess, among=0):
    """-log of the survival function of sorted values, of which each x itself is one (and left out)
    if `among` is 1.

    Inside the values it is a line between their ranks; beyond them it falls off as an exponential,
    on either side the one that is fitted to the largest of them.
    """
    m = len(out) - among
    place = _place(x, out, among)
    size = np.abs(out).max()
    if among:  # of the others: the second largest where x is the largest
        second, largest = np.sort(np.abs(out))[-2:]
        size = np.where(np.abs(x) == largest, second, largest)
    scale = np.maximum(excess, 1e-12 * np.maximum(size, 1e-12))
    beyond = np.where(place.above_all, x - place.below, 0) / scale
    under = np.where(place.below_all, place.above - x, 0) / scale
    return -np.log1p(-_ranks(x, out, place, among) / m * np.exp(-under)) + beyond


class _Place(NamedTuple):
    """Where each x lies among sorted values."""

    left: np.ndarray  # how many values are smaller
    right: np.ndarray  # how many are not larger
    below: np.ndarray  # the next value on either side
    above: np.ndarray
    below_all: np.ndarray  # x lies outside
    above_all: np.ndarray


def _place(x, out, among):
    m = len(out) - among
    left, right = np.searchsorted(out, x, "left"), np.searchsorted(out, x, "right") - among
    below, above = out[np.maximum(left - 1, 0)], out[np.minimum(left + among, m + among - 1)]
    tied = right > left
    return _Place(left, right, below, above, (left == 0) & ~tied, (left == m) & ~tied)


def _ranks(x, out, place, among):
    """How many values lie below each x, interpolated between the ranks of its neighbours.

    Values of x that equal some count half of them, so that the steps of coarse signals favour
    neither side. So do neighbours, and outside an x has the rank of the last value on its way.
    """
    rank_below = (np.searchsorted(out, place.below, "left") + place.left) / 2
    rank_above = (place.left + np.searchsorted(out, place.above, "right") - among) / 2
    tied, outside = place.right > place.left, place.below_all | place.above_all
    gap = place.above - place.below
    share = np.divide(x - place.below, gap, out=np.zeros(len(x)), where=~(tied | outside))
    between = (1 - share) * rank_below + share * rank_above
    outer = np.where(place.below_all, rank_above, rank_below)
    return np.where(tied, (place.left + place.right) / 2, np.where(outside, outer, between))


def _tail_size(m):
    return max(2, int(np.ceil(TAIL * m)))


def _three_out(name, counts):
    short = np.flatnonzero(counts < 3)
    if short.size:
        checks.fail(
            name,
            f"{short.size} examples that leave fewer than three OUT models",
            "at least three of each example",
        )


def _chosen(vulnerable, n):
    return (
        np.ones(n, dtype=bool)
        if vulnerable is None
        else checks.boolean_array("vulnerable", vulnerable, shape=(n,))
    )
