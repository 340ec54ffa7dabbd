"""Coverage of every interval and level of the test, by 1,000 simulations with known truth.

An interval fails its test if it covers fewer than 927 times, the 0.1 % quantile of Bin(1000, 0.95).
Conservative ones pass.
"""

import numpy as np
import pytest
from scipy.stats import norm

from mia_lib import bayes, intervals, metrics

pytestmark = pytest.mark.simulation
R, LEAST = 1000, 927
EDGES = np.linspace(-7, 8, 16)


def cell_masses(shift):
    """P and Q of the bins of EDGES for N(shift, 1) and N(0, 1); what lies outside is below
    1e-11.
    """
    return np.diff(norm.cdf(EDGES - shift)), np.diff(norm.cdf(EDGES))


def samples(seed, n1, n2, shift):
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=n1) + shift, rng.normal(size=n2)) for _ in range(R))


@pytest.mark.parametrize(
    "n1, n2, prior, shift",
    [
        (300, 300, 0.5, 0.0),
        (300, 300, 0.5, 0.5),
        (100, 900, 0.5, 1.0),
        (100, 900, 0.1, 1.0),
        (300, 300, 0.2, 2.0),
    ],
)
def test_advantage_of_bins(n1, n2, prior, shift):
    p, q = cell_masses(shift)
    truth = np.abs(prior * p - (1 - prior) * q).sum()
    ends = np.array(
        [bayes.Histogram(x, y, prior, EDGES).advantage() for x, y in samples(1, n1, n2, shift)]
    )
    assert ((ends[:, 1] <= truth + 1e-9) & (truth <= ends[:, 2] + 1e-9)).sum() >= LEAST
    assert ends[:, 0].mean() > truth - 1e-3  # biased upwards, never downwards
    if shift == 0 and prior == 0.5:
        # What the paper prints, W_N -+ t, does not cover: its lower end is meant for the mean of
        # W_N.
        t = np.sqrt(2 / (n1 + n2) * np.log(2 / 0.05))
        hundred = np.linspace(-4, 4, 101)
        plain = [
            bayes.Histogram(x.clip(-4, 4), y.clip(-4, 4), prior, hundred).advantage().value - t
            for x, y in samples(1, n1, n2, shift)
        ]
        assert (np.array(plain) <= 0).sum() < LEAST // 2


def test_advantage_of_a_count_of_bins():
    # The edges are the extremes of the sample; the target is the advantage of the bins that came
    # out.
    covered = 0
    for x, y in samples(2, 150, 250, 1.0):
        query = bayes.Histogram(x, y, 0.4, 10)
        edges = query.edges[0].copy()
        edges[0], edges[-1] = -np.inf, np.inf
        truth = np.abs(0.4 * np.diff(norm.cdf(edges - 1)) - 0.6 * np.diff(norm.cdf(edges))).sum()
        estimate = query.advantage()
        covered += estimate.low <= truth <= estimate.high
    assert covered >= LEAST


@pytest.mark.parametrize(
    "n1, n2, prior, shift, h",
    [(300, 300, 0.5, 0.0, 0.3), (400, 900, 0.4, 1.5, 0.3), (300, 300, 0.5, 0.5, 0.05)],
)
def test_advantage_of_a_kernel(n1, n2, prior, shift, h):
    # The smoothed densities are N(shift, 1 + h^2) and N(0, 1 + h^2).
    sd = np.sqrt(1 + h**2)
    at = np.linspace(-9, 10, 40_001)
    truth = np.abs(prior * norm.pdf(at, shift, sd) - (1 - prior) * norm.pdf(at, 0, sd)).sum() * (
        at[1] - at[0]
    )
    ends = np.array(
        [bayes.KernelDensity(x, y, prior, h).advantage() for x, y in samples(3, n1, n2, shift)]
    )
    assert ((ends[:, 1] <= truth + 1e-6) & (truth <= ends[:, 2] + 1e-6)).sum() >= LEAST
    assert ends[:, 0].mean() > truth - 2e-3
    if shift == 1.5:
        assert (
            ends[:, 1] > abs(1 - 2 * prior)
        ).mean() > 0.2  # the lower limit is not only the trivial one


@pytest.mark.parametrize(
    "n1, n2, prior, shift", [(300, 300, 0.5, 0.0), (100, 900, 0.5, 1.0), (200, 200, 0.2, 2.0)]
)
def test_sign_split(n1, n2, prior, shift):
    p, q = cell_masses(shift)
    truth = np.abs(prior * p - (1 - prior) * q).sum()
    rng = np.random.default_rng(0)
    ends = np.array(
        [
            bayes.sign_split_advantage(x, y, prior, EDGES, rng=rng)
            for x, y in samples(4, n1, n2, shift)
        ]
    )
    assert ((ends[:, 1] <= truth + 1e-9) & (truth <= ends[:, 2] + 1e-9)).sum() >= LEAST
    assert ends[:, 0].mean() < truth + 4 * ends[:, 0].std() / np.sqrt(R)  # no upward bias


@pytest.mark.parametrize(
    "metric",
    [
        metrics.am(0.1),
        metrics.weighted_accuracy(1, 1, 1, 1),
        metrics.ppv(),
        metrics.Metric(0, 2, 0, 0, 0, 0, 2, 1, 1, 0),
    ],
)
def test_generalized_advantage(metric):
    prior, rng = 0.1, np.random.default_rng(1)
    p, q = cell_masses(1.5)
    eta = prior * p / (prior * p + (1 - prior) * q)
    order = np.argsort(-eta)
    tp, fp = np.cumsum(prior * p[order]), np.cumsum((1 - prior) * q[order])
    truth = np.nanmax(
        metric.value(tp, fp, np.maximum(prior - tp, 0), np.maximum(1 - prior - fp, 0))
    )
    covered = 0
    for x, y in samples(5, 200, 600, 1.5):
        estimate = bayes.generalized_advantage(metric, x, y, prior, EDGES, rng=rng)
        covered += estimate.low <= truth <= estimate.high + 1e-12
    assert covered >= LEAST


@pytest.mark.parametrize("n1, n2, prior", [(200, 200, 0.5), (100, 900, 0.1)])
def test_risk_of_bins(n1, n2, prior):
    p, q = cell_masses(1.0)
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    f = (prior * p - (1 - prior) * q) / (prior * p + (1 - prior) * q)
    covered, joint = np.zeros(f.size), 0
    for x, y in samples(6, n1, n2, 1.0):
        query = bayes.Histogram(x, y, prior, EDGES)
        low, high = query.risk_interval(middle)
        covered += (low <= f) & (f <= high)
        alpha = bayes.membership_privacy(query)
        joint += alpha.low <= np.abs(f).max() <= alpha.high
    assert covered.min() >= LEAST
    assert joint >= LEAST


def test_risk_of_a_bernoulli_mixture():
    rates, weights, prior = np.array([[0.2, 0.7], [0.6, 0.4]]), (0.9, 0.1), 0.4
    bits = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    component = np.array([[np.prod(np.where(b == 1, r, 1 - r)) for b in bits] for r in rates])
    p, q = (w * component[1] + (1 - w) * component[0] for w in weights)
    f, truth = (
        (prior * p - (1 - prior) * q) / (prior * p + (1 - prior) * q),
        np.abs(prior * p - (1 - prior) * q).sum(),
    )
    rng = np.random.default_rng(7)
    covered, advantage = np.zeros(4), 0
    for _ in range(R):
        x, y = (
            (rng.random((n, 2)) < rates[(rng.random(n) < w).astype(int)]).astype(float)
            for n, w in zip((150, 350), weights)
        )
        query = bayes.Histogram(x, y, prior, [[-0.5, 0.5, 1.5]] * 2)
        low, high = query.risk_interval(bits)
        covered += (low <= f) & (f <= high)
        estimate = query.advantage()
        advantage += estimate.low <= truth + 1e-9 and truth <= estimate.high + 1e-9
    assert truth > 0.21 and covered.min() >= LEAST and advantage >= LEAST


def test_risk_of_a_kernel_covers_the_smoothed_query_and_not_the_query_itself():
    at = np.array([0.0, 1.5, 3.0])
    n, prior = 1000, 0.5

    def risk(sd):
        p, q = norm.pdf(at, 1, sd), norm.pdf(at, 0, sd)
        return (prior * p - (1 - prior) * q) / (prior * p + (1 - prior) * q)

    wide = np.sqrt(2)
    smoothed, density, itself = np.zeros(3), np.zeros(3), np.zeros(3)
    for x, y in samples(8, n, n, 1.0):
        query = bayes.KernelDensity(x, y, prior, 1.0)
        low, high = query.risk_interval(at)
        smoothed += (low <= risk(wide)) & (risk(wide) <= high)
        _, _, q_low, q_high = query.likelihood_box(at)
        density += (q_low <= norm.pdf(at, 0, wide)) & (norm.pdf(at, 0, wide) <= q_high)
        itself += (q_low <= norm.pdf(at)) & (norm.pdf(at) <= q_high)
    assert smoothed.min() >= LEAST
    assert density.min() >= LEAST
    # Lemma 11 as printed claims p itself: with h = 1 it never covers.
    assert itself.max() < 20


def test_level_of_the_permutation_test():
    rng = np.random.default_rng(10)
    rejected = {"1-d": 0, "2-d": 0}
    for _ in range(R):
        x, y = rng.normal(size=(30, 2)), rng.normal(size=(60, 2))
        rejected["1-d"] += (
            bayes.permutation_p_value(x[:, 0], y[:, 0], bins=20, n_permutations=99, rng=rng) <= 0.05
        )
        rejected["2-d"] += (
            bayes.permutation_p_value(x, y, bins=4, n_permutations=99, rng=rng) <= 0.05
        )
    # Ties can only lower the level. 74 is the 99.9 % quantile of Bin(1000, 0.05).
    assert 10 <= min(rejected.values()) and max(rejected.values()) <= 74
    leaks = np.mean(
        [
            bayes.permutation_p_value(
                rng.normal(size=60) + 1, rng.normal(size=90), bins=10, n_permutations=99, rng=rng
            )
            <= 0.05
            for _ in range(50)
        ]
    )
    assert leaks > 0.9


def test_which_reading_of_delta_halves_makes_a_box():
    # Two-sided limits at delta / 2 for each likelihood hold together in 95 %; at delta each they
    # need not.
    rates, n = (0.1, 0.3), 60
    counts = [
        np.random.default_rng(seed).binomial(n, rate, 20_000) for seed, rate in enumerate(rates)
    ]
    joint = {}
    for level in (0.025, 0.05):
        held = np.ones(20_000, dtype=bool)
        for count, rate in zip(counts, rates):
            low, high = intervals.clopper_pearson(count, n, level)
            held &= (low <= rate) & (rate <= high)
        joint[level] = held.mean()
    assert joint[0.025] >= 0.95 > joint[0.05]
