"""Fewer models from many: against a literal loop."""

import numpy as np
import pytest

from mia_lib import lira, shadow


@pytest.mark.parametrize("queries", [None, 3])
def test_keeps_the_lowest_numbered_models_of_either_side(queries):
    rng = np.random.default_rng(0)
    member = shadow.half_masks(10, 7, rng)
    signals = rng.normal(size=(10, 7) if queries is None else (10, 7, queries))
    kept, who = lira.balanced_subset(signals, member, 6)
    for i in range(7):
        inside = [signals[s, i] for s in range(10) if member[s, i]][:3]
        outside = [signals[s, i] for s in range(10) if not member[s, i]][:3]
        assert np.array_equal(kept[:, i], np.array(inside + outside))
    assert np.array_equal(who, np.repeat([[True] * 7, [False] * 7], 3, axis=0))


def test_all_models_are_the_same_set():
    rng = np.random.default_rng(1)
    member = shadow.half_masks(8, 50, rng)
    signals = rng.normal(size=(8, 50)) + member
    kept, who = lira.balanced_subset(signals, member, 8)
    assert np.array_equal(np.sort(kept, axis=0), np.sort(signals, axis=0))


@pytest.mark.parametrize(
    "n_models, message",
    [
        (3, "an even number"),
        (0, "at least 2"),
        (10, "fewer than 5 IN models"),
        (2.0, "whole number"),
    ],
)
def test_bad_number(n_models, message):
    member = shadow.half_masks(8, 5, np.random.default_rng(2))
    with pytest.raises(ValueError, match=message):
        lira.balanced_subset(np.zeros((8, 5)), member, n_models)
