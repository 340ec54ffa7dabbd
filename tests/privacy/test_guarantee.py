"""Guarantees against closed forms, another accountant, and an attacker who has the mechanism's own
output.
"""

import itertools
import warnings

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mia_lib import bayes, privacy, train

RATE, STEPS = 64 / 898, 281  # the private training of the chapter
EPSILON = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
FPR = np.array([0.0, 1e-9, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0])
PRIOR = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9])


def chapter(noise):
    return privacy.subsampled_gaussian(noise, RATE, STEPS)


def by_quadrature(mu, epsilon):
    """The largest P(E) - e^epsilon Q(E) for N(mu, 1) against N(0, 1), over half lines."""
    found = optimize.minimize_scalar(
        lambda t: -(stats.norm.sf(t - mu) - np.exp(epsilon) * stats.norm.sf(t)),
        bounds=(-10, 40),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return max(0.0, -found.fun)


def best_threshold(mu, prior):
    found = optimize.minimize_scalar(
        lambda t: -(prior * stats.norm.sf(t - mu) + (1 - prior) * stats.norm.cdf(t)),
        bounds=(-10, 10),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -2 * found.fun - 1


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_gaussian_by_a_search_over_thresholds(mu):
    found = privacy.gaussian(mu)
    np.testing.assert_allclose(
        found.delta(EPSILON), [by_quadrature(mu, e) for e in EPSILON], atol=1e-9
    )
    np.testing.assert_allclose(found.advantage(PRIOR), [best_threshold(mu, p) for p in PRIOR])
    np.testing.assert_allclose(found.tpr_at(FPR), stats.norm.sf(stats.norm.isf(FPR) - mu))
    delta = np.array([1e-9, 1e-5, 0.01])
    least = found.epsilon(delta)
    assert (found.delta(least) <= delta).all()
    assert (found.delta(np.maximum(least - 1e-6, 0)) >= delta).all() or (least == 0).any()
    np.testing.assert_array_equal(found.epsilon([0.0, 1.0]), [np.inf, 0.0])
    assert found.delta(np.inf) == 0


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.9])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 2.5, 40.0, 900.0])
def test_the_gaussian_guarantee_of_a_pair(epsilon, delta):
    mu = privacy.gaussian_at(epsilon, delta).mu
    logs = stats.norm.logcdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
    assert np.exp(logs[0]) - np.exp(epsilon + logs[1]) == pytest.approx(delta, rel=1e-6)
    assert privacy.gaussian_at(0.9 * epsilon, delta).mu < mu


def by_losses(mu, epsilon):
    """delta(epsilon) of N(mu, 1) against N(0, 1) as the mean of 1 - e^(epsilon - loss) over losses
    beyond epsilon: an integral of what is positive, so that no digit is lost.
    """
    far = epsilon / mu - mu / 2
    start = max(0.0, -far - 40)
    return integrate.quad(
        lambda t: -np.expm1(-mu * t) * stats.norm.pdf(t + far),
        start,
        max(0.0, -far) + 40,
        points=[max(start, -far), max(start, -far) + 1],
        epsabs=0,
        limit=500,
    )[0]


@pytest.mark.parametrize(
    "epsilon, delta",
    [
        *itertools.product([1e-300, 1e-8, 1e6], [1e-12, 1e-5, 0.3]),
        *itertools.product([1e-8, 1e6], [1e-17, 1e-100]),
        (1e-12, 1e-5),
    ],
)
def test_the_gaussian_guarantee_of_an_extreme_pair(epsilon, delta):
    found = privacy.gaussian_at(epsilon, delta)
    around = [by_losses(found.mu * factor, epsilon) for factor in (1 - 1e-5, 1, 1 + 1e-5)]
    assert around[0] < delta < around[2] and around[1] == pytest.approx(delta, rel=1e-2)
    assert found.epsilon(delta) == pytest.approx(epsilon, rel=1e-3, abs=1e-14)
    assert found.tpr_at(0.5) >= 0.5


def test_the_gaussian_guarantee_of_epsilon_0_tells_nothing():
    nothing, fpr = privacy.gaussian_at(0.0), np.linspace(0, 1, 11)
    np.testing.assert_array_equal(nothing.tpr_at(fpr), fpr)
    assert nothing.epsilon(1e-5) == 0 == nothing.advantage()


@pytest.mark.parametrize("sigma, steps", [(5.0, 100), (30**0.5 / 0.247, 30), (1.0, 4)])
def test_rate_one_is_gaussian_and_rounded_upwards(sigma, steps):
    found = privacy.subsampled_gaussian(sigma, 1.0, steps)
    exact = privacy.gaussian(steps**0.5 / sigma)
    pairs = [
        (found.delta(EPSILON), exact.delta(EPSILON)),
        (found.epsilon([1e-8, 1e-5, 0.1]), exact.epsilon([1e-8, 1e-5, 0.1])),
        (found.tpr_at(FPR), exact.tpr_at(FPR)),
        (found.advantage(PRIOR), exact.advantage(PRIOR)),
        (found.group(3).tpr_at(FPR), exact.group(3).tpr_at(FPR)),
    ]
    for ours, truth in pairs:
        assert (ours >= truth - 1e-12).all()
        np.testing.assert_allclose(ours, truth, rtol=1e-3, atol=2e-12)


def test_values_of_the_chapter_s_training():
    small, large = chapter(0.8), chapter(3.0)
    assert small.advantage() == pytest.approx(0.664, abs=5e-4)
    # One direction alone: the larger of both would allow 0.925 at an FPR of 0.3.
    np.testing.assert_allclose(small.tpr_at([1e-3, 0.01, 0.3]), [0.166, 0.390, 0.913], atol=5e-4)
    assert large.advantage() == pytest.approx(0.161, abs=5e-4)
    assert large.tpr_at(1e-3) == pytest.approx(0.0038, abs=5e-5)
    assert small.epsilon(1e-5) == pytest.approx(13.0, abs=0.05)
    assert chapter(1.5).epsilon(1e-5) == pytest.approx(4.14, abs=0.005)


@pytest.mark.parametrize(
    "noise, rate, steps", [(0.8, RATE, STEPS), (3.0, RATE, STEPS), (1.0, 0.01, 2000)]
)
def test_against_the_accountants_of_opacus(noise, rate, steps):
    from opacus.accountants import PRVAccountant

    found = privacy.subsampled_gaussian(noise, rate, steps)
    other = PRVAccountant()
    other.history = [(noise, rate, steps)]
    for delta in (1e-5, 1e-3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            by_prv = other.get_epsilon(delta, eps_error=1e-3)
        assert found.epsilon(delta) == pytest.approx(by_prv, rel=0.02)
        renyi = train.epsilon(noise, rate, steps, delta=delta)
        assert found.epsilon(delta) <= renyi


@pytest.mark.parametrize("prior", PRIOR)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05, 1.0])
def test_one_pair_is_the_region_that_it_names(prior, delta):
    for epsilon in (0.0, 0.1, 1.0, 5.0, 50.0, np.inf):
        found = privacy.approximate(epsilon, delta)
        ceiling = bayes.dp_advantage_ceiling(epsilon, delta, prior)
        assert found.advantage(prior) == pytest.approx(ceiling, abs=1e-12)
        assert found.delta(epsilon) == pytest.approx(delta)
        # along the curve, the advantage is the best point
        fpr = np.linspace(0, 1, 20_001)
        along = 2 * (prior * found.tpr_at(fpr) + (1 - prior) * (1 - fpr)) - 1
        assert along.max() <= ceiling + 1e-12
        assert along.max() == pytest.approx(ceiling, abs=2e-3)
    least = privacy.approximate(2.0, 0.01)
    allowed = np.array([0.01, 0.1, 0.5])
    np.testing.assert_allclose(least.delta(least.epsilon(allowed)), allowed)
    np.testing.assert_array_equal(least.epsilon([0.005, 0.99, 1.0]), [np.inf, 0.0, 0.0])


def test_every_pair_of_a_mechanism_allows_at_least_its_curve():
    found = chapter(0.8)
    for epsilon in EPSILON:
        pair = privacy.approximate(epsilon, float(found.delta(epsilon)))
        assert (pair.tpr_at(FPR) >= found.tpr_at(FPR) - 1e-9).all()
        assert (pair.advantage(PRIOR) >= found.advantage(PRIOR) - 1e-9).all()


def test_advantage_is_the_best_point_of_the_curve():
    found, fpr = chapter(0.8), np.linspace(0, 1, 5001)
    for prior in (0.1, 0.3, 0.5):
        along = 2 * (prior * found.tpr_at(fpr) + (1 - prior) * (1 - fpr)) - 1
        assert along.max() == pytest.approx(found.advantage(prior), abs=1e-4)
    # a rarer "not trained on" is the other direction's tangent, and the same best point
    for prior in (0.7, 0.9):
        along = 2 * (prior * found.tpr_at(fpr) + (1 - prior) * (1 - fpr)) - 1
        assert along.max() == pytest.approx(found.advantage(prior), abs=1e-4)
    assert (found.advantage(PRIOR) >= abs(1 - 2 * PRIOR)).all()


def test_groups():
    one = privacy.gaussian(0.247)
    caps = [float(one.group(k).tpr_at(0.05)) for k in (5, 10, 12, 20)]
    np.testing.assert_allclose(caps, [0.34, 0.80, 0.91, 1.00], atol=0.005)
    # Errata of the HR-MMD paper: epsilon 1 and delta 1e-5 at a level of 0.05.
    pair = privacy.approximate(1.0, 1e-5)
    caps = [float(pair.group(k).tpr_at(0.05)) for k in (1, 2, 3, 5, 10)]
    np.testing.assert_allclose(caps, [0.136, 0.370, 0.953, 0.994, 1.000], atol=6e-4)
    whole = 0.0
    for _ in range(4):  # one record after the other: delta' = e^epsilon delta' + delta
        whole = np.exp(0.7) * whole + 0.01
    assert privacy.approximate(0.7, 0.01).group(4).delta(4 * 0.7) == pytest.approx(whole)
    assert privacy.approximate(0.0, 0.01).group(5).delta(0.0) == pytest.approx(0.05)
    assert one.group(1) == one and one.group(2).group(3) == one.group(6)
    found = chapter(3.0)
    assert found.group(2).group(2) == found.group(4) and found.group(1) == found
    grown = [found.group(k).advantage() for k in (1, 2, 4)]
    assert grown[0] < grown[1] < grown[2]


def losses(noise, rate, steps, records, n, rng):
    """Log likelihood ratios of n runs with and n without the records, all steps seen."""
    coins = stats.binom.pmf(np.arange(records + 1), records, rate)
    both = []
    for present in (True, False):
        total = np.zeros(n)
        for _ in range(steps):
            seen = noise * rng.normal(size=n)
            if present:
                seen += rng.binomial(records, rate, n)
            shifts = np.arange(records + 1)[:, None]
            total += np.log(coins @ np.exp((2 * seen - shifts) * shifts / (2 * noise**2)))
        both.append(total)
    return both


@pytest.mark.simulation
@pytest.mark.parametrize("records", [1, 3])
def test_best_attacker_on_the_mechanism_s_own_output(records):
    n, rng = 40_000, np.random.default_rng(records)
    noise, rate, steps = 0.9, 0.1, 30
    found = privacy.subsampled_gaussian(noise, rate, steps).group(records)
    present, absent = losses(noise, rate, steps, records, n, rng)
    fpr = np.array([0.003, 0.01, 0.1, 0.3, 0.6])
    # At a threshold both rates are binomial; the curve is between what the limits of the FPR allow.
    for threshold in np.quantile(absent, 1 - fpr):
        alarms, hits = int((absent > threshold).sum()), int((present > threshold).sum())
        few, many = stats.binomtest(alarms, n).proportion_ci(0.999)
        low, high = stats.binomtest(hits, n).proportion_ci(0.999)
        assert found.tpr_at(many) >= low and found.tpr_at(few) <= high
    right = (present > 0).mean() - (absent > 0).mean()
    assert found.advantage() == pytest.approx(right, abs=0.015)


def test_arrays_and_repeated_calls():
    for found in (privacy.gaussian(1.0), privacy.approximate(1.0, 0.01), chapter(0.8)):
        for ask in (found.delta, found.epsilon, found.tpr_at, found.advantage):
            grid = np.array([[0.3, 0.01, 0.5], [0.5, 0.2, 0.9]])
            answer = ask(grid)
            assert answer.shape == grid.shape and answer.dtype == np.float64
            np.testing.assert_allclose(answer[0, 1], ask(0.01), rtol=1e-9)
            assert np.ndim(ask(0.01)) == 0
        assert hash(found) == hash(found.group(1))
        with pytest.raises(AttributeError):
            found.mu = 2.0
    assert (privacy.subsampled_gaussian(0.2, 0.5, 300).delta([0.0, 1e3, np.inf]) <= 1).all()
    long = chapter(0.8).tpr_at(np.linspace(0, 1, 1203))
    assert long.shape == (1203,) and (np.diff(long) >= 0).all() and long[-1] == 1


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: privacy.subsampled_gaussian(0, 0.1, 10), "noise_multiplier: given 0"),
        (lambda: privacy.subsampled_gaussian(-1.0, 0.1, 10), "noise_multiplier: given -1.0"),
        (lambda: privacy.subsampled_gaussian(1.0, 0, 10), "sampling_rate: given 0"),
        (lambda: privacy.subsampled_gaussian(1.0, 1.1, 10), "sampling_rate: given 1.1"),
        (lambda: privacy.subsampled_gaussian(1.0, 0.1, 0), "steps: given 0"),
        (lambda: privacy.subsampled_gaussian(1.0, 0.1, 2.5), "steps: given 2.5"),
        (lambda: privacy.gaussian(0.0), "mu: given 0.0"),
        (lambda: privacy.gaussian_at(-1.0), "epsilon: given -1.0"),
        (lambda: privacy.gaussian_at(np.inf), "epsilon: given inf"),
        (lambda: privacy.gaussian_at(1.0, 0.0), "delta: given 0.0"),
        (lambda: privacy.gaussian_at(1.0, 1.0), "delta: given 1.0"),
        (lambda: privacy.approximate(-1.0, 0.1), "epsilon: given -1.0"),
        (lambda: privacy.approximate(np.nan, 0.1), "epsilon: given nan"),
        (lambda: privacy.approximate(1.0, 1.5), "delta: given 1.5"),
        (lambda: privacy.gaussian(1.0).delta([0.1, -2.0]), "epsilon: given -2"),
        (lambda: privacy.gaussian(1.0).epsilon(1.2), "delta: given 1.2"),
        (lambda: privacy.gaussian(1.0).tpr_at([-0.1]), "fpr: given -0.1"),
        (lambda: privacy.gaussian(1.0).advantage(1.0), "prior: given 1"),
        (lambda: privacy.gaussian(1.0).group(0), "k: given 0"),
        (lambda: privacy.approximate(1.0, 0.1).group(1.5), "k: given 1.5"),
        (lambda: chapter(1.0).group(-1), "k: given -1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("sampling_rate", "steps", "least", "most"),
    [(1e-4, 10_000, 0.003, 0.005), (1e-4, 100_000, 0.04, 0.06), (1e-5, 100_000, 0.5, 0.75)],
)
def test_how_far_many_steps_that_tell_nothing_are_rounded_up(sampling_rate, steps, least, most):
    """What the notes say of T sigma / q = 1e10, 1e11 and 1e12, against the Gaussian limit."""
    mu = sampling_rate * np.sqrt(steps * np.expm1(1 / 100**2))
    found = privacy.subsampled_gaussian(100, sampling_rate, steps).advantage()
    assert least <= found / (2 * stats.norm.cdf(mu / 2) - 1) - 1 <= most
