"""What is read off risk scores: precision and recall, their distribution, the distance value."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mia_lib import checks
from mia_lib.intervals import Estimate, clopper_pearson
from mia_lib.risk_score import odds
from mia_lib.risk_score.calibration import ROUNDING


class ThresholdRow(NamedTuple):
    """One line of `precision_recall`.

    Taught in book/risk_scores.ipynb.

    Parameters
    ----------
    threshold : float
        Records with at least this score are called members.
    precision : Estimate or None
        Share of members among those called, at the prior; None where nobody is called.
    recall : Estimate
        Share of the members that are called.
    """

    threshold: float
    precision: Estimate | None
    recall: Estimate


def precision_recall(
    score, member, thresholds=(1.0, 0.9, 0.8, 0.7, 0.6, 0.5), *, prior=0.5, delta=0.05
):
    """Precision and recall of calling members where the score reaches a threshold.

    Parameters
    ----------
    score : array (n,)
        Probabilities of membership, in [0, 1].
    member : bool array (n,)
        The truth.
    thresholds : sequence of float
        In [0, 1].
    prior : float
        Share of members at which the precision is meant.
    delta : float
        1 minus the level of the Clopper-Pearson intervals.

    Returns
    -------
    list of ThresholdRow

    Raises
    ------
    ValueError
        Scores or thresholds outside [0, 1], wrong shapes, one group without examples.

    Notes
    -----
    Song and Mittal, Table 6. Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> line, = precision_recall([0.9, 0.8, 0.1, 0.2], [True, False, True, False], [0.7])
    >>> line.precision.value, line.recall.value
    (0.5, 0.5)
    """
    score = checks.real_array("score", score, 1)
    if score.min() < 0 or score.max() > 1:
        checks.fail(
            "score", f"values from {score.min():g} to {score.max():g}", "probabilities in [0, 1]"
        )
    member = checks.boolean_array("member", member, shape=score.shape)
    checks.both_groups("member", member)
    if not np.iterable(thresholds):
        checks.fail("thresholds", repr(thresholds), "a sequence of numbers in [0, 1]")
    prior, delta = checks.prior(prior), checks.delta(delta)
    n_in = int(np.count_nonzero(member))
    factor = odds.factor(prior, n_in, len(member))
    rows = []
    for threshold in thresholds:
        threshold = checks.number("thresholds", threshold, 0, high=1)
        called = score >= threshold - ROUNDING
        right, all_called = int(np.count_nonzero(called & member)), int(np.count_nonzero(called))
        recall = Estimate(right / n_in, *map(float, clopper_pearson(right, n_in, delta)))
        precision = None
        if all_called:
            found = (right / all_called, *clopper_pearson(right, all_called, delta))
            precision = Estimate(*(float(odds.times(share, factor)) for share in found))
        rows.append(ThresholdRow(threshold, precision, recall))
    return rows


def cumulative(score):
    """Cumulative distribution of scores: the share of records with at most each score.

    Parameters
    ----------
    score : array (n,)

    Returns
    -------
    values : float64 array (k,)
        The distinct scores, ascending.
    share : float64 array (k,)
        Share of the records with at most that score; the last is 1.

    Raises
    ------
    ValueError
        Wrong shape, NaN.

    Notes
    -----
    Song and Mittal, Figures 1, 5 and 6. Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> cumulative([0.5, 0.9, 0.5, 1.0])[1]
    array([0.5 , 0.75, 1.  ])
    """
    score = checks.real_array("score", score, 1)
    values, count = np.unique(score, return_counts=True)
    return values, np.cumsum(count) / len(score)


def distance(score, member, prior=0.5, *, delta=0.05):
    """How far the members' scores lie above the prior, on average.

    Parameters
    ----------
    score : array (n,)
        Probabilities of membership at this prior, in [0, 1].
    member : bool array (n,)
        The truth.
    prior : float
        Pr(member).
    delta : float
        1 minus the level of the t interval, over members.

    Returns
    -------
    Estimate
        In [-prior, 1 - prior]. Exact posteriors give Var(r) / prior, the variance over members and
        non-members.

    Raises
    ------
    ValueError
        Scores outside [0, 1], wrong shapes, fewer than two members.

    Notes
    -----
    The distance value of Song and Mittal, appendix B. Since E[r | member] = E[r 1(member)] / prior
    = E[r^2] / prior, it is Var(r) / prior (errata of the chapter). Taught in
    book/risk_scores.ipynb.

    Examples
    --------
    >>> distance([0.6, 0.8, 0.4], [True, True, False]).value.__round__(3)
    0.2
    """
    score = checks.real_array("score", score, 1)
    if score.min() < 0 or score.max() > 1:
        checks.fail(
            "score", f"values from {score.min():g} to {score.max():g}", "probabilities in [0, 1]"
        )
    member = checks.boolean_array("member", member, shape=score.shape)
    if np.count_nonzero(member) < 2:
        checks.fail("member", f"{np.count_nonzero(member)} members", "at least 2")
    prior, delta = checks.prior(prior), checks.delta(delta)
    above = score[member] - prior
    value = float(above.mean())
    half = float(stats.t.isf(delta / 2, len(above) - 1) * above.std(ddof=1) / np.sqrt(len(above)))
    return Estimate(value, value - half, value + half)
