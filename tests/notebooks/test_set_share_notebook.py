"""The experiment notebook set_share writes every row that its record has and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values

SMALL = {"n_targets": 2, "n_references": 4, "epochs": 2, "n_permutations": 19}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    assert missing_rows("set_share", "digits", "paper", here / "MIA_RESULTS", **SMALL) == []


@pytest.mark.parametrize(("data", "scale"), cases("set_share"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("set_share", 3, **values("set_share", data, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 100),
        ("n_examples", 900),
        ("n_targets", 3),
        ("n_references", 2),
        ("hidden", [0]),
        ("set_sizes", [20]),
        ("shares", [1.5]),
        ("odds", 0.5),
        ("piece", 4),
        ("subsets", [0]),
        ("changes", [2.0]),
        ("n_altered", 5),
        ("alpha", 0.0),
        ("delta", 1.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"{name}.*: given .*, expected "):
        begin("set_share", 4, **{name: value})
