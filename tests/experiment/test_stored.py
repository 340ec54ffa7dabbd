"""A network of the stored signals is opened where scripts/signals.py left it, and no other."""

import dataclasses
import types

import numpy as np
import pytest

from mia_lib import data, shadow, train
from mia_lib.experiment import stored, stored_network


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A store in the place of network 18, whose manifest stands for that of the signals."""
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60)
    masks = shadow.half_masks(4, 60, rng)[2:3]
    recipe = train.Classifier(hidden=(6, 4), epochs=2, n_classes=3)
    place = tmp_path / "signals--cifar10" / "block-01" / "model-02"
    store = shadow.train(recipe, x, y, masks, place, chunk=1)
    asked = []

    def signals(name, n_models):
        asked.append((name, n_models))
        made = [{"manifest": store.manifest}] * n_models
        return types.SimpleNamespace(provenance=made)

    monkeypatch.setattr(stored.data, "signals", signals)
    return types.SimpleNamespace(x=x, recipe=recipe, store=store, place=place, asked=asked)


def test_it_answers_as_the_store_that_it_is_from(there):
    recipe, state = stored_network("cifar10", 18)
    assert recipe == dataclasses.replace(there.recipe, device="auto")  # wherever it was trained
    assert there.asked == [("cifar10", 19)]
    expected = there.store.logits()[:, 0]
    np.testing.assert_allclose(recipe.logits(state, there.x), expected, atol=1e-6)
    assert recipe.features(state, there.x).shape == (1, 60, 4)


def test_another_network_in_its_place_is_noticed(there):
    for part in ("masks", "seed", "x", "y", "fit"):
        kept = there.store.manifest[part]
        there.store.manifest[part] = {} if part == "fit" else "another"
        with pytest.raises(ValueError, match="MIA_RUNS: given .*model-02 with another network"):
            stored_network("cifar10", 18)
        there.store.manifest[part] = kept


def test_one_that_was_trained_again_on_another_device_stands_for_it(there):
    """The manifest of the signals names the GPU that they come from, the store a processor."""
    fit = there.store.manifest["fit"]
    there.store.manifest["fit"] = fit | {"device": "cuda"}
    recipe, _ = stored_network("cifar10", 18)
    assert recipe.device == "auto"
    there.store.manifest["fit"] = fit | {"device": "cuda", "epochs": 3}
    with pytest.raises(ValueError, match="with another network"):
        stored_network("cifar10", 18)


@pytest.mark.parametrize(
    "file", ["manifest.json", "masks.npy", "models/0000.npz", "done/0000.json"]
)
def test_a_damaged_store_is_one_line(there, file):
    whole = (there.place / file).read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"garbage"):
        (there.place / file).write_bytes(content)
        with pytest.raises(
            ValueError, match=f"^path: given .*model-02, where .*{file}.*"
        ) as caught:
            stored_network("cifar10", 18)
        assert "\n" not in str(caught.value)


def test_one_line_says_where_it_was_looked_for(there):
    with pytest.raises(ValueError, match="MIA_RUNS: given a folder without .*block-02.model-01"):
        stored_network("cifar100", 33)


@pytest.mark.parametrize("s", [None, "0", [0], 0.5, -1, True])
def test_a_number_that_is_none(there, s):
    with pytest.raises(ValueError, match="^s: given .*, expected a whole number"):
        stored_network("cifar10", s)


def test_a_name_that_has_no_signals(there):
    for name in ("mnist", None, "cifar10/../signals--cifar10"):
        with pytest.raises(ValueError, match="^name: given "):
            stored_network(name, 0)


def test_more_networks_than_are_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    with pytest.raises(ValueError, match="n_models: given 5001"):
        stored_network("cifar10", 5000)
    assert data.signals("cifar10", 1).provenance[0]["manifest"]["fit"]["model"] == "speednet"
