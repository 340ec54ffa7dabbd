"""Attacks that threshold one number per example, without a model of each example's difficulty."""

import numpy as np

from mia_lib import checks, signals


def loss(logits, labels):
    """Score of the LOSS attack: minus the cross-entropy.

    One threshold for all examples: member where the loss is small (Yeom et al. 2018; Carlini et al.
    2022, section III-A).

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


def correctness(logits, labels):
    """Score of the attack that sees the predicted class alone: 1 where it is right, else 0.

    Who calls the examples that are classified right members has the gap between training and test
    accuracy as advantage (Song and Mittal, eq. 5).

    Parameters
    ----------
    logits : array (..., n, K)
        Outputs before the softmax, or log-probabilities. Of equal ones the first counts as the
        prediction.
    labels : array (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        0 or 1. Larger means more likely a member.

    Raises
    ------
    ValueError
        NaN, fewer than two classes, labels that do not fit.

    Notes
    -----
    Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> correctness([[1.0, 0.0], [0.0, 2.0]], [0, 0])
    array([1., 0.])
    """
    logits = checks.real_array("logits", logits, finite=False, dtype=None)
    if logits.ndim < 2 or logits.shape[-1] < 2:
        checks.fail("logits", f"shape {logits.shape}", "shape (..., n, K) with K >= 2 classes")
    labels = checks.labels("labels", labels, logits.shape[-2], n_classes=logits.shape[-1])
    return (logits.argmax(axis=-1) == labels).astype(np.float64)


def class_thresholds(score, labels, member):
    """For each class, the threshold that best tells members from non-members of that class.

    An example is called a member if its score is at least the threshold of its class (Song and
    Mittal, section 3.1, eqs. 6, 7 and 9). The best is the one with the largest balanced accuracy,
    (TPR + TNR) / 2. Fit on examples whose membership is known, those of a shadow model, and apply
    to the target's.

    Parameters
    ----------
    score : array (n,)
        Larger means more likely a member, in any unit; finite. Pass minus the entropy or minus the
        loss.
    labels : array (n,)
        The class of each example, whole numbers from 0 on.
    member : bool array (n,)
        True for members.

    Returns
    -------
    dict {int: float}
        A threshold for each class that occurs, in the order of the classes. It is an observed score
        of that class; of thresholds with equal balanced accuracy, the largest.

    Raises
    ------
    ValueError
        For wrong shapes, a score that is not finite, and a class without members or without
        non-members.

    Notes
    -----
    One sort, O(n log n). Accuracies are compared as whole numbers, so ties are exact.
    Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> class_thresholds([0.9, 0.4, 0.6, 0.1], [0, 0, 1, 1], [True, False, True, False])
    {0: 0.9, 1: 0.6}
    """
    score = checks.real_array("score", score, 1)
    labels = checks.labels("labels", labels, len(score))
    member = checks.boolean_array("member", member, shape=score.shape)
    order = np.argsort(score)[::-1]  # equal scores stand together, in whichever order
    labels = (
        labels.astype(np.uint16) if labels.max() < 2**16 else labels
    )  # numpy sorts short integers by radix
    order = order[np.argsort(labels[order], kind="stable")]
    score, labels, member = score[order], labels[order], member[order]
    change = labels[1:] != labels[:-1]
    start = np.flatnonzero(np.concatenate([[True], change]))
    classes, size = labels[start], np.diff(start, append=len(labels))
    members = np.add.reduceat(member.astype(np.int64), start)
    lacking = classes[(members == 0) | (members == size)]
    checks.no_class_lacks("member", lacking)

    # How many of its class score at least as much as each entry, members and non-members.
    above = np.cumsum(member)
    above -= np.repeat(above[start] - member[start], size)
    position = np.arange(1, len(score) + 1) - np.repeat(start, size)
    # Twice the balanced accuracy is 1 + TP / n1 - FP / n0; times n1 n0 it is TP n - (TP + FP) n1, a
    # whole number.
    gain = above * np.repeat(size, size) - position * np.repeat(members, size)
    # Equal scores stand or fall together: only the last of them counts.
    gain[:-1][(score[1:] == score[:-1]) & ~change] = np.iinfo(np.int64).min
    best = np.flatnonzero(gain == np.repeat(np.maximum.reduceat(gain, start), size))
    first = best[
        np.searchsorted(best, start)
    ]  # of equals in a class the first, which is the largest score
    return dict(zip(classes.tolist(), score[first].tolist()))


def best_threshold(score, member):
    """One threshold for all classes: the one that best tells members from non-members.

    Parameters
    ----------
    score : array (n,)
        Larger means more likely a member, in any unit; finite.
    member : bool array (n,)
        True for members.

    Returns
    -------
    float
        An observed score. An example is called a member if its score is at least this; of
        thresholds with equal balanced accuracy, the largest.

    Raises
    ------
    ValueError
        For wrong shapes, a score that is not finite, and one group without examples.

    Notes
    -----
    The class-independent attack of Yeom et al. 2018, and of Song and Mittal, Table 3. Taught in
    book/metric_attacks.ipynb.

    Examples
    --------
    >>> best_threshold([0.9, 0.4, 0.6, 0.1], [True, False, True, False])
    0.6
    """
    score = checks.real_array("score", score, 1)
    member = checks.boolean_array("member", member, shape=score.shape)
    checks.both_groups("member", member)
    return class_thresholds(score, np.zeros(len(score), dtype=np.int64), member)[0]
