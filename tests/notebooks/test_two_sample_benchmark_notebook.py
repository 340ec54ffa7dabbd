"""The notebook two_sample_benchmark writes every row of its record and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values

SMALL = {"n_records": 40, "n_fits": 2, "n_asked": 1, "n_steps": 1, "deep_steps": 1, "epochs": 2}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    assert (
        missing_rows("two_sample_benchmark", "blob", "paper", here / "MIA_RESULTS", **SMALL) == []
    )


@pytest.mark.parametrize(("data", "scale"), cases("two_sample_benchmark"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("two_sample_benchmark", 3, **values("two_sample_benchmark", data, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_records", 10),
        ("n_fits", 1),
        ("batch", 3),
        ("skipped", ["MMD"]),
        ("epochs", 0),
        ("deep_steps", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"{name}.*: given .*, expected "):
        begin("two_sample_benchmark", 3, **{name: value})
