"""The experiment notebook exposed writes every row that its records have and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values


def checked(**given):
    """The notebook up to its draw of records."""
    return begin("exposed", 4, **given)


def test_every_row_of_the_record_has_its_place(here):
    small, folder = {"n_examples": 250, "n_shadow": 16, "epochs": 10}, here / "MIA_RESULTS"
    assert missing_rows("exposed", "digits", "paper", folder, **small) == []
    assert (folder / "exposed--digits--smoke.png").is_file()


@pytest.mark.parametrize(("data", "scale"), cases("exposed"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("exposed", 3, **values("exposed", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 199),
        ("n_examples", -1),
        ("n_shadow", 12),
        ("n_shadow", 18),
        ("epochs", 0),
        ("top", 0),
        ("top", 1798),
        ("layer", 0.3),
        ("layer", 0.0),
        ("fpr", 1.0),
        ("delta", 0.0),
        ("seed", -1),
        ("n_seeds", 0),
        ("hidden", [0]),
        ("other_hidden", [0]),
        ("activation", "gelu"),
        ("optimizer", "adagrad"),
        ("momentum", 1.0),
        ("device", "tpu"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})
