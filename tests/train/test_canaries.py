"""Canary gradients that an auditor reads at every step: the law of what it reads, and that the
training of the records is the same.
"""

import numpy as np
import pytest
from scipy import stats

from mia_lib import metrics
from mia_lib.train import Classifier, PrivateSGD

RECIPE = Classifier(hidden=(12,), epochs=4, batch_size=16, learning_rate=0.1, n_classes=3)


def data(n=80, d=10):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, 3, n)


def audited(fit, coins, n_models):
    x, y = data()
    generators = [np.random.default_rng([7, s]) for s in range(n_models)]
    return fit.audited(x, y, np.ones((n_models, len(x)), bool), generators, coins=coins)


def test_canaries_that_take_no_part_change_nothing():
    x, y = data()
    fit, members = PrivateSGD(RECIPE, 1.0, 0.7), np.ones((2, len(x)), bool)
    plain = fit(x, y, members, [np.random.default_rng([7, s]) for s in range(2)])
    state, _ = audited(fit, np.zeros((2, 50), bool), 2)
    for name in plain:
        np.testing.assert_array_equal(plain[name], state[name])


def test_canaries_that_take_part_move_their_weights():
    fit = PrivateSGD(RECIPE, 1.0, 0.7)
    (still, _), (moved, _) = (audited(fit, np.full((1, 30), inside), 1) for inside in (False, True))
    apart = sum(int((still[name] != moved[name]).sum()) for name in still)
    assert apart > 30


def test_with_little_noise_the_coins_are_read_off():
    coins = np.random.default_rng(1).random((2, 100)) < 0.5
    _, scores = audited(PrivateSGD(RECIPE, 0.05, 1.0), coins, 2)
    assert metrics.roc(scores.ravel(), coins.ravel()).auc > 0.98  # some are never drawn


@pytest.mark.simulation
@pytest.mark.parametrize("noise", [0.8, 2.0])
def test_scores_have_the_law_of_the_mechanism(noise):
    """Against a simulation of the mechanism alone, without any network or record."""
    q, steps, m = 16 / 80, 20, 100
    coins = np.random.default_rng(2).random((8, m)) < 0.5
    _, scores = audited(PrivateSGD(RECIPE, noise, 3.0), coins, 8)
    rng, own = np.random.default_rng(3), {}
    for inside in (True, False):
        total = np.zeros(4000)
        for _ in range(steps):
            seen = inside * (rng.random(4000) < q) + noise * rng.normal(size=4000)
            ratio = stats.norm.pdf(seen, 1, noise) / stats.norm.pdf(seen, 0, noise)
            total += np.log(1 - q + q * ratio)
        own[inside] = total
    for inside in (True, False):
        assert stats.ks_2samp(scores[coins == inside], own[inside]).pvalue > 1e-3


@pytest.mark.simulation
def test_no_canary_lies_above_the_guarantee_and_the_best_reach_it():
    fit = PrivateSGD(RECIPE, 1.5, 1.0)
    coins = np.random.default_rng(4).random((30, 100)) < 0.5
    _, scores = audited(fit, coins, 30)
    curve, limit = metrics.roc(scores.ravel(), coins.ravel()), fit.guarantee(80)
    for fpr in (0.05, 0.1, 0.3):
        found = curve.tpr_at(fpr, 0.001)
        assert found.low <= limit.tpr_at(fpr) <= found.high


def test_bad_input_is_named():
    for fit, coins, message in (
        (PrivateSGD(RECIPE, 0.0, 1.0), np.ones((1, 5), bool), "noise_multiplier"),
        (PrivateSGD(RECIPE, 1.0, 1.0), np.ones((2, 5), bool), "coins"),
        (PrivateSGD(RECIPE, 1.0, 1.0), np.ones((1, 500), bool), "coins"),
        (PrivateSGD(RECIPE, 1.0, 1.0), np.ones((1, 5, 1), bool), "coins"),
    ):
        with pytest.raises(ValueError, match=f"^{message}: given .*, expected "):
            audited(fit, coins, 1)
