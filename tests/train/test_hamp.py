"""HAMP: its soft labels, its loss against gradients written out, its answers against a loop."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
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
from mia_lib.train import Classifier, hamp


@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("entropy", [0.0, 0.05, 0.6, 0.95])
def test_a_soft_label_has_the_entropy_that_is_asked_for(entropy, n_classes):
    p = hamp.on_label(entropy, n_classes)
    label = [p, *[(1 - p) / (n_classes - 1)] * (n_classes - 1)]
    assert 1 / n_classes < p <= 1
    assert stats.entropy(label, base=n_classes) == pytest.approx(entropy, abs=1e-9)


def test_against_a_loop_with_gradients_written_out():
    p = hamp.on_label(0.5, 4)

    def slope(found, labels, epoch):
        soft = np.where(np.eye(4)[labels] == 1, p, (1 - p) / 3)
        entropy = -(found * np.log(found)).sum(1, keepdims=True)
        return found - soft + 0.3 * found * (np.log(found) + entropy)

    expected = descended(slope)
    agree(train.Hamp(PLAIN, 0.5, 0.3)(X, Y, MEMBERS[:1], generators(1)), expected)


def test_without_entropy_it_is_plain_training():
    plain = RECIPE(X, Y, MEMBERS, generators(3))
    zero = train.Hamp(RECIPE, 0.0)(X, Y, MEMBERS, generators(3))
    for name in plain:
        np.testing.assert_allclose(plain[name], zero[name], atol=1e-9)
    for fit in (train.Hamp(RECIPE, 0.5), train.Hamp(RECIPE, 0.0, 0.5)):
        other = fit(X, Y, MEMBERS, generators(3))
        assert np.abs(plain["head.weight"] - other["head.weight"]).max() > 0.01


def test_an_answer_has_its_own_order_and_the_numbers_of_a_random_input():
    fit = train.Hamp(RECIPE, 0.5, values=(-1.0, 0.0, 2.0), seed=3)
    state = fit(X, Y, MEMBERS, generators(3))
    own, given = RECIPE.logits(state, X), fit.logits(state, X)
    drawn = np.random.default_rng(3).choice([-1.0, 0.0, 2.0], X.shape)
    random = RECIPE.logits(state, drawn)
    for k in range(3):
        for i in range(90):
            numbers, ranks = sorted(random[k, i]), [sum(own[k, i] < v) for v in own[k, i]]
            assert given[k, i].tolist() == [numbers[rank] for rank in ranks]
    assert (given.argmax(-1) == own.argmax(-1)).all()
    assert not np.allclose(given, own)
    assert (dataclasses.replace(fit, seed=4).logits(state, X) != given).any()


def test_the_random_input_is_that_of_the_row_and_not_of_the_record():
    fit = train.Hamp(RECIPE, 0.5, seed=3)
    state = fit(X, Y, MEMBERS, generators(3))
    answers = fit.logits(state, X)
    assert np.array_equal(fit.logits(state, X[:20]), answers[:, :20])
    shifted = fit.logits(state, np.concatenate([X[1:21], X[:1]]))
    own = np.sort(answers[:, 1:21], axis=-1)
    assert np.array_equal(np.sort(shifted[:, :20], axis=-1), np.sort(answers[:, :20], axis=-1))
    assert not np.array_equal(np.sort(shifted[:, :20], axis=-1), own)


def test_of_equal_outputs_the_first_stays_the_answer():
    fit = train.Hamp(RECIPE, 0.5)
    state = {name: np.zeros_like(a) for name, a in RECIPE(X, Y, MEMBERS, generators(3)).items()}
    assert (fit.logits(state, X).argmax(-1) == 0).all()


def test_bytes_stay_bytes():
    fit = train.Hamp(Classifier(hidden=(4,), epochs=1), 0.5, values=(0, 100, 255))
    x = np.random.default_rng(0).integers(0, 256, (12, 4, 4), dtype=np.uint8)
    y = np.arange(12) % 2
    state = fit(x, y, np.ones((1, 12), bool), generators(1))
    random = np.random.default_rng(0).choice(np.array([0, 100, 255], np.uint8), x.shape)
    answers, numbers = fit.logits(state, x), fit.recipe.logits(state, random)
    np.testing.assert_array_equal(np.sort(answers, -1), np.sort(numbers, -1))


@pytest.mark.parametrize("kind", ["uint8", "int64", "bool"])
def test_values_that_the_type_of_x_cannot_hold_are_refused(kind):
    x, y = (np.arange(24).reshape(12, 2) % 3).astype(kind), np.arange(12) % 2
    given = {"uint8": (0.0, 256.0), "int64": (0.0, 0.5), "bool": (0.0, 2.0)}[kind]
    fit = train.Hamp(Classifier(hidden=(4,), epochs=1), 0.5, values=given)
    state = fit(x, y, np.ones((1, 12), bool), generators(1))
    with pytest.raises(ValueError, match=f"^values: given {given[1]:g}, expected .*{kind}"):
        fit.logits(state, x)
    assert np.isfinite(fit.logits(state, x.astype(np.float32))).all()
    with pytest.raises(ValueError, match="^values: given 1e\\+39, expected .*float32"):
        dataclasses.replace(fit, values=(0.0, 1e39)).logits(state, x.astype(np.float32))


def test_it_is_a_fit_for_shadow_train(tmp_path):
    fit = train.Hamp(Classifier(hidden=(8,), epochs=4), 0.4, 0.1)
    a_fit_for_shadow_train(fit, dataclasses.replace(fit, entropy=0.5), tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train.Hamp("mlp", 0.5), "recipe: given str"),
        (lambda: train.Hamp(Classifier(label_smoothing=0.1), 0.5), "recipe: given label_smoothing"),
        (lambda: train.Hamp(RECIPE, 1.0), "entropy: given 1.0"),
        (lambda: train.Hamp(RECIPE, -0.1), "entropy: given -0.1"),
        (lambda: train.Hamp(RECIPE, 0.5, -1.0), "weight: given -1.0"),
        (lambda: train.Hamp(RECIPE, 0.5, values=()), "values: given"),
        (lambda: train.Hamp(RECIPE, 0.5, seed=-1), "seed: given -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
