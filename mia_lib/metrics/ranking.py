"""Reading a ranking: whom the threshold of a false-positive rate calls a member.

All functions take a `metrics.Roc`, whose scores are sorted from the largest down. The threshold of
ROC(fpr) is the lowest one whose false-positive rate is at most fpr.
"""

import numpy as np

from mia_lib import checks


def groups_of(curve, groups):
    """The group of each flattened entry as 0 ... n_groups - 1, and n_groups; None: the columns."""
    if groups is None:
        n = curve.shape[-1]
        return np.tile(np.arange(n), n_models(curve)), n
    groups = np.asarray(groups)
    if groups.shape not in (curve.shape, curve.shape[-1:]):
        checks.fail("groups", f"shape {groups.shape}", f"shape {curve.shape} or {curve.shape[-1:]}")
    names, index = np.unique(np.broadcast_to(groups, curve.shape), return_inverse=True)
    return index.ravel(), names.size


def n_models(curve):
    """How many targets are pooled; flattened scores name none and count as one."""
    return curve.shape[0] if len(curve.shape) == 2 else 1


def each_alone(curve, groups, n_groups):
    """Whether entries have nothing in common: a group for each, of a single target."""
    return n_groups == groups.size and n_models(curve) == 1


def all_tied(curve):
    """Whether all scores are one number."""
    ends = curve.member_scores[[0, -1]], curve.nonmember_scores[[0, -1]]
    return np.unique(np.concatenate(ends)).size == 1


def members_above(curve, ties=False):
    """For each non-member in descending order: how many members score higher (with ties: at least
    as high).
    """
    side = "left" if ties else "right"
    ascending = curve.member_scores[::-1]
    return curve.n_members - np.searchsorted(ascending, curve.nonmember_scores, side=side)


def placements(curve):
    """Of each member, then of each non-member, in descending order: the share of the other side
    that it stands right to, ties counted half. Both have the AUC as their mean.
    """
    of_nonmembers = members_above(curve) + members_above(curve, ties=True)
    ascending = curve.nonmember_scores[::-1]
    of_members = sum(
        np.searchsorted(ascending, curve.member_scores, side) for side in ("left", "right")
    )
    return of_members / (2 * curve.n_nonmembers), of_nonmembers / (2 * curve.n_members)


def above(curve, place):
    """How many members score higher than the non-members at these places of the ranking."""
    ascending = curve.member_scores[::-1]
    return curve.n_members - np.searchsorted(ascending, curve.nonmember_scores[place], side="right")


def first_spared(curve, fpr):
    """Place of the first non-member that would make the false-positive rate exceed fpr; the number
    of non-members if none does.
    """
    place = max(0, int(fpr * curve.n_nonmembers) - 1)
    while place < curve.n_nonmembers and (place + 1) / curve.n_nonmembers <= fpr:
        place += 1
    return place


def members_called(curve, fpr):
    """How many members the threshold of ROC(fpr) calls."""
    first = first_spared(curve, fpr)
    return curve.n_members if first == curve.n_nonmembers else int(above(curve, first))


def nonmembers_called(curve, fpr, ties=False):
    """How many non-members the threshold of ROC(fpr) calls; with ties: also those that come next,
    all of one score.
    """
    first = first_spared(curve, fpr)
    if first == curve.n_nonmembers:
        return first
    side = "right" if ties else "left"
    falling = -curve.nonmember_scores
    return int(np.searchsorted(falling, falling[first], side=side))
