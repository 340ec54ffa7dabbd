"""The paper-scale parameter files run as soon as the data are there: from archives in the original
format to the record.
"""

import pytest
from learnable_archives import TABLES, cifar100, tables
from notebook_runs import begin, call, cases, last_line, missing_rows, values

from mia_lib import data, results


def execute(here, name, **changes):
    """Run the paper-scale parameter file, made smaller only in size and time."""
    assert call("risk_scores", name, "paper", **changes) == 0
    return {
        row["what"]: row
        for row in results.read(here / "MIA_RESULTS" / f"risk_scores--{name}--paper.json")["rows"]
    }


CHECKED = 6  # code cells up to the last check of parameters alone

SMALL = {
    "n_members": 150,
    "shadow_sizes": [100, 150],
    "epochs": 8,
    "attack_epochs": 2,
    "batch_size": 16,
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_from_their_archives(name, here, monkeypatch):
    with tables(name, monkeypatch):
        rows = execute(here, name, **SMALL, hidden=[24, 16, 12, 8], n_removed=3)
    assert data.status(name) == str(here / "MIA_DATA" / f"{name}.npz")
    assert rows["accuracy on members, %"]["value"] > 40  # four classes that differ
    for what in (
        "attack accuracy on the unknown half, white box, %",
        "white box minus modified entropy, class-dependent, points",
        "RMSE of the calibration, risk score",
    ):
        assert rows[what]["value"] is not None and rows[what]["paper"] is not None
    assert (
        sum(row["id"] == "R8" for row in rows.values()) == 6 + 6 * 7
    )  # the network itself and six others
    assert {"R1", "R2", "R3", "R6", "R7", "R8", "R9", "R10", "R11"} == {
        row["id"] for row in rows.values()
    }


def test_pictures_from_their_archive(here, monkeypatch):
    with cifar100(monkeypatch):
        changed = {
            "epochs": 1,
            "model": "cnn",
            "networks": ["cnn"],
            "learning_rate": 0.02,
            "device": "cpu",
        }
        rows = execute(here, "cifar100", **SMALL | changed)
    assert rows["attack accuracy on the unknown half, white box, %"]["n"] == 150
    assert rows["RMSE, 150 minus 100 shadow members"]["value"] is not None
    assert rows["RMSE minus that of the network above, network cnn"]["value"] is not None


def test_every_row_of_the_record_has_its_place(here):
    small = {"n_members": 60, "epochs": 1, "attack_epochs": 1, "n_seeds": 2}
    assert missing_rows("risk_scores", "digits", "seeds", here / "MIA_RESULTS", **small) == []


@pytest.mark.parametrize(
    ("data", "scale"), [case for case in cases("risk_scores") if case[1] == "paper"]
)
def test_the_parameters_of_the_paper_pass_the_checks(data, scale):
    begin("risk_scores", CHECKED, **values("risk_scores", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"dataset": "digit"}, "dataset"),
        ({"n_members": -1}, "n_members"),
        ({"shadow_sizes": [3]}, "shadow_sizes"),
        ({"shadow_sizes": [1200]}, "shadow_sizes"),
        ({"priors": [1.0]}, "priors"),
        ({"augment": "weak"}, "augment"),
        ({"architectures": [["relu", 1.0]]}, "architectures"),
        ({"model": "cnn"}, "architectures"),
        ({"architectures": [["gelu", 1.0, 2]]}, "activation"),
        ({"networks": ["vgg"]}, "model"),
        ({"dataset": "synthetic-purchase", "networks": ["cnn"]}, "networks"),
        ({"memebers": 3}, "memebers"),
        (
            {
                "dataset": "song-mittal-location30",
                "architectures": [],
                "networks": [],
                "n_removed": 3,
            },
            "dataset",
        ),
    ],
)
def test_bad_parameters_end_with_one_line(changes, message, here, capsys):
    assert call("risk_scores", "digits", "smoke", **changes) == 1
    assert message in last_line(capsys)
    assert not list(here.glob("MIA_RESULTS/*.json"))
