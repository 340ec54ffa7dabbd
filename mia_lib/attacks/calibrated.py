"""Attacks that put each example, or each class, on a scale of its own, read off the shadow models,
without a likelihood.

All take any signal that is larger for members, such as minus the loss or the logit-scaled
confidence. For every model in turn as the target, ``lira.leave_one_out(signals, member,
attack=attacks.midpoint)`` scores all of them at once.
"""

import numpy as np

from mia_lib import checks
from mia_lib.attacks import shadow_models
from mia_lib.attacks.metric_based import require_classes
from mia_lib.attacks.thresholds import best_threshold, class_thresholds


def midpoint(target, shadow, shadow_member):
    """Signal minus the middle between the means of IN and OUT models.

    Sablayrolles et al. 2019, as Carlini et al. 2022, section V-C, describe it. Assumes shadow
    models with and without the example, and that members lie equally far above the middle whatever
    the example: its gap and its spread play no part.

    Parameters
    ----------
    target : array (n,)
        The target model's signal, larger for members; finite.
    shadow : array (S, n)
        The same signal of S shadow models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s.

    Returns
    -------
    float64 array (n,)
        In the signal's unit. Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, signals that are not finite, an example without IN or without OUT models, a
        target that is among the shadow models.

    Notes
    -----
    Section V-C prints the loss minus the middle and "above it means member", which has the wrong
    sign: members have small losses. Taught in book/lira.ipynb.

    Examples
    --------
    >>> midpoint(np.array([2.5]), np.array([[3.0], [1.0]]), np.array([[True], [False]]))
    array([0.5])
    """
    target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, ("IN", "OUT"))
    return target - sum(shadow_models.means(shadow, member)) / 2


def _midpoint_every_target(signals, member):
    signals = shadow_models.one_query(signals)
    return signals - sum(shadow_models.means_without_each(signals, member)) / 2


midpoint.every_target = _midpoint_every_target


def difficulty_calibration(target, shadow, shadow_member):
    """Signal minus the mean of the OUT models.

    Watson et al. 2021 (Carlini et al. 2022, section V-C). Assumes shadow models without the example
    only, so all can be trained before the examples are known, and that a member rises above them by
    the same amount whatever the example.

    Parameters
    ----------
    target : array (n,)
        The target model's signal, larger for members; finite.
    shadow : array (S, n)
        The same signal of S shadow models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s; those models are not used.

    Returns
    -------
    float64 array (n,)
        In the signal's unit. Larger means more likely a member.

    Raises
    ------
    ValueError
        As for `midpoint`, but IN models may be lacking.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> difficulty_calibration(np.array([2.5]), np.array([[3.0], [1.0]]),
    ...     np.array([[True], [False]]))
    array([1.5])
    """
    target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, ("OUT",))
    return target - shadow_models.means(shadow, member)[1]


def _difficulty_every_target(signals, member):
    signals = shadow_models.one_query(signals)
    return signals - shadow_models.means_without_each(signals, member)[1]


difficulty_calibration.every_target = _difficulty_every_target
difficulty_calibration.needs = ("OUT",)


def reference_quantile(target, shadow, shadow_member):
    """Share of the OUT models whose signal lies below the target's, ties counted half.

    Attack R of Ye et al. 2022: an example is called a member at the level a if its loss is below
    the a-quantile of its own reference models, which is where this score exceeds 1 - a. Assumes
    shadow models without the example only, and nothing about the shape of their distribution. With
    m of them no level between 0 and 1 / m can be told apart, so pooled over examples all that beat
    every OUT model are tied.

    Parameters
    ----------
    target : array (n,)
        The target model's signal, larger for members; finite.
    shadow : array (S, n)
        The same signal of S shadow models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s; those models are not used.

    Returns
    -------
    float64 array (n,)
        In [0, 1]. Larger means more likely a member.

    Raises
    ------
    ValueError
        As for `midpoint`, but IN models may be lacking.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> reference_quantile(np.array([2.0]), np.array([[3.0], [1.0]]), np.array([[False], [False]]))
    array([0.5])
    """
    target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, ("OUT",))
    below = ((shadow < target) & ~member).sum(axis=0)
    equal = ((shadow == target) & ~member).sum(axis=0)
    return (below + equal / 2) / (~member).sum(axis=0)


def _quantile_every_target(signals, member):
    signals = shadow_models.one_query(signals)
    twice = np.empty(signals.shape)
    for i, inside, outside in shadow_models.each_example(signals, member):
        x, out = signals[:, i], signals[outside, i]
        ranked = np.sort(out)
        twice[:, i] = np.searchsorted(ranked, x, "left") + np.searchsorted(ranked, x, "right")
        twice[outside, i] -= 1  # a target ties with itself
        twice[inside, i] -= 1 + np.sign(
            x[inside] - out[0]
        )  # and the lowest-numbered OUT model is left out
    return twice / (2 * ((~member).sum(axis=0) - 1))


reference_quantile.every_target = _quantile_every_target
reference_quantile.needs = ("OUT",)


def class_calibrated(target, shadow, shadow_member, labels, *, shadow_labels=None, fallback=False):
    """Signal minus the threshold of the example's class, found on shadow models.

    The attack of Song and Mittal 2021, with one threshold for each class, as a score that can be
    ranked (Carlini et al. 2022, section V-C). Assumes shadow models whose members are known, and
    that classes differ in difficulty, while the examples of one class do not.

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
    shadow_labels : array (m,), optional
        Where the shadow models were asked about other examples than the target: their classes, the
        shapes of `shadow` and `shadow_member` being (S, m). None: the same examples.
    fallback : bool
        Whether a class without members or without non-members among the shadow models takes the
        threshold of all classes together, instead of being an error.

    Returns
    -------
    float64 array (n,)
        In the signal's unit; at least 0 where the attack says "member". Larger means more likely a
        member.

    Raises
    ------
    ValueError
        Wrong shapes, signals that are not finite, a target that is among the shadow models. Without
        `fallback` a class without members or without non-members among the shadow models, with it
        shadow models that have members alone or non-members alone.

    Notes
    -----
    With ``lira.leave_one_out`` the shadow model of each target is the next one, and the first for
    the last: thresholds of classes need no more. Taught in book/lira.ipynb.

    Examples
    --------
    >>> class_calibrated([0.7, 0.7], [[0.9, 0.4], [0.3, 0.2]], [[True, True], [False, False]],
    ...     [0, 1]).round(3)
    array([-0.2,  0.3])
    """
    if shadow_labels is None:
        target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, ())
        shadow_labels = labels
    target = checks.real_array("target", target, 1)
    labels = checks.labels("labels", labels, len(target))
    shadow = checks.real_array("shadow", shadow, 2)
    shadow_labels = checks.labels("shadow_labels", shadow_labels, shadow.shape[1])
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape)
    known = shadow.ravel(), np.tile(shadow_labels, len(shadow)), member.ravel()
    return target - _thresholds(*known, labels, fallback)


def _class_every_target(signals, member, labels, *, fallback=False):
    signals = shadow_models.one_query(signals)
    labels = checks.labels("labels", labels, signals.shape[1])
    thresholds = [
        _thresholds(values, labels, who, labels, fallback) for values, who in zip(signals, member)
    ]
    return signals - np.roll(thresholds, -1, axis=0)


class_calibrated.every_target = _class_every_target


def _thresholds(score, labels, member, asked, fallback):
    """The threshold of the class of each example that is asked about, found on the others."""
    table = np.zeros(max(labels.max(), asked.max()) + 1)
    known = np.ones(len(labels), dtype=bool)
    if fallback:
        table[:] = best_threshold(score, member)
        inside = np.bincount(labels, member, len(table))
        both = (0 < inside) & (inside < np.bincount(labels, minlength=len(table)))
        known = both[labels]
    else:
        require_classes(asked, labels)
    if known.any():
        found = class_thresholds(score[known], labels[known], member[known])
        table[list(found)] = list(found.values())
    return table[asked]
