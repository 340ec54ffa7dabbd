"""Privacy ceilings against linear programmes and mechanisms that attain them."""

import numpy as np
import pytest
from scipy import optimize

from mia_lib import bayes

PRIORS = [0.05, 0.1, 0.3, 0.5, 0.7, 0.9]


def best_on_region(epsilon, delta, prior):
    """Largest 2 accuracy - 1 over all (TPR, FPR) that (epsilon, delta)-differential privacy
    allows.
    """
    e = np.exp(epsilon)
    # Both directions, for the event "called a member" and its complement.
    rows = [[1, -e], [-e, 1], [-1, e], [e, -1]]
    bounds = [delta, delta, delta + e - 1, delta + e - 1]
    found = optimize.linprog([-2 * prior, 2 * (1 - prior)], rows, bounds, bounds=[(0, 1), (0, 1)])
    return -found.fun + 2 * (1 - prior) - 1


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05, 0.5, 1.0])
def test_advantage_ceiling_is_the_optimum_of_the_linear_programme(prior, delta):
    epsilon = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
    expected = [best_on_region(e, delta, prior) for e in epsilon]
    np.testing.assert_allclose(
        bayes.dp_advantage_ceiling(epsilon, delta, prior), expected, atol=1e-7
    )


def test_stated_numbers():
    assert bayes.dp_ceiling(1.0) == pytest.approx(np.tanh(0.5))
    assert bayes.dp_ceiling(2.0) == pytest.approx(0.7616, abs=1e-4)
    assert bayes.dp_ceiling(10.0) == pytest.approx(0.99991, abs=1e-5)  # printed as 0.999
    assert bayes.dp_advantage_ceiling(1.0, 0.1) == pytest.approx((np.e - 1 + 0.2) / (np.e + 1))
    assert bayes.dp_advantage_ceiling(1.0, prior=0.1) == pytest.approx(0.8)
    assert bayes.dp_ceiling(1.0, 0.1) == pytest.approx(0.92, abs=0.002)


@pytest.mark.parametrize("prior", PRIORS)
def test_record_ceiling_is_attained_by_randomised_response(prior):
    epsilon = np.array([0.0, 0.3, 1.0, 4.0])
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    f = [
        (prior * a - (1 - prior) * b) / (prior * a + (1 - prior) * b)
        for a, b in ((keep, 1 - keep), (1 - keep, keep))
    ]
    np.testing.assert_allclose(bayes.dp_ceiling(epsilon, prior), np.abs(f).max(axis=0), rtol=1e-10)
    lam = np.log(prior / (1 - prior))
    literal = np.maximum(
        np.abs(np.tanh((epsilon + lam) / 2)), np.abs(np.tanh((-epsilon + lam) / 2))
    )
    np.testing.assert_allclose(bayes.dp_ceiling(epsilon, prior), literal, rtol=1e-12)
    assert (
        bayes.dp_advantage_ceiling(epsilon, 0.0, prior) <= bayes.dp_ceiling(epsilon, prior) + 1e-12
    ).all()


def test_ceilings_reach_one_without_overflow():
    epsilon = [40.0, 1e4, np.inf]
    np.testing.assert_allclose(bayes.dp_ceiling(epsilon, 0.3), 1)
    np.testing.assert_allclose(bayes.dp_advantage_ceiling(epsilon, 1e-5, 0.3), 1)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
def test_epsilon_is_the_largest_that_keeps_the_advantage(prior, delta):
    least = bayes.dp_advantage_ceiling(0.0, delta, prior)
    allowed = least + np.array([0.0, 0.01, 0.3, 0.9]) * (1 - least)
    epsilon = bayes.dp_epsilon(allowed, delta, prior)
    np.testing.assert_allclose(
        bayes.dp_advantage_ceiling(epsilon, delta, prior), allowed, atol=1e-12
    )
    assert (bayes.dp_advantage_ceiling(epsilon + 1e-3, delta, prior) > allowed).all()
    assert bayes.dp_epsilon(1.0, delta, prior) == np.inf


def test_epsilon_at_even_prior_is_two_artanh():
    advantage = np.array([0.0, 0.2, 0.462, 0.99])
    np.testing.assert_allclose(bayes.dp_epsilon(advantage), 2 * np.arctanh(advantage), rtol=1e-12)


def test_fixed_membership_can_exceed_the_ceiling():
    # Randomised response on the membership bits is epsilon-DP, but the realised total variation is
    # not bounded by it.
    rng = np.random.default_rng(0)
    for n, expected in ((10, 0.47), (100, 0.47), (1, 0.73)):
        truth = np.e / (1 + np.e)
        # Share of the n members whose published bit says "member", against the non-members' 1 -
        # truth.
        realised = np.abs(rng.binomial(n, truth, size=20_000) / n - (1 - truth))
        assert (realised > np.tanh(0.5) + 1e-9).mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: bayes.dp_ceiling(-1), "epsilon: given -1"),
        (lambda: bayes.dp_ceiling(np.nan), "epsilon: given 1 NaN"),
        (lambda: bayes.dp_ceiling(1, 0), "prior"),
        (lambda: bayes.dp_ceiling(1, 1), "prior"),
        (lambda: bayes.dp_advantage_ceiling(1, -0.1), "delta: given -0.1"),
        (lambda: bayes.dp_advantage_ceiling(1, 1.1), "delta: given 1.1"),
        (lambda: bayes.dp_advantage_ceiling(-2), "epsilon: given -2"),
        (lambda: bayes.dp_epsilon(1.2), "advantage: given 1.2"),
        (lambda: bayes.dp_epsilon(-0.1), "advantage: given -0.1"),
        (
            lambda: bayes.dp_epsilon(0.5, prior=0.1),
            r"advantage: given 0.5, expected values in \[0.8, 1\]",
        ),
        (lambda: bayes.dp_epsilon(0.5, delta=1), "delta"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
