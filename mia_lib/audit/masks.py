"""Do the masks contradict each other, or the outputs? What can be wrong with who is said to have
trained what.
"""

import numpy as np

from mia_lib import intervals, metrics

SAMPLE = 1_000  # records that outputs of two models are compared on
TESTS = 2  # inverted masks, and counts: each has its share of the level


def contradictions(observations, view, rows, delta):
    """What is wrong with the masks, one sentence each.

    Parameters
    ----------
    observations : Observations
    view : View
    rows : int array
        Records that are no copies of each other.
    delta : float
        Probability, at most, that right masks are doubted.

    Returns
    -------
    list of str

    Notes
    -----
    Three things are looked for. One model under two masks, or the target among its own shadow
    models: outputs that agree to the last digit. Inverted masks: shadow models that are surer of
    the records that they are said not to have trained on, each compared with the other models'
    answers on the same record, by Student's interval over the models. Counts: as many shadow models
    should hold a member of the target as hold a non-member, or every attack that compares IN and
    OUT models learns membership from the masks alone.
    """
    o = observations
    if o.shadow_member is None:
        return []
    found = _same_outputs(o) if view.same_records else []
    found += _inverted(view, delta / TESTS)
    if view.same_records:
        found += _counts(view, o.member, rows, delta / TESTS)
    return found


def _same_outputs(o):
    """Models with the same outputs, where outputs are so many that two models cannot agree by
    chance.
    """
    few = slice(None, SAMPLE)

    def sample(logits):
        first = logits[0] if logits.ndim == 3 else logits
        return np.asarray(first[few], dtype=np.float32)

    known, found = {sample(o.logits).tobytes(): None}, []
    if len(np.unique(sample(o.logits), axis=0)) < len(sample(o.logits)) / 2:
        return []
    for s, logits in enumerate(o.shadow_logits):
        name = sample(logits).tobytes()
        other = known.setdefault(name, s)
        if other is None:
            found.append(
                f"Shadow model {s} has the target's own outputs: the target is among its shadow "
                f"models, or its outputs were handed over twice."
            )
        elif other != s and (o.shadow_member[other] != o.shadow_member[s]).any():
            found.append(
                f"Shadow models {other} and {s} have the same outputs, but masks that differ in "
                f"{np.count_nonzero(o.shadow_member[other] != o.shadow_member[s]):,} records."
            )
    return found


def _inverted(view, delta):
    phi, member = view.by_model()
    if len(phi) < 3:  # two are mirror images of each other where their masks are
        return []
    centred = phi - phi.mean(axis=0)
    areas = [metrics.roc(row, mask).auc for row, mask in zip(centred, member)]
    mean = intervals.t_interval(areas, delta)
    if mean.high >= 0.5:
        return []
    return [
        f"The shadow models are less sure of the records that their masks call members: over "
        f"{len(areas)} models the mean AUC is {mean.value:.3f} (limits {mean.low:.3f} to "
        f"{mean.high:.3f}), below one half. The masks seem inverted."
    ]


def _counts(view, member, rows, delta):
    held = view.shadow_member[:, rows].sum(axis=0).astype(float)
    if not np.ptp(held):
        return []
    area = metrics.roc(held, member[rows]).auc_interval(delta)
    if area.low <= 0.5 <= area.high:
        return []
    return [
        f"How many shadow models hold a record tells members from non-members, with an AUC of "
        f"{area.value:.3f} (limits {area.low:.3f} to {area.high:.3f}) where one half is expected: "
        f"the shadow masks depend on the target's."
    ]
