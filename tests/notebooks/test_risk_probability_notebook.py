"""The experiment notebook risk_probability writes every row that its records have and refuses bad
values.
"""

import pytest
from notebook_runs import begin, call, cases, last_line, values

from mia_lib import results

SMALL = {
    "n_members": 100,
    "shadow_sizes": [50, 100],
    "n_models": 16,
    "n_examples": 300,
    "hidden": [16],
    "epochs": 5,
    "n_draws": 99,
    "n_seeds": 2,
}


def test_every_kind_of_row_is_written(here):
    """Rows name their shadow sizes, so those of a smaller run have other names than a record's."""
    assert call("risk_probability", "digits", "smoke", **SMALL) == 0
    rows = results.read(here / "MIA_RESULTS" / "risk_probability--digits--smoke.json")["rows"]
    assert {row["id"] for row in rows} == {"R1", "R7", "R10"}
    kinds = {row["what"].split(",")[0] for row in rows}
    assert {"AUC", "attack accuracy", "RMSE by bins", "RMSE by records", "resolution"} <= kinds
    assert all(row["value"] is not None for row in rows)


@pytest.mark.parametrize(("data", "scale"), cases("risk_probability"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("risk_probability", 3, **values("risk_probability", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "digit"}, "dataset"),
        ({"n_members": 10}, "n_members"),
        ({"n_members": 900}, "n_members, shadow_sizes"),
        ({"shadow_sizes": [3]}, "shadow_sizes"),
        ({"n_models": 18}, "n_models"),
        ({"n_examples": 100}, "n_examples"),
        ({"wide_bins": 0}, "wide_bins"),
        ({"n_draws": 9}, "n_draws"),
        ({"activation": "gelu"}, "activation"),
        ({"dataset": "song-mittal-location30"}, "dataset"),
    ],
)
def test_bad_parameters_end_with_one_line(changes, message, here, capsys):
    assert call("risk_probability", "digits", "smoke", **changes) == 1
    assert message in last_line(capsys)
    assert not list(here.glob("MIA_RESULTS/*.json"))
