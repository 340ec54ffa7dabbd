"""A network of the stored signals is opened where scripts/signals.py left it."""

import numpy as np
import pytest

from mia_lib import shadow, train
from mia_lib.experiment import stored_network


def test_it_answers_as_the_store_that_it_is_from(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60)
    masks = shadow.half_masks(4, 60, rng)[2:3]
    recipe = train.Classifier(hidden=(6, 4), epochs=2, n_classes=3)
    place = tmp_path / "signals--cifar10" / "block-01" / "model-02"  # number 18
    store = shadow.train(recipe, x, y, masks, place, chunk=1)
    again, state = stored_network("cifar10", 18)
    assert again == recipe
    np.testing.assert_allclose(again.logits(state, x), store.logits()[:, 0], atol=1e-6)
    assert again.features(state, x).shape == (1, 60, 4)


def test_one_line_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    with pytest.raises(ValueError, match="block-02/model-01.*expected a folder"):
        stored_network("cifar100", 33)
