"""Learned tests that are fitted once: what they optimise against a search, their level on new sets,
their power where the tests of one start have none.
"""

import numpy as np
import pytest
from scipy import stats

from mia_lib import two_sample
from mia_lib.two_sample.mmd import power_criterion


@pytest.fixture
def rng():
    return np.random.default_rng(7)


CLUSTERS = 40.0 * np.arange(6)
QUICK = two_sample.DeepFeatures(hidden=8, n_features=4, n_steps=15, learning_rate=0.01)


def clustered(n, shift, rng):
    """Records of clusters far apart, within each of which one set is shifted."""
    return (rng.choice(CLUSTERS, n) + rng.normal(shift, 1, n))[:, None]


def j(x, y, bandwidth):
    grams = [two_sample.gaussian_kernel(a, b, bandwidth) for a, b in ((x, x), (y, y), (x, y))]
    return power_criterion(*grams)


def test_the_bandwidth_has_the_largest_criterion_of_a_search(rng):
    x, y = clustered(80, 0, rng), clustered(80, 1.5, rng)
    found = two_sample.fit_bandwidth(x, y, n_steps=200)
    search = [j(x, y, width) for width in np.geomspace(0.05, 200, 200)]
    assert found.criterion == pytest.approx(j(x, y, found.settings["bandwidth"]), rel=1e-6)
    assert found.criterion >= max(search) - 1e-3
    one = two_sample.fit_bandwidth(x, y, scales=(1,), n_steps=20)
    assert one.criterion < found.criterion  # the median distance is that of the clusters


FITS = {
    "bandwidth": lambda x, y, rng: two_sample.fit_bandwidth(x, y, n_steps=10),
    "deep": lambda x, y, rng: two_sample.fit_deep_features(x, y, recipe=QUICK, rng=rng),
    "batches": lambda x, y, rng: two_sample.fit_deep_features(
        x, y, recipe=QUICK, batch=20, rng=rng
    ),
    "sign": lambda x, y, rng: two_sample.fit_classifier(
        x, y, kind="sign", hidden=(16,), epochs=120, batch=30, rng=rng
    ),
    "logit": lambda x, y, rng: two_sample.fit_classifier(
        x, y, hidden=(16,), epochs=120, batch=30, rng=rng
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_one_fit_is_asked_many_times(name):
    rng = np.random.default_rng(8)
    sets = rng.normal(size=(2, 60, 2)) + np.array([0, 1.5])[:, None, None]
    fitted = FITS[name](*sets, rng)
    for n_x, n_y in ((30, 30), (20, 45)):
        x, y = rng.normal(size=(n_x, 2)), rng.normal(size=(n_y, 2)) + 1.5
        assert fitted.test(x, y, rng=rng).p_value == 0.002
        same = [fitted.test(x, y, 99, np.random.default_rng(0)) for _ in range(2)]
        assert same[0] == same[1]
    assert np.isfinite(fitted.criterion) and all(np.isfinite(list(fitted.settings.values())))


@pytest.mark.simulation
@pytest.mark.parametrize("name", FITS)
def test_new_sets_of_one_law_are_rejected_at_the_level(name):
    rng, rejected = np.random.default_rng(9), 0
    for _ in range(4):
        fitted = FITS[name](rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng)
        for _ in range(50):
            rejected += fitted.test(*rng.normal(size=(2, 20, 2)), 19, rng).p_value <= 0.05
    assert rejected <= stats.binom.ppf(0.9995, 200, 0.05)


def test_the_deep_kernel_starts_at_the_width_of_a_cluster(rng):
    x, y = clustered(60, 0, rng), clustered(60, 1.5, rng)
    recipe = two_sample.DeepFeatures(n_steps=0)
    found = two_sample.fit_deep_features(x, y, recipe=recipe, rng=rng)
    spread = np.std(np.append(x, y))  # settings are in units of it
    median = two_sample.median_bandwidth(np.append(x, y)) / spread
    assert found.settings["start"] == pytest.approx(median / 32)
    assert found.settings["bandwidth"] == pytest.approx(found.settings["start"])
    wide = two_sample.fit_deep_features(x, y, recipe=recipe, scales=(1,), rng=rng)
    assert wide.settings["start"] == pytest.approx(median)


def test_the_classifier_trains_to_the_last_epoch(rng):
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    short, long = (two_sample.fit_classifier(x, y, epochs=n, rng=rng) for n in (2, 300))
    assert long.criterion > -0.4 > short.criterion  # what is noise is learnt by heart: no stop


def test_bad_input():
    x = np.zeros((6, 2)) + np.arange(6)[:, None]
    for fit in (two_sample.fit_bandwidth, two_sample.fit_deep_features):
        with pytest.raises(ValueError, match="^scales: given no start, expected at least one"):
            fit(x, x + 1, scales=())
        with pytest.raises(ValueError, match="^scales: "):
            fit(x, x + 1, scales=(0.0,))
    with pytest.raises(ValueError, match="^batch: "):
        two_sample.fit_deep_features(x, x + 1, batch=7)
    with pytest.raises(ValueError, match="^kind: "):
        two_sample.fit_classifier(x, x + 1, kind="soft")
    for name in ("epochs", "batch"):
        with pytest.raises(ValueError, match=f"^{name}: "):
            two_sample.fit_classifier(x, x + 1, **{name: 0})


def test_a_fitted_bandwidth_is_for_records_of_as_many_features(rng):
    a, b = rng.normal(size=(2, 8, 3))
    found = two_sample.fit_bandwidth(a, b, n_steps=1)
    with pytest.raises(ValueError, match="^x: given 2 features, expected 3 as x_train"):
        found.test(a[:, :2], b[:, :2])
