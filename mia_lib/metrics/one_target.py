"""Intervals of a curve whose entries are independent: one target model, or one entry of each group.

They hold for any distribution of the scores (the TPR), or for many records (the AUC).
"""

import numpy as np
from scipy import special, stats

from mia_lib import intervals
from mia_lib.intervals import Estimate
from mia_lib.metrics import ranking, resolution


def tpr_at(curve, fpr, delta):
    """ROC(fpr) between the limits of two thresholds, a stricter and a laxer one, by their ranks."""
    n0, n1 = curve.n_nonmembers, curve.n_members
    if fpr == 1:  # everything is called, which is certain and not an estimate
        return Estimate(1.0, 1.0, 1.0)
    strict = resolution.strict_rank(n0, n1, fpr, delta)
    low = 0.0
    if strict is not None:
        place, level = strict
        low = intervals.clopper_pearson_lower(ranking.above(curve, place), n1, level)
    place, level = resolution.lax_rank(n0, n1, fpr, delta)
    found = n1 if place == n0 else ranking.above(curve, place)
    high = intervals.clopper_pearson_upper(found, n1, level)
    return Estimate(ranking.members_called(curve, fpr) / n1, float(low), float(high))


def resolvable(curve, fpr, delta):
    """Whether there are non-members enough for a lower limit above 0."""
    return resolution.strict_rank(curve.n_nonmembers, 1, fpr, delta) is not None


def smallest_resolvable(curve, delta):
    """The rate a with (1 - a)^(non-members) = delta / 4."""
    rate = -np.expm1(np.log(delta / 4) / curve.n_nonmembers)
    return float(min(1.0, rate * (1 + 1e-9)))  # rounding must not leave it just below


def auc_interval(curve, delta):
    """DeLong's variance and a t interval for the logit of the AUC, with Satterthwaite's degrees of
    freedom; from disjoint pairs where the variance is 0.
    """
    n1, n0, auc = curve.n_members, curve.n_nonmembers, curve.auc
    if auc in (0, 1):
        return certain_auc(auc, min(n1, n0), delta)
    if ranking.all_tied(curve):
        return tied_auc(min(n1, n0), delta)
    # One value has no variance to estimate: auc (1 - auc) is the largest that values in [0, 1] can
    # have.
    parts = [
        part.var(ddof=1) / part.size if part.size > 1 else auc * (1 - auc)
        for part in ranking.placements(curve)
    ]
    return logit_interval(auc, parts, (n1 - 1, n0 - 1), delta)


def certain_auc(auc, n_pairs, delta):
    """The interval where every pair is in order (auc 1) or none is (auc 0), from how many pairs
    have nothing in common and are thus independent trials.
    """
    limit = float(intervals.clopper_pearson_lower(n_pairs, n_pairs, delta / 2))
    return Estimate(1.0, limit, 1.0) if auc == 1 else Estimate(0.0, 0.0, 1 - limit)


def tied_auc(n_pairs, delta):
    """The interval where all scores are equal, from how many pairs have nothing in common: with
    probability 1 - delta a new pair is not tied with at most the upper limit for none of them, and
    the AUC lies within half of that of 1/2.

    Examples
    --------
    >>> print(tied_auc(58, 0.05))
    0.500 [0.475, 0.525]
    """
    apart = float(intervals.clopper_pearson_upper(0, n_pairs, delta))
    return Estimate(0.5, 0.5 - apart / 2, 0.5 + apart / 2)


def logit_interval(auc, parts, freedoms, delta):
    """A t interval on the scale of the logit, from the parts of the AUC's variance and the degrees
    of freedom of each, which Satterthwaite's formula joins; those of none count as one.
    """
    variance = sum(parts)
    if variance == 0:
        return Estimate(auc, auc, auc)
    freedom = variance**2 / sum(v**2 / max(n, 1) for v, n in zip(parts, freedoms))
    half = stats.t.isf(delta / 2, freedom) * np.sqrt(variance) / (auc * (1 - auc))
    low, high = special.expit(special.logit(auc) + half * np.array([-1, 1]))
    return Estimate(auc, float(low), float(high))
