"""The statistic of a two-sample test, its variance where the laws differ, and the power that
follows from both.
"""

import numpy as np
from scipy import stats

from mia_lib import checks

REGULARIZATION = 1e-8  # lambda of eq. 9: under the null hypothesis the variance below tends to 0


def mmd2(k_xx, k_yy, k_xy):
    """The U-statistic of the squared maximum mean discrepancy.

    Parameters
    ----------
    k_xx : array (n_x, n_x)
    k_yy : array (n_y, n_y)
    k_xy : array (n_x, n_y)
        Kernel values within and between two sets.

    Returns
    -------
    float
        Unbiased, so it may be negative. Diagonals of k_xx and k_yy are left out; where n_x = n_y
        that of k_xy too, which makes it a one-sample U-statistic of the pairs (x_i, y_i) and its
        variance that of `mmd2_variance`.

    Raises
    ------
    ValueError
        Shapes that do not fit, NaN, fewer than two records in a set.

    Notes
    -----
    HR-MMD eqs. 3 and 6, Gretton et al. 2012. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> round(mmd2([[1, 0.5], [0.5, 1]], [[1, 0.7], [0.7, 1]], [[0.9, 0.2], [0.4, 0.8]]), 6)
    0.6
    """
    k_xx, k_yy, k_xy = _blocks(k_xx, k_yy, k_xy)
    n_x, n_y = k_xy.shape
    within = _off_diagonal(k_xx) / (n_x * (n_x - 1)) + _off_diagonal(k_yy) / (n_y * (n_y - 1))
    between = _off_diagonal(k_xy) / (n_x * (n_x - 1)) if n_x == n_y else k_xy.mean()
    return float(within - 2 * between)


def mmd2_variance(k_xx, k_yy, k_xy):
    """n times the variance of `mmd2` where the laws differ, estimated; n_x = n_y = n.

    Parameters
    ----------
    k_xx, k_yy, k_xy : array (n, n)

    Returns
    -------
    float
        At least 0: 4 [ (1/n) sum_i (h_i)^2 - (mean of h_i)^2 ] with h_i = (1/n) sum_j H_ij and
        H_ij = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j), its diagonal included.

    Raises
    ------
    ValueError
        As for `mmd2`, and for sets of different size.

    Notes
    -----
    HR-MMD eq. 9 without lambda. Under the null hypothesis it tends to 0 and says nothing of the
    spread, which is then of order 1/n^2. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> round(mmd2_variance([[1, 0.5], [0.5, 1]], [[1, 0.7], [0.7, 1]], [[0.9, 0.2], [0.4, 0.8]]),
    ...     6)
    0.01
    """
    h = _h_means(*_blocks(k_xx, k_yy, k_xy, equal=True))
    return float(4 * max(np.mean(h**2) - np.mean(h) ** 2, 0.0))


def power_criterion(k_xx, k_yy, k_xy, *, regularization=REGULARIZATION):
    """J: the statistic over its standard deviation, which the power grows with.

    Parameters
    ----------
    k_xx, k_yy, k_xy : array (n, n)
    regularization : float
        lambda, at least 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As for `mmd2_variance`; a variance of 0 with lambda 0.

    Notes
    -----
    HR-MMD eq. 8.

    Examples
    --------
    >>> round(power_criterion([[1, 0.5], [0.5, 1]], [[1, 0.7], [0.7, 1]], [[0.9, 0.2], [0.4, 0.8]]),
    ...     3)
    6.0
    """
    regularization = checks.number("regularization", regularization, 0)
    variance = mmd2_variance(k_xx, k_yy, k_xy) + regularization
    if variance == 0:
        checks.fail("regularization", "0 where the variance is 0", "above 0")
    return float(mmd2(k_xx, k_yy, k_xy) / np.sqrt(variance))


def predicted_power(statistic, variance, threshold, n):
    """The power that the limiting normal law predicts for sets of n records each.

    Parameters
    ----------
    statistic : float
        The true squared discrepancy, or an estimate of it.
    variance : float
        n times the variance of the statistic (`mmd2_variance`), above 0.
    threshold : float
        What the statistic of n + n records has to exceed to reject.
    n : int
        At least 1.

    Returns
    -------
    float in [0, 1]
        Phi(sqrt(n) (statistic - threshold) / sqrt(variance)).

    Raises
    ------
    ValueError
        For values out of range.

    Notes
    -----
    HR-MMD eq. 7, where r / n is the threshold. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> round(predicted_power(0.1, 0.16, 0.05, 100), 3)
    0.894
    """
    statistic, threshold = (
        checks.number("statistic", statistic),
        checks.number("threshold", threshold),
    )
    variance = checks.number("variance", variance, 0, open_low=True)
    return float(
        stats.norm.cdf(np.sqrt(checks.integer("n", n, 1) / variance) * (statistic - threshold))
    )


def _off_diagonal(k):
    return k.sum() - np.trace(k)


def _h_means(k_xx, k_yy, k_xy):
    """Row means of H."""
    return k_xx.mean(1) + k_yy.mean(1) - k_xy.mean(1) - k_xy.mean(0)


def _blocks(k_xx, k_yy, k_xy, equal=False):
    k_xx, k_yy, k_xy = (
        checks.real_array(name, k, 2)
        for name, k in (("k_xx", k_xx), ("k_yy", k_yy), ("k_xy", k_xy))
    )
    n_x, n_y = k_xy.shape
    for name, k, n in (("k_xx", k_xx, n_x), ("k_yy", k_yy, n_y)):
        if k.shape != (n, n):
            checks.fail(
                name, f"shape {k.shape}", f"shape ({n}, {n}), as k_xy has shape {k_xy.shape}"
            )
        if n < 2:
            checks.fail(name, f"{n} records", "at least 2")
    if equal and n_x != n_y:
        checks.fail("k_xy", f"shape {k_xy.shape}", "sets of the same size")
    return k_xx, k_yy, k_xy
