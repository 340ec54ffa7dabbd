"""Recurrent networks: forward passes against a literal loop, independence of padding, training,
refusals.
"""

import numpy as np
import pytest
import torch

from mia_lib import recurrent, shadow, two_sample
from mia_lib.recurrent import LanguageModel, LstmClassifier
from mia_lib.shadow import identity

V, T = 11, 6


def tokens(rng, n=8, low=1):
    return rng.integers(low, V, (n, T))


def generators(k):
    return [np.random.default_rng([7, s]) for s in range(k)]


def classifier(**options):
    return LstmClassifier(vocabulary=V, n_classes=3, embedding=5, hidden=(4, 3), **options)


def language_model(**options):
    return LanguageModel(vocabulary=V, embedding=5, hidden=(4,), **options)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def lstm_by_hand(x, w_ih, w_hh, b_ih, b_hh):
    """One LSTM layer over one text, (T, d) to (T, h), gate by gate."""
    h = w_hh.shape[1]
    hidden, cell, outputs = np.zeros(h), np.zeros(h), []
    for row in x:
        gates = w_ih @ row + b_ih + w_hh @ hidden + b_hh
        enter, forget, new, out = gates[:h], gates[h : 2 * h], gates[2 * h : 3 * h], gates[3 * h :]
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs)


def layer_of(state, k, prefix):
    return [
        state[f"{prefix}.lstm.{name}_l0"][k].astype(float)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]


def test_classifier_is_what_a_literal_loop_computes():
    x, recipe = tokens(np.random.default_rng(0), low=0), classifier(epochs=1)
    x[:, 0] = 1
    x[2, 3:] = 0
    state = recipe(x, np.arange(8) % 3, np.ones((2, 8), bool), generators(2))
    logits, features = recipe.logits(state, x), recipe.features(state, x)
    for k in range(2):
        for i in range(8):
            outputs = state["embedding.weight"][k].astype(float)[x[i]]
            for layer in ("layer1", "layer2"):
                outputs = lstm_by_hand(outputs, *layer_of(state, k, layer))
            summary = outputs[x[i] != 0].mean(0)
            assert features[k, i] == pytest.approx(summary, abs=1e-6)
            expected = state["head.weight"][k] @ summary + state["head.bias"][k]
            assert logits[k, i] == pytest.approx(expected, abs=1e-6)


def test_language_model_is_what_a_literal_loop_computes():
    x, recipe = tokens(np.random.default_rng(1), low=0), language_model(epochs=1)
    state = recipe(x, np.zeros(8, int), np.ones((2, 8), bool), generators(2))
    found = recipe.logits(state, x)
    assert found.shape == (2, 8, T) and (found <= 0).all()
    for k in range(2):
        for i in range(8):
            read = np.append(V, x[i, :-1])
            outputs = lstm_by_hand(
                state["embedding.weight"][k].astype(float)[read], *layer_of(state, k, "layers.0")
            )
            for t in range(T):
                z = state["head.weight"][k] @ outputs[t] + state["head.bias"][k]
                assert found[k, i, t] == pytest.approx(
                    z[x[i, t]] - np.log(np.exp(z).sum()), abs=1e-5
                )


def test_language_model_is_a_law_over_texts():
    recipe = LanguageModel(vocabulary=3, embedding=4, hidden=(5,), epochs=30)
    every = np.array(np.meshgrid(*[range(3)] * 4)).reshape(4, -1).T
    state = recipe(every[:5], np.zeros(5, int), np.ones((1, 5), bool), generators(1))
    assert np.exp(recipe.logits(state, every)[0].astype(float).sum(1)).sum() == pytest.approx(
        1, abs=1e-5
    )


def test_padding_changes_nothing():
    rng = np.random.default_rng(2)
    x, recipe = tokens(rng), classifier(epochs=1)
    state = recipe(x, np.arange(8) % 3, np.ones((1, 8), bool), generators(1))
    longer = np.concatenate([x, np.zeros((8, 4), int)], 1)
    assert recipe.logits(state, longer) == pytest.approx(recipe.logits(state, x), abs=1e-6)
    assert not np.allclose(
        recipe.logits(state, x[:, :3]), recipe.logits(state, x)
    )  # real tokens do count


WIDE = {"vocabulary": V, "embedding": 16, "epochs": 80, "batch_size": 8, "learning_rate": 0.01}


@pytest.mark.parametrize(
    "recipe",
    [LstmClassifier(n_classes=3, hidden=(16, 16), **WIDE), LanguageModel(hidden=(48,), **WIDE)],
)
def test_training_learns_its_members_by_heart(recipe):
    rng = np.random.default_rng(3)
    x, y = (
        tokens(rng, 40),
        rng.integers(0, 3, 40),
    )  # tokens and labels at random: nothing but memory can predict them
    members = np.arange(40) < 20
    state = recipe(x, y, np.stack([members, ~members]), generators(2))
    out = recipe.logits(state, x)
    if isinstance(recipe, LstmClassifier):
        right = out.argmax(-1) == y
        assert right[0, members].mean() > 0.95 and right[1, ~members].mean() > 0.95
        assert right[0, ~members].mean() < 0.7
    else:
        loss = -out.mean(-1)
        assert loss[0, members].mean() < 0.6 < np.log(V) < loss[0, ~members].mean()
        assert loss[1, ~members].mean() < 0.6 < np.log(V) < loss[1, members].mean()


@pytest.mark.parametrize("recipe", [classifier(epochs=2), language_model(epochs=2)])
def test_same_generators_same_bits_whatever_the_stack(recipe):
    x, y = tokens(np.random.default_rng(4)), np.arange(8) % 3
    masks = np.random.default_rng(5).random((3, 8)) < 0.7
    torch.manual_seed(1)
    together = recipe(x, y, masks, generators(3))
    torch.manual_seed(2)
    alone = [recipe(x, y, masks[[s]], [generators(3)[s]]) for s in range(3)]
    for name, array in together.items():
        assert np.array_equal(array, np.concatenate([one[name] for one in alone]))
    other = recipe(x, y, masks[:1], [np.random.default_rng(99)])
    assert not np.array_equal(other["head.weight"], alone[0]["head.weight"])


def test_non_members_leave_no_trace():
    x, recipe = tokens(np.random.default_rng(6)), language_model(epochs=2)
    members = (np.arange(8) < 5)[None]
    changed = np.where(members.T, x, tokens(np.random.default_rng(60)))
    states = [recipe(data, np.zeros(8, int), members, generators(1)) for data in (x, changed)]
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


def test_layers_by_name_for_the_two_sample_tests():
    x, recipe = tokens(np.random.default_rng(7)), classifier(epochs=1)
    state = recipe(x, np.arange(8) % 3, np.ones((2, 8), bool), generators(2))
    found = two_sample.layer_outputs(
        recipe.network(state, 1), x, ["embedding", "layer1", "layer2", "summary", "head"]
    )
    shapes = {name: array.shape[1] for name, array in found.items()}
    assert shapes == {"embedding": 5 * T, "layer1": 4 * T, "layer2": 3 * T, "summary": 3, "head": 3}
    assert found["summary"] == pytest.approx(recipe.features(state, x)[1], abs=1e-6)
    assert found["head"] == pytest.approx(recipe.logits(state, x)[1], abs=1e-6)
    assert found["layer2"].reshape(8, T, 3).mean(1) == pytest.approx(found["summary"], abs=1e-6)
    by_name = two_sample.representations(found["head"], np.arange(8) % 3, found["summary"])
    assert by_name["second_to_last"].shape == (8, 3)


@pytest.mark.parametrize("recipe", [classifier(epochs=1), language_model(epochs=1)])
def test_shadow_models(recipe, tmp_path):
    x, y = tokens(np.random.default_rng(8)), np.arange(8) % 3
    masks = shadow.half_masks(4, 8, np.random.default_rng(0))
    store = shadow.train(recipe, x, y, masks, tmp_path / "store")
    assert store.logits().shape == (4, 1, 8, 3 if isinstance(recipe, LstmClassifier) else T)
    again = store.apply(lambda state, x, y: recipe.logits(state, x))
    assert np.array_equal(again, store.logits()[:, 0])


def test_a_store_notices_when_this_module_changes(monkeypatch):
    before = identity.describe(classifier())
    assert before["class"] == "mia_lib.recurrent.LstmClassifier" and before["hidden"] == [4, 3]
    changed = identity.inspect.getsource(recurrent).replace("MAX_NORM = 1.0", "MAX_NORM = 2.0")
    monkeypatch.setattr(identity.inspect, "getsource", lambda thing: changed)
    assert identity.describe(classifier())["source"] != before["source"]


def test_bad_input():
    rng = np.random.default_rng(9)
    x, y, all_in = tokens(rng), np.arange(8) % 3, np.ones((1, 8), bool)
    recipe = classifier(epochs=1)
    for wrong, message in (
        (x.astype(float), "whole numbers"),
        (x[0], "shape"),
        (x + V, f"tokens 0 ... {V - 1}"),
        (x - 5, "tokens from"),
        (np.where(np.arange(8)[:, None] == 3, 0, x), "x: given 1 texts that are all padding"),
    ):
        with pytest.raises(ValueError, match=message):
            recipe(wrong, y, all_in, generators(1))
    with pytest.raises(ValueError, match="y: given largest label 3"):
        recipe(x, y + 1, all_in, generators(1))
    with pytest.raises(ValueError, match="members: given shape"):
        recipe(x, y, all_in[:, 1:], generators(1))
    with pytest.raises(ValueError, match="members: given model 0 without members"):
        recipe(x, y, ~all_in, generators(1))
    with pytest.raises(ValueError, match="rngs: given 2 generators for 1 models"):
        recipe(x, y, all_in, generators(2))
    for options, message in (
        ({"vocabulary": 1}, "vocabulary"),
        ({"vocabulary": V, "hidden": ()}, "hidden: given no layer"),
        ({"vocabulary": V, "hidden": 4}, "hidden: given 4, expected a sequence"),
        ({"vocabulary": V, "epochs": 0}, "epochs"),
        ({"vocabulary": V, "schedule": "step"}, "schedule"),
        ({"vocabulary": V, "learning_rate": -1.0}, "learning_rate"),
    ):
        with pytest.raises(ValueError, match=message):
            LanguageModel(**options)
    with pytest.raises(ValueError, match="n_classes"):
        LstmClassifier(vocabulary=V, n_classes=1)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="without a GPU"):
            language_model(device="cuda")(x, y, all_in, generators(1))
