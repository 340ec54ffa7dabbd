"""Who is in which training set: shares and their law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mia_lib import masks as draw


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 20), st.integers(1, 60), st.integers(0, 10))
def test_half_masks_columns_are_exactly_half(pairs, n, seed):
    masks = draw.half_masks(2 * pairs, n, np.random.default_rng(seed))
    assert masks.shape == (2 * pairs, n) and masks.dtype == bool and (masks.sum(0) == pairs).all()
    assert np.array_equal(masks, draw.half_masks(2 * pairs, n, np.random.default_rng(seed)))


def test_half_masks_are_uniform_over_all_halves():
    masks = draw.half_masks(4, 60_000, np.random.default_rng(0))
    counts = np.bincount(np.array([8, 4, 2, 1]) @ masks, minlength=16)
    assert (counts > 0).sum() == 6 and np.abs(counts[counts > 0] - 10_000).max() < 5 * np.sqrt(
        10_000 * 5 / 6
    )


def test_bernoulli_masks_have_the_probability():
    masks = draw.bernoulli_masks(50, 2000, np.random.default_rng(0), probability=0.3)
    assert (
        masks.mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / masks.size))
        and masks.sum(0).std() > 2
    )


def test_bad_masks():
    with pytest.raises(ValueError, match="n_models: given 3, expected an even number"):
        draw.half_masks(3, 5)
    for call in (
        lambda: draw.half_masks(0, 5),
        lambda: draw.bernoulli_masks(2, 5, probability=1.0),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match="rng"):
        draw.half_masks(2, 5, 0)
