"""What a defence changed: against a world with known areas, and against the case of one model."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import audit, metrics

N = 400


def world(rng, gap, difficulty, member, **more):
    score = gap * member + difficulty + 0.5 * rng.normal(size=N)
    more = {"features": np.arange(N)[:, None] % 7, "assignment": "random"} | more
    return audit.Observations(np.stack([score, np.zeros(N)], 1), np.zeros(N, int), member, **more)


def pair(seed, gaps=(1.0, 0.5), **more):
    rng = np.random.default_rng(seed)
    member, difficulty = rng.permutation(N) < N // 2, rng.normal(size=N)
    return [world(rng, gap, difficulty, member, **more) for gap in gaps]


def area(found, name="LOSS"):
    return next(c for c in found["changes"] if c["attack"] == name and c["what"] == "AUC")


def test_the_same_model_twice():
    before, _ = pair(0)
    found = audit.compare(before, before)
    change = area(found)["change"]
    assert found["paired"] and change.value == 0 and -0.04 < change.low < 0 < change.high < 0.04
    gap = next(c for c in found["changes"] if c["what"] == "TPR - FPR")
    assert gap["change"].value == 0 and gap["change"].low < 0 < gap["change"].high


def test_what_is_missing_or_differs_is_said():
    before, after = pair(0)
    without = audit.Observations(after.logits, after.labels, after.member, assignment="random")
    found = audit.compare(before, without)
    assert not found["paired"] and "features are missing" in found["said"][0]
    assert "not paired" in audit.compare(before, pair(1)[1])["said"][0]
    unpaired = area(found)["change"]
    paired = area(audit.compare(before, after))["change"]
    assert unpaired.value == paired.value
    assert paired.high - paired.low < unpaired.high - unpaired.low


def test_values_and_rates():
    before, after = pair(0)
    found = audit.compare(before, after)
    curves = [
        metrics.roc(o.logits[:, 0], o.member) for o in (before, after)
    ]  # the loss puts two classes in this order
    loss = [c for c in found["changes"] if c["attack"] == "LOSS"]
    assert (loss[0]["before"], loss[0]["after"]) == tuple(curve.auc for curve in curves)
    assert [(c["what"], c["rate"]) for c in loss] == [
        ("AUC", None),
        ("TPR", 0.1),
        ("TPR - FPR", None),
    ]
    assert loss[1]["before"] == curves[0].tpr_at(0.1).value
    best = [(curve.tpr - curve.fpr).max() for curve in curves]
    assert loss[2]["change"].value == pytest.approx(best[1] - best[0])


def by_hand(score, member, which):
    """The share of the other side that one record stands right to, ties half."""
    other = score[member != member[which]]
    right = score[which] > other if member[which] else score[which] < other
    return np.mean(right + (score[which] == other) / 2)


def test_the_paired_interval_is_the_one_by_hand():
    """DeLong, DeLong and Clarke-Pearson by one record after the other, with many ties."""
    before, after = (
        audit.Observations(np.round(o.logits), o.labels, o.member, features=o.features,
            assignment="random") for o in pair(0)
    )  # fmt: skip
    found = audit.compare(before, after)
    member, score = before.member, [o.logits[:, 0] for o in (before, after)]
    moved = [by_hand(score[1], member, i) - by_hand(score[0], member, i) for i in range(N)]
    sides = [np.array(moved)[member], np.array(moved)[~member]]
    parts = [side.var(ddof=1) / side.size for side in sides]
    freedom = sum(parts) ** 2 / sum(v**2 / (side.size - 1) for v, side in zip(parts, sides))
    lines = [(c["attack"], c["what"], c["rate"]) for c in found["changes"]]
    level = 0.05 / len(lines)  # one of all intervals misses with 0.05 at most
    half = stats.t.isf(level / 2, freedom) * np.sqrt(sum(parts))
    change = area(found)["change"]
    assert change.value == pytest.approx(np.mean(sides[0])) == pytest.approx(np.mean(sides[1]))
    assert change.low == pytest.approx(change.value - half)
    assert change.high == pytest.approx(change.value + half)


@pytest.mark.simulation
def test_the_paired_interval_covers():
    """Normal scores of variance 1.25: the change of the area is known. 80 draws at delta 0.25 for
    all intervals; of each by itself the level is smaller, so 12 misses are one case in 1,000.
    """
    truth = np.diff([stats.norm.cdf(gap / np.sqrt(2.5)) for gap in (1.0, 0.5)])[0]
    missed = 0
    for seed in range(80):
        low, high = area(audit.compare(*pair(seed), delta=0.25))["change"][1:]
        missed += not low <= truth <= high
    assert missed <= 12


def test_bad_calls():
    before, _ = pair(0)
    with pytest.raises(ValueError, match="after: given int, expected audit.Observations"):
        audit.compare(before, 3)


def test_two_audits_without_a_common_attack():
    before, _ = pair(0)
    labels = np.where(np.arange(N) % 3 == 0, -np.inf, 0.0)
    said = np.stack([labels, np.where(labels == 0, -np.inf, 0.0)], 1)
    alone = audit.Observations(said, before.labels, before.member)
    regression = audit.Observations(before.logits * [1, 0], before.labels, before.member,
        task="regression")  # fmt: skip
    with pytest.raises(ValueError, match="after: given observations that permit LOSS.* expected"):
        audit.compare(alone, regression)
