"""The probability of membership that histograms of a shadow model's signal give.

Song and Mittal 2021, section 4.1.
"""

import numpy as np
from scipy import optimize, special, stats

from mia_lib import checks

SMALLEST = 1e-10  # logarithmic bins: what is smaller counts as this


def privacy_risk_score(
    target_signal,
    target_labels,
    shadow_signal,
    shadow_labels,
    shadow_member,
    prior=0.5,
    bins=5,
    log_bins=True,
):
    """Posterior probability that each record is a member, given its signal and its class.

    Parameters
    ----------
    target_signal : array (n,)
        The target's signal, such as `signals.modified_entropy`; the sign does not matter.
    target_labels : array (n,)
        Its classes, whole numbers from 0 on.
    shadow_signal, shadow_labels : array (m,)
        The same of a shadow model, on records of its own.
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    prior : float
        Pr(member), in (0, 1).
    bins : int
        Bins of each class, from its smallest to its largest shadow signal.
    log_bins : bool
        Bins of equal width on the logarithm, for signals >= 0; values below 1e-10 count as 1e-10.

    Returns
    -------
    float64 array (n,)
        In [0, 1]. 1 says that no shadow non-member of the class fell into the bin, not that
        membership is certain.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a negative signal with `log_bins`, a prior outside (0, 1), a target class
        that is absent from the shadow data or has members only or non-members only.

    Notes
    -----
    r = p h_in / (p h_in + (1 - p) h_out), with h the share of the class's shadow members
    (non-members) in the bin: eqs. 12, 14 and 15. It is Pr(member | signal, class) where both groups
    have the same class frequencies (errata of the chapter). A signal outside the range counts in
    the nearest end bin. An empty bin has the score of the nearest bin that is not empty, of two
    equally near ones the lower. The end edges are the smallest and largest value themselves, so no
    value is lost to rounding. Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> shadow = [0.1, 0.1, 0.1, 9.0, 9.0, 9.0, 9.0], [0] * 7, [True, True, False, True, False,
    ...     False, False]
    >>> privacy_risk_score([0.05, 8.0], [0, 0], *shadow, bins=2).round(3)
    array([0.727, 0.308])
    """
    given = _checked(target_signal, target_labels, shadow_signal, shadow_labels, shadow_member)
    target, target_labels, shadow, shadow_labels, shadow_member = given
    prior, bins = checks.prior(prior), checks.integer("bins", bins, 1)
    if log_bins:
        target, shadow = _logarithms(target, shadow)
    score = np.empty(len(target))
    for label in np.unique(target_labels):
        asked, known = target_labels == label, shadow_labels == label
        score[asked] = _class_score(target[asked], shadow[known], shadow_member[known], prior, bins)
    return score


def _checked(target, target_labels, shadow, shadow_labels, shadow_member):
    target = checks.real_array("target_signal", target, 1)
    target_labels = checks.labels("target_labels", target_labels, len(target))
    shadow = checks.real_array("shadow_signal", shadow, 1)
    shadow_labels = checks.labels("shadow_labels", shadow_labels, len(shadow))
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape)
    for label in np.unique(target_labels):
        member = shadow_member[shadow_labels == label]
        if not len(member):
            checks.fail(
                "shadow_labels", f"no example of class {label}", "every class of target_labels"
            )
        if member.all() or not member.any():
            checks.fail(
                "shadow_member",
                f"only members or only non-members in class {label}",
                "both groups in every class",
            )
    return target, target_labels, shadow, shadow_labels, shadow_member


def _logarithms(target, shadow):
    for name, signal in (("target_signal", target), ("shadow_signal", shadow)):
        if signal.min() < 0:
            checks.fail(
                name,
                f"a smallest value of {signal.min():g}",
                "values of at least 0, or log_bins=False",
            )
    return np.log(np.maximum(target, SMALLEST)), np.log(np.maximum(shadow, SMALLEST))


def _class_score(target, shadow, member, prior, bins):
    # Only the inner edges decide, so the smallest and the largest value cannot fall outside.
    inner = np.linspace(shadow.min(), shadow.max(), bins + 1)[1:-1]
    place = np.searchsorted(inner, shadow, side="right")
    inside = prior * np.bincount(place[member], minlength=bins) / np.count_nonzero(member)
    outside = (1 - prior) * np.bincount(place[~member], minlength=bins) / np.count_nonzero(~member)
    filled = np.flatnonzero(inside + outside)
    distance = np.abs(np.arange(bins)[:, None] - filled)
    nearest = filled[
        distance.argmin(axis=1)
    ]  # of equal distances the first, which is the lower bin
    score = inside[nearest] / (inside + outside)[nearest]
    return score[np.searchsorted(inner, target, side="right")]


def shrunken_risk_score(
    target_signal, target_labels, shadow_signal, shadow_labels, shadow_member, *, prior=0.5, bins=10
):
    """Posterior probability of membership, each class's histogram drawn towards that of all.

    Parameters
    ----------
    target_signal, target_labels, shadow_signal, shadow_labels : arrays
        As for `privacy_risk_score`; the signal may have any sign and unit.
    shadow_member : bool array (m,)
        As there.
    prior : float
        Pr(member), in (0, 1).
    bins : int
        Bins that hold about equally many shadow records, the same for all classes.

    Returns
    -------
    float64 array (n,)
        In (0, 1). Never 0 or 1, because no bin is without records of other classes.

    Raises
    ------
    ValueError
        As for `privacy_risk_score`.

    Notes
    -----
    In bin b of class y the chance that a shadow record is a member is taken for a draw from a beta
    distribution, whose mean is the share of members in bin b of all classes (its odds in proportion
    to members and non-members of the class) and whose weight kappa, a number of records, is the
    same for all. kappa is the one with the largest likelihood of the counts, so the data say how
    alike the classes are: with kappa = 0 every class stands alone, with a large one there is one
    histogram. The score is the mean of the posterior beta distribution, (k + kappa mean) / (n +
    kappa) from k members among n, turned to the prior as in `privacy_risk_score`. Empirical Bayes
    for binomial counts: Efron and Morris 1973; Kleinman 1973. Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> shadow = [0.1, 0.1, 0.1, 9.0, 9.0, 9.0, 9.0], [0] * 7, [True, True, False, True, False,
    ...     False, False]
    >>> shrunken_risk_score([0.05, 9.5], [0, 0], *shadow, bins=2).round(3)
    array([0.69 , 0.364])
    """
    given = _checked(target_signal, target_labels, shadow_signal, shadow_labels, shadow_member)
    target, target_labels, shadow, shadow_labels, shadow_member = given
    prior, bins = checks.prior(prior), checks.integer("bins", bins, 1)
    edges = np.unique(np.quantile(shadow, np.arange(1, bins) / bins))
    # Where many signals tie a bin can be without records; it goes with the one above it.
    filled = np.bincount(np.searchsorted(edges, shadow, side="right"), minlength=len(edges) + 1)
    edges = edges[filled[:-1] > 0]
    width = len(edges) + 1
    asked, known = (np.searchsorted(edges, signal, side="right") for signal in (target, shadow))
    labels, row = np.unique(shadow_labels, return_inverse=True)
    cell = row * width + known
    total = np.bincount(cell, minlength=len(labels) * width).reshape(-1, width)
    inside = np.bincount(cell[shadow_member], minlength=total.size).reshape(total.shape)
    # The half keeps a bin of members alone from being certain.
    pooled = (inside.sum(0) + 0.5) / (total.sum(0) + 1)
    members = inside.sum(1)
    with np.errstate(divide="ignore"):  # a class with one group only, which nobody asks about
        own = np.log(members) - np.log(total.sum(1) - members)
    own -= special.logit(shadow_member.mean())
    mean = special.expit(special.logit(pooled) + own[:, None])
    both = np.isfinite(own)
    kappa = _weight(inside[both], total[both], mean[both])
    place = np.searchsorted(labels, target_labels)
    k, n, center = (part[place, asked] for part in (inside, total, mean))
    log_odds = special.logit((k + kappa * center) / (n + kappa)) + special.logit(prior)
    return special.expit(log_odds - (own + special.logit(shadow_member.mean()))[place])


def _weight(inside, total, mean):
    """The kappa with the largest beta-binomial likelihood, from a tenth to a million records."""

    def cost(log_kappa):
        kappa = np.exp(log_kappa)
        return -stats.betabinom.logpmf(inside, total, kappa * mean, kappa * (1 - mean)).sum()

    found = optimize.minimize_scalar(cost, bounds=np.log([0.1, 1e6]), method="bounded")
    return float(np.exp(found.x))
