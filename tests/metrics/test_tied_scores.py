"""Ties, groups of single entries and blind scores under balanced masks: intervals that hold."""

import numpy as np
import pytest
from scipy import special, stats

from mia_lib import compare, metrics
from mia_lib.metrics import one_target, resolution


def test_models_count_where_every_entry_is_a_group_of_its_own():
    """Scores (S, n) name the model of an entry by their row, whatever the groups are."""
    misses, truth = 0, 15 / 16 * special.ndtr(1 / 2) + special.ndtr(1 / np.sqrt(2)) / 16
    for seed in range(100):
        rng = np.random.default_rng(seed)
        member = rng.random((16, 100)) < 0.5
        scores = rng.normal(size=(16, 100)) + rng.normal(size=(16, 1)) + member
        groups = np.arange(1600).reshape(16, 100)
        found = metrics.roc(scores, member).auc_interval(groups=groups)
        misses += not found.low <= truth <= found.high
    assert misses < 15  # a third of them, where the models are forgotten


@pytest.mark.parametrize("n", [6, 30])
def test_scores_that_are_all_equal_leave_the_auc_open(n):
    """Of n pairs, none of them in order or out of it: that says so much of a new pair only."""
    found = metrics.roc(np.ones(2 * n), np.arange(2 * n) < n).auc_interval(0.05)
    apart = 1 - 0.05 ** (1 / n)
    assert found.value == 0.5
    assert np.allclose([found.low, found.high], [0.5 - apart / 2, 0.5 + apart / 2])


def test_gap_attack_of_a_nearly_perfect_model_is_covered():
    """Most samples of 30 have no wrong answer at all, and the truth is not 1/2."""
    rng, held, runs = np.random.default_rng(0), 0, 300
    member = np.arange(60) < 30
    for _ in range(runs):
        right = np.where(member, 1.0, rng.random(60) < 0.97)
        found = metrics.roc(right, member).auc_interval()
        held += found.low <= 0.515 <= found.high
    assert held / runs > 0.9


def test_a_blind_score_under_complementary_halves_has_an_interval():
    """What every example adds cancels exactly, and with it the variance over examples."""
    rng, n = np.random.default_rng(0), 400
    half = [rng.permutation(n) < n // 2 for _ in range(2)]
    member = np.array([m for h in half for m in (h, ~h)])
    blind = np.tile(np.arange(n) * 1.0, (4, 1))
    compare.table({"blind": blind}, member, [0.25], rng=np.random.default_rng(1))
    found = metrics.roc(blind, member).tpr_at(0.25, rng=np.random.default_rng(1))
    assert found.low <= 0.25 <= found.high + 1e-12


def test_the_smallest_resolvable_rate_is_resolvable():
    for n in (300, 1000, 4321):
        curve = metrics.roc(np.arange(2.0 * n), np.arange(2 * n) >= n)
        assert curve.resolvable(curve.smallest_resolvable())


def test_numbers_that_are_whole_are_not_rounded_upwards():
    assert resolution.n_nonmembers_needed(0.25, 0.75**3) == 3
    assert resolution.n_nonmembers_needed(0.01, 0.99) == 1


def test_membership_as_zeros_and_ones_is_membership():
    s = np.arange(40.0) + (np.arange(40) % 7) * 5
    m = np.arange(40) > 15
    both = [
        compare.accuracy_interval(metrics.roc(s, m), s, kind, rng=np.random.default_rng(0))
        for kind in (m, m.astype(int))
    ]
    assert both[0] == both[1]


def test_a_ratio_over_nobody_ends_where_both_rates_do():
    """Sixty members at 1 %: the baseline may find none of them without finding none at all."""
    attack = np.r_[np.arange(60.0) + 2000, np.arange(1500.0)]
    nobody = np.r_[-np.arange(60.0), np.arange(1500.0)]
    member = np.arange(1560) < 60
    found = compare.tpr_ratio(attack, nobody, member, 0.01, rng=np.random.default_rng(0))
    assert np.isinf(found.value) and np.isinf(found.high) and 1 < found.low < 60
    back = compare.tpr_ratio(nobody, attack, member, 0.01, rng=np.random.default_rng(0))
    assert back.value == 0 == back.low and np.isclose(back.high, 1 / found.low)


@pytest.mark.simulation
def test_coverage_of_scores_of_two_levels():
    """Nearly all tied; DeLong's variance alone would cover 88 %."""
    rng, member, held = np.random.default_rng(0), np.arange(200) < 100, 0
    for _ in range(1000):
        right = np.where(member, 1.0, rng.random(200) < 0.95)
        found = metrics.roc(right, member).auc_interval()
        held += found.low <= 0.525 <= found.high
    assert 0.94 < held / 1000 < 0.999


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("members", "others", "wrong"), [(50, 1000, 0.03), (1000, 50, 0.03), (100, 900, 0.02)]
)
def test_a_small_side_that_is_all_right_is_not_taken_for_a_large_one(members, others, wrong):
    """Correctness of a model that saw none of them, at the level of one of 24 attacks."""
    rng, member, outside = np.random.default_rng(0), np.arange(members + others) < members, 0
    for _ in range(400):
        found = metrics.roc((rng.random(member.size) >= wrong) * 1.0, member)
        found = found.auc_interval(0.05 / 24)
        outside += not found.low <= 0.5 <= found.high
    assert outside <= 4  # a tenth to a quarter of them where the side counts as known


@pytest.mark.simulation
@pytest.mark.parametrize("delta", [0.05, 0.05 / 24])
@pytest.mark.parametrize(
    ("members", "others", "wrong"),
    [(50, 1000, 0.03), (256, 313, 0.02), (900, 100, 0.02), (20, 200, 0.1)],
)
def test_either_limit_of_two_levels_is_beyond_a_half_as_rarely_as_is_said(
    members, others, wrong, delta
):
    """Over all numbers of mistakes, not drawn: at most 1.15 times delta / 2 on either side."""
    member, beyond = np.arange(members + others) < members, np.zeros(2)
    counts = [np.arange(stats.binom.isf(1e-7, n, wrong) + 1) for n in (members, others)]
    for k, chance in zip(counts[0], stats.binom.pmf(counts[0], members, wrong)):
        for m, other in zip(counts[1], stats.binom.pmf(counts[1], others, wrong)):
            if k == m == 0 or chance * other < 1e-9:
                continue
            right = np.ones(members + others)
            right[: int(k)] = right[members : members + int(m)] = 0
            found = metrics.roc(right, member).auc_interval(delta)
            beyond += chance * other * np.array([found.low > 0.5, found.high < 0.5])
    assert beyond.max() <= 1.15 * delta / 2


def test_limits_of_a_side_that_few_carry_by_hand():
    """Ten members all right, 2 of 40 others wrong: the squares of two mid-P distances, halved."""
    member = np.arange(50) < 10
    found = metrics.roc(np.r_[np.ones(48), np.zeros(2)], member).auc_interval(0.1)
    most, grid = 1 - 0.1 ** (1 / 10), np.linspace(0, 0.3, 300_001)  # half of (1 - p)^10 is 0.05
    upper = stats.binom.sf(2, 40, grid) + stats.binom.pmf(2, 40, grid) / 2
    least, largest = grid[np.searchsorted(upper, [0.05, 0.95])]
    low = 0.525 - np.hypot(most, 0.05 - least) / 2
    np.testing.assert_allclose(found, (0.525, low, 0.525 + (largest - 0.05) / 2), atol=2e-6)


@pytest.mark.parametrize("short", [1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [2, 30, 5000])
def test_limits_of_a_count_next_to_its_end(short, n):
    """Not a whole number: between the limits of the whole numbers on either side."""
    for delta in (0.05, 1e-3, 1e-6):
        near, last, full = (one_target._limits(k, n, delta) for k in (n - short, n - 1.0, float(n)))
        assert (last <= near).all() and (near <= full).all()
        np.testing.assert_allclose(one_target._limits(short, n, delta), 1 - near[::-1], atol=1e-9)


@pytest.mark.simulation
def test_a_ratio_over_few_members_covers():
    """Sixty members of whom the baseline finds two on average, and often nobody."""
    member, misses = np.arange(1560) < 60, 0
    truth = special.ndtr(1.2 - 2.3263479) / special.ndtr(0.3 - 2.3263479)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scores, baseline = (rng.normal(size=1560) + d * member for d in (1.2, 0.3))
        found = compare.tpr_ratio(scores, baseline, member, 0.01, rng=rng)
        misses += not found.low <= truth <= found.high
    assert misses <= 4  # of 60; an eighth where nobody is taken for none at all
