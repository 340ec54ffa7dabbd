"""The attacker who tries, against loops, limits and worlds whose best decision is known."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import attacks


def brute(score, labels, member, weight):
    """Every observed score as a threshold, for each class by loops."""

    def gain(own, who, cut):
        tpr = sum(s >= cut for s in own[who]) / sum(who)
        return tpr - sum(s >= cut for s in own[~who]) / sum(~who)

    found = {}
    for label in sorted(set(labels.tolist())):
        mine = labels == label
        best = (-np.inf, None)
        for cut in sorted(set(score.tolist()), reverse=True):
            value = weight * gain(score, member, cut)
            value += mine.sum() * gain(score[mine], member[mine], cut)
            if value > best[0] + 1e-9:
                best = value, cut
        found[label] = best[1]
    return found


def world(rng, n=300, n_classes=3):
    member = np.arange(n) < n // 2
    labels = rng.integers(0, n_classes, n)
    return rng.normal(size=n).round(1) + member * labels, labels, member


def test_shrunk_thresholds_by_loops_and_their_limits():
    rng = np.random.default_rng(0)
    score, labels, member = world(rng, 80)
    for weight in (0.0, 5.0, 100.0):
        found, pooled = attacks.shrunk_thresholds(score, labels, member, weight=weight)
        assert found == brute(score, labels, member, weight)
        assert pooled == attacks.best_threshold(score, member)
    alone, _ = attacks.shrunk_thresholds(score, labels, member, weight=0)
    own = attacks.class_thresholds(score, labels, member)
    for label in own:  # the same decisions on the records that they were fitted on
        mine = score[labels == label]
        assert ((mine >= alone[label]) == (mine >= own[label])).all()
    together, pooled = attacks.shrunk_thresholds(score, labels, member, weight=1e9)
    assert set(together.values()) == {pooled}


def test_a_class_with_one_side_gets_the_threshold_of_all():
    score, labels, member = world(np.random.default_rng(1), 60)
    labels[member & (labels == 2)] = 0
    found, pooled = attacks.shrunk_thresholds(score, labels, member)
    assert found[2] == pooled


def answers(margin, right):
    """Logits of two classes, label 0: the margin's size, on the side that says right or wrong."""
    size = np.abs(margin)
    return np.column_stack([np.where(right, size, 0.0), np.where(right, 0.0, size)])


def test_what_confidence_hides_the_combination_finds():
    """Members are right more often, and surer where they are right; a wrong answer is as sure as a
    defence likes, so that no threshold on the entropy alone sees it.
    """
    rng, n = np.random.default_rng(2), 20_000
    member, labels = np.arange(n) < n // 2, np.zeros(n, int)
    sides = []
    for _ in range(2):
        right = rng.random(n) < np.where(member, 0.9, 0.6)
        sure = rng.normal(np.where(member, 3.0, 1.5), 0.5)
        sides.append(answers(np.where(right, sure, rng.normal(3.0, 0.5, n)), right))
    found = attacks.adaptive_attack(sides[0], labels, sides[1], labels, member, rng=rng)
    share = stats.norm.sf(2.25, 3.0, 0.5), stats.norm.sf(2.25, 1.5, 0.5)
    best = (0.9 * share[0] + 1 - 0.6 * share[1]) / 2  # the likelihood ratio's, among the right
    said = attacks.decision_accuracy(found.said, member).value
    assert abs(said - best) < 0.01
    assert "right and entropy" in found.chosen or "confidence" in found.chosen
    entropy = [value for name, value in found.tried.items() if name.startswith("entropy")]
    assert max(entropy) < best - 0.02


def test_right_and_surer_never_names_what_is_answered_wrong():
    """Of a class that is always answered wrong, the best threshold lets all records in."""
    rng, n = np.random.default_rng(8), 6_000
    member, labels = np.arange(n) % 2 == 0, rng.integers(0, 3, n)
    sides = []
    for _ in range(2):
        right = (labels < 2) & (rng.random(n) < np.where(member, 0.9, 0.6))
        sure = rng.normal(np.where(member, 3.0, 1.5) - labels, 0.4)
        size = np.abs(np.where(right, sure, rng.normal(3.0, 0.4, n)))
        logits = np.zeros((n, 3))
        logits[np.arange(n), np.where(right, labels, (labels + 1) % 3)] = size
        sides.append(logits)
    found = attacks.adaptive_attack(sides[0], labels, sides[1], labels, member, rng=rng)
    assert found.chosen.startswith("right and") and found.chosen.endswith("class thresholds")
    assert not found.said[sides[0].argmax(1) != labels].any()
    assert found.said[labels < 2].any()


def test_each_figure_is_of_records_that_the_threshold_did_not_see():
    """Scores that name nobody: class thresholds fitted on few records seem to know them."""
    rng, tried, on_what_was_seen = np.random.default_rng(3), [], []
    for _ in range(20):
        logits, labels = rng.normal(size=(120, 4)), rng.integers(0, 4, 120)
        member = rng.permutation(120) < 60
        found = attacks.adaptive_attack(logits, labels, logits, labels, member, rng=rng)
        tried.append(found.tried["confidence, class thresholds"])
        seen = attacks.metric_attacks(logits, labels, logits, labels, member)["confidence"]
        on_what_was_seen.append(attacks.decision_accuracy(seen, member).value)
    assert np.mean(on_what_was_seen) > 0.57
    assert abs(np.mean(tried) - 0.5) < 4 * 0.05 / np.sqrt(20)


def test_nothing_is_found_where_nothing_leaks():
    rng = np.random.default_rng(4)
    said = []
    for _ in range(20):
        sides = rng.normal(size=(2, 400, 3))
        labels, member = rng.integers(0, 3, (2, 400)), rng.permutation(400) < 200
        found = attacks.adaptive_attack(sides[0], labels[0], sides[1], labels[1], member, rng=rng)
        said.append(attacks.decision_accuracy(found.said, member).value)
    assert abs(np.mean(said) - 0.5) < 4 * 0.025 / np.sqrt(20)


def test_the_first_of_equal_decisions_and_the_order_of_records():
    logits = np.repeat([[2.0, 0.0], [0.0, 2.0]], 40, axis=0)  # right says all that there is
    labels, member = np.zeros(80, int), np.arange(80) < 40
    rng = np.random.default_rng
    found = attacks.adaptive_attack(logits, labels, logits, labels, member, rng=rng(0))
    assert found.chosen == "correctness" and (found.said == member).all()
    score, labels, member = world(rng(5), 200)
    logits = np.column_stack([score, np.zeros((200, 2))])
    turn = rng(6).permutation(200)
    one = attacks.adaptive_attack(logits, labels, logits, labels, member, rng=rng(0))
    other = attacks.adaptive_attack(logits[turn], labels[turn], logits, labels, member, rng=rng(0))
    assert (one.said[turn] == other.said).all() and one.chosen == other.chosen


def test_a_class_that_the_shadow_lacks_leaves_out_thresholds_by_class():
    rng = np.random.default_rng(7)
    logits, member = rng.normal(size=(200, 3)), np.arange(200) < 100
    shadow_labels, labels = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    # class thresholds are the best by far on the shadow's records
    shadow = rng.normal(size=(200, 3))
    shadow[np.arange(200), shadow_labels] += np.where(member, 4.0, 0.0) + 20 * shadow_labels
    found = attacks.adaptive_attack(logits, labels, shadow, shadow_labels, member, rng=rng)
    assert "class thresholds" not in found.chosen and found.said.shape == (200,)


def test_labels_and_masks_may_be_whole_numbers_of_any_type():
    score, labels, member = world(np.random.default_rng(8), 120)
    logits = np.column_stack([score, np.zeros((120, 2))])
    for attack, more in ((attacks.adaptive_attack, {}), (attacks.adaptive_suite, {"epochs": 1})):
        found = [
            attack(logits, y, logits, y, m, **more, rng=np.random.default_rng(0))
            for y, m in ((labels, member), (labels.astype(float), member.astype(float)))
        ]
        assert (found[0].said == found[1].said).all() and found[0].tried == found[1].tried


def test_bad_input():
    logits, labels, member = np.eye(3)[[0, 1, 2] * 4], np.array([0, 1, 2] * 4), np.arange(12) < 6
    good = [logits, labels, logits, labels, member]
    for place, value, words in (
        (2, logits[:, :2], "shadow_logits"),
        (4, np.ones(12, bool), "shadow_member: given 0 records on one side, expected at least 5"),
        (4, np.ones(11, bool), "shadow_member"),
        (1, labels - 1, "labels"),
    ):
        given = list(good)
        given[place] = value
        if place == 2:
            given[3] = np.zeros(12, int)
        with pytest.raises(ValueError, match=words):
            attacks.adaptive_attack(*given)
    with pytest.raises(ValueError, match="folds"):
        attacks.adaptive_attack(*good, folds=1)
    with pytest.raises(ValueError, match="weight"):
        attacks.shrunk_thresholds([0.1, 0.2], [0, 0], [True, False], weight=-1)
    with pytest.raises(ValueError, match="member"):
        attacks.shrunk_thresholds([0.1, 0.2], [0, 0], [True, True])
