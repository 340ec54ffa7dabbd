"""Tests that are fitted on the first halves of two sets and carried out on the second."""

import numpy as np
import pytest

from mia_lib import two_sample


def test_the_halves_are_those_that_one_would_hand_on_by_hand():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(1.0, size=(20, 3))
    options = {"n_steps": 3, "n_permutations": 19}
    found = two_sample.on_halves(
        two_sample.optimized_kernel_test, x, y, rng=np.random.default_rng(1), **options
    )
    wanted = two_sample.optimized_kernel_test(
        x[:10], y[:10], x[10:], y[10:], rng=np.random.default_rng(1), **options
    )
    assert found == wanted


@pytest.mark.parametrize("sizes", [(4, 5), (1, 1)])
def test_sets_that_cannot_be_halved_alike_are_refused(sizes):
    with pytest.raises(ValueError, match=f"x, y: given {sizes[0]} and {sizes[1]} records"):
        two_sample.on_halves(print, *(np.arange(size) for size in sizes))
