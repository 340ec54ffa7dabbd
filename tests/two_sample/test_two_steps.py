"""The two-step test: who is accused in each of its four cases, and its level by simulation."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import two_sample


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(("moved", "higher"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_only_like_records_with_other_scores_are_accused(moved, higher):
    rng = np.random.default_rng(5)
    raw, score = rng.normal(size=(2, 60, 2)), rng.normal(size=(2, 60))
    found = two_sample.two_step_test(raw[0], raw[1] + moved, score[0], score[1] + higher, rng=rng)
    assert found.accused == (moved == 0 and higher == 3)
    assert (found.records.p_value <= 0.05) == (moved == 3)
    assert (found.members.p_value <= 0.05) == (higher == 3)


def test_the_first_step_is_the_one_that_is_given(rng):
    calls = []

    def first(raw_x, raw_y, rng):
        calls.append((raw_x, raw_y))
        return two_sample.TestResult(0.0, 0.2)

    a, b = [1.0, 2.0, 3.0], np.arange(3.0) + 50
    found = two_sample.two_step_test("abc", "xyz", a, b, alpha=0.1, test=first, rng=rng)
    assert calls == [("abc", "xyz")] and found.records.p_value == 0.2
    assert found.accused  # p is 1 in 20 over all splits, near it over those drawn
    assert not two_sample.two_step_test("abc", "xyz", a, b, alpha=0.3, test=first).accused


@pytest.mark.simulation
def test_sets_without_a_difference_are_accused_at_most_at_the_level():
    rng, accused = np.random.default_rng(6), 0
    for _ in range(200):
        raw = rng.normal(size=(2, 20, 2))
        accused += two_sample.two_step_test(*raw, *raw.sum(2), alpha=0.1, rng=rng).accused
    assert accused <= stats.binom.ppf(0.999, 200, 0.1)


def test_bad_input():
    raw = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"^score_y: given shape \(3,\), expected \(4,\) as raw_y"):
        two_sample.two_step_test(raw, raw, np.zeros(4), np.zeros(3))
    with pytest.raises(ValueError, match="^alpha: "):
        two_sample.two_step_test(raw, raw, np.zeros(4), np.zeros(4), alpha=0.0)


def test_a_level_that_no_p_value_reaches_is_refused():
    rng = np.random.default_rng(0)
    raw, score = rng.normal(size=(2, 30, 2)), rng.normal(size=(2, 30)) + np.array([[0], [9]])
    with pytest.raises(ValueError, match="^alpha: given 0.0019, expected at least 1 / 500"):
        two_sample.two_step_test(*raw, *score, alpha=0.0019, rng=rng)
    assert two_sample.two_step_test(*raw, *score, alpha=0.002, rng=rng).accused
