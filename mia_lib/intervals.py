"""Intervals: how far a figure that was measured on finitely many examples may lie from the truth.

Taught in book/membership_game.ipynb.
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from mia_lib import checks

N_RESAMPLES = 1000  # of a bootstrap


class Estimate(NamedTuple):
    """A figure and the two ends of its interval.

    Formatting applies to each of the three numbers.

    Parameters
    ----------
    value : float
        The estimate itself.
    low, high : float or None
        The ends of its interval. Which interval, and at which level, is said by whatever made the
        estimate. None: it has none.

    Notes
    -----
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> print(Estimate(0.1234, 0.11, 0.136))
    0.123 [0.110, 0.136]
    >>> f"{Estimate(0.1234, 0.11, 0.136):.1%}"
    '12.3% [11.0%, 13.6%]'
    """

    value: float
    low: float
    high: float

    def __format__(self, spec):
        spec = spec or ".3f"
        if self.low is None:
            return f"{self.value:{spec}}"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self):
        return format(self, "")


def _counts(successes, trials):
    """Whole numbers 0 <= successes <= trials, trials >= 1, broadcast against each other."""
    successes = checks.real_array("successes", successes)
    trials = checks.real_array("trials", trials)
    for name, count in (("successes", successes), ("trials", trials)):
        if (count != np.round(count)).any():
            checks.fail(name, f"{count[count != np.round(count)].flat[0]:g}", "whole numbers")
    if (trials < 1).any():
        checks.fail("trials", f"{trials.min():g}", "at least 1")
    try:
        successes, trials = np.broadcast_arrays(successes, trials)
    except ValueError:
        checks.fail(
            "successes",
            f"shape {successes.shape} with trials of shape {trials.shape}",
            "shapes that fit",
        )
    if (successes < 0).any() or (successes > trials).any():
        wrong = (successes < 0) | (successes > trials)
        given = f"{successes[wrong].flat[0]:g} of {trials[wrong].flat[0]:g} trials"
        checks.fail("successes", given, "0 <= successes <= trials")
    return successes, trials


def _once_each(limit, successes, trials):
    """`limit(k, m)` of every pair, computed once for pairs that repeat, as the counts of bins do
    for their examples.
    """
    width = trials.max() + 1
    if (
        successes.size < 1_000 or width > 2**26
    ):  # too few to gain, or pairs that one float64 cannot name exactly
        return limit(successes, trials)
    names, place = np.unique(trials * width + successes, return_inverse=True)
    return limit(names % width, names // width)[place.reshape(successes.shape)]


def clopper_pearson_lower(successes, trials, delta=0.05):
    """One-sided lower Clopper-Pearson limit of a probability.

    Parameters
    ----------
    successes, trials : array_like of whole numbers
        k successes in m >= 1 independent trials, any shapes that broadcast.
    delta : float
        Probability, at most, that the limit lies above the truth.

    Returns
    -------
    float64 array
        The broadcast shape, in [0, 1]. 0 where k = 0, ``delta ** (1 / m)`` where k = m.

    Raises
    ------
    ValueError
        No trial, counts that are not whole, more successes than trials, delta outside (0, 1).

    Notes
    -----
    Clopper and Pearson 1934: the p at which k or more successes have probability delta.
    Taught in book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> bool(abs(clopper_pearson_lower(10, 10, 0.05) - 0.05 ** 0.1) < 1e-12)
    True
    """
    delta = checks.delta(delta)

    def limit(k, m):
        inner = special.betaincinv(np.maximum(k, 1), m - k + 1, delta)
        return np.where(k == 0, 0.0, np.where(k == m, delta ** (1 / m), inner))

    return _once_each(limit, *_counts(successes, trials))


def clopper_pearson_upper(successes, trials, delta=0.05):
    """One-sided upper Clopper-Pearson limit of a probability.

    Parameters
    ----------
    successes, trials : array_like of whole numbers
        k successes in m >= 1 independent trials, any shapes that broadcast.
    delta : float
        Probability, at most, that the limit lies below the truth.

    Returns
    -------
    float64 array
        The broadcast shape, in [0, 1]. ``1 - delta ** (1 / m)`` where k = 0, 1 where k = m.

    Raises
    ------
    ValueError
        No trial, counts that are not whole, more successes than trials, delta outside (0, 1).

    Notes
    -----
    Clopper and Pearson 1934: the p at which k or fewer successes have probability delta. With k = 0
    and delta = 0.05 it is close to 3 / m, the "rule of three". Taught in
    book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> print(f"{clopper_pearson_upper(0, 2995, 0.05):.6f}")
    0.001000
    """
    delta = checks.delta(delta)

    def limit(k, m):
        # The complement is asked for directly: 1 - delta would lose a small delta to rounding.
        inner = special.betainccinv(k + 1, np.maximum(m - k, 1), delta)
        return np.where(k == m, 1.0, np.where(k == 0, -np.expm1(np.log(delta) / m), inner))

    return _once_each(limit, *_counts(successes, trials))


def clopper_pearson(successes, trials, delta=0.05):
    """Two-sided Clopper-Pearson interval of a probability, delta / 2 on each side.

    Parameters
    ----------
    successes, trials : array_like of whole numbers
        k successes in m >= 1 independent trials, any shapes that broadcast.
    delta : float
        Probability, at most, that the truth lies outside.

    Returns
    -------
    low, high : float64 arrays
        The broadcast shape, in [0, 1]. Coverage is at least 1 - delta whatever the truth.

    Raises
    ------
    ValueError
        No trial, counts that are not whole, more successes than trials, delta outside (0, 1).

    Notes
    -----
    Trials have to be independent. Rows of several targets that share an example are not: see
    `bootstrap`. Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> low, high = clopper_pearson(25, 25_000)
    >>> print(f"[{low:.3%}, {high:.3%}]")
    [0.065%, 0.148%]
    """
    delta = checks.delta(delta)
    return clopper_pearson_lower(successes, trials, delta / 2), clopper_pearson_upper(
        successes, trials, delta / 2
    )


def bootstrap(statistic, n_groups, delta=0.05, *, n_resamples=N_RESAMPLES, rng=None, block=100):
    """Percentile bootstrap interval that draws whole groups with replacement.

    Parameters
    ----------
    statistic : callable
        Takes weights (b, n_groups), how often each group was drawn, as int64, and returns b values.
        NaN where a resample leaves the statistic undefined, for example when it holds no member:
        such resamples are left out.
    n_groups : int
        The number of groups, at least 2. A group is what was drawn independently: an example with
        all its targets.
    delta : float
        Nominal probability that the truth lies outside, delta / 2 on each side.
    n_resamples : int
        How many resamples are drawn.
    rng : numpy.random.Generator, optional
        None means fresh entropy.
    block : int
        How many resamples `statistic` is given at a time.

    Returns
    -------
    Estimate
        The statistic with every group once, and the delta / 2 and 1 - delta / 2 quantiles over
        resamples.

    Raises
    ------
    ValueError
        Fewer than two groups, counts below one, delta outside (0, 1), a statistic that is undefined
        in every resample.

    Notes
    -----
    Asymptotic, so its coverage is to be simulated for the statistic at hand. Run in
    notebooks/exposed.ipynb.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> mean = bootstrap(lambda w: w @ x / w.sum(axis=1), 100, rng=np.random.default_rng(0))
    >>> mean.value, bool(mean.low < 49.5 < mean.high)
    (49.5, True)
    """
    n_groups = checks.integer("n_groups", n_groups, 2)
    delta = checks.delta(delta)
    n_resamples = checks.integer("n_resamples", n_resamples, 1)
    block = checks.integer("block", block, 1)
    rng = checks.generator(rng)
    value = statistic(np.ones((1, n_groups), dtype=np.int64))[0]
    resampled = np.empty(n_resamples)
    for start in range(0, n_resamples, block):
        b = min(block, n_resamples - start)
        drawn = rng.integers(n_groups, size=(b, n_groups)) + n_groups * np.arange(b)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=b * n_groups).reshape(b, n_groups)
        resampled[start : start + b] = statistic(weights)
    resampled = resampled[~np.isnan(resampled)]
    if resampled.size == 0:
        checks.fail(
            "statistic",
            f"NaN in all of {n_resamples} resamples",
            "a statistic that most resamples define",
        )
    low, high = np.quantile(resampled, [delta / 2, 1 - delta / 2])
    return Estimate(float(value), float(low), float(high))


def mcdiarmid(n_member, n_nonmember, prior=0.5, *, delta=0.05):
    """Half-width of McDiarmid's interval for an estimated advantage about its expectation.

    Parameters
    ----------
    n_member, n_nonmember : int
        Sizes N1 and N2 of the two independent groups.
    prior : float
        p = Pr(member), in (0, 1).
    delta : float
        Probability, at most, that the estimate is further than this from its expectation.

    Returns
    -------
    float
        t = sqrt(2 v log(2 / delta)) with v = p^2 / N1 + (1 - p)^2 / N2.

    Raises
    ------
    ValueError
        An empty group, prior or delta outside (0, 1).

    Notes
    -----
    For W_N = sum over bins of abs(p P_hat - (1 - p) Q_hat), where one member moves W_N by at most 2
    p / N1 and one non-member by at most 2 (1 - p) / N2. With N1 = N p and N2 = N (1 - p) it is
    sqrt(2 / N log(2 / delta)), as printed in MACE v1. It bounds W_N about E W_N, which lies above
    the advantage: only the upper end holds for the advantage itself. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> f"{mcdiarmid(7_000, 63_000):.4f}", f"{mcdiarmid(7_000, 63_000, prior=0.1):.4f}"
    ('0.0171', '0.0103')
    """
    n_member = checks.integer("n_member", n_member, 1)
    n_nonmember = checks.integer("n_nonmember", n_nonmember, 1)
    p = checks.prior(prior)
    v = p**2 / n_member + (1 - p) ** 2 / n_nonmember
    return float(np.sqrt(2 * v * np.log(2 / checks.delta(delta))))


def t_interval(values, delta=0.05):
    """Student's interval for the mean of what was drawn independently, such as one figure by seed.

    Parameters
    ----------
    values : (m,) array_like
        At least two.
    delta : float
        Probability that the truth lies outside, delta / 2 on each side.

    Returns
    -------
    Estimate
        The mean and the ends m -+ t s / sqrt(m), where t is the 1 - delta / 2 quantile of Student's
        law with m - 1 degrees of freedom and s the standard deviation with ddof 1.

    Raises
    ------
    ValueError
        Fewer than two values, delta outside (0, 1).

    Notes
    -----
    Exact for normal values, close for others where m is not small. NaN among the values makes all
    three NaN. Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> print(t_interval([0.1, 0.2, 0.3]))
    0.200 [-0.048, 0.448]
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 2:
        checks.fail("values", f"shape {values.shape}", "at least two values in one row")
    quantile = stats.t.isf(checks.delta(delta) / 2, len(values) - 1)
    mean, half = values.mean(), quantile * values.std(ddof=1) / np.sqrt(len(values))
    return Estimate(float(mean), float(mean - half), float(mean + half))


def correlation(first, second, delta=0.05):
    """Pearson's correlation of two columns of numbers, with Fisher's interval.

    Parameters
    ----------
    first, second : (m,) array_like
    delta : float
        Probability that the truth lies outside, delta / 2 on each side.

    Returns
    -------
    Estimate or None
        In [-1, 1]. None where it is not defined: one of both is constant, or there are fewer than
        four pairs, which leave no interval.

    Raises
    ------
    ValueError
        Shapes that differ, delta outside (0, 1).

    Notes
    -----
    The ends are tanh(artanh r -+ z / sqrt(m - 3)), close for pairs that are nearly normal. Used in
    notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> print(correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]))
    0.800 [-0.280, 0.986]
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape:
        checks.fail("first, second", f"shapes {first.shape}, {second.shape}", "two equal rows")
    level = 1 - checks.delta(delta)
    if len(first) < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    found = stats.pearsonr(first, second)
    return Estimate(float(found.statistic), *map(float, found.confidence_interval(level)))
