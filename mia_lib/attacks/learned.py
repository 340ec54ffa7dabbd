"""Learned attacks: networks that read the target's output and say how likely the record is a
member.

Both are fitted on a shadow model's outputs alone, and then asked about the target's. Between
fitting and asking nothing of the target is read.
"""

import numpy as np
from scipy import special

from mia_lib import checks, extras
from mia_lib.attacks.metric_based import require_classes

train = extras.module("mia_lib.train")


def per_class_networks(
    target_logits,
    target_labels,
    shadow_logits,
    shadow_labels,
    shadow_member,
    *,
    prior=0.5,
    hidden=(64,),
    epochs=100,
    rng=None,
):
    """One attack network per class, which reads the probabilities that the model gives (Shokri et
    al. 2017).

    Parameters
    ----------
    target_logits : array (n, K)
        The target's outputs before the softmax, or log-probabilities.
    target_labels : array (n,)
        The right class of each example.
    shadow_logits : array (m, K)
        The shadow models' outputs on records whose membership in them is known. Several shadow
        models are stacked.
    shadow_labels : array (m,)
    shadow_member : bool array (m,)
    prior : float
        Pr(member) that the output is for. The networks see the shares of the shadow data, class by
        class; their output is carried over by Bayes' rule.
    hidden : tuple of int
        Widths of the hidden layers.
    epochs : float
        Passes over the shadow data.
    rng : numpy.random.Generator, optional
        Of weights and batches. None means fresh entropy.

    Returns
    -------
    float64 array (n,)
        In [0, 1], the networks' estimate of Pr(member | output, label). Larger means more likely a
        member; the attack says member above 1/2.

    Raises
    ------
    ValueError
        Wrong shapes, a target class that is absent from the shadow data, a class with members only
        or non-members only.

    Notes
    -----
    All networks train as one stack. Song and Mittal, section 2.2.1. Taught in
    book/metric_attacks.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logits, labels, member = rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(40) < 20
    >>> per_class_networks(logits, labels, logits, labels, member, epochs=5, rng=rng).shape
    (40,)
    """
    prior, rng = checks.prior(prior), checks.generator(rng)
    target, target_labels = _outputs("target_logits", target_logits, target_labels)
    shadow, shadow_labels = _outputs("shadow_logits", shadow_logits, shadow_labels, target.shape[1])
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow_labels.shape)
    require_classes(target_labels, shadow_labels)
    classes = np.unique(target_labels)
    groups = shadow_labels == classes[:, None]
    inside = (groups & shadow_member).sum(1)
    lacking = classes[(inside == 0) | (inside == groups.sum(1))]
    checks.no_class_lacks("shadow_member", lacking)
    log_odds = fit_and_ask(shadow, shadow_member, groups, target, hidden, epochs, rng)
    row = np.searchsorted(classes, target_labels)
    seen = (inside / (groups.sum(1) - inside))[row]
    return special.expit(log_odds[row, np.arange(len(row))] - np.log(seen) + special.logit(prior))


def label_network(
    target_logits,
    target_labels,
    shadow_logits,
    shadow_labels,
    shadow_member,
    *,
    prior=0.5,
    hidden=(64,),
    epochs=100,
    rng=None,
):
    """One attack network for all classes, which reads the probabilities and the one-hot label (Nasr
    et al. 2018).

    Parameters
    ----------
    target_logits : array (n, K)
        The target's outputs before the softmax, or log-probabilities.
    target_labels : array (n,)
        The right class of each example.
    shadow_logits : array (m, K)
        The shadow models' outputs on records whose membership in them is known. Several shadow
        models are stacked.
    shadow_labels : array (m,)
    shadow_member : bool array (m,)
    prior : float
        Pr(member) that the output is for.
    hidden : tuple of int
        Widths of the hidden layers.
    epochs : float
        Passes over the shadow data.
    rng : numpy.random.Generator, optional
        Of weights and batches. None means fresh entropy.

    Returns
    -------
    float64 array (n,)
        In [0, 1], the network's estimate of Pr(member | output, label). Larger means more likely a
        member; the attack says member above 1/2.

    Raises
    ------
    ValueError
        Wrong shapes, a target class that is absent from the shadow data, members only or
        non-members only.

    Notes
    -----
    Song and Mittal, sections 2.2.1 and 4.2.1, where this output is held against the privacy risk
    score. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logits, labels, member = rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(40) < 20
    >>> label_network(logits, labels, logits, labels, member, epochs=5, rng=rng).shape
    (40,)
    """
    prior, rng = checks.prior(prior), checks.generator(rng)
    target, target_labels = _outputs("target_logits", target_logits, target_labels)
    shadow, shadow_labels = _outputs("shadow_logits", shadow_logits, shadow_labels, target.shape[1])
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow_labels.shape)
    checks.both_groups("shadow_member", shadow_member)
    require_classes(target_labels, shadow_labels)
    shadow, target = with_label(shadow, shadow_labels), with_label(target, target_labels)
    everybody = np.ones((1, len(shadow)), dtype=bool)
    log_odds = fit_and_ask(shadow, shadow_member, everybody, target, hidden, epochs, rng)[0]
    seen = shadow_member.sum() / (~shadow_member).sum()
    return special.expit(log_odds - np.log(seen) + special.logit(prior))


def _outputs(name, logits, labels, n_classes=None):
    """Probabilities (n, K) and checked labels."""
    logits = checks.real_array(name, logits, 2, finite=False)
    if logits.shape[1] < 2 or n_classes not in (None, logits.shape[1]):
        expected = (
            "at least 2 classes"
            if n_classes is None
            else f"{n_classes} classes, as many as the target's"
        )
        checks.fail(name, f"shape {logits.shape}", expected)
    labels = checks.labels(
        name.replace("logits", "labels"), labels, len(logits), n_classes=logits.shape[1]
    )
    if not np.isfinite(logits.max(axis=1)).all():
        checks.fail(
            name, "a row without a largest finite entry", "finite logits, or -inf for probability 0"
        )
    return special.softmax(logits, axis=1), labels


def with_label(outputs, labels):
    """What the network for all classes reads: probabilities (n, K) and the one-hot label."""
    return np.c_[outputs, np.eye(outputs.shape[1])[labels]]


def fit_and_ask(shadow, shadow_member, groups, target, hidden, epochs, rng):
    """Log-odds (k, n) of k networks, network j fitted to the shadow rows groups[j]."""
    recipe = train.Classifier(
        hidden=hidden,
        activation="relu",
        n_classes=2,
        epochs=epochs,
        batch_size=64,
        optimizer="adam",
        learning_rate=1e-3,
    )
    state = recipe(shadow, shadow_member.astype(np.int64), groups, rng.spawn(len(groups)))
    logits = recipe.logits(state, target).astype(np.float64)
    return logits[..., 1] - logits[..., 0]
