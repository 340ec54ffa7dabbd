"""The experiment notebook defense_curves writes every row that its record has and refuses bad
values.
"""

import pytest
from notebook_runs import begin, cases, missing_rows, values

SMALL = {"n_examples": 300, "n_reference": 20, "n_canaries": 20, "n_models": 12}
SMALL |= {"hidden": [4], "epochs": 1, "batch_size": 128, "n_seeds": 1}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    folder = here / "MIA_RESULTS"
    assert missing_rows("defense_curves", "digits", "default", folder, **SMALL) == []


@pytest.mark.parametrize(("data", "scale"), cases("defense_curves"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("defense_curves", 3, **values("defense_curves", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 299),
        ("n_reference", 19),
        ("n_canaries", 19),
        ("n_canaries", 400),
        ("n_models", 14),
        ("n_models", 8),
        ("hidden", [0]),
        ("smoothings", []),
        ("smoothings", [1.0]),
        ("decays", [0.0]),
        ("dropouts", [1.0]),
        ("stops", [1.0]),
        ("temperatures", [0.0]),
        ("penalties", [-1.0]),
        ("noises", [0.0]),
        ("levels", [0.0]),
        ("entropies", [1.0]),
        ("budgets", [0.0]),
        ("budgets", [2.1]),
        ("entropy_weight", -0.1),
        ("max_norm", 0.0),
        ("private_learning_rate", 0.0),
        ("fpr", 0.0),
        ("useful", 1.0),
        ("delta", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("defense_curves", 4, **{name: value})
