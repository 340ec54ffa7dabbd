"""The change of an area between two curves of the same records."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import metrics


def kernels(scores, member):
    """1, one half or 0 for each pair of a member and a non-member, by definition."""
    difference = scores[member][:, None] - scores[~member]
    return (np.sign(difference) + 1) / 2


@pytest.mark.parametrize("seed", range(5))
def test_against_all_pairs(seed):
    """DeLong's variance from the matrix of pairs, ties and all."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(90) < 30
    easy = rng.integers(0, 6, 90)
    both = [easy + rng.integers(0, 4, 90) + gap * member for gap in (0, 1)]
    apart = kernels(both[1], member) - kernels(both[0], member)
    parts = [apart.mean(axis).var(ddof=1) / apart.shape[1 - axis] for axis in (1, 0)]
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 29 + parts[1] ** 2 / 59)
    half = stats.t.isf(0.05, freedom) * np.sqrt(sum(parts))
    half = max(half, 1 - 0.1 ** (1 / 30))  # one of thirty that is missing may move all the way
    found = metrics.auc_change(*(metrics.roc(score, member) for score in both), 0.1)
    want = apart.mean() + half * np.array([0, -1, 1])
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_the_order_turns_the_sign_and_the_same_scores_give_nothing():
    rng = np.random.default_rng(0)
    member = np.arange(100) < 40
    one, other = (metrics.roc(rng.normal(size=100) + member, member) for _ in range(2))
    there, back = metrics.auc_change(one, other), metrics.auc_change(other, one)
    np.testing.assert_allclose(there, (-back.value, -back.high, -back.low))
    same, most = metrics.auc_change(one, one), 1 - 0.05 ** (1 / 40)  # of 40 disjoint pairs
    np.testing.assert_allclose(same, (0.0, -most, most), rtol=1e-12)


def test_a_perfect_curve_has_no_variance_and_the_limits_of_both():
    rng = np.random.default_rng(0)
    member = np.arange(60) < 30
    perfect, other = metrics.roc(member * 1.0, member), metrics.roc(rng.normal(size=60), member)
    found = metrics.auc_change(other, perfect)
    limits = [curve.auc_interval(0.025) for curve in (other, perfect)]
    assert found.value == 1 - other.auc
    assert (found.low, found.high) == (
        limits[1].low - limits[0].high,
        limits[1].high - limits[0].low,
    )


@pytest.mark.simulation
@pytest.mark.parametrize(("gaps", "n"), [((0.0, 0.0), 60), ((0.1, 0.3), 200), ((1.0, 1.6), 100)])
def test_coverage(gaps, n):
    """Of normal scores that share the difficulty of a record, whose areas are known."""
    rng, wanted = np.random.default_rng(n), np.diff(stats.norm.cdf(np.array(gaps) / np.sqrt(2)))
    member, repeats, missed, shorter = np.arange(n) < n // 2, 1000, 0, 0
    for _ in range(repeats):
        common = np.sqrt(0.8) * rng.normal(size=n)
        both = [
            metrics.roc(common + np.sqrt(0.2) * rng.normal(size=n) + gap * member, member)
            for gap in gaps
        ]
        found = metrics.auc_change(*both)
        apart = [curve.auc_interval(0.025) for curve in both]
        shorter += (
            found.high - found.low < apart[1].high - apart[0].low + apart[0].high - apart[1].low
        )
        missed += not found.low <= wanted <= found.high
    low, high = stats.binomtest(missed, repeats).proportion_ci(0.99)
    assert low <= 0.06 and high >= 0.04 and shorter == repeats


def lifted(rng, share):
    """An attack, and the same where a share of the members is found for certain."""
    member = np.arange(200) < 100
    before = rng.normal(size=200) + 0.7 * member
    found = member & (rng.random(200) < share)
    return member, before, np.where(found, 10 + rng.random(200), before)


def jittered(rng, share):
    """The same where every other record moves a little, so that the rest shows a spread."""
    member, before, after = lifted(rng, share)
    return member, before, after + 0.02 * rng.normal(size=200)


def decided(rng, share):
    """Yes or no, and the same where a share of the members' noes has become yes."""
    member = np.arange(200) < 100
    before = rng.random(200) < np.where(member, 0.6, 0.4)
    return member, before * 1.0, (before | member & (rng.random(200) < share)) * 1.0


def nearly_perfect(rng, _):
    """Areas of 0.998 and 0.9998."""
    member, common = np.arange(200) < 100, rng.normal(size=200)
    gaps = np.sqrt(2) * stats.norm.ppf([0.998, 0.9998])
    both = [np.sqrt(0.5) * (common + rng.normal(size=200)) + gap * member for gap in gaps]
    return member, *both


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("make", "share", "true"),
    [
        *((lifted, share, share * stats.norm.sf(0.7 / np.sqrt(2))) for share in (0.01, 0.05, 0.5)),
        *((jittered, share, share * stats.norm.sf(0.7 / np.sqrt(2))) for share in (0.01, 0.03)),
        *((decided, share, 0.2 * share) for share in (0.02, 0.2, 0.7)),
        (nearly_perfect, 0, 0.0018),
    ],
)
def test_coverage_where_few_records_carry_the_change(make, share, true):
    """At most 7 % misses, where DeLong alone has up to 50 %."""
    missed, repeats = 0, 600
    for seed in range(repeats):
        member, before, after = make(np.random.default_rng([seed, 3]), share)
        found = metrics.auc_change(*(metrics.roc(score, member) for score in (before, after)))
        missed += not found.low <= true <= found.high
    assert stats.binomtest(missed, repeats).proportion_ci(0.99).low <= 0.07


def test_one_changed_record_is_no_certainty():
    member = np.arange(200) < 100
    before = np.where(member, 0, np.arange(200) % 2)
    found = metrics.auc_change(*(metrics.roc(b, member) for b in (before, before + member)))
    assert found.value == 0.5 and found.low < 0.45 and found.high > 0.55
    one = np.arange(20) < 1
    scores = np.random.default_rng(0).normal(size=(2, 20))
    found = metrics.auc_change(*(metrics.roc(score, one) for score in scores))
    assert found.low < found.value < found.high


def test_bad_input():
    rng = np.random.default_rng(0)
    member = np.arange(20) < 8
    one = metrics.roc(rng.normal(size=20), member)
    for other in (
        metrics.roc(rng.normal(size=20), member[::-1]),
        metrics.roc(rng.normal(size=22), np.arange(22) < 8),
    ):
        with pytest.raises(ValueError, match="^after: given a curve with members at other places"):
            metrics.auc_change(one, other)
    pooled = metrics.roc(rng.normal(size=(2, 10)), member.reshape(2, 10))
    with pytest.raises(ValueError, match="^after: given a curve of 2 targets, expected a curve of"):
        metrics.auc_change(one, pooled)
    with pytest.raises(ValueError, match="^before: given float, expected a curve that metrics.roc"):
        metrics.auc_change(0.5, one)
    with pytest.raises(ValueError, match="^delta"):
        metrics.auc_change(one, one, 0)
    alone = metrics.roc(rng.normal(size=(1, 20)), member[None])
    assert metrics.auc_change(alone, one).value == one.auc - alone.auc
