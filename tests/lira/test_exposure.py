"""Distance and influence of a record: against literal loops, a closed form and a simulation."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import lira, metrics, shadow


def test_separation_and_influence_are_the_loops():
    rng = np.random.default_rng(0)
    member = shadow.bernoulli_masks(12, 30, rng)
    member[:2], member[2:4] = True, False
    signals = 1e3 + rng.normal(size=member.shape) * rng.exponential(size=30) + member
    for i in range(30):
        inside = [signals[s, i] for s in range(12) if member[s, i]]
        outside = [signals[s, i] for s in range(12) if not member[s, i]]
        between = sum(inside) / len(inside) - sum(outside) / len(outside)
        assert np.isclose(lira.influence(signals, member)[i], between, atol=1e-9)
        d = abs(between) / (np.std(inside) + np.std(outside))
        assert np.isclose(lira.separation(signals, member)[i], d, rtol=1e-9)


@pytest.mark.simulation
@pytest.mark.parametrize("sd_in, sd_out", [(1.0, 1.0), (0.5, 2.0)])
def test_phi_of_d_is_the_accuracy_where_the_errors_agree(sd_in, sd_out):
    rng = np.random.default_rng(1)
    n, gap = 200_000, 1.5
    inside, outside = rng.normal(gap, sd_in, n), rng.normal(0, sd_out, n)
    member = np.repeat([[True], [False]], n, axis=0)
    d = lira.separation(np.append(inside, outside)[:, None], member)[0]
    assert d == pytest.approx(gap / (sd_in + sd_out), abs=0.01)
    threshold = gap * sd_out / (sd_in + sd_out)
    hits, rejections = (inside > threshold).mean(), (outside <= threshold).mean()
    assert hits == pytest.approx(stats.norm.cdf(d), abs=0.005) and rejections == pytest.approx(
        hits, abs=0.01
    )
    best = metrics.roc(np.append(inside, outside), member[:, 0]).balanced_accuracy
    if sd_in == sd_out:
        assert best == pytest.approx(stats.norm.cdf(d), abs=0.005)
    else:
        assert best > stats.norm.cdf(d) + 0.01


@pytest.mark.simulation
@pytest.mark.parametrize(
    "n_models, tolerance", [(16, 0.2), (64, 0.05)]
)  # fewer models, smaller fitted spreads
def test_separation_of_nothing_is_biased_as_documented(n_models, tolerance):
    rng = np.random.default_rng(2)
    member = shadow.half_masks(n_models, 20_000, rng)
    found = lira.separation(rng.normal(size=member.shape), member).mean()
    assert found == pytest.approx(np.sqrt(4 / n_models / (2 * np.pi)), rel=tolerance)
    assert (
        found
        > 3
        * lira.separation(rng.normal(size=(6400, 100)), shadow.half_masks(6400, 100, rng)).mean()
    )


def test_influence_of_correctness_is_the_gap():
    rng = np.random.default_rng(3)
    member = shadow.half_masks(10, 200, rng)
    right = rng.random(member.shape) < np.where(member, 0.9, 0.6)
    memorized = lira.influence(right, member)
    assert memorized.mean() == pytest.approx(right[member].mean() - right[~member].mean())
    assert np.abs(memorized).max() <= 1


def test_models_that_agree_have_a_finite_distance():
    member = shadow.half_masks(8, 3, np.random.default_rng(4))
    signals = np.where(member, 1.0, 0.0)
    signals[:, 2] = 7.0  # no model is moved by it
    signals[:, 1] += np.random.default_rng(5).normal(size=8)
    d = lira.separation(signals, member)
    assert np.isfinite(d).all() and d[0] > 1e5 and d[2] == 0


@pytest.mark.parametrize(
    "function, name", [(lira.separation, "signals"), (lira.influence, "values")]
)
def test_bad_input(function, name):
    member = np.array([[True, True], [True, False], [False, False], [False, True]])
    with pytest.raises(ValueError, match=f"{name}: given .*"):
        function(np.full((4, 2), np.nan), member)
    with pytest.raises(ValueError, match="member: given"):
        function(np.zeros((4, 2)), member[:3])
    with pytest.raises(ValueError, match="fewer than . IN models"):
        function(np.zeros((4, 2)), np.zeros((4, 2), bool))
    with pytest.raises(ValueError, match=f"{name}: given"):
        function(np.zeros(4), member[:, 0])


def test_separation_needs_two_models_on_either_side():
    with pytest.raises(ValueError, match="fewer than 2 OUT models"):
        lira.separation(np.zeros((3, 1)), np.array([[True], [True], [False]]))


def test_floor_of_a_spread_in_closed_form():
    """Record 0 never varies on either side; of the other the variances are 9 and 25."""
    member = np.array([[True] * 2, [True] * 2, [False] * 2, [False] * 2])
    signals = np.array([[2.0, 3.0], [2.0, -3.0], [1.0, 5.0], [1.0, -5.0]])
    spreads = 1e-6 * np.sqrt([4.5, 12.5])
    np.testing.assert_allclose(lira.separation(signals, member), [1 / spreads.sum(), 0], rtol=1e-9)
