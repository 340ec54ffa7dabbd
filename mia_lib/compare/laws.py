"""How fast a leak falls with the number of records: a straight line through logarithms.

Taught in book/more_data.ipynb.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mia_lib import checks, intervals


class PowerLaw(NamedTuple):
    """A line through the logarithms of means; made by `power_law`.

    Parameters
    ----------
    slope : Estimate
        The exponent b in mean = a size^b, with its interval.
    factor : float
        a, above 0.
    points : list of L Estimate
        The mean at each size with Student's interval, as measured: it may be negative.
    floored : int
        How many means lay below the floor, and entered as the floor.

    Notes
    -----
    Taught in book/more_data.ipynb.
    """

    slope: intervals.Estimate
    factor: float
    points: list
    floored: int


def power_law(sizes, values, floor, *, delta=0.05):
    """Fit mean = a size^b by least squares through logarithms.

    Parameters
    ----------
    sizes : (L,) array_like
        At least three different ones, above 0.
    values : sequence of L arrays (D_l,)
        What was measured at each size in D_l >= 2 independent draws, of any sign. Their mean has to
        follow the law, not each of them.
    floor : float or (L,) array_like
        The smallest value that a mean could have shown, above 0, such as one member more than
        chance. A mean below it has no logarithm, or one that nobody can trust, and enters as the
        floor: it is counted and stays in the fit.
    delta : float
        Probability that the interval of the slope misses the truth.

    Returns
    -------
    PowerLaw

    Raises
    ------
    ValueError
        Fewer than three sizes or two that are equal, a row of values for each size missing, fewer
        than two draws, a floor of 0 or less, delta outside (0, 1).

    Notes
    -----
    With x = log size the slope is sum of k_l log m_l, k_l = (x_l - mean x) / sum of (x - mean x)^2,
    and every size counts alike, whatever its error. By the delta method its variance is the sum of
    k_l^2 s_l^2 / (D_l m_l^2), with s_l of ddof 1; the interval is that of Student's t with the
    degrees of freedom of Welch and Satterthwaite, (sum of v_l)^2 / sum of v_l^2 / (D_l - 1). It
    covers what differs from draw to draw, and it says nothing of whether the law holds between the
    sizes: where it does not, the slope is that of the line through the true logarithms. The
    interval is ours. Taught in book/more_data.ipynb.

    Examples
    --------
    >>> law = power_law([1, 4, 16], [[0.7, 0.9], [0.35, 0.45], [0.19, 0.21]], 1e-3)
    >>> print(f"{law.slope:.2f}", round(law.factor, 2), law.floored)
    -0.50 [-0.86, -0.14] 0.8 0
    """
    sizes, values, floor, delta = _checked(sizes, values, floor, delta)
    points = [intervals.t_interval(row, delta) for row in values]
    raw, draws = np.array([point.value for point in points]), np.array([len(v) for v in values])
    means, spreads = np.maximum(raw, floor), np.array([row.std(ddof=1) for row in values])
    x = np.log(sizes) - np.log(sizes).mean()
    k = x / (x @ x)
    slope = k @ np.log(means)
    parts = k**2 * spreads**2 / (draws * means**2)
    variance = parts.sum()
    half = 0.0
    if variance > 0:  # else all draws agree
        freedom = variance**2 / (parts**2 / (draws - 1)).sum()
        half = stats.t.isf(delta / 2, freedom) * np.sqrt(variance)
    factor = np.exp(np.log(means).mean() - slope * np.log(sizes).mean())
    ends = (float(slope + sign * half) for sign in (-1, 1))
    floored = int((raw < floor).sum())
    return PowerLaw(intervals.Estimate(float(slope), *ends), float(factor), points, floored)


def jackknife(statistic, n_groups):
    """Pseudo-values of a statistic of groups that were drawn independently.

    Parameters
    ----------
    statistic : callable
        Takes the numbers of the groups that are kept, an int array, and returns a number.
    n_groups : int
        D, at least 2.

    Returns
    -------
    (D,) array
        D theta - (D - 1) theta without group d. Their mean is the statistic with its bias of order
        1 / D removed, and they are treated like D independent values of it (Tukey 1958).

    Raises
    ------
    ValueError
        Fewer than two groups.

    Notes
    -----
    For what is read off pooled groups, such as a true-positive rate at one threshold for all.
    Taught in book/more_data.ipynb.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 6.0])
    >>> jackknife(lambda rows: values[rows].mean(), 3)
    array([1., 2., 6.])
    """
    every = np.arange(checks.integer("n_groups", n_groups, 2))
    whole = statistic(every)
    left = np.array([statistic(np.delete(every, d)) for d in every], dtype=float)
    return n_groups * whole - (n_groups - 1) * left


def _checked(sizes, values, floor, delta):
    sizes = checks.real_array("sizes", sizes, 1)
    if len(np.unique(sizes)) < max(3, len(sizes)) or (sizes <= 0).any():
        checks.fail("sizes", str(sizes.tolist()), "at least three different numbers above 0")
    if len(values) != len(sizes):
        checks.fail("values", f"{len(values)} rows", f"one for each of {len(sizes)} sizes")
    values = [checks.real_array("values", row, 1) for row in values]
    if min(map(len, values)) < 2:
        checks.fail("values", "a size with one draw", "at least two draws of each")
    floor = np.asarray(floor, dtype=float)
    if floor.shape not in ((), sizes.shape) or not (floor > 0).all():
        checks.fail("floor", str(floor.tolist()), "a number above 0, or one for each size")
    return sizes, values, floor, checks.delta(delta)
