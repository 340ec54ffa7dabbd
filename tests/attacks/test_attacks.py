import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mia_lib import attacks


def brute_force(score, labels, member):
    """Every observed score of a class as its threshold; fractions, so that ties are exact."""
    from fractions import Fraction

    chosen = {}
    for label in sorted(set(labels)):
        values = [(s, m) for s, c, m in zip(score, labels, member) if c == label]
        n_members = sum(m for _, m in values)
        best = None
        for threshold in sorted({s for s, _ in values}):
            tpr = Fraction(sum(s >= threshold and m for s, m in values), n_members)
            tnr = Fraction(sum(s < threshold and not m for s, m in values), len(values) - n_members)
            if best is None or tpr + tnr >= best[0]:
                best = tpr + tnr, threshold
        chosen[label] = best[1]
    return chosen


def test_loss_is_minus_cross_entropy():
    logits = np.random.default_rng(0).normal(size=(3, 5, 4)) * 3
    labels = np.array([0, 1, 2, 3, 0])
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    expected = [[np.log(probabilities[a, i, labels[i]]) for i in range(5)] for a in range(3)]
    np.testing.assert_allclose(attacks.loss(logits, labels), expected, rtol=1e-12)


def test_loss_is_larger_for_the_better_fit_even_where_probabilities_round():
    scores = attacks.loss([[40.0, 0.0], [50.0, 0.0], [1e4, 0.0], [0.0, 1e4]], [0, 0, 0, 0])
    assert scores[0] < scores[1] < 0
    assert scores[1] <= scores[2] <= 0
    assert scores[3] == -1e4


@given(st.data())
def test_class_thresholds_equal_brute_force(data):
    n = data.draw(st.integers(2, 40))
    n_classes = data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # Few distinct values, so that ties within and between the groups are common.
    score = rng.integers(0, data.draw(st.sampled_from([2, 5, 1000])), 2 * n_classes + n) / 7 - 1
    labels = np.concatenate(
        [np.repeat(np.arange(n_classes) * 3, 2), rng.integers(0, n_classes, n) * 3]
    )
    member = np.concatenate([np.tile([True, False], n_classes), rng.random(n) < rng.random()])
    shuffle = rng.permutation(len(score))
    score, labels, member = score[shuffle], labels[shuffle], member[shuffle]
    assert attacks.class_thresholds(score, labels, member) == brute_force(score, labels, member)


def test_class_thresholds_at_size_equal_brute_force():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 900)
    member = rng.random(900) < 0.3
    score = rng.normal(size=900) + 0.5 * member + labels
    assert attacks.class_thresholds(score, labels, member) == brute_force(
        score, labels.tolist(), member
    )


def test_ties_go_to_the_largest_threshold():
    # Calling the first two or the first four members, one error each way more: equal balanced
    # accuracy.
    assert attacks.class_thresholds([4.0, 3.0, 2.0, 1.0], [0] * 4, [True, False, True, False]) == {
        0: 4.0
    }
    # Scores without information: every threshold gives 1/2.
    assert attacks.class_thresholds([1.0, 1.0, 0.0, 0.0], [2] * 4, [True, False, True, False]) == {
        2: 1.0
    }


def test_thresholds_are_observed_scores_of_their_class():
    score = np.array([0.1, 0.30000000000000004, 0.2, 0.7], dtype=np.float32)
    thresholds = attacks.class_thresholds(score, [5, 5, 1, 1], [True, False, False, True])
    assert thresholds[5] in score[:2].astype(float) and thresholds[1] == np.float64(score[3])
    assert list(thresholds) == [1, 5]
    assert all(type(key) is int and type(value) is float for key, value in thresholds.items())


@pytest.mark.parametrize(
    ("score", "labels", "member", "message"),
    [
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 7, 7], [True, False, True, True], "member: .*class 7"),
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 7, 7], [False, False, True, False], "member: .*class 0"),
        ([1.0, np.nan], [0, 0], [True, False], "score: given 1 NaN"),
        ([1.0, np.inf], [0, 0], [True, False], "score: given 1 infinite"),
        ([[1.0, 2.0]], [0, 0], [True, False], "score: given shape"),
        ([1.0, 2.0], [0], [True, False], "labels: given shape"),
        ([1.0, 2.0], [0.5, 0], [True, False], "labels: "),
        ([1.0, 2.0], [0, 0], [True], "member: given shape"),
        ([1.0, 2.0], [0, 0], [2, 0], "member: "),
        ([], [], [], "score: given an empty array"),
    ],
)
def test_bad_input(score, labels, member, message):
    with pytest.raises(ValueError, match=message):
        attacks.class_thresholds(score, labels, member)
