"""The experiment notebook lira_dp writes every row that its records have and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values


def checked(**given):
    """The notebook up to its checks."""
    return begin("lira_dp", 3, **given)


@pytest.mark.parametrize("scale", ["paper", "seeds"])
def test_every_row_of_the_record_has_its_place(here, scale):
    small = {"n_examples": 200, "n_models": 6, "epochs": 1}
    small["n_seeds"] = 2 if scale == "seeds" else 1
    assert missing_rows("lira_dp", "digits", scale, here / "MIA_RESULTS", **small) == []


@pytest.mark.parametrize(("data", "scale"), cases("lira_dp"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("lira_dp", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", -1),
        ("n_models", 7),
        ("n_models", 4),
        ("n_pilots", 3),
        ("rate_factors", []),
        ("rate_factors", [1.0, 0.0]),
        ("variance", "local"),
        ("delta", 1.0),
        ("dp_delta", 0.0),
        ("seed", -1),
        ("n_seeds", 0),
        ("fprs", [0.0]),
        ("noises", []),
        ("clips", []),
        ("clips", [0.0]),
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("hidden", [0]),
        ("device", "tpu"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})
