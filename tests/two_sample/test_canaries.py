"""The test of canaries against the enumeration of its coins, and its power against simulation."""

import itertools
from math import comb

import numpy as np
import pytest
from scipy import stats

from mia_lib import two_sample


def by_coins(published, kept):
    """Exchange twins in all ways."""
    observed, reached = sum(published) - sum(kept), 0
    for swap in itertools.product([False, True], repeat=len(kept)):
        gap = sum((b - a) if s else (a - b) for a, b, s in zip(published, kept, swap))
        reached += gap >= observed - 1e-9
    return reached / 2 ** len(kept)


def by_choices(published, kept):
    both = [*published, *kept]
    reached, ways = 0, 0
    for chosen in itertools.combinations(range(len(both)), len(published)):
        ways += 1
        reached += sum(both[i] for i in chosen) >= sum(published) - 1e-9
    return reached / ways


@pytest.mark.parametrize(("paired", "n_kept"), [(True, 6), (False, 6), (False, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_all_ways_of_chance(paired, n_kept, seed):
    rng = np.random.default_rng(seed)
    a, b = np.round(rng.normal(size=6) + 0.5, 1), np.round(rng.normal(size=n_kept), 1)
    found = two_sample.canary_test(a, b, paired=paired)
    assert found.p_value == pytest.approx((by_coins if paired else by_choices)(a, b))
    assert found.statistic == pytest.approx(a.mean() - b.mean())


@pytest.mark.parametrize("paired", [True, False])
def test_drawn_where_chance_had_too_many_ways(paired):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=8) + 0.6, rng.normal(size=8)
    ways = 2**8 if paired else comb(16, 8)
    exact = two_sample.canary_test(a, b, paired=paired, n_permutations=ways).p_value
    assert exact == pytest.approx((by_coins if paired else by_choices)(a, b))
    some = np.array(
        [
            two_sample.canary_test(
                a, b, paired=paired, n_permutations=ways - 1, rng=np.random.default_rng(seed)
            ).p_value
            for seed in range(40)
        ]
    )
    assert len(set(some)) > 1
    error = np.sqrt(exact * (1 - exact) / (40 * ways))
    assert abs(some.mean() - exact) < 4 * error + 2 / ways
    np.testing.assert_allclose(some * ways, np.round(some * ways), atol=1e-6)  # (1 + #) / (B + 1)


def test_the_smallest_p_value():
    high, low = np.arange(4) + 10.0, np.arange(4) * 1.0
    assert two_sample.canary_test(high, low).p_value == 2**-4
    assert two_sample.canary_test(high, low, paired=False).p_value == 1 / comb(8, 4)
    assert two_sample.canary_test(low, high).p_value == 1.0


@pytest.mark.simulation
def test_level_holds_for_scores_of_any_kind():
    """Scores are fixed and wild, the coins alone are drawn. 1 / 16 is a p-value that there is."""
    rng, twins = np.random.default_rng(2), np.random.default_rng(3).standard_cauchy((2, 8))
    rejections = 0
    for _ in range(1000):
        coin = rng.random(8) < 0.5
        a, b = np.where(coin, *twins), np.where(coin, *twins[::-1])
        rejections += two_sample.canary_test(a, b).p_value <= 1 / 16
    low, high = stats.binom.ppf([0.0005, 0.9995], 1000, 1 / 16)
    assert low <= rejections <= high


@pytest.mark.simulation
@pytest.mark.parametrize("paired", [True, False])
def test_power_is_that_of_the_mechanism(paired):
    """The test comes near the power of the best one, from below, and never passes it."""
    rng, mu, m, repetitions = np.random.default_rng(4), 0.35, 20, 2
    best = two_sample.canary_power(mu, m, repetitions=repetitions, paired=paired)
    rejections = 0
    for _ in range(600):
        common = 3 * rng.normal(size=m) if paired else 3 * rng.normal()
        a, b = rng.normal(size=(2, m)) + common
        test = two_sample.canary_test(
            a + mu * repetitions, b, paired=paired, n_permutations=399, rng=rng
        )
        rejections += test.p_value <= 0.05
    share, error = rejections / 600, np.sqrt(best * (1 - best) / 600)
    assert best - 0.05 - 4 * error < share < best + 4 * error


def test_power_by_its_closed_form():
    m = np.array([[5, 6], [20, 80]])
    expected = stats.norm.cdf(stats.norm.ppf(0.05) + 3 * 0.2 * np.sqrt(m / 2))
    np.testing.assert_allclose(two_sample.canary_power(0.2, m, repetitions=3), expected)
    assert two_sample.canary_power(9.0, 4) == 0 < two_sample.canary_power(9.0, 4, paired=False)
    assert two_sample.canary_power(9.0, 2, paired=False) == 0
    assert two_sample.canary_power(9.0, 4, alpha=1 / 16) > 0.99


def test_bad_input():
    with pytest.raises(ValueError, match="^kept: given 3 canaries, expected 2 twins, one of each"):
        two_sample.canary_test([1.0, 2.0], [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="^n_canaries: given 2.5, expected whole numbers from 1"):
        two_sample.canary_power(0.1, [4, 2.5, 3])


def test_paired_is_yes_or_no():
    with pytest.raises(ValueError, match="^paired: given 'no', expected True or False"):
        two_sample.canary_test([1.0, 2.0], [0.0, 1.0], paired="no")
