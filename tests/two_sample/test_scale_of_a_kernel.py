"""A test does not depend on the unit in which a kernel is measured."""

import numpy as np
import pandas as pd
import pytest
import torch

from mia_lib import two_sample


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e-4, 1e39])
def test_units_of_a_kernel(unit):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 5))
    z[30:] += 0.4
    gram = two_sample.gaussian_kernel(z, z, 2.0)
    one, other = (
        two_sample.permutation_test(k, 30, n_permutations=499, rng=np.random.default_rng(1))
        for k in (gram, unit * gram)
    )
    assert one.p_value == other.p_value < 0.2
    assert np.isclose(one.statistic * unit, other.statistic, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-46, 1e42])
def test_units_of_a_kernel_within_classes(unit):
    rng, y = np.random.default_rng(0), np.tile([0, 1], 20)
    z = rng.normal(size=(40, 3))
    gram = two_sample.gaussian_kernel(z, z, 1.0)
    one, other = (
        two_sample.within_class_test(k, y, 20, n_permutations=499, rng=np.random.default_rng(1))
        for k in (gram, unit * gram)
    )
    assert one.p_value == other.p_value > 0.01


def test_layers_that_work_in_place_do_not_change_the_layer_before():
    torch.manual_seed(0)
    parts = torch.nn.Linear(4, 3), torch.nn.ReLU(inplace=True), torch.nn.Linear(3, 2)
    net, x = torch.nn.Sequential(*parts), np.random.default_rng(0).normal(size=(9, 4))
    x = x.astype(np.float32)
    found = two_sample.layer_outputs(net, x, ["0"])["0"]
    with torch.no_grad():
        assert np.allclose(found, parts[0](torch.from_numpy(x)))


def test_a_series_is_read_by_place():
    rng = np.random.default_rng(0)
    score, numbers = rng.normal(size=30), np.arange(10, 20)
    series = pd.Series(score, index=rng.permutation(30))
    one, other = (two_sample.median_kernel(rep)(numbers) for rep in (score, series))
    assert np.array_equal(one, other)
