"""The paper-scale parameter files of the defences run as soon as the data are there; bad parameters
end with one line.
"""

import json
import re

import pytest
from learnable_archives import TABLES, cifar100, tables
from notebook_runs import begin, call, cases, last_line, missing_rows, values

from mia_lib import results

SMALL = {
    "n_train": 100,
    "n_reference": 80,
    "hidden": [16, 12, 8],
    "attack_hidden": [8],
    "epochs": 2,
    "batch_size": 16,
    "n_checkpoints": 2,
    "private_epochs": 1,
    "n_canaries": 12,
    "n_canary_models": 8,
    "n_canary_records": 60,
    "canary_hidden": [8],
    "canary_epochs": 2,
    "n_seeds": 2,
    "device": "cpu",
    "architectures": [["sigmoid", 1.0, 2]],
}


def test_every_row_of_the_record_has_its_place(here):
    """Checkpoints, architectures and epochs of the record, which are in names, with tiny models."""
    small = {"n_train": 40, "n_reference": 40, "hidden": [6], "attack_hidden": [4]}
    small |= {"batch_size": 40, "private_epochs": 2, "per_class": False, "n_seeds": 1}
    small |= {"n_canaries": 10, "n_canary_models": 8, "n_canary_records": 30}
    small |= {"canary_hidden": [4]}
    assert missing_rows("defenses", "digits", "seeds", here / "MIA_RESULTS", **small) == []


@pytest.mark.parametrize("name", TABLES)
def test_tables_from_their_archives(name, here, monkeypatch):
    with tables(name, monkeypatch):
        assert call("defenses", name, "paper", **SMALL) == 0
    record = results.read(here / "MIA_RESULTS" / f"defenses--{name}--paper.json")
    rows = {row["what"]: row for row in record["rows"]}
    assert {"R4", "R5", "R7", "R8", "R9", "X13"} == {row["id"] for row in record["rows"]}
    same = [rows[f"correctness, {defence}"]["value"] for defence in ("none", "MemGuard")]
    assert same[0] == same[1]  # the label is kept
    assert rows["modified entropy, adversarial regularization"]["paper"] is not None
    notes = [row["note"] for row in record["rows"] if row["what"].endswith("minus early stopping")]
    assert any("TOST p" in note for note in notes) and not any("one seed" in note for note in notes)
    assert rows["epsilon of DP-SGD, target"]["value"] > 0
    assert rows["recall at risk score 0.5, none"]["paper"] == (
        0.909 if name == "purchase100" else 0.943
    )
    for defence in ("adversarial regularization", "MemGuard"):
        assert rows[f"RMSE of the calibration, {defence}, sigmoid, width 1, depth 2"]["value"] > 0
    for who in ("none", "DP-SGD", "MemGuard", "adversarial regularization"):
        row = rows[f"TPR at FPR 1.0% on canaries, {who}"]
        assert row["low"] <= row["value"] <= row["high"]


def test_pictures_from_their_archive(here, monkeypatch):
    """CIFAR-100, the convolutional network in place of the large one: what a plain MLP alone can do
    is left out.
    """
    changed = SMALL | {
        "model": "cnn",
        "architectures": [],
        "epochs": 2,
        "n_seeds": 1,
        "n_train": 60,
        "per_class": False,
    }
    with cifar100(monkeypatch):
        assert call("defenses", "cifar100", "paper", **changed) == 0
    record = results.read(here / "MIA_RESULTS" / "defenses--cifar100--paper.json")
    rows = {row["what"]: row for row in record["rows"]}
    assert {"R4", "R5", "R7", "R9", "X13"} == {row["id"] for row in record["rows"]}
    assert (
        rows["correctness, none"]["value"] == rows["correctness, MemGuard"]["value"]
    )  # the label is kept
    assert "test accuracy, label smoothing" in rows
    assert "test accuracy, DP-SGD" not in rows and "test accuracy, dropout" not in rows


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"dataset": "digit"}, "dataset"),
        ({"n_train": 1}, "n_train"),
        ({"n_train": 5000}, "n_train"),
        ({"n_canary_models": 9}, "n_canary_models"),
        ({"n_canary_records": 25}, "n_canary_records"),
        ({"architectures": [["gelu", 1.0, 1]]}, "activation"),
        ({"model": "cnn"}, "architectures"),
        ({"budget": 3}, "budget"),
        ({"penalty": -1.0}, "penalty"),
        ({"dropout": 1.0}, "dropout"),
        ({"margin": 0.0}, "margin"),
        ({"penality": 1.0}, "penality"),
    ],
)
def test_bad_parameters_end_with_one_line(changes, message, here, capsys):
    assert call("defenses", "digits", "smoke", **changes) == 1
    assert message in last_line(capsys)
    assert not list(here.glob("MIA_RESULTS/*.json"))


def test_a_class_that_the_shadow_model_cannot_teach_is_named_before_any_training(here, capsys):
    """Of twenty members no class has one for sure: which do depends on the seed."""
    small = SMALL | {"n_train": 20, "architectures": [], "n_seeds": 30}
    for per_class in (True, False):
        assert call("defenses", "digits", "smoke", **small, per_class=per_class) == 1
        line = last_line(capsys)
        assert re.search(r"n_train: given 20: with seed \d+ the shadow model lacks class \d", line)
    assert not list((here / "MIA_RUNS").glob("*")) and not list(here.glob("MIA_RESULTS/*.json"))


@pytest.mark.parametrize(("data", "scale"), cases("defenses"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("defenses", 4, **values("defenses", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(("data", "scale"), cases("defenses"))
def test_early_stopping_ends_within_the_epochs(data, scale):
    given = begin("defenses", 2) | values("defenses", data, scale)
    assert 2 <= given["n_checkpoints"] <= given["epochs"]


def test_stored_models_of_another_processor_are_said_in_one_line(here, capsys):
    """The curve of adversarial regularization is trained anew: it need not be the stored run's."""

    def said():
        small = SMALL | {"n_seeds": 1, "architectures": [], "scale": "smoke"}
        begin("defenses", 25, **small)
        return capsys.readouterr().out

    assert "of other instructions" not in said()
    for file in (here / "MIA_RUNS").rglob("manifest.json"):
        manifest = json.loads(file.read_text())
        manifest["machine"] |= {"processor": "another"}
        file.write_text(json.dumps(manifest))
    line = "the stored models may be of other instructions than this processor's"
    assert said().count(line) == 1
