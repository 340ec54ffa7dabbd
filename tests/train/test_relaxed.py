"""RelaxLoss against a loop in numpy with its gradients written out, and what it is for."""

import dataclasses

import numpy as np
import pytest
from written_out import (
    MEMBERS,
    PLAIN,
    RECIPE,
    X,
    Y,
    a_fit_for_shadow_train,
    agree,
    descended,
    generators,
)

from mia_lib import train
from mia_lib.train import Classifier


def test_against_a_loop_with_gradients_written_out():
    """Down, up and flattening; all three happen."""
    seen = []

    def slope(p, labels, epoch):
        rows = np.arange(len(labels))
        target = np.eye(4)[labels]
        if -np.log(p[rows, labels]).mean() >= 0.6:
            seen.append("down")
            return p - target
        if epoch % 2 == 0:
            seen.append("up")
            return target - p
        seen.append("flat")
        target = np.where(target == 1, p, (1 - p[rows, labels])[:, None] / 3)
        return p - target

    expected = descended(slope)
    assert min(seen.count(way) for way in ("down", "up", "flat")) >= 4
    agree(train.RelaxLoss(PLAIN, 0.6)(X, Y, MEMBERS[:1], generators(1)), expected)


def test_level_zero_is_plain_training():
    plain = RECIPE(X, Y, MEMBERS, generators(3))
    zero = train.RelaxLoss(RECIPE, 0.0)(X, Y, MEMBERS, generators(3))
    some = train.RelaxLoss(RECIPE, 0.5)(X, Y, MEMBERS, generators(3))
    assert all((plain[name] == zero[name]).all() for name in plain)
    assert np.abs(plain["head.weight"] - some["head.weight"]).max() > 0.01


def test_members_keep_a_loss_near_the_level_and_their_labels():
    recipe = dataclasses.replace(RECIPE, hidden=(64,), epochs=60)
    found = []
    for fit in (recipe, train.RelaxLoss(recipe, 0.5)):
        logits = fit.logits(fit(X, Y, MEMBERS[:1], generators(1)), X)[0][MEMBERS[0]]
        log_p = logits - np.logaddexp.reduce(logits, 1, keepdims=True)
        right = (logits.argmax(1) == Y[MEMBERS[0]]).mean()
        found.append((-log_p[np.arange(len(log_p)), Y[MEMBERS[0]]].mean(), right))
    assert found[0][0] < 0.05 < 0.3 < found[1][0] < 0.8
    assert found[1][1] > 0.9


def test_it_is_a_fit_for_shadow_train(tmp_path):
    fit = train.RelaxLoss(Classifier(hidden=(8,), epochs=4), 0.4)
    a_fit_for_shadow_train(fit, dataclasses.replace(fit, alpha=0.5), tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train.RelaxLoss("mlp", 1.0), "recipe: given str"),
        (lambda: train.RelaxLoss(Classifier(label_smoothing=0.1), 1.0), "recipe: given label_smoo"),
        (lambda: train.RelaxLoss(RECIPE, -0.1), "alpha: given -0.1"),
        (lambda: train.RelaxLoss(RECIPE, np.nan), "alpha: given nan"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
