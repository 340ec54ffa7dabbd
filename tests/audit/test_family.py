"""The family of figures: which they are, at which level, and that their limits hold together."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import audit, bayes, metrics
from mia_lib.audit import conduct, family
from mia_lib.audit.observations import LEAST

RNG = np.random.default_rng


def two_attacks(n=4000, gap=1.0, seed=0):
    rng = RNG(seed)
    member = np.arange(n) < n // 2
    score = rng.normal(size=n) + gap * member
    return {"LOSS": score, "Hinge": np.exp(score), "Other": rng.normal(size=n)}, member


def test_attacks_with_one_order_are_one():
    scores, _ = two_attacks()
    assert family.merged(scores) == {"LOSS": ["LOSS", "Hinge"], "Other": ["Other"]}
    assert list(family.merged({"a": scores["LOSS"], "b": -scores["LOSS"]})) == ["a", "b"]
    tied = np.array([0.1 + 0.2, 0.3, 0.5])  # a tie but for rounding
    assert family.merged({"a": tied, "b": np.array([1.0, 1.0, 2.0])}) == {"a": ["a", "b"]}
    assert family.merged({"a": np.zeros(3), "b": np.ones(3)}) == {"a": ["a", "b"]}


def test_rates_that_are_resolved_and_the_smallest():
    """At the smallest rate no threshold is too low with more than a quarter of the level: all
    non-members below it with probability level / 4.
    """
    for n0, level in ((50, 0.01), (500, 0.001), (20_000, 0.0005)):
        *fixed, smallest = family.rates(n0, level)
        assert (1 - smallest) ** n0 == pytest.approx(level / 4)
        member = np.arange(2 * n0) < n0
        curve = metrics.roc(-np.arange(2.0 * n0), member)
        assert curve.resolvable(smallest, level)
        assert not curve.resolvable(smallest * 0.999, level)
        assert fixed == [rate for rate in (0.1, 0.01, 0.001) if curve.resolvable(rate, level)]
    assert family.rates(5, 0.001) == []


def test_every_figure_at_the_level_of_one():
    scores, member = two_attacks()
    found = family.figures(scores, member, 0.06, False, RNG(0))
    level = 0.06 / (2 * (1 + 1 + 4))  # two attacks, AUC, gap, four rates
    curve = metrics.roc(scores["LOSS"], member)
    assert found[0]["attack"] == ["LOSS", "Hinge"]
    assert found[0]["estimate"] == curve.auc_interval(level)
    rates = [f for f in found if f["what"] == "TPR" and f["attack"][0] == "LOSS"]
    assert [f["estimate"] for f in rates] == [curve.tpr_at(f["rate"], level) for f in rates]
    assert [f["chance"] for f in rates] == [f["rate"] for f in rates] == family.rates(2000, level)
    gap = next(f for f in found if f["what"] == "TPR - FPR")
    sides = scores["LOSS"][member], scores["LOSS"][~member]
    assert gap["estimate"] == bayes.threshold_advantage(*sides, delta=level)
    assert {f["chance"] for f in found if f["what"] == "AUC"} == {0.5}
    assert len([f for f in found if f["what"] == "epsilon"]) == 0


def test_epsilon_by_hand():
    scores, member = two_attacks(gap=3.0)
    found = family.figures(scores, member, 0.07, True, RNG(0))
    (first, _) = [f["estimate"] for f in found if f["what"] == "epsilon"]
    order = np.argsort(scores["LOSS"])
    correct = (~member[order[:400]]).sum() + member[order[-400:]].sum()
    level = 0.07 / (2 * 7) / 2
    share = stats.beta.ppf(level, correct, 800 - correct + 1)
    assert first.low == pytest.approx(np.log(share / (1 - share)))


def test_ties_are_not_broken_by_the_order_of_the_file():
    """Members last, and a score that says nothing: half of the guesses are right."""
    member = np.arange(4000) >= 2000
    correct, made = family.guesses(np.zeros(4000), member, RNG(0))
    assert made == 800 and abs(correct - 400) < 5 * np.sqrt(800) / 2


@pytest.mark.simulation
def test_the_limits_hold_together():
    """A world with known AUC, TPR and gap: all limits of all figures hold in at least 95 % of
    draws, with room for chance (a lower limit of 90 of 100 has probability 0.01).
    """
    gap, draws = 0.7, 100
    wrong = 0
    for seed in range(draws):
        scores, member = two_attacks(600, gap, seed)
        for f in family.figures(scores, member, 0.05, False, RNG(seed)):
            shift = gap if f["attack"][0] == "LOSS" else 0.0
            truth = {
                "AUC": stats.norm.cdf(shift / np.sqrt(2)),
                "TPR": f["rate"] and stats.norm.sf(stats.norm.isf(f["rate"]) - shift),
                "TPR - FPR": 2 * stats.norm.cdf(shift / 2) - 1,
            }[f["what"]]
            _, low, high = f["estimate"]
            if not low <= truth <= high:
                wrong += 1
                break
    assert wrong <= 10


def test_the_verdict_rests_on_these_figures():
    rng = RNG(0)
    member = rng.random(300) < 0.5
    o = audit.Observations(
        rng.normal(size=(300, 3)), np.zeros(300, int), member, assignment="coins"
    )
    found = conduct.judge(o, 0.1, 5)
    again = family.figures(found["scores"], member, 0.1, True, RNG([5, 7]))
    assert [f["estimate"] for f in found["figures"]] == [f["estimate"] for f in again]
    assert LEAST == 10


def test_what_a_blind_classifier_can_do_has_half_of_the_level():
    rng = RNG(0)
    member = np.arange(400) < 200
    o = audit.Observations(
        rng.normal(size=(400, 2)), np.zeros(400, int), member, features=rng.normal(size=(400, 2))
    )
    found = conduct.judge(o)
    rates = sorted({f["rate"] for f in found["figures"] if f["rate"]})
    level = 0.05 / (2 * (2 + len(rates)))
    expected = found["blind"][0].ceiling(level, rates)
    kinds = [("AUC", None), ("TPR - FPR", None), *(("TPR", rate) for rate in rates)]
    assert conduct._ceiling(found["blind"], found["figures"], 0.05) == dict(zip(kinds, expected))
    assert set(conduct._ceiling([], found["figures"], 0.05).values()) == {1.0}
