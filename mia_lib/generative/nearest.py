"""Queries of a synthetic release by distance: nearest neighbours, and what lies in a ball about the
example.

Black box: they are given synthetic examples and nothing of the model. Distances are exact. They are
made and consumed in blocks, so memory grows with the number of examples and of synthetic examples,
not with their product.

Taught in book/generative.ipynb.
"""

import numpy as np
from scipy import spatial
from sklearn.metrics import pairwise_distances_chunked
from sklearn.neighbors import NearestNeighbors

from mia_lib import checks
from mia_lib.generative import feature_rows

WORKING_MEMORY = 16  # MiB of distances at a time; a block needs a few times that
# in radii: what is closer counts as being this close, so that a copy has a finite logarithm
COPY = 1e-6
# of a squared distance: where expanding the square may cost more, differences are taken
RESOLVED = 1e-6


def nearest_distances(synthetic, x, k=3, *, embedding=None):
    """Minus the distances to the k nearest synthetic examples, as a vector.

    Parameters
    ----------
    synthetic : array (m, ...)
        What the generator released.
    x : array (n, ...)
        Examples under attack, of the same shape.
    k : int
        How many neighbours, from 1 to m.
    embedding : callable, optional
        From examples (n, ...) to features (n, e), in whose space distances are taken. None: pixels.
        A function that was trained must not have seen the members, or it leaks by itself.

    Returns
    -------
    float64 array (n, k)
        Minus the Euclidean distances, nearest neighbour first; larger means more likely a member.

    Raises
    ------
    ValueError
        Fewer synthetic examples than k, shapes that disagree, NaN or infinite entries.

    Notes
    -----
    The multi-dimensional query of MACE v1 section 3.2. Taught in book/generative.ipynb.

    Examples
    --------
    >>> nearest_distances([[0.0, 0.0], [3.0, 4.0]], [[0.0, 1.0]], k=2)
    array([[-1.        , -4.24264069]])
    """
    synthetic = checks.real_array("synthetic", synthetic, dtype=None)
    k = checks.integer("k", k, 1)
    if synthetic.ndim and len(synthetic) < k:
        checks.fail("synthetic", f"{len(synthetic)} examples", f"at least k = {k}")
    examples = feature_rows.rows("x", x, embedding, like=("synthetic", synthetic))
    synthetic = feature_rows.rows("synthetic", synthetic, embedding)
    search, blur = searcher(synthetic, examples, k), _blur(examples, synthetic)
    found = np.empty((len(examples), k))
    block = max(1, WORKING_MEMORY * 2**20 // (16 * k * examples.shape[1]))
    for start in range(0, len(examples), block):
        some = examples[start : start + block]
        # The search expands the square, which leaves a copy at 1e-8 instead of 0: take the
        # differences themselves.
        squares = _squares(some, synthetic[search(some)])
        # Far from the origin it may even have missed a nearer one.
        unsure = ((squares > 0) & (RESOLVED * squares < blur)).any(axis=1)
        if unsure.any():
            nearer = synthetic[_by_differences(some[unsure], synthetic, k)]
            squares[unsure] = _squares(some[unsure], nearer)
        found[start : start + block] = np.sqrt(squares)
    return 0.0 - np.sort(found, axis=1)


def nearest_distance(synthetic, x, k=1, *, embedding=None):
    """Minus the distance to the nearest synthetic example, or minus the mean over the k nearest.

    Parameters
    ----------
    synthetic : array (m, ...)
    x : array (n, ...)
    k : int
        How many neighbours are averaged, from 1 to m.
    embedding : callable, optional
        As for `nearest_distances`.

    Returns
    -------
    float64 array (n,)
        At most 0; larger means more likely a member.

    Raises
    ------
    ValueError
        As for `nearest_distances`.

    Notes
    -----
    MACE v1 eq. 7, v2 eq. 19 with the sign turned; with k = 3 the average of v1 section 7.2.2.
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> nearest_distance([[0.0, 0.0], [3.0, 4.0]], [[0.0, 1.0], [3.0, 4.0]])
    array([-1.,  0.])
    """
    return nearest_distances(synthetic, x, k, embedding=embedding).mean(axis=1)


def ball_radius(
    synthetic, x, rule="median", *, percentile=0.1, embedding=None, pairs=1_000_000, rng=None
):
    """The radius of the ball by a rule that needs no membership.

    Parameters
    ----------
    synthetic : array (m, ...)
    x : array (n, ...)
        All examples under attack, members and others together.
    rule : {"median", "percentile"}
        The median over examples of the distance to the nearest synthetic example; or a percentile
        of all distances between examples and synthetic examples.
    percentile : float
        For "percentile", in per cent, in (0, 100).
    embedding : callable, optional
        As for `nearest_distances`.
    pairs : int
        For "percentile": with more pairs than this the percentile is that of so many random pairs.
    rng : numpy.random.Generator, optional
        Draws the pairs; None means fresh entropy.

    Returns
    -------
    float
        Above 0, in the unit of the distance.

    Raises
    ------
    ValueError
        An unknown rule, a radius of 0 (half of the examples have copies), shapes that disagree.

    Notes
    -----
    Hilprecht et al. 2019. Taught in book/generative.ipynb.

    Examples
    --------
    >>> ball_radius([[0.0, 0.0], [3.0, 4.0]], [[0.0, 1.0], [0.0, 3.0], [3.0, 4.5]])
    1.0
    """
    checks.choice("rule", rule, ("median", "percentile"))
    if rule == "median":
        radius = float(np.median(-nearest_distance(synthetic, x, 1, embedding=embedding)))
    else:
        percentile = checks.number(
            "percentile", percentile, 0, high=100, open_low=True, open_high=True
        )
        pairs = checks.integer("pairs", pairs, 1)
        examples = feature_rows.rows("x", x, embedding, like=("synthetic", synthetic))
        synthetic = feature_rows.rows("synthetic", synthetic, embedding)
        radius = float(
            np.percentile(
                _some_distances(examples, synthetic, pairs, checks.generator(rng)), percentile
            )
        )
    if radius == 0:
        checks.fail(
            "synthetic",
            f"copies of x, so that the {rule} radius is 0",
            "another rule, or a radius set by hand",
        )
    return radius


def monte_carlo(synthetic, x, epsilon, *, weight="log", unit=None, embedding=None):
    """How much of the synthetic set lies in a ball about each example.

    Parameters
    ----------
    synthetic : array (m, ...)
    x : array (n, ...)
    epsilon : float
        Radius of the ball, above 0, in the unit of the distance; see `ball_radius`.
    weight : {"log", "count"}
        "log": each synthetic example in the ball adds -log(d / unit) / m; "count": 1 / m.
    unit : float, optional
        For "log", above 0. None: epsilon, so that nothing in the ball counts negative. 1.0: the
        formula as printed, in which from a distance of 1 on an example in the ball counts *against*
        membership.
    embedding : callable, optional
        As for `nearest_distances`.

    Returns
    -------
    float64 array (n,)
        0 where the ball is empty; larger means more likely a member (with a unit of at least
        epsilon). Distances below 1e-6 epsilon, copies among them, count as that.

    Raises
    ------
    ValueError
        A radius so small that every ball is empty, shapes that disagree, NaN.

    Notes
    -----
    Hilprecht et al. 2019; MACE v1 eq. 6, v2 eq. 18. Taught in book/generative.ipynb.

    Examples
    --------
    >>> monte_carlo([[0.0, 0.0], [3.0, 4.0]], [[0.0, 1.0], [9.0, 9.0]], epsilon=2.0, weight="count")
    array([0.5, 0. ])
    >>> monte_carlo([[0.0, 0.0], [3.0, 4.0]], [[0.0, 1.0], [9.0, 9.0]], epsilon=2.0)
    array([0.34657359, 0.        ])
    """
    epsilon = checks.number("epsilon", epsilon, 0, open_low=True)
    checks.choice("weight", weight, ("log", "count"))
    unit = epsilon if unit is None else checks.number("unit", unit, 0, open_low=True)
    examples = feature_rows.rows("x", x, embedding, like=("synthetic", synthetic)).astype(
        np.float64, copy=False
    )
    synthetic = feature_rows.rows("synthetic", synthetic, embedding).astype(np.float64, copy=False)

    blur = _blur(examples, synthetic)
    # scikit-learn expands the square of a Euclidean distance, SciPy's name for it does not
    lost = blur > RESOLVED * epsilon**2
    if lost:
        blur = _rounding(examples.shape[1]) * epsilon**2

    def summed(distance, start):
        # copies, and what lies on the sphere, are told by differences, as in `ball_radius`
        squares = distance**2
        unsure = np.abs(squares - epsilon**2) <= blur
        if not lost:
            unsure |= RESOLVED * squares < blur
        i, j = np.nonzero(unsure)
        distance[i, j] = _apart(examples, synthetic, start + i, j)
        inside = distance <= epsilon
        if weight == "count":
            total = inside.sum(axis=1)
        else:
            close = unit / np.maximum(distance, COPY * epsilon)
            total = np.log(close, where=inside, out=np.zeros_like(distance)).sum(axis=1)
        return np.stack([total, inside.any(axis=1)], axis=1)

    parts = list(
        pairwise_distances_chunked(
            examples,
            synthetic,
            metric="minkowski" if lost else "euclidean",
            reduce_func=summed,
            working_memory=WORKING_MEMORY,
        )
    )
    total, filled = np.concatenate(parts).T
    if not filled.any():
        # in full, so that it can be typed
        least = repr(float(-nearest_distances(synthetic, examples, 1).max()))
        checks.fail("epsilon", f"{epsilon!r}, for which every ball is empty", f"at least {least}")
    return total / len(synthetic)


def searcher(synthetic, examples, k):
    """A function from rows to the indices (b, k) of their nearest rows of `synthetic`.

    Rows of two types would send scikit-learn to a path whose memory is bounded by a gigabyte only.
    """
    common = np.result_type(synthetic, examples, np.float32)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(
        synthetic.astype(common, copy=False)
    )
    return lambda some: search.kneighbors(some.astype(common, copy=False), return_distance=False)


def _blur(examples, synthetic):
    """What rounding may add to a squared distance that is expanded into |x|^2 - 2 x.y + |y|^2."""
    largest = max(
        np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max() for rows in (examples, synthetic)
    )
    return _rounding(examples.shape[1]) * largest


def _rounding(n_numbers):
    """What rounding may add to a sum of so many squares, relative to the largest of them."""
    return 2 * (n_numbers + 3) * np.finfo(np.float64).eps


def _squares(some, neighbours):
    """Squared distances (b, k) of rows (b, d) to neighbours (b, k, d), by differences."""
    return ((neighbours.astype(np.float64) - some[:, None]) ** 2).sum(axis=-1)


def _by_differences(some, synthetic, k):
    """As `searcher`, without expanding the square: slower, and right far from the origin."""
    found = np.empty((len(some), k), np.int64)
    block = max(1, WORKING_MEMORY * 2**20 // (16 * len(synthetic)))
    for start in range(0, len(some), block):
        apart = spatial.distance.cdist(some[start : start + block], synthetic, "sqeuclidean")
        found[start : start + block] = np.argpartition(apart, k - 1, axis=1)[:, :k]
    return found


def _some_distances(examples, synthetic, pairs, rng):
    """All distances, or those of `pairs` random pairs, drawn with replacement."""
    n, m = len(examples), len(synthetic)
    count = min(pairs, n * m)
    chosen = np.arange(n * m) if n * m <= pairs else rng.integers(n * m, size=count)
    return _apart(examples, synthetic, *np.divmod(chosen, m))


def _apart(examples, synthetic, i, j):
    """Distances of examples i to synthetic ones j, by differences."""
    found = np.empty(len(i))
    block = max(1, WORKING_MEMORY * 2**20 // (16 * examples.shape[1]))
    for start in range(0, len(i), block):
        some = slice(start, start + block)
        difference = examples[i[some]].astype(np.float64) - synthetic[j[some]]
        found[some] = np.sqrt((difference**2).sum(axis=1))
    return found
