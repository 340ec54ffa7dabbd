"""Rates that no threshold reaches, against a loop over all thresholds and a closed form."""

import numpy as np
import pytest

from mia_lib import metrics


def by_thresholds(scores, member, fpr, unused):
    """What is left of the allowed false positives by the threshold that uses most of them."""
    outside = [score for score, inside in zip(scores, member) if not inside]
    allowed = int(fpr * len(outside) + 1e-9)
    counts = [sum(score >= cut for score in outside) for cut in [*scores, np.inf]]
    used = max(count for count in counts if count <= allowed)
    return allowed - used > unused * allowed


@pytest.mark.parametrize("levels", [1, 2, 5, 40, 10_000])
@pytest.mark.parametrize("fpr", [0.0, 0.005, 0.03, 0.2, 1.0])
@pytest.mark.parametrize("unused", [0.0, 0.1, 0.5])
def test_by_every_threshold(levels, fpr, unused):
    rng = np.random.default_rng([levels, 7])
    member = rng.random(300) < 0.5
    scores = np.floor(levels * rng.random(300)) + 0.0
    expected = by_thresholds(scores, member, fpr, unused)
    assert metrics.tie_limited(metrics.roc(scores, member), fpr, unused=unused) == expected


def test_the_top_share_of_copies():
    """Pr[all c copies rise] = 1 / (c + 1) where the chance of a rise is uniform."""
    rng = np.random.default_rng(8)
    member = np.arange(40_000) % 2 == 0
    for copies, fpr in ((10, 0.08), (10, 0.1), (100, 0.009), (100, 0.011)):
        share = rng.binomial(copies, rng.random(member.size))
        curve = metrics.roc(share, member)
        assert curve.fpr[1] == pytest.approx(1 / (copies + 1), rel=0.1)
        if fpr < 1 / (copies + 1):
            assert metrics.tie_limited(curve, fpr) and curve.tpr_at(fpr).value == 0


def test_rounding_of_the_rate_is_no_tie():
    """0.07 of 100 is 7.000000000000001 of them, and 0.29 of 100 is 28.999999999999996."""
    member = np.arange(200) >= 100
    curve = metrics.roc(np.arange(200.0), member)
    assert not any(metrics.tie_limited(curve, k / 100, unused=0.0) for k in range(101))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fpr": -0.1}, "fpr: given -0.1"),
        ({"fpr": 0.1, "unused": 1.0}, "unused: given 1"),
        ({"fpr": float("nan")}, "fpr: given nan"),
    ],
)
def test_refuses(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        metrics.tie_limited(metrics.roc([1.0, 2.0], [True, False]), **given)
