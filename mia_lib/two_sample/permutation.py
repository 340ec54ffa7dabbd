"""The permutation test: all permuted statistics from one triangular matrix product."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from mia_lib import checks

TIE = 1e-12  # of the largest kernel value: statistics closer than this are equal but for rounding
# of the same: single precision decides what is farther from the observed statistic than this
NEAR = 1e-5
AT_ONCE = 2**24  # entries of a block of permutations
LARGEST = 1e300  # of scores whose sums are taken: those of many millions of them are finite
SMALLEST = float(np.finfo(float).tiny)  # of p-values by a law whose tail ends in 0


class TestResult(NamedTuple):
    """What a two-sample test says.

    Taught in book/two_sample.ipynb.

    Parameters
    ----------
    statistic : float
        Of the sets as they are. Larger means more different.
    p_value : float
        In (0, 1]; small speaks against one common law.
    """

    statistic: float
    p_value: float

    __test__ = False  # pytest takes every class named Test... for one of its own


def permutation_test(gram, n_x, n_permutations=499, rng=None):
    """Test of one common law by the U-statistic of the discrepancy and random permutations.

    Parameters
    ----------
    gram : array (n, n)
        Symmetric kernel values of the pooled records, those of the first set first.
    n_x : int
        Size of the first set; both sets have at least 2 records, together at least 4.
    n_permutations : int
        B, at least 1. With B = 99, 199, 499 or 999 a test at level 0.05 has exactly this level.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult
        ``mmd2`` of the sets, and p = (1 + #{permuted >= observed}) / (B + 1); what is equal up to
        1e-12 of the largest kernel value counts as equal.

    Raises
    ------
    ValueError
        A gram matrix that is not square and symmetric, NaN, sets too small, B below 1.

    Notes
    -----
    HR-MMD Algorithm 1, phase 2. The level is exact for any kernel that was chosen without the
    membership of these records. With z the 0/1 vector of the first set, all sums within and between
    follow from z'Lz, L being K below its diagonal, and from z'K1; Lz of all permutations is one
    triangular matrix product. Where the sets are equally large the pairs (x_i, y_i) of each
    permutation are left out, as in ``mmd2``; else z marks the smaller set. Taught in
    book/two_sample.ipynb.

    Examples
    --------
    >>> x = np.concatenate([np.zeros(10), np.full(10, 9.0)])
    >>> permutation_test(np.exp(-((x[:, None] - x) ** 2)), 10, rng=np.random.default_rng(1)).p_value
    0.002
    """
    gram = checks.real_array("gram", gram, 2)
    n = len(gram)
    if gram.shape != (n, n) or n < 4:
        checks.fail("gram", f"shape {gram.shape}", "a square of at least 4 records")
    n_x = checks.integer("n_x", n_x, 2, high=n - 2)
    n_permutations = checks.integer("n_permutations", n_permutations, 1)
    scale = float(np.abs(gram).max())
    if np.abs(gram - gram.T).max() > 1e-9 * scale:
        checks.fail("gram", "an array that is not symmetric", "kernel values of the pooled records")
    rng = checks.generator(rng)
    unit = scale or 1.0  # single precision would lose a kernel of small or very large values
    gram, scale = gram / unit, scale / unit
    observed = permuted_statistics(gram, n_x, np.arange(n)[None])[0]
    at_least, rows = 0, max(1, AT_ONCE // n)
    for start in range(0, n_permutations, rows):
        count = min(rows, n_permutations - start)
        orders = rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)
        at_least += count_at_least(gram, n_x, orders, observed, scale)
    return TestResult(float(observed * unit), (1 + at_least) / (n_permutations + 1))


def count_at_least(gram, n_x, orders, observed, scale):
    """How many permuted statistics reach the observed one, exactly, although most are computed in
    single precision.

    Parameters
    ----------
    gram : float64 array (n, n), symmetric
    n_x : int
    orders : int array (B, n)
    observed, scale : float
        The statistic of the sets as they are; the largest kernel value.

    Returns
    -------
    int
    """
    # The statistic does not change with a constant on all kernel values; without their mean less is
    # rounded.
    rough = permuted_statistics(gram.astype(np.float32) - np.float32(gram.mean()), n_x, orders)
    near = np.abs(rough - observed) <= NEAR * scale
    below = permuted_statistics(gram, n_x, orders[near]) < observed - TIE * scale
    return int(((rough > observed) & ~near).sum() + (~below).sum())


def permuted_statistics(gram, n_x, orders):
    """``mmd2`` of the first n_x records of every order against the others.

    Parameters
    ----------
    gram : array (n, n), symmetric
        The matrix product is made in its precision.
    n_x : int
    orders : int array (B, n)
        Permutations of 0 ... n - 1.

    Returns
    -------
    float64 array (B,)
    """
    n, n_y = len(gram), len(gram) - n_x
    if n_x > n_y:  # what z'Lz is rounded by grows with z, and is divided by the other set's pairs
        orders, n_x, n_y = orders[:, n_x:], n_y, n_x
    first, start = np.zeros((len(orders), n), gram.dtype), n * np.arange(len(orders))[:, None]
    first.reshape(-1)[orders[:, :n_x] + start] = 1
    # The triangle below the diagonal says it all and is half the work; trmm takes the diagonal for
    # ones (diag=1).
    trmm = linalg.blas.get_blas_funcs("trmm", (gram,))
    below = (
        np.einsum("ij,ji->i", first, trmm(1.0, gram.T, first.T, trans_a=1, diag=1)).astype(
            np.float64
        )
        - n_x
    )
    within_x = 2 * below
    sums = gram.sum(1, dtype=np.float64) - np.diagonal(gram)
    between = first.astype(np.float64, copy=False) @ sums - within_x
    within_y = sums.sum() - within_x - 2 * between
    if n_x == n_y:
        pairs = orders[:, :n_x] * n + orders[:, n_x:]
        cross = (between - gram.ravel().take(pairs).sum(1, dtype=np.float64)) / (n_x * (n_x - 1))
    else:
        cross = between / (n_x * n_y)
    return within_x / (n_x * (n_x - 1)) + within_y / (n_y * (n_y - 1)) - 2 * cross


def not_too_large(name, values, power=1):
    """Raise unless sums of the magnitudes to this power are finite."""
    largest, limit = float(np.abs(values).max()), LARGEST ** (1 / power)
    if largest > limit:
        checks.fail(
            name, f"a magnitude of {largest:g}", f"at most {limit:g}, for a finite statistic"
        )
