"""An attacker who tries: several decisions, of which the shadow model says which is the best.

A defence is judged by the best attacker who knows it, not by the first. All of it is chosen on the
shadow model's records; the target's membership is never read.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks
from mia_lib.attacks.metric_based import decision_accuracy, metric_scores
from mia_lib.attacks.thresholds import best_threshold, class_thresholds

WEIGHT = 100.0  # records of all classes that stand beside those of one
NEVER = -1e300  # below every score, and finite


class AdaptiveAttack(NamedTuple):
    """What an attacker who tries says of the target, from `adaptive_attack` or
    `adaptive_suite`.

    Parameters
    ----------
    said : bool array (n,)
        True: member.
    chosen : str
        The decision that did best on the shadow model's records.
    tried : dict of str to float
        Each decision's balanced accuracy there, on records that its thresholds were not fitted on;
        in [0, 1], guessing gives 1/2. The best of them is flattered; judge `said` on the target.

    Notes
    -----
    Taught in book/defenses.ipynb.
    """

    said: np.ndarray
    chosen: str
    tried: dict


def shrunk_thresholds(score, labels, member, *, weight=WEIGHT):
    """For each class a threshold that serves the class and, somewhat, all classes.

    With a few dozen records, the best threshold of a class is mostly noise. Here a class's own
    TPR - FPR counts by its number of records, that of all classes together by `weight`.

    Parameters
    ----------
    score : array (n,)
        Larger means more likely a member; finite.
    labels : array (n,)
        Whole numbers from 0 on.
    member : bool array (n,)
    weight : float
        In records, at least 0. 0: every class by itself; very large: one threshold for all.

    Returns
    -------
    (thresholds, pooled) : dict {int: float}, float
        An observed score for each class that occurs, and the one for all classes; of equals the
        largest. A class with one group alone has the pooled one.

    Raises
    ------
    ValueError
        For wrong shapes, a score that is not finite, one group without examples, a weight below 0.

    Notes
    -----
    Taught in book/defenses.ipynb.

    Examples
    --------
    >>> score, labels = [0.9, 0.4, 0.6, 0.1], [0, 0, 1, 1]
    >>> shrunk_thresholds(score, labels, [True, False, True, False], weight=0)
    ({0: 0.9, 1: 0.6}, 0.6)
    """
    score = checks.real_array("score", score, 1)
    labels = checks.labels("labels", labels, len(score))
    member = checks.boolean_array("member", member, shape=score.shape)
    checks.both_groups("member", member)
    weight = checks.number("weight", weight, 0)
    grid = np.unique(score)[::-1]  # of equals argmax finds the first, which is the largest
    pooled = _gain(score, member, grid)
    found = {}
    for label in np.unique(labels).tolist():
        own, who = score[labels == label], member[labels == label]
        gain = weight * pooled
        if who.any() and not who.all():
            gain = gain + len(own) * _gain(own, who, grid)
        else:
            gain = pooled
        found[label] = float(grid[np.argmax(gain.round(9))])
    return found, best_threshold(score, member)


def adaptive_attack(
    target_logits, target_labels, shadow_logits, shadow_labels, shadow_member, *, folds=5, rng=None
):
    """The best of nineteen decisions, by the shadow model's records.

    They are correctness alone, and each of confidence, entropy and modified entropy with one
    threshold for all classes, a shrunk one and one for each class; each of these by itself and for
    records that the model has right, others being called non-members.

    Parameters
    ----------
    target_logits : array (n, K)
        The target's outputs before the softmax, or log-probabilities.
    target_labels : array (n,)
        The right class of each example.
    shadow_logits : array (m, K)
        Outputs of a shadow model *with the same defence*, on records of its own.
    shadow_labels : array (m,)
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    folds : int
        Parts of the shadow model's records, at least 2: thresholds are judged on the part that they
        were not fitted on. Each side needs as many records.
    rng : numpy.random.Generator, optional
        Divides the records.

    Returns
    -------
    AdaptiveAttack

    Raises
    ------
    ValueError
        As for `metric_attacks`; fewer members or non-members than folds.

    Notes
    -----
    Of decisions that are equally good on the shadow model's records the first is taken, correctness
    before all others. Thresholds for each class are tried where every class has both groups in
    every fold. `adaptive_suite` tries a network too. Used in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(400) < 200
    >>> logits = np.column_stack([rng.normal(size=400) + 2 * member, np.zeros(400)])
    >>> attack = adaptive_attack(logits, np.zeros(400, int), logits, np.zeros(400, int), member,
    ...     rng=rng)
    >>> len(attack.tried), bool(attack.said[member].mean() > 0.7)
    (19, True)
    """
    given = target_logits, target_labels, shadow_logits, shadow_labels, shadow_member
    return decide_in_folds(*given, folds, rng)[0]


def decide_in_folds(
    target_logits, target_labels, shadow_logits, shadow_labels, shadow_member, folds, rng
):
    """What `adaptive_attack` says, and the part of each of the shadow model's records."""
    target, shadow = (_scores(target_logits, target_labels), _scores(shadow_logits, shadow_labels))
    widths = [np.shape(logits)[-1] for logits in (target_logits, shadow_logits)]
    if widths[0] != widths[1]:
        checks.fail(
            "shadow_logits", f"{widths[1]} classes", f"{widths[0]} classes, as many as the target's"
        )
    target_labels = checks.labels("target_labels", target_labels, len(target["correctness"]))
    shadow_labels = checks.labels("shadow_labels", shadow_labels, len(shadow["correctness"]))
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow_labels.shape)
    folds = checks.integer("folds", folds, 2)
    fewest = min(np.count_nonzero(member), np.count_nonzero(~member))
    if fewest < folds:
        checks.fail(
            "shadow_member", f"{fewest} records on one side", f"at least {folds}, the folds"
        )
    fold = _balanced_folds(shadow_labels, member, folds, checks.generator(rng))
    tried = {}
    for name in _names(shadow):
        said = np.zeros(len(member), dtype=bool)
        for k in range(folds):
            fit, judged = fold != k, fold == k
            known = {what: score[fit] for what, score in shadow.items()}
            asked = {what: score[judged] for what, score in shadow.items()}
            part = _decide(
                name, asked, shadow_labels[judged], known, shadow_labels[fit], member[fit]
            )
            if part is None:
                break
            said[judged] = part
        else:
            tried[name] = decision_accuracy(said, member).value
    chosen = max(tried, key=tried.get)
    said = _decide(chosen, target, target_labels, shadow, shadow_labels, member)
    while said is None:  # the target has a class that the shadow model's records lack
        tried.pop(chosen)
        chosen = max(tried, key=tried.get)
        said = _decide(chosen, target, target_labels, shadow, shadow_labels, member)
    return AdaptiveAttack(said, chosen, tried), fold


def _gain(score, member, grid):
    """TPR - FPR of each threshold."""
    inside, outside = np.sort(score[member]), np.sort(score[~member])
    tpr = 1 - np.searchsorted(inside, grid) / len(inside)
    return tpr - (1 - np.searchsorted(outside, grid) / len(outside))


def _scores(logits, labels):
    """Each metric by itself, and for records that the model has right."""
    found = metric_scores(logits, labels)
    right = found["correctness"] > 0
    both = {
        f"right and {name}": np.where(right, score, NEVER)
        for name, score in found.items()
        if name != "correctness"
    }
    return found | both


def _names(scores):
    kinds = ("one threshold", "shrunk thresholds", "class thresholds")
    names = ["correctness"]
    return names + [f"{s}, {kind}" for kind in kinds for s in scores if s != "correctness"]


def _decide(name, asked, asked_labels, known, known_labels, member):
    """The decisions, or None where a class has no threshold of its own."""
    if name == "correctness":
        return asked["correctness"] > 0
    what, _, kind = name.rpartition(", ")
    score = known[what]
    allowed = asked[what] > NEVER  # a threshold that lets all records in lets in what is right
    if kind == "one threshold":
        return allowed & (asked[what] >= best_threshold(score, member))
    if kind == "shrunk thresholds":
        found, default = shrunk_thresholds(score, known_labels, member)
    else:
        sides = np.unique(known_labels[member]), np.unique(known_labels[~member])
        both = np.intersect1d(*sides)
        if np.setdiff1d(np.union1d(known_labels, asked_labels), both).size:
            return None
        found, default = class_thresholds(score, known_labels, member), np.nan
    table = np.full(max(asked_labels.max(), known_labels.max()) + 1, default)
    table[list(found)] = list(found.values())
    return allowed & (asked[what] >= table[asked_labels])


def _balanced_folds(labels, member, folds, rng):
    """A part for each record: every class and side spread over all parts."""
    order = rng.permutation(len(labels))
    order = order[np.lexsort((labels[order], member[order]))]
    part = np.empty(len(labels), dtype=int)
    part[order] = np.arange(len(labels)) % folds
    return part
