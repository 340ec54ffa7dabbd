"""The line through logarithms against least squares written out, its interval against worlds whose
slope is known, pseudo-values against what they are for two statistics.
"""

import numpy as np
import pytest
from scipy import stats

from mia_lib import compare, intervals

SIZES = np.array([5, 10, 20, 40, 80])
FLOOR = 1e-6


def coverage(cases):
    held = [low <= truth <= high for truth, (_, low, high) in cases]
    return np.mean(held)


class TestPowerLaw:
    def test_points_on_the_law_give_it_back(self):
        values = [np.full(3, 0.8 * size**-0.5) for size in SIZES]
        law = compare.power_law(SIZES, values, FLOOR)
        assert law.slope == pytest.approx((-0.5, -0.5, -0.5)) and law.factor == pytest.approx(0.8)
        assert law.floored == 0
        assert [point.value for point in law.points] == pytest.approx(0.8 * SIZES**-0.5)

    def test_the_line_of_least_squares_and_the_spread_of_its_slope(self):
        rng = np.random.default_rng(0)
        draws = (2, 5, 3, 4, 6)
        values = [rng.uniform(0.5, 1.5, d) / size for d, size in zip(draws, SIZES)]
        law, means = compare.power_law(SIZES, values, FLOOR), [row.mean() for row in values]
        slope, level = np.polyfit(np.log(SIZES), np.log(means), 1)
        assert law.slope.value == pytest.approx(slope)
        assert law.factor == pytest.approx(np.exp(level))
        # what moves the slope, one mean at a time
        parts = []
        for place, row in enumerate(values):
            moved = np.array(means)
            moved[place] *= 1 + 1e-6
            change = (np.polyfit(np.log(SIZES), np.log(moved), 1)[0] - slope) / (
                1e-6 * means[place]
            )
            parts.append(change**2 * row.var(ddof=1) / len(row))
        freedom = sum(parts) ** 2 / sum(p**2 / (d - 1) for p, d in zip(parts, draws))
        half = stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts))
        assert law.slope[1:] == pytest.approx((slope - half, slope + half), rel=1e-4)

    def test_what_has_no_logarithm_enters_as_the_floor_and_is_counted(self):
        values = [[0.4, 0.6], [0.2, 0.3], [-0.02, 0.01]]
        law = compare.power_law([1, 2, 4], values, (0.1, 0.1, 0.05))
        instead = np.polyfit(np.log([1, 2, 4]), np.log([0.5, 0.25, 0.05]), 1)[0]
        assert law.floored == 1 and law.slope.value == pytest.approx(instead)
        assert law.points[2].value == pytest.approx(-0.005)  # as measured
        left_out = np.log(2) / np.log(0.5)
        assert law.slope.value < left_out < law.slope.high  # the interval knows that it is not sure

    @pytest.mark.simulation
    @pytest.mark.parametrize("draws", [2, 3, 6])
    def test_coverage_over_draws(self, draws):
        rng, cases = np.random.default_rng([1, draws]), []
        for _ in range(1000):
            spread = np.array([0.1, 0.1, 0.15, 0.2, 0.25])[:, None]
            noise = 1 + spread * rng.normal(size=(5, draws))
            values = 0.9 * SIZES[:, None] ** -0.7 * noise
            cases.append((-0.7, compare.power_law(SIZES, values, FLOOR).slope))
        assert 0.935 < coverage(cases) < 0.985

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"sizes": [5, 10]}, "sizes: given .*, expected at least three"),
            ({"sizes": [5, 5, 10]}, "sizes: given .*, expected at least three"),
            ({"sizes": [0, 5, 10]}, "sizes: given .*, expected at least three"),
            ({"values": [[1, 2]] * 4}, "values: given 4 rows, expected one for each of 3"),
            ({"values": [[1, 2], [1, 2], [1]]}, "values: given .*, expected at least two draws"),
            ({"floor": 0}, "floor: given 0.0, expected a number above 0"),
            ({"floor": [1, 1]}, "floor: given .*, expected a number above 0"),
            ({"delta": 1}, "delta: given 1"),
        ],
    )
    def test_bad_input(self, change, message):
        given = {"sizes": [5, 10, 20], "values": [[1, 2]] * 3, "floor": 0.1, "delta": 0.05}
        with pytest.raises(ValueError, match=message):
            compare.power_law(**given | change)


class TestJackknife:
    def test_of_a_variance_it_is_the_unbiased_one(self):
        values = np.random.default_rng(2).normal(size=7)
        found = compare.jackknife(lambda rows: values[rows].var(), 7)
        assert found.mean() == pytest.approx(values.var(ddof=1))

    def test_two_groups_at_least(self):
        with pytest.raises(ValueError, match="n_groups: given 1"):
            compare.jackknife(len, 1)


def pooled_world(rng, n, draws=3, records=60, models=16):
    """Scores of OUT and IN entries, (draws, records, models) each. The distance of a record is
    c / sqrt n, with c from a law with a heavy tail and with a factor of its own for each draw.
    """
    c = rng.lognormal(0.8, 0.5, (draws, records, 1)) * rng.lognormal(0, 0.1, (draws, 1, 1))
    outside = rng.normal(size=(draws, records, models))
    return outside, c / np.sqrt(n) + rng.normal(size=outside.shape)


def true_gain(n):
    z = stats.norm.isf(0.01)
    c = np.exp(0.8 + np.hypot(0.5, 0.1) * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    return stats.norm.cdf(c / np.sqrt(n) - z).mean() - 0.01


def gain(outside, inside):
    cut = np.quantile(outside, 0.99, method="higher")
    return (inside > cut).mean() - (outside > cut).mean()


@pytest.mark.simulation
def test_coverage_of_pooled_rates_over_draws_and_over_seeds():
    """As notebooks/more_data.ipynb reads its slopes: one threshold for all draws of a size, their
    pseudo-values, and the slopes of five seeds. A slope that is the truth's, and is not -1/2.
    """
    rng, sizes = np.random.default_rng(3), np.array([2, 4, 8, 16])
    truth = np.polyfit(np.log(sizes), np.log([true_gain(n) for n in sizes]), 1)[0]
    assert truth < -0.6
    over_draws, over_seeds = [], []
    for _ in range(80):
        slopes = []
        for _ in range(5):
            values = []
            for n in sizes:
                outside, inside = pooled_world(rng, n)
                values.append(
                    compare.jackknife(lambda rows: gain(outside[rows], inside[rows]), 3)  # noqa: B023
                )
            slopes.append(compare.power_law(sizes, values, FLOOR).slope)
        over_draws += [(truth, slope) for slope in slopes]
        over_seeds.append((truth, intervals.t_interval([slope.value for slope in slopes])))
    assert 0.93 < coverage(over_draws) < 0.995, coverage(over_draws)
    assert 0.88 < coverage(over_seeds), coverage(over_seeds)
