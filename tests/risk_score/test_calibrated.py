"""The shrunken score, both errors of calibration, cross-fitted probabilities, Venn-Abers pairs."""

import numpy as np
import pytest
from scipy import special
from sklearn.isotonic import IsotonicRegression

from mia_lib import risk_score


def shrunken_by_hand(target, asked, shadow, labels, member, prior, bins):
    """A loop over classes and bins; the beta-binomial likelihood from gamma functions."""
    edges = np.quantile(shadow, np.arange(1, bins) / bins)
    place = [sum(v >= e for e in edges) for v in shadow]
    pooled = [
        (sum(m for m, b in zip(member, place) if b == k) + 0.5) / (place.count(k) + 1)
        for k in range(bins)
    ]
    base = special.logit(np.mean(member))
    cells, shift = {}, {}
    for c in sorted(set(labels)):
        own = [(m, b) for m, b, y in zip(member, place, labels) if y == c]
        n_in = sum(m for m, _ in own)
        shift[c] = np.log(n_in / (len(own) - n_in)) - base
        for k in range(bins):
            some = [m for m, b in own if b == k]
            cells[c, k] = sum(some), len(some), special.expit(special.logit(pooled[k]) + shift[c])

    def minus_log_likelihood(log_kappa):
        kappa, total = np.exp(log_kappa), 0.0
        for k, n, mean in cells.values():
            a, b = kappa * mean, kappa * (1 - mean)
            total -= special.betaln(k + a, n - k + b) - special.betaln(a, b)
        return total

    grid = np.linspace(np.log(0.1), np.log(1e6), 2000)
    kappa = np.exp(grid[np.argmin([minus_log_likelihood(g) for g in grid])])
    out = []
    for v, c in zip(target, asked):
        k, n, mean = cells[c, sum(v >= e for e in edges)]
        log_odds = special.logit((k + kappa * mean) / (n + kappa)) - shift[c] - base
        out.append(special.expit(log_odds + special.logit(prior)))
    return out


@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_shrunken_score_by_hand(prior):
    rng = np.random.default_rng(0)
    labels, member = np.arange(300) % 3, rng.random(300) < 0.4
    level = np.array([0.0, 1.0, 2.0])
    shadow = level[labels] + rng.normal(size=300) - member
    asked = np.arange(30) % 3
    target = level[asked] + rng.normal(size=30)
    found = risk_score.shrunken_risk_score(
        target, asked, shadow, labels, member, prior=prior, bins=5
    )
    truth = shrunken_by_hand(target, asked, shadow, labels, member, prior, 5)
    np.testing.assert_allclose(found, truth, atol=2e-3)


def classes_of_their_own(rng, n, level, spread=0.7):
    """Signals of n records, half members, and their true posterior."""
    labels, member = rng.integers(0, len(level), n), np.arange(n) < n // 2
    shift = np.abs(1 + spread * np.cos(np.arange(len(level))))  # what a class gives away
    x = level[labels] + rng.normal(size=n) - shift[labels] * member
    truth = special.expit(-shift[labels] * (x - level[labels]) - shift[labels] ** 2 / 2)
    return x, labels, member, truth


@pytest.mark.simulation
@pytest.mark.parametrize(("records", "most"), [(600, 1.02), (2000, 0.97), (6000, 0.97)])
def test_shrinking_comes_nearer_to_the_truth_than_either_histogram(records, most):
    """Thirty classes that differ: class histograms are noise, one histogram is biased. With twenty
    records a class it can only be as good as the one.
    """
    rng, error = np.random.default_rng(1), []
    for _ in range(10):
        level = 0.6 * rng.normal(size=30)
        *known, _ = classes_of_their_own(rng, records, level)
        x, y, _, truth = classes_of_their_own(rng, 2000, level)
        nobody, none = np.zeros(len(x), int), np.zeros(records, int)
        scores = (
            risk_score.shrunken_risk_score(x, y, *known),
            risk_score.privacy_risk_score(x, y, *known, log_bins=False),
            risk_score.privacy_risk_score(
                x, nobody, known[0], none, known[2], bins=10, log_bins=False
            ),
        )
        error.append([np.mean((score - truth) ** 2) for score in scores])
    shrunken, by_class, one = np.sqrt(np.mean(error, axis=0))
    assert shrunken < most * min(by_class, one)


def test_errors_by_bins_and_by_records_by_hand():
    score = np.r_[np.full(100, 0.25), np.full(4, 0.85)]
    member = np.r_[np.arange(100) < 30, [True, True, False, False]]
    found = risk_score.calibration(score, member, member.mean(), rng=np.random.default_rng(0))
    apart = np.array([0.30 - 0.25, 0.5 - 0.85])
    assert np.isclose(found.rmse, np.sqrt(np.mean(apart**2)))
    weight = np.array([100, 4]) / 104
    assert np.isclose(found.rmse_records, np.sqrt(weight @ apart**2))
    # what coins give in bins of 100 and 4, weighed to the prior
    rng, chance = np.random.default_rng(1), np.array([0.25, 0.85])
    coins = rng.binomial([100, 4], chance, (20_000, 2))
    expected, members = 100 * 0.25 + 4 * 0.85, coins.sum(1, keepdims=True)
    inside = expected * coins / members
    outside = (104 - expected) * ([100, 4] - coins) / (104 - members)
    wrong = (inside / (inside + outside) - chance) ** 2
    assert np.isclose(found.noise_floor, np.sqrt(wrong.mean()), rtol=0.1)
    assert np.isclose(found.noise_floor_records, np.sqrt((wrong @ weight).mean()), rtol=0.1)
    assert found.noise_limit_records > found.noise_floor_records


def test_scores_that_are_too_high_do_not_raise_the_floor():
    """All scores 0.8 and half of the records members: the error is 0.3, the noise is not."""
    found = risk_score.calibration(
        np.r_[np.full(500, 0.7), np.full(500, 0.9)],
        np.arange(1000) % 2 == 0,
        rng=np.random.default_rng(0),
    )
    assert found.rmse_records > 0.29
    assert max(found.noise_floor, found.noise_limit_records) < 0.04


def test_records_weigh_by_the_prior():
    """Nine times as many non-members in the sample as at the prior: the weights undo it."""
    score = np.r_[np.full(50, 0.8), np.full(50, 0.2), np.full(90, 0.8), np.full(810, 0.2)]
    member = np.arange(1000) < 100
    found = risk_score.calibration(score, member, 0.5, rng=np.random.default_rng(0))
    in_bin, out_bin = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    weight = (in_bin + out_bin) / 2
    apart = in_bin / (in_bin + out_bin) - np.array([0.2, 0.8])
    assert np.isclose(found.rmse_records, np.sqrt(weight @ apart**2))


@pytest.mark.simulation
def test_true_posteriors_have_the_floor_and_the_resolution_of_the_truth():
    rng, found = np.random.default_rng(2), []
    for _ in range(200):
        truth = rng.beta(2, 2, 1000)
        curve = risk_score.calibration(truth, rng.random(1000) < truth, rng=rng, n_draws=50)
        found.append((curve.rmse_records**2, curve.noise_floor_records**2, curve.resolution**2))
    rmse, floor, resolution = np.mean(found, axis=0)
    assert abs(rmse / floor - 1) < 0.1
    # the truth's variance but for what varies within a tenth
    assert 0 < 0.05 - resolution < 0.1**2 / 12 + 0.001


def test_a_score_that_knows_nothing_has_no_resolution():
    rng = np.random.default_rng(3)
    found = [
        risk_score.calibration(rng.random(2000), np.arange(2000) < 1000, rng=rng).resolution ** 2
        for _ in range(20)
    ]
    assert np.mean(found) < 0.001


def test_cross_fitted_by_pooling_neighbours():
    rng = np.random.default_rng(4)
    score, member = rng.normal(size=(4, 30)), rng.random((4, 30)) < 0.5
    fold = np.array([0, 1, 0, 1])
    found = risk_score.cross_fitted(score, member, fold)
    for one in (0, 1):
        x, y = score[fold != one].ravel(), member[fold != one].ravel()
        order = np.argsort(x)
        w = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))[order]
        blocks = []
        for value, weight in zip(y[order].astype(float), w):
            blocks.append([value, weight, 1])
            while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
                v2, w2, n2 = blocks.pop()
                v1, w1, n1 = blocks.pop()
                blocks.append([(v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2])
        fitted = np.concatenate([np.full(n, v) for v, _, n in blocks])
        truth = np.interp(score[fold == one], x[order], fitted)
        np.testing.assert_allclose(found[fold == one], truth, atol=1e-9)


@pytest.mark.parametrize("power", [-1060, -60, -52, 0, 40, 1018])
def test_cross_fitted_probabilities_do_not_ask_for_the_unit(power):
    """Whole numbers, which any power of two leaves exact, over 64; a spread of 1 and more is as
    scikit-learn has it.
    """
    rng = np.random.default_rng(10)
    score = rng.integers(0, 64, (4, 200)) / 64.0
    member = rng.random((4, 200)) < score
    fold = [0, 0, 1, 1]
    whole = IsotonicRegression(out_of_bounds="clip").fit(
        score[2:].ravel(),
        member[2:].ravel(),
        sample_weight=np.where(
            member[2:], 0.5 / member[2:].mean(), 0.5 / (1 - member[2:].mean())
        ).ravel(),
    )
    found = risk_score.cross_fitted(np.ldexp(score, power), member, fold)
    np.testing.assert_array_equal(found[:2].ravel(), whole.predict(score[:2].ravel()))
    assert len(np.unique(found[:2])) > 8


def test_cross_fitted_scores_far_beyond_the_known_ones_and_known_ones_that_are_one():
    member = [True, False, True, False]
    found = risk_score.cross_fitted([[-1e300, 1e300], [1e-300, 0.0]], [member[:2]] * 2, [0, 1])
    np.testing.assert_array_equal(found[0], [0, 1])
    same = risk_score.cross_fitted([2.0, 2.0, 0.0, 5.0], member, [0, 0, 1, 1])
    np.testing.assert_allclose(same[2:], 0.5)


def test_the_judged_entries_take_no_part():
    rng = np.random.default_rng(5)
    score, member, fold = rng.normal(size=40), rng.random(40) < 0.5, np.arange(40) % 2
    turned = np.where(fold == 0, ~member, member)
    before, after = (risk_score.cross_fitted(score, who, fold) for who in (member, turned))
    np.testing.assert_array_equal(before[fold == 0], after[fold == 0])
    assert (before[fold == 1] != after[fold == 1]).any()


@pytest.mark.parametrize("levels", [4, 1000])
def test_venn_abers_pairs_by_adding_the_record(levels):
    rng = np.random.default_rng(6)
    known, member = rng.integers(0, levels, 60) / 3.0, rng.random(60) < 0.4
    asked = np.r_[known[:5], rng.random(10) * levels / 3, -1.0, levels]
    low, high = risk_score.venn_abers(asked, known, member, prior=member.mean())
    for value, *pair in zip(asked, low, high):
        for label, found in zip((0, 1), pair):
            fitted = IsotonicRegression().fit(np.r_[known, value], np.r_[member, label])
            np.testing.assert_allclose(found, fitted.predict([value])[0], atol=1e-9)


def test_pairs_at_another_prior_have_other_odds():
    rng = np.random.default_rng(7)
    known, member = rng.normal(size=50), np.arange(50) < 25
    even, rare = (risk_score.venn_abers(known[:5], known, member, prior=p) for p in (0.5, 0.1))
    np.testing.assert_allclose(
        rare, special.expit(special.logit(np.clip(even, 1e-300, 1 - 1e-16)) - np.log(9)), atol=1e-9
    )


@pytest.mark.simulation
def test_the_pair_holds_a_calibrated_value():
    """Over records that fall into the upper half of the pairs, the value of the truth's own side
    has the mean of the members; the records' true probabilities are missed by most pairs.
    """
    rng, sides, held = np.random.default_rng(8), [], []
    for _ in range(200):
        x, y, member, truth = classes_of_their_own(rng, 400, np.zeros(1))
        low, high = risk_score.venn_abers(-x[::2], -x[1::2], member[1::2])
        own = np.where(member[::2], high, low)
        sides.append((own - member[::2]).mean())
        held.append(((low <= truth[::2]) & (truth[::2] <= high)).mean())
    assert abs(np.mean(sides)) < 3 * np.std(sides) / np.sqrt(len(sides))
    assert np.mean(held) < 0.6


def test_bad_input_is_named():
    score, member = np.arange(4.0), np.array([True, False, True, False])
    for call, message in (
        (lambda: risk_score.cross_fitted(score, member, np.zeros(4, int)), "fold"),
        (lambda: risk_score.cross_fitted(score, member, np.arange(3) % 2), "fold"),
        (lambda: risk_score.cross_fitted(score, member, [0, 1, 0, 1]), "member"),
        (lambda: risk_score.cross_fitted(0.5, True, [0]), "score"),
        (lambda: risk_score.precision_recall(score / 3, member, 0.5), "thresholds"),
        (lambda: risk_score.venn_abers(score, score, np.ones(4, bool)), "known_member"),
        (lambda: risk_score.venn_abers([np.nan], score, member), "score"),
        (lambda: risk_score.venn_abers(score, score, member, prior=0), "prior"),
        (
            lambda: risk_score.shrunken_risk_score(
                [1.0], [1], score, [0, 0, 1, 1], ~member, prior=1
            ),
            "prior",
        ),
        (
            lambda: risk_score.shrunken_risk_score([1.0], [2], score, [0, 0, 1, 1], member),
            "shadow_labels",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{message}: given .*, expected "):
            call()


def test_kappa_is_where_the_likelihood_is_largest():
    """Counts that were drawn with a kappa of 20 give it back within its error."""
    from mia_lib.risk_score.posterior import _weight

    rng = np.random.default_rng(9)
    mean = rng.random((50, 40)) * 0.6 + 0.2
    total = np.full(mean.shape, 30)
    inside = rng.binomial(total, rng.beta(20 * mean, 20 * (1 - mean)))
    assert abs(np.log(_weight(inside, total, mean) / 20)) < 0.25
