"""The privacy risk score: one probability of membership for each record, and how to tell whether it
is one.

Song and Mittal 2021, section 4. Taught in book/metric_attacks.ipynb.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mia_lib import checks
from mia_lib.intervals import Estimate, clopper_pearson

SMALLEST = 1e-10  # logarithmic bins: what is smaller counts as this
ROUNDING = 1e-12  # a score of 0.6 that rounding put below 0.6 counts as 0.6
BLOCK = 1 << 20  # coins that are tossed at a time


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
    value is lost to rounding. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> shadow = [0.1, 0.1, 0.1, 9.0, 9.0, 9.0, 9.0], [0] * 7, [True, True, False, True, False,
    ...     False, False]
    >>> privacy_risk_score([0.05, 8.0], [0, 0], *shadow, bins=2).round(3)
    array([0.727, 0.308])
    """
    target = checks.real_array("target_signal", target_signal, 1)
    target_labels = checks.labels("target_labels", target_labels, len(target))
    shadow = checks.real_array("shadow_signal", shadow_signal, 1)
    shadow_labels = checks.labels("shadow_labels", shadow_labels, len(shadow))
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape)
    prior, bins = checks.prior(prior), checks.integer("bins", bins, 1)
    if log_bins:
        for name, signal in (("target_signal", target), ("shadow_signal", shadow)):
            if signal.min() < 0:
                checks.fail(
                    name,
                    f"a smallest value of {signal.min():g}",
                    "values of at least 0, or log_bins=False",
                )
        target, shadow = np.log(np.maximum(target, SMALLEST)), np.log(np.maximum(shadow, SMALLEST))
    score = np.empty(len(target))
    for label in np.unique(target_labels):
        asked, known = target_labels == label, shadow_labels == label
        score[asked] = _class_score(
            target[asked], shadow[known], shadow_member[known], prior, bins, int(label)
        )
    return score


def _class_score(target, shadow, member, prior, bins, label):
    if not len(shadow):
        checks.fail("shadow_labels", f"no example of class {label}", "every class of target_labels")
    if member.all() or not member.any():
        checks.fail(
            "shadow_member",
            f"only members or only non-members in class {label}",
            "both groups in every class",
        )
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


class Calibration(NamedTuple):
    """A calibration curve and its distance from the diagonal, from `calibration`.

    Taught in book/metric_attacks.ipynb.

    Parameters
    ----------
    score : float64 array (k,)
        Mean score of the records in each bin that holds any.
    fraction : float64 array (k,)
        Fraction of members among them, at the prior.
    low, high : float64 array (k,)
        Its Clopper-Pearson limits.
    count : int array (k,)
        Records in the bin.
    rmse : float
        Root mean square of fraction minus score, every bin counting once.
    noise_floor : float
        What `rmse` is, in the root mean square, when every score is exactly right.
    noise_limit : float
        What it then exceeds in a share delta of samples.
    """

    score: np.ndarray
    fraction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    rmse: float
    noise_floor: float
    noise_limit: float


def calibration(score, member, prior=0.5, *, bins=10, delta=0.05, rng=None, n_draws=500):
    """Hold scores against the fraction of members among the records that have them.

    Parameters
    ----------
    score : array (n,)
        Probabilities of membership, in [0, 1].
    member : bool array (n,)
        The truth.
    prior : float
        The prior that the scores are for. Members and non-members are weighed so that members have
        this share.
    bins : int
        Bins of equal width on [0, 1].
    delta : float
        1 minus the level of the intervals and of the limit of noise.
    rng : numpy.random.Generator, optional
        For the limit of noise. None means fresh entropy.
    n_draws : int
        Samples that it is drawn from.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        Scores outside [0, 1], wrong shapes, one group without examples.

    Notes
    -----
    Song and Mittal, section 4.2.1 and Figure 3; the paper gives the RMSE without its noise. The
    noise here is that of the finite number of records in each bin, each a member by a coin of its
    own; that the sample's number of members was fixed makes it a few per cent smaller. What the
    shadow data's own size does to the scores comes on top. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> curve = calibration([0.2, 0.2, 0.8, 0.8], [False, False, True, True])
    >>> curve.fraction, round(curve.rmse, 3)
    (array([0., 1.]), 0.2)
    """
    score = checks.real_array("score", score, 1)
    if score.min() < 0 or score.max() > 1:
        checks.fail(
            "score", f"values from {score.min():g} to {score.max():g}", "probabilities in [0, 1]"
        )
    member = checks.boolean_array("member", member, shape=score.shape)
    checks.both_groups("member", member)
    prior, bins, delta = checks.prior(prior), checks.integer("bins", bins, 1), checks.delta(delta)
    rng, n_draws = checks.generator(rng), checks.integer("n_draws", n_draws, 1)
    place = np.minimum(((score + ROUNDING) * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    kept = count > 0
    count, inside = count[kept], np.bincount(place[member], minlength=bins)[kept]
    mean = np.bincount(place, score, minlength=bins)[kept] / count
    # The sample's odds of membership times this are the odds at the prior.
    factor = _factor(prior, np.count_nonzero(member), len(member))
    low, high = clopper_pearson(inside, count, delta)
    fraction = _odds_times(inside / count, factor)
    drawn = _drawn_members(_odds_times(score, 1 / factor), place, kept, n_draws, rng)
    noise = np.sqrt(np.mean((_odds_times(drawn / count, factor) - mean) ** 2, axis=1))
    return Calibration(
        mean,
        fraction,
        _odds_times(low, factor),
        _odds_times(high, factor),
        count,
        float(np.sqrt(np.mean((fraction - mean) ** 2))),
        float(np.sqrt(np.mean(noise**2))),
        float(np.quantile(noise, 1 - delta)),
    )


def _factor(prior, n_members, n):
    """What turns the odds of a sample with so many members into those at the prior."""
    return prior / (1 - prior) * (n - n_members) / n_members


def _odds_times(probability, factor):
    return factor * probability / (1 + (factor - 1) * probability)


def _drawn_members(chance, place, kept, n_draws, rng):
    """Members in each bin, (n_draws, k), if each record is one with its own chance in this
    sample.
    """
    order = np.argsort(place, kind="stable")
    chance, start = chance[order], np.searchsorted(place[order], np.flatnonzero(kept))
    step = max(1, BLOCK // len(chance))
    parts = [
        np.add.reduceat(
            rng.random((min(step, n_draws - done), len(chance))) < chance,
            start,
            axis=1,
            dtype=np.int64,
        )
        for done in range(0, n_draws, step)
    ]
    return np.concatenate(parts)


class ThresholdRow(NamedTuple):
    """One line of `precision_recall`.

    Taught in book/metric_attacks.ipynb.

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
    Song and Mittal, Table 6. Taught in book/metric_attacks.ipynb.

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
    prior, delta = checks.prior(prior), checks.delta(delta)
    n_in = int(np.count_nonzero(member))
    factor = _factor(prior, n_in, len(member))
    rows = []
    for threshold in thresholds:
        threshold = checks.number("thresholds", threshold, 0, high=1)
        called = score >= threshold - ROUNDING
        right, all_called = int(np.count_nonzero(called & member)), int(np.count_nonzero(called))
        recall = Estimate(right / n_in, *map(float, clopper_pearson(right, n_in, delta)))
        precision = None
        if all_called:
            found = (right / all_called, *clopper_pearson(right, all_called, delta))
            precision = Estimate(*(float(_odds_times(share, factor)) for share in found))
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
    Song and Mittal, Figures 1, 5 and 6. Taught in book/metric_attacks.ipynb.

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
    book/metric_attacks.ipynb.

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
