"""Everything that an attacker who tries has: decisions by thresholds, a network, and patience.

Taught in book/defenses.ipynb.
"""

import numpy as np
from scipy import special

from mia_lib import checks
from mia_lib.attacks.adaptive import AdaptiveAttack, decide_in_folds
from mia_lib.attacks.learned import fit_and_ask, with_label
from mia_lib.attacks.metric_based import decision_accuracy


def averaged_answers(logits):
    """The mean of several answers to each record, for every attack that reads one answer.

    A defence whose answers are random, and drawn anew for every query, hides less of this mean than
    of one answer.

    Parameters
    ----------
    logits : array (Q, n, K)
        Answers to Q queries for each record, before the softmax, or log-probabilities; finite or
        -inf.

    Returns
    -------
    float64 array (n, K)
        Logarithms of the mean probabilities, -inf for probability 0.

    Raises
    ------
    ValueError
        For a wrong shape, NaN, a row with +inf or without a finite entry.

    Notes
    -----
    Used in notebooks/defenses.ipynb.

    Examples
    --------
    >>> answers = np.log([[[0.9, 0.1]], [[0.5, 0.5]]])
    >>> np.exp(averaged_answers(answers)).round(3)
    array([[0.7, 0.3]])
    """
    logits = checks.real_array("logits", logits, 3, finite=False)
    return _averaged("logits", logits)


def adaptive_suite(
    target_logits,
    target_labels,
    shadow_logits,
    shadow_labels,
    shadow_member,
    *,
    folds=5,
    hidden=(64,),
    epochs=30,
    rng=None,
):
    """The best of twenty decisions, by the shadow model's records: those of `adaptive_attack` and a
    network; answers that are random may be asked for several times.

    Parameters
    ----------
    target_logits : array (n, K) or (Q, n, K)
        The target's outputs before the softmax, or log-probabilities; with a third axis, its
        answers to Q queries for each record, of which all decisions read the mean.
    target_labels : array (n,)
        The right class of each example.
    shadow_logits : array (m, K) or (Q, m, K)
        Outputs of a shadow model *with the same defence*, on records of its own, asked as often.
    shadow_labels : array (m,)
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    folds : int
        Parts of the shadow model's records, as for `adaptive_attack`; the network is judged on the
        same ones.
    hidden : tuple of int
        Widths of the network's hidden layers.
    epochs : float
        The network's passes over the shadow model's records, as for `label_network`.
    rng : numpy.random.Generator, optional
        Divides the records first, as in `adaptive_attack`, then of the network.

    Returns
    -------
    AdaptiveAttack
        The network's decision has the name "network".

    Raises
    ------
    ValueError
        As for `adaptive_attack`; target and shadow model asked a different number of times.

    Notes
    -----
    The network is that of `label_network`: it reads probabilities and label. One for each fold and
    one of all records train as one stack. Of decisions that are equally good on the shadow model's
    records the network is the last. It needs torch, `adaptive_attack` does not. Taught in
    book/defenses.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(400) < 200
    >>> once = np.column_stack([rng.normal(size=400) + 2 * member, np.zeros(400)])
    >>> logits = once + rng.normal(size=(10, 400, 2))
    >>> attack = adaptive_suite(logits, np.zeros(400, int), logits, np.zeros(400, int), member,
    ...     epochs=5, rng=rng)
    >>> len(attack.tried), bool(attack.said[member].mean() > 0.7)
    (20, True)
    """
    target, n_target = _one_answer("target_logits", target_logits)
    shadow, n_shadow = _one_answer("shadow_logits", shadow_logits)
    if n_target != n_shadow:
        given = f"{n_shadow} answers for each record"
        checks.fail("shadow_logits", given, f"{n_target}, as many as the target's")
    rng = checks.generator(rng)
    given = target, target_labels, shadow, shadow_labels, shadow_member
    found, fold = decide_in_folds(*given, folds, rng)
    labels = (
        checks.labels("target_labels", target_labels, len(target)),
        checks.labels("shadow_labels", shadow_labels, len(shadow)),
    )
    answers = (special.softmax(logits, axis=1) for logits in (target, shadow))
    asked, known = (with_label(*pair) for pair in zip(answers, labels))
    member = checks.boolean_array("shadow_member", shadow_member, shape=fold.shape)
    fitted = np.vstack([fold != np.arange(folds)[:, None], np.ones(len(fold), dtype=bool)])
    log_odds = fit_and_ask(known, member, fitted, np.vstack([known, asked]), hidden, epochs, rng)
    # members and non-members count alike, whatever their shares
    inside = (fitted & member).sum(1)
    log_odds -= np.log(inside / (fitted.sum(1) - inside))[:, None]
    held_out = log_odds[fold, np.arange(len(fold))] > 0
    tried = found.tried | {"network": decision_accuracy(held_out, member).value}
    if tried["network"] <= tried[found.chosen]:
        return found._replace(tried=tried)
    return AdaptiveAttack(log_odds[-1, len(fold) :] > 0, "network", tried)


def _averaged(name, logits):
    if not np.isfinite(logits.max(axis=-1)).all():
        checks.fail(
            name, "a row without a largest finite entry", "finite logits, or -inf for probability 0"
        )
    answers = special.log_softmax(logits, axis=-1)
    return special.logsumexp(answers, axis=0) - np.log(len(answers))


def _one_answer(name, logits):
    """Outputs (n, K) that attacks of one answer read, and of how many answers they are made."""
    logits = checks.real_array(name, logits, (2, 3), finite=False)
    if logits.ndim == 3:
        return _averaged(name, logits), len(logits)
    return logits, 1
