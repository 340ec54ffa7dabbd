"""Kernel densities against scipy, literal sums, quadrature and Gaussians whose smoothed densities
are known.
"""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.stats import norm

from mia_lib import bayes
from mia_lib.bayes import kernel_sums


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def literal(points, at, h):
    """The density as the definition has it, one query at a time."""
    points, at = np.atleast_2d(points.T).T, np.atleast_2d(at.T).T
    h = np.broadcast_to(h, (points.shape[1],))
    scale = np.prod(np.sqrt(2 * np.pi) * h)
    return np.array(
        [np.exp(-0.5 * (((q - points) / h) ** 2).sum(axis=1)).mean() / scale for q in at]
    )


def test_agrees_with_scipy_in_one_dimension(rng):
    x, y = rng.normal(size=300) + 1, rng.normal(size=200)
    query = bayes.KernelDensity(x, y, bandwidth=0.3)
    at = np.linspace(-5, 6, 101)
    for points, got in zip((x, y), query.likelihoods(at)):
        scipys = stats.gaussian_kde(points, bw_method=0.3 / points.std(ddof=1))(at)
        np.testing.assert_allclose(got, scipys, rtol=1e-10)


def test_default_bandwidth_is_scotts_for_both_groups_together(rng):
    for d in (1, 3):
        x, y = rng.normal(size=(300, d)) * [2, 5, 7][:d], rng.normal(size=(100, d))
        pooled = np.concatenate([x, y])
        expected = stats.gaussian_kde(pooled.T).scotts_factor() * pooled.std(axis=0, ddof=1)
        np.testing.assert_allclose(bayes.KernelDensity(x, y).bandwidth, expected)


@pytest.mark.parametrize("bandwidth", [0.5, [0.5, 0.2, 1.0]])
def test_agrees_with_the_definition_in_three_dimensions(rng, bandwidth):
    x, y, at = rng.normal(size=(40, 3)) + 0.5, rng.normal(size=(60, 3)), rng.normal(size=(25, 3))
    query = bayes.KernelDensity(x, y, 0.3, bandwidth)
    p, q = literal(x, at, bandwidth), literal(y, at, bandwidth)
    got = query.likelihoods(at)
    np.testing.assert_allclose(got[0], p, rtol=1e-10)
    np.testing.assert_allclose(got[1], q, rtol=1e-10)
    np.testing.assert_allclose(
        query.risk(at), (0.3 * p - 0.7 * q) / (0.3 * p + 0.7 * q), atol=1e-10
    )


SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "one value and one far off": lambda rng, n: np.append(np.zeros(n - 1), 3.0),
    "two narrow peaks": lambda rng, n: (
        np.where(rng.random(n) < 0.01, 1.0, 0.0) + 1e-4 * rng.normal(size=n)
    ),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=n),
    "edge": lambda rng, n: rng.exponential(size=n),
    "saturated": lambda rng, n: 1 - rng.exponential(size=n) ** 4 * 1e-3,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_fast_path_keeps_its_promise(rng, shape, monkeypatch):
    monkeypatch.setattr(kernel_sums, "FAST_FROM", 1)
    points = SHAPES[shape](rng, 3000)
    query = bayes.KernelDensity(points, points)
    h = float(query.bandwidth[0])
    at = np.concatenate(
        [np.linspace(points.min() - 9 * h, points.max() + 9 * h, 700), rng.choice(points, 300)]
    )
    got = query.likelihoods(at)[0]
    exact = literal(points, at, h)
    peak = literal(points, np.linspace(points.min(), points.max(), 3000), h).max()
    well = exact > 1e-6 * peak
    assert well.sum() > 300
    assert np.abs(got[well] / exact[well] - 1).max() < 1e-5
    rest = ~well & (exact > 1e-290)
    if rest.any():
        assert np.abs(got[rest] / exact[rest] - 1).max() < 1e-11


def test_the_promise_can_be_broken(rng, monkeypatch):
    # A grid that is too coarse must be caught by the test above.
    monkeypatch.setattr(kernel_sums, "FAST_FROM", 1)
    monkeypatch.setattr(kernel_sums, "POINTS_PER_BANDWIDTH", 8)
    points = np.append(np.zeros(2999), 3.0)
    query = bayes.KernelDensity(points, points, bandwidth=0.1)
    at = np.linspace(-0.5, 0.5, 300)
    assert np.abs(query.likelihoods(at)[0] / literal(points, at, 0.1) - 1).max() > 1e-5


def test_exact_path_in_small_blocks_and_without_a_grid(rng, monkeypatch):
    points, at = np.sort(rng.standard_t(1, size=500)), rng.standard_t(1, size=300)
    expected = literal(points, at, 1.0) * np.sqrt(2 * np.pi)
    for pairs in (1, 700, 1 << 21):
        monkeypatch.setattr(kernel_sums, "PAIRS", pairs)
        np.testing.assert_allclose(
            kernel_sums.mean_of_neighbours(points, at), expected, rtol=1e-12, atol=1e-300
        )
        pairwise = kernel_sums.mean_by_pairs(points[:, None], at[:, None])
        np.testing.assert_allclose(pairwise, expected, rtol=1e-12, atol=1e-300)
    monkeypatch.setattr(kernel_sums, "FAST_FROM", 1)
    monkeypatch.setattr(kernel_sums, "GRID_LIMIT", 10)
    np.testing.assert_allclose(
        kernel_sums.mean_on_line(points, at), expected, rtol=1e-12, atol=1e-300
    )


def test_exact_may_be_asked_for(rng):
    x = rng.normal(size=2000)
    query = bayes.KernelDensity(x, x + 0.1, bandwidth=0.1)
    fast, exact = query.likelihoods(x), query.likelihoods(x, exact=True)
    assert not np.array_equal(fast[0], exact[0])
    np.testing.assert_allclose(fast, exact, rtol=1e-5)


def test_unit_and_origin_do_not_matter(rng):
    x, y, at = rng.normal(size=1500) + 1, rng.normal(size=900), rng.normal(size=1000)
    a = bayes.KernelDensity(x, y, bandwidth=0.2)
    b = bayes.KernelDensity(1e6 + 50 * x, 1e6 + 50 * y, bandwidth=10)
    np.testing.assert_allclose(a.risk(at), b.risk(1e6 + 50 * at), atol=1e-6)
    assert a.advantage() == pytest.approx(b.advantage(), abs=1e-6)
    np.testing.assert_allclose(
        a.likelihoods(at)[0], 50 * b.likelihoods(1e6 + 50 * at)[0], rtol=1e-6
    )


def test_smoothed_gaussians_are_found(rng):
    n, h, prior = 200_000, 0.3, 0.2
    query = bayes.KernelDensity(rng.normal(size=n) + 1, rng.normal(size=n), prior, h)
    at, sd = np.linspace(-2, 3, 30), np.sqrt(1 + h**2)
    p, q = norm.pdf(at, 1, sd), norm.pdf(at, 0, sd)
    truth = (prior * p - (1 - prior) * q) / (prior * p + (1 - prior) * q)
    np.testing.assert_allclose(query.risk(at), truth, atol=0.02)
    advantage = integrate.quad(
        lambda s: abs(prior * norm.pdf(s, 1, sd) - (1 - prior) * norm.pdf(s, 0, sd)),
        -9,
        10,
        limit=200,
        points=[0.5 + np.log(4) * sd**2],
    )[0]
    estimate = query.advantage()
    assert estimate.value == pytest.approx(advantage, abs=0.003)
    assert estimate.low <= advantage <= estimate.high


@pytest.mark.parametrize("prior, h", [(0.5, 0.4), (0.3, 0.05), (0.8, 0.02)])
def test_advantage_is_the_integral(rng, prior, h):
    x, y = rng.normal(size=30) + 1, rng.normal(size=50)
    at = np.arange(-5, 6, h / 50)
    value = np.abs(prior * literal(x, at, h) - (1 - prior) * literal(y, at, h)).sum() * (h / 50)
    assert bayes.KernelDensity(x, y, prior, h).advantage().value == pytest.approx(value, abs=5e-5)


def test_advantage_without_a_grid_and_in_two_dimensions(rng, monkeypatch):
    x, y = rng.normal(size=300) + 1, rng.normal(size=200)
    query = bayes.KernelDensity(x, y, 0.4, 0.3)
    value = query.advantage().value
    monkeypatch.setattr(kernel_sums, "GRID_LIMIT", 10)
    assert query.advantage(rng=rng).value == pytest.approx(value, abs=0.01)

    x, y, h = rng.normal(size=(60, 2)) + 0.7, rng.normal(size=(50, 2)), np.array([0.5, 0.3])
    line = np.linspace(-6, 7, 150)
    at = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    value = (
        np.abs(0.4 * literal(x, at, h) - 0.6 * literal(y, at, h)).sum() * (line[1] - line[0]) ** 2
    )
    query = bayes.KernelDensity(x, y, 0.4, h)
    estimate = query.advantage(rng=rng)
    assert estimate.value == pytest.approx(value, abs=0.01)
    assert estimate.low <= estimate.value <= estimate.high


@pytest.mark.parametrize("apart, by_chance", [(2e5, False), (3e5, True)])
def test_one_dimension_needs_no_chance_as_far_as_its_grid_reaches(apart, by_chance):
    query = bayes.KernelDensity([0.0, apart], [0.5, apart + 0.5], bandwidth=1.0)
    first, second = (query.advantage(rng=np.random.default_rng(seed)).value for seed in (0, 1))
    # two pairs of normals half a bandwidth apart
    assert first == pytest.approx(2 * stats.norm.cdf(0.25) - 1, abs=1e-2)
    assert (first != second) == by_chance


@pytest.mark.parametrize(
    "h, expected", [(1, 0.02), (0.05, 0.09), (0.01, 0.20), (0.001, 0.57), (0.0001, 0.92)]
)
def test_a_narrow_kernel_finds_advantage_in_nothing(h, expected):
    values = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        values.append(
            bayes.KernelDensity(rng.normal(size=1000), rng.normal(size=1000), bandwidth=h)
            .advantage()
            .value
        )
    assert np.mean(values) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("dimension", [1, 2])
def test_intervals_are_the_lemmas(rng, dimension):
    x, y, h, prior = (
        rng.normal(size=(80, dimension)) + 1,
        rng.normal(size=(50, dimension)),
        0.5,
        0.3,
    )
    at = 2 * rng.normal(size=(20, dimension))
    query = bayes.KernelDensity(x, y, prior, h)
    mu = integrate.quad(lambda u: norm.pdf(u) ** 2, -9, 9)[0] ** dimension
    z = norm.ppf(1 - 0.1 / 4)
    ends = []
    for points in (x, y):
        density = literal(points, at, h)
        half = z * np.sqrt(mu * density / (len(points) * h**dimension))
        ends += [np.maximum(density - half, 0), density + half]
    got = query.likelihood_box(at, 0.1)
    np.testing.assert_allclose(got, ends, rtol=1e-9, atol=1e-15)
    assert (ends[0] == 0).any()
    low, high = query.risk_interval(at, 0.1)
    f = [
        (prior * a - (1 - prior) * b) / (prior * a + (1 - prior) * b)
        for a, b in ((ends[0], ends[3]), (ends[1], ends[2]))
    ]
    np.testing.assert_allclose([low, high], f, atol=1e-9)


def test_nothing_is_known_outside_the_support(rng):
    query = bayes.KernelDensity(rng.normal(size=20), rng.normal(size=20), bandwidth=0.1)
    outside = [-50.0, 80.0]
    assert np.isnan(query.risk(outside)).all()
    low, high = query.risk_interval(outside)
    np.testing.assert_array_equal(low, -1)
    np.testing.assert_array_equal(high, 1)
    # Far out but not yet 0: the risk is that of the nearest example, and the interval knows how
    # little that is.
    low, high = query.risk_interval([query._points[0][-1, 0] * 0.1 + 3.0])
    assert high[0] - low[0] > 1.9


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bandwidth": 0}, "bandwidth: given 0"),
        ({"bandwidth": -1.0}, "bandwidth: given -1"),
        ({"bandwidth": np.nan}, "bandwidth: given 1 NaN"),
        ({"bandwidth": np.inf}, "bandwidth: given 1 infinite"),
        ({"bandwidth": [0.1, 0.2]}, "bandwidth: given shape"),
        ({"bandwidth": "scott"}, "bandwidth: given an array of dtype"),
        ({"prior": 0}, "prior: given 0"),
        ({"prior": 1.0}, "prior: given 1"),
        ({"member_signal": [1.0]}, "member_signal: given 1 examples"),
        ({"nonmember_signal": []}, "nonmember_signal: given 0 examples"),
        ({"nonmember_signal": [np.nan, 1.0]}, "nonmember_signal: given 1 NaN"),
        ({"member_signal": [3.0, 3.0], "nonmember_signal": [3.0, 3.0]}, "constant signal"),
    ],
)
def test_bad_input(change, message):
    arguments = {"member_signal": [1.0, 2.0], "nonmember_signal": [0.0, 1.0, 3.0]} | change
    with pytest.raises(ValueError, match=message):
        bayes.KernelDensity(**arguments)


def test_bad_queries():
    query = bayes.KernelDensity([[0.0, 1.0], [1.0, 0.0]], [[2.0, 0.0], [3.0, 1.0]])
    for signal in ([1.0, 2.0], [[1.0]], [[np.nan, 0.0]]):
        with pytest.raises(ValueError, match="signal"):
            query.risk(signal)
    for delta in (0, 1, 1.5):
        with pytest.raises(ValueError, match="delta"):
            query.risk_interval([[0.0, 0.0]], delta)
        with pytest.raises(ValueError, match="delta"):
            query.advantage(delta)
    with pytest.raises(ValueError, match="rng"):
        query.advantage(rng=3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("bandwidth", "at_itself"), [(1.0, 0), (0.1, np.inf)])
def test_hundreds_of_dimensions(rng, bandwidth, at_itself):
    """(2 pi)^-500 is no float64, and neither is 10^1000 times that."""
    x, y = rng.normal(size=(2, 5, 1000))
    query = bayes.KernelDensity(x, y, bandwidth=bandwidth)
    assert (query.likelihoods(x)[0] == at_itself).all() and (query.risk(x) == 1).all()
    np.testing.assert_array_equal(query.risk_interval(x), np.array([-np.ones(5), np.ones(5)]))


def test_dimensions_in_which_all_densities_underflow_are_refused(rng, monkeypatch):
    monkeypatch.setattr(bayes.kernel_density, "DRAWS", 64)
    x, y = rng.normal(size=(2, 3, 2048))
    with pytest.raises(ValueError, match="signal: given 2048 dimensions, .*, expected fewer"):
        bayes.KernelDensity(x, y).advantage(rng=rng)


def test_limits_in_two_dimensions_by_their_derivation(rng):
    """A tenth of delta goes to the sampled integral, what is left to McDiarmid and to the bias."""
    x, y, h, p, delta = rng.normal(size=(4000, 2)), rng.normal(size=(3000, 2)), 0.9, 0.4, 0.1
    estimate = bayes.KernelDensity(x + 1, y, p, h).advantage(delta, rng=rng)
    n1, n2, draws = 4000, 3000, int(2e8 / 7000) // 2
    v = p**2 / n1 + (1 - p) ** 2 / n2
    slack = np.sqrt(np.log(20 / delta) * (p**2 + (1 - p) ** 2) / draws / 2)
    left = 0.9 * delta
    high = estimate.value + np.sqrt(2 * v * np.log(2 / left)) + slack
    assert estimate.high == pytest.approx(high, rel=1e-9) and high < 1
    points = np.concatenate([x + 1, y]) / h
    box = np.prod((np.ptp(points, axis=0) + 8) / (2 * np.sqrt(np.pi)))
    outside = 0.0
    for n, weight in ((n1, p), (n2, 1 - p)):
        # of each of two axes: the mass beyond the extremes, and of the kernel beyond 4 bandwidths
        tail = stats.beta.ppf(1 - left / 4 / 4, 2, n - 1) + 2 * norm.cdf(-4)
        outside += weight * 2 * tail
    bias = np.sqrt(box * v) + 2 * outside
    low = estimate.value - np.sqrt(2 * v * np.log(4 / left)) - bias - slack
    assert estimate.low == pytest.approx(max(low, 0.2), rel=1e-9) and low > 0.2
