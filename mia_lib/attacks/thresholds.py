"""Attacks that threshold one number per example, without a model of each example's difficulty."""

import numpy as np

from mia_lib import checks, signals
from mia_lib.attacks import inputs


def loss(logits, labels):
    """Score of the LOSS attack: minus the cross-entropy.

    One threshold for all examples: member where the loss is small (Yeom et al. 2018; Carlini et al. 2022, section
    III-A).

    Parameters
    ----------
    logits : array (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        In nats, at most 0. Larger means more likely a member.

    Raises
    ------
    ValueError
        As for `mia_lib.signals.cross_entropy`.

    Notes
    -----
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> loss([[0.0, 0.0], [0.0, 2.0]], [0, 0]).round(3)
    array([-0.693, -2.127])
    """
    return -signals.cross_entropy(logits, labels)


def class_thresholds(score, labels, member):
    """For each class, the threshold that best tells members from non-members of that class.

    An example is called a member if its score is at least the threshold of its class (Song and Mittal, section 3.1,
    eqs. 6, 7 and 9). The best is the one with the largest balanced accuracy, (TPR + TNR) / 2. Fit on examples whose
    membership is known, those of a shadow model, and apply to the target's.

    Parameters
    ----------
    score : array (n,)
        Larger means more likely a member, in any unit; finite. Pass minus the entropy or minus the loss.
    labels : array (n,)
        The class of each example, whole numbers from 0 on.
    member : bool array (n,)
        True for members.

    Returns
    -------
    dict {int: float}
        A threshold for each class that occurs, in the order of the classes. It is an observed score of that class;
        of thresholds with equal balanced accuracy, the largest.

    Raises
    ------
    ValueError
        For wrong shapes, a score that is not finite, and a class without members or without non-members.

    Notes
    -----
    One sort, O(n log n). Accuracies are compared as whole numbers, so ties are exact.
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> class_thresholds([0.9, 0.4, 0.6, 0.1], [0, 0, 1, 1], [True, False, True, False])
    {0: 0.9, 1: 0.6}
    """
    score = checks.real_array("score", score, 1)
    labels = checks.labels("labels", labels, len(score))
    member = checks.boolean_array("member", member, shape=score.shape)
    order = np.lexsort((-score, labels))
    score, labels, member = score[order], labels[order], member[order]
    classes, start, size = np.unique(labels, return_index=True, return_counts=True)
    members = np.add.reduceat(member.astype(np.int64), start)
    lacking = classes[(members == 0) | (members == size)]
    if lacking.size:
        names = ", ".join(map(str, lacking[:5])) + (", ..." if lacking.size > 5 else "")
        checks.fail("member", f"only members or only non-members in class {names}", "both groups in every class")

    # How many of its class score at least as much as each entry, members and non-members.
    row = np.repeat(np.arange(len(classes)), size)
    above = np.cumsum(member)
    above = above - (above[start] - member[start])[row]
    position = np.arange(len(score)) - start[row] + 1
    # Twice the balanced accuracy is 1 + TP / n1 - FP / n0; times n1 n0 it is a whole number.
    gain = above * (size - members)[row] - (position - above) * members[row]
    # Equal scores stand or fall together: only the last of them counts.
    last = np.append((score[1:] != score[:-1]) | (labels[1:] != labels[:-1]), True)
    gain = np.where(last, gain, np.iinfo(np.int64).min)
    best = np.flatnonzero(gain == np.maximum.reduceat(gain, start)[row])
    _, first = np.unique(row[best], return_index=True)
    return dict(zip(classes.tolist(), score[best[first]].tolist()))


def class_calibrated(target, shadow, shadow_member, labels):
    """Signal minus the threshold of the example's class, found on shadow models.

    The attack of Song and Mittal 2021, with one threshold for each class, as a score that can be ranked (Carlini et al. 2022,
    section V-C). Assumes shadow models whose members are known, and that classes differ in difficulty, while the
    examples of one class do not.

    Parameters
    ----------
    target : array (n,)
        The target model's signal, larger for members; finite. Song and Mittal's is
        ``-signals.modified_entropy(logits, labels)``.
    shadow : array (S, n)
        The same signal of S shadow models, the target not among them; one is enough.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s.
    labels : array (n,)
        The class of each example, whole numbers from 0 on.

    Returns
    -------
    float64 array (n,)
        In the signal's unit; at least 0 where the attack says "member". Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, signals that are not finite, a class without members or without non-members among the shadow models, a
        target that is among the shadow models.

    Notes
    -----
    With ``lira.leave_one_out`` the shadow model of each target is the next one, and the first for the last: thresholds of
    classes need no more. Taught in book/lira.ipynb.

    Examples
    --------
    >>> class_calibrated([0.7, 0.7], [[0.9, 0.4], [0.3, 0.2]], [[True, True], [False, False]], [0, 1]).round(3)
    array([-0.2,  0.3])
    """
    target, shadow, member = inputs.one_target(target, shadow, shadow_member, ())
    labels = checks.labels("labels", labels, len(target))
    return target - _of_each(class_thresholds(shadow.ravel(), np.tile(labels, len(shadow)), member.ravel()), labels)


def _class_every_target(signals, member, labels):
    signals = inputs.one_query(signals)
    labels = checks.labels("labels", labels, signals.shape[1])
    thresholds = [_of_each(class_thresholds(values, labels, who), labels) for values, who in zip(signals, member)]
    return signals - np.roll(thresholds, -1, axis=0)


class_calibrated.every_target = _class_every_target


def _of_each(thresholds, labels):
    table = np.zeros(max(thresholds) + 1)
    table[list(thresholds)] = list(thresholds.values())
    return table[labels]
