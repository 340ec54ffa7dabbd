"""Histogram queries against numpy's dense histograms, scipy's Clopper-Pearson and known
mixtures.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mia_lib import bayes


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def dense(x, y, edges, prior):
    """P, Q and W_N from dense numpy histograms."""
    counts = [np.histogramdd(np.atleast_2d(s.T).T, edges)[0] for s in (x, y)]
    p, q = counts[0] / len(x), counts[1] / len(y)
    return p, q, np.abs(prior * p - (1 - prior) * q).sum()


@pytest.mark.parametrize("dimension, bins", [(1, 7), (2, 5), (2, [3, 6]), (3, 4)])
@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_agrees_with_dense_histograms(rng, dimension, bins, prior):
    x, y = rng.normal(size=(300, dimension)) + 0.5, rng.normal(size=(500, dimension))
    query = bayes.Histogram(x, y, prior, bins)
    p, q, w = dense(x, y, query.edges, prior)
    assert query.advantage().value == pytest.approx(w, abs=1e-12)
    assert query.n_cells == p.size
    every = np.array(list(itertools.product(*[(e[1:] + e[:-1]) / 2 for e in query.edges])))
    with np.errstate(invalid="ignore"):
        f = (prior * p - (1 - prior) * q) / (prior * p + (1 - prior) * q)
    np.testing.assert_allclose(query.risk(every), f.ravel(), rtol=1e-12)
    got = query.likelihoods(every)
    np.testing.assert_allclose(got, [p.ravel(), q.ravel()])


def test_bins_are_closed_on_the_left_and_the_last_on_both_sides(rng):
    edges = [0.0, 1.0, 2.0, 4.0]
    x, y = rng.integers(0, 5, 40).astype(float), rng.integers(0, 5, 40).astype(float)
    query = bayes.Histogram(x, y, bins=edges)
    p, q, w = dense(x, y, [np.array(edges)], 0.5)
    assert query.advantage().value == pytest.approx(w)
    np.testing.assert_array_equal(
        query.cells([0, 1, 2, 3, 4, -0.01, 4.01]), [0, 1, 2, 2, 2, -1, -1]
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(deadline=None, max_examples=40)
def test_any_increasing_map_of_signal_and_edges_changes_nothing(seed, bins):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=30), rng.normal(size=50)
    edges = np.sort(np.append(rng.normal(size=bins - 1), [-9, 9]))
    a = bayes.Histogram(x, y, 0.3, edges)
    b = bayes.Histogram(np.exp(x), np.exp(y), 0.3, np.exp(edges))
    assert a.advantage() == b.advantage()
    np.testing.assert_array_equal(a.risk(x), b.risk(np.exp(x)))


def test_a_hundred_bins_on_many_axes_store_occupied_cells_only(rng):
    for dimension in (10, 200):
        x, y = rng.random((400, dimension)), rng.random((300, dimension))
        query = bayes.Histogram(x, y, bins=100)
        assert query.n_cells == 100**dimension
        assert query.member_count.size == 700
        np.testing.assert_array_equal(query.risk(x), 1)
        np.testing.assert_array_equal(query.risk(y), -1)
        assert np.isnan(query.risk(rng.random((50, dimension)))).all()
        estimate = query.advantage()
        assert estimate.value == pytest.approx(1) and estimate.low == 0 and estimate.high == 1


def test_points_in_two_cells_far_apart_are_not_confused():
    # Cells (0, 1) and (1, 0) of two axes, which a careless cell number would merge.
    query = bayes.Histogram([[0.0, 9.0]] * 3, [[9.0, 0.0]] * 4, bins=10)
    np.testing.assert_array_equal(
        query.risk([[0, 9], [9, 0], [9, 9], [0, 0]]), [1, -1, np.nan, np.nan]
    )


def mixture(rng, n, weight, rates):
    """Bernoulli mixture: component 1 with `weight`, each of its bits 1 with its own rate."""
    component = (rng.random(n) < weight).astype(int)
    return (rng.random((n, rates.shape[1])) < rates[component]).astype(float)


def test_bernoulli_mixture_with_known_probabilities(rng):
    rates = np.array([[0.2, 0.7, 0.5], [0.6, 0.4, 0.9]])
    cells = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    component = np.array([[np.prod(np.where(c == 1, r, 1 - r)) for c in cells] for r in rates])
    p_true, q_true = (
        0.8 * component[1] + 0.2 * component[0],
        0.3 * component[1] + 0.7 * component[0],
    )
    prior = 0.25
    f_true = (prior * p_true - (1 - prior) * q_true) / (prior * p_true + (1 - prior) * q_true)
    x, y = mixture(rng, 40_000, 0.8, rates), mixture(rng, 60_000, 0.3, rates)
    query = bayes.Histogram(x, y, prior, [[-0.5, 0.5, 1.5]] * 3)
    np.testing.assert_allclose(query.risk(cells), f_true, atol=0.02)
    low, high = query.risk_interval(cells, 0.001)
    assert ((low <= f_true) & (f_true <= high)).all() and (high - low < 0.15).all()
    truth = np.abs(prior * p_true - (1 - prior) * q_true).sum()
    estimate = query.advantage()
    assert estimate.low <= truth <= estimate.high and abs(estimate.value - truth) < 0.01


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_risk_interval_is_the_lemma_with_scipys_clopper_pearson(rng, delta):
    x, y, prior = rng.integers(0, 6, 80).astype(float), rng.integers(1, 8, 120).astype(float), 0.3
    query = bayes.Histogram(x, y, prior, np.arange(-0.5, 9))
    for j in range(9):
        p, q = (
            stats.binomtest(int((s == j).sum()), len(s)).proportion_ci(1 - delta / 2, "exact")
            for s in (x, y)
        )
        low, high = query.risk_interval([float(j)], delta)
        f = [
            (prior * a - (1 - prior) * b) / (prior * a + (1 - prior) * b)
            for a, b in ((p.low, q.high), (p.high, q.low))
        ]
        np.testing.assert_allclose([low[0], high[0]], f, atol=1e-9)
        assert low[0] <= np.nan_to_num(query.risk([float(j)])[0]) <= high[0]


def test_nothing_is_known_outside_the_support():
    query = bayes.Histogram([0.0, 1.0, 0.1], [0.0, 1.0, 0.9], prior=0.5, bins=4)
    outside = [0.5, -3.0, 7.0]
    assert np.isnan(query.risk(outside)).all()
    low, high = query.risk_interval(outside)
    np.testing.assert_array_equal(low, -1)
    np.testing.assert_array_equal(high, 1)


def test_infinite_outer_edges_take_everything():
    query = bayes.Histogram([0.0, 5.0], [-5.0, 0.5], bins=[-np.inf, 0, np.inf])
    np.testing.assert_array_equal(query.risk([-1e300, 1e300]), [-1, 1 / 3])


@pytest.mark.parametrize(
    "n1, n2, prior, k",
    [(500, 500, 0.5, 10), (70, 630, 0.5, 5), (700, 6300, 0.1, 30), (5, 5, 0.5, 9)],
)
def test_limits_of_the_advantage_follow_the_stated_formula(rng, n1, n2, prior, k):
    x, y = rng.random(n1) ** 3, rng.random(n2)
    estimate = bayes.Histogram(x, y, prior, np.linspace(0, 1, k + 1)).advantage(0.1)
    v = prior**2 / n1 + (1 - prior) ** 2 / n2
    t = math.sqrt(2 * v * math.log(2 / 0.1))
    least = abs(2 * prior - 1)
    assert estimate.low == pytest.approx(max(least, estimate.value - t - math.sqrt((k - 1) * v)))
    assert estimate.high == pytest.approx(min(1, estimate.value + t))
    assert least <= estimate.low <= estimate.value <= estimate.high <= 1


def test_cells_may_be_one(rng):
    estimate = bayes.Histogram(rng.random(10), rng.random(10), 0.3, 1).advantage()
    assert estimate.value == pytest.approx(0.4)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bins": 0}, "bins: given 0"),
        ({"bins": -3}, "bins: given -3"),
        ({"bins": 2.5}, "bins: given 2.5"),
        ({"bins": "auto"}, "bins: given 'auto'"),
        ({"bins": [0.0, 0.0, 9.0]}, "bins.*increase"),
        ({"bins": [0.0, np.nan, 9.0]}, "bins.*NaN"),
        ({"bins": [[0.0, 9.0], [0.0, 9.0]]}, "bins: given 2 axes|bins.*increase|bins.*axes"),
        ({"bins": [0.0, 1.5]}, "2 of 5 examples outside"),
        ({"prior": 0}, "prior: given 0"),
        ({"prior": 1}, "prior: given 1"),
        ({"prior": np.nan}, "prior: given nan"),
        ({"member_signal": [1.0]}, "member_signal: given 1 examples"),
        ({"member_signal": []}, "member_signal: given 0 examples"),
        ({"nonmember_signal": [1.0]}, "nonmember_signal: given 1 examples"),
        ({"member_signal": [1.0, np.nan]}, "member_signal: given 1 NaN"),
        ({"member_signal": [1.0, np.inf]}, "member_signal: given 1 infinite"),
        ({"member_signal": [[1.0, 2.0], [0.0, 1.0]]}, "nonmember_signal: given 1 columns"),
        ({"member_signal": np.zeros((2, 2, 2))}, "member_signal: given shape"),
        ({"member_signal": [3.0, 3.0], "nonmember_signal": [3.0, 3.0, 3.0]}, "constant signal"),
        ({"member_signal": ["a", "b"]}, "member_signal: given an array of dtype"),
    ],
)
def test_bad_input(change, message):
    arguments = {
        "member_signal": [1.0, 2.0],
        "nonmember_signal": [0.0, 1.0, 3.0],
        "prior": 0.5,
        "bins": 3,
    } | change
    with pytest.raises(ValueError, match=message):
        bayes.Histogram(**arguments)


def test_edges_are_the_histogram_s_own():
    edges = np.array([0.0, 1.0, 2.0])
    query = bayes.Histogram([0.1, 1.5], [0.2, 1.9], bins=edges)
    edges[1] = 0.15
    assert query.edges[0].tolist() == [0, 1, 2] and query.likelihoods([0.18])[0] == [0.5]


def test_bad_queries():
    query = bayes.Histogram([0.0, 1.0], [0.0, 2.0])
    bad = (
        ([np.nan], "signal: given 1 NaN"),
        ([[1.0, 2.0]], "signal: given 2 columns"),
        (3.0, "signal"),
    )
    for signal, message in bad:
        for method in (query.risk, query.risk_interval):
            with pytest.raises(ValueError, match=message):
                method(signal)
    for delta in (0, 1, -0.5, 2, np.nan, "5%"):
        with pytest.raises(ValueError, match="delta"):
            query.risk_interval([0.5], delta)
        with pytest.raises(ValueError, match="delta"):
            query.advantage(delta)
    assert query.risk([]).shape == (0,)


def test_a_constant_axis_is_named(rng):
    x, y = np.ones((5, 2)), np.ones((6, 2))
    x[:, 0], y[:, 0] = rng.random(5), rng.random(6)
    with pytest.raises(ValueError, match="constant signal on axis 1"):
        bayes.Histogram(x, y)
    with pytest.raises(ValueError, match="constant signal on axis 1"):
        bayes.KernelDensity(x, y)


def test_where_nobody_was_seen_nothing_is_divided():
    query = bayes.Histogram([0.0, 1.0], [0.0, 1.0], bins=[0, 0.4, 0.6, 1])
    with np.errstate(all="raise"):
        assert np.isnan(query.risk([0.5, 7.0])).all() and query.risk([0.0])[0] == 0
