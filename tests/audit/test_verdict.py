"""From a situation to the verdict and its reasons: one line for each situation."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from mia_lib import audit
from mia_lib.audit import conduct, verdict
from mia_lib.intervals import Estimate


def figure(what, low, high, *, rate=None, attack="LOSS"):
    chance = {"AUC": 0.5, "TPR": rate}.get(what, 0.0)
    estimate = Estimate((low + high) / 2, low, high)
    return {"attack": [attack], "what": what, "rate": rate, "estimate": estimate, "chance": chance}


def quiet(**more):
    """Figures of an attack that finds nothing, some of them replaced."""
    figures = {
        "auc": figure("AUC", 0.45, 0.55),
        "tpr": figure("TPR", 0.02, 0.2, rate=0.1),
        "gap": figure("TPR - FPR", 0.0, 0.1),
    }
    return list((figures | more).values())


def blind(low, saw="the inputs and the label"):
    other = Estimate(0.5, 0.4, 0.6)
    return [{"saw": saw, "limits": [other, Estimate(low + 0.1, low, low + 0.2)]}]


NO_DRIFT, DRIFT = blind(0.41), blind(0.51)
CEILING = {("AUC", None): 0.6, ("TPR", 0.1): 0.25, ("TPR - FPR", None): 0.2, ("epsilon", None): 9}
RANDOM = {"assignment": "random", "features": True}
COINS = {"assignment": "coins", "features": True}
GIVEN = {"assignment": "given", "features": True, "ceiling": CEILING}
LEAK = figure("AUC", 0.51, 0.6)
BELOW = figure("AUC", 0.35, 0.49)

# situation: figures, blind, the rest; verdict; what its first reason says
GOLDEN = {
    "nothing": (quiet(), NO_DRIFT, RANDOM, "no leak shown", "at most 100 more"),
    "nothing, coins": (quiet(), NO_DRIFT, COINS, "no leak shown", "at most 100 more"),
    "nothing, nothing to see": (quiet(), [], RANDOM, "no leak shown", "at most 100 more"),
    "nothing, as they came": (quiet(), NO_DRIFT, GIVEN, "no leak shown", "at most 100 more"),
    "an AUC": (quiet(auc=LEAK), NO_DRIFT, RANDOM, "leak", "AUC of LOSS is 0.555 (limits 0.510"),
    "an AUC at its edge": (quiet(auc=figure("AUC", 0.5, 0.6)), [], RANDOM, "no leak shown", ""),
    "a TPR alone": (
        quiet(tpr=figure("TPR", 0.11, 0.2, rate=0.1)),
        NO_DRIFT,
        RANDOM,
        "leak",
        "TPR at an FPR of 10 % of LOSS is 15.5 % (limits 11 % to 20 %), and guessing reaches 10 %",
    ),
    "a gap alone": (
        quiet(gap=figure("TPR - FPR", 0.01, 0.1)),
        NO_DRIFT,
        RANDOM,
        "leak",
        "largest TPR - FPR of LOSS is 0.055 (limits 0.010 to 0.100), and guessing reaches 0.000",
    ),
    "epsilon alone": (
        [*quiet(), figure("epsilon", 0.3, 4.0)],
        NO_DRIFT,
        COINS,
        "leak",
        "epsilon of this training is at least 0.30",
    ),
    "as they came, below the ceiling": (
        quiet(auc=figure("AUC", 0.59, 0.7)),
        NO_DRIFT,
        GIVEN,
        "no leak shown",
        "at most 100 more",
    ),
    "as they came, above the ceiling": (
        quiet(auc=figure("AUC", 0.61, 0.7)),
        NO_DRIFT,
        GIVEN,
        "leak",
        "reaches at most 0.600 (unless the labels drift)",
    ),
    "as they came, above the ceiling of drifting groups": (
        quiet(auc=figure("AUC", 0.61, 0.7)),
        DRIFT,
        GIVEN,
        "leak",
        "reaches at most 0.600 (unless the labels drift)",
    ),
    "a ceiling below chance is no bar": (
        quiet(tpr=figure("TPR", 0.09, 0.2, rate=0.1)),
        NO_DRIFT,
        GIVEN | {"ceiling": CEILING | {("TPR", 0.1): 0.08}},
        "no leak shown",
        "",
    ),
    "drift": (quiet(), DRIFT, GIVEN, "groups differ", "AUC of 0.610 (limits 0.510 to 0.710)"),
    "drift that the attacks follow": (
        quiet(auc=figure("AUC", 0.55, 0.7)),
        DRIFT,
        GIVEN,
        "groups differ",
        "A classifier that saw the inputs and the label, and never the model,",
    ),
    "coins and drift": (quiet(), DRIFT, COINS, "check the input", "assignment 'coins'), but a cl"),
    "a random split and drift, and a leak": (
        quiet(auc=LEAK),
        DRIFT,
        RANDOM,
        "check the input",
        "assignment 'random'), but a classifier",
    ),
    "as they came, without features": (
        quiet(auc=LEAK),
        NO_DRIFT,
        GIVEN | {"features": False},
        "check the input",
        "assignment 'given'), and without features",
    ),
    "below one half": (
        quiet(auc=BELOW),
        NO_DRIFT,
        RANDOM,
        "check the input",
        "AUC of LOSS is 0.420 [0.350, 0.490], below 0.500",
    ),
    "below one half, beside a leak": (
        [*quiet(auc=BELOW), figure("AUC", 0.7, 0.8, attack="Hinge")],
        NO_DRIFT,
        COINS,
        "check the input",
        "AUC of LOSS",
    ),
    "below one half, not knowing the label": (
        quiet(auc=BELOW),
        NO_DRIFT,
        RANDOM | {"unlabelled": ["LOSS"]},
        "no leak shown",
        "",
    ),
    "below one half, as drift would explain": (
        quiet(auc=BELOW),
        NO_DRIFT,
        GIVEN,
        "no leak shown",
        "",
    ),
    "below one half, further than drift explains": (
        quiet(auc=figure("AUC", 0.2, 0.39)),
        NO_DRIFT,
        GIVEN,
        "check the input",
        "below 0.400",
    ),
    "below one half where the groups differ": (quiet(auc=BELOW), DRIFT, GIVEN, "groups differ", ""),
    "masks": (
        quiet(auc=LEAK),
        NO_DRIFT,
        RANDOM | {"contradictions": ["The masks seem inverted."]},
        "check the input",
        "The masks seem inverted.",
    ),
}


@pytest.mark.parametrize("situation", GOLDEN)
def test_from_a_situation_to_its_verdict(situation):
    figures, seen, rest, expected, said = GOLDEN[situation]
    found = verdict.decide(figures, seen, **rest)
    assert found["verdict"] == expected
    assert said in found["reasons"][0]
    assert all(reason.endswith(".") and reason[0].isupper() for reason in found["reasons"])
    assert found["separated"] == (seen is DRIFT)
    assert found["levels"] == (rest["assignment"] != "given" and seen is not DRIFT)


def test_the_limit_is_that_of_the_attack_that_may_find_most():
    figures = [*quiet(), figure("TPR - FPR", 0.0, 0.1234, attack="Hinge")]
    found = verdict.decide(figures, [], assignment="random", features=False)
    assert found["most found"] == 0.1234
    assert "at most 124 more than it falsely accuses of 1,000 non-members" in found["reasons"][0]
    assert "None of the 4 figures" in found["reasons"][1]
    assert "at most 1,000 more" in verdict.persons_at_most(1.7)


def test_a_column_by_itself_is_named_with_the_number_of_columns():
    line = {"saw": "input number 7", "limits": [Estimate(0.58, 0.51, 0.64)], "columns": 1200}
    random = verdict.decide(quiet(auc=LEAK), [*NO_DRIFT, line], **RANDOM)
    assert random["verdict"] == "check the input" and random["separated"]
    assert "but input number 7 alone" in random["reasons"][0]
    given = verdict.decide(quiet(), [*NO_DRIFT, line], **GIVEN)
    assert given["verdict"] == "groups differ" and not given["levels"]
    assert "hold for all 1,200 columns together" in given["reasons"][0]
    assert given["reasons"][0].startswith("Input number 7 alone")


def test_one_reason_for_each_kind_the_clearest():
    figures = quiet(auc=figure("AUC", 0.51, 0.61), gap=figure("TPR - FPR", 0.2, 0.3))
    figures.append(figure("AUC", 0.6, 0.7, attack="Hinge"))  # as wide, further from one half
    found = verdict.decide(figures, [], assignment="random", features=False)
    assert ["AUC of Hinge" in found["reasons"][0], "TPR - FPR" in found["reasons"][1]] == [True] * 2
    assert found["reasons"][2].startswith("3 of the 4 figures")


def test_the_clearest_blind_way_is_named():
    both = blind(0.51) + blind(0.7, "the shadow models' mean OUT output")
    found = verdict.decide(quiet(), both, **GIVEN)
    assert [line in found["reasons"][k] for k, line in enumerate(("the inputs", "mean OUT"))] == [
        True,
        True,
    ]
    two_ways = [{"saw": "x", "limits": [Estimate(0.9, 0.8, 0.95), Estimate(0.7, 0.6, 0.8)]}]
    found = verdict.decide(quiet(), two_ways, **GIVEN)
    assert "AUC of 0.900" in found["reasons"][0]


PERSONS = (
    "Of 1,000 members, an attack of this report finds at most 100 more than it falsely accuses of "
    "1,000 non-members, at whatever threshold (TPR - FPR at most 0.1000)."
)
NOTHING = (
    "None of the 3 figures that were fixed beforehand is shown to exceed what {} reaches. That "
    "does not show that there is no leak."
)
BLIND = (
    "classifier that saw the inputs and the label, and never the model, tells members from "
    "non-members with an AUC of 0.610 (limits 0.510 to 0.710) on records that it was not fitted on."
)
SENTENCES = {
    "nothing": [PERSONS, NOTHING.format("guessing")],
    "nothing, as they came": [PERSONS, NOTHING.format("a classifier that never saw the model")],
    "an AUC": ["The AUC of LOSS is 0.555 (limits 0.510 to 0.600), and guessing reaches 0.500."],
    "epsilon alone": ["The bound of epsilon of LOSS: epsilon of this training is at least 0.30."],
    "as they came, above the ceiling": [
        "The AUC of LOSS is 0.655 (limits 0.610 to 0.700), and a classifier that never saw the "
        "model reaches at most 0.600 (unless the labels drift)."
    ],
    "drift": [
        f"A {BLIND}",
        "No attack does better than a blind classifier may, so what the attacks find is no "
        "evidence about the model.",
    ],
    "coins and drift": [
        f"Chance is said to have decided who is a member (assignment 'coins'), but a {BLIND}"
    ],
    "below one half, further than drift explains": [
        "The AUC of LOSS is 0.295 [0.200, 0.390], below 0.400: it takes members for non-members, "
        "though no blind classifier tells the groups apart. The masks may be inverted, or belong "
        "to other models."
    ],
    "as they came, without features": [
        "Nothing says that chance decided who is a member (assignment 'given'), and without "
        "features no blind classifier can say whether the groups differ by themselves."
    ],
    "masks": ["The masks seem inverted."],
}


@pytest.mark.parametrize("situation", SENTENCES)
def test_from_a_situation_to_every_reason(situation):
    figures, seen, rest, _, _ = GOLDEN[situation]
    assert verdict.decide(figures, seen, **rest)["reasons"] == SENTENCES[situation]


@pytest.mark.simulation
def test_few_members_of_an_accurate_model_that_never_saw_them_are_no_leak():
    """Sixty of 897 digits called members, of a model trained on the others: all sixty are right,
    now and then, which says nothing.
    """
    digits = load_digits()
    x, y = digits.data, digits.target
    member, said = np.arange(897) < 60, []
    for seed in range(15):
        order = np.random.default_rng(seed).permutation(len(x))
        train, rest = order[:900], order[900:]
        model = SVC(C=10, gamma=0.001).fit(x[train], y[train])
        seen = audit.observe(model, x[rest], y[rest], member, assignment="random")
        said.append(conduct.judge(seen)["decided"]["verdict"])
    assert said.count("no leak shown") >= 14  # ten of fifteen where DeLong's variance stands alone
