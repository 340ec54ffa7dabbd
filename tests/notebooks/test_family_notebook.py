"""The experiment notebook family writes every row that its records have, gives each record the same
numbers of models, reads rates as the library does, and refuses bad values.
"""

import re

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values

from mia_lib import data, metrics, results

BY_MODELS = re.compile(r"by \d+ models")  # how many have chosen a record's own threshold


def checked(**given):
    """The notebook up to its checks."""
    return begin("family", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    small = {"n_examples": 60, "epochs": 1, "n_targets": 2, "n_draws": 20, "hidden": [4]}
    small |= {"n_judged": 16, "own": [2, 7]}
    missing = missing_rows("family", "digits", "paper", here / "MIA_RESULTS", **small)
    assert [what for _, what in missing if not BY_MODELS.search(what)] == []


def test_digits_differ_in_how_many_models_choose_a_threshold():
    """2,048 judged models are too many for a test; their rows are those of the other record."""
    kinds = []
    for name in ("digits", "location30"):
        record = results.read(NOTEBOOKS / "results" / f"family--{name}--paper.json")
        kinds.append({BY_MODELS.sub("by m models", r["what"]) for r in record["rows"]})
    assert kinds[0] == kinds[1]


def test_references_are_none_of_the_target_and_equally_many():
    space = begin("family", 5, n_examples=60, n_shadow=20, n_judged=0, n_targets=4, sizes=[3])
    world = type("World", (), {})()
    world.member = space["shadow"].half_masks(20, 60, np.random.default_rng(0))
    for s in (0, 13):
        rows = space["references"](world, s, 3)
        assert rows.shape == (6, 60) and (rows != s).all()
        for i in range(60):
            assert world.member[rows[:, i], i].sum() == 3 and len(set(rows[:, i])) == 6


def test_rates_of_weighted_records_are_those_of_repeated_ones():
    space = begin("family", 7, n_draws=20)
    rng = np.random.default_rng(1)
    member = rng.random((4, 300)) < 0.5
    score = np.round(rng.normal(size=member.shape) + member, 1)  # with ties
    count = rng.integers(0, 3, 300)
    (found,) = space["read_off"](score, member, count[None])
    curve = metrics.roc(np.repeat(score, count, axis=1), np.repeat(member, count, axis=1))
    at = [curve.tpr[curve.fpr <= rate][-1] for rate in (0.01, 0.001)]
    np.testing.assert_allclose(found, [curve.auc, *at], atol=1e-12)


def test_who_is_accused_is_chosen_on_other_models():
    """A record that even models alone accuse is chosen, and found innocent on the odd ones."""
    space = begin("family", 14, n_draws=20)
    score, outside = np.zeros((20, 200)), np.ones((20, 200), bool)
    score[::2, 0] = 1
    score[1::2, 150] = 1
    carried, worst = space["on_the_worst"](score, outside, 0.5, np.random.default_rng(0))
    assert (carried.value, worst.value) == (0, 0) and worst.high > 0.2
    score[1::2, 0] = 1
    carried, worst = space["on_the_worst"](score, outside, 0.5, np.random.default_rng(0))
    assert (carried.value, worst.value) == (0.5, 1)


def test_both_questions_have_their_rows_on_three_data_sets():
    for name in ("digits", "location30", "mnist"):
        record = results.read(NOTEBOOKS / "results" / f"family--{name}--paper.json")
        assert {row["id"] for row in record["rows"]} == {"X15", "X16"}


def test_stored_signals_stand_for_models(here):
    """On CIFAR nothing is trained, and the records are those that half of the models have."""
    space = begin(
        "family",
        6,
        dataset="cifar10",
        n_shadow=6,
        n_judged=0,
        n_targets=6,
        n_examples=500,
        sizes=[2],
    )
    world, stored = space["World"](0), data.signals("cifar10", 6)
    rows = np.flatnonzero(stored.member.sum(axis=0) == 3)
    assert world.phi.shape == (6, 500) and (world.member.sum(axis=0) == 3).all()
    assert set(map(tuple, world.x.T)) <= set(map(tuple, stored.phi[:, rows].T))
    np.testing.assert_allclose(world.log_p, -np.log1p(np.exp(-world.phi)), atol=1e-12)


def test_models_to_judge_are_refused_where_signals_are_stored():
    with pytest.raises(ValueError, match="n_judged: given 32, expected 0 for cifar10"):
        checked(dataset="cifar10")


@pytest.mark.parametrize(("dataset", "scale"), cases("family"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    checked(**values("family", dataset, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 49),
        ("changed", 1.0),
        ("epochs", 0),
        ("n_shadow", 9),
        ("n_judged", 7),
        ("n_targets", 33),
        ("sizes", [16]),
        ("sizes", [4, 2]),
        ("n_draws", 19),
        ("delta", 1.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        checked(**{name: value})
