"""The experiment notebook audit writes every row that its records have and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values

# The records were made with an earlier blind classifier, which was fitted and judged once.
EARLIER = ("X11", "AUC of a blind classifier, from the inputs, the label (logistic regression)")


@pytest.mark.parametrize("scale", ["paper", "seeds"])
def test_every_row_of_the_record_has_its_place(here, scale):
    small = {"n_examples": 300, "n_shadow": 40, "epochs": 2}
    small["n_seeds"] = 2 if scale == "seeds" else 1
    assert set(missing_rows("audit", "digits", scale, here / "MIA_RESULTS", **small)) <= {EARLIER}


@pytest.mark.parametrize(("data", "scale"), cases("audit"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("audit", 3, **values("audit", data, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("assignment", "by lot"),
        ("n_examples", -1),
        ("n_shadow", 3),
        ("prior", 1.0),
        ("delta", 0.0),
        ("epochs", 0),
        ("hidden", [0]),
        ("seed", -1),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        begin("audit", 3, **{name: value})


def test_a_file_holds_one_target():
    with pytest.raises(ValueError, match="^n_seeds: given 2, expected 1 with a file"):
        begin("audit", 3, file="seen.npz", n_seeds=2)
