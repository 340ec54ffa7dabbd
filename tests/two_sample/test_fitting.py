"""The fitted tests against literal numpy: before any step of Adam, where the kernel or the features
are the start, and after one, which moves each number that is fitted by the learning rate.
"""

import numpy as np
import pytest
import torch
from scipy import stats

from mia_lib import two_sample
from mia_lib.two_sample import fitting, mmd

X_TRAIN, Y_TRAIN, X, Y = np.random.default_rng(7).normal(size=(4, 9, 2)) * [1, 4] + [3, 0]
Y_TRAIN, Y = Y_TRAIN + 2, Y + 2
HALVES = X_TRAIN, Y_TRAIN, X, Y


def distances(x, y):
    return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in y] for a in x])


def median(pooled):
    between = distances(pooled, pooled)
    return np.median([between[i, j] for i in range(len(pooled)) for j in range(i)])


def standardised():
    pooled = np.concatenate([X_TRAIN, Y_TRAIN])
    return [(z - pooled.mean(0)) / pooled.std(0) for z in HALVES]


def hotelling(differences):
    """n W' S^-1 W, and its tail by the chi-squared law."""
    n, k = differences.shape
    mean, covariance = differences.mean(0), np.cov(differences.T, ddof=1).reshape(k, k)
    value = n * mean @ np.linalg.inv(covariance) @ mean
    return value, stats.chi2.sf(value, k)


def power_criterion(gram, n, regularization=1e-8):
    """J: the statistic over the root of its variance where the laws differ, by loops."""
    xx, yy, xy = gram[:n, :n], gram[n:, n:], gram[:n, n:]
    h = xx + yy - xy - xy.T
    statistic = sum(h[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    variance = 4 * ((h.sum(1) ** 2).sum() / n**3 - h.sum() ** 2 / n**4)
    return statistic / np.sqrt(variance + regularization)


def permuted(gram, n_x=9, seed=1):
    return two_sample.permutation_test(gram, n_x, 99, np.random.default_rng(seed))


@pytest.mark.parametrize("n_locations", [1, 3])
def test_mean_embeddings_at_the_start(n_locations):
    x_train, y_train, x, y = standardised()
    there = np.concatenate([x_train, y_train])
    chosen = np.random.default_rng(2).choice(18, n_locations, replace=False)
    x, y = (np.exp(-(distances(z, there[chosen]) ** 2) / 2 / median(there) ** 2) for z in (x, y))
    found = two_sample.mean_embedding_test(
        *HALVES, n_locations=n_locations, n_steps=0, rng=np.random.default_rng(2)
    )
    np.testing.assert_allclose(found, hotelling(x - y), rtol=1e-5)


def test_characteristic_functions_at_the_start():
    x_train, y_train, x, y = standardised()
    h = median(np.concatenate([x_train, y_train]))
    frequencies = np.random.default_rng(2).normal(size=(2, 2))

    def features(records):
        angles = [[(r / h) @ f for f in frequencies] for r in records]
        window = np.exp(-((records / h) ** 2).sum(1) / 2)[:, None]
        return np.concatenate([np.sin(angles), np.cos(angles)], 1) * window

    found = two_sample.characteristic_function_test(
        *HALVES, n_frequencies=2, n_steps=0, rng=np.random.default_rng(2)
    )
    np.testing.assert_allclose(found, hotelling(features(x) - features(y)), rtol=1e-5)


@pytest.mark.parametrize("n_steps", [0, 1])
def test_the_bandwidth_of_the_optimised_kernel(n_steps):
    pooled, both = np.concatenate(HALVES[:2]), np.concatenate(HALVES[2:])
    start = median(pooled)

    def gram(records, h):
        return np.exp(-(distances(records, records) ** 2) / (2 * h**2))

    h = max(
        [start * np.exp(0.3 * sign * n_steps) for sign in (-1, 1)],
        key=lambda h: power_criterion(gram(pooled, h), 9),
    )
    found = two_sample.optimized_kernel_test(
        *HALVES, n_steps=n_steps, learning_rate=0.3, n_permutations=99, rng=np.random.default_rng(1)
    )
    want = permuted(gram(both, h))
    assert found.p_value == want.p_value
    assert found.statistic == pytest.approx(want.statistic, rel=1e-5)


def test_the_median_kernel_is_of_the_tested_records():
    both = np.concatenate([X, Y[:6]])
    want = permuted(np.exp(-(distances(both, both) ** 2) / (2 * median(both) ** 2)))
    found = two_sample.median_kernel_test(X, Y[:6], 99, rng=np.random.default_rng(1))
    assert found.p_value == want.p_value
    assert found.statistic == pytest.approx(want.statistic, rel=1e-9)


def test_deep_features_at_the_start():
    """Three hidden layers of softplus and a linear one, uniform weights, no biases; epsilon is that
    of log-odds -3.
    """
    x_train, y_train, x, y = standardised()
    rng, layers = np.random.default_rng(1), []
    for before, after in ((2, 4), (4, 4), (4, 4), (4, 3)):
        layers.append(rng.uniform(-(before**-0.5), before**-0.5, (before, after)))

    def network(records):
        for weight in layers[:-1]:
            records = np.log1p(np.exp(records @ weight))
        return records @ layers[-1]

    train, both = np.concatenate([x_train, y_train]), np.concatenate([x, y])
    deep, raw = (
        np.exp(-(distances(f(both), f(both)) ** 2) / (2 * median(f(train)) ** 2))
        for f in (network, np.asarray)
    )
    epsilon = 1 / (1 + np.exp(3))
    gram = ((1 - epsilon) * deep + epsilon) * raw
    want = two_sample.permutation_test(gram, 9, 99, rng)
    recipe = two_sample.DeepFeatures(hidden=4, n_features=3, n_steps=0)
    found = two_sample.deep_feature_test(
        *HALVES, recipe=recipe, n_permutations=99, rng=np.random.default_rng(1)
    )
    assert found.p_value == want.p_value
    assert found.statistic == pytest.approx(want.statistic, rel=1e-10)


def test_a_step_of_the_deep_kernel_climbs_its_criterion():
    """Each of the three numbers moves by the learning rate, in the direction that is up."""
    rep_x, rep_y = X_TRAIN[:, :1] * 2, Y_TRAIN[:, :1] * 2
    rep, raw = (distances(z, z) for z in map(np.concatenate, ((rep_x, rep_y), (X_TRAIN, Y_TRAIN))))
    start = np.array(
        [np.log(0.3 / 0.7)]
        + [np.log(median(np.concatenate(z))) for z in ((rep_x, rep_y), HALVES[:2])]
    )

    def value(free):
        epsilon, a, b = 1 / (1 + np.exp(-free[0])), *np.exp(free[1:])
        near = (1 - epsilon) * np.exp(-(rep**2) / (2 * a**2)) + epsilon
        return power_criterion(near * np.exp(-(raw**2) / (2 * b**2)), 9)

    step = 1e-4 * np.eye(3)
    uphill = np.sign([value(start + e) - value(start - e) for e in step])
    fitted = two_sample.HrMmd(
        n_steps=1, learning_rate=0.2, epsilon=0.3, regularization=1e-8, rng=np.random.default_rng(0)
    ).fit(rep_x, X_TRAIN, rep_y, Y_TRAIN)
    found = [fitted.parameters[k] for k in ("epsilon", "bandwidth_rep", "bandwidth_raw")]
    end = start + 0.2 * uphill
    want = [1 / (1 + np.exp(-end[0])), *np.exp(end[1:])]
    np.testing.assert_allclose(found, want, rtol=1e-5)
    assert fitted.criterion == pytest.approx([value(start)], rel=1e-6)


def test_criterion_and_blocks_by_loops():
    rng = np.random.default_rng(3)
    gram = rng.random((10, 10))
    gram = gram + gram.T
    found = fitting.criterion(*fitting.blocks(torch.from_numpy(gram), 5), 1e-8)
    assert float(found) == pytest.approx(power_criterion(gram, 5), rel=1e-9)
    with_default = fitting.criterion(*fitting.blocks(torch.from_numpy(gram), 5))
    assert float(with_default) == pytest.approx(power_criterion(gram, 5), rel=1e-6)


DEFAULTS = [
    (two_sample.mean_embedding_test, dict(n_locations=5, n_steps=100, learning_rate=0.05)),
    (
        two_sample.characteristic_function_test,
        dict(n_frequencies=3, n_steps=100, learning_rate=0.05),
    ),
    (two_sample.optimized_kernel_test, dict(n_steps=100, learning_rate=0.05, n_permutations=499)),
    (
        two_sample.deep_feature_test,
        dict(recipe=two_sample.DeepFeatures(50, 20, 200, 0.005), n_permutations=499),
    ),
    (two_sample.classifier_test, dict(kind="sign", hidden=(50, 50), n_permutations=499)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("test", "options"), DEFAULTS)
def test_documented_defaults(test, options):
    given = {"n_frequencies": 3} if "n_frequencies" in options else {}
    found, named = (
        test(*HALVES, **choice, rng=np.random.default_rng(5)) for choice in (given, options)
    )
    assert found == named


@pytest.mark.parametrize("options", [{}, {"regularization": 0}, {"regularization": 0.5}])
def test_power_criterion_by_loops(options):
    gram = np.random.default_rng(4).random((8, 8))
    gram = gram + gram.T
    found = mmd.power_criterion(gram[:4, :4], gram[4:, 4:], gram[:4, 4:], **options)
    assert found == pytest.approx(power_criterion(gram, 4, **options), rel=1e-9)


def uphill(value, start):
    """The sign of the slope of each number."""
    step = 1e-5 * np.eye(len(start))
    return np.sign([value(start + e) - value(start - e) for e in step])


@pytest.mark.parametrize("kind", ["mean embedding", "characteristic function"])
def test_a_step_of_fitted_features_climbs_the_statistic(kind):
    """One place, or frequency, of two numbers, and the width: each moves by the learning rate."""
    x_train, y_train, x, y = standardised()
    there, rng = np.concatenate([x_train, y_train]), np.random.default_rng(2)
    if kind == "mean embedding":
        test, options, first = two_sample.mean_embedding_test, {"n_locations": 1}, None
        first = there[rng.choice(18, 1, replace=False)][0]
    else:
        test, options = two_sample.characteristic_function_test, {"n_frequencies": 1}
        first = rng.normal(size=(1, 2))[0]

    def features(records, free):
        place, h = free[:2], np.exp(free[2])
        if kind == "mean embedding":
            return np.exp(-((records - place) ** 2).sum(1) / (2 * h**2))[:, None]
        angles, window = records @ place / h, np.exp(-((records / h) ** 2).sum(1) / 2)
        return np.stack([np.sin(angles) * window, np.cos(angles) * window], axis=1)

    def statistic(free):
        """On the training halves, with the ridge that is used there."""
        differences = features(x_train, free) - features(y_train, free)
        mean, k = differences.mean(0), differences.shape[1]
        covariance = np.cov(differences.T, ddof=1).reshape(k, k) + 1e-5 * np.eye(k)
        return 9 * mean @ np.linalg.inv(covariance) @ mean

    start = np.append(first, np.log(median(there)))
    end = start + 0.1 * uphill(statistic, start)
    found = test(*HALVES, **options, n_steps=1, learning_rate=0.1, rng=np.random.default_rng(2))
    np.testing.assert_allclose(found, hotelling(features(x, end) - features(y, end)), rtol=1e-5)
