"""The best threshold adversary against brute force, known truth, and maps of the signal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mia_lib import bayes


def by_brute_force(member, nonmember, prior):
    """2 Pr[correct] - 1 of every guess "member" at or above t, above t, at or below t, below t."""
    found = []
    for t in [-np.inf, *member, *nonmember, np.inf]:
        for says in (np.greater_equal, np.greater, np.less_equal, np.less):
            right = prior * np.mean(says(member, t)) + (1 - prior) * np.mean(~says(nonmember, t))
            found.append(2 * right - 1)
    return max(found)


whole = st.integers(-4, 4).map(float)
real = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(
    st.one_of(st.tuples(*[st.lists(kind, min_size=2, max_size=12)] * 2) for kind in (whole, real)),
    st.sampled_from([0.1, 0.5, 0.7]),
)
@settings(max_examples=150, deadline=None)
def test_value_by_brute_force(groups, prior):
    member, nonmember = map(np.array, groups)
    found = bayes.threshold_advantage(member, nonmember, prior)
    assert found.value == pytest.approx(by_brute_force(member, nonmember, prior), abs=1e-12)
    assert abs(2 * prior - 1) <= found.low <= found.value <= found.high <= 1


@given(st.lists(real, min_size=4, max_size=30), st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_unchanged_under_increasing_maps(values, seed):
    """Any increasing map of finitely many values is a list of larger and larger numbers."""
    rng = np.random.default_rng(seed)
    values = np.array(values)
    levels, place = np.unique(values, return_inverse=True)
    mapped = np.cumsum(rng.exponential(size=levels.size) ** 5 + 1e-3)[place]
    half = len(values) // 2
    assert bayes.threshold_advantage(values[:half], values[half:], 0.3) == (
        bayes.threshold_advantage(mapped[:half], mapped[half:], 0.3)
    )
    turned = bayes.threshold_advantage(-values[:half], -values[half:], 0.3)
    np.testing.assert_allclose(  # both directions are tried
        turned, bayes.threshold_advantage(values[:half], values[half:], 0.3), atol=1e-12
    )


def continuous(rng, n, shift):
    return rng.normal(size=n) + shift


def discrete(rng, n, shift):
    return rng.binomial(3, 0.4 + shift / 10, size=n).astype(float)


def mixed(rng, n, shift):
    return np.maximum(continuous(rng, n, shift), 0.3)


def truth(world, shift, prior):
    """The largest over a fine grid of the known distribution functions."""
    if world is discrete:
        below = [stats.binom.cdf(np.arange(-1, 4), 3, 0.4 + s / 10) for s in (shift, 0)]
    else:
        grid = np.linspace(-9 if world is continuous else 0.3, 12, 200_001)
        below = [np.append(0.0, stats.norm.cdf(grid - s)) for s in (shift, 0)]
    return np.abs(2 * prior - 1 + 2 * ((1 - prior) * below[1] - prior * below[0])).max()


@pytest.mark.simulation
@pytest.mark.parametrize("world", [continuous, discrete, mixed])
@pytest.mark.parametrize(
    ("n_member", "n_nonmember", "shift", "prior"),
    [(200, 200, 0.0, 0.5), (100, 400, 0.5, 0.5), (200, 200, 2.0, 0.5), (60, 60, 1.0, 0.2)],
)
def test_the_limits_cover(world, n_member, n_nonmember, shift, prior):
    rng = np.random.default_rng(7)
    target, missed = truth(world, shift, prior), 0
    for _ in range(1_000):
        found = bayes.threshold_advantage(
            world(rng, n_member, shift), world(rng, n_nonmember, 0.0), prior
        )
        missed += not found.low - 1e-9 <= target <= found.high + 1e-9
    assert missed <= 73  # 99.9 % quantile of Bin(1000, 0.05)


@pytest.mark.simulation
def test_every_threshold_is_covered_at_once():
    """The lower limit holds although the best of all thresholds was picked; half of its width would
    fail far more often than allowed."""
    rng = np.random.default_rng(8)
    found = np.array(
        [bayes.threshold_advantage(*rng.random((2, 150)), 0.5, 0.1) for _ in range(1_000)]
    )
    value, low = found[:, 0], found[:, 1]
    width = bayes.threshold_advantage(np.arange(150.0) + 150, np.arange(150.0), 0.5, 0.1)
    width = width.value - width.low
    assert np.mean(low > 0) <= 0.05 and np.mean(value - width / 2 > 0) > 0.2


def test_the_quantile_of_the_lower_limit_by_simulation():
    """Draws of both deviations, from the law that Massart's inequality allows at worst."""
    rng = np.random.default_rng(9)
    x, y = np.sqrt(np.log(2 / rng.random((2, 400_000))) / 2)
    for prior, n1, n0, delta in ((0.5, 2_500, 2_500, 0.05), (0.2, 1_000, 50_000, 0.2)):
        member, nonmember = np.arange(n1) + n0, np.arange(n0)
        width = 1 - bayes.threshold_advantage(member, nonmember, prior, delta).low
        worst = 2 * prior * x / np.sqrt(n1) + 2 * (1 - prior) * y / np.sqrt(n0)
        assert width == pytest.approx(np.quantile(worst, 1 - delta / 2), rel=0.01)


def test_width_and_both_directions():
    inside, outside = np.random.default_rng(10).normal(size=(2, 2_500))
    found = bayes.threshold_advantage(inside + 1, outside)
    assert found.value - found.low <= 0.06 and found.high - found.value <= 0.06
    np.testing.assert_allclose(bayes.threshold_advantage(-inside - 1, -outside), found, atol=1e-12)
    assert bayes.threshold_advantage([1, 2], [3, 4]).value == 1  # members below
    guessing = bayes.threshold_advantage([1, 1], [1, 1], 0.2)
    assert guessing.value == pytest.approx(0.6, abs=1e-12) and guessing.low == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0]), "member_signal: given 1 examples, expected at least 2"),
        (([1.0, np.nan], [1.0, 2.0]), "member_signal"),
        ((np.ones((3, 2)), np.ones((3, 2))), "member_signal: given 2 columns, expected one number"),
        (([1.0, 2.0], [1.0, 2.0], 1.0), "prior"),
        (([1.0, 2.0], [1.0, 2.0], 0.5, 0.0), "delta"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        bayes.threshold_advantage(*arguments)
