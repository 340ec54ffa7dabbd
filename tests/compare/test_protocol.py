"""The comparison of attacks against a literal bootstrap, known truth, and bad input."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import compare, intervals, metrics, shadow
from mia_lib.compare import ratio


def made(n_models, n, seed, gap=1.0):
    rng = np.random.default_rng(seed)
    member = shadow.half_masks(n_models, n, rng)
    return rng.normal(size=(n_models, n)) + gap * member, member


def literal(scores, member, fpr):
    """TPR at the rate, AUC and balanced accuracy of flat lists, threshold by threshold."""
    inside, outside = scores[member], scores[~member]
    tpr = max(
        [(inside >= t).mean() for t in [*outside, *inside, np.inf] if (outside >= t).mean() <= fpr],
        default=0.0,
    )
    auc = ((inside[:, None] > outside).mean() + (inside[:, None] >= outside).mean()) / 2
    accuracy = max(
        (1 + (inside >= t).mean() - (outside >= t).mean()) / 2 for t in [*outside, *inside, np.inf]
    )
    return tpr, auc, accuracy


class TestLiteral:
    def test_values(self):
        scores, member = made(4, 30, 0)
        scores = np.round(scores, 1)
        found = compare.table({"a": scores}, member, [0.2], rng=np.random.default_rng(0)).loc["a"]
        tpr, auc, accuracy = literal(scores, member, 0.2)
        assert found["TPR at 20 %"].value == pytest.approx(tpr)
        assert found["AUC"].value == pytest.approx(auc)
        assert found["balanced accuracy"].value == pytest.approx(accuracy)
        threshold = np.sort(scores[~member])[::-1][int(0.2 * 60)]
        assert (
            found["false positives at 20 %"]
            == np.unique(np.nonzero((scores > threshold) & ~member)[1]).size
        )

    def test_bootstrap_that_redraws_columns(self, monkeypatch):
        # The same resamples, each taken literally: columns of scores and masks side by side.
        scores, member = made(4, 25, 1)
        baseline = np.random.default_rng(2).normal(size=scores.shape) + 0.5 * member
        best = metrics.roc(scores, member)
        threshold = best.thresholds[np.argmax(best.tpr - best.fpr)]
        drawn = np.random.default_rng(3).integers(25, size=(40, 25))
        curves = [metrics.roc(values, member) for values in (scores, baseline)]
        weights = np.stack([np.bincount(row, minlength=25) for row in drawn])
        for curve, values in zip(curves, (scores, baseline)):
            want = [literal(values[:, row], member[:, row], 0.2)[0] for row in drawn]
            np.testing.assert_allclose(curve.weighted_tpr(0.2)(weights), want)

        def both_ends(values):
            return np.quantile(values, [0.025, 0.975])

        rng = np.random.default_rng(4)
        rows = rng.integers(25, size=(3000, 25))
        ratios, accuracies = [], []
        for row in rows:
            x, b, m = scores[:, row], baseline[:, row], member[:, row]
            ratios.append(literal(x, m, 0.2)[0] / literal(b, m, 0.2)[0])
            accuracies.append((1 + (x >= threshold)[m].mean() - (x >= threshold)[~m].mean()) / 2)
        # As if so few examples were enough, and models differed by chance alone.
        monkeypatch.setattr(metrics.Roc, "resolvable", lambda *_: True)
        monkeypatch.setattr(ratio, "_stretch", lambda *_: 1.0)
        got = compare.tpr_ratio(scores, baseline, member, 0.2, rng=np.random.default_rng(5))
        np.testing.assert_allclose(got[1:], both_ends(ratios), rtol=0.12)
        assert got.value == pytest.approx(
            literal(scores, member, 0.2)[0] / literal(baseline, member, 0.2)[0]
        )
        got = compare.table({"a": scores}, member, [0.2], rng=np.random.default_rng(6)).loc[
            "a", "balanced accuracy"
        ]
        np.testing.assert_allclose(got[1:], both_ends(accuracies), atol=0.012)

    def test_all_targets_of_an_example_stay_together(self):
        # Every target of an example scores alike: 30 targets tell no more than 2, and the interval
        # must not shrink.
        rng = np.random.default_rng(7)
        base, member = rng.normal(size=100), shadow.half_masks(30, 100, rng)
        widths = []
        for targets in (2, 30):
            who = member[:targets] if targets == 30 else np.stack([member[0], ~member[0]])
            scores = np.where(who, base, np.roll(base, 1))
            found = compare.table({"a": scores}, who, [0.1], rng=rng).loc["a", "AUC"]
            widths.append(found.high - found.low)
        assert widths[1] > 0.5 * widths[0]


class TestKnownTruth:
    def test_two_normals(self):
        scores, member = made(16, 2000, 8, gap=2.0)
        found = compare.table(
            {"gap 2": scores, "nothing": scores - 2 * member}, member, rng=np.random.default_rng(9)
        )
        for rate in (1e-3, 1e-2):
            truth = stats.norm.cdf(2 + stats.norm.ppf(rate))
            # A 99.9 % interval, from the width of the 95 % one: what is left is the error of the
            # percentile bootstrap.
            e = found.loc["gap 2", compare.name_of(rate)]
            assert abs(e.value - truth) < 3.29 * (e.high - e.low) / 3.92
        assert found.loc["gap 2", "AUC"].value == pytest.approx(
            stats.norm.cdf(np.sqrt(2)), abs=0.005
        )
        assert found.loc["gap 2", "balanced accuracy"].value == pytest.approx(
            stats.norm.cdf(1), abs=0.01
        )
        nothing = found.loc["nothing", "AUC"]
        assert abs(nothing.value - 0.5) < 4 * np.sqrt(1 / (6 * 16_000))

    @pytest.mark.simulation
    def test_coverage(self):
        # Examples differ in how exposed they are, which makes pooled entries dependent.
        rng = np.random.default_rng(10)
        n, rate = 300, 0.05
        big = rng.exponential(2.0, size=400_000)
        grid = np.linspace(0, 8, 4000)
        fpr_at = stats.norm.sf(grid)
        cut = grid[np.searchsorted(-fpr_at, -rate)]
        truth = stats.norm.sf(cut - big).mean()
        true_ratio = truth / rate
        covered = np.zeros(2, dtype=int)
        for _ in range(200):
            member = shadow.half_masks(8, n, rng)
            gap = rng.exponential(2.0, size=n)
            noise = rng.normal(size=(8, n))
            e = metrics.roc(noise + gap * member, member).tpr_at(rate, rng=rng)
            covered[0] += e.low <= truth <= e.high
            e = compare.tpr_ratio(
                noise + gap * member, rng.normal(size=(8, n)), member, rate, rng=rng
            )
            covered[1] += e.low <= true_ratio <= e.high
        # 200 draws: 0.1 % quantile of Bin(200, 0.95) is 179.
        assert (covered >= 179).all(), covered

    def test_balanced_accuracy_of_a_fixed_threshold_is_a_binomial_for_one_target(self):
        rng = np.random.default_rng(11)
        member = np.arange(4000) < 2000
        scores = rng.normal(size=4000) + member
        e = compare.accuracy_interval(metrics.roc(scores, member), scores, member, rng=rng)
        assert e.value == pytest.approx(stats.norm.cdf(0.5), abs=0.03)
        assert (e.high - e.low) / 3.92 == pytest.approx(np.sqrt(0.69 * 0.31 / 4000), rel=0.15)


class TestResolution:
    def test_where_a_rate_is_not_resolved_the_row_says_so(self):
        scores, member = made(16, 1000, 12, gap=3.0)
        table = compare.table({"a": scores}, member, rng=np.random.default_rng(0))
        found, curve = table.loc["a"], metrics.roc(scores, member)
        assert not found["resolved at 0.001 %"] and not found["resolved at 0.1 %"]
        assert found["resolved at 1 %"]
        assert found["TPR at 0.1 %"].low == 0 < found["TPR at 0.1 %"].value
        assert found["TPR at 0.1 %"].value == curve.tpr[curve.fpr <= 0.001].max()
        assert found["records needed at 0.1 %"] == curve.records_needed(0.001) > 2000
        text = compare.show(table).loc["a"]
        assert text["TPR at 0.1 %"].startswith("not resolved, about ")
        assert text["TPR at 0.1 %"].endswith("00 records needed")
        assert text["TPR at 1 %"] == (
            f"{compare.percent(found['TPR at 1 %'])} ({found['false positives at 1 %']} ex.)"
        )

    def test_resolved_is_what_the_curve_says(self):
        for n0, resolved in ((4379, False), (4380, True)):
            member = np.arange(n0 + 10) >= n0
            found = compare.table(
                {"a": np.arange(n0 + 10.0)}, member, [1e-3], rng=np.random.default_rng(0)
            )
            assert found.loc["a", "resolved at 0.1 %"] == resolved

    def test_a_ratio_at_a_rate_that_is_not_resolved_says_nothing(self):
        scores, member = made(16, 400, 18)
        ratio = compare.tpr_ratio(scores + member, scores, member, 0.001)
        assert ratio.value > 0 and ratio[1:] == (0, np.inf)

    def test_a_ratio_is_stretched_for_models(self):
        """Each attack's lead differs by model: fewer models, or shifts of their own, and it is less
        certain, which resampling examples does not see.
        """
        scores, member = made(64, 1500, 19, gap=1.5)
        rng = np.random.default_rng(20)
        lifted = scores + 0.4 * rng.normal(size=(64, 1))
        rate, n = 0.05, 1500
        parts = [metrics.roc(s, member).weighted_tpr(rate) for s in (lifted, scores)]

        def log_ratio(weights):
            return np.log(parts[0](weights) / parts[1](weights))

        plain = intervals.bootstrap(log_ratio, n, rng=np.random.default_rng(21))
        got = compare.tpr_ratio(lifted, scores, member, rate, rng=np.random.default_rng(21))
        assert np.log(got.high / got.low) > 1.3 * (plain.high - plain.low)
        assert got.low < got.value < got.high

    def test_one_example_that_carries_all_false_positives_shows(self):
        scores, member = made(64, 100, 13, gap=0.0)
        scores[:, 7] += 100
        found = compare.table({"a": scores}, member, [0.01], rng=np.random.default_rng(0)).loc["a"]
        assert found["false positives at 1 %"] == 1


class TestTable:
    def test_order_and_the_same_resamples_for_all(self):
        scores, member = made(4, 200, 14)
        found = compare.table(
            {"b": scores, "a": scores}, member, [0.1], rng=np.random.default_rng(0)
        )
        assert list(found.index) == ["b", "a"]
        assert found.loc["a"].to_list() == found.loc["b"].to_list()

    def test_every_cell_is_an_estimate_a_count_or_a_flag(self):
        scores, member = made(4, 200, 15)
        for value in compare.table({"a": scores}, member, [0.1]).loc["a"]:
            assert isinstance(value, (intervals.Estimate, int, bool, np.integer, np.bool_))

    def test_one_target(self):
        scores, member = made(2, 3000, 16, gap=3.0)
        found = compare.table(
            {"a": scores[0]}, member[0], [0.01], rng=np.random.default_rng(0)
        ).loc["a"]
        assert found["TPR at 1 %"] == metrics.roc(scores[0], member[0]).tpr_at(0.01)


class TestBadInput:
    def test_names(self):
        scores, member = made(4, 50, 17)
        with pytest.raises(ValueError, match="scores: given no attack"):
            compare.table({}, member)
        with pytest.raises(ValueError, match=r"scores of 'a': given shape \(4, 49\)"):
            compare.table({"a": scores[:, 1:]}, member)
        with pytest.raises(ValueError, match="scores of 'a': given 1 NaN"):
            compare.table({"a": np.where(np.arange(50) == 3, np.nan, scores[:1])}, member[:1])
        with pytest.raises(ValueError, match="fprs: given 0"):
            compare.table({"a": scores}, member, [0.0])
        with pytest.raises(ValueError, match="delta: given 1"):
            compare.table({"a": scores}, member, delta=1.0)
        with pytest.raises(ValueError, match="member"):
            compare.table({"a": scores}, np.ones_like(member))

    def test_a_ratio_of_nothing_to_nothing(self):
        scores, member = np.zeros((2, 10)), np.arange(20).reshape(2, 10) % 2 == 0
        with pytest.raises(ValueError, match="two attacks without a true positive"):
            compare.tpr_ratio(scores, scores, member, 0.1)

    def test_a_ratio_to_nothing_is_infinite(self):
        member = np.arange(40).reshape(2, 20) % 2 == 0
        good = member + np.zeros((2, 20))
        assert compare.tpr_ratio(good, -good, member, 0.1) == (np.inf, 0, np.inf)

    def test_a_ratio_to_what_ties_keep_from_finding_anybody(self):
        """With one level for all, no threshold accuses few. The lower end then comes from what none
        of the 1,000 members allows.
        """
        member = np.arange(8000).reshape(4, 2000) % 2 == 0  # every second example in all targets
        tied = np.zeros(member.shape)
        good = np.random.default_rng(30).normal(size=member.shape) + 2 * member
        rng = np.random.default_rng(31)
        ratio = compare.tpr_ratio(good, tied, member, 0.1, rng=rng)
        found = metrics.roc(tied, member).tpr_at(0.1, rng=rng)
        assert found == (0, 0, pytest.approx(1 - 0.025 ** (1 / 1000)))
        least = metrics.roc(good, member).tpr_at(0.1, 0.025, rng=rng).low
        assert ratio.value == ratio.high == np.inf
        assert ratio.low == pytest.approx(least / (1 - 0.0125 ** (1 / 1000)), rel=0.05)

    def test_a_ratio_to_a_rate_that_is_resolved_at_one_level_alone(self):
        rng = np.random.default_rng(0)
        member = rng.permuted(np.tile(np.arange(200) % 2 == 0, (4, 1)), axis=1)
        good, rate = rng.normal(size=member.shape) + 2 * member, 0.13516290726817043
        ratio = compare.tpr_ratio(good, np.zeros(member.shape), member, rate, rng=rng)
        assert ratio == (np.inf, 0, np.inf)

    def test_a_ratio_to_a_baseline_that_happened_to_find_nobody_may_be_finite(self):
        """The baseline finds one member in two thousand: the truth is far below infinity, and the
        interval has to hold it.
        """
        rng, missed, nobody = np.random.default_rng(32), 0, 0
        for _ in range(20):
            member = rng.permuted(np.tile(np.arange(1000) % 2 == 0, (4, 1)), axis=1)
            good = rng.normal(size=member.shape) + 2 * member
            found = member & (rng.random(member.shape) < 0.0005)
            rare = np.where(found, 5, np.where(member, -5, 0)) + 0.1 * rng.normal(size=member.shape)
            ratio = compare.tpr_ratio(good, rare, member, 0.1, rng=rng)
            nobody += np.isinf(ratio.value)
            truth = stats.norm.sf(stats.norm.isf(0.1) - 2) / 0.0005
            missed += not ratio.low <= truth <= ratio.high
        assert nobody >= 3 and missed <= 3

    @pytest.mark.simulation
    def test_nobody_misjudged_is_not_an_accuracy_of_one_for_certain(self):
        """Ten of each and an attack that is right nine times of ten: now and then of all twenty."""
        rng, member, missed, certain = np.random.default_rng(33), np.arange(20) < 10, 0, 0
        for _ in range(300):
            scores = (rng.random(20) < 0.1) != member
            curve = metrics.roc(scores * 1.0, member)
            found = compare.accuracy_interval(curve, scores * 1.0, member, rng=rng)
            certain += found.value == 1
            missed += not found.low <= 0.9 <= found.high
        assert certain >= 20 and missed <= 27
