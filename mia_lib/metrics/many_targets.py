"""Intervals of a curve of pooled scores, whose entries belong together in groups.

`metrics.pooled` has what is true of groups in general; here it is applied to the false positives of
a curve. `groups` is the group of each flattened entry, as `ranking.groups_of` gives it.
"""

import numpy as np

from mia_lib import checks, intervals
from mia_lib.intervals import Estimate
from mia_lib.metrics import one_target, pooled, ranking

BLOCK = 1 << 20  # weights and false positives that the bootstrap holds at a time
FEW_GROUPS = 30  # on a side: from here on both sides' groups together tell how far it moves
NO_MEMBERS = 20  # groups of members: fewer do not resolve a rate
STEP = 1.2  # between the rates at which it is asked whether the models are enough


def tpr_at(curve, fpr, delta, groups, n_groups, rng):
    """ROC(fpr) from a bootstrap of groups, stretched for the models and for what a sample lacks."""
    if fpr == 1:  # everything is called, which is certain and not an estimate
        return Estimate(1.0, 1.0, 1.0)
    statistic = weighted_tpr(curve, fpr, groups, n_groups)
    held = max(n_groups, int(1.5 * fpr * curve.n_nonmembers))
    block = max(1, min(intervals.N_RESAMPLES, BLOCK // held))
    value, low, high = intervals.bootstrap(
        statistic, n_groups, delta, n_resamples=intervals.N_RESAMPLES, rng=rng, block=block
    )
    spread = spread_at(curve, fpr, groups, n_groups)
    high = min(1.0, value + spread.stretch * max(0.0, high - value))
    members = _n_groups(curve.member_entries, groups)
    # Resamples of all, or of none, show nothing of what others would do.
    nothing = (delta / 2) ** (1 / members)
    if value == 0:
        high = max(high, 1 - nothing)
    if not resolvable(curve, fpr, delta, groups, n_groups):
        return Estimate(value, 0.0, high)
    count = pooled.rarest(spread, *carried_by(curve, fpr, groups))
    low = value - spread.stretch * pooled.skewness(count, delta) * max(0.0, value - low)
    if value == 1:
        low = min(low, nothing)
    return Estimate(value, max(0.0, low), high)


def weighted_tpr(curve, fpr, groups, n_groups):
    """ROC(fpr) as a function of how often each group is drawn, weights (b, n_groups)."""
    member_group = groups[curve.member_entries]
    nonmember_group = groups[curve.nonmember_entries]

    def statistic(weights):
        weights = weights.astype(np.int32)  # half the memory to read
        n0 = weights @ np.bincount(nonmember_group, minlength=n_groups)
        n1 = weights @ np.bincount(member_group, minlength=n_groups)
        called = pooled.members_called(
            weights,
            nonmember_group,
            n0,
            lambda place: ranking.above(curve, place),
            fpr,
            curve.n_members,
        )
        tp = pooled.members_found(weights, member_group, called, n_groups)
        return np.divide(tp, n1, out=np.full(len(tp), np.nan), where=(n1 > 0) & (n0 > 0))

    return statistic


def auc_interval(curve, delta, groups, n_groups):
    """DeLong's placements, summed over examples and over models, and a t interval for the logit of
    the AUC; from disjoint pairs of examples where every pair, or none, is in order.
    """
    if n_groups < 2:
        checks.fail("groups", "a single group", "at least two")
    if curve.auc in (0, 1):
        return one_target.certain_auc(curve.auc, _disjoint_pairs(curve, groups), delta)
    if ranking.all_tied(curve):
        return one_target.tied_auc(_disjoint_pairs(curve, groups), delta)
    n_models = ranking.n_models(curve)
    moved = _moves_auc(curve, groups)
    spread = pooled.spread(moved, groups, n_groups, n_models)
    parts, freedoms = _examples_part(curve, moved, groups, n_groups, spread.examples)
    parts, freedoms = (*parts, spread.models_high), (*freedoms, n_models - 1)
    return one_target.logit_interval(curve.auc, parts, freedoms, delta)


def _examples_part(curve, moved, groups, n_groups, examples):
    """What the groups add to the variance of the AUC, and the degrees of freedom of each part."""
    sides = curve.member_entries, curve.nonmember_entries
    counts = [_n_groups(entries, groups) for entries in sides]
    if min(counts) >= FEW_GROUPS:
        return (examples * n_groups / (n_groups - 1),), (n_groups - 1,)
    # Few on one side: each side by itself, since the many of the other know nothing of the few. Who
    # is on both sides moves the area up on one and down on the other: this is not too small.
    parts = []
    for entries, count in zip(sides, counts):
        if count == 1:  # no variance to estimate: the largest that values in [0, 1] can have
            parts.append(curve.auc * (1 - curve.auc))
            continue
        sums = np.bincount(groups[entries], moved[entries], n_groups)
        parts.append(float((sums**2).sum()) * count / (count - 1))
    return tuple(parts), tuple(count - 1 for count in counts)


def _n_groups(entries, groups):
    return np.unique(groups[entries]).size


def _disjoint_pairs(curve, groups):
    """The most pairs of a member and a non-member that no example is in twice."""
    sides = [set(groups[entries]) for entries in (curve.member_entries, curve.nonmember_entries)]
    return min(len(sides[0]), len(sides[1]), len(sides[0] | sides[1]) // 2)


def _moves_auc(curve, groups):
    """How much each flattened entry moves the AUC, to first order."""
    of_members, of_nonmembers = ranking.placements(curve)
    found = np.empty(groups.size)
    found[curve.member_entries] = (of_members - curve.auc) / curve.n_members
    found[curve.nonmember_entries] = (of_nonmembers - curve.auc) / curve.n_nonmembers
    return found


def independent(curve, fpr, groups):
    """How many independent non-members would carry such false positives at this rate."""
    called = ranking.nonmembers_called(curve, fpr, ties=True)
    carriers = pooled.independent(groups[curve.nonmember_entries[:called]])
    return carriers * curve.n_nonmembers / called


def carried_by(curve, fpr, groups):
    """How many independent examples, and models, the false positives at a rate belong to."""
    called = ranking.nonmembers_called(curve, fpr, ties=True)
    models = curve.nonmember_entries[:called] // curve.shape[-1]
    return independent(curve, fpr, groups) * fpr, pooled.independent(models)


def influence(curve, fpr, groups):
    """How much each flattened entry moves ROC(fpr), to first order."""
    members = ranking.members_called(curve, fpr)
    nonmembers = ranking.nonmembers_called(curve, fpr)
    value, rate = members / curve.n_members, nonmembers / curve.n_nonmembers
    slope = _slope(curve, fpr, groups)
    found = np.empty(groups.size)
    found[curve.member_entries] = -value / curve.n_members
    found[curve.member_entries[:members]] += 1 / curve.n_members
    found[curve.nonmember_entries] = slope * rate / curve.n_nonmembers
    found[curve.nonmember_entries[:nonmembers]] -= slope / curve.n_nonmembers
    return found


def _slope(curve, fpr, groups):
    """Of the chord over the rates that two standard errors of the false positives reach."""
    reach = min(0.9, 2 / np.sqrt(max(1.0, independent(curve, fpr, groups) * fpr)))
    start, stop = fpr * (1 - reach), min(1.0, fpr * (1 + reach))
    rise = ranking.members_called(curve, stop) - ranking.members_called(curve, start)
    run = ranking.nonmembers_called(curve, stop) - ranking.nonmembers_called(curve, start)
    return rise / curve.n_members / (run / curve.n_nonmembers) if run else 0.0


def spread_at(curve, fpr, groups, n_groups):
    """How far ROC(fpr) moves with the examples and with the models that are drawn."""
    moved = influence(curve, fpr, groups)
    return pooled.spread(moved, groups, n_groups, ranking.n_models(curve))


def resolvable(curve, fpr, delta, groups, n_groups):
    """Whether the false positives have carriers and models enough, and members are not too few."""
    if _n_groups(curve.member_entries, groups) < NO_MEMBERS:
        return False
    carriers, models = carried_by(curve, fpr, groups)
    if carriers < pooled.enough(delta):
        return False  # the influence need not be computed
    return pooled.suffices(spread_at(curve, fpr, groups, n_groups), carriers, models, delta)


def smallest_resolvable(curve, delta, groups, n_groups):
    """The rate from which on the carriers suffice, or the next larger one from which on the models
    do too; 1 where there is none.
    """
    if _n_groups(curve.member_entries, groups) < NO_MEMBERS:
        return 1.0
    rate = _carriers_suffice_from(curve, delta, groups, n_groups)
    if ranking.n_models(curve) == 1 or rate >= 0.5:
        return float(rate)
    steps = rate * STEP ** np.arange(np.ceil(np.log(0.5 / rate) / np.log(STEP)))
    steps[0] *= 1 + 1e-9  # resolved by its carriers, whatever the rounding
    short = [k for k, a in enumerate(steps) if not resolvable(curve, a, delta, groups, n_groups)]
    if not short:
        return float(rate)
    return float(steps[short[-1] + 1]) if short[-1] + 1 < steps.size else 1.0


def _carriers_suffice_from(curve, delta, groups, n_groups):
    count = pooled.independent_of_first(groups[curve.nonmember_entries], n_groups)
    scores = curve.nonmember_scores
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), curve.n_nonmembers - 1)
    rates = (last + 1) / curve.n_nonmembers  # of the blocks of ties, one non-member each at best
    starts = np.append(0.0, rates[:-1])
    enough_from = pooled.enough(delta) * rates / count[last]
    # The last block of ties that is not resolved from its start on.
    last_short = np.flatnonzero(enough_from > starts)[-1]
    return min(enough_from[last_short], rates[last_short])
