"""The experiment notebook attack_settings writes every row that its records have, tries every
attack of the catalogue, and refuses bad values.
"""

import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values

from mia_lib import attacks, results


def checked(**given):
    """The notebook up to its draw of records."""
    return begin("attack_settings", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    small = {"n_examples": 200, "epochs": 1, "n_targets": 2}
    missing = missing_rows("attack_settings", "digits", "paper", here / "MIA_RESULTS", **small)
    # a ratio is left out where both attacks find nobody
    assert [what for _, what in missing if "over the catalogue's choice" not in what] == []


def test_the_record_has_every_attack_of_the_catalogue():
    record = results.read(NOTEBOOKS / "results" / "attack_settings--digits--paper.json")
    named = {row["what"].removeprefix("AUC, ") for row in record["rows"]}
    assert {attack.name for attack in attacks.CATALOGUE} <= named


def test_a_setting_of_the_catalogue_is_not_tried_against_itself():
    space = begin("attack_settings", lambda space: 12)
    for attack in attacks.CATALOGUE:
        own, tried = space["own"](attack), list(space["variants"](attack))
        assert len(set(tried)) == len(tried)
        assert all(own[name] != value for name, value in tried)
        settings = space["VARIED"].get(attack.name, {})
        assert len(tried) == sum(len(found) for found in settings.values()) - sum(
            own[name] in found for name, found in settings.items()
        )


def test_references_are_none_of_the_targets_and_equally_many():
    space = begin("attack_settings", lambda space: 20, n_examples=60, n_shadow=24, epochs=1)
    world = space["World"](0)
    rows = space["some_models"](world, 3, 4)
    assert rows.shape == (7, 60) and rows.min() >= space["n_targets"]
    for i in range(60):
        assert world.member[rows[:3, i], i].all() and not world.member[rows[3:, i], i].any()
        assert len(set(rows[:, i])) == 7


def test_fresh_worlds_are_not_the_embedded_one():
    space = begin("attack_settings", 6, dataset="synthetic-purchase", n_examples=60)
    first, second = (space["records"](seed)[0] for seed in (0, 1))
    assert first.shape == second.shape and (first != second).any()
    embedded, *_ = space["experiment"].draw("synthetic-purchase", 60, 0)
    assert (first != embedded).any()


@pytest.mark.parametrize(("data", "scale"), cases("attack_settings"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("attack_settings", 3, **values("attack_settings", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 49),
        ("epochs", 0),
        ("n_shadow", 10),
        ("n_shadow", 13),
        ("n_targets", 1),
        ("n_targets", 9),
        ("noises", []),
        ("noises", [0.0]),
        ("copies", [0]),
        ("shares", [1.0]),
        ("gammas", [0.5]),
        ("slopes", [1.5]),
        ("levels", [1.0]),
        ("bins", [1]),
        ("lengths", [0]),
        ("rows", [9]),
        ("references", [2, 1]),
        ("references", [1, 13]),
        ("delta", 1.0),
        ("seed", -1),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})
