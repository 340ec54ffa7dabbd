"""A small part of the simulation in tests/simulations/verdicts.py, and the cases of the review."""

import json

import numpy as np
import pytest
from simulations import verdicts
from simulations.verdicts import ALL, COINS, GIVEN, MANY, ONE, SHADOWS, World

from mia_lib import audit
from mia_lib.audit import conduct, verdict

DRAWS = 12


def said(world, draws=DRAWS, seed=0):
    """How often each verdict was given."""

    def one(number):
        o = verdicts.draw(world, np.random.default_rng([seed, number]))
        return conduct.judge(o, seed=number)["decided"]["verdict"]

    found = verdicts.with_methods(world, lambda: [one(number) for number in range(draws)])
    return {v: found.count(v) for v in verdict.VERDICTS}


@pytest.mark.simulation
@pytest.mark.parametrize(
    "world",
    [
        World(n=300),
        World(n=300, **COINS),
        World(n=300, width=30, **ONE, **GIVEN),
        World(n=600, **MANY, **GIVEN),
        World(n=300, copies=2),
        World(n=300, **SHADOWS),
        World(n=1000, leak=0.05),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_no_verdict_is_often_false(world):
    """Five or more of twelve have probability 0.0002 where a verdict is false in 5 %."""
    counts = said(world)
    for v, may in world.may_be_false().items():
        assert not may or counts[v] <= 4


@pytest.mark.simulation
@pytest.mark.parametrize(
    "world, expected",
    [
        (World(n=10_000, leak=0.01), verdict.LEAK),  # D1: the mean attack sees nothing of it
        (World(n=4000, leak=0.08), verdict.LEAK),
        (World(n=400, masks="inverted", **ALL, **SHADOWS), verdict.CHECK),  # D2
        (World(n=1000, drifting=1, drift=2.0, **COINS), verdict.CHECK),  # D5
        (World(n=1000, **MANY, **GIVEN), verdict.DIFFER),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_what_is_plain_is_said(world, expected):
    assert said(world, 4)[expected] >= 3


@pytest.mark.simulation
def test_masks_of_other_models_do_not_hide_a_leak():
    """LOSS finds it, and LiRA, whose IN and OUT models are then the same, may point either way: so
    the report says that there is a leak, or that the masks may be of other models.
    """
    counts = said(World(masks="useless", **ALL, **SHADOWS), 6)
    assert counts[verdict.LEAK] + counts[verdict.CHECK] == 6


def test_a_table_that_proves_a_leak_is_not_denied():
    """D1: 1 % of the members are known with certainty, the AUC is 0.505. A draw in which no blind
    classifier separates by chance, as it may in 2.5 %.
    """
    report = audit.run(verdicts.draw(World(n=10_000, leak=0.01), np.random.default_rng(1)))
    loss = next(line for line in report.content["attacks"] if line["name"] == "LOSS")
    assert loss["auc"][1] < 0.5 and report.verdict == "leak"
    assert any("TPR at an FPR" in reason for reason in report.reasons)


def test_a_model_that_saw_nobody_is_not_accused_of_a_column_that_drifts():
    """D3: 300 records, one of 30 columns drifts by half a standard deviation."""
    for number in range(8):
        world = World(n=300, width=30, **ONE, **GIVEN)
        o = verdicts.draw(world, np.random.default_rng(number))
        assert conduct.judge(o, seed=number)["decided"]["verdict"] != "leak"


@pytest.mark.simulation
def test_a_drift_that_an_attack_can_see_is_seen_without_the_model_first():
    """One of 30 columns drifts, the split is called random. Without a look at each column 4 of 20
    such draws were called leaks; 5 or more of 30 have probability 0.002 where 3 % are.
    """
    world = World(n=300, width=30, **ONE)
    assert said(world, 30)[verdict.LEAK] <= 4


def test_without_features_the_reader_is_told():
    """D4."""
    world = World(n=300, features=False, classes=1)
    text = audit.run(verdicts.draw(world, np.random.default_rng(0))).to_markdown()
    assert "Whether the groups differ by themselves was not checked" in text
    given = World(n=300, features=False, **GIVEN)
    report = audit.run(verdicts.draw(given, np.random.default_rng(0)))
    assert report.verdict == "check the input" and "without features" in report.reasons[0]
    labels = World(n=300, features=False)
    text = audit.run(verdicts.draw(labels, np.random.default_rng(0))).to_markdown()
    assert "Features were not handed over" in text


def test_no_epsilon_and_no_p_where_the_groups_differ():
    """D5: a split by date, declared coins."""
    world = World(n=1000, drifting=1, drift=2.0, **COINS)
    report = audit.run(verdicts.draw(world, np.random.default_rng(0)))
    assert report.verdict == "check the input" and report.content["separated"]
    assert report.content["epsilon"] == {"lacks": conduct.descriptive.CHANCE}
    assert report.content["advantage"][0]["p"] is None and report.content["set"]["tests"] == []
    for text in (report.to_markdown(), report.to_html()):
        assert "epsilon of this training" not in text and "p-value" not in text
        assert "95 %" not in text and "bound of epsilon of" not in text


def test_the_record_is_of_these_worlds():
    record = json.loads(verdicts.RECORD.read_text())
    assert [row["world"] for row in record["rows"]] == list(verdicts.EVERY)
    assert len(record["rows"]) >= 40 and {row["draws"] for row in record["rows"]} == {50}
    studies = {row["world"]: row for row in record["rows"]}
    for v in verdict.VERDICTS:
        could = [row for row in studies.values() if row["false"][v] is not None]
        total = record["totals"][v]
        assert total["draws"] == sum(row["draws"] for row in could)
        assert total["false"] == sum(row["false"][v] for row in could)
        assert total["false"] <= 0.05 * total["draws"]
        assert total["most in one world"] == max(row["false"][v] for row in could) <= 6


def test_the_truth_of_a_world():
    """A gain that certainly shows is the share of members that leak."""
    name = "5 % leak, n = 1,000"
    assert verdicts.largest_gap(name) == pytest.approx(0.05, abs=0.01)
    assert abs(verdicts.largest_gap("no leak, no features, one class")) < 0.01
