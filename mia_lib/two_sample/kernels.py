"""Gaussian kernels on raw records, on representations, and their product."""

import numpy as np
from scipy import spatial

from mia_lib import checks

CHUNK = 2**22  # numbers at once, 32 MB
MANY = 0.05  # of all pairs: from here on loops over all are faster than picking


def gaussian_kernel(x, y, bandwidth):
    """k(x_i, y_j) = exp(-d^2 / (2 h^2)).

    Parameters
    ----------
    x : array (n_x, d) or (n_x, ...)
        Further axes are flattened.
    y : array (n_y, d) or (n_y, ...)
    bandwidth : float
        h, above 0, in the unit of x.

    Returns
    -------
    float64 array (n_x, n_y)
        In [0, 1].

    Raises
    ------
    ValueError
        NaN, unequal numbers of features, a bandwidth that is not above 0.

    Notes
    -----
    Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> gaussian_kernel([[0.0], [1.0]], [[0.0]], 1.0).round(3)
    array([[1.   ],
           [0.607]])
    """
    h = checks.number("bandwidth", bandwidth, 0, open_low=True)
    squares = squared_distances(*pair("x", x, "y", y))
    squares /= -2 * h**2
    return np.exp(squares, out=squares)


def deep_kernel(rep_x, raw_x, rep_y, raw_y, epsilon, bandwidth_rep, bandwidth_raw):
    """k(x_i, y_j) = [(1 - epsilon) k_rep + epsilon] k_raw, both Gaussian.

    Parameters
    ----------
    rep_x, rep_y : array (n_x, ...), (n_y, ...)
        What the target model makes of the records, such as a layer's activations; (n,) for one
        number per record.
    raw_x, raw_y : array (n_x, ...), (n_y, ...)
        The records themselves.
    epsilon : float
        In [0, 1]: the share of the raw kernel alone; above 0 the product is characteristic.
    bandwidth_rep, bandwidth_raw : float
        Above 0, each in its own unit.

    Returns
    -------
    float64 array (n_x, n_y)
        In [0, 1].

    Raises
    ------
    ValueError
        NaN, numbers of records or of features that disagree, a bandwidth not above 0, epsilon
        outside [0, 1].

    Notes
    -----
    HR-MMD eq. 5. `HrMmd` fits it, and `fitted_kernel` makes it a kernel of numbered records.

    Examples
    --------
    >>> deep_kernel([[0.0]], [[0.0]], [[1.0]], [[1.0]], 0.5, 1.0, 1.0).round(3)
    array([[0.487]])
    """
    epsilon = checks.number("epsilon", epsilon, 0, high=1)
    for name, rep, raw in (("x", rep_x, raw_x), ("y", rep_y, raw_y)):
        if len(rep) != len(raw):
            checks.fail(f"raw_{name}", f"{len(raw)} records", f"{len(rep)} as rep_{name}")
    rep = gaussian_kernel(*pair("rep_x", rep_x, "rep_y", rep_y), bandwidth_rep)
    raw = gaussian_kernel(*pair("raw_x", raw_x, "raw_y", raw_y), bandwidth_raw)
    rep *= 1 - epsilon  # in place: what a kernel of many records costs is moving it
    rep += epsilon
    rep *= raw
    return rep


def median_bandwidth(x):
    """The median distance between different records: a bandwidth that needs no fitting.

    Parameters
    ----------
    x : array (n, ...)
        Both sets together, n >= 2.

    Returns
    -------
    float
        The median of the distances above 0.

    Raises
    ------
    ValueError
        Fewer than two records, NaN, records that are all the same.

    Notes
    -----
    Distances of 0 say nothing about the scale; with many equal records their median would be 0.
    Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    x = flat("x", x)
    if len(x) < 2:
        checks.fail("x", f"{len(x)} records", "at least 2")
    return float(np.sqrt(median_square("x", squared_distances(x, x))))


def median_square(name, squares):
    """Median of the positive entries above the diagonal."""
    squares = squares[np.triu_indices(len(squares), 1)]
    squares = squares[squares > 0]
    if not squares.size:
        checks.fail(name, "records that are all the same", "at least two different ones")
    return float(np.median(squares))


def squared_distances(x, y):
    """Squared Euclidean distances of rows, (n_x, n_y); exactly 0 between equal rows."""
    center = x.mean(axis=0)  # differences of large squares lose digits
    near_x, near_y = x - center, y - center
    norms = (near_x**2).sum(1), (near_y**2).sum(1)
    squares = norms[0][:, None] + norms[1] - 2 * near_x @ near_y.T
    # Rounding is some 1e-15 of the largest norm. Where that is no small share of a distance, the
    # distance is summed from differences: most losses lie millions of times closer to each other
    # than to a few.
    doubtful = np.flatnonzero(squares <= 1e-8 * max(norm.max() for norm in norms))
    if doubtful.size > MANY * squares.size:
        return spatial.distance.cdist(x, y, "sqeuclidean")
    for some in np.array_split(doubtful, 1 + doubtful.size * x.shape[1] // CHUNK):
        i, j = np.unravel_index(some, squares.shape)
        squares[i, j] = ((x[i] - y[j]) ** 2).sum(1)
    return squares


def flat(name, x):
    """(n, features) float64 of records of any shape; (n,) becomes one feature."""
    x = np.asarray(x)
    x = checks.real_array(name, x, None)
    return (
        x.reshape(len(x), -1)
        if x.ndim
        else checks.fail(name, "a number", "an array with one row per record")
    )


def pair(name_x, x, name_y, y):
    """Both as `flat` gives them, with equally many features."""
    x, y = flat(name_x, x), flat(name_y, y)
    if x.shape[1] != y.shape[1]:
        checks.fail(name_y, f"{y.shape[1]} features", f"{x.shape[1]} as {name_x}")
    return x, y
