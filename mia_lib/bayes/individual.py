"""Generalized metrics of one example: the individual risk, its exact limits, and their average.

Taught in book/generalized_metrics.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.bayes import samples
from mia_lib.intervals import Estimate
from mia_lib.metrics.family import Metric

PRIOR_TOLERANCE = 1e-6  # how far two priors may differ, as a share of the rarer group


def generalized_risk(metric, posterior, threshold):
    """The individual privacy risk under a generalized metric: its value given one signal.

    Parameters
    ----------
    metric : metrics.Metric
    posterior : array_like (n,)
        eta in [0, 1]; NaN where nothing is known.
    threshold : float
        The adversary says "member" iff eta >= threshold.

    Returns
    -------
    float64 array (n,)
        (a0 + a11 eta + a10 (1 - eta)) / (b0 + b11 eta + b10 (1 - eta)) where it says "member", the
        same with a01, a00, b01, b00 elsewhere; NaN where eta is NaN or the denominator is 0.

    Raises
    ------
    ValueError
        Posteriors outside [0, 1].

    Notes
    -----
    MACE v2 Definition 4. A ratio is not linear: its average over examples is not the metric of the
    population, except where the denominator is constant. Nor need it stay in [0, 1]: for AM it
    reaches 1 / (2 p). Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> generalized_risk(metrics.accuracy(), [0.2, 0.9], 0.5)
    array([0.8, 0.9])
    """
    check_metric(metric)
    threshold = checks.number("threshold", threshold)
    posterior = np.asarray(posterior, dtype=np.float64)
    if posterior.ndim != 1 or (posterior < 0).any() or (posterior > 1).any():
        checks.fail(
            "posterior", f"shape {posterior.shape}", "one axis of values in [0, 1] (or NaN)"
        )
    top, bottom = _pieces(metric, posterior, posterior >= threshold)
    return np.divide(top, bottom, out=np.full(posterior.shape, np.nan), where=bottom != 0)


def generalized_risk_interval(metric, p_low, p_high, q_low, q_high, prior, threshold):
    """Exact infimum and supremum of the individual risk over a box of likelihoods (Lemma 7).

    Parameters
    ----------
    metric : metrics.Metric
    p_low, p_high : float or array_like (n,)
        Limits of P(signal | member), 0 <= low <= high; for densities per unit volume.
    q_low, q_high : float or array_like (n,)
        The same for non-members.
    prior : float
        p = Pr(member), in (0, 1).
    threshold : float
        The adversary says "member" iff eta >= threshold.

    Returns
    -------
    low, high : float64, (n,) or () like the limits
        Infimum and supremum: at the threshold the risk may jump, and the end is then approached
        without being reached.

    Raises
    ------
    ValueError
        Limits that are negative or in the wrong order, shapes that differ, a denominator that
        reaches 0 on the box (PPV wherever the adversary may say "non-member", TPR where p_low = 0),
        a metric made for another prior.

    Notes
    -----
    MACE v1 Lemma 9, v2 Lemma 7. The objective does not change when x and y are scaled together, so
    it is a function of eta = p x / (p x + (1 - p) y) alone, which runs through one interval. On
    either side of the threshold it is a ratio of two linear functions and therefore monotone, so
    that the ends of both pieces are all there is to look at. The same form needs no case for t = 1
    or y = 0, where the printed one divides by 0. Where both upper limits are 0 nothing is known and
    eta runs through [0, 1]. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> low, high = generalized_risk_interval(metrics.accuracy(), [0.2], [0.4], [0.1], [0.3], 0.5,
    ...     0.5)
    >>> print(f"{low[0]:.3f} {high[0]:.3f}")
    0.500 0.800
    """
    p, t = checks.prior(prior), checks.number("threshold", threshold)
    check_metric(metric, p)
    names = ("p_low", "p_high", "q_low", "q_high")
    limits = [
        checks.real_array(name, limit, ndim=(0, 1), empty=True)
        for name, limit in zip(names, (p_low, p_high, q_low, q_high))
    ]
    for name, limit in zip(names, limits):
        if limit.shape != limits[0].shape:
            checks.fail(name, f"shape {limit.shape}", f"shape {limits[0].shape} as p_low")
        if (limit < 0).any():
            checks.fail(name, f"{limit.min():g}", "at least 0")
    shape = limits[0].shape
    x_low, x_high, y_low, y_high = (np.atleast_1d(limit) for limit in limits)
    for name, low, high in (("p_low", x_low, x_high), ("q_low", y_low, y_high)):
        if (low > high).any():
            checks.fail(name, f"{(low > high).sum()} limits above the upper ones", "low <= high")

    least = _posterior(x_low, y_high, p, where_unknown=np.where(x_high > 0, 1.0, 0.0))
    most = _posterior(x_high, y_low, p, where_unknown=np.where(y_high > 0, 0.0, 1.0))
    # A box without area may be rounded differently at its two corners.
    most = np.maximum(least, most)
    low, high = np.full(least.shape, np.inf), np.full(least.shape, -np.inf)
    for called, exists, start, end in (
        (True, most >= t, np.maximum(least, t), most),
        (False, least < t, least, np.minimum(most, t)),
    ):
        tops, bottoms = zip(_pieces(metric, start, called), _pieces(metric, end, called))
        vanishes = exists & (bottoms[0] * bottoms[1] <= 0)
        if vanishes.any():
            i = int(np.flatnonzero(vanishes)[0])
            word = "member" if called else "non-member"
            checks.fail(
                "metric",
                f"a denominator that reaches 0 in {vanishes.sum()} of {low.size} boxes (entry {i}, "
                f'eta from {start[i]:.3g} to {end[i]:.3g}, called "{word}")',
                "no zero on the box",
            )
        for top, bottom in zip(tops, bottoms):
            value = np.divide(top, bottom, out=np.zeros(low.shape), where=exists)
            low = np.where(exists, np.minimum(low, value), low)
            high = np.where(exists, np.maximum(high, value), high)
    return low.reshape(shape), high.reshape(shape)


def average_risk_interval(metric, query, member_signal, nonmember_signal, threshold, *, delta=0.05):
    """The individual risk and its limits, averaged over examples: v2's interval of the generalized
    advantage.

    Parameters
    ----------
    metric : metrics.Metric
    query : Histogram or KernelDensity
    member_signal, nonmember_signal : array_like (n1,) or (n1, d), (n2,) or (n2, d)
        The examples averaged over; the groups are weighted by query.prior and 1 - query.prior.
    threshold : float
        The adversary says "member" iff eta >= threshold.
    delta : float
        For each individual interval.

    Returns
    -------
    Estimate
        Averages of `generalized_risk` and of the ends of `generalized_risk_interval`.

    Raises
    ------
    ValueError
        As for `generalized_risk_interval`, with query.prior; examples outside the support.

    Notes
    -----
    MACE v2 Appendix D. It is no confidence interval of the advantage: the average of limits has no
    coverage, the plug-in risks are judged on the examples they were fitted to, and for a ratio
    metric the average is another quantity than the metric of the population.
    `generalized_advantage` has limits that hold. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> from mia_lib.bayes import Histogram
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=1000) + 1, rng.normal(size=1000)
    >>> print(average_risk_interval(metrics.accuracy(), Histogram(x, y, bins=10), x, y, 0.5))
    0.683 [0.601, 0.748]
    """
    member, nonmember = samples.two_groups(member_signal, nonmember_signal, least=1)
    totals = np.zeros(3)
    p = query.prior
    for name, group, weight in (
        ("member_signal", member, p),
        ("nonmember_signal", nonmember, 1 - p),
    ):
        f = query.risk(group)
        if np.isnan(f).any():
            checks.fail(
                name, f"{np.isnan(f).sum()} examples outside the support", "examples inside"
            )
        value = generalized_risk(metric, (1 + f) / 2, threshold)
        ends = generalized_risk_interval(metric, *query.likelihood_box(group, delta), p, threshold)
        totals += weight * np.array([value.mean(), ends[0].mean(), ends[1].mean()])
    return Estimate(*map(float, totals))


def check_metric(metric, prior=None):
    """Raise unless it is a member of the family, made for this prior where one is given."""
    if not isinstance(metric, Metric):
        checks.fail("metric", type(metric).__name__, "a metrics.Metric")
    if prior is None or metric.prior is None:
        return
    # Two ways to compute one prior may differ by rounding.
    if abs(metric.prior - prior) > PRIOR_TOLERANCE * min(prior, 1 - prior):
        checks.fail(
            "metric",
            f"one that is made for a prior of {metric.prior:g}",
            f"one for the population's prior, {prior:g}",
        )


def _pieces(metric, posterior, called):
    """Numerator and denominator given the posterior, where the adversary says "member" (called) and
    where not.
    """
    weights = (
        (metric.a0, metric.a11, metric.a10, metric.a01, metric.a00),
        (metric.b0, metric.b11, metric.b10, metric.b01, metric.b00),
    )
    return tuple(
        constant
        + np.where(called, hit, missed) * posterior
        + np.where(called, alarm, right) * (1 - posterior)
        for constant, hit, alarm, missed, right in weights
    )


def _posterior(member, nonmember, prior, where_unknown):
    """eta = p x / (p x + (1 - p) y), and `where_unknown` where both are 0."""
    bottom = prior * member + (1 - prior) * nonmember
    return np.divide(
        prior * member,
        bottom,
        out=np.asarray(where_unknown, dtype=np.float64).copy(),
        where=bottom > 0,
    )
