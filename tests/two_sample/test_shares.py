"""How many records were used: limits against every choice of members, Fieller's interval against a
search, both methods of appendix L against closed forms, coverage by simulation of known truth.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from mia_lib import two_sample


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def every_permutation(x, y):
    """One-sided p-value of the difference of means over all splits of the pool."""
    pooled, n = np.append(x, y), len(y)
    sums = [pooled[list(chosen)].sum() for chosen in combinations(range(len(pooled)), n)]
    return np.mean(np.array(sums) >= y.sum() - 1e-9)


def test_no_choice_of_members_has_a_larger_p_than_the_largest_scores(rng):
    for _ in range(20):
        x, y = rng.normal(size=4), rng.normal(size=5)
        for m in (1, 2):
            each = [
                every_permutation(x, np.delete(y, list(gone))) for gone in combinations(range(5), m)
            ]
            assert every_permutation(x, np.sort(y)[: 5 - m]) == max(each)


def test_the_limit_is_above_the_first_number_that_is_not_rejected(rng):
    x, y = np.zeros(40), np.append(np.full(30, 5.0), np.zeros(20))
    limit = two_sample.share_lower_limit(x, y, rng=rng)
    # without the fives the sets are the same; with a few of them a test of 40 and 50 may be silent
    assert 25 / 50 <= limit <= 30 / 50
    assert limit * 50 == pytest.approx(round(limit * 50))
    coarse = two_sample.share_lower_limit(x, y, grid=2, rng=rng)
    assert coarse == pytest.approx(26 / 50)  # 25 are rejected, and 25 is the last that is tried
    assert two_sample.share_lower_limit(y, x, rng=rng) == 0


def test_a_set_that_is_all_members_has_a_limit_below_one(rng):
    limit = two_sample.share_lower_limit(np.full(200, -9.0), np.zeros(100), grid=200, rng=rng)
    assert 0.9 < limit < 1


@pytest.mark.simulation
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("law", ["overlap", "ceiling"])
def test_the_limit_is_rarely_above_the_truth(share, law):
    rng, above, n, found = np.random.default_rng([3, round(10 * share)]), 0, 80, []
    members = round(share * n)
    for _ in range(400):
        x, y = rng.normal(size=(2, n)) if law == "overlap" else -rng.exponential(size=(2, n))
        y[:members] = y[:members] + 1.5 if law == "overlap" else 0.05 * y[:members]
        found.append(two_sample.share_lower_limit(x, y, delta=0.1, n_permutations=99, rng=rng))
        above += found[-1] > members / n + 1e-12
    assert above <= stats.binom.ppf(0.999, 400, 0.1)
    assert np.mean(found) > 0.2 * share  # and it says something


@pytest.mark.parametrize(("rise", "used"), [(2, 0.5), (-2, 0.0)])
def test_records_of_x_that_were_used_make_the_limit_smaller_if_use_raises_their_scores(
    rng, rise, used
):
    """And where use lowers them, it finds members among records of which none is one."""
    found = []
    for _ in range(10):
        x, y = rng.normal(size=(2, 200))
        y[: int(200 * used)] += rise
        clean = two_sample.share_lower_limit(x, y, n_permutations=99, rng=rng)
        x[:60] += rise
        found.append([clean, two_sample.share_lower_limit(x, y, n_permutations=99, rng=rng)])
    clean, mixed = np.mean(found, axis=0)
    assert mixed < clean - 0.05 if rise > 0 else mixed > 0.1 > clean


def test_fieller_against_a_search(rng):
    x, y, separation = rng.normal(size=50), rng.normal(0.7, 1, 60), np.array([1.1, 0.9, 1.4, 1.2])
    found = two_sample.member_share(x, y, separation, delta=0.2)
    f, t = np.linspace(0, 1, 100001), stats.t.ppf(0.9, 3)
    spread = np.var(y, ddof=1) / 60 + np.var(x, ddof=1) / 50
    spread = spread + f**2 * np.var(separation, ddof=1) * 5 / 4
    inside = f[np.abs(y.mean() - x.mean() - f * separation.mean()) <= t * np.sqrt(spread)]
    np.testing.assert_allclose(found[1:], [inside[0], inside[-1]], atol=2e-5)
    assert found.value == pytest.approx((y.mean() - x.mean()) / separation.mean())


def test_separations_around_nothing_say_nothing(rng):
    x = rng.normal(size=30)
    assert two_sample.member_share(x, x + 1, [1.0, -1.0, 0.5])[1:] == (0, 1)
    assert two_sample.member_share(x, x + 1, [-1.0, -1.1, -0.9])[:] == (0, 0, 1)


def test_a_share_stays_in_its_range(rng):
    x, noise = rng.normal(size=200), 1e-3 * np.arange(3)
    assert two_sample.member_share(x, x - 5, 1 + noise)[:] == (0, 0, 0)
    assert two_sample.member_share(x, x + 5, 1 + noise)[:] == (1, 1, 1)


@pytest.mark.simulation
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_interval_covers_the_share(share):
    rng, missed, n = np.random.default_rng([4, round(10 * share)]), 0, 100
    for _ in range(1000):
        separations = 1.5 + 0.3 * rng.normal(size=7)  # of the target and of six references
        x, y = rng.normal(size=(2, n))
        y[: round(share * n)] += separations[0]
        found = two_sample.member_share(x, y, separations[1:], delta=0.1)
        missed += not found.low <= share <= found.high
    assert missed <= stats.binom.ppf(0.999, 1000, 0.1)


def test_a_rate_on_a_curve_that_rises_is_inverted():
    shares, rates = np.array([0, 0.25, 0.5, 1]), np.array([0.1, 0.2, 0.6, 0.8])
    for rate in (0.1, 0.15, 0.2, 0.5, 0.8):
        found = two_sample.share_by_rejections(rate, shares, rates)
        assert found.low == found.value == found.high
        assert np.interp(found.value, shares, rates) == pytest.approx(rate)


def test_beyond_the_curve_are_its_ends_and_where_it_is_flat_all_of_it():
    shares, rates = [0, 0.3, 0.6, 1], [0.2, 0.5, 0.5, 0.9]
    assert two_sample.share_by_rejections(0.05, shares, rates)[:] == (0, 0, 0)
    assert two_sample.share_by_rejections(1.0, shares, rates)[:] == (1, 1, 1)
    np.testing.assert_allclose(two_sample.share_by_rejections(0.5, shares, rates), (0.45, 0.3, 0.6))
    falling = two_sample.share_by_rejections(0.35, [0, 0.5, 1], [0.5, 0.2, 0.9])
    np.testing.assert_allclose(falling, (0.25, 0, 0.5))  # their mean is taken for both


def test_uncovered_records_by_the_formula(rng):
    def accepts(places):
        return rng.random() < 0.5

    found = [
        two_sample.share_by_subsets(accepts, 200, 20, n_subsets=30, rng=rng) for _ in range(60)
    ]
    assert np.mean(found) == pytest.approx((1 - 0.5 * 0.1) ** 30, abs=0.02)


def test_subsets_that_are_all_accepted_or_all_rejected(rng):
    assert two_sample.share_by_subsets(lambda places: False, 10, 3, n_subsets=4, rng=rng) == 1
    assert two_sample.share_by_subsets(lambda places: True, 10, 10, n_subsets=1, rng=rng) == 0


def test_bad_input():
    x = np.zeros(5)
    with pytest.raises(ValueError, match="^y: given 2 scores, expected at least 3"):
        two_sample.share_lower_limit(x, x[:2])
    with pytest.raises(ValueError, match="^delta: given 0.001, expected at least 1 / 100"):
        two_sample.share_lower_limit(x, x, delta=0.001, n_permutations=99)
    with pytest.raises(ValueError, match="^n_permutations: "):
        two_sample.share_lower_limit(x, x, n_permutations=18)
    with pytest.raises(ValueError, match="^grid: "):
        two_sample.share_lower_limit(x, x, grid=0)
    with pytest.raises(ValueError, match="^separation: given 1 numbers, expected at least 2"):
        two_sample.member_share(x, x, [1.0])
    with pytest.raises(ValueError, match="^delta: "):
        two_sample.member_share(x, x, [1.0, 2.0], delta=1.0)
    with pytest.raises(ValueError, match="^shares: given .*, expected at least two rising numbers"):
        two_sample.share_by_rejections(0.5, [0.5, 0.2], [0.1, 0.2])
    with pytest.raises(ValueError, match="^rates: given .*, expected numbers in"):
        two_sample.share_by_rejections(0.5, [0.2, 0.5], [0.1, 1.2])
    with pytest.raises(ValueError, match="^rate: "):
        two_sample.share_by_rejections(1.5, [0.2, 0.5], [0.1, 0.2])
    with pytest.raises(ValueError, match="^size: "):
        two_sample.share_by_subsets(bool, 5, 6)
    with pytest.raises(ValueError, match="^n_subsets: "):
        two_sample.share_by_subsets(bool, 5, 5, n_subsets=0)


@pytest.mark.parametrize("delta", [0, 1, 1.5])
def test_the_level_of_the_lower_limit_is_inside_0_and_1(delta):
    x, y = np.arange(9.0), np.arange(9.0) + 0.5
    with pytest.raises(ValueError, match="^delta: given"):
        two_sample.share_lower_limit(x, y, delta=delta)


def test_the_sets_of_a_share_are_named_as_they_are_handed_over():
    good = np.arange(9.0)
    with pytest.raises(ValueError, match="^x: given"):
        two_sample.member_share(np.full(9, np.nan), good, [1.0, 0.9, 1.1])


def test_a_set_of_one_record_has_a_share():
    rng = np.random.default_rng(0)
    assert two_sample.share_by_subsets(lambda rows: True, 1, 1, n_subsets=3, rng=rng) == 0
    assert two_sample.share_by_subsets(lambda rows: False, 1, 1, n_subsets=3, rng=rng) == 1


@pytest.mark.parametrize(("n_x", "n_y", "n_separations"), [(3, 40, 9), (40, 4, 9), (40, 40, 3)])
def test_the_fewest_numbers_give_the_freedom(rng, n_x, n_y, n_separations):
    x, y = rng.normal(size=n_x), rng.normal(2, 1, n_y)
    separation = rng.normal(4, 0.1, n_separations)
    found = two_sample.member_share(x, y, separation, delta=0.3)
    t = stats.t.ppf(0.85, min(n_x, n_y, n_separations) - 1)
    f = np.linspace(0, 1, 100001)
    spread = np.var(y, ddof=1) / n_y + np.var(x, ddof=1) / n_x
    spread = spread + f**2 * np.var(separation, ddof=1) * (1 + 1 / n_separations)
    inside = f[np.abs(y.mean() - x.mean() - f * separation.mean()) <= t * np.sqrt(spread)]
    np.testing.assert_allclose(found[1:], [inside[0], inside[-1]], atol=2e-5)


def test_a_rate_is_that_of_a_flat_piece_but_for_rounding():
    """0.1 + 0.2 and 0.3 differ in their last digits, as means of rates that fell do."""
    for low, high in ((0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2)):
        found = two_sample.share_by_rejections(low, [0, 0.25, 0.5, 1], [0.1, high, high, 0.9])
        np.testing.assert_allclose(found, (0.375, 0.25, 0.5))
    third = two_sample.share_by_rejections(1 / 3, [0, 1], [0, 1])
    np.testing.assert_allclose(third, 1 / 3, rtol=1e-15)  # what lies between is not rounded
