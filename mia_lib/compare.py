"""Attacks under one protocol: the same targets, the same figures, an interval on each.

Scores of S targets on n examples are pooled. What was drawn independently is the example, so every
interval comes from a bootstrap that draws examples, all targets of one kept together, scores fixed.
Models are never redrawn: a model drawn twice would be among its own shadow models. Intervals of a
TPR and of a ratio of two are stretched by what models differ in instead (`metrics.pooled.spread`).

Taught in book/lira.ipynb.
"""

import numpy as np
import pandas as pd

from mia_lib import checks, intervals, metrics
from mia_lib.metrics import pooled

RATES = (1e-5, 1e-3, 1e-2)
N_RESAMPLES = 1000


def name_of(fpr):
    """How `table` calls a rate.

    Used in notebooks/lira.ipynb.

    Examples
    --------
    >>> name_of(1e-3)
    'TPR at 0.1 %'
    """
    return f"TPR at {100 * fpr:.12g} %"


def table(scores, member, fprs=RATES, *, delta=0.05, rng=None):
    """What each attack finds, with intervals.

    Parameters
    ----------
    scores : dict of str to array (S, n) or (n,)
        The scores of each attack, all of one shape; larger means more likely a member. Column i is
        example i.
    member : bool array, same shape
        The truth.
    fprs : sequence of float
        False-positive rates in (0, 1) at which the true-positive rate is read off.
    delta : float
        Nominal probability that an interval misses the truth.
    rng : numpy.random.Generator, optional
        None means fresh entropy. All attacks are given the same resamples.

    Returns
    -------
    pandas.DataFrame
        A row for each attack. "TPR at 0.1 %" and so on (`Estimate`): the largest TPR with FPR <=
        0.1 %, all in [0, 1]. "false positives at 0.1 %" (int): how many distinct examples carry the
        false positives. "resolved at 0.1 %" (bool): `metrics.Roc.resolvable`; where this is False
        the interval of the TPR reaches down to 0, and no attack is to be ranked by it. "records
        needed at 0.1 %" (int or inf): about how many would resolve it,
        `metrics.Roc.records_needed`. "tied at 0.1 %" (bool): `metrics.tie_limited`.
        "balanced accuracy" (`Estimate`): at the threshold that is best on these scores, which the
        interval holds fixed. "AUC" (`Estimate`).

    Raises
    ------
    ValueError
        No attack, scores of another shape than `member`, NaN or +inf, rates or delta outside (0,
        1).

    Notes
    -----
    For one target, (n,), intervals of the TPR are those of `metrics.Roc.tpr_at`, without a
    bootstrap. Taught in book/lira.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 500)) < 0.5
    >>> scores = {"noise": rng.normal(size=(4, 500)),
    ...     "good": rng.normal(size=(4, 500)) + 2 * member}
    >>> found = table(scores, member, [0.01], rng=rng)
    >>> list(found.columns)[:4]
    ['TPR at 1 %', 'false positives at 1 %', 'resolved at 1 %', 'records needed at 1 %']
    >>> bool(found.loc["good", "AUC"].low > found.loc["noise", "AUC"].high)
    True
    """
    scores, member = _checked(scores, member)
    rates = [checks.number("fprs", rate, 0, high=1, open_low=True, open_high=True) for rate in fprs]
    delta = checks.delta(delta)
    seed = int(checks.generator(rng).integers(2**63))
    rows = {}
    for name, values in scores.items():
        curve, row = metrics.roc(values, member), {}
        for rate in rates:
            short = name_of(rate)[4:]
            row[name_of(rate)] = curve.tpr_at(rate, delta, rng=np.random.default_rng(seed))
            row[f"false positives {short}"] = curve.distinct_false_positives(rate)
            row[f"resolved {short}"] = curve.resolvable(rate, delta)
            row[f"records needed {short}"] = curve.records_needed(rate, delta)
            row[f"tied {short}"] = metrics.tie_limited(curve, rate)
        row["balanced accuracy"] = accuracy_interval(
            curve, values, member, delta=delta, rng=np.random.default_rng(seed)
        )
        row["AUC"] = curve.auc_interval(delta, rng=np.random.default_rng(seed))
        rows[name] = row
    columns = list(next(iter(rows.values())))
    found = {
        column: pd.Series(
            {name: row[column] for name, row in rows.items()},
            # counts beside inf stay counts
            dtype=object if column.startswith("records needed") else None,
        )
        for column in columns
    }
    return pd.DataFrame(found)


def show(found):
    """`table` as text: percentages with intervals, or "not resolved" and what that would take.

    Parameters
    ----------
    found : pandas.DataFrame
        From `table`.

    Returns
    -------
    pandas.DataFrame of str
        A column for each figure. A TPR is followed by the number of examples that carry its false
        positives, or by "tied" where ties decide it.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> member = np.arange(40) < 20
    >>> show(table({"a": np.arange(40.0)}, member, [0.001], rng=np.random.default_rng(0))).loc["a",
    ...     "TPR at 0.1 %"]
    'not resolved, about 7,900 records needed'
    """
    text = pd.DataFrame(index=found.index)
    for column in found.columns:
        if column.startswith("TPR"):
            what = column.removeprefix("TPR ")
            cells = zip(
                found[column],
                found[f"false positives {what}"],
                found[f"resolved {what}"],
                found[f"records needed {what}"],
                found[f"tied {what}"],
            )
            text[column] = [
                f"{percent(e)} ({'tied' if tied else f'{carriers} ex.'})"
                if resolved
                else not_resolved(needed)
                for e, carriers, resolved, needed, tied in cells
            ]
        elif column in ("balanced accuracy", "AUC"):
            text[column] = [
                percent(e) if column == "balanced accuracy" else f"{e:.3f}" for e in found[column]
            ]
    return text


def not_resolved(needed):
    """What a row says in place of a rate that cannot be resolved.

    Parameters
    ----------
    needed : float
        How many records it would take, from `table` or `metrics.Roc.records_needed`.

    Returns
    -------
    str
        The number to two digits.

    Examples
    --------
    >>> not_resolved(8766.0), not_resolved(float("inf"))
    ('not resolved, about 8,800 records needed', 'not resolved at any rate')
    """
    if np.isinf(needed):
        return "not resolved at any rate"
    digits = max(0, len(f"{needed:.0f}") - 2)
    return f"not resolved, about {round(needed, -digits):,.0f} records needed"


def percent(estimate, digits=2):
    """An `intervals.Estimate` in per cent.

    Used in book/which_attack.ipynb.

    Examples
    --------
    >>> from mia_lib.intervals import Estimate
    >>> percent(Estimate(0.1, 0.05, 0.2), 0)
    '10 % [5, 20]'
    """
    value, low, high = (f"{100 * part:.{digits}f}" for part in estimate)
    return f"{value} % [{low}, {high}]"


def accuracy_interval(curve, scores, member, *, delta=0.05, rng=None):
    """(TPR + TNR) / 2 at the best threshold, with that threshold held fixed in the bootstrap over
    examples.

    Parameters
    ----------
    curve : metrics.Roc
        Of these scores.
    scores, member : arrays (S, n) or (n,)
    delta : float
    rng : numpy.random.Generator, optional

    Returns
    -------
    Estimate
        In [0, 1]. The threshold is chosen on the evaluated scores and flatters the attack; the
        interval does not know of it.

    Notes
    -----
    Run in notebooks/lira.ipynb.

    Examples
    --------
    >>> scores, member = np.arange(6.0), np.arange(6) > 2
    >>> accuracy_interval(metrics.roc(scores, member), scores, member,
    ...     rng=np.random.default_rng(0)).value
    1.0
    """
    called = np.atleast_2d(scores >= curve.thresholds[np.argmax(curve.tpr - curve.fpr)])
    member = np.atleast_2d(member)
    counts = np.stack(
        [(called & member).sum(0), member.sum(0), (called & ~member).sum(0), (~member).sum(0)],
        axis=1,
    )

    def value(weights):
        tp, n1, fp, n0 = (weights @ counts).T
        undefined = (n1 == 0) | (n0 == 0)
        found = (1 + tp / np.maximum(n1, 1) - fp / np.maximum(n0, 1)) / 2
        return np.where(undefined, np.nan, found)

    return intervals.bootstrap(
        value, len(counts), checks.delta(delta), n_resamples=N_RESAMPLES, rng=rng
    )


def tpr_ratio(scores, baseline, member, fpr, *, delta=0.05, rng=None):
    """How many times as many members one attack finds as another at the same false-positive rate.

    Parameters
    ----------
    scores, baseline : arrays (S, n) or (n,)
        Of the attack and of what it is compared with.
    member : bool array, same shape
    fpr : float
        In (0, 1).
    delta : float
    rng : numpy.random.Generator, optional

    Returns
    -------
    Estimate
        TPR over TPR, at least 0. Both are resampled together, so that what makes an example hard
        for either cancels. inf where the baseline finds none. Where the rate is not resolvable for
        both (`metrics.Roc.resolvable`) the interval is all of [0, inf]: nothing is ranked on it.

    Raises
    ------
    ValueError
        Wrong shapes, scores that `metrics.roc` refuses, a rate outside (0, 1), an attack and a
        baseline that both find none.

    Notes
    -----
    Both sides of the bootstrap's interval for TPR / (TPR + TPR of the baseline) are stretched as in
    `metrics.Roc.tpr_at`: by what models add to the variance of the logarithm of the ratio, and by
    the skewness of the fewer independent false positives. Taught in book/lira.ipynb.

    Examples
    --------
    >>> member = np.arange(400) % 2 == 0
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> tpr_ratio(x + 2 * member, x + 2 * member, member, 0.1, rng=np.random.default_rng(0))
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    both, member = _checked({"scores": scores, "baseline": baseline}, member)
    fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
    delta = checks.delta(delta)
    curves = [metrics.roc(values, member) for values in both.values()]
    parts = [curve.weighted_tpr(fpr) for curve in curves]

    def share(weights):
        ours, theirs = (part(weights) for part in parts)
        total = ours + theirs
        return np.divide(
            ours, total, out=np.full(len(total), np.nan), where=total > 0
        )  # undefined: left out

    n = member.shape[-1]
    whole = np.ones((1, n), dtype=np.int64)
    if np.isnan(share(whole)[0]):
        checks.fail(
            "scores, baseline",
            f"two attacks without a true positive at FPR {fpr:g}",
            "one that finds a member",
        )
    # The share of the two rates has the ratio's order and stays finite where the baseline finds
    # none.
    value = float(share(whole)[0])
    low, high = 0.0, 1.0
    if all(curve.resolvable(fpr, delta) for curve in curves):
        found = intervals.bootstrap(share, n, delta, n_resamples=N_RESAMPLES, rng=rng)
        stretch = _stretch(curves, [part(whole)[0] for part in parts], fpr, delta)
        low = max(0.0, value - stretch * max(0.0, value - found.low))
        high = min(1.0, value + stretch * max(0.0, found.high - value))
    return intervals.Estimate(
        *(part / (1 - part) if part < 1 else np.inf for part in (value, low, high))
    )


def _stretch(curves, rates, fpr, delta):
    """By how much either side of a ratio's bootstrap interval over examples is too short."""
    if len(curves[0].shape) == 1 or curves[0].shape[0] == 1 or min(rates) == 0:
        return 1.0
    n_models, n = curves[0].shape
    ours, theirs = (curve.influence(fpr).ravel() / rate for curve, rate in zip(curves, rates))
    spread = pooled.spread(ours - theirs, np.tile(np.arange(n), n_models), n, n_models)
    count = min(pooled.rarest(spread, *curve.carried_by(fpr)) for curve in curves)
    return spread.stretch * pooled.skewness(count, delta)


def rank_correlation(first, second, delta=0.05, *, rng=None):
    """How far two attacks put the same records in the same order.

    Parameters
    ----------
    first, second : arrays (S, n) or (n,)
        Scores of two attacks on S targets; larger means more likely a member.
    delta : float
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Estimate
        Spearman's rank correlation within a target, averaged over targets, in [-1, 1]. 1: the same
        order, 0: unrelated. Ties share their mean rank.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, an attack that gives all records of a target the same score.

    Notes
    -----
    The interval draws examples, all targets of one kept together, and ranks every resample anew.
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> rank_correlation(x, np.exp(x), rng=np.random.default_rng(0))
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    pairs = _orders(first, second)

    def value(weights):
        found = []
        for pair in pairs:
            a, b = (_middles(weights, place) for place in pair)
            a -= _mean(weights, a)
            b -= _mean(weights, b)
            spread = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
            along = (weights * a * b).sum(axis=1)
            found.append(
                np.divide(along, spread, out=np.full(len(along), np.nan), where=spread > 0)
            )
        return np.clip(np.mean(found, axis=0).round(12), -1, 1)

    return intervals.bootstrap(
        value, len(pairs[0][0]), checks.delta(delta), n_resamples=N_RESAMPLES, rng=rng
    )


def top_overlap(first, second, share=0.01, *, delta=0.05, rng=None):
    """Which share of the records that one attack is surest of are also those that another is surest
    of.

    Parameters
    ----------
    first, second : arrays (S, n) or (n,)
        Scores of two attacks on S targets; larger means more likely a member.
    share : float
        Of the records of a target that count as the top, in (0, 1).
    delta : float
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Estimate
        In [0, 1], averaged over targets. Attacks that have nothing in common reach `share` on
        average.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a share outside (0, 1), an attack that gives all records of a target the
        same score.

    Notes
    -----
    Records tied at the border belong to the top in the part that is left of it: the expectation
    over random orders of the tied. The interval draws examples, all targets of one kept together.
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> x = np.arange(200.0)
    >>> top_overlap(x, x, 0.1, rng=np.random.default_rng(0)).value, top_overlap(x, -x, 0.1,
    ...     rng=np.random.default_rng(0)).value
    (1.0, 0.0)
    """
    share = checks.number("share", share, 0, high=1, open_low=True, open_high=True)
    pairs = _orders(first, second)

    def value(weights):
        size, found = share * weights.sum(axis=1, keepdims=True), []
        for pair in pairs:
            inside = []
            for place in pair:
                total = _of_ties(weights, place)
                above = np.take(total[:, ::-1].cumsum(axis=1)[:, ::-1] - total, place, axis=1)
                tied = np.take(total, place, axis=1)
                inside.append(np.clip((size - above) / np.maximum(tied, 1), 0, 1))
            found.append((weights * inside[0] * inside[1]).sum(axis=1) / size[:, 0])
        return np.mean(found, axis=0).round(12)

    return intervals.bootstrap(
        value, len(pairs[0][0]), checks.delta(delta), n_resamples=N_RESAMPLES, rng=rng
    )


def _orders(first, second):
    """For each target and attack: the place of every record's value among the distinct values."""
    both = [
        np.atleast_2d(checks.real_array(name, values, (1, 2), finite=False))
        for name, values in (("first", first), ("second", second))
    ]
    if both[0].shape != both[1].shape:
        checks.fail("second", f"shape {both[1].shape}", f"shape {both[0].shape}, that of first")
    pairs = []
    for rows in zip(*both):
        pair = []
        for name, row in zip(("first", "second"), rows):
            if np.isnan(row).any():
                checks.fail(name, f"{np.isnan(row).sum()} NaN", "no NaN")
            values, place = np.unique(row, return_inverse=True)
            if values.size == 1:
                checks.fail(
                    name, "one score for all records of a target", "scores that can be ranked"
                )
            pair.append(place)
        pairs.append(pair)
    return pairs


def _of_ties(weights, place):
    """How often each distinct value was drawn, (b, values)."""
    width = place.max() + 1
    cells = (place + width * np.arange(len(weights))[:, None]).ravel()
    return np.bincount(cells, weights.ravel(), width * len(weights)).reshape(len(weights), width)


def _middles(weights, place):
    """Mean rank (b, n) of every record in its resample."""
    total = _of_ties(weights, place)
    return np.take(total.cumsum(axis=1) - total / 2, place, axis=1)


def _mean(weights, values):
    return (weights * values).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)


def _checked(scores, member):
    if not scores:
        checks.fail("scores", "no attack", "at least one")
    checked = {}
    for name, values in scores.items():
        values = checks.real_array(f"scores of {name!r}", values, (1, 2), finite=False)
        member = checks.boolean_array("member", member)
        if values.shape != member.shape:
            checks.fail(
                f"scores of {name!r}",
                f"shape {values.shape}",
                f"shape {member.shape}, that of member",
            )
        checked[name] = values
    return checked, member


def verdict(estimate, region):
    """What an interval says about a claim.

    Parameters
    ----------
    estimate : Estimate, or three numbers (value, low, high)
        Ours. The ends may be infinite. None at both ends: there is no interval.
    region : (float, float)
        Where the claim counts as true, both ends included; they may be infinite. "Larger than" a
        bound starts at the next larger float.

    Returns
    -------
    str
        "confirmed" where the interval lies inside the region, "refuted" where it lies wholly
        outside, "undecided" else, and where a number is NaN or there is no interval.

    Raises
    ------
    ValueError
        A region whose ends are NaN or in the wrong order, an interval whose ends are.

    Notes
    -----
    Only what is computed without any sampling has low = value = high. Taught in
    book/replication.ipynb.

    Examples
    --------
    >>> from mia_lib.intervals import Estimate
    >>> verdict(Estimate(1.2, 1.07, 1.36), (1, float("inf"))), verdict((0.9, 0.8, 1.1), (1, 2))
    ('confirmed', 'undecided')
    """
    start, stop = (float(end) for end in region)
    if not start <= stop:
        checks.fail("region", f"({start:g}, {stop:g})", "two numbers, the smaller one first")
    value, low, high = estimate
    if low is None or high is None or np.isnan([value, low, high]).any():
        return "undecided"
    if low > high:
        checks.fail("estimate", f"[{low:g}, {high:g}]", "the smaller end first")
    if start <= low and high <= stop:
        return "confirmed"
    return "refuted" if high < start or stop < low else "undecided"
