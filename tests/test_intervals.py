import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mia_lib import intervals
from mia_lib.intervals import Estimate


def test_estimate_formats_each_number():
    estimate = Estimate(0.12345, 0.1, 0.2)
    assert str(estimate) == "0.123 [0.100, 0.200]"
    assert f"{estimate:.1%}" == "12.3% [10.0%, 20.0%]"
    assert f"{estimate}" == str(estimate)
    value, low, high = estimate
    assert (value, low, high) == (0.12345, 0.1, 0.2)


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 3000), st.data())
def test_clopper_pearson_agrees_with_scipy(trials, data):
    successes = data.draw(st.integers(0, trials))
    delta = data.draw(st.sampled_from([0.001, 0.05, 0.32]))
    low, high = intervals.clopper_pearson(successes, trials, delta)
    want = stats.binomtest(successes, trials).proportion_ci(1 - delta, method="exact")
    assert low == pytest.approx(want.low, rel=1e-9, abs=1e-12)
    assert high == pytest.approx(want.high, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6, 1e-18])
def test_clopper_pearson_closed_forms_at_the_ends(delta):
    n = np.array([1, 2, 10, 1000, 300_000])
    low, high = intervals.clopper_pearson(np.zeros_like(n), n, delta)
    assert (low == 0).all()
    np.testing.assert_allclose(high, -np.expm1(np.log(delta / 2) / n), rtol=1e-12)
    low, high = intervals.clopper_pearson(n, n, delta)
    assert (high == 1).all()
    np.testing.assert_allclose(low, np.exp(np.log(delta / 2) / n), rtol=1e-12)


def test_clopper_pearson_limits_solve_the_tail_equations():
    k, n = np.array([1, 3, 40, 99, 25]), np.array([100, 100, 100, 100, 25_000])
    low, high = (
        intervals.clopper_pearson_lower(k, n, 0.01),
        intervals.clopper_pearson_upper(k, n, 0.01),
    )
    np.testing.assert_allclose(stats.binom.sf(k - 1, n, low), 0.01, rtol=1e-8)
    np.testing.assert_allclose(stats.binom.cdf(k, n, high), 0.01, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 5, 23, 200])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_clopper_pearson_coverage_by_enumeration(n, delta):
    k = np.arange(n + 1)
    low, high = intervals.clopper_pearson(k, n, delta)
    one_low, one_high = (
        intervals.clopper_pearson_lower(k, n, delta),
        intervals.clopper_pearson_upper(k, n, delta),
    )
    # Coverage jumps at the limits themselves, so the truth is put on, just below and just above
    # each of them.
    edges = np.concatenate([low, high, one_low, one_high])
    truths = np.concatenate([np.linspace(0, 1, 101), edges, edges - 1e-9, edges + 1e-9])
    for p in truths[(truths >= 0) & (truths <= 1)]:
        pmf = stats.binom.pmf(k, n, p)
        slack = 1e-6
        assert pmf[(low <= p + 1e-12) & (p - 1e-12 <= high)].sum() >= 1 - delta - slack
        assert pmf[one_low <= p + 1e-12].sum() >= 1 - delta - slack
        assert pmf[p - 1e-12 <= one_high].sum() >= 1 - delta - slack


def test_clopper_pearson_broadcasts():
    low, high = intervals.clopper_pearson([[0], [1]], [5, 10, 20])
    assert low.shape == high.shape == (2, 3)
    assert low.dtype == high.dtype == np.float64
    assert (low <= high).all()


@pytest.mark.parametrize(
    ("successes", "trials", "delta", "name"),
    [
        (1, 0, 0.05, "trials"),
        (-1, 5, 0.05, "successes"),
        (6, 5, 0.05, "successes"),
        (1.5, 5, 0.05, "successes"),
        (1, 5.5, 0.05, "trials"),
        (1, float("nan"), 0.05, "trials"),
        (float("nan"), 5, 0.05, "successes"),
        ([1, 2], [5, 6, 7], 0.05, "successes"),
        (1, 5, 0.0, "delta"),
        (1, 5, 1.0, "delta"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [intervals.clopper_pearson, intervals.clopper_pearson_lower, intervals.clopper_pearson_upper],
)
def test_clopper_pearson_refuses(function, successes, trials, delta, name):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        function(successes, trials, delta)


def weighted_mean(x):
    return lambda weights: weights @ x / weights.sum(axis=1)


def test_bootstrap_of_a_mean_has_the_known_spread():
    x = np.random.default_rng(0).normal(size=400)
    estimate = intervals.bootstrap(
        weighted_mean(x), 400, n_resamples=4000, rng=np.random.default_rng(1)
    )
    assert estimate.value == pytest.approx(x.mean())
    half = 1.96 * x.std() / 20
    assert estimate.low == pytest.approx(x.mean() - half, abs=0.1 * half)
    assert estimate.high == pytest.approx(x.mean() + half, abs=0.1 * half)


def test_bootstrap_weights_are_whole_draws_and_blocks_do_not_matter():
    seen = []

    def statistic(weights):
        seen.append(weights)
        return weights[:, 0].astype(float)

    intervals.bootstrap(statistic, 7, n_resamples=10, rng=np.random.default_rng(0), block=3)
    assert [len(w) for w in seen] == [1, 3, 3, 3, 1]
    assert all((w.sum(axis=1) == 7).all() and w.dtype == np.int64 for w in seen)
    assert (seen[0] == 1).all()
    one = intervals.bootstrap(weighted_mean(np.arange(7)), 7, rng=np.random.default_rng(0), block=1)
    many = intervals.bootstrap(
        weighted_mean(np.arange(7)), 7, rng=np.random.default_rng(0), block=1000
    )
    assert one == many


def test_bootstrap_leaves_undefined_resamples_out():
    def nothing(weights):
        return np.full(len(weights), np.nan)

    def sometimes(weights):
        return np.where(weights[:, 0] > 0, 2.0, np.nan)

    assert intervals.bootstrap(sometimes, 5, rng=np.random.default_rng(0)) == (2, 2, 2)
    with pytest.raises(ValueError, match="^statistic: given NaN in all"):
        intervals.bootstrap(nothing, 5)


@pytest.mark.simulation
def test_bootstrap_coverage():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        x = rng.exponential(size=200)
        estimate = intervals.bootstrap(weighted_mean(x), 200, n_resamples=400, rng=rng, block=400)
        covered += estimate.low <= 1 <= estimate.high
    # A percentile interval for the mean of 200 exponentials covers about 94 %.
    # The 0.1 % quantile of Bin(1000, 0.94) is 916.
    assert 916 <= covered <= 985


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_groups": 1}, "n_groups"),
        ({"delta": 0}, "delta"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"block": 0}, "block"),
        ({"rng": 5}, "rng"),
    ],
)
def test_bootstrap_refuses(options, name):
    with pytest.raises(ValueError, match=f"^{name}: given "):
        intervals.bootstrap(weighted_mean(np.arange(4)), **{"n_groups": 4, **options})


def test_mcdiarmid_by_hand():
    want = np.sqrt(2 * (0.09 / 70 + 0.49 / 400) * np.log(2 / 0.1))
    assert intervals.mcdiarmid(70, 400, prior=0.3, delta=0.1) == pytest.approx(want, rel=1e-12)


@settings(deadline=None)
@given(st.integers(1, 1000), st.sampled_from([0.1, 0.25, 0.5]))
def test_mcdiarmid_with_proportional_groups_is_the_printed_formula(size, prior):
    n_member, n_nonmember = round(20 * size * prior), round(20 * size * (1 - prior))
    printed = np.sqrt(2 / (20 * size) * np.log(2 / 0.05))
    assert intervals.mcdiarmid(n_member, n_nonmember, prior) == pytest.approx(printed, rel=1e-12)


@pytest.mark.simulation
def test_mcdiarmid_holds_about_the_expectation():
    rng = np.random.default_rng(0)
    bins, repetitions = 10, 4000
    p_hat = rng.multinomial(80, np.full(bins, 1 / bins), size=repetitions) / 80
    q_hat = rng.multinomial(200, np.full(bins, 1 / bins), size=repetitions) / 200
    advantage = np.abs(0.5 * p_hat - 0.5 * q_hat).sum(axis=1)
    t = intervals.mcdiarmid(80, 200)
    assert (np.abs(advantage - advantage.mean()) <= t).mean() >= 0.95
    # Not vacuous: half of it is exceeded more often than never, and it is below the trivial width
    # 1.
    assert t < 0.2 and (np.abs(advantage - advantage.mean()) > t / 4).any()


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        ((0, 5), {}, "n_member"),
        ((5, 0), {}, "n_nonmember"),
        ((5, 5, 0), {}, "prior"),
        ((5, 5, 1), {}, "prior"),
        ((5, 5, 0.5), dict(delta=1), "delta"),
    ],
)
def test_mcdiarmid_refuses(arguments, options, name):
    with pytest.raises(ValueError, match=f"^{name}: given "):
        intervals.mcdiarmid(*arguments, **options)


def test_pairs_that_repeat_are_the_same_as_alone():
    rng = np.random.default_rng(8)
    trials = rng.integers(1, 40, size=(50, 60))
    successes = rng.binomial(trials, 0.5)
    low, high = intervals.clopper_pearson(successes, trials)
    for i in range(0, 50, 7):
        for j in range(0, 60, 11):
            alone = intervals.clopper_pearson(successes[i, j], trials[i, j])
            assert (low[i, j], high[i, j]) == (alone[0], alone[1])


def test_many_pairs_with_all_or_none_successes_keep_their_own_limits():
    """Enough pairs that each is computed once; k = m must not be taken for the count
    of another pair. Closed forms, by the number of trials.
    """
    trials = np.repeat([1, 2, 49, 50], 300)
    low, high = intervals.clopper_pearson(trials, trials, 0.1)
    np.testing.assert_allclose(low, 0.05 ** (1 / trials), rtol=1e-12)
    assert (high == 1).all()
    low, high = intervals.clopper_pearson(0 * trials, trials, 0.1)
    np.testing.assert_allclose(high, 1 - 0.05 ** (1 / trials), rtol=1e-12)
    assert (low == 0).all()


def test_many_pairs_too_large_to_be_named_by_one_float():
    """k = 0 and k = 1 of 2^27 trials: m (m + 1) + k is beyond what a float64 can tell apart."""
    trials, successes = np.full(1200, 2**27 - 1), np.arange(1200) % 2
    low = intervals.clopper_pearson_lower(successes, trials)
    assert (low[::2] == 0).all()
    np.testing.assert_allclose(low[1::2], -np.expm1(np.log1p(-0.05) / (2**27 - 1)), rtol=1e-9)


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_t_interval_in_closed_form(delta):
    """With one and with two degrees of freedom Student's quantile has a closed form."""
    tail = delta / 2
    cauchy = np.tan(np.pi * (0.5 - tail))
    found = intervals.t_interval([3.0, 7.0], delta)
    np.testing.assert_allclose(found, [5, 5 - 2 * cauchy, 5 + 2 * cauchy], rtol=1e-12)
    two = (1 - 2 * tail) / np.sqrt(2 * tail * (1 - tail))
    found = intervals.t_interval([1, 2, 6], delta)  # mean 3, squares 4 + 1 + 9 over 2
    half = two * np.sqrt(7 / 3)
    np.testing.assert_allclose(found, [3, 3 - half, 3 + half], rtol=1e-12)
    assert all(type(number) is float for number in found)


def test_t_interval_defaults_and_what_it_refuses():
    found = intervals.t_interval([3.0, 7.0])
    np.testing.assert_allclose(found.high, 5 + 2 * np.tan(0.475 * np.pi), rtol=1e-12)
    for values in ([1.0], [[1.0, 2.0], [3.0, 4.0]], 1.0):
        with pytest.raises(ValueError, match="^values: given shape"):
            intervals.t_interval(values)
    with pytest.raises(ValueError, match="^delta: given 0"):
        intervals.t_interval([1.0, 2.0], 0)


def test_single_precision_is_not_computed_with():
    values, others = np.random.default_rng(3).normal(size=(2, 12)).astype(np.float32)
    wide, beside = values.astype(float), others.astype(float)
    assert intervals.t_interval(values) == intervals.t_interval(wide)
    assert intervals.correlation(values, others) == intervals.correlation(wide, beside)


def test_one_example_in_each_group_has_a_mcdiarmid_width():
    # v = 1 / 4 + 1 / 4
    assert intervals.mcdiarmid(1, 1) == pytest.approx(np.sqrt(np.log(2 / 0.05)), rel=1e-12)
    assert intervals.mcdiarmid(1, 2, 0.2, delta=0.1) == pytest.approx(
        np.sqrt(2 * (0.04 + 0.32) * np.log(20)), rel=1e-12
    )


def test_correlation_is_fishers_interval():
    first, second = np.random.default_rng(0).normal(size=(2, 30))
    second = second + first
    found = intervals.correlation(first, second, 0.1)
    r = np.corrcoef(first, second)[0, 1]
    half = stats.norm.ppf(0.95) / np.sqrt(27)
    want = (r, np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half))
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_correlation_that_is_not_defined():
    assert intervals.correlation([1, 1, 1, 1], [1, 2, 3, 4]) is None
    assert intervals.correlation([1, 2, 3, 4], [0, 0, 0, 0]) is None
    assert intervals.correlation([1, 2, 3], [1, 3, 2]) is None
    with pytest.raises(ValueError, match="first, second: given shapes"):
        intervals.correlation([1, 2, 3, 4], [1, 2, 3])
    with pytest.raises(ValueError, match="delta"):
        intervals.correlation([1, 2, 3, 4], [1, 2, 4, 3], 1.0)
