"""Attacks in the two forms of the catalogue, where their own functions ask for other arguments.

For one target: ``attack(target, shadow, shadow_member, **more)``, of which an attack without shadow
models reads the first alone. For all models in turn: ``every(signals, member, **more)``. Each form
carries the name and the docstring of the function that it calls.
"""

import functools

import numpy as np

from mia_lib import bayes, checks, lira, model_checks, risk_score, signals
from mia_lib.attacks import gradient, learned, perturbed, quantile

# What the attacks read, turned so that larger speaks for a member


@functools.wraps(signals.entropy)
def minus_entropy(logits, labels):
    return -signals.entropy(logits)


@functools.wraps(signals.modified_entropy)
def minus_modified_entropy(logits, labels):
    return -signals.modified_entropy(logits, labels)


def outputs(logits, labels):
    """All outputs (..., n, K), for attacks that read more than one number; finite.

    -inf, which stands for probability 0, becomes the logit of probability 1e-45.
    """
    logits = np.asarray(logits)
    zero = np.isneginf(logits)
    if not zero.any():
        return logits
    total = np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return np.where(zero, total + signals.LOG_ZERO, logits)


@functools.wraps(perturbed.merlin)
def merlin(fit, x, *, noise, copies, continuous, seed=0):
    # noise: in standard deviations of the data
    scale = noise * float(np.std(x))
    return perturbed.merlin(fit, scale, copies, seed=seed, continuous=continuous)


# Attacks whose score is the signal itself


def as_it_is(target, shadow=None, shadow_member=None):
    """The target's signal (n,) as its score: no shadow model is read."""
    target = checks.real_array("target", target, 1)
    model_checks.bounded("target", target)
    return target


def as_they_are(signals, member):
    """The signals (S, n) of all models as their scores."""
    signals = checks.real_array("signals", signals, 2)
    model_checks.bounded("signals", signals)
    return signals


# LiRA: one spread for all records where few shadow models give each record's badly


@functools.wraps(lira.online)
def online(target, shadow, shadow_member, *, per_example_from, **options):
    spread = _spread(len(shadow), per_example_from)
    return lira.online(target, shadow, shadow_member, **spread | options)


@functools.wraps(lira.offline)
def offline(target, shadow, shadow_member, *, per_example_from, **options):
    spread = _spread(len(shadow), per_example_from)
    return lira.offline(target, shadow, shadow_member, **spread | options)


def online_every_target(signals, member, *, per_example_from, **options):
    spread = _spread(len(member), per_example_from)
    return lira.online.every_target(signals, member, **spread | options)


def offline_every_target(signals, member, *, per_example_from, **options):
    spread = _spread(len(member), per_example_from)
    return lira.offline.every_target(signals, member, **spread | options)


def _spread(n_models, per_example_from):
    return {"variance": "per-example" if n_models >= per_example_from else "global"}


# Attacks that shadow models teach; for every target in turn a model outside its own half, or the
# next one, is the teacher


@functools.wraps(risk_score.privacy_risk_score)
def privacy_risk_score(
    target, shadow, shadow_member, *, labels, shadow_labels=None, prior=0.5, **options
):
    shadow_labels = labels if shadow_labels is None else shadow_labels
    shadow, member = np.asarray(shadow), np.asarray(shadow_member)
    known = shadow.ravel(), np.tile(shadow_labels, len(shadow)), member.ravel()
    return risk_score.privacy_risk_score(target, labels, *known, prior, **options)


def risk_score_every_target(signals, member, *, labels, prior=0.5, **options):
    """Each target's shadow model is the next one, the first for the last."""
    following = np.roll(np.arange(len(member)), -1)
    return np.stack(
        [
            privacy_risk_score(
                signals[s], signals[t, None], member[t, None], labels=labels, prior=prior, **options
            )
            for s, t in enumerate(following)
        ]
    )


@functools.wraps(learned.per_class_networks)
def class_networks(
    target, shadow, shadow_member, *, labels, shadow_labels=None, rng=None, **options
):
    return _taught(
        learned.per_class_networks,
        target,
        shadow,
        shadow_member,
        labels,
        shadow_labels,
        rng,
        **options,
    )


@functools.wraps(learned.label_network)
def label_network(
    target, shadow, shadow_member, *, labels, shadow_labels=None, rng=None, **options
):
    return _taught(
        learned.label_network, target, shadow, shadow_member, labels, shadow_labels, rng, **options
    )


def class_networks_every_target(signals, member, *, labels, rng=None, teachers=4, **options):
    """Networks taught by the first four models of the half that the target is not in."""
    return _by_the_other_half(class_networks, signals, member, labels, teachers, rng, options)


def label_network_every_target(signals, member, *, labels, rng=None, teachers=1, **options):
    """A network taught by the first model of the half that the target is not in."""
    return _by_the_other_half(label_network, signals, member, labels, teachers, rng, options)


def _taught(
    network, target, shadow, shadow_member, labels, shadow_labels, rng, rows=None, **options
):
    """Scores (n,) of a network that at most so many answers of the shadow models teach."""
    rng, shadow = checks.generator(rng), np.asarray(shadow)
    shadow_labels = np.asarray(labels if shadow_labels is None else shadow_labels)
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape[:2])
    chosen = np.arange(member.size)
    if rows is not None and rows < member.size:
        chosen = np.sort(rng.choice(member.size, rows, replace=False))
    model, record = np.divmod(chosen, member.shape[1])
    known = shadow[model, record], shadow_labels[record], member[model, record]
    return network(target, labels, *known, rng=rng, **options)


def _by_the_other_half(attack, signals, member, labels, teachers, rng, options):
    """Scores (S, n): two fits, in which no model teaches what it is itself asked."""
    rng, half = checks.generator(rng), len(member) // 2
    models, scores = np.arange(len(member)), np.empty(member.shape)
    for targets, others in ((models[:half], models[half:]), (models[half:], models[:half])):
        asked = np.concatenate([signals[s] for s in targets])
        taught = signals[others[:teachers]], member[others[:teachers]]
        more = {"labels": np.tile(labels, len(targets)), "shadow_labels": labels, "rng": rng}
        scores[targets] = attack(asked, *taught, **more, **options).reshape(len(targets), -1)
    return scores


# Attacks that know the membership of other records of the target


@functools.wraps(bayes.Histogram)
def bayes_risk(target, shadow=None, shadow_member=None, *, member, bins, prior=0.5, rng=None):
    def fit_and_ask(known, known_member, asked):
        inner = np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])  # equally full bins
        edges = np.unique(np.concatenate([[-np.inf], inner, [np.inf]]))
        query = bayes.Histogram(known[known_member], known[~known_member], prior, edges)
        return np.nan_to_num(query.risk(asked))  # nobody there, nothing known

    target, bins = as_it_is(target), checks.integer("bins", bins, 1)
    return _cross_fitted(fit_and_ask, target, member, rng)


@functools.wraps(gradient.gradient_attack)
def gradient_network(target, shadow=None, shadow_member=None, *, member, rng=None, **options):
    def fit_and_ask(known, known_member, asked):
        return gradient.gradient_attack(asked, known, known_member, rng=rng, **options)

    rng, target = checks.generator(rng), checks.real_array("target", target, 2)
    return _cross_fitted(fit_and_ask, target, member, rng)


@functools.wraps(quantile.quantile_regression)
def quantile_regression(
    target, shadow=None, shadow_member=None, *, member, features, rng=None, **options
):
    target, member = as_it_is(target), np.asarray(member)
    return quantile.quantile_regression(target[None], member[None], features, rng=rng, **options)[0]


def bayes_risk_every_target(signals, member, *, bins, prior=0.5, rng=None):
    return _one_by_one(bayes_risk, signals, member, rng, bins=bins, prior=prior)


def gradient_network_every_target(signals, member, *, rng=None, **options):
    return _one_by_one(gradient_network, signals, member, rng, **options)


def _one_by_one(attack, signals, member, rng, **options):
    rng = checks.generator(rng)
    return np.stack(
        [attack(row, member=who, rng=rng, **options) for row, who in zip(signals, member)]
    )


def _cross_fitted(fit_and_ask, signal, member, rng):
    """Scores (n,): a random half of the records is known, the other is asked about, both ways."""
    member = checks.boolean_array("member", member, shape=signal.shape[:1])
    half = checks.generator(rng).permutation(len(signal)) % 2 == 0
    scores = np.empty(len(signal))
    for known in (half, ~half):
        checks.both_groups("member", member[known])
        scores[~known] = fit_and_ask(signal[known], member[known], signal[~known])
    return scores
