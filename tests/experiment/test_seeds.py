"""One figure from several seeds, against statsmodels and by hand."""

import numpy as np
import pytest
from statsmodels.stats import weightstats

from mia_lib import experiment, intervals
from mia_lib.intervals import Estimate


def test_one_seed_keeps_its_own_interval():
    one = Estimate(0.4, 0.1, 0.9)
    assert experiment.over_seeds([one]) is one
    assert experiment.over_seeds([0.4]) == Estimate(0.4, None, None)


def test_several_seeds_have_students_interval_whatever_their_own():
    values = np.random.default_rng(0).normal(size=7)
    low, high = weightstats.DescrStatsW(values).tconfint_mean(alpha=0.1)
    expected = pytest.approx((values.mean(), low, high), abs=1e-12)
    assert tuple(experiment.over_seeds(values, 0.1)) == expected
    wide = [Estimate(value, value - 9, value + 9) for value in values]
    assert tuple(experiment.over_seeds(wide, 0.1)) == expected


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="found"):
        experiment.over_seeds([])
    for values in ([1.0], np.zeros((2, 2))):
        with pytest.raises(ValueError, match="values"):
            intervals.t_interval(values)


@pytest.mark.simulation
def test_the_t_interval_covers_as_often_as_it_says():
    rng, hits = np.random.default_rng(0), 0
    for values in rng.normal(3, 2, size=(4000, 5)):
        _, low, high = intervals.t_interval(values, 0.1)
        hits += low <= 3 <= high
    low, high = intervals.clopper_pearson(hits, 4000, 1e-6)
    assert low <= 0.9 <= high


def test_an_estimate_without_limits_shows_its_value_alone():
    assert f"{Estimate(0.25, None, None):.1%}" == "25.0%"
