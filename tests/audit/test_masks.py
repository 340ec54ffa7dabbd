"""Masks that contradict each other or the outputs are noticed, right ones are not."""

import numpy as np
import pytest

from mia_lib import audit, metrics, shadow
from mia_lib.audit import masks, methods
from mia_lib.audit.conduct import View, _left_out


def made(n=400, n_shadow=8, gain=1.0, seed=0):
    rng = np.random.default_rng(seed)
    held = shadow.bernoulli_masks(n_shadow + 1, n, rng)
    logits = rng.normal(size=(1, n, 2)) + 0.5 * rng.normal(size=(n_shadow + 1, n, 2))
    logits[..., 0] += gain * held
    return logits, held


def said(logits, held, target=None, delta=0.05):
    o = audit.Observations(
        logits[0], np.zeros(logits.shape[1], int), held[0] if target is None else target,
        logits[1:], held[1:], assignment="random",
    )  # fmt: skip
    view = View(o, _left_out(o))
    return masks.contradictions(o, view, np.arange(o.n), delta)


@pytest.mark.parametrize("gain", [0.0, 1.0])
def test_right_masks_are_not_doubted(gain):
    assert [said(*made(gain=gain, seed=s), delta=1e-4) for s in range(5)] == [[]] * 5


def test_inverted_masks():
    logits, held = made()
    inverted = np.concatenate([held[:1], ~held[1:]])
    (sentence,) = said(logits, inverted)
    assert "less sure of the records that their masks call members" in sentence
    assert "over 8 models the mean AUC is 0." in sentence


def test_one_model_under_two_masks():
    logits, held = made()
    twice = logits.copy()
    twice[5] = twice[3]  # shadow models 2 and 4
    (sentence,) = said(twice, held)
    assert sentence.startswith("Shadow models 2 and 4 have the same outputs, but masks that differ")
    held[5] = held[3]
    assert said(twice, held) == []  # handed over twice, with one mask: nothing is contradicted


def test_the_target_among_its_shadow_models():
    logits, held = made()
    logits[4] = logits[0]
    held[4] = held[0]
    sentence = said(logits, held)[0]
    assert sentence.startswith("Shadow model 3 has the target's own outputs")


def test_outputs_of_few_values_may_agree():
    rng = np.random.default_rng(0)
    held = shadow.bernoulli_masks(5, 400, rng)
    logits = np.tile(3 * np.eye(2)[rng.integers(0, 2, 400)], (5, 1, 1))  # a class and no more
    assert said(logits, held) == []


def test_counts_that_tell_members_apart():
    logits, held = made(gain=0.0)
    held[1:, held[0]] &= np.random.default_rng(1).random((8, held[0].sum())) < 0.6
    (sentence,) = said(logits, held)
    assert sentence.startswith("How many shadow models hold a record tells members from non")


def test_exact_halves_are_evened_out():
    rng = np.random.default_rng(0)
    held = shadow.half_masks(8, 600, rng)
    assert said(rng.normal(size=(8, 600, 2)), held) == []


def test_no_model_is_left_out_more_often_than_another():
    """A model that is surer of everything than the others would else tell the sides apart."""
    rng = np.random.default_rng(4)
    held = shadow.half_masks(8, 1000, rng)
    logits = rng.normal(size=(8, 1000, 2))  # nothing leaks
    logits[..., 0] += rng.normal(size=(8, 1))
    o = audit.Observations(
        logits[0], np.zeros(1000, int), held[0], logits[1:], held[1:], assignment="random"
    )
    left_out = _left_out(o)
    assert (held[1:][left_out, np.arange(1000)] != o.member).all()
    assert np.bincount(left_out, minlength=7).max() < 1000 / 7 + 4 * np.sqrt(1000 / 7)
    view = View(o, left_out)
    lira = next(method for method in methods.of(view) if method.name == "LiRA, online")
    score = methods.score(lira, view, rng)
    assert abs(metrics.roc(score, o.member).auc - 0.5) < 3 / np.sqrt(6 * 500)
