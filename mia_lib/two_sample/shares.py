"""How many records of a set were used: a limit from below without another network, an interval with
some, and both methods of HR-MMD's appendix L.

Taught in book/set_share.ipynb.
"""

import numpy as np
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from mia_lib import checks
from mia_lib.intervals import Estimate
from mia_lib.two_sample.permutation import not_too_large
from mia_lib.two_sample.score_tests import mean_test


def share_lower_limit(x, y, *, delta=0.05, n_permutations=499, grid=50, rng=None):
    """A share of members that the suspect set has at least, without another network.

    Parameters
    ----------
    x : array (n_x,)
        Scores of records that surely are no members, larger for members; at least 2.
    y : array (n_y,)
        Scores of the suspect set, at least 3.
    delta : float
        Probability, at most, that the limit is above the truth.
    n_permutations : int
        B of every test, at least 19 and such that (B + 1) delta is at least 1.
    grid : int
        Numbers of members that are tried, at least 1: the limit is a multiple of 1 / grid where
        the set has that many records.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    float in [0, 1)

    Raises
    ------
    ValueError
        NaN, magnitudes above 1e300, too few records, a level out of range or too small for so few
        permutations.

    Notes
    -----
    If m records of y are members, the others are exchangeable with x. Nobody knows which ones they
    are; but without the m largest scores of y the one-sided permutation test of the means has its
    largest p-value: lowering one score of y lowers the observed difference at least as much as any
    permuted one. So "at most m" is rejected only where that p is at most delta, and
    the limit is one record above the largest m of the grid before the first that is not rejected.
    Members may have any scores. In the limit of many records the mean of y without its largest
    scores is compared with that of x, so a score with a ceiling that members reach, such as minus
    the loss, gives limits near the truth. Taught in book/set_share.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, y = -rng.exponential(size=(2, 300))
    >>> y[:200] = 0
    >>> round(share_lower_limit(x, y, rng=rng), 2), round(200 / 300, 2)
    (0.58, 0.67)
    """
    x, y = checks.real_array("x", x, 1), checks.real_array("y", y, 1)
    for name, values, least in (("x", x, 2), ("y", y, 3)):
        if len(values) < least:
            checks.fail(name, f"{len(values)} scores", f"at least {least}")
    delta = checks.number("delta", delta, 0, high=1, open_low=True, open_high=True)
    n_permutations, rng = (
        checks.integer("n_permutations", n_permutations, 19),
        checks.generator(rng),
    )
    if (n_permutations + 1) * delta < 1:
        checks.fail("delta", f"{delta:g}", f"at least 1 / {n_permutations + 1}, the smallest p")
    grid = checks.integer("grid", grid, 1)
    ordered, limit = np.sort(y), 0
    for removed in np.unique(np.arange(grid) * len(y) // grid):
        if len(y) - removed < 2:
            break
        rest = ordered[: len(y) - removed]
        test = mean_test(x, rest, "greater", n_permutations=n_permutations, rng=rng)
        if test.p_value > delta:
            break
        limit = removed + 1
    return float(limit / len(y))


def member_share(x, y, separation, *, delta=0.05):
    """The share of members in the suspect set, on the scale of reference networks.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        Scores of surely no members and of the suspect set, larger for members; at least 2 each.
    separation : array (R,)
        Of R reference networks, at least 2, how far the mean score of their own members lies above
        that of other records.
    delta : float
        Probability that the interval misses the truth, as far as the assumptions hold.

    Returns
    -------
    Estimate
        In [0, 1]: the difference of the means over the mean separation, and Fieller's interval. It
        is the whole of [0, 1] where separations do not tell themselves from 0.

    Raises
    ------
    ValueError
        NaN, magnitudes above 1e60, fewer than two scores or separations, delta out of range.

    Notes
    -----
    With D the difference of the means of y and x, and d the mean of the separations, all f with (D
    - f d)^2 <= t^2 [var D + f^2 s^2 (1 + 1/R)], where s is the spread of the separations and t the
    quantile of Student's law with min(R, n_x, n_y) - 1 degrees of freedom: each variance is
    estimated, and the fewest numbers bind. It assumes that the target separates
    its members as one more reference network would, and that apart from members both sets are
    exchangeable; neither can be seen in the scores. Taught in book/set_share.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 400))
    >>> y[:200] += 2
    >>> print(format(member_share(x, y, [1.9, 2.0, 2.1]), ".2f"))
    0.51 [0.31, 0.78]
    """
    x, y = checks.real_array("x", x, 1), checks.real_array("y", y, 1)
    separation = checks.real_array("separation", separation, 1)
    for name, values in (("x", x), ("y", y), ("separation", separation)):
        if len(values) < 2:
            checks.fail(name, f"{len(values)} numbers", "at least 2")
        not_too_large(name, values, 5)  # squares of squares, times Student's quantile
    delta = checks.number("delta", delta, 0, high=1, open_low=True, open_high=True)
    quantile = stats.t.isf(delta / 2, min(len(x), len(y), len(separation)) - 1) ** 2
    difference, scale = y.mean() - x.mean(), separation.mean()
    noise = y.var(ddof=1) / len(y) + x.var(ddof=1) / len(x)
    between = separation.var(ddof=1) * (1 + 1 / len(separation))
    value = np.clip(difference / scale, 0, 1) if scale > 0 else 0.0
    # all f with a f^2 - 2 b f + c <= 0
    a, b = scale**2 - quantile * between, difference * scale
    c, low, high = difference**2 - quantile * noise, 0.0, 1.0
    if a > 0 and scale > 0:
        root = np.sqrt(max(b**2 - a * c, 0.0))
        low, high = np.clip([(b - root) / a, (b + root) / a], 0, 1)
    return Estimate(float(np.clip(value, low, high)), float(low), float(high))


def share_by_rejections(rate, shares, rates):
    """The shares of members that a calibration curve gives one rejection rate.

    Parameters
    ----------
    rate : float
        Share of many tests of the suspect set that reject, in [0, 1].
    shares : array (m,)
        Shares of members of the calibration, rising, in [0, 1]; at least 2.
    rates : array (m,)
        What the same test rejects at them, in [0, 1].

    Returns
    -------
    Estimate
        low and high: the ends of the shares at which the curve, made rising and joined by straight
        lines, has this rate to 12 digits; where it is flat they lie apart. The value is their
        middle. Nothing of this is a confidence interval.

    Raises
    ------
    ValueError
        Values out of [0, 1], shares that do not rise, shapes that do not fit.

    Notes
    -----
    The first method of HR-MMD App. L, which states no interval. Run in notebooks/set_share.ipynb.

    Examples
    --------
    >>> print(share_by_rejections(0.5, [0, 0.5, 1], [0.1, 0.9, 0.9]))
    0.250 [0.250, 0.250]
    >>> print(share_by_rejections(0.9, [0, 0.5, 1], [0.1, 0.9, 0.9]))
    0.750 [0.500, 1.000]
    """
    rate = checks.number("rate", rate, 0, high=1)
    shares = checks.real_array("shares", shares, 1)
    rates = checks.real_array("rates", rates, shape=shares.shape)
    if len(shares) < 2 or np.any(np.diff(shares) <= 0) or shares[0] < 0 or shares[-1] > 1:
        checks.fail("shares", f"{shares.tolist()}", "at least two rising numbers in [0, 1]")
    if rates.min() < 0 or rates.max() > 1:
        checks.fail("rates", f"{rates.tolist()}", "numbers in [0, 1]")
    curve = IsotonicRegression().fit_transform(shares, rates)
    # where the rates fell the curve is their mean, rounded: the rate but for its last digits
    curve = np.where(curve.round(12) == round(rate, 12), rate, curve)
    rate = float(np.clip(rate, curve[0], curve[-1]))
    first = int(np.argmax(curve >= rate))
    last = len(curve) - 1 - int(np.argmax(curve[::-1] <= rate))
    low = _between(first, -1, rate, shares, curve)
    high = _between(last, 1, rate, shares, curve)
    return Estimate((low + high) / 2, low, high)


def share_by_subsets(accepts, n_records, size, *, n_subsets=100, rng=None):
    """The share of records that no accepted subset covers.

    Parameters
    ----------
    accepts : callable
        ``accepts(places (size,)) -> bool``: whether the test finds no member among these records.
    n_records : int
        In the suspect set, at least 1.
    size : int
        Of each subset, at most n_records.
    n_subsets : int
        M, at least 1.
    rng : numpy.random.Generator, optional
        Draws the subsets; None means fresh entropy.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    ValueError
        Numbers out of range.

    Notes
    -----
    The second method of HR-MMD App. L. A record is left out if each subset that it fell into was
    rejected, so with acceptances of rate b the share is about (1 - b size / n_records)^M: it falls
    with M whatever the members are. Taught in book/set_share.ipynb.

    Examples
    --------
    >>> member = np.arange(100) < 30
    >>> round(share_by_subsets(lambda places: not member[places].any(), 100, 1, n_subsets=5000,
    ...     rng=np.random.default_rng(0)), 6)
    0.3
    """
    n_records = checks.integer("n_records", n_records, 1)
    size = checks.integer("size", size, 1, high=n_records)
    n_subsets, rng = checks.integer("n_subsets", n_subsets, 1), checks.generator(rng)
    covered = np.zeros(n_records, bool)
    for _ in range(n_subsets):
        places = rng.choice(n_records, size, replace=False)
        if accepts(places):
            covered[places] = True
    return float(1 - covered.mean())


def _between(place, step, rate, shares, curve):
    """Where the line from one point of the curve to its neighbour on this side has the rate."""
    other = place + step
    if curve[place] == rate or not 0 <= other < len(curve):
        return float(shares[place])
    part = (rate - curve[place]) / (curve[other] - curve[place])
    return float(shares[place] + part * (shares[other] - shares[place]))
