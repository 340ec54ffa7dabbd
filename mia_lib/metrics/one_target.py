"""Intervals of a curve whose entries are independent: one target model, or one entry of each group.

They hold for any distribution of the scores (the TPR), or for many records (the AUC).
"""

import numpy as np
from scipy import optimize, special, stats

from mia_lib import intervals
from mia_lib.intervals import Estimate
from mia_lib.metrics import ranking, resolution

FEW = 20  # records that carry a mean; fewer are too few for a t interval
PART = 1 / 4  # of a side, unless they are at least this part of it


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
    sides = ranking.placements(curve)
    if n1 > 1 and n0 > 1 and any(rest_on_few(part - part.mean()) for part in sides):
        return _of_few(curve, sides, delta)
    # One value has no variance to estimate: auc (1 - auc) is the largest that values in [0, 1] can
    # have.
    parts = [part.var(ddof=1) / part.size if part.size > 1 else auc * (1 - auc) for part in sides]
    return logit_interval(auc, parts, (n1 - 1, n0 - 1), delta)


def rest_on_few(moved):
    """Whether so few records of one side carry a mean, or a change, that their spread does not show
    it: where all but a few have the same place others that are missing here would have another one.
    """
    squares = (moved**2).sum()
    carriers = np.abs(moved).sum() ** 2 / squares if squares else 0.0
    return moved.size < 2 or moved.var() == 0 or carriers < min(FEW, PART * moved.size)


def _of_few(curve, sides, delta):
    """Limits of each side's mean place, joined by their squares (Newcombe 1998; Zou and Donner
    2008): those of a proportion where few records carry it, since of all values between a lowest
    and a highest place the two themselves spread most; of the other side a t interval.
    """
    low = high = 0.0
    for part, ends in zip(sides, _ends(curve)):
        mean, n = part.mean(), part.size
        if rest_on_few(part - mean):
            least, most = ends
            found = float(np.clip((mean - least) / (most - least), 0, 1).round(12)) * n
            limits = least + (most - least) * _limits(found, n, delta)
        else:
            half = stats.t.isf(delta / 2, n - 1) * np.sqrt(part.var(ddof=1) / n)
            limits = mean + half * np.array([-1, 1])
        low, high = np.hypot(low, mean - limits[0]), np.hypot(high, limits[1] - mean)
    return Estimate(curve.auc, float(max(0, curve.auc - low)), float(min(1, curve.auc + high)))


def _limits(found, n, delta):
    """Mid-P limits of a proportion (Lancaster 1961): half of what lies at the count itself is
    counted, so that they hold about 1 - delta where exact ones hold more. `found` of n need not be
    a whole number.
    """

    def above(p):  # more than found, and half of found itself
        more = special.betainc(found + 1, n - found, p) if found < n else 0.0
        return (more + (special.betainc(found, n - found + 1, p) if found > 0 else 1.0)) / 2

    # A count within less than one of its end may have no such limit but the end.
    ends = np.finfo(float).tiny, 1 - np.finfo(float).eps
    low, high = 0.0, 1.0
    if found > 0 and above(ends[0]) < delta / 2:
        low = optimize.brentq(lambda p: above(p) - delta / 2, *ends)
    if found < n and 1 - above(ends[1]) < delta / 2:
        high = optimize.brentq(lambda p: 1 - above(p) - delta / 2, *ends)
    return np.array([low, high])


def _ends(curve):
    """The lowest and the highest place that a score in the data has, of each side."""
    found = []
    sides = curve.member_scores, curve.nonmember_scores
    smallest, largest = (pick([pick(scores) for scores in sides]) for pick in (np.min, np.max))
    for other, beyond in zip(sides[::-1], (np.greater, np.less)):
        # the share of the other side below (for non-members: above), ties by half
        places = [
            np.mean(beyond(end, other)) + np.mean(end == other) / 2 for end in (smallest, largest)
        ]
        found.append((min(places), max(places)))
    return found


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
