"""The losses along a training: each against the model that stops there, computed by hand."""

import dataclasses

import numpy as np
import pytest

from mia_lib import train

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), np.arange(60) % 3
MEMBERS = RNG.random((2, 60)) < 0.5
RECIPE = train.Classifier(hidden=(8,), epochs=4, batch_size=7, dtype="float64")


def generators(k=2):
    return [np.random.default_rng([9, s]) for s in range(k)]


@pytest.mark.parametrize("stacked", [True, False])
def test_a_trace_holds_the_losses_of_the_models_that_stop_there(stacked):
    recipe = dataclasses.replace(RECIPE, stacked=stacked)
    found = train.epoch_losses(recipe, X, Y, MEMBERS, generators())
    assert found.shape == (4, 2, 60) and found.dtype == np.float32
    for e in range(4):
        early = dataclasses.replace(recipe, stop=e + 1)
        z = early.logits(early(X, Y, MEMBERS, generators()), X).astype(float)
        loss = np.log(np.exp(z).sum(axis=-1)) - z[..., np.arange(60), Y]
        np.testing.assert_allclose(found[e], loss, atol=1e-5)
    assert (np.abs(np.diff(found, axis=0)).max(axis=(1, 2)) > 0.01).all()


def test_a_run_that_stops_is_followed_until_then():
    whole = train.epoch_losses(RECIPE, X, Y, MEMBERS, generators())
    early = dataclasses.replace(RECIPE, stop=2.5)
    some = train.epoch_losses(early, X, Y, MEMBERS, generators())
    assert some.shape == (2, 2, 60)
    np.testing.assert_allclose(some, whole[:2], atol=1e-6)


def test_bad_input_is_named():
    for fit in (dataclasses.replace(RECIPE, stop=0.5), train.Distillation(RECIPE)):
        with pytest.raises(ValueError, match="fit: given"):
            train.epoch_losses(fit, X, Y, MEMBERS, generators())
    with pytest.raises(ValueError, match="rngs: given"):
        train.epoch_losses(RECIPE, X, Y, MEMBERS, generators(1))
