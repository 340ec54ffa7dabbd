"""Use cases: each is what its parts say, and is sound on data whose truth is known."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mia_lib import bayes
from mia_lib.bayes import cells

EDGES = np.linspace(0, 1, 11)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def test_membership_privacy_by_literal_loops(rng):
    x, y, prior, k = rng.random(300) ** 1.5, rng.random(500), 0.4, 10
    estimate = bayes.membership_privacy(bayes.Histogram(x, y, prior, EDGES), 0.1)
    values, lows, highs = [], [], []
    for j in range(k):
        inside = [(s >= EDGES[j]) & (s < EDGES[j + 1]) for s in (x, y)]
        limits = [
            stats.binomtest(int(i.sum()), i.size).proportion_ci(1 - 0.1 / k / 2, "exact")
            for i in inside
        ]
        (a, b), (p, q) = (i.mean() for i in inside), limits
        f = [
            (prior * u - (1 - prior) * v) / (prior * u + (1 - prior) * v)
            for u, v in ((a, b), (p.low, q.high), (p.high, q.low))
        ]
        values.append(abs(f[0]))
        lows.append(max(f[1], -f[2], 0))
        highs.append(max(f[2], -f[1]))
    # Guessing alone has abs(2 p - 1) = 0.2, and the largest abs(f) is no smaller.
    np.testing.assert_allclose(estimate, [max(values), max(0.2, *lows), max(highs)], atol=1e-8)
    assert (
        bayes.Histogram(x, y, prior, EDGES).advantage().value <= estimate.value + 1e-12
    )  # Lemma 9


def test_an_empty_cell_certifies_nothing(rng):
    x, y = rng.random(2000) / 2, rng.random(2000) / 2
    assert bayes.membership_privacy(bayes.Histogram(x, y, bins=EDGES)).high == 1
    assert bayes.membership_privacy(bayes.Histogram(x, y, bins=[0, 0.25, 0.5])).high < 0.5
    high_dimensional = bayes.Histogram(rng.random((50, 200)), rng.random((50, 200)))
    estimate = bayes.membership_privacy(high_dimensional)
    assert estimate.value == 1 and estimate.low < 0.1 and estimate.high == 1
    with pytest.raises(ValueError, match="query: given KernelDensity, expected a Histogram"):
        bayes.membership_privacy(bayes.KernelDensity(x, y))


def test_certificate_is_made_of_its_parts(rng):
    x, y = rng.random(400) ** 2, rng.random(900)
    found = bayes.certificate(x, y, 0.3, bins=EDGES, delta=0.1, rng=rng)
    query = bayes.Histogram(x, y, 0.3, EDGES)
    assert found.advantage == query.advantage(0.1)
    assert found.privacy == bayes.membership_privacy(query, 0.1)
    assert found.trivial == pytest.approx(0.4) and found.p_value == 0.001
    assert found.sign_split.high == pytest.approx(found.advantage.high)
    truth = np.abs(0.3 * np.diff(np.sqrt(EDGES)) - 0.7 * np.diff(EDGES)).sum()
    for estimate in (found.advantage, found.sign_split):
        assert estimate.low <= truth <= estimate.high


def test_queries_are_compared_at_one_joint_level(rng):
    signals = {
        "strong": (rng.random(3000) ** 3, rng.random(3000)),
        "weak": (rng.random(3000), rng.random(3000)),
    }
    found = bayes.compare_queries(signals, bins=EDGES, delta=0.1, rng=rng)
    assert list(found) == ["strong", "weak"]
    assert found["strong"].advantage == bayes.Histogram(*signals["strong"], 0.5, EDGES).advantage(
        0.05
    )
    assert found["strong"].advantage.low > found["weak"].advantage.high
    named = bayes.compare_queries(signals, bins={"strong": EDGES, "weak": 5}, rng=rng)
    again = bayes.compare_queries({"a": signals["weak"], "b": signals["weak"]}, bins=5, rng=rng)
    assert again["a"] == again["b"]  # the same records become edges
    assert abs(named["weak"].advantage.value - again["a"].advantage.value) < 0.1
    for bad in ({}, [1, 2], {"one": (np.arange(3.0),)}, {"one": 3}):
        with pytest.raises(ValueError, match="signals"):
            bayes.compare_queries(bad)
    with pytest.raises(ValueError, match="^bins: given a dict without 'weak', expected"):
        bayes.compare_queries(signals, bins={"strong": 5})


@pytest.mark.parametrize(
    "kind, options", [(bayes.Histogram, {"bins": 12}), (bayes.KernelDensity, {})]
)
def test_most_exposed_come_first(rng, kind, options):
    x, y = np.append(rng.normal(size=500), rng.normal(size=30) + 4), rng.normal(size=2000)
    query = kind(x, y, **options)
    order = bayes.most_exposed(query, x)
    assert sorted(order) == list(range(530))
    low = query.risk_interval(x)[0]
    assert (np.diff(low[order]) <= 0).all()
    assert (order[:20] >= 500).mean() > 0.8
    outside = bayes.most_exposed(query, [500.0, x[order[0]]])
    np.testing.assert_array_equal(outside, [1, 0])


def certified(member, nonmember, bins, seed=0, **options):
    return bayes.certificate(
        member, nonmember, bins=bins, n_permutations=19, rng=np.random.default_rng(seed), **options
    )


whole = st.integers(-3, 3).map(float)
real = st.floats(-1e6, 1e6, allow_subnormal=False)


def another_increasing_list(levels, rng):
    """What any increasing map makes of the levels: larger and larger numbers."""
    return np.cumsum(rng.exponential(size=levels.size) ** 5 + 1e-3) - 40


@given(
    st.one_of(st.lists(kind, min_size=12, max_size=60) for kind in (whole, real)),
    st.integers(1, 12),
    st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_unchanged_under_increasing_maps(values, bins, seed):
    values = np.array(values)
    levels, place = np.unique(values, return_inverse=True)
    mapped = another_increasing_list(levels, np.random.default_rng(seed))[place]
    n = len(values) // 2
    found = certified(values[:n], values[n:], bins, seed, prior=0.4)
    assert found == certified(mapped[:n], mapped[n:], bins, seed, prior=0.4)
    assert found.threshold == bayes.threshold_advantage(values[:n], values[n:], 0.4)


def test_several_numbers_unchanged_under_increasing_maps_of_each(rng):
    inside, outside = rng.normal(size=(300, 2)) + 0.7, rng.normal(size=(300, 2))
    maps = (np.exp, lambda x: x**3)
    moved = [np.stack([f(g[:, j]) for j, f in enumerate(maps)], 1) for g in (inside, outside)]
    found = certified(inside, outside, 5)
    assert found == certified(*moved, 5) and found.threshold.low > 0


@given(st.lists(st.one_of(whole, real), min_size=1, max_size=80), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_edges_are_values_that_were_given(values, bins):
    edges = cells.equal_mass(np.array(values), bins)
    assert edges[0] == -np.inf and edges[-1] == np.inf and len(edges) <= bins + 1
    assert set(edges[1:-1]) <= set(values) and (np.diff(edges) > 0).all()


def test_a_tied_minimum_makes_no_empty_cell():
    """A bit, 1 for nine in ten members and eight in ten others: abs(f) is 1/3 at 0."""
    rng = np.random.default_rng(11)
    x, y = (1.0 * (rng.random(4000) < rate) for rate in (0.9, 0.8))
    assert cells.equal_mass(np.append(x, y), 100).tolist() == [-np.inf, 1, np.inf]
    found = certified(x, y, 100)
    assert 0 < found.privacy.low < 1 / 3 < found.privacy.high < 0.5
    query = bayes.Histogram(x, y, bins=[-np.inf, 0.5, np.inf])
    assert found.privacy.high == pytest.approx(bayes.membership_privacy(query).high, abs=0.05)
    assert cells.equal_mass(np.ones(7), 3).tolist() == [-np.inf, np.inf]
    for once in ([1.0, 2.0, 2.0, 3.0], [1.0]):  # a minimum that does not tie may be an edge
        assert cells.equal_mass(np.array(once), 9).tolist() == [-np.inf, *sorted(set(once)), np.inf]


def test_cells_have_equal_mass_and_judge_other_records(rng):
    values = rng.permutation(np.arange(1_999.0)) ** 3
    edges = cells.equal_mass(values, 8)
    np.testing.assert_array_equal(np.histogram(values, edges)[0], [249] + [250] * 7)
    kept, judged = cells.split(np.arange(100), np.arange(100, 160), 0.25, rng)
    assert [len(one) for one in (*kept, *judged)] == [25, 15, 75, 45]
    for i, whole_group in enumerate((np.arange(100), np.arange(100, 160))):
        np.testing.assert_array_equal(np.sort(np.r_[kept[i], judged[i]]), whole_group)


def test_one_number_of_bins_is_the_histogram_of_those_cells():
    x, y = np.random.default_rng(3).normal(size=(2, 400))
    rng = np.random.default_rng(4)
    found = bayes.certificate(x + 1, y, bins=10, n_permutations=19, rng=rng)
    kept, judged = cells.split(x + 1, y, cells.SHARE_OF_EDGES, np.random.default_rng(4))
    query = bayes.Histogram(*judged, 0.5, cells.equal_mass(np.concatenate(kept), 10))
    assert found.advantage == query.advantage()
    assert found.privacy == bayes.membership_privacy(query)


def test_a_score_finds_what_no_single_number_shows():
    """Members lie in two opposite quarters, so that each number alone says nothing."""
    rng = np.random.default_rng(5)
    outside, inside = rng.normal(size=(2, 1_500, 2))
    inside[:, 1] = np.abs(inside[:, 1]) * np.sign(inside[:, 0])
    found = certified(inside, outside, 10)
    assert bayes.threshold_advantage(inside[:, 1], outside[:, 1]).low == 0
    assert found.threshold.low > 0.3 and found.threshold.value <= 0.5 + 0.1  # the truth is 1/2
    assert found.threshold.high >= 0.5
    grid = [[-np.inf, 0, np.inf]] * 2  # given edges stay what they are
    assert certified(inside, outside, grid).advantage == (
        bayes.Histogram(inside, outside, 0.5, grid).advantage()
    )
    assert certified(inside, outside, grid).threshold is None


@pytest.mark.simulation
def test_where_nothing_leaks_the_certificate_says_so():
    rng = np.random.default_rng(6)
    found = [certified(*rng.normal(size=(2, 120, 2)), 5, seed) for seed in range(60)]
    # 99.9 % quantile of Bin(60, 0.05): 9
    for limits in ([c.threshold for c in found], [c.sign_split for c in found]):
        assert sum(one.low > 0 for one in limits) <= 9
    assert np.mean([c.p_value for c in found]) > 0.4


@pytest.mark.parametrize(
    ("signals", "bins", "message"),
    [
        ((np.arange(3.0), np.arange(9.0)), 4, "member_signal: given 3 examples"),
        ((np.arange(9.0), np.arange(9.0)), 0, "bins"),
        ((np.ones((9, 2)), np.ones((9, 2))), [3, [0, 1, 2]], "bins: given a number of bins"),
    ],
)
def test_bad_cells(signals, bins, message):
    with pytest.raises(ValueError, match=message):
        certified(*signals, bins)


def test_sure_risk_is_the_end_of_each_interval_that_is_nearer_to_0():
    rng = np.random.default_rng(1)
    query = bayes.Histogram(rng.random(90) ** 2, rng.random(200), 0.4, 6)
    signal = rng.random(25)
    wanted = []
    for low, high in zip(*query.risk_interval(signal, 0.1 / 25)):
        wanted.append(0.0 if low <= 0 <= high else min(abs(low), abs(high)))
    assert bayes.sure_risk(query, signal, 0.1) == pytest.approx(wanted)


def test_sure_risk_of_nobody_and_of_few_in_a_density(recwarn):
    x, y = np.random.default_rng(12).normal(size=(2, 100))
    for query in (bayes.Histogram(x, y), bayes.KernelDensity(x, y), bayes.Histogram(x, y[:9])):
        assert bayes.sure_risk(query, []).shape == (0,)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="99 examples in a group"):
        bayes.sure_risk(bayes.KernelDensity(x, y[:99]), x)


@pytest.mark.simulation
def test_sure_risk_of_a_density_is_nominal_with_few_nonmembers():
    wrong = {}
    for few in (20, 100):
        rng, wrong[few] = np.random.default_rng(13), 0
        for _ in range(40):
            x, y = rng.normal(size=2000), rng.normal(size=few)
            with warnings.catch_warnings(action="ignore"):
                wrong[few] += (bayes.sure_risk(bayes.KernelDensity(x, y), x) > 0).any()
    assert wrong[100] <= 0.2 * 40 and wrong[20] >= 0.4 * 40


@pytest.mark.simulation
def test_sure_risk_is_above_0_for_no_record_where_nothing_leaks():
    wrong = 0
    for seed in range(300):
        x, y = np.random.default_rng(seed).random((2, 60))
        query = bayes.Histogram(x, y, bins=[np.linspace(0, 1, 6)])
        wrong += (bayes.sure_risk(query, np.concatenate([x, y]), 0.2) > 0).any()
    assert wrong <= 0.2 * 300


def test_the_p_value_is_at_an_even_prior_whatever_the_prior():
    """At prior 0.02 the best adversary calls nobody, so that the statistic there never moves."""
    x, y = np.repeat([0.25, 0.75], [80, 20]), np.repeat([0.25, 0.75], [20, 80])
    found = bayes.certificate(
        x, y, 0.02, bins=[0, 0.5, 1], n_permutations=19, rng=np.random.default_rng(0)
    )
    assert found.advantage.value == pytest.approx(0.96) and found.p_value == 1 / 20


def test_defaults_of_a_certificate():
    x, y = np.random.default_rng(7).random((2, 800))
    options = dict(prior=0.5, bins=100, delta=0.05, n_permutations=999)
    found = bayes.certificate(x, y, rng=np.random.default_rng(1))
    assert found == bayes.certificate(x, y, rng=np.random.default_rng(1), **options)


def test_most_exposed_by_the_loop_of_its_definition():
    """Falling lower limit, then falling risk, and what nobody has seen last."""
    query = bayes.Histogram(
        np.repeat([0.1, 0.5, 0.9], [1, 40, 9]),
        np.repeat([0.5, 0.9], [5, 40]),
        bins=[0, 0.2, 0.6, 1],
    )
    signal = [0.9, 0.1, 5.0, 0.5]
    for delta in (0.05, 0.9999):
        low = [float(query.risk_interval([s], delta)[0][0]) for s in signal]
        risk = [-2.0 if s == 5.0 else float(query.risk([s])[0]) for s in signal]
        want = sorted(range(4), key=lambda i: (-low[i], -risk[i]))
        assert bayes.most_exposed(query, signal, delta).tolist() == want


def test_options_of_every_compared_certificate():
    """One permutation leaves two p-values, and the prior is everybody's."""
    x, y = np.random.default_rng(8).random((2, 60))
    found = bayes.compare_queries(
        {"one": (x, y), "other": (y, x)},
        0.2,
        5,
        delta=0.1,
        n_permutations=1,
        rng=np.random.default_rng(0),
    )
    seed = int(np.random.default_rng(0).integers(2**63))
    for name, pair in (("one", (x, y)), ("other", (y, x))):
        rng = np.random.default_rng(seed)
        alone = bayes.certificate(*pair, 0.2, bins=5, delta=0.05, n_permutations=1, rng=rng)
        assert found[name] == alone and alone.p_value in (0.5, 1) and alone.trivial == 0.6
