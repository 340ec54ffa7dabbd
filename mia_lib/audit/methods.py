"""The attacks, one entry each: what it is called, what its adversary needs, and how it scores
records.

To add an attack, add an entry to `METHODS`. `lacks` says in words what a view does not have for it,
or None; `score` takes the view and a generator and returns (n,) scores, larger meaning more likely
a member.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from mia_lib import attacks, lira, signals

THRESHOLD_MODELS = 8  # shadow models whose answers are pooled to fit thresholds
LEARNED, EPOCHS = (
    5_000,
    30,
)  # of these answers, how many teach the network, and how often it sees each
# shadow models from which on LiRA fits a spread to each record by itself (Carlini et al. 2022, Fig.
# 9)
PER_EXAMPLE = 64
RMIA_SLOPE = (
    0.3  # a of the offline attack: how much more a record is believed on average than by OUT models
)
NO_SHADOW = "shadow models"
SAME = "shadow models on the same records"


class Method(NamedTuple):
    """One attack of the audit."""

    name: str
    adversary: str
    lacks: Callable
    score: Callable


def _nothing(view):
    return None


def _no_shadow(view):
    return NO_SHADOW if view.n_shadow == 0 else None


def _no_out_models(view):
    return _few(view, sides=(1,))


def _no_gaussians(view):
    return _few(view, sides=(0, 1))


def _few(view, sides):
    if not view.same_records:
        return SAME
    short = [("IN", "OUT")[side] for side in sides if view.counts[side] < 2]
    if not short:
        return None
    inside = np.count_nonzero(view.shadow_member, axis=0)
    fewest = np.minimum.reduce([(inside, view.n_shadow - inside)[side] for side in sides])
    return (
        f"two {' and two '.join(short)} shadow models for every record, "
        f"{(fewest < 2).sum():,} have fewer"
    )


def _correct(view, rng):
    return (view.logits.argmax(axis=1) == view.labels).astype(np.float64)


def _class_thresholds(view, rng):
    """Modified entropy against a threshold for each class that shadow models teach (Song and
    Mittal, section 3.1).
    """
    logits, member, labels = view.shadow_outputs(THRESHOLD_MODELS)
    score = -signals.modified_entropy(logits, labels).ravel()
    labels, member = np.tile(labels, len(logits)), member.ravel()
    # A class that shadow models saw on one side only teaches nothing; the threshold of all classes
    # stands in for its own.
    taught = np.array(
        [0 < member[labels == k].sum() < (labels == k).sum() for k in range(view.n_classes)]
    )
    usable = taught[labels]
    overall = attacks.class_thresholds(score, np.zeros(labels.size, dtype=np.int64), member)[0]
    threshold = np.full(view.n_classes, overall)
    found = (
        attacks.class_thresholds(score[usable], labels[usable], member[usable])
        if usable.any()
        else {}
    )
    threshold[list(found)] = list(found.values())
    return -signals.modified_entropy(view.logits, view.labels) - threshold[view.labels]


def _learned(view, rng):
    """A network that reads probabilities and label (Song and Mittal, section 2.2.1), taught by
    shadow models.
    """
    logits, member, labels = view.shadow_outputs(THRESHOLD_MODELS)
    n_models, n_records = member.shape
    rows = rng.choice(member.size, min(member.size, LEARNED), replace=False)
    model, record = np.divmod(np.sort(rows), n_records)
    return attacks.label_network(
        view.logits,
        view.labels,
        logits[model, record],
        labels[record],
        member[model, record],
        epochs=EPOCHS,
        rng=rng,
    )


def _no_teachers(view):
    if view.n_shadow == 0:
        return NO_SHADOW
    missing = sorted(set(view.labels.tolist()) - set(view.shadow_labels.tolist()))
    return f"shadow models' records of class {missing[0]}" if missing else None


def lira_options(n_models):
    """The spread of the Gaussians, by the number of shadow models alone."""
    return {"variance": "per-example" if n_models >= PER_EXAMPLE else "global"}


def _lira(attack):
    def score(view, rng):
        return attack(
            view.all_phi, view.shadow_all_phi, view.shadow_member, **lira_options(view.n_shadow)
        )

    return score


def _calibrated(view, rng):
    return attacks.difficulty_calibration(view.phi, view.shadow_phi, view.shadow_member)


def _midpoint(view, rng):
    return attacks.midpoint(view.phi, view.shadow_phi, view.shadow_member)


def _reference_quantile(view, rng):
    return attacks.reference_quantile(view.phi, view.shadow_phi, view.shadow_member)


def _rmia(slope):
    """RMIA; log p_y is log expit of the logit-scaled confidence."""

    def score(view, rng):
        return attacks.rmia(
            special.log_expit(view.phi),
            special.log_expit(view.shadow_phi),
            view.shadow_member,
            slope=slope,
        )

    return score


# From the strongest to the weakest by what is known of them: the first that the observations permit
# is the one that slices, exposed records and the bound of epsilon are read from. That choice is
# made before any score is seen.
METHODS = (
    Method(
        "LiRA, online",
        "shadow models trained with and without the record",
        _no_gaussians,
        _lira(lira.online),
    ),
    Method(
        "RMIA, online",
        "shadow models trained with and without the record",
        _no_gaussians,
        _rmia(None),
    ),
    Method(
        "Midpoint", "shadow models trained with and without the record", _no_gaussians, _midpoint
    ),
    Method(
        "LiRA, offline",
        "shadow models trained without the record",
        _no_out_models,
        _lira(lira.offline),
    ),
    Method(
        "RMIA, offline",
        "shadow models trained without the record",
        _no_out_models,
        _rmia(RMIA_SLOPE),
    ),
    Method(
        "Calibrated confidence",
        "shadow models trained without the record",
        _no_out_models,
        _calibrated,
    ),
    Method(
        "Reference quantile",
        "shadow models trained without the record",
        _no_out_models,
        _reference_quantile,
    ),
    Method(
        "Modified entropy, class thresholds",
        "shadow models, on any records",
        _no_shadow,
        _class_thresholds,
    ),
    Method("Learned network", "shadow models, on any records", _no_teachers, _learned),
    Method(
        "LOSS", "the outputs", _nothing, lambda view, rng: attacks.loss(view.logits, view.labels)
    ),
    Method(
        "Modified entropy",
        "the outputs",
        _nothing,
        lambda view, rng: -signals.modified_entropy(view.logits, view.labels),
    ),
    Method(
        "Entropy",
        "the outputs, not the label",
        _nothing,
        lambda view, rng: -signals.entropy(view.logits),
    ),
    Method(
        "Hinge", "the outputs", _nothing, lambda view, rng: signals.hinge(view.logits, view.labels)
    ),
    Method("Correctness", "the predicted class alone", _nothing, _correct),
)
