"""Attacks under one protocol: the same targets, the same figures, an interval on each.

Taught in book/lira.ipynb.
"""

import numpy as np
import pandas as pd

from mia_lib import checks, intervals, metrics

RATES = (1e-5, 1e-3, 1e-2)


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
    scores, member = checked(scores, member)
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
    scores : array (S, n) or (n,)
    member : bool array, same shape
    delta : float
    rng : numpy.random.Generator, optional

    Returns
    -------
    Estimate
        In [0, 1]. The threshold is chosen on the evaluated scores and flatters the attack; the
        interval does not know of it.

    Notes
    -----
    Where nobody is misjudged, the lower end is the exact limit of as many trials as the smaller
    side has examples. Run in notebooks/lira.ipynb.

    Examples
    --------
    >>> scores, member = np.arange(6.0), np.arange(6) > 2
    >>> accuracy_interval(metrics.roc(scores, member), scores, member,
    ...     rng=np.random.default_rng(0)).value
    1.0
    """
    scores = np.asarray(scores)
    member = checks.boolean_array("member", member, shape=scores.shape)
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

    found = intervals.bootstrap(value, len(counts), checks.delta(delta), rng=rng)
    if found.value < 1:
        return found
    # Nobody misjudged: resamples show nothing of whom a new record would be, on the smaller side.
    fewest = min((counts[:, 1] > 0).sum(), (counts[:, 3] > 0).sum())
    right = float(intervals.clopper_pearson_lower(fewest, fewest, delta / 2))
    return found._replace(low=min(found.low, (1 + right) / 2))


def checked(scores, member):
    if not scores:
        checks.fail("scores", "no attack", "at least one")
    found = {}
    for name, values in scores.items():
        values = checks.real_array(f"scores of {name!r}", values, (1, 2), finite=False)
        member = checks.boolean_array("member", member)
        if values.shape != member.shape:
            checks.fail(
                f"scores of {name!r}",
                f"shape {values.shape}",
                f"shape {member.shape}, that of member",
            )
        found[name] = values
    return found, member
