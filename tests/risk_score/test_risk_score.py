import importlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from mia_lib import data, risk_score
from mia_lib.risk_score import privacy_risk_score

HEADER = ("target_signal", "target_labels", "shadow_signal", "shadow_labels", "shadow_member")


def by_hand(v, y, s, sy, m, prior, bins, log_bins):
    """One record at a time, one bin at a time, with the documented rule for empty bins."""
    out = []
    for value, label in zip(v, y):
        change = (lambda t: math.log(max(t, 1e-10))) if log_bins else float
        pairs = [(change(t), who) for t, c, who in zip(s, sy, m) if c == label]
        low, high = min(t for t, _ in pairs), max(t for t, _ in pairs)
        edges = [low + (high - low) * k / bins for k in range(1, bins)]

        def place(t, edges=edges):
            return sum(t >= e for e in edges)

        counts = [
            [sum(place(t) == b and who == g for t, who in pairs) for g in (True, False)]
            for b in range(bins)
        ]
        n_in = sum(who for _, who in pairs)
        n_out = len(pairs) - n_in
        b = place(change(value))
        for step in range(bins):
            near = [k for k in (b - step, b + step) if 0 <= k < bins and sum(counts[k])]
            if near:
                break
        i, o = counts[near[0]]
        i, o = prior * i / n_in, (1 - prior) * o / n_out
        out.append(i / (i + o))
    return out


@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans(), st.floats(0.05, 0.95))
def test_equals_the_loop(seed, bins, log_bins, prior):
    rng = np.random.default_rng(seed)
    n, m, classes = 12, 25, 2
    labels = np.r_[np.repeat(np.arange(classes), 2), rng.integers(0, classes, m)]
    member = np.r_[np.tile([True, False], classes), rng.random(m) < 0.4]
    shadow = np.exp(rng.normal(size=len(labels)) * rng.choice([0.1, 5])) * (
        rng.random(len(labels)) > 0.1
    )
    target, asked = np.exp(rng.normal(size=n) * 3), rng.integers(0, classes, n)
    found = privacy_risk_score(target, asked, shadow, labels, member, prior, bins, log_bins)
    np.testing.assert_allclose(
        found, by_hand(target, asked, shadow, labels, member, prior, bins, log_bins), rtol=1e-9
    )


def test_no_value_is_lost_at_the_ends():
    """The smallest value has only members in its bin, the largest only non-members, in each of 400
    random ranges.
    """
    rng = np.random.default_rng(0)
    for _ in range(400):
        low, high = np.sort(np.exp(rng.normal(size=2) * 4))
        middle = np.sqrt(low * high)
        shadow = np.array([low, middle, middle, high])
        member = np.array([True, True, False, False])
        score = privacy_risk_score(
            np.array([low, high, low / 2, high * 2]), [0] * 4, shadow, [0] * 4, member
        )
        assert score.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_empty_bins_take_the_nearest_and_of_equals_the_lower():
    shadow, member = np.array([0.0, 0.1, 9.9, 10.0]), np.array([True, True, False, False])
    target = [3.0, 5.0, 7.0]  # five bins of width 2; only the first and the last hold a value
    score = privacy_risk_score(target, [0] * 3, shadow, [0] * 4, member, log_bins=False)
    assert score.tolist() == [1.0, 1.0, 0.0]


def test_a_class_with_one_value_has_the_prior():
    score = privacy_risk_score(
        [1.0, 5.0], [0, 0], [2.0, 2.0, 2.0], [0] * 3, [True, True, False], prior=0.3
    )
    np.testing.assert_allclose(score, 0.3)


def test_sign_and_unit_do_not_matter():
    rng = np.random.default_rng(1)
    shadow, member, target = rng.normal(size=200), rng.random(200) < 0.5, rng.normal(size=50)
    zero = [np.zeros(50, int), np.zeros(200, int)]
    one = privacy_risk_score(target, zero[0], shadow, zero[1], member, log_bins=False)
    scaled = privacy_risk_score(
        3 * target + 2, zero[0], 3 * shadow + 2, zero[1], member, log_bins=False
    )
    np.testing.assert_allclose(one, scaled)


def test_large_shadow_data_give_the_true_posterior():
    """Log-normal signals, shift 1 on the logarithm: the posterior of a bin is known from the normal
    distribution.
    """
    rng = np.random.default_rng(2)
    n, bins = 200_000, 30
    member, labels = rng.random(n) < 0.5, np.zeros(n, int)
    shadow = np.exp(rng.normal(size=n) - member)
    target = np.exp(np.linspace(-2.5, 1.5, 81))
    for prior in (0.1, 0.5, 0.9):
        score = privacy_risk_score(
            target, np.zeros(81, int), shadow, labels, member, prior=prior, bins=bins
        )
        logs = np.log(shadow)
        edges = np.linspace(logs.min(), logs.max(), bins + 1)
        k = np.searchsorted(edges, np.log(target), side="right") - 1
        inside, outside = (
            stats.norm.cdf(edges[k + 1] - at) - stats.norm.cdf(edges[k] - at) for at in (-1, 0)
        )
        np.testing.assert_allclose(
            score, prior * inside / (prior * inside + (1 - prior) * outside), atol=0.02
        )


def test_true_posterior_of_a_known_mixture():
    """Members drawn from one purchase mixture, non-members from another: the log-likelihood ratio
    gives the posterior.
    """
    rng = np.random.default_rng(3)
    inside, outside = (
        data.purchase_mixture(
            40, 3, 1, class_spread=0.4, component_spread=0.15, rng=np.random.default_rng(s)
        )
        for s in (4, 4)
    )
    outside = type(outside)(
        outside.class_weights,
        outside.component_weights,
        special.expit(special.logit(outside.rates) * 0.9),
    )

    def drawn(n):
        member = np.arange(n) < n // 2
        (xi, yi), (xo, yo) = inside.sample(n // 2, rng), outside.sample(n - n // 2, rng)
        x, y = np.r_[xi, xo], np.r_[yi, yo]
        return inside.log_density(x, y) - outside.log_density(x, y), y, member

    shadow, target = drawn(60_000), drawn(20_000)
    score = privacy_risk_score(*target[:2], *shadow, bins=40, log_bins=False)
    truth = special.expit(target[0])
    assert np.sqrt(np.mean((score - truth) ** 2)) < 0.05
    assert risk_score.calibration(score, target[2]).rmse < 0.1


@pytest.mark.simulation
def test_true_posteriors_have_the_rmse_of_the_noise_floor():
    rng, ratio, beyond = np.random.default_rng(5), [], 0
    for _ in range(400):
        score = rng.beta(2, 2, 500)
        member = rng.random(500) < score
        c = risk_score.calibration(
            score, member, member.mean(), rng=rng, n_draws=200
        )  # this prior: no weights
        ratio.append((c.rmse / c.noise_floor) ** 2)
        beyond += c.rmse > c.noise_limit
    assert abs(np.mean(ratio) - 1) < 4 * np.std(ratio) / 20 + 0.01  # the floor is itself drawn
    assert (
        4 <= beyond <= 40
    )  # Binomial(400, 0.05), 99.9 % limits 8 and 35, and the estimated quantile


def test_calibration_curve_by_hand():
    score = np.array([0.3, 0.3, 0.3, 0.3, 0.65, 0.69, 1.0])
    member = np.array([True, False, False, False, True, True, False])
    c = risk_score.calibration(score, member, prior=3 / 7, rng=np.random.default_rng(0))
    np.testing.assert_allclose(c.score, [0.3, 0.67, 1.0])
    np.testing.assert_allclose(c.fraction, [0.25, 1.0, 0.0])
    assert c.count.tolist() == [4, 2, 1]
    np.testing.assert_allclose(c.rmse, math.sqrt((0.05**2 + 0.33**2 + 1) / 3))
    # all outcomes of the six coins that are open, weighed to the expected number of members
    expected, exact = 4 * 0.3 + 0.65 + 0.69 + 1, 0.0
    for coins in itertools.product((0, 1), repeat=6):
        chance = math.prod(p if coin else 1 - p for coin, p in zip(coins, score))
        odds = expected / (7 - expected) * (6 - sum(coins)) / (sum(coins) + 1)
        pairs = (sum(coins[:4]), 4), (sum(coins[4:]), 2)
        found = [k * odds / max(k * odds + n - k, 1e-9) for k, n in pairs]
        exact += chance * ((found[0] - 0.3) ** 2 + (found[1] - 0.67) ** 2) / 3
    # the outcome of seven members has no odds; the library leaves one of them out
    assert abs(c.noise_floor - math.sqrt(exact)) < 0.02
    assert (c.low <= c.fraction).all() and (c.fraction <= c.high).all()


def test_calibration_weighs_by_the_prior():
    """Half of the non-members thrown away and the prior kept: the curve stays where it was."""
    rng = np.random.default_rng(6)
    score = rng.random(400_000)
    member = rng.random(400_000) < score
    kept = member | (rng.random(400_000) < 0.5)
    c = risk_score.calibration(score[kept], member[kept])
    np.testing.assert_allclose(c.fraction, c.score, atol=0.01)
    assert c.rmse < 0.01


def test_overconfident_scores_are_found():
    rng = np.random.default_rng(7)
    truth = rng.beta(2, 2, 4000)
    member = rng.random(4000) < truth
    c = risk_score.calibration(special.expit(4 * special.logit(truth)), member, rng=rng)
    assert c.rmse > 3 * c.noise_limit


def test_precision_and_recall_are_counts():
    score = np.array([1.0, 0.6 - 1e-16, 0.6, 0.2, 1.0, 0.1])
    member = np.array([True, True, False, True, False, False])
    rows = risk_score.precision_recall(score, member, [1.0, 0.6, 0.0])
    assert [row.precision.value for row in rows] == [0.5, 0.5, 0.5]
    assert [row.recall.value for row in rows] == [1 / 3, 2 / 3, 1.0]
    assert rows[0].precision.low < 0.5 < rows[0].precision.high
    nobody = risk_score.precision_recall([0.4, 0.4], [True, False], [0.9])[0]
    assert nobody.precision is None and nobody.recall.value == 0


def test_precision_at_another_prior():
    rng = np.random.default_rng(8)
    score, member = rng.random(1000), rng.random(1000) < 0.3
    row = risk_score.precision_recall(score, member, [0.7], prior=0.1)[0]
    tpr, fpr = (score[member] >= 0.7).mean(), (score[~member] >= 0.7).mean()
    assert math.isclose(row.precision.value, 0.1 * tpr / (0.1 * tpr + 0.9 * fpr))


def test_cumulative_shares():
    values, share = risk_score.cumulative([0.2, 0.9, 0.2, 1.0])
    assert values.tolist() == [0.2, 0.9, 1.0] and share.tolist() == [0.5, 0.75, 1.0]


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.9])
def test_distance_of_true_posteriors_is_variance_over_prior(prior):
    rng = np.random.default_rng(9)
    member = rng.random(400_000) < prior
    score = special.expit(
        rng.normal(size=400_000) * 0
        + special.logit(prior)
        + (z := rng.normal(size=400_000) + member)
        - 0.5
    )
    found = risk_score.distance(score, member, prior)
    assert z.shape == score.shape
    assert abs(found.value - score.var() / prior) < 4 * (found.high - found.low) / 3.92 + 1e-3


@pytest.mark.simulation
def test_interval_of_the_distance_covers():
    rng, covered = np.random.default_rng(10), 0
    # posterior of a unit shift at prior 1/2; the mean over members by quadrature
    z = np.linspace(-9, 10, 20_001)
    truth = np.trapezoid(special.expit(z - 0.5) * stats.norm.pdf(z - 1), z) - 0.5
    for _ in range(1000):
        member = np.arange(200) < 100
        found = risk_score.distance(special.expit(rng.normal(size=200) + member - 0.5), member)
        covered += found.low <= truth <= found.high
    assert covered >= 927


@pytest.mark.simulation
def test_nothing_leaks_gives_scores_around_the_prior():
    """A score fitted on coins says nothing about other coins: members and non-members have the same
    mean score.
    """
    rng, gaps = np.random.default_rng(11), []
    for _ in range(200):
        signal, labels = np.exp(rng.normal(size=(2, 300))), rng.integers(0, 2, (2, 300))
        member = rng.random((2, 300)) < 0.5
        score = privacy_risk_score(signal[0], labels[0], signal[1], labels[1], member[1])
        gaps.append(score[member[0]].mean() - score[~member[0]].mean())
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(200)


def test_bad_input_is_named():
    good = [np.ones(2), [0, 1], np.arange(1.0, 5.0), [0, 0, 1, 1], [True, False, True, False]]

    def call(*changes, **options):
        arguments = dict(zip(HEADER, good)) | dict(changes)
        return privacy_risk_score(**arguments, **options)

    assert call().shape == (2,)
    for changes, options, message in (
        ([("target_labels", [0, 3])], {}, "shadow_labels: given no example of class 3"),
        (
            [("shadow_member", [True, False, True, True])],
            {},
            "only members or only non-members in class 1",
        ),
        ([("target_signal", [-1.0, 1.0])], {}, "target_signal: given a smallest value of -1"),
        (
            [("shadow_signal", [-1.0, 1.0, 1.0, 1.0])],
            {},
            "shadow_signal: given a smallest value of -1",
        ),
        ([("target_signal", [np.nan, 1.0])], {}, "NaN"),
        ([("shadow_labels", [0, 0, 1])], {}, "shadow_labels: given shape"),
        ([("target_labels", [0, -1])], {}, "smallest label -1"),
        ([], {"prior": 0.0}, "prior"),
        ([], {"bins": 0}, "bins"),
    ):
        with pytest.raises(ValueError, match=message):
            call(*changes, **options)
    for function in (risk_score.calibration, risk_score.precision_recall, risk_score.distance):
        with pytest.raises(ValueError, match=r"score: given values from 0.1 to 1.1"):
            function([0.1, 1.1], [True, False])
        with pytest.raises(ValueError, match="member"):
            function([0.1, 0.2], [False, False])
    with pytest.raises(ValueError, match="thresholds"):
        risk_score.precision_recall([0.1, 0.2], [True, False], [2])
    with pytest.raises(ValueError, match="at least one"):
        risk_score.cumulative([])


CURVES = (risk_score.calibration, risk_score.precision_recall, risk_score.distance)
TWO = [0.2, 0.6, 0.7], [True, True, False]


@pytest.mark.parametrize("function", CURVES)
@pytest.mark.parametrize(
    ("score", "member", "options", "name"),
    [
        ([[0.2, 0.6]], [[True, False]], {}, "score"),
        ([np.nan, 0.6, 0.1], TWO[1], {}, "score"),
        ([-0.1, 0.6, 0.1], TWO[1], {}, "score"),
        (TWO[0], [True, False], {}, "member"),
        (TWO[0], [True, True, False, False], {}, "member"),
        (TWO[0], [0.0, 1.0, 2.0], {}, "member"),
        (TWO[0], [False] * 3, {}, "member"),
        (*TWO, {"prior": 0}, "prior"),
        (*TWO, {"prior": 1}, "prior"),
        (*TWO, {"delta": 0}, "delta"),
    ],
)
def test_each_argument_is_named(function, score, member, options, name):
    with pytest.raises(ValueError, match=f"^{name}: given"):
        function(score, member, **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"bins": 0}, "bins"),
        ({"bins": 2.5}, "bins"),
        ({"n_draws": 0}, "n_draws"),
        ({"rng": 1}, "rng"),
    ],
)
def test_each_option_of_a_calibration_is_named(options, name):
    with pytest.raises(ValueError, match=f"^{name}: given"):
        risk_score.calibration(*TWO, **options)


def test_smallest_arguments():
    """Probabilities of 0 and 1, one bin, one draw."""
    score, member = [0.0, 1.0, 1.0, 0.0], [False, True, True, False]
    c = risk_score.calibration(score, member, bins=1, n_draws=1)
    assert c.count.tolist() == [4] and c.rmse == 0
    assert risk_score.precision_recall(score, member, [0])[0].precision.value == 0.5
    assert risk_score.precision_recall(score, member, [1])[0].precision.value == 1
    assert risk_score.distance(score, member).value == 0.5
    for thresholds in ([-0.1], [1.1]):
        with pytest.raises(ValueError, match="^thresholds: given"):
            risk_score.precision_recall(score, member, thresholds)
    for wrong in ([[0.1, 0.2]], [np.nan], []):
        with pytest.raises(ValueError, match="^score: given"):
            risk_score.cumulative(wrong)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"target_signal": [[1.0, 2.0]]}, "target_signal"),
        ({"target_signal": [np.inf, 2.0]}, "target_signal"),
        ({"target_signal": [-1.0, 2.0]}, "target_signal"),
        ({"target_labels": [0, 0, 0]}, "target_labels"),
        ({"target_labels": [0, 0.5]}, "target_labels"),
        ({"shadow_signal": [[1.0] * 4]}, "shadow_signal"),
        ({"shadow_signal": [1.0, 2.0, np.nan, 3.0]}, "shadow_signal"),
        ({"shadow_labels": [0, 0, 1]}, "shadow_labels"),
        ({"shadow_labels": [0, 0, 1, -1]}, "shadow_labels"),
        ({"shadow_member": [True, False, True]}, "shadow_member"),
        ({"shadow_member": [0.0, 2.0, 0.0, 1.0]}, "shadow_member"),
        ({"prior": 1}, "prior"),
        ({"bins": 0}, "bins"),
        ({"bins": 1.5}, "bins"),
    ],
)
def test_each_argument_of_the_score_is_named(change, name):
    good = [1.0, 2.0], [0, 0], np.arange(1.0, 5.0), [0, 0, 1, 1], [True, False, True, False]
    with pytest.raises(ValueError, match=f"^{name}: given"):
        privacy_risk_score(**dict(zip(HEADER, good)) | change)


def test_a_value_on_an_inner_edge_belongs_to_the_bin_above():
    shadow, member = [0.0, 5.0, 10.0], [False, True, False]
    score = privacy_risk_score([4.9, 5.0], [0, 0], shadow, [0] * 3, member, bins=2, log_bins=False)
    np.testing.assert_allclose(score, [0, 2 / 3])  # 1 of 1 members, 1 of 2 non-members above


def test_a_bin_with_as_many_of_either_group_is_not_empty():
    shadow, member = [0.0, 0.0, 9.0, 9.0, 9.0, 9.0], [True, False] * 3
    score = privacy_risk_score([0.0, 9.0], [0, 0], shadow, [0] * 6, member, log_bins=False)
    np.testing.assert_allclose(score, 0.5)


def test_signals_of_zero_count_as_the_smallest():
    shadow, member = [0.0, 1e-10, 1e-12, 1.0], [True, True, False, False]
    score = privacy_risk_score([0.0, 1e-11, 1.0], [0] * 3, shadow, [0] * 4, member, bins=2)
    np.testing.assert_allclose(score, [2 / 3, 2 / 3, 0])


def exact_noise(scores_and_counts, factor):
    """Of two bins with one score each: what the squared errors (fraction - score)^2 together may
    be, and how often, if each record is a member with the chance that its score has in the sample,
    and members are weighed by how many of them there are.
    """
    (one, n), (other, m) = scores_and_counts
    chances = [s / factor / (1 - s + s / factor) for s in (one, other)]
    expected = chances[0] * n + chances[1] * m
    found = []
    for k in range(n + 1):
        for j in range(m + 1):
            members = min(max(k + j, 1), n + m - 1)
            odds = factor * expected / (n + m - expected) * (n + m - members) / members
            gaps = [c * odds / (c * odds + 1 - c) - s for c, s in ((k / n, one), (j / m, other))]
            mass = stats.binom.pmf(k, n, chances[0]) * stats.binom.pmf(j, m, chances[1])
            found.append((gaps[0] ** 2 + gaps[1] ** 2, mass))
    return np.array(found).T


def test_calibration_at_another_prior_by_hand():
    """Two bins, a sample with 30 members and 50 non-members, and the prior 0.2: members weigh
    (0.2 / 30) to (0.8 / 50) of non-members.
    """
    score = np.repeat([0.15, 0.65], [50, 30])
    member = np.r_[np.arange(50) < 10, np.arange(30) < 20]
    c = risk_score.calibration(
        score, member, 0.2, delta=0.1, n_draws=40_000, rng=np.random.default_rng(0)
    )
    factor = 0.2 / 30 / (0.8 / 50)
    want = [[], [], []]
    for k, n in ((10, 50), (20, 30)):
        limits = stats.binomtest(k, n).proportion_ci(0.9, "exact")
        for found, share in zip(want, (k / n, limits.low, limits.high)):
            found.append(share * factor / (share * factor + 1 - share))
    np.testing.assert_allclose([c.fraction, c.low, c.high], want, rtol=1e-8)
    gaps = np.array(want[0]) - [0.15, 0.65]
    assert c.rmse == pytest.approx(np.sqrt((gaps**2).mean()), rel=1e-9)
    squares, mass = exact_noise(((0.15, 50), (0.65, 30)), factor)
    assert c.noise_floor == pytest.approx(np.sqrt(squares @ mass / 2), rel=0.01)
    noise, order = np.sqrt(squares / 2), np.argsort(squares)
    beyond = 1 - np.cumsum(mass[order])
    assert c.noise_limit == pytest.approx(noise[order][(beyond <= 0.1).argmax()], rel=0.02)


def test_noise_is_the_same_in_small_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    score, member = rng.random(30), rng.random(30) < 0.5

    def drawn():
        return risk_score.calibration(score, member, n_draws=10, rng=np.random.default_rng(2))

    whole = drawn()
    module = importlib.import_module("mia_lib.risk_score.calibration")  # not the function
    for block in (1, 65, 95):
        monkeypatch.setattr(module, "BLOCK", block)
        for one, other in zip(drawn(), whole):
            np.testing.assert_array_equal(one, other)


def test_what_rounding_put_below_an_edge_belongs_above_it():
    score = np.array([0.6 - 1e-13, 0.65, 0.6 - 1e-11, 0.55, 1.0])
    member = np.array([True, False, True, False, True])
    c = risk_score.calibration(score, member, rng=np.random.default_rng(0))
    assert c.count.tolist() == [2, 2, 1]
    np.testing.assert_allclose(c.score, [0.575, 0.625, 1.0])
    row = risk_score.precision_recall(score, member, [0.6])[0]
    assert row.recall.value == pytest.approx(2 / 3)  # 0.6 - 1e-13 and 1
    assert row.precision.value == pytest.approx(2 * 2 / (2 * 2 + 1 * 3))  # at prior 1 / 2


def test_intervals_of_precision_and_recall_by_hand():
    """70 of 100 called are members; 140 members and 60 others in the sample, prior 0.25."""
    score = np.repeat([0.9, 0.1], 100)
    member = np.r_[np.arange(100) < 70, np.arange(100) < 70]
    row = risk_score.precision_recall(score, member, [0.5], prior=0.25, delta=0.1)[0]
    called = stats.binomtest(70, 100).proportion_ci(0.9, "exact")
    found = stats.binomtest(70, 140).proportion_ci(0.9, "exact")
    np.testing.assert_allclose(row.recall, [0.5, found.low, found.high], rtol=1e-8)
    weigh = [s * 0.25 / 140 / (s * 0.25 / 140 + (1 - s) * 0.75 / 60) for s in (0.7, *called)]
    np.testing.assert_allclose(row.precision, weigh, rtol=1e-8)
    assert row.threshold == 0.5


def test_distance_in_closed_form():
    """Three members: Student's quantile with two degrees of freedom is a root."""
    score, member = [0.2, 0.5, 0.8, 0.1], [True, True, True, False]
    for delta, options in ((0.05, {}), (0.3, {"delta": 0.3})):
        found = risk_score.distance(score, member, 0.3, **options)
        tail = delta / 2
        half = (1 - 2 * tail) / np.sqrt(2 * tail * (1 - tail)) * 0.3 / np.sqrt(3)
        np.testing.assert_allclose(found, [0.2, 0.2 - half, 0.2 + half], rtol=1e-9)
    assert risk_score.distance([0.2, 0.6], [True, True]).value == pytest.approx(-0.1)


def test_defaults_are_the_documented_ones():
    rng = np.random.default_rng(4)
    shadow, target = np.exp(3 * rng.normal(size=(2, 60)))
    labels, member = np.arange(60) % 2, rng.random(60) < 0.5
    rows = target, labels, shadow, labels, member
    np.testing.assert_array_equal(
        privacy_risk_score(*rows), privacy_risk_score(*rows, 0.5, 5, True)
    )
    np.testing.assert_allclose(privacy_risk_score(*rows), by_hand(*rows, 0.5, 5, True), rtol=1e-9)
    score = rng.random(60)
    options = dict(prior=0.5, bins=10, delta=0.05, n_draws=500)
    found, named = (
        risk_score.calibration(score, member, rng=np.random.default_rng(0), **given)
        for given in ({}, options)
    )
    for one, other in zip(found, named):
        np.testing.assert_array_equal(one, other)
    rows = risk_score.precision_recall(score, member)
    assert [row.threshold for row in rows] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    assert rows == risk_score.precision_recall(
        score, member, (1.0, 0.9, 0.8, 0.7, 0.6, 0.5), prior=0.5, delta=0.05
    )
