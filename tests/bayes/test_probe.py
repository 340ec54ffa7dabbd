"""The probe of membership: it ranks like the true log-odds where these are known, and finds nothing
where nothing is.
"""

import numpy as np
import pytest
from scipy import stats

from mia_lib import bayes


def world(n, shift, seed):
    """Records, every other one a member, whose first of three numbers is N(shift, 1) for members:
    the true log-odds are shift x - shift^2 / 2.
    """
    rng = np.random.default_rng(seed)
    member = np.arange(n) % 2 == 0
    features = rng.normal(size=(n, 3))
    features[member, 0] += shift
    return features, member, rng.random(n) < 0.5


def test_it_ranks_like_the_true_log_odds():
    features, member, fitted = world(6000, 2.0, seed=0)
    said = bayes.membership_probe(features, member, fitted)
    assert (np.isnan(said) == fitted).all()
    truth = 2.0 * features[:, 0] - 2.0
    assert stats.spearmanr(said[~fitted], truth[~fitted]).statistic > 0.95
    right = np.mean((said[~fitted] > 0) == member[~fitted])
    assert right == pytest.approx(stats.norm.cdf(1), abs=0.03)  # the optimal adversary's


def test_it_finds_nothing_where_nothing_is():
    features, member, fitted = world(2000, 0.0, seed=1)
    said = bayes.membership_probe(features, member, fitted)[~fitted]
    right = np.sum((said > 0) == member[~fitted])
    assert abs(right - len(said) / 2) < 4 * np.sqrt(len(said)) / 2


def test_the_membership_of_those_that_are_judged_is_not_read():
    features, member, fitted = world(400, 1.0, seed=2)
    other = np.where(fitted, member, ~member)
    first, second = (bayes.membership_probe(features, who, fitted) for who in (member, other))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"features": np.ones(6)}, "features: given"),
        ({"features": np.full((6, 1), np.nan)}, "features: given 6 NaN"),
        ({"member": np.ones(5, bool)}, "member: given shape"),
        ({"member": np.ones(6, bool)}, "member: given 4 members and 0"),
        ({"fitted": np.ones(6, bool)}, "fitted: given every record"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"features": np.ones((6, 1)), "member": np.arange(6) < 3, "fitted": np.arange(6) > 1}
    with pytest.raises(ValueError, match=f"^{message}"):
        bayes.membership_probe(**given | change)
