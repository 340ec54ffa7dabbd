"""Metric attacks: one number per example, a threshold learned on a shadow model, a decision about
the target.

Song and Mittal 2021, section 3.1. The attacker knows the target's outputs and labels, and for the
shadow model the membership too. Nothing here ever reads the target's membership, except the
functions that judge decisions.
"""

import numpy as np
from scipy import stats

from mia_lib import checks, signals
from mia_lib.attacks.thresholds import best_threshold, class_thresholds, correctness
from mia_lib.intervals import Estimate, clopper_pearson


def log_probabilities(probabilities, tolerance=1e-3):
    """Natural logarithm of checked probabilities: what the functions of `mia_lib.signals` take in
    place of logits.

    Parameters
    ----------
    probabilities : array_like (..., n, K)
        Every row in [0, 1] and summing to one.
    tolerance : float
        How far a sum may be from one. Published outputs are rounded.

    Returns
    -------
    float64 array (..., n, K)
        -inf for probability 0.

    Raises
    ------
    ValueError
        A negative entry, a row whose sum is not one, NaN, fewer than two classes.

    Notes
    -----
    Run in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> log_probabilities([[0.5, 0.5]]).round(3)
    array([[-0.693, -0.693]])
    """
    p = checks.real_array("probabilities", probabilities)
    if p.ndim < 2 or p.shape[-1] < 2:
        checks.fail("probabilities", f"shape {p.shape}", "shape (..., n, K) with K >= 2 classes")
    checks.distributions("probabilities", p, tolerance=tolerance)
    with np.errstate(divide="ignore"):
        return np.log(p)


def metric_scores(logits, labels):
    """The four metrics of Song and Mittal, each turned so that larger means more likely a member.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities (`log_probabilities`).
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    dict of str to float64 array (..., n)
        "correctness" (1 where the largest output, of equals the first, is that of the right class,
        else 0; eq. 5), "confidence" p_y (eq. 6), "entropy" with a minus sign (eq. 7) and "modified
        entropy" with a minus sign (eqs. 8, 9), both in nats.

    Raises
    ------
    ValueError
        As for `mia_lib.signals`.

    Notes
    -----
    The confidence is given as log p_y - log sum_{c != y} p_c, the same ranking without ties where
    p_y rounds to 1. Taught in book/defenses.ipynb.

    Examples
    --------
    >>> metric_scores(np.log([[0.5, 0.25, 0.25]]), [0])["entropy"].round(3)
    array([-1.04])
    """
    scores = {
        "confidence": signals.logit_confidence(logits, labels),
        "entropy": -signals.entropy(logits),
        "modified entropy": -signals.modified_entropy(logits, labels),
    }
    return {"correctness": correctness(logits, labels), **scores}


def threshold_attack(
    target_score, target_labels, shadow_score, shadow_labels, shadow_member, *, per_class=True
):
    """Learn thresholds on shadow data and apply them to the target's.

    Parameters
    ----------
    target_score : array (n,)
        The target's answers on the examples in question, larger means more likely a member.
    target_labels : array (n,)
        Their classes, whole numbers from 0 on.
    shadow_score, shadow_labels : array (m,)
        The same of the shadow model, on records of its own.
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    per_class : bool
        A threshold for each class, or one for all.

    Returns
    -------
    bool array (n,)
        True: the attack says member.

    Raises
    ------
    ValueError
        Wrong shapes, scores that are not finite, a target class that is absent from the shadow
        data, a class (without `per_class`: shadow data) with members only or non-members only.

    Notes
    -----
    Song and Mittal, section 3.1.2. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> shadow = [0.9, 0.4, 0.6, 0.1], [0, 0, 1, 1], [True, False, True, False]
    >>> threshold_attack([0.7, 0.7], [0, 1], *shadow)
    array([False,  True])
    """
    target_score = checks.real_array("target_score", target_score, 1)
    target_labels = checks.labels("target_labels", target_labels, len(target_score))
    shadow_score = checks.real_array("shadow_score", shadow_score, 1)
    shadow_labels = checks.labels("shadow_labels", shadow_labels, len(shadow_score))
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow_score.shape)
    checks.both_groups("shadow_member", shadow_member)
    if not per_class:
        return target_score >= best_threshold(shadow_score, shadow_member)
    require_classes(target_labels, shadow_labels)
    known = np.isin(
        shadow_labels, target_labels
    )  # a class that nobody asks about needs no threshold
    thresholds = class_thresholds(shadow_score[known], shadow_labels[known], shadow_member[known])
    table = np.full(target_labels.max() + 1, np.nan)
    table[list(thresholds)] = list(thresholds.values())
    return target_score >= table[target_labels]


def require_classes(target_labels, shadow_labels):
    """Raise a ValueError that names the classes of the target which the shadow data lack.

    Parameters
    ----------
    target_labels, shadow_labels : int array
        Checked labels.
    """
    absent = np.setdiff1d(target_labels, shadow_labels)
    if absent.size:
        names = ", ".join(map(str, absent[:5])) + (", ..." if absent.size > 5 else "")
        checks.fail("shadow_labels", f"no example of class {names}", "every class of target_labels")


def metric_attacks(
    target_logits, target_labels, shadow_logits, shadow_labels, shadow_member, *, per_class=True
):
    """All four metric attacks at once.

    Parameters
    ----------
    target_logits : array (n, K)
        The target's outputs before the softmax, or log-probabilities.
    target_labels : array (n,)
        The right class of each example.
    shadow_logits : array (m, K)
        The shadow model's outputs on records of its own.
    shadow_labels : array (m,)
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    per_class : bool
        A threshold for each class, or one for all.

    Returns
    -------
    dict of str to bool array (n,)
        The decisions of "correctness", "confidence", "entropy" and "modified entropy"; True says
        member.

    Raises
    ------
    ValueError
        As for `metric_scores` and `threshold_attack`; a shadow model of other classes than the
        target's.

    Notes
    -----
    Correctness needs no threshold and reads no shadow data. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> logits, labels = np.array([[3.0, 0], [1, 0]]), np.array([0, 0])
    >>> metric_attacks(logits, labels, logits, labels, [True, False])["confidence"]
    array([ True, False])
    """
    target, shadow = (
        metric_scores(target_logits, target_labels),
        metric_scores(shadow_logits, shadow_labels),
    )
    widths = [np.shape(logits)[-1] for logits in (target_logits, shadow_logits)]
    if widths[0] != widths[1]:
        checks.fail(
            "shadow_logits", f"{widths[1]} classes", f"{widths[0]} classes, as many as the target's"
        )
    decisions = {"correctness": target.pop("correctness") > 0}
    for name, score in target.items():
        decisions[name] = threshold_attack(
            score, target_labels, shadow[name], shadow_labels, shadow_member, per_class=per_class
        )
    return decisions


def decision_accuracy(decision, member, delta=0.05):
    """Accuracy of decisions where members and non-members are equally likely, (TPR + TNR) / 2.

    Parameters
    ----------
    decision : bool array (n,)
        True where the attack says member.
    member : bool array (n,)
        The truth.
    delta : float
        1 minus the level of the interval.

    Returns
    -------
    Estimate
        In [0, 1]; guessing gives 1/2. The interval joins the Clopper-Pearson limits of both rates
        by the square-and-add rule (Newcombe 1998); it is for fixed thresholds, those that other
        data gave.

    Raises
    ------
    ValueError
        Wrong shapes, one group without examples.

    Notes
    -----
    The attack accuracy of Song and Mittal's tables. Nominal 95 % are at least 91.8 % with two of
    each group, 94.0 % with 30. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> decision_accuracy([True, False, False, False], [True, True, False, False]).value
    0.75
    """
    decision = checks.boolean_array("decision", decision, ndim=1)
    member = checks.boolean_array("member", member, shape=decision.shape)
    checks.both_groups("member", member)
    hits = np.array([np.count_nonzero(decision & member), np.count_nonzero(~decision & ~member)])
    trials = np.array([np.count_nonzero(member), np.count_nonzero(~member)])
    low, high = clopper_pearson(hits, trials, checks.delta(delta))
    # one division, so that .6155 of 1,000 + 1,000 records is .6155 and not a float beside it
    value = float((hits * trials[::-1]).sum() / (2 * trials.prod()))
    below, above = (np.sqrt(((rate - hits / trials) ** 2).sum()) / 2 for rate in (low, high))
    return Estimate(value, max(0.0, value - float(below)), min(1.0, value + float(above)))


def accuracy_difference(first, second, member, *, delta=0.05):
    """How much more accurate one attack's decisions are than another's, on the same records.

    Parameters
    ----------
    first, second : bool array (n,)
        True where the attack says member.
    member : bool array (n,)
        The truth.
    delta : float
        1 minus the level of the interval.

    Returns
    -------
    Estimate
        Accuracy of the first minus that of the second, see `decision_accuracy`, in [-1, 1]. The
        normal interval pairs the records, so what is hard for both attacks does not widen it. It is
        for fixed thresholds, those that other data gave.

    Raises
    ------
    ValueError
        Wrong shapes, fewer than two members or non-members.

    Notes
    -----
    With g = 1(first right) - 1(second right) it is the mean of the means of g over members and over
    non-members; its variance is the sum of their s^2 / n over 4. With fewer than ten
    disagreements it is too narrow: 80 % for 95 with three. Used in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> member = [True, True, False, False]
    >>> accuracy_difference(member, [True, False, False, False], member).value
    0.25
    """
    first = checks.boolean_array("first", first, ndim=1)
    second = checks.boolean_array("second", second, shape=first.shape)
    member = checks.boolean_array("member", member, shape=first.shape)
    fewest = min(np.count_nonzero(member), np.count_nonzero(~member))
    if fewest < 2:
        checks.fail("member", f"{fewest} records in one group", "at least 2 in both")
    gain = (first == member).astype(float) - (second == member)
    groups = gain[member], gain[~member]
    value = float(np.mean([group.mean() for group in groups]))
    error = np.sqrt(sum(group.var(ddof=1) / len(group) for group in groups)) / 2
    half = float(stats.norm.isf(checks.delta(delta) / 2) * error)
    return Estimate(value, value - half, value + half)


def correctness_accuracy(train_accuracy, test_accuracy):
    """Balanced accuracy of the correctness attack, from the accuracies of the target alone.

    Parameters
    ----------
    train_accuracy, test_accuracy : float
        Share of members and of non-members that the target classifies right, in [0, 1].

    Returns
    -------
    float
        (train + 1 - test) / 2. Below 1/2 where the target is better on non-members.

    Raises
    ------
    ValueError
        An accuracy outside [0, 1].

    Notes
    -----
    The identity that every column I_corr of Song and Mittal's Tables 2, 4 and 5 has to satisfy.
    Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> correctness_accuracy(1.0, 0.626)
    0.687
    """
    train_accuracy = checks.number("train_accuracy", train_accuracy, 0, high=1)
    return (train_accuracy + 1 - checks.number("test_accuracy", test_accuracy, 0, high=1)) / 2
