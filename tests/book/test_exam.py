"""The exam's points add up, and the library computes the numbers of the marking scheme."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mia_lib import attacks, bayes, intervals, lira, metrics, privacy, two_sample

COURSE = Path(__file__).resolve().parents[2] / "book" / "course"
EXAM = (COURSE / "exam.md").read_text(encoding="utf-8")
MARKING = (COURSE / "exam_marking.md").read_text(encoding="utf-8")
PRINTED = dict(re.findall(r"`([A-F]\d[ab]?) = (-?[\d.]+)`", MARKING))


def points(text, unit):
    """Points of the questions by name, and of the parts."""
    questions = re.findall(rf"^- \*\*([A-F]\d)\*\* \((\d+){unit}\)", text, re.MULTILINE)
    parts = re.findall(r"^## Part ([A-F]).*\((\d+) points\)", text, re.MULTILINE)
    return {name: int(n) for name, n in questions}, {name: int(n) for name, n in parts}


def test_points_add_up():
    questions, parts = points(EXAM, " points")
    assert sum(parts.values()) == 120 and "120 points" in EXAM and len(parts) == 6
    for part, wanted in parts.items():
        assert sum(n for name, n in questions.items() if name[0] == part) == wanted
    assert points(MARKING, "") == (questions, parts)


def test_points_in_a_question_add_up():
    """Where a line of the marking scheme splits its points, the pieces have their sum."""
    for line in re.findall(r"^- \*\*[A-F]\d\*\*.*$", MARKING, re.MULTILINE):
        whole, *pieces = map(int, re.findall(r"\((\d+)\)", line))
        assert not pieces or sum(pieces) == whole, line


def toy_scores(shift, n=400_000):
    """Quantiles of the two normal laws, which stand for scores."""
    grid = stats.norm.ppf((np.arange(n // 2) + 0.5) / (n // 2))
    return np.concatenate([grid + shift, grid]), np.arange(n) < n // 2


def game():
    curve = metrics.roc(*toy_scores(1.5))
    tpr = curve.tpr_at(0.01).value
    yield "A1a", tpr
    yield "A1b", curve.auc
    fractions = 0.05 * tpr, 0.95 * 0.01
    rest = 0.05 - fractions[0], 0.95 - fractions[1]
    yield "A2", float(metrics.ppv().value(*fractions, *rest))
    yield "A3", metrics.n_nonmembers_needed(0.005)
    yield "A4", float(intervals.clopper_pearson_upper(2, 1_000))


def ratio():
    shadow = np.array([[5.1, 6.3, 5.8, 6.8, 2.2, 4.1, 3.0, 3.5]]).T
    member = (np.arange(8) < 4)[:, None]
    yield "B1", float(lira.online(np.array([5.0]), shadow, member)[0])
    yield "B2", float(lira.offline(np.array([5.0]), shadow, member)[0])
    estimated = toy_scores(2 / np.sqrt(1 + 1 / 4))  # in the unit of its standard deviation
    yield "B3a", metrics.roc(*estimated).auc
    yield "B3b", metrics.roc(*toy_scores(2)).auc


def best():
    counts = np.array([6, 3, 1]), np.array([3, 3, 4])
    signals = [np.repeat([0.0, 1.0, 2.0], 1_000 * count) for count in counts]
    for key, prior in (("C1", 0.5), ("C2", 0.2)):
        query = bayes.Histogram(*signals, prior=prior, bins=[np.array([-0.5, 0.5, 1.5, 2.5])])
        yield f"{key}a", query.advantage().value
        risk = float(query.risk(np.array([0.0]))[0])
        yield f"{key}b", risk if key == "C1" else (1 + risk) / 2
    yield "C3a", metrics.Metric(0, 0, -3, -1, 0, 1, 0, 0, 0, 0).threshold()


def risk():
    yield "D1", attacks.correctness_accuracy(0.97, 0.81)
    signals = [np.repeat([0.0, 1.0], np.array(count)) for count in ((70, 30), (30, 70))]
    query = bayes.Histogram(*signals, prior=0.1, bins=2)  # 0.7 at the prior 0.5
    yield "D2", (1 + float(query.risk(np.array([0.0]))[0])) / 2


def guarantees():
    yield "E1a", float(privacy.approximate(1.0, 0.0).tpr_at(0.01))
    yield "E1b", float(bayes.dp_advantage_ceiling(1.0))
    yield "E2", float(privacy.gaussian(0.5).tpr_at(0.01))
    yield "E3", privacy.epsilon_lower_bound(46, 50, 3, 50)


def sets():
    apart = np.arange(60.0), np.arange(60.0) + 1_000
    smallest = {
        b: two_sample.mean_test(*apart, "greater", n_permutations=b, rng=np.random.default_rng(1))
        for b in range(60, 100)
    }
    yield "F1", min(b for b, found in smallest.items() if found.p_value <= 0.05 / 4)
    pairs = range(1, 10)
    yield "F2", min(m for m in pairs if canaries(m).p_value <= 0.05)


def canaries(m):
    return two_sample.canary_test(np.arange(m) + 10.0, np.arange(m) + 0.0)


def computed():
    return {
        key: value for part in (game, ratio, best, risk, guarantees, sets) for key, value in part()
    }


@pytest.fixture(scope="module")
def answers():
    return computed()


def test_every_number_has_a_computation(answers):
    assert set(answers) == set(PRINTED) and len(PRINTED) > 20


@pytest.mark.parametrize("key", PRINTED)
def test_printed_number_is_the_computed_one(key, answers):
    """To the last printed place."""
    decimals = len(PRINTED[key].partition(".")[2])
    assert abs(float(PRINTED[key]) - answers[key]) <= 0.5001 * 10.0**-decimals, answers[key]


def test_no_value_is_accused_where_the_scheme_says_so(answers):
    """C2 and C3: every posterior is below the threshold."""
    member, other = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    posterior = {p: p * member / (p * member + (1 - p) * other) for p in (0.2, 0.5)}
    assert posterior[0.2].max() < 0.5 and np.isclose(posterior[0.2].max(), answers["C2b"])
    assert posterior[0.5].max() < answers["C3a"]
    assert np.allclose(posterior[0.5].round(3), [0.667, 0.5, 0.2])
