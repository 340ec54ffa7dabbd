"""Generalized metrics of a population: the optimal threshold, Algorithm 2 with limits, the
heuristic adversary.

Taught in book/generalized_metrics.ipynb.
"""

import numpy as np

from mia_lib import checks, intervals
from mia_lib.bayes import samples
from mia_lib.bayes.histogram import Histogram
from mia_lib.bayes.individual import check_metric
from mia_lib.intervals import Estimate


def optimal_threshold(metric, posterior, member_mass, nonmember_mass, *, prior=0.5):
    """The threshold on the posterior that maximises a metric of the confusion fractions, by trying
    every cut.

    Parameters
    ----------
    metric : metrics.Metric
    posterior : array_like (k,)
        eta in [0, 1] of k signals, cells or examples. May come from other data than the masses.
    member_mass, nonmember_mass : array_like (k,)
        What share of members, and of non-members, has it; each is scaled to sum 1.
    prior : float
        p = Pr(member), in (0, 1).

    Returns
    -------
    threshold, value : float
        Member iff eta >= threshold: half-way between two neighbouring posteriors, or the upper one
        where no float64 lies between, in [0, 1]. Of equal values the largest threshold. The value
        is the metric there, on these masses.

    Raises
    ------
    ValueError
        Shapes that differ, posteriors outside [0, 1], negative masses or none, a metric that no cut
        defines or that is made for another prior.

    Notes
    -----
    Step 3 of MACE Algorithm 2, with the metric taken of the confusion fractions: the printed
    average of the metric over single examples means nothing for a ratio (PPV of one example that is
    called a non-member is 0 / 0).

    Examples
    --------
    >>> from mia_lib import metrics
    >>> threshold, value = optimal_threshold(metrics.accuracy(), [0.2, 0.5, 0.8], [0.2, 0.3, 0.5],
    ...     [0.5, 0.3, 0.2])
    >>> print(f"{threshold:.2f} {value:.2f}")
    0.65 0.65
    """
    p = checks.prior(prior)
    check_metric(metric, p)
    posterior = checks.real_array("posterior", posterior, ndim=1)
    if posterior.min() < 0 or posterior.max() > 1:
        checks.fail(
            "posterior",
            f"values from {posterior.min():g} to {posterior.max():g}",
            "values in [0, 1]",
        )
    masses = []
    for name, mass in (("member_mass", member_mass), ("nonmember_mass", nonmember_mass)):
        mass = checks.real_array(name, mass, shape=posterior.shape)
        if (mass < 0).any() or mass.sum() <= 0:
            checks.fail(
                name,
                f"smallest {mass.min():g}, sum {mass.sum():g}",
                "masses of at least 0 that are not all 0",
            )
        masses.append(mass / mass.sum())
    distinct, group = np.unique(posterior, return_inverse=True)
    # Rates of the rule "eta >= distinct[i]", from the top down.
    rates = [np.cumsum(np.bincount(group, mass)[::-1])[::-1] for mass in masses]
    middle = (distinct[1:] + distinct[:-1]) / 2
    middle = np.where(middle > distinct[:-1], middle, distinct[1:])  # of neighbouring floats
    cut = np.append(distinct[0] / 2, middle)
    if distinct[-1] < 1:
        cut = np.append(cut, (distinct[-1] + 1) / 2)
        rates = [np.append(rate, 0.0) for rate in rates]
    value = at_rates(metric, *(np.clip(rate, 0, 1) for rate in rates), p)
    if np.isnan(value).all():
        checks.fail(
            "metric",
            f"{metric}, undefined at every threshold",
            "a metric that some threshold defines",
        )
    best = np.flatnonzero(value == np.nanmax(value))[-1]
    return float(cut[best]), float(value[best])


def generalized_advantage(
    metric, member_signal, nonmember_signal, prior=0.5, bins=100, delta=0.05, rng=None
):
    """The metric that the Bayes-optimal adversary against a binned query reaches on fresh examples
    (Algorithm 2).

    Parameters
    ----------
    metric : metrics.Metric
        Its denominator must be positive for every pair of rates (where it is 0 the numerator has to
        be 0 too).
    member_signal, nonmember_signal : array_like (N1,) or (N1, d), (N2,) or (N2, d)
        N1, N2 >= 4 (3 where Theorem 1 gives the threshold); N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int or edges
        As for `Histogram`.
    delta : float
        Probability, at most, that the limits miss.
    rng : numpy.random.Generator, optional
        Splits the sample; None means fresh entropy.

    Returns
    -------
    Estimate
        The metric on the last part of the sample, NaN where that part leaves it undefined, and
        limits.

    Raises
    ------
    ValueError
        As for `Histogram`; a group too small to be split; a denominator that is negative, or 0
        under a numerator that is not; a metric made for another prior.

    Notes
    -----
    MACE Algorithm 2. The sample is split at random, each group by itself: the first third gives eta
    per cell (the prior where the cell is empty), the second the threshold, the last the confusion
    fractions, weighted by p and 1 - p, and the metric of these. Where Theorem 1 gives the threshold
    the second step falls away and halves are used.

    The estimate has no upward bias: it belongs to an adversary that was fixed before. The lower
    limit (Clopper-Pearson on both rates, delta / 2 together) therefore holds for that adversary and
    so for the optimal one. The upper limit holds for the optimal adversary against the binned
    query. With l* its value, numerator - l* denominator is at most 0 for every adversary, so that
    the plug-in maximum of this linear expression over all examples, biased upwards, is at least
    -t(l*) with probability 1 - delta / 2 (McDiarmid); the limit is the largest l that passes. For
    accuracy it is (1 + W_N + t) / 2. For PPV it is 1: whoever calls almost nobody a member cannot
    be excluded. Bins are to be fixed in advance, as said in `Histogram.advantage`. Taught in
    book/generalized_metrics.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=3000) + 1, rng.normal(size=9000)
    >>> print(generalized_advantage(metrics.am(0.1), x, y, prior=0.1, bins=20, rng=rng))
    0.681 [0.660, 0.694]
    """
    p, delta, rng = checks.prior(prior), checks.delta(delta), checks.generator(rng)
    check_metric(metric, p)
    threshold = metric.threshold()
    parts = 3 if threshold is None else 2
    member, nonmember = samples.two_groups(member_signal, nonmember_signal, least=parts + 1)
    least, most = _range(metric, p)
    query = Histogram(member, nonmember, p, bins)
    member, nonmember = (
        np.array_split(rng.permutation(group), parts) for group in (member, nonmember)
    )

    fitted = Histogram(member[0], nonmember[0], p, query.edges)
    if threshold is None:
        posteriors = [fitted_posterior(fitted, part[1]) for part in (member, nonmember)]
        masses = [
            np.repeat([1.0, 0.0], [part.size for part in posteriors]),
            np.repeat([0.0, 1.0], [part.size for part in posteriors]),
        ]
        threshold, _ = optimal_threshold(metric, np.concatenate(posteriors), *masses, prior=p)

    trials = [len(member[-1]), len(nonmember[-1])]
    called = [
        int((fitted_posterior(fitted, part[-1]) >= threshold).sum()) for part in (member, nonmember)
    ]
    value = float(at_rates(metric, called[0] / trials[0], called[1] / trials[1], p))
    # Two of the four one-sided limits decide when the metric rises with TPR and falls with FPR at
    # every value it has.
    rises = min(*metric.gains(least), *metric.gains(most)) >= 0
    side = delta / 2 / (2 if rises else 4)
    corners = [
        np.array(
            [
                intervals.clopper_pearson_lower(k, n, side),
                intervals.clopper_pearson_upper(k, n, side),
            ]
        )
        for k, n in zip(called, trials)
    ]
    low = float(np.nanmin(at_rates(metric, corners[0][:, None], corners[1][None, :], p)))
    high = _upper_limit(metric, query, least, most, delta / 2)
    if not np.isnan(value):
        high = max(high, value)
    return Estimate(value, max(low, least), high)


def heuristic_advantage(metric, member_score, nonmember_score, *, prior=0.5):
    """The metric of the heuristic adversary that calls the highest scores members, a share p of the
    population.

    Parameters
    ----------
    metric : metrics.Metric
    member_score, nonmember_score : array_like (N1,), (N2,)
        Larger means more likely a member.
    prior : float
        p = Pr(member), in (0, 1): the adversary knows how many members there are.

    Returns
    -------
    float
        The metric of its confusion fractions. The threshold is the smallest score above which at
        most a share p lies;
        with N1 : N2 = p : 1 - p and no ties these are the N1 highest scores.

    Raises
    ------
    ValueError
        NaN, fewer than two scores in a group, a prior outside (0, 1), a metric made for another
        one.

    Notes
    -----
    The white-box adversary of Hayes et al. 2019 that MACE compares with (v1 Fig. 5, v2 Fig. 4).
    Compare it with the optimal one on the same examples only. Taught in
    book/generalized_metrics.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> print(heuristic_advantage(metrics.accuracy(), [3.0, 1.0], [2.0, 0.0]))
    0.5
    """
    p = checks.prior(prior)
    check_metric(metric, p)
    groups = samples.two_groups(
        checks.real_array("member_score", member_score, ndim=1),
        checks.real_array("nonmember_score", nonmember_score, ndim=1),
    )
    member, nonmember = (np.sort(group[:, 0]) for group in groups)
    score = np.unique(np.concatenate([member, nonmember]))
    rates = [1 - np.searchsorted(group, score) / group.size for group in (member, nonmember)]
    share = p * rates[0] + (1 - p) * rates[1]
    fits = np.flatnonzero(share <= p * (1 + 1e-12))
    rates = [rate[fits[0]] if fits.size else 0.0 for rate in rates]
    return float(at_rates(metric, *rates, p))


def fitted_posterior(query, signal):
    """eta of each signal by a histogram, the prior where no example fell."""
    f = query.risk(signal)
    return np.where(np.isnan(f), query.prior, (1 + f) / 2)


def at_rates(metric, tpr, fpr, prior):
    """The metric of an adversary with these rates."""
    return metric.value(prior * tpr, (1 - prior) * fpr, prior * (1 - tpr), (1 - prior) * (1 - fpr))


def _range(metric, prior):
    """Smallest and largest value over all pairs of rates; raises where there is none."""
    values = []
    for tpr in (0.0, 1.0):
        for fpr in (0.0, 1.0):
            tp, fp, fn, tn = (
                prior * tpr,
                (1 - prior) * fpr,
                prior * (1 - tpr),
                (1 - prior) * (1 - fpr),
            )
            top = metric.a0 + metric.a11 * tp + metric.a10 * fp + metric.a01 * fn + metric.a00 * tn
            bottom = (
                metric.b0 + metric.b11 * tp + metric.b10 * fp + metric.b01 * fn + metric.b00 * tn
            )
            if bottom < 0 or (bottom == 0 and top != 0):
                checks.fail(
                    "metric",
                    f"numerator {top:g} over denominator {bottom:g} at TPR {tpr:g}, FPR {fpr:g}",
                    "a denominator that is positive, or 0 with the numerator",
                )
            if bottom > 0:
                # Where both are 0 the metric takes, near that corner, only values that it has at
                # the others.
                values.append(top / bottom)
    return min(values), max(values)


def _upper_limit(metric, query, least, most, delta):
    """The largest l for which max over adversaries of numerator - l denominator could be 0; see the
    caller's notes.
    """
    p = query.prior
    member = p * query.member_count / query.n_member
    nonmember = (1 - p) * query.nonmember_count / query.n_nonmember

    def passes(value):
        gain, loss = metric.gains(value)
        nobody = (
            metric.a0
            + metric.a01 * p
            + metric.a00 * (1 - p)
            - value * (metric.b0 + metric.b01 * p + metric.b00 * (1 - p))
        )
        moved = (gain * p) ** 2 / query.n_member + (loss * (1 - p)) ** 2 / query.n_nonmember
        t = np.sqrt(np.log(1 / delta) * moved / 2)
        return nobody + np.maximum(gain * member - loss * nonmember, 0).sum() + t >= 0

    # The expression is convex in l and not negative at the plug-in optimum: left of the first zero
    # above it, it passes; between two zeros it does not. If the largest possible value passes there
    # is nothing to exclude.
    if passes(most):
        return most
    inside, beyond = least, most
    for _ in range(100):
        middle = (inside + beyond) / 2
        inside, beyond = (middle, beyond) if passes(middle) else (inside, middle)
    return float(beyond)
