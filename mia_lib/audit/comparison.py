"""Two audits side by side: what a defence, or anything else, changed."""

import numpy as np

from mia_lib import bayes, checks, disk, metrics
from mia_lib.audit import conduct, family
from mia_lib.audit.observations import Observations
from mia_lib.intervals import Estimate


def compare(before, after, delta=0.05, *, seed=0):
    """What changed between two models, attack by attack, with intervals.

    Parameters
    ----------
    before, after : Observations
    delta : float
        Probability, at most, that one of all intervals misses.
    seed : int
        As for `run`.

    Returns
    -------
    dict
        "paired" (bool), "said" (list of str), "verdicts" (before, after) and "changes": for each
        attack that both permit, "attack", "what" ("AUC", "TPR", "TPR - FPR"), "rate", "before" and
        "after" (values) and "change" (`Estimate`, after minus before; below 0 is better).

    Raises
    ------
    ValueError
        Anything but two `Observations`; two that share no attack; as `run`.

    Notes
    -----
    Paired where labels, membership and features agree by hash: then the change of the AUC has the
    interval of `metrics.auc_change`. All other changes reach from the lower limit of the one figure
    minus the upper limit of the other to the reverse: longer, but right however the two depend on
    each other. Taught in book/audit.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, member = np.zeros(200, int), np.arange(200) < 100
    >>> z = rng.normal(size=(200, 2)) + [[2.0, 0.0]] * member[:, None]
    >>> before, after = (Observations(x, labels, member, features=np.eye(200),
    ...     assignment="random") for x in (z, z / 2 + rng.normal(size=(200, 2))))
    >>> found = compare(before, after)
    >>> found["paired"], found["verdicts"][0], found["changes"][0]["what"]
    (True, 'leak', 'AUC')
    """
    for name, value in (("before", before), ("after", after)):
        if not isinstance(value, Observations):
            checks.fail(name, type(value).__name__, "audit.Observations")
    delta = checks.delta(delta)
    judged = [conduct.judge(o, delta, seed) for o in (before, after)]
    paired, said = _pairing(before, after)
    names = [name for name in judged[0]["scores"] if name in judged[1]["scores"]]
    if not names:
        given = "observations that permit " + ", ".join(judged[1]["scores"])
        checks.fail("after", given, "an attack that `before` permits too")
    rates = _shared_rates(judged, delta, len(names))
    level = delta / (len(names) * (2 + len(rates)))
    changes = []
    for name in names:
        curves = [_curve(one, name) for one in judged]
        changes.append(_change(name, family.AUC, None, _areas(curves, paired, level)))
        for rate in rates:
            # Each of the two misses with half: then both limits hold together.
            tprs = [curve.tpr_at(rate, level / 2) for curve in curves]
            changes.append(_change(name, family.TPR, rate, _apart(*tprs)))
        gaps = [
            bayes.threshold_advantage(curve.member_scores, curve.nonmember_scores, delta=level / 2)
            for curve in curves
        ]
        changes.append(_change(name, family.ADVANTAGE, None, _apart(*gaps)))
    verdicts = [one["decided"]["verdict"] for one in judged]
    return {"paired": paired, "said": said, "verdicts": verdicts, "changes": changes}


def _pairing(before, after):
    """Whether both are about the same records, and what is to be said of it."""
    told = []
    for name in ("labels", "member", "features"):
        first, second = (getattr(o, name) for o in (before, after))
        if first is None or second is None:
            told.append(f"{name} are missing")
        elif disk.hash_arrays(first) != disk.hash_arrays(second):
            told.append(f"{name} differ")
    if told:
        return False, [
            f"The two are not paired ({'; '.join(told)}): the intervals take them for audits of "
            f"different records, and are longer than they would be on the same ones."
        ]
    return True, ["The two are about the same records with the same members, by their hashes."]


def _shared_rates(judged, delta, n_attacks):
    """Those of 10 %, 1 % and 0.1 % that the non-members of both resolve."""
    fewest = min(int(np.count_nonzero(~one["observations"].member[one["rows"]])) for one in judged)
    level = delta / (n_attacks * (2 + len(family.FPRS))) / 2
    resolved = family.rates(fewest, level)
    return [rate for rate in family.FPRS if rate in resolved]


def _curve(one, name):
    rows = one["rows"]
    return metrics.roc(one["scores"][name][rows], one["observations"].member[rows])


def _change(name, what, rate, three):
    before, after, change = three
    return {
        "attack": name,
        "what": what,
        "rate": rate,
        "before": before,
        "after": after,
        "change": change,
    }


def _apart(first, second):
    """Values, and the interval from limits that both hold."""
    low, high = second.low - first.high, second.high - first.low
    return first.value, second.value, Estimate(second.value - first.value, low, high)


def _areas(curves, paired, level):
    values = [curve.auc for curve in curves]
    if not paired:
        return _apart(*(curve.auc_interval(level / 2) for curve in curves))
    return *values, metrics.auc_change(*curves, level)
