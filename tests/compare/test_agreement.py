"""How far two attacks agree, against scipy, sets of records and simulated coverage."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import compare


class TestAgreement:
    def test_values_against_scipy_and_sets(self):
        rng = np.random.default_rng(0)
        first = rng.normal(size=(3, 200))
        second = np.round(first + rng.normal(size=first.shape), 1)  # with ties
        found = compare.rank_correlation(first, second, rng=rng)
        assert found.value == pytest.approx(
            np.mean([stats.spearmanr(a, b)[0] for a, b in zip(first, second)])
        )
        other = rng.normal(size=first.shape)  # without ties, so that the top is a set
        top = [set(np.argsort(row)[-20:]) for row in (*first, *other)]
        expected = np.mean([len(a & b) / 20 for a, b in zip(top[:3], top[3:])])
        assert compare.top_overlap(first, other, 0.1, rng=rng).value == pytest.approx(expected)

    def test_ties_at_the_border_count_in_part(self):
        first, coarse = np.arange(100.0), (np.arange(100) >= 60).astype(float)
        # 40 tied records share the 10 places of the top, and all 10 of the other attack's are among
        # them.
        assert compare.top_overlap(first, coarse, 0.1).value == pytest.approx(10 / 40)

    @pytest.mark.parametrize("shape", [(400,), (1, 400)])
    def test_nothing_shared_of_one_target_leaves_room_for_what_its_top_cannot_show(self, shape):
        # Resamples of nothing hold nothing. With probability (1 - p)^k none of k records is shared.
        first = np.broadcast_to(np.arange(400.0), shape)
        found = compare.top_overlap(first, -first, 0.02, delta=0.1)
        assert (found.value, found.low) == (0, 0)
        assert (1 - found.high) ** 8 == pytest.approx(0.1 / 2)

    @pytest.mark.simulation
    @pytest.mark.parametrize("r", [0.0, 0.5])
    def test_coverage_of_a_small_top_of_one_target(self, r):
        rng, hits = np.random.default_rng(4), 0
        truth = stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([stats.norm.ppf(0.01)] * 2)
        for _ in range(60):
            first = rng.normal(size=500)
            second = r * first + np.sqrt(1 - r**2) * rng.normal(size=500)
            e = compare.top_overlap(first, second, 0.01, rng=rng)
            hits += e.low <= truth / 0.01 <= e.high
        assert hits >= stats.binom.ppf(1e-3, 60, 0.95)

    def test_a_top_of_less_than_one_record_is_refused(self):
        x = np.arange(49.0)
        assert compare.top_overlap(x, x, 1 / 49).value == 1
        for share in (0.01, 0.02):
            with pytest.raises(ValueError, match=f"^share: given {share} of 49 records,"):
                compare.top_overlap(x, x, share)

    def test_resamples_are_ranked_anew(self):
        rng = np.random.default_rng(1)
        first, second = rng.normal(size=(2, 40))
        found = compare.rank_correlation(first, second, rng=np.random.default_rng(2))
        rng, drawn = np.random.default_rng(2), []
        for _ in range(10):  # blocks of 100, as `intervals.bootstrap` draws
            drawn += list(rng.integers(40, size=(100, 40)))
        literal = [stats.spearmanr(first[rows], second[rows])[0] for rows in drawn]
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(literal, [0.025, 0.975])))

    @pytest.mark.simulation
    def test_coverage(self):
        """Normal pairs of correlation r have a rank correlation of 6/pi arcsin(r/2); three targets
        share their examples.
        """
        rng, r, hits = np.random.default_rng(3), 0.6, 0
        truth = 6 / np.pi * np.arcsin(r / 2)
        for _ in range(100):
            shared = rng.normal(size=(2, 200))
            first = np.sqrt(0.5) * shared[0] + np.sqrt(0.5) * rng.normal(size=(3, 200))
            noise = np.sqrt(0.5) * shared[1] + np.sqrt(0.5) * rng.normal(size=(3, 200))
            e = compare.rank_correlation(first, r * first + np.sqrt(1 - r**2) * noise, rng=rng)
            hits += e.low <= truth <= e.high
        assert hits >= stats.binom.ppf(1e-3, 100, 0.93)

    @pytest.mark.parametrize("function", [compare.rank_correlation, compare.top_overlap])
    def test_refuses(self, function):
        x = np.arange(10.0)
        with pytest.raises(ValueError, match=r"second: given shape \(1, 9\)"):
            function(x, x[:9])
        with pytest.raises(ValueError, match="first: given one score for all"):
            function(np.ones(10), x)
        with pytest.raises(ValueError, match="second: given 1 NaN"):
            function(x, np.where(x == 3, np.nan, x))
        with pytest.raises(ValueError, match="share"):
            compare.top_overlap(x, x, 1.0)


@pytest.mark.parametrize(("n", "share"), [(150, 0.01), (199, 0.05), (250, 0.05)])
def test_an_attack_agrees_with_itself_whatever_the_share_comes_to(n, share):
    x = np.random.default_rng(0).normal(size=n)
    assert compare.top_overlap(x, x, share, rng=np.random.default_rng(0)).value == 1
