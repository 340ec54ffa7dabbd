"""Quantile regression against an exact solver, a known truth, and signals that carry nothing."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import QuantileRegressor

from mia_lib import attacks, metrics, shadow


def made(n_models, n, rng, gap=0.0):
    """Signals whose level depends on one feature of the example; the other says nothing."""
    features = rng.normal(size=(n, 2))
    member = shadow.half_masks(n_models, n, rng)
    x = 3 * features[:, 0] + rng.normal(size=(n_models, n)) + gap * member
    return x, member, features


def test_linear_regressor_against_linear_programming():
    rng = np.random.default_rng(0)
    x, member, features = made(4, 1200, rng)
    got = x - attacks.quantile_regression(
        x, member, features, level=0.8, hidden=0, n_steps=700, rng=np.random.default_rng(1)
    )
    fold = np.random.default_rng(1).permutation(1200) % 2
    apart, losses = [], []
    for s in range(4):
        for part in range(2):
            known, asked = ~member[s] & (fold != part), ~member[s] & (fold == part)
            exact = QuantileRegressor(quantile=0.8, alpha=0, solver="highs").fit(
                features[known], x[s, known]
            )
            exact = exact.predict(features[asked])
            apart.append(np.abs(got[s, asked] - exact).mean())
            over = [x[s, asked] - predicted for predicted in (got[s, asked], exact)]
            losses.append([np.maximum(0.8 * o, -0.2 * o).mean() for o in over])
    # A quarter of the examples only says when to stop, so the two see different data: the true
    # spread about a line is 1.
    assert np.mean(apart) < 0.12
    ours, theirs = np.mean(losses, axis=0)
    assert ours < 1.03 * theirs


@pytest.mark.simulation
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_share_of_nonmembers_above_is_one_minus_the_level(level):
    rng = np.random.default_rng(2)
    x, member, features = made(16, 1500, rng, gap=1.5)
    score = attacks.quantile_regression(x, member, features, level=level, hidden=8, rng=rng)
    called = score > 0
    assert abs(called[~member].mean() - (1 - level)) < 0.03
    # With the true conditional quantile the power would be Phi(1.5 - z).
    assert abs(called[member].mean() - stats.norm.cdf(1.5 - stats.norm.ppf(level))) < 0.05
    assert metrics.roc(score, member).auc > metrics.roc(x, member).auc + 0.1


@pytest.mark.simulation
def test_signals_that_carry_nothing():
    # A regressor scored on what it was trained on would see non-members closer to its prediction
    # than members.
    found = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 3])
        x, member, features = made(8, 300, rng)
        score = attacks.quantile_regression(
            x, member, features, level=0.9, hidden=64, n_steps=300, rng=rng
        )
        found.append([metrics.roc(score, member).auc, metrics.roc(np.abs(score), member).auc])
    error = np.maximum(np.std(found, axis=0, ddof=1) / np.sqrt(6), np.sqrt(1 / (6 * 7200)))
    assert (np.abs(np.mean(found, axis=0) - 0.5) < 4 * error).all()


def test_bad_input():
    rng = np.random.default_rng(4)
    x, member, features = made(4, 30, rng)
    with pytest.raises(ValueError, match="features: given shape"):
        attacks.quantile_regression(x, member, features[:-1])
    with pytest.raises(ValueError, match="level: given 1"):
        attacks.quantile_regression(x, member, features, level=1)
    with pytest.raises(ValueError, match="folds: given 1"):
        attacks.quantile_regression(x, member, features, folds=1)
    with pytest.raises(ValueError, match="member: given shape"):
        attacks.quantile_regression(x, member[:2], features)
    with pytest.raises(ValueError, match="fewer than four known non-members"):
        attacks.quantile_regression(x, np.ones_like(member), features)
    x[0, 0] = np.inf
    with pytest.raises(ValueError, match="signals: given 1 infinite"):
        attacks.quantile_regression(x, member, features)


@pytest.mark.parametrize("folds", [2, 5])
@pytest.mark.parametrize("hidden", [0, 4])
def test_what_a_record_has_does_not_move_its_own_prediction(folds, hidden):
    """Nobody is scored by a regressor that saw it: a non-member's signal moves the predictions of
    others, never its own.
    """
    rng = np.random.default_rng(2)
    signals, features = rng.normal(size=(2, 60)), rng.normal(size=(60, 3))
    member = rng.random((2, 60)) < 0.3

    def predicted(values):
        scores = attacks.quantile_regression(
            values,
            member,
            features,
            hidden=hidden,
            folds=folds,
            n_steps=20,
            rng=np.random.default_rng(0),
        )
        return values - scores

    before = predicted(signals)
    for i in np.flatnonzero(~member.any(axis=0))[:3]:
        moved = signals.copy()
        moved[:, i] += 50
        after = predicted(moved)
        np.testing.assert_allclose(after[:, i], before[:, i], rtol=0, atol=1e-9)
        assert (np.abs(after - before).max(axis=1) > 0.1).all()


def test_unit_and_origin_of_the_signal_do_not_matter_and_constant_features_do_not_either():
    rng = np.random.default_rng(3)
    signals, member = rng.normal(size=(2, 40)), rng.random((2, 40)) < 0.4
    features = np.append(rng.normal(size=(40, 2)), np.ones((40, 1)), axis=1)

    def scores(values):
        options = dict(level=0.8, hidden=3, n_steps=40, rng=np.random.default_rng(0))
        return attacks.quantile_regression(values, member, features, **options)

    found = scores(signals)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(scores(7 * signals + 100) / 7, found, atol=1e-3)
