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
