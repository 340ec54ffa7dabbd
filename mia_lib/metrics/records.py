"""Whose false positive rate: the rates of single records over models, and scores that give every
record the same one.

A threshold for all records has a false positive rate of each of them, and the pooled rate is their
mean. A record whose scores lie high without having been trained on is accused by many models.
"""

import numpy as np

from mia_lib import checks
from mia_lib.metrics import tails

TAILS = ("gaussian", "empirical")


def record_rates(scores, member, threshold):
    """How often each record is called a member, by models without it and by models with it.

    Parameters
    ----------
    scores : array (S, n)
        Score of S models on n records, larger meaning more likely a member; finite.
    member : bool array (S, n)
        True where record i trained model s.
    threshold : float
        A record is called a member where its score is at least this.

    Returns
    -------
    fpr, tpr : float64 arrays (n,)
        Shares in [0, 1] of the OUT and of the IN models; NaN without a model on that side.

    Raises
    ------
    ValueError
        Wrong shapes, scores that are not finite, a threshold that is not a number.

    Notes
    -----
    Weighted by their numbers of OUT models, the rates' mean is the pooled false positive rate.
    Taught in book/whose_fpr.ipynb.

    Examples
    --------
    >>> fpr, tpr = record_rates([[3.0, 1.0], [0.0, 2.0]], [[True, False], [False, False]], 2.0)
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.5], [1.0, nan])
    """
    scores, member = _checked(scores, member)
    called = scores >= checks.number("threshold", threshold)
    with np.errstate(invalid="ignore"):
        return tuple((called & side).sum(axis=0) / side.sum(axis=0) for side in (~member, member))


def record_calibrated(scores, member, tail="gaussian"):
    """Each score among the scores of the same record in other models that are OUT.

    With it one threshold has the same false positive rate for all records, as far as the tail
    holds. An OUT entry is compared with the record's other OUT models, an IN entry with all but the
    lowest-numbered one, so that both have M = OUT - 1 of them.

    Parameters
    ----------
    scores : array (S, n)
        Score of S models on n records, larger meaning more likely a member; finite. Never scores of
        `lira.leave_one_out`, which know the judged model: see the notes.
    member : bool array (S, n)
        True where record i trained model s.
    tail : {"gaussian", "empirical"}
        "gaussian": (score - mean) / (sd sqrt(1 + 1 / M)) with ddof 1, as the normal quantile of
        Student's t with M - 1 degrees of freedom, which is exact where the record's OUT scores are
        normal. "empirical": the share of the M scores that lie below, ties half, in steps of
        1 / (2 M); no rate below 1 / (M + 1) can be told from 0.

    Returns
    -------
    float64 array (S, n)
        Larger means more likely a member. NaN where M < 2 ("empirical": M < 1) and, for
        "gaussian", where the sd is 0.

    Raises
    ------
    ValueError
        Wrong shapes, scores that are not finite, an unknown tail.

    Notes
    -----
    The judged models must not be among the references that the scores were made with. In scores of
    `lira.leave_one_out` the others have seen the judged model under its true label, so that their
    scores tell how it was labelled, and the false positive rates are wrong. Make the scores of one
    half of the models with the other half as references. Taught in book/whose_fpr.ipynb.

    Examples
    --------
    >>> scores, member = [[2.0], [0.0], [1.0], [2.0]], [[True], [False], [False], [False]]
    >>> record_calibrated(scores, member, "empirical").ravel().tolist()
    [0.75, 0.0, 0.5, 1.0]
    """
    scores, member = _checked(scores, member)
    return (_gaussian if checks.choice("tail", tail, TAILS) == "gaussian" else _empirical)(
        scores, member
    )


def _checked(scores, member):
    scores = checks.real_array("scores", scores, 2)
    return scores, checks.boolean_array("member", member, shape=scores.shape)


def _gaussian(scores, member):
    out, columns = ~member, np.arange(scores.shape[1])
    m = out.sum(axis=0) - 1.0
    m[m < 2] = np.nan
    first = out.argmax(axis=0)
    # About one of the values: scores that agree have the spread 0 exactly.
    shifted = scores - scores[first, columns]
    about = shifted - np.where(out, shifted, 0.0).sum(axis=0) / (m + 1)
    squares = np.where(out, about**2, 0.0).sum(axis=0)
    gone = np.where(out, about, about[first, columns])  # the entry itself, or the first
    left = squares - gone**2 * (m + 1) / m
    mean = -gone / m
    for s, i in np.argwhere(left <= 1e-6 * squares):  # all its digits may be lost
        rest = out[:, i].copy()
        rest[s if rest[s] else first[i]] = False
        values = shifted[rest, i] - shifted[rest, i][0]
        mean[s, i] = values.mean() + shifted[rest, i][0] - (shifted[s, i] - about[s, i])
        left[s, i] = ((values - values.mean()) ** 2).sum()
    scale = np.sqrt(left / (m - 1) * (1 + 1 / m))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(scale > 0, (about - mean) / scale, np.nan)
        return tails.normal_score(t, np.broadcast_to(m - 1, t.shape))


def _empirical(scores, member):
    found = np.full(scores.shape, np.nan)
    for i, inside in enumerate(member.T):
        x, others = scores[:, i], scores[~inside, i]
        if len(others) < 2:
            continue
        ranked = np.sort(others)
        twice = np.searchsorted(ranked, x, "left") + np.searchsorted(ranked, x, "right")
        # An entry ties with itself; an IN entry is not compared with the first.
        gone = np.where(inside, 1 + np.sign(x - others[0]), 1)
        found[:, i] = (twice - gone) / (2 * (len(others) - 1))
    return found
