"""The ROC of an attack, from its scores.

One target model gives scores (n,), and its entries are independent. Several targets that were
trained on parts of the same examples give scores (S, n) that are pooled into one ROC: entries of
one example, or of one model, then depend on each other, and intervals come from a bootstrap that
draws whole examples and is stretched for the models.

Taught in book/membership_game.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.metrics.curve import Roc


def roc(scores, member):
    """The ROC of scores: one point per distinct score, no interpolation.

    Parameters
    ----------
    scores : array_like (n,) or (S, n)
        The attack's output; larger means more likely a member. -inf is allowed and ranks last.
    member : boolean array_like, same shape
        The truth. (S, n) pools S targets, column i being example i.

    Returns
    -------
    Roc
        The curve, its area, and the methods that give intervals.

    Raises
    ------
    ValueError
        Shapes that differ, NaN or +inf, members only or non-members only.

    Notes
    -----
    An example is called a member where its score is at least the threshold. Carlini et al. 2022,
    section III-B. Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> curve = roc([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    >>> curve.fpr, curve.tpr, curve.auc
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]), 0.875)
    """
    scores = checks.real_array("scores", scores, ndim=(1, 2), finite=False)
    if np.isposinf(scores).any():
        # The first threshold is +inf, above every score, so that the curve starts at (0, 0).
        checks.fail(
            "scores",
            f"{np.isposinf(scores).sum()} of +inf",
            "finite scores, or -inf for the least likely",
        )
    member = checks.boolean_array("member", member, shape=scores.shape)
    checks.both_groups("member", member)

    flat, is_member = scores.ravel(), member.ravel()
    order = np.argsort(-flat, kind="stable")
    flat, is_member = flat[order], is_member[order]
    last_of_tie = np.append(np.flatnonzero(flat[1:] != flat[:-1]), flat.size - 1)
    tp = np.append(0, np.cumsum(is_member)[last_of_tie])
    fp = np.append(0, np.cumsum(~is_member)[last_of_tie])
    n1, n0 = int(tp[-1]), int(fp[-1])
    tpr, fpr = tp / n1, fp / n0
    twice_pairs = int((np.diff(fp) * (tp[1:] + tp[:-1])).sum())
    return Roc(
        fpr=fpr,
        tpr=tpr,
        thresholds=np.append(np.inf, flat[last_of_tie]),
        auc=twice_pairs / (2 * n1 * n0),
        balanced_accuracy=float((1 + tpr - fpr).max() / 2),
        fpr_floor=1 / n0,
        n_members=n1,
        n_nonmembers=n0,
        shape=scores.shape,
        member_scores=flat[is_member],
        nonmember_scores=flat[~is_member],
        member_entries=order[is_member],
        nonmember_entries=order[~is_member],
    )
