"""Signals of a stack against the queries of one network at a time, and networks that broke."""

import dataclasses

import numpy as np
import pytest
from scipy import spatial

from mia_lib import generative, shadow
from mia_lib.generative import one_record, stacked

NETS = generative.dense((2, 3), 4, (5,), (6,))
RECORDS = np.random.default_rng(0).random((24, 2, 3))
REFERENCE = np.random.default_rng(1).random((30, 2, 3))
MASKS = shadow.half_masks(6, 24, np.random.default_rng(2))


@pytest.fixture(scope="module")
def stack():
    recipe = generative.JsGanRecipe(networks=NETS, epochs=3, batch_size=4, learning_rate=0.01)
    return generative.gan_stack(RECORDS, MASKS, recipe, rng=np.random.default_rng(3))


def seeded(seed=4):
    return np.random.default_rng(seed)


def releases(stack, n, rng):
    return [stack.gan(s).generate(n, rng.spawn(1)[0]) for s in range(len(stack))]


def test_signals_are_those_of_one_network_at_a_time(stack):
    found = generative.record_signals(
        stack, RECORDS, 40, k=2, reference=REFERENCE, components=2, rng=seeded()
    )
    assert list(found) == ["critic score", "distance", "density ratio"]
    for s, release in enumerate(releases(stack, 40, seeded())):
        of = stack.gan(s)
        assert np.allclose(found["critic score"][s], of.scores(RECORDS)[:, 0], atol=1e-6)
        apart = spatial.distance.cdist(RECORDS.reshape(24, -1), release.reshape(40, -1))
        assert np.allclose(found["distance"][s], -np.sort(apart)[:, :2].mean(1), atol=1e-5)
        density = generative.domias(release, REFERENCE, RECORDS, components=2)
        assert np.allclose(found["density ratio"][s], density)


def test_a_smaller_release_is_the_beginning_of_the_larger(stack):
    sizes = [1, 5, 40]
    found = generative.nearest_by_size(stack, RECORDS, sizes, rng=seeded())
    assert found.shape == (3, 6, 24)
    for s, release in enumerate(releases(stack, 40, seeded())):
        apart = spatial.distance.cdist(RECORDS.reshape(24, -1), release.reshape(40, -1))
        for j, m in enumerate(sizes):
            assert np.allclose(found[j, s], -apart[:, :m].min(1), atol=1e-5)


def with_broken(stack, which, spread=np.nan):
    spreads = stack.spread.copy()
    spreads[which] = spread
    return dataclasses.replace(stack, spread=spreads)


def test_a_broken_network_answers_as_the_others_do(stack):
    """It keeps its place, its answers are finite, and each is one that another network gave."""
    some = with_broken(stack, [1, 4])
    found = generative.record_signals(some, RECORDS, 40, rng=seeded())
    whole = generative.record_signals(stack, RECORDS, 40, rng=seeded())
    near = generative.nearest_by_size(some, RECORDS, [10, 40], rng=seeded())
    there = [0, 2, 3, 5]
    for values, full in ((found[name], whole[name]) for name in found):
        assert np.array_equal(values[there], full[there])
        for s in (1, 4):
            assert (values[s] == full[there]).any(0).all()
        assert not np.array_equal(values[1], values[4])
    assert np.isfinite(near).all() and (np.diff(near, axis=0) >= 0).all()


def test_what_a_broken_network_answers_tells_nothing_of_its_members():
    """Every other network knows its members; of four, one with a record and two without it are
    left to its members, and two with it and one without it to its non-members.
    """
    masks = shadow.half_masks(4, 20_000, seeded())
    values = np.where(masks, 1.0, 0.0)
    for broken in range(4):
        some = values.copy()
        some[broken] = np.nan
        found = one_record._said_by_others(some, masks, seeded(broken))
        own = masks[broken]
        # each of the two means has a standard deviation of 0.005
        assert abs(found[broken][own].mean() - found[broken][~own].mean()) < 0.03
        assert abs(found[broken].mean() - 0.5) < 0.02


def test_of_records_that_no_network_has_each_sound_network_answers_alike_often():
    values = np.array([[np.nan] * 4_000, [0.0] * 4_000, [1.0] * 4_000])
    for masks in (np.zeros((3, 9), bool), np.zeros((3, 4_000), bool), np.ones((3, 4_000), bool)):
        found = one_record._said_by_others(values, masks, seeded())
        assert abs(found[0].mean() - 0.5) < 0.04


def test_a_generator_of_one_record_has_no_density(stack):
    still = with_broken(stack, 2, spread=0.0)
    weights = {key: array.copy() for key, array in stack.weights.items()}
    weights["generator/layers.0.weight"][2] = 0
    still = dataclasses.replace(still, weights=weights)
    found = generative.record_signals(
        still, RECORDS, 40, reference=REFERENCE, components=2, rng=seeded()
    )
    density = found["density ratio"]
    assert still.collapsed[2]
    assert (density[2] == density[[0, 1, 3, 4, 5]]).any(0).all()
    # its distance is its own: to the one record that it draws
    (only,) = np.unique(still.gan(2).generate(5, seeded()).reshape(5, -1).round(5), axis=0)
    expected = -np.linalg.norm(RECORDS.reshape(24, -1) - only, axis=1)
    assert np.allclose(found["distance"][2], expected, atol=1e-4)


def on_a_line(stack, which):
    """Generators whose numbers all move together: they vary, and have no density."""
    weights = {key: array.copy() for key, array in stack.weights.items()}
    for kind in ("weight", "bias"):
        weights[f"generator/layers.2.{kind}"][which] = (
            3 * weights[f"generator/layers.2.{kind}"][0, :1]
        )
    spread = stacked._spread(weights, NETS, RECORDS, MASKS, 0)
    assert (spread[which] > 1e-3).all()
    return dataclasses.replace(stack, weights=weights, spread=spread)


def test_a_generator_that_varies_along_a_line_has_no_density(stack):
    asked = {"reference": REFERENCE, "components": 2}
    found = generative.record_signals(on_a_line(stack, [2]), RECORDS, 40, **asked, rng=seeded())
    whole = generative.record_signals(stack, RECORDS, 40, **asked, rng=seeded())
    there, density = [0, 1, 3, 4, 5], found["density ratio"]
    assert np.array_equal(density[there], whole["density ratio"][there])
    assert (density[2] == density[there]).any(0).all()
    assert not np.isin(found["distance"][2], found["distance"][there]).any()
    with pytest.raises(ValueError, match="^stack: given .*none whose release has a density"):
        generative.record_signals(on_a_line(stack, range(6)), RECORDS, 40, **asked)
    with pytest.raises(ValueError, match="^reference: given examples that do not vary"):
        flat = np.ones_like(REFERENCE)
        generative.record_signals(stack, RECORDS, 40, reference=flat, components=2)


def test_bad_input_is_named(stack):
    with pytest.raises(ValueError, match="n_synthetic: given 2, expected .*3"):
        generative.record_signals(stack, RECORDS, 2, k=3)
    with pytest.raises(ValueError, match=r"sizes: given \[5, 5\]"):
        generative.nearest_by_size(stack, RECORDS, [5, 5])
    with pytest.raises(ValueError, match="stack: given broken networks alone"):
        generative.record_signals(with_broken(stack, range(6)), RECORDS, 20)
    with pytest.raises(ValueError, match="x: given shape"):
        generative.record_signals(stack, RECORDS[:, :1], 20)
