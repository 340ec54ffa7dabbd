"""Another attack or another recipe: which moves a rate more."""

import numpy as np
import pytest

from mia_lib import attacks, compare, lira, metrics, shadow

S, T, N, K = 12, 2, 300, 3
RNG = np.random.default_rng(0)
MEMBER = shadow.half_masks(S, N, RNG)
LABELS = RNG.integers(K, size=N)
OUTPUTS = RNG.normal(size=(S, N, K))
OUTPUTS[:, np.arange(N), LABELS] += MEMBER
NAMED = {"strong": "good", "weak": "poor", "plain": "none"}


@pytest.mark.parametrize("name", ["LOSS", "Modified entropy, class thresholds", "LiRA, offline"])
def test_an_attack_on_some_of_the_models(name):
    attack = attacks.named(name)
    found, seconds = compare.scored(attack, OUTPUTS, LABELS, MEMBER, T, features=None)
    more = {"labels": LABELS} if name.startswith("Modified") else {}
    wanted = lira.leave_one_out(attack.signal(OUTPUTS, LABELS), MEMBER, attack, **more)[:T]
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == (T, N) and 0 <= seconds < 20


def test_an_attack_without_shadow_models_reads_the_targets_alone():
    spoiled = OUTPUTS.copy()
    spoiled[T:] = np.nan
    loss, offline = attacks.named("LOSS"), attacks.named("LiRA, offline")
    found = compare.scored(loss, spoiled, LABELS, MEMBER, T)[0]
    np.testing.assert_array_equal(found, compare.scored(loss, OUTPUTS, LABELS, MEMBER, T)[0])
    with pytest.raises(ValueError, match="logits: given"):
        compare.scored(offline, spoiled, LABELS, MEMBER, T)
    with pytest.raises(ValueError, match="n_targets: given 13, expected at most 12"):
        compare.scored(loss, OUTPUTS, LABELS, MEMBER, S + 1)
    with pytest.raises(ValueError, match="member: given shape"):
        compare.scored(loss, OUTPUTS, LABELS, MEMBER[1:], T)


def test_how_many_shadow_models_an_attack_reads():
    found = {entry.name: compare.shadow_models(entry, S) for entry in attacks.CATALOGUE}
    assert found["LOSS"] == found["Entropy"] == 0
    assert found["Learned network"] == found["Privacy risk score"] == 1
    assert found["RMIA, online"] == found["LiRA, offline"] == S - 1
    assert set(found.values()) == {0, 1, S - 1}


def world(**gaps):
    """By recipe: scores of an attack that sees this gap, and of one that sees nothing."""
    rng = np.random.default_rng(1)
    member = rng.random((8, 2_000)) < 0.5
    noise = rng.normal(size=(2, *member.shape))
    scores = {r: {"good": noise[0] + gap * member, "poor": noise[1]} for r, gap in gaps.items()}
    return scores, member


def test_each_ratio_is_the_one_that_it_says():
    scores, member = world(none=2.0, some=1.0)
    found = compare.two_choices(scores, member, 0.05, **NAMED, rng=np.random.default_rng(2))
    tpr = {
        (recipe, attack): metrics.roc(values, member).tpr_at(0.05).value
        for recipe, each in scores.items()
        for attack, values in each.items()
    }
    for recipe, row in found.iterrows():
        good = tpr[recipe, "good"]
        assert row["attack"].value == pytest.approx(good / tpr[recipe, "poor"])
        assert row["recipe"].value == pytest.approx(tpr["none", "good"] / good)
        assert row["both"].value == pytest.approx(good / tpr["none", "poor"])
        # what the two exchanges do, from the strong attack on the plain recipe
        exchanged = found.loc["none", "attack"].value / row["recipe"].value
        assert row["both"].value == pytest.approx(exchanged)
    given = scores["some"]["good"], scores["none"]["poor"], member, 0.05
    seed = int(np.random.default_rng(2).integers(2**63))
    again = compare.tpr_ratio(*given, rng=np.random.default_rng(seed))
    assert found.loc["some", "both"] == again
    assert found.loc["none", "recipe"] == (1.0, 1.0, 1.0)


def test_which_moves_more_depends_on_the_recipe_and_on_no_other():
    """A defence after which the strong attack finds less than the weak one did without it."""
    scores, member = world(none=2.0, some=1.0, much=0.0, all=-1.0)

    def moves(names):
        some = {name: scores[name] for name in names}
        found = compare.two_choices(some, member, 0.05, **NAMED, rng=np.random.default_rng(3))
        return found["moves more"].to_dict()

    every = moves(scores)
    wanted = ["the attack", "the attack", "undecided", "the recipe"]
    assert every == dict(zip(scores, wanted))
    assert moves(["none", "some"]) == {name: every[name] for name in ("none", "some")}


def test_a_tie_is_decided_for_neither():
    scores, member = world(none=2.0)
    poor = scores["none"]["poor"]
    scores["same"] = {"good": poor, "poor": poor}
    found = compare.two_choices(scores, member, 0.05, **NAMED, rng=np.random.default_rng(4))
    assert found.loc["same", "both"] == (1.0, 1.0, 1.0)
    assert found.loc["same", "moves more"] == "undecided"


def test_what_is_missing_is_named():
    scores, member = world(none=2.0, some=1.0)
    with pytest.raises(ValueError, match="plain: given 'nobody'"):
        compare.two_choices(scores, member, 0.05, **NAMED | {"plain": "nobody"})
    scores["some"].pop("poor")
    with pytest.raises(ValueError, match="scores: given 'some' without 'poor', expected all"):
        compare.two_choices(scores, member, 0.05, **NAMED)
