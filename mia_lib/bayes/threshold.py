"""The best adversary that compares a signal with one threshold: no bins, no bandwidth.

Taught in book/bayes.ipynb.
"""

import numpy as np
from scipy import optimize

from mia_lib import checks, intervals
from mia_lib.bayes import risk, samples
from mia_lib.intervals import Estimate

CELLS = 4000  # in which one of two deviations is rounded up; more would narrow the limit by < 0.1 %


def threshold_advantage(member_signal, nonmember_signal, prior=0.5, delta=0.05):
    """The largest advantage over all thresholds and both directions.

    Parameters
    ----------
    member_signal : array_like (N1,) or (N1, 1)
        The signal of members, N1 >= 2, finite.
    nonmember_signal : array_like (N2,) or (N2, 1)
        The signal of non-members, N2 >= 2. N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1).
    delta : float
        Probability, at most, that the limits miss; half of it for each.

    Returns
    -------
    Estimate
        2 Pr[correct] - 1 in [abs(2 p - 1), 1]: "member" above the threshold or "member" below it,
        whichever is best on these examples. The threshold may be infinite, which is guessing. The
        limits are those of the best threshold for fresh examples, whichever it is.

    Raises
    ------
    ValueError
        NaN or infinite entries, more than one column, fewer than two examples in a group, a prior
        or delta outside (0, 1).

    Notes
    -----
    With F1 and F0 the distribution functions of members and non-members the advantage is the
    largest abs(2 p - 1 + 2 ((1 - p) F0 - p F1)). The value looks for the best threshold and so
    flatters it; the lower limit subtracts what any threshold can have gained: a quantile of
    2 p K1 + 2 (1 - p) K0, where Massart's inequality bounds the largest distance K of an empirical
    distribution function from the true one, Pr(K > k) <= 2 exp(-2 N k^2). The upper limit asks for
    less, because the best threshold of the population is one that the sample did not choose:
    Hoeffding's inequality at that single threshold. Both hold at every sample size, for continuous,
    discrete and mixed signals, if all examples are independent draws. Only the order of the values
    is used, so any map that keeps distinct values distinct and in order leaves all three numbers as
    they are. It bounds every threshold on this signal, not an adversary that accepts several
    intervals of it, nor another signal. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> inside, outside = rng.random(2500), rng.random(2500) ** 2  # the truth is 0.25
    >>> found = threshold_advantage(inside, outside)
    >>> print(found, found == threshold_advantage(np.exp(inside), np.exp(outside)))
    0.251 [0.200, 0.290] True
    """
    member, nonmember = samples.two_groups(member_signal, nonmember_signal)
    p, delta = checks.prior(prior), checks.delta(delta)
    if member.shape[1] != 1:
        checks.fail("member_signal", f"{member.shape[1]} columns", "one number for each example")
    values = np.unique(np.concatenate([member, nonmember]))
    below = [
        np.searchsorted(np.sort(group[:, 0]), values, side="right") / len(group)
        for group in (member, nonmember)
    ]
    least = risk.trivial_advantage(p)
    gain = np.abs(2 * p - 1 + 2 * ((1 - p) * below[1] - p * below[0])).max()
    value = min(max(float(gain), least), 1.0)
    chosen = _largest_gap(
        2 * p / np.sqrt(len(member)), 2 * (1 - p) / np.sqrt(len(nonmember)), delta
    )
    fixed = intervals.mcdiarmid(len(member), len(nonmember), p, delta=delta)
    return Estimate(value, max(value - chosen, least), min(value + fixed, 1.0))


def _largest_gap(first, second, delta):
    """A number that first X + second Y exceeds with probability delta / 2 at most.

    X and Y are independent, and exceed x with probability min(1, 2 exp(-2 x^2)) at most.
    """

    def exceeds(x):
        return np.minimum(1.0, 2 * np.exp(-2 * np.square(np.maximum(x, 0.0))))

    # X is rounded up to the next point. What lies beyond the last one counts as exceeding.
    rest = 1e-6 * delta
    grid = np.linspace(0.0, np.sqrt(np.log(2 / rest) / 2), CELLS + 1)
    mass = -np.diff(exceeds(grid))

    def too_often(limit):
        return rest + mass @ exceeds((limit - first * grid[1:]) / second) - delta / 2

    return optimize.brentq(too_often, 0.0, (first + second) * grid[-1] * 2, xtol=1e-9)
