"""What the limits and verdicts say of the cases that have least in them: no non-member above the
threshold, one carrier, all scores tied, a false-positive rate of 0, two examples.

Every one of them has a clear result or an error of one line.
"""

import numpy as np
import pytest

from mia_lib import bayes, compare, metrics

N, S = 400, 8
RNG = np.random.default_rng(60)
MEMBER = np.array([RNG.permutation(S) < S // 2 for _ in range(N)]).T
NOISE = RNG.normal(size=(S, N))


def separated():
    """No non-member above any member."""
    return NOISE + 100 * MEMBER


def one_carrier():
    """The first example is the only non-member that is ever accused at a low rate."""
    scores = NOISE + 20 * MEMBER
    scores[:, 0] = 50 + np.arange(S)
    return scores


def tied():
    return np.zeros((S, N))


class TestNoNonMemberAboveTheThreshold:
    def test_one_target(self):
        curve = metrics.roc(separated()[0], MEMBER[0])
        assert curve.tpr_at(0.1).value == 1 and curve.tpr_at(0.1).high == 1
        assert curve.tpr_at(0.1).low > 0.9 and curve.resolvable(0.1)
        assert curve.tpr_at(1e-6)[:2] == (1.0, 0.0) and not curve.resolvable(1e-6)
        assert curve.distinct_false_positives(1e-6) == 0

    def test_pooled(self):
        curve = metrics.roc(separated(), MEMBER)
        found = curve.tpr_at(1e-6, rng=np.random.default_rng(0))
        assert found.value == 1 and found.low == 0 and not curve.resolvable(1e-6)
        assert curve.records_needed(1e-6) > N
        # the first non-member below the threshold, alone, is what an FPR above 0 would be made of
        assert curve.effective_nonmembers(1e-6) == pytest.approx(MEMBER.size / 2)

    def test_the_certificate_is_of_everything(self):
        groups = separated()[0][MEMBER[0]], separated()[0][~MEMBER[0]]
        found = bayes.threshold_advantage(*groups)
        assert found.value == 1 and found.high == 1 and 0.8 < found.low < 1
        assert compare.verdict(found, (1, 1)) == "undecided"


class TestOneCarrier:
    curve = metrics.roc(one_carrier(), MEMBER)
    rate = 0.5 * (S // 2) / (MEMBER.size / 2)  # half of what the one example takes up

    def test_nothing_is_ranked_on_it(self):
        assert self.curve.distinct_false_positives(2 * self.rate) == 1
        assert not self.curve.resolvable(2 * self.rate)
        found = self.curve.tpr_at(2 * self.rate, rng=np.random.default_rng(0))
        assert found.low == 0 <= found.value <= found.high

    def test_its_entries_count_as_one_example(self):
        held = self.curve.effective_nonmembers(self.rate)
        assert held <= MEMBER.size / 2 / 3  # entries of one example, three false positives or more
        # the first one that is not accused, another example's, counts a little
        assert 1 < self.curve.carried_by(2 * self.rate)[0] < 1.5

    def test_a_table_says_so(self):
        rates = [2 * self.rate]
        found = compare.table({"a": one_carrier()}, MEMBER, rates, rng=np.random.default_rng(0))
        short = compare.name_of(rates[0])[4:]
        assert not found.loc["a", f"resolved {short}"]
        assert found.loc["a", f"false positives {short}"] == 1
        assert compare.show(found).loc["a", f"TPR {short}"].startswith("not resolved, about")

    def test_a_ratio_says_nothing(self):
        ratio = compare.tpr_ratio(
            one_carrier(), NOISE + MEMBER, MEMBER, 2 * self.rate, rng=np.random.default_rng(0)
        )
        assert (ratio.low, ratio.high) == (0, np.inf)
        assert compare.verdict(ratio, (1, np.inf)) == "undecided"


class TestAllScoresTied:
    def test_one_target_and_pooled(self):
        for scores, member in ((tied()[0], MEMBER[0]), (tied(), MEMBER)):
            curve = metrics.roc(scores, member)
            found = curve.tpr_at(0.1, rng=np.random.default_rng(0))
            assert (found.value, found.low) == (0, 0)
            assert curve.tpr_at(1.0, rng=np.random.default_rng(0)).value == 1
            assert curve.auc == curve.balanced_accuracy == 0.5
            assert metrics.tie_limited(curve, 0.1) and not metrics.tie_limited(curve, 1.0)

    def test_a_table_marks_it(self):
        found = compare.table({"a": tied()}, MEMBER, [0.1], rng=np.random.default_rng(0))
        assert found.loc["a", "tied at 10 %"]
        assert compare.show(found).loc["a", "TPR at 10 %"].endswith(("(tied)", "needed"))

    def test_no_ratio_of_two_attacks_that_find_nobody(self):
        with pytest.raises(ValueError, match="without a true positive at FPR 0.1"):
            compare.tpr_ratio(tied(), tied(), MEMBER, 0.1)
        with pytest.raises(ValueError, match="one score for all records"):
            compare.rank_correlation(tied(), NOISE)

    def test_nothing_leaks(self):
        found = bayes.threshold_advantage(np.zeros(200), np.zeros(100))
        assert found.value == found.low == 0 and 0 < found.high < 0.3


class TestARateOfZero:
    def test_one_target(self):
        curve = metrics.roc(NOISE[0] + MEMBER[0], MEMBER[0])
        found = curve.tpr_at(0.0)
        top = (NOISE[0] + MEMBER[0])[~MEMBER[0]].max()
        assert found.value == ((NOISE[0] + MEMBER[0])[MEMBER[0]] > top).mean()
        assert found.low == 0 and not curve.resolvable(0.0)

    def test_pooled(self):
        curve = metrics.roc(NOISE + MEMBER, MEMBER)
        found = curve.tpr_at(0.0, rng=np.random.default_rng(0))
        assert found.low == 0 <= found.value <= found.high and not curve.resolvable(0.0)
        with pytest.raises(ValueError, match="^fpr: given 0"):
            curve.records_needed(0.0)
        assert curve.distinct_false_positives(0.0) == 0

    def test_rates_of_a_table_lie_inside(self):
        for rate in (0.0, 1.0, -0.1, float("nan")):
            with pytest.raises(ValueError, match="^fprs: given"):
                compare.table({"a": NOISE}, MEMBER, [rate])
            with pytest.raises(ValueError, match="^fpr: given"):
                compare.tpr_ratio(NOISE, NOISE, MEMBER, rate)


class TestTwoExamples:
    def test_one_target(self):
        curve = metrics.roc([2.0, 1.0], [True, False])
        assert curve.auc == 1 and curve.tpr_at(0.5) == (1.0, 0.0, 1.0)
        assert not curve.resolvable(0.5) and curve.effective_nonmembers(0.5) == 1

    def test_pooled(self):
        member = np.array([[True, False], [False, True]])
        curve = metrics.roc([[2.0, 1.0], [1.5, 3.0]], member)
        found = curve.tpr_at(0.5, rng=np.random.default_rng(0))
        assert found.low == 0 <= found.value and not curve.resolvable(0.5)

    def test_a_single_group_is_refused(self):
        with pytest.raises(ValueError, match="^member: given"):
            metrics.roc([2.0, 1.0], [True, True])

    def test_the_certificate_promises_nothing(self):
        with pytest.raises(ValueError, match="^member_signal: given 1 examples"):
            bayes.threshold_advantage([2.0], [1.0])
        found = bayes.threshold_advantage([2.0, 2.5], [1.0, 0.5])
        assert (found.value, found.low, found.high) == (1, 0, 1)
