"""The experiment notebook dp_canaries writes every row that its records have and refuses bad
values.
"""

import pytest
from notebook_runs import begin, call, cases, last_line, missing_rows, values


def test_every_row_of_the_record_has_its_place(here):
    small = {"n_examples": 400, "epochs": 2, "n_canaries": 400, "guesses": 100, "n_seeds": 2}
    small |= {"n_wrong": 60, "wrong_guesses": 30}
    assert missing_rows("dp_canaries", "digits", "paper", here / "MIA_RESULTS", **small) == []


@pytest.mark.parametrize(("data", "scale"), cases("dp_canaries"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("dp_canaries", 3, **values("dp_canaries", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "digit"}, "dataset"),
        ({"noises": [0.0]}, "noises"),
        ({"max_norm": 0.0}, "max_norm"),
        ({"guesses": 401}, "guesses"),
        ({"guesses": 500}, "guesses"),
        ({"wrong_guesses": 80}, "wrong_guesses"),
        ({"n_wrong": 300}, "n_wrong"),
        ({"n_canaries": 5000}, "coins"),
        ({"dp_delta": 0.0}, "dp_delta"),
    ],
)
def test_bad_parameters_end_with_one_line(changes, message, here, capsys):
    assert call("dp_canaries", "digits", "smoke", **changes) == 1
    assert message in last_line(capsys)
    assert not list(here.glob("MIA_RESULTS/*.json"))
