"""Lower bounds of epsilon against scipy's limits, literal sums and linear programmes; their
coverage on mechanisms of known epsilon.
"""

import functools
import itertools
from math import comb

import numpy as np
import pytest
from scipy import optimize, stats

from mia_lib import bayes, privacy

R = 1000
LEAST = 927  # of R intervals that cover in 95 %, fewer do so once in a thousand times
RATE, STEPS = 64 / 898, 281


def one_sided(k, n, delta, side):
    interval = stats.binomtest(k, n, alternative=side).proportion_ci(1 - delta, "exact")
    return interval.low if side == "greater" else interval.high


def test_names_in_bayes_are_the_same_functions():
    assert bayes.epsilon_lower_bound is privacy.epsilon_lower_bound
    assert bayes.epsilon_lower_bound_one_run is privacy.epsilon_lower_bound_one_run


@pytest.mark.parametrize(
    "tp, n1, fp, n2", [(900, 1000, 20, 1000), (50, 50, 0, 60), (30, 100, 25, 100), (0, 10, 0, 10)]
)
@pytest.mark.parametrize("dp_delta", [0.0, 0.01])
def test_many_trainings_by_scipys_clopper_pearson(tp, n1, fp, n2, dp_delta):
    low, high = one_sided(tp, n1, 0.025, "greater"), one_sided(fp, n2, 0.025, "less")
    expected = max(0.0, np.log(max(low - dp_delta, 1e-300) / high))
    assert privacy.epsilon_lower_bound(tp, n1, fp, n2, dp_delta=dp_delta) == pytest.approx(
        expected, abs=1e-9
    )


def test_stated_caps():
    assert privacy.epsilon_lower_bound(1000, 1000, 0, 1000) == pytest.approx(5.6, abs=0.05)
    assert privacy.epsilon_lower_bound_one_run(1000, 1000) == pytest.approx(5.8, abs=0.05)
    share = one_sided(700, 1000, 0.05, "greater")
    assert privacy.epsilon_lower_bound_one_run(700, 1000) == pytest.approx(
        np.log(share / (1 - share))
    )
    for correct in (0, 5):
        assert privacy.epsilon_lower_bound_one_run(correct, 10) == 0
        assert privacy.epsilon_lower_bound_f_dp(correct, 10) == 0


@pytest.mark.parametrize("guesses", [1, 2, 5, 10, 31])
def test_right_guesses_one_by_one(guesses):
    rng = np.random.default_rng(3)
    scores, member = rng.random((4, 31)), rng.random((4, 31)) < 0.5
    for found, row, coins in zip(privacy.right_guesses(scores, member, guesses), scores, member):
        order = sorted(range(31), key=lambda i: row[i])
        out = [not coins[i] for i in order[: guesses // 2]]
        inside = [coins[i] for i in order[::-1][: guesses - guesses // 2]]
        assert found == sum(out) + sum(inside)
        assert found == privacy.right_guesses(row, coins, guesses)


@pytest.mark.parametrize("guesses", range(1, 7))
def test_right_guesses_of_ties_are_the_fewest_over_all_their_orders(guesses):
    rng = np.random.default_rng(5)
    scores, member = rng.integers(0, 3, (20, 6)), rng.random((20, 6)) < 0.5
    found = privacy.right_guesses(scores, member, guesses)
    out = guesses // 2
    for got, row, coins in zip(found, scores, member):
        counts = []
        for order in itertools.permutations(range(6)):
            if all(row[i] <= row[j] for i, j in itertools.pairwise(order)):
                wrong = sum(coins[i] for i in order[:out])
                counts.append(out - wrong + sum(coins[i] for i in order[6 - (guesses - out) :]))
        assert got == min(counts)


def test_ties_certify_nothing_where_nothing_leaks():
    """A confidence that saturates for three in ten, members or not, in rows sorted by the coins."""
    rng, wrong = np.random.default_rng(6), 0
    for _ in range(200):
        coins = np.sort(rng.random(1000) < 0.5)
        scores = np.where(rng.random(1000) < 0.3, 1.0, 0.99 * rng.random(1000))
        right = int(privacy.right_guesses(scores, coins, 200))
        wrong += privacy.epsilon_lower_bound_one_run(right, 200) > 0
    assert wrong <= stats.binom.ppf(0.999, 200, 0.05)
    assert privacy.right_guesses(np.ones(1000), np.arange(1000) >= 500, 1000) == 0


def test_right_guesses_of_scores_that_tell_all_or_nothing():
    coins = np.random.default_rng(4).random((2000, 40)) < 0.5
    balanced = np.arange(40) < 20
    assert privacy.right_guesses(balanced.astype(float), balanced, 30) == 30
    assert privacy.right_guesses(-balanced.astype(float), balanced, 30) == 0
    found = privacy.right_guesses(np.tile(np.arange(40), (2000, 1)), coins, 20)
    assert abs(found.mean() - 10) < 5 * np.sqrt(5 / 2000)


def literal_probability(correct, guesses, canaries, epsilon, dp_delta):
    """Steinke et al.'s limit of Pr(so many right guesses), sum by sum."""
    right = np.exp(epsilon) / (1 + np.exp(epsilon))

    def exactly(k):
        return comb(guesses, k) * right**k * (1 - right) ** (guesses - k)

    beta = sum(exactly(k) for k in range(correct, guesses + 1))
    alpha = max(
        sum(exactly(k) for k in range(correct - i, correct)) / i for i in range(1, correct + 1)
    )
    return beta + 2 * canaries * dp_delta * alpha


@pytest.mark.parametrize(
    "correct, guesses, canaries, dp_delta",
    [(90, 100, 1000, 1e-5), (90, 100, 1000, 1e-4), (49, 50, 5000, 1e-5), (140, 200, 200, 1e-3)],
)
def test_one_run_with_delta_by_the_literal_sums(correct, guesses, canaries, dp_delta):
    options = dict(dp_delta=dp_delta, canaries=canaries)
    found = privacy.epsilon_lower_bound_one_run(correct, guesses, **options)
    at = [
        literal_probability(correct, guesses, canaries, found + step, dp_delta)
        for step in (-1e-3, 0.0, 1e-3)
    ]
    assert at[0] < at[1] <= 0.05 < at[2]
    assert found < privacy.epsilon_lower_bound_one_run(correct, guesses)
    # a training that may give everything away says nothing
    assert privacy.epsilon_lower_bound_one_run(100, 100, dp_delta=0.1, canaries=100) == 0


def largest_probability(lines, correct, guesses, canaries):
    """The largest Pr(c or more right) over all laws of the number of right guesses whose rates
    stay below every line (slope, intercept) of a trade-off curve, by a linear programme.
    """
    j, rows, limits = np.arange(guesses + 1), [], []
    for i in range(guesses):
        tpr = np.where(j > i, j, 0) / canaries
        fpr = np.where(j >= i, guesses - j, 0) / canaries
        for slope, intercept in lines:
            rows.append(tpr - slope * fpr)
            limits.append(intercept)
    found = optimize.linprog(
        -(j >= correct).astype(float), rows, limits, np.ones((1, guesses + 1)), [1], bounds=(0, 1)
    )
    return -found.fun


@pytest.mark.parametrize(
    "correct, guesses, canaries", [(9, 10, 10), (15, 20, 60), (20, 20, 40), (12, 16, 16)]
)
@pytest.mark.parametrize("epsilon, dp_delta", [(0.5, 0.0), (1.0, 0.01)])
def test_excluded_by_a_linear_programme(correct, guesses, canaries, epsilon, dp_delta):
    lines = [(np.exp(epsilon), dp_delta), (np.exp(-epsilon), 1 - np.exp(-epsilon) * (1 - dp_delta))]
    most = largest_probability(lines, correct, guesses, canaries)
    pair = privacy.approximate(epsilon, dp_delta)
    for factor, expected in ((0.999, False), (1.001, True)):
        if factor * most < 1:
            assert (
                privacy.excluded(pair, correct, guesses, canaries=canaries, delta=factor * most)
                == expected
            )


def test_excluded_by_a_linear_programme_for_a_gaussian():
    # Tangents from above: what they permit is a little more than what the curve permits.
    mu, (correct, guesses, canaries) = 1.0, (18, 20, 50)
    where = stats.norm.cdf(np.linspace(-6, 5, 150))
    slope = np.exp(-mu * stats.norm.ppf(where) - mu**2 / 2)
    lines = list(zip(slope, stats.norm.cdf(stats.norm.ppf(where) + mu) - slope * where))
    most = largest_probability(lines, correct, guesses, canaries)
    claim = functools.partial(
        privacy.excluded, privacy.gaussian(mu), correct, guesses, canaries=canaries
    )
    assert claim(delta=most) and not claim(delta=0.99 * most)


@pytest.mark.parametrize("noise", [0.8, 2.0])
def test_a_fair_coin_meets_the_mean_of_both_directions(noise):
    found = privacy.subsampled_gaussian(noise, 0.1, 100)
    fpr = np.concatenate([np.logspace(-9, -2, 700), np.linspace(0.01, 1, 700)])
    one = fpr, found.tpr_at(fpr)
    other = (1 - one[1])[::-1], (1 - one[0])[::-1]  # exchange the hypotheses
    for wanted in (0.05, 0.3, 0.7):
        # the least mean FPR of two tests, one on each curve, with this mean TPR
        second = 2 * wanted - one[1]
        mean = (one[0] + np.interp(second, other[1], other[0])) / 2
        least = mean[(second >= 0) & (second <= 1)].min()
        ours = float(found._fpr(wanted))
        assert ours <= least + 1e-9 and ours == pytest.approx(least, rel=0.02)
    np.testing.assert_allclose(
        privacy.gaussian(1.0)._fpr(privacy.gaussian(1.0).tpr_at([0.01, 0.5])), [0.01, 0.5]
    )
    pair = privacy.approximate(1.0, 0.05)
    np.testing.assert_allclose(pair._fpr(pair.tpr_at([0.01, 0.2, 0.5])), [0.01, 0.2, 0.5])


def test_f_dp_bound_is_where_the_family_is_no_longer_excluded():
    found = privacy.epsilon_lower_bound_f_dp(95, 100, 1000)
    mu = optimize.brentq(lambda mu: privacy.gaussian(mu).epsilon(1e-5) - found, 0.01, 5)
    for factor, expected in ((0.999, True), (1.001, False)):
        claim = privacy.gaussian(factor * mu)
        assert privacy.excluded(claim, 95, 100, canaries=1000) == expected
    # one pair alone is a weaker premise
    pairs = privacy.epsilon_lower_bound_f_dp(
        95, 100, 1000, family=lambda epsilon: privacy.approximate(epsilon, 1e-5)
    )
    assert 0 < pairs < found
    assert pairs == pytest.approx(
        privacy.epsilon_lower_bound_one_run(95, 100, dp_delta=1e-5, canaries=1000), rel=0.15
    )


@pytest.mark.parametrize("scale", [1e-3, 0.1, 30.0, 2000.0, 3e4])
@pytest.mark.parametrize("correct", [64, 80, 95])
def test_f_dp_bound_does_not_ask_how_a_family_is_numbered(correct, scale):
    found = privacy.epsilon_lower_bound_f_dp(
        correct, 100, 1000, family=lambda number: privacy.gaussian(scale * number)
    )
    assert found > 0
    assert found == pytest.approx(privacy.epsilon_lower_bound_f_dp(correct, 100, 1000), rel=1e-3)


def test_f_dp_bound_of_a_guarantee_that_is_almost_none():
    """270 of 500 exclude a mu of 1e-4 and not one of 1e-3: the bound lies between, and not at 0."""
    found = privacy.epsilon_lower_bound_f_dp(270, 500)
    assert privacy.excluded(privacy.gaussian(1e-4), 270, 500)
    assert not privacy.excluded(privacy.gaussian(1e-3), 270, 500)
    mu = optimize.brentq(lambda mu: privacy.gaussian(mu).epsilon(1e-5) - found, 1e-4, 1e-3)
    for factor, expected in ((0.999, True), (1.001, False)):
        assert privacy.excluded(privacy.gaussian(factor * mu), 270, 500) == expected
    assert privacy.epsilon_lower_bound_f_dp(269, 500) == 0
    assert not privacy.excluded(privacy.gaussian(1e-9), 269, 500)


def in_and_out(scores, coins, guesses):
    """How many of the surest guesses are right, half of them "in" and half "out"."""
    order, half = np.argsort(scores), guesses // 2
    return int((~coins[order[:half]]).sum() + coins[order[-half:]].sum())


@pytest.mark.simulation
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_coverage_on_randomised_response(epsilon):
    rng = np.random.default_rng(11)
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    held = one_run = reached = 0
    for _ in range(R):
        tp, fp, right = (
            rng.binomial(200, keep),
            rng.binomial(200, 1 - keep),
            rng.binomial(400, keep),
        )
        bound = privacy.epsilon_lower_bound(int(tp), 200, int(fp), 200)
        held += bound <= epsilon
        reached += bound > epsilon / 2
        one_run += privacy.epsilon_lower_bound_one_run(int(right), 400) <= epsilon
    assert held >= LEAST and one_run >= LEAST
    if epsilon:
        assert reached > R / 2


@pytest.mark.simulation
@pytest.mark.parametrize("together", [False, True])
def test_coverage_with_delta(together):
    # Randomised response that gives the bits away with probability delta: each by itself, or all.
    rng, epsilon, dp_delta, m = np.random.default_rng(12), 1.0, 0.01, 100
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    steinke = functools.cache(
        lambda k: privacy.epsilon_lower_bound_one_run(k, m, dp_delta=dp_delta, canaries=m)
    )
    pairs = privacy.approximate(epsilon, dp_delta)
    by_curve = functools.cache(lambda k: privacy.excluded(pairs, k, m))
    held = kept = 0
    for _ in range(R):
        seen = rng.random(1 if together else m) < dp_delta
        right = int((seen | (rng.random(m) < keep)).sum())
        held += steinke(right) <= epsilon
        kept += not by_curve(right)
    assert held >= LEAST and kept >= LEAST


@pytest.mark.simulation
@pytest.mark.parametrize("mu, canaries, guesses", [(0.5, 400, 100), (1.5, 1000, 100)])
def test_coverage_on_a_gaussian_mechanism(mu, canaries, guesses):
    rng, truth = np.random.default_rng(13), float(privacy.gaussian(mu).epsilon(1e-5))
    curve = functools.cache(lambda k: privacy.epsilon_lower_bound_f_dp(k, guesses, canaries))
    pair = functools.cache(
        lambda k: privacy.epsilon_lower_bound_one_run(k, guesses, dp_delta=1e-5, canaries=canaries)
    )
    bounds = []
    for _ in range(R):
        coins = rng.random(canaries) < 0.5
        right = in_and_out(rng.normal(mu * coins), coins, guesses)
        bounds.append((curve(right), pair(right)))
    bounds = np.array(bounds)
    assert ((bounds <= truth).sum(0) >= LEAST).all()
    assert bounds[:, 0].mean() > bounds[:, 1].mean()
    if mu > 1:
        assert np.median(bounds[:, 0]) > truth / 2


@functools.cache
def ideal_scores(noise, canaries, runs):
    """Coins and log likelihood ratios of orthogonal canaries that are read in every step."""
    rng, found = np.random.default_rng([14, canaries]), []
    for _ in range(runs):
        coins, score = rng.random(canaries) < 0.5, np.zeros(canaries)
        for _ in range(STEPS):
            seen = (rng.random(canaries) < RATE) * coins + noise * rng.normal(size=canaries)
            score += np.log1p(RATE * np.expm1((2 * seen - 1) / (2 * noise**2)))
        found.append((coins, score))
    return found


@pytest.mark.simulation
@pytest.mark.parametrize(
    "canaries, guesses, steinke, f_dp",
    [
        (1000, 50, 1.38, 1.85),
        (4000, 200, None, 2.54),
        (5000, 200, 1.83, None),
        (9000, 500, 1.89, None),
    ],
)
def test_ideal_canaries_of_the_chapter_s_training(canaries, guesses, steinke, f_dp):
    runs = ideal_scores(1.5, canaries, 20)
    right = [in_and_out(score, coins, guesses) for coins, score in runs]
    for expected, one in (
        (
            steinke,
            lambda k: privacy.epsilon_lower_bound_one_run(
                k, guesses, dp_delta=1e-5, canaries=canaries
            ),
        ),
        (f_dp, lambda k: privacy.epsilon_lower_bound_f_dp(k, guesses, canaries)),
    ):
        if expected is not None:
            found = np.array([one(k) for k in right])
            # those values are means of few simulated trainings: within the spread of a single one
            assert abs(found.mean() - expected) < found.std(ddof=1)


@pytest.mark.simulation
def test_level_on_the_subsampled_mechanism_itself():
    claim, guesses = privacy.subsampled_gaussian(1.5, RATE, STEPS), 100
    judged = functools.cache(lambda k: privacy.excluded(claim, k, guesses, canaries=1000))
    wrong = sum(
        judged(in_and_out(score, coins, guesses)) for coins, score in ideal_scores(1.5, 1000, 100)
    )
    assert wrong <= stats.binom.ppf(0.999, 100, 0.05)
    stronger = privacy.subsampled_gaussian(4.0, RATE, STEPS)
    caught = [
        privacy.excluded(stronger, in_and_out(score, coins, guesses), guesses, canaries=1000)
        for coins, score in ideal_scores(1.5, 1000, 100)
    ]
    assert np.mean(caught) > 0.9


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: privacy.epsilon_lower_bound(11, 10, 0, 10), "true_positives: given 11"),
        (lambda: privacy.epsilon_lower_bound(1, 10, 0.5, 10), "false_positives: given 0.5"),
        (lambda: privacy.epsilon_lower_bound(1, 10, 0, 0), "negatives: given 0"),
        (lambda: privacy.epsilon_lower_bound(1, 10, 0, 10, delta=0), "delta"),
        (lambda: privacy.epsilon_lower_bound(1, 10, 0, 10, dp_delta=1), "dp_delta"),
        (lambda: privacy.epsilon_lower_bound_one_run(11, 10), "correct: given 11"),
        (lambda: privacy.epsilon_lower_bound_one_run(1, 10, 1.0), "delta"),
        (lambda: privacy.epsilon_lower_bound_one_run(1, 10, dp_delta=0.1), "canaries: given None"),
        (lambda: privacy.epsilon_lower_bound_one_run(1, 10, canaries=9), "canaries: given 9"),
        (
            lambda: privacy.epsilon_lower_bound_one_run(1, 10, dp_delta=-0.1, canaries=10),
            "dp_delta: given -0.1",
        ),
        (lambda: privacy.epsilon_lower_bound_f_dp(5, 10, 9), "canaries: given 9"),
        (lambda: privacy.epsilon_lower_bound_f_dp(11, 10), "correct: given 11"),
        (lambda: privacy.epsilon_lower_bound_f_dp(5, 10, dp_delta=0.0), "dp_delta: given 0.0"),
        (lambda: privacy.right_guesses([1, 2], [True], 1), "member: given shape"),
        (lambda: privacy.right_guesses([1, np.nan], [True, False], 1), "scores: given 1 NaN"),
        (lambda: privacy.right_guesses([1, 2], [True, False], 3), "guesses: given 3"),
        (lambda: privacy.right_guesses([1, 2], [True, False], 0), "guesses: given 0"),
        (lambda: privacy.excluded(1.0, 5, 10), "guarantee: given float"),
        (
            lambda: privacy.epsilon_lower_bound_f_dp(90, 100, family=lambda number: number),
            "family: given one that returns float",
        ),
        (lambda: privacy.excluded(privacy.gaussian(1.0), 5, 10, delta=1.0), "delta: given 1.0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
