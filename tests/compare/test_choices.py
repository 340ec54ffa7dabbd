"""Another attack or another recipe: which moves a rate more; and names beside their points."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from sklearn.isotonic import IsotonicRegression

from mia_lib import attacks, compare, lira, metrics, shadow
from mia_lib.compare import choices

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
    found, seconds = choices.scored(attack, OUTPUTS, LABELS, MEMBER, T, features=None)
    more = {"labels": LABELS} if name.startswith("Modified") else {}
    wanted = lira.leave_one_out(attack.signal(OUTPUTS, LABELS), MEMBER, attack, **more)[:T]
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == (T, N) and 0 <= seconds < 20


def test_an_attack_without_shadow_models_reads_the_targets_alone():
    spoiled = OUTPUTS.copy()
    spoiled[T:] = np.nan
    loss, offline = attacks.named("LOSS"), attacks.named("LiRA, offline")
    found = choices.scored(loss, spoiled, LABELS, MEMBER, T)[0]
    np.testing.assert_array_equal(found, choices.scored(loss, OUTPUTS, LABELS, MEMBER, T)[0])
    with pytest.raises(ValueError, match="logits: given"):
        choices.scored(offline, spoiled, LABELS, MEMBER, T)
    with pytest.raises(ValueError, match="n_targets: given 13, expected at most 12"):
        choices.scored(loss, OUTPUTS, LABELS, MEMBER, S + 1)
    with pytest.raises(ValueError, match="member: given shape"):
        choices.scored(loss, OUTPUTS, LABELS, MEMBER[1:], T)


def test_how_many_shadow_models_an_attack_reads():
    found = {entry.name: choices.shadow_models(entry, S) for entry in attacks.CATALOGUE}
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
    found = choices.two_choices(scores, member, 0.05, **NAMED, rng=np.random.default_rng(2))
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
        found = choices.two_choices(some, member, 0.05, **NAMED, rng=np.random.default_rng(3))
        return found["moves more"].to_dict()

    every = moves(scores)
    wanted = ["the attack", "the attack", "undecided", "the recipe"]
    assert every == dict(zip(scores, wanted))
    assert moves(["none", "some"]) == {name: every[name] for name in ("none", "some")}


def test_what_is_missing_is_named():
    scores, member = world(none=2.0, some=1.0)
    with pytest.raises(ValueError, match="plain: given 'nobody'"):
        choices.two_choices(scores, member, 0.05, **NAMED | {"plain": "nobody"})
    scores["some"].pop("poor")
    with pytest.raises(ValueError, match="scores: given 'some' without 'poor', expected all"):
        choices.two_choices(scores, member, 0.05, **NAMED)


@pytest.mark.parametrize("seed", range(20))
def test_heights_are_moved_as_little_as_it_takes(seed):
    rng = np.random.default_rng(seed)
    heights, gap = rng.random(12).round(1), 0.07  # some are equal
    found = choices.apart(heights, gap)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(found[order]) >= gap - 1e-12).all()
    steps = gap * np.arange(12)
    wanted = IsotonicRegression().fit_transform(np.arange(12), heights[order] - steps) + steps
    np.testing.assert_allclose(found[order], wanted)
    far = np.arange(5.0)[::-1]
    np.testing.assert_array_equal(choices.apart(far, gap), far)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_no_name_lies_on_another(scale):
    ax = plt.subplots(layout="constrained")[1]
    rng = np.random.default_rng(0)
    x, y = 10 ** rng.uniform(-4, 2, 14), np.append(rng.uniform(1, 1.1, 9), rng.uniform(4, 6, 5))
    ax.set(xscale=scale, xlim=(1e-4, 100), ylim=(0, 7))
    names = [f"the attack {place}" for place in range(14)]
    found = choices.names_beside(ax, x, y, names, colors=["C0"] * 14)
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in found]  # without the line
    frame = ax.get_window_extent()
    order = np.argsort(y)
    for low, high in zip(order, order[1:]):
        assert boxes[low].y1 <= boxes[high].y0 + 1  # a pixel
    assert all(box.x0 > frame.x1 for box in boxes)
    assert all(box.x1 <= ax.figure.bbox.x1 for box in boxes)  # nothing is cut off
    assert [text.get_text() for text in found] == names
    np.testing.assert_allclose([text.xy for text in found], np.column_stack([x, y]))
    assert {text.get_color() for text in found} == {"C0"}
    plt.close("all")


def test_as_many_names_as_points():
    with pytest.raises(ValueError, match="names: given 1 names, 2 and 2 numbers, expected"):
        choices.names_beside(plt.subplots()[1], [1.0, 2.0], [1.0, 2.0], ["a"])
    plt.close("all")
