import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mia_lib import attacks, data


def best_by_loop(score, member):
    """Every observed score as the threshold; the largest of equals, by whole numbers."""
    best, chosen = None, None
    for threshold in sorted(set(score)):
        tp = sum(s >= threshold and m for s, m in zip(score, member))
        tn = sum(s < threshold and not m for s, m in zip(score, member))
        gain = tp * sum(not m for m in member) + tn * sum(member)
        if best is None or gain >= best:
            best, chosen = gain, threshold
    return chosen


def made(rng, n, n_classes=3, shift=1.0):
    """Scores of a class's own level, members higher by `shift`."""
    labels, member = rng.integers(0, n_classes, n), rng.random(n) < 0.5
    return labels + shift * member + rng.normal(size=n), labels, member


def test_metric_scores_are_the_printed_formulas():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(5), 40), rng.integers(0, 5, 40)
    scores = attacks.metric_scores(attacks.log_probabilities(p), y)
    for i in range(40):
        rest = [p[i, c] for c in range(5) if c != y[i]]
        wrong = -(1 - p[i, y[i]]) * math.log(p[i, y[i]]) - sum(q * math.log(1 - q) for q in rest)
        assert math.isclose(scores["entropy"][i], sum(q * math.log(q) for q in p[i]), rel_tol=1e-12)
        assert math.isclose(scores["modified entropy"][i], -wrong, rel_tol=1e-12)
        assert math.isclose(
            scores["confidence"][i], math.log(p[i, y[i]] / sum(rest)), rel_tol=1e-9, abs_tol=1e-12
        )
        assert scores["correctness"][i] == (max(p[i]) == p[i, y[i]])


def test_modified_entropy_is_monotone_on_the_simplex():
    """Mass moved from a wrong class to the right one, or from the right one to a wrong one: both go
    the right way.
    """
    rng = np.random.default_rng(1)
    for _ in range(300):
        p = rng.dirichlet(np.ones(4))
        moved = p.copy()
        step = rng.random() * p[1]
        moved[[0, 1]] += step, -step
        before, after = attacks.metric_scores(attacks.log_probabilities([p, moved]), [0, 0])[
            "modified entropy"
        ]
        assert after >= before


def test_with_two_classes_modified_entropy_ranks_as_confidence():
    p = np.random.default_rng(2).random(200)
    scores = attacks.metric_scores(attacks.log_probabilities(np.c_[p, 1 - p]), np.zeros(200, int))
    assert (np.argsort(scores["confidence"]) == np.argsort(scores["modified entropy"])).all()
    np.testing.assert_allclose(scores["modified entropy"], 2 * (1 - p) * np.log(p), rtol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([2, 5, 1000]))
def test_best_threshold_equals_brute_force(seed, n, levels):
    rng = np.random.default_rng(seed)
    score = np.r_[rng.integers(0, levels, n + 2) / 7 - 1]
    member = np.r_[True, False, rng.random(n) < rng.random()]
    assert attacks.best_threshold(score, member) == best_by_loop(score.tolist(), member.tolist())


@pytest.mark.parametrize("per_class", [True, False])
def test_threshold_attack_learns_on_shadow_and_only_there(per_class):
    rng = np.random.default_rng(3)
    shadow, target = made(rng, 400), made(rng, 300)
    said = attacks.threshold_attack(target[0], target[1], *shadow, per_class=per_class)
    groups = {y: shadow[1] == y if per_class else np.ones(400, bool) for y in range(3)}
    chosen = {
        y: best_by_loop(shadow[0][known].tolist(), shadow[2][known].tolist())
        for y, known in groups.items()
    }
    expected = [s >= chosen[y] for s, y in zip(target[0], target[1])]
    assert said.tolist() == expected
    # one record's decision does not depend on which other records are asked about
    assert (
        attacks.threshold_attack(target[0][:1], target[1][:1], *shadow, per_class=per_class)[0]
        == expected[0]
    )


def test_class_thresholds_gain_where_classes_have_levels_of_their_own():
    """Levels 0, 3, 6 and a shift of 1: per class the accuracy is Phi(1/2); one threshold can only
    serve one class.
    """
    rng = np.random.default_rng(4)
    groups = []
    for n in (6000, 40_000):
        labels, member = rng.integers(0, 3, n), rng.random(n) < 0.5
        groups.append((3.0 * labels + member + rng.normal(size=n), labels, member))
    shadow, target = groups
    dependent, independent = (
        attacks.decision_accuracy(
            attacks.threshold_attack(*target[:2], *shadow, per_class=p), target[2]
        ).value
        for p in (True, False)
    )
    assert abs(dependent - stats.norm.cdf(0.5)) < 0.01
    assert independent < 0.6


def test_metric_attacks_use_the_right_score():
    rng = np.random.default_rng(5)
    target, shadow = rng.normal(size=(50, 3)) * 3, rng.normal(size=(60, 3)) * 3
    ty, sy, member = rng.integers(0, 3, 50), rng.integers(0, 3, 60), np.arange(60) % 2 == 0
    said = attacks.metric_attacks(target, ty, shadow, sy, member)
    assert list(said) == ["correctness", "confidence", "entropy", "modified entropy"]
    assert (said["correctness"] == (target.argmax(1) == ty)).all()
    ours, theirs = attacks.metric_scores(target, ty), attacks.metric_scores(shadow, sy)
    for name in list(said)[1:]:
        assert (
            said[name] == attacks.threshold_attack(ours[name], ty, theirs[name], sy, member)
        ).all()


def test_balanced_accuracy_counts_and_is_exact():
    decision = np.r_[
        np.ones(681, bool), np.zeros(319, bool), np.ones(450, bool), np.zeros(550, bool)
    ]
    assert attacks.decision_accuracy(decision, np.arange(2000) < 1000).value == 0.6155
    unequal = attacks.decision_accuracy([True, True, False, True], [True, False, False, False])
    assert math.isclose(unequal.value, (1 + 1 / 3) / 2)
    perfect = attacks.decision_accuracy([True] * 20 + [False] * 20, [True] * 20 + [False] * 20)
    assert perfect.value == perfect.high == 1 and 0.8 < perfect.low < 1


def test_correctness_accuracy_is_the_identity():
    rng = np.random.default_rng(6)
    right, member = rng.random(500) < 0.7, rng.random(500) < 0.4
    identity = attacks.correctness_accuracy(
        float(right[member].mean()), float(right[~member].mean())
    )
    assert math.isclose(identity, attacks.decision_accuracy(right, member).value)
    assert attacks.correctness_accuracy(1.0, 0.607) == 0.6965


@pytest.mark.simulation
@pytest.mark.parametrize("rates", [(0.95, 0.4), (0.6, 0.6), (1.0, 0.3), (0.5, 0.5)])
def test_interval_of_the_accuracy_covers(rates):
    rng = np.random.default_rng(7)
    covered, truth = 0, sum(rates) / 2
    member = np.arange(300) < 180
    for _ in range(1000):
        decision = np.where(member, rng.random(300) < rates[0], rng.random(300) >= rates[1])
        found = attacks.decision_accuracy(decision, member)
        covered += found.low <= truth <= found.high
    assert covered >= 927  # the 0.1 % quantile of Binomial(1000, 0.95)


@pytest.mark.simulation
@pytest.mark.parametrize("per_class", [True, False])
def test_nothing_to_find_gives_one_half(per_class):
    """Target and shadow membership are coins: 200 targets of 400 records, the mean within 4
    standard errors of 1/2.
    """
    rng, found = np.random.default_rng(8), []
    for _ in range(200):
        shadow, target = made(rng, 200, shift=0), made(rng, 400, shift=0)
        said = attacks.threshold_attack(*target[:2], *shadow, per_class=per_class)
        found.append(attacks.decision_accuracy(said, target[2]).value)
    assert abs(np.mean(found) - 0.5) < 4 * np.std(found) / np.sqrt(200)
    # in the data that the thresholds were learned on, the same nothing looks like something
    own = attacks.decision_accuracy(attacks.threshold_attack(*shadow[:2], *shadow), shadow[2]).value
    assert own > 0.52


@pytest.mark.parametrize("tolerance", [None, 1e-3, 1e-6, 0.2])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounded_outputs_pass_as_far_as_the_tolerance(tolerance, sign):
    """A row may miss one by the tolerance, 0.001 where none is given, and by no more; it is not
    scaled.
    """
    given = {} if tolerance is None else {"tolerance": tolerance}
    allowed = tolerance or 1e-3
    for share, passes in ((0.0, True), (0.99, True), (1.01, False), (2.0, False)):
        off = sign * share * allowed
        rows = np.array([[[0.25, 0.75], [0.5, 0.5 + off]], [[0.0, 1.0], [0.3, 0.7]]])
        if not passes:
            with pytest.raises(ValueError, match=f"rows that sum to 1 within {allowed:g}$"):
                attacks.log_probabilities(rows, **given)
            continue
        found = attacks.log_probabilities(rows, **given)
        assert found.shape == (2, 2, 2) and found[1, 0].tolist() == [-np.inf, 0.0]
        assert math.exp(found[0, 1, 1]) == pytest.approx(0.5 + off, rel=1e-12)


def test_bad_input_is_named():
    score, labels, member = [0.1, 0.2, 0.3, 0.4], [0, 0, 2, 2], [True, False, True, False]
    with pytest.raises(ValueError, match="shadow_labels: given no example of class 1, 3"):
        attacks.threshold_attack([0.0, 0.0, 0.0], [1, 3, 0], score, labels, member)
    with pytest.raises(ValueError, match="only members or only non-members in class 2"):
        attacks.threshold_attack([0.0, 0.0], [0, 2], score, labels, [True, False, True, True])
    # a one-sided class is no matter where nobody asks about it
    assert attacks.threshold_attack(
        [0.2], [0], score, labels, [True, False, True, True]
    ).tolist() == [True]
    with pytest.raises(ValueError, match="shadow_member"):
        attacks.threshold_attack([0.0], [0], score, labels, [True] * 4)
    with pytest.raises(ValueError, match="NaN"):
        attacks.threshold_attack([np.nan], [0], score, labels, member)
    with pytest.raises(ValueError, match="member: given 4 members"):
        attacks.best_threshold(score, [True] * 4)
    with pytest.raises(ValueError, match="a row that sums to 0.9"):
        attacks.log_probabilities([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match="smallest entry of -0.1"):
        attacks.log_probabilities([[1.1, -0.1]])
    with pytest.raises(ValueError, match="K >= 2"):
        attacks.log_probabilities([[1.0]])
    with pytest.raises(ValueError, match="largest label 2"):
        attacks.metric_scores(np.zeros((1, 2)), [2])
    with pytest.raises(ValueError, match="shadow_logits: given 3 classes, expected 2 classes"):
        attacks.metric_attacks(np.zeros((1, 2)), [0], np.zeros((2, 3)), [0, 0], [True, False])
    with pytest.raises(ValueError, match="decision: given shape"):
        attacks.decision_accuracy([[True]], [True])
    with pytest.raises(ValueError, match="member"):
        attacks.decision_accuracy([True], [True])
    with pytest.raises(ValueError, match="test_accuracy"):
        attacks.correctness_accuracy(1.0, 60.7)


@pytest.mark.real_data
@pytest.mark.skipif(
    not (Path(os.environ.get("MIA_DATA", "")) / "song-mittal-location30.npz").exists(),
    reason="needs the published outputs",
)
def test_published_outputs_give_the_published_table():
    """Song and Mittal, Table 4, Location30, to the printed digit with halves rounded up."""
    d = data.load("song-mittal-location30").extra
    printed = {"undefended": (68.7, 76.3, 61.6, 78.1), "memguard": (68.7, 69.1, 52.1, 68.8)}
    for kind, row in printed.items():
        target, shadow = (
            attacks.log_probabilities(d[f"{role}_{kind}"]) for role in ("target", "shadow")
        )
        said = attacks.metric_attacks(
            target, d["target_y"], shadow, d["shadow_y"], d["shadow_member"]
        )
        found = [attacks.decision_accuracy(one, d["target_member"]).value for one in said.values()]
        assert [math.floor(round(1000 * value, 6) + 0.5) / 10 for value in found] == list(row)


def test_difference_of_accuracies_by_brute_force():
    rng = np.random.default_rng(0)
    member = np.arange(50) < 20
    first, second = rng.random((2, 50)) < 0.5 + 0.2 * member
    value, low, high = attacks.accuracy_difference(first, second, member, delta=0.1)
    accuracies = [attacks.decision_accuracy(one, member).value for one in (first, second)]
    assert math.isclose(value, accuracies[0] - accuracies[1])
    variance = 0.0
    for group in (range(20), range(20, 50)):
        gains = [int(first[i] == member[i]) - int(second[i] == member[i]) for i in group]
        mean = sum(gains) / len(gains)
        variance += sum((g - mean) ** 2 for g in gains) / (len(gains) - 1) / len(gains) / 4
    half = 1.6448536269514722 * math.sqrt(variance)
    assert math.isclose(low, value - half) and math.isclose(high, value + half)
    assert attacks.accuracy_difference(first, first, member) == (0, 0, 0)
    for bad, name in (
        ((first, second[1:], member), "second"),
        ((first, second, member[1:]), "member"),
        ((first, second, np.arange(50) < 1), "member: given 1 records in one group"),
    ):
        with pytest.raises(ValueError, match=name):
            attacks.accuracy_difference(*bad)


@pytest.mark.parametrize(("n", "least"), [(2, 0.918), (30, 0.940)])
def test_the_smallest_coverage_of_the_accuracy_of_decisions(n, least):
    """What its notes say, over a grid of both true rates: all counts, nothing drawn."""
    member, limits = np.arange(2 * n) < n, np.empty((2, n + 1, n + 1))
    for a, b in np.ndindex(n + 1, n + 1):
        called = np.r_[np.arange(n) < a, np.arange(n) >= b]
        limits[:, a, b] = attacks.decision_accuracy(called, member)[1:]
    rates = np.linspace(0.005, 0.995, 100)
    chance = stats.binom.pmf(np.arange(n + 1), n, rates[:, None])
    found = 1.0
    for p, of_members in zip(rates, chance):
        for q, of_others in zip(rates, chance):
            held = (limits[0] <= (p + q) / 2 + 1e-12) & ((p + q) / 2 - 1e-12 <= limits[1])
            found = min(found, of_members @ held @ of_others)
    assert found == pytest.approx(least, abs=0.001)


@pytest.mark.simulation
def test_the_coverage_of_a_difference_of_three_disagreements():
    """What its notes say: 80 %, where 95 are promised; one attack drops 0.5 % of the right ones."""
    rng, member, held = np.random.default_rng(0), np.arange(1000) < 500, 0
    for _ in range(600):
        first = rng.random(1000) < 0.6
        second = first & (rng.random(1000) > 0.005)
        found = attacks.accuracy_difference(first == member, second == member, member)
        held += found.low <= 0.6 * 0.005 <= found.high
    assert held / 600 == pytest.approx(0.8, abs=0.06)
