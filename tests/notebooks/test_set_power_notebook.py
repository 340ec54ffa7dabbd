"""The experiment notebook set_power writes every row that its record has and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values

SMALL = {
    "n_shadow": 6,
    "n_targets": 2,
    "n_learned": 2,
    "epochs": 2,
    "n_steps": 1,
    "n_permutations": 19,
}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    assert missing_rows("set_power", "digits", "paper", here / "MIA_RESULTS", **SMALL) == []


@pytest.mark.parametrize(("data", "scale"), cases("set_power"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("set_power", 3, **values("set_power", data, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 500),
        ("n_shadow", 5),
        ("n_targets", 17),
        ("n_learned", 7),
        ("set_sizes", [50, 40]),
        ("set_sizes", [9]),
        ("level_size", 10),
        ("levels", [1.0]),
        ("wanted", 1.0),
        ("n_steps", 0),
        ("draws", 0),
        ("shares", [1.0]),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"{name}.*: given .*, expected "):
        begin("set_power", 4, **{name: value})
