"""The paper-scale parameter files run as soon as the data are there: from archives in the original format to the record."""

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torchvision
from data_archives import git_blob, md5, serve, table, tgz

from mia_lib import data, results
from mia_lib.data import originals

ROOT = Path(__file__).resolve().parent.parent

_spec = importlib.util.spec_from_file_location("run", ROOT / "scripts" / "run.py")
run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run)


def records(d, n=700, n_classes=4):
    """Binary records of few classes, each class with a rate of its own, so that there is something to learn."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return (rng.random((n, d)) < rng.random((n_classes, d))[y]).astype(np.uint8), y


def purchase100():
    x, y = records(600)
    return {"dataset_purchase.tgz": tgz([("dataset_purchase", table(x, y))])}, len(y)


def texas100():
    x, y = records(6169)
    return {"dataset_texas.tgz": tgz([("texas/100/feats", table(x)), ("texas/100/labels", table(y[:, None] + 1))])}, len(y)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Everything that a run writes lies in tmp_path; the run changes the folder and the search path."""
    for name in ("MIA_DATA", "MIA_RUNS", "MIA_RESULTS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("MIA_PROGRESS", "off")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def execute(here, name, **changes):
    """Run the paper-scale parameter file, made smaller only in size and time."""
    given = [part for key, value in changes.items() for part in ("-p", key, json.dumps(value))]
    assert run.main(["risk_scores", "--data", name, "--scale", "paper", "--plain", *given], notebooks=ROOT / "notebooks") == 0
    return {row["what"]: row for row in results.read(here / "MIA_RESULTS" / f"risk_scores--{name}--paper.json")["rows"]}


SMALL = {"n_members": 150, "shadow_sizes": [100, 150], "epochs": 8, "attack_epochs": 2, "batch_size": 16}


@pytest.mark.parametrize("make", [purchase100, texas100], ids=lambda make: make.__name__)
def test_tables_from_their_archives(make, here, monkeypatch):
    name = make.__name__
    served, n = make()
    with serve(served) as server:

        def local(source):
            content = served[source.file]
            sums = {"": "", "md5": md5(content), "git-blob": git_blob(content)}
            digest = sums[source.algorithm] if source.algorithm in sums else hashlib.sha256(content).hexdigest()
            return dataclasses.replace(source, url=f"{server.url}/{source.file}", digest=digest)

        monkeypatch.setitem(originals._SOURCES, name, [local(source) for source in originals._SOURCES[name]])
        original = originals.ORIGINALS[name]
        layout = {key: (dtype, (n, *shape[1:])) for key, (dtype, shape) in original.arrays.items()}
        monkeypatch.setitem(originals.ORIGINALS, name, dataclasses.replace(original, arrays=layout))
        rows = execute(here, name, **SMALL, hidden=[24, 16, 12, 8], n_removed=3)
    assert data.status(name) == str(here / "MIA_DATA" / f"{name}.npz")
    assert rows["accuracy on members, %"]["value"] > 40  # four classes that differ
    for what in (
        "attack accuracy on the unknown half, white box, %",
        "white box minus modified entropy, class-dependent, points",
        "RMSE of the calibration, risk score",
    ):
        assert rows[what]["value"] is not None and rows[what]["paper"] is not None
    assert sum(row["id"] == "R8" for row in rows.values()) == 6 + 6 * 7  # the network itself and six others
    assert {"R1", "R2", "R3", "R6", "R7", "R8", "R9", "R10", "R11"} == {row["id"] for row in rows.values()}


@contextlib.contextmanager
def cifar100(monkeypatch):
    """CIFAR-100 in its original format, of 600 and 100 pictures in four classes, served at the address that is asked."""
    rng = np.random.default_rng(1)
    kind, members = torchvision.datasets.CIFAR100, []
    for file, n in (("train", 600), ("test", 100)):
        y = np.arange(n) % 4
        planes = np.clip(rng.normal(60 + 40 * y[:, None], 30, (n, 3072)), 0, 255).astype(np.uint8)
        members.append((file, pickle.dumps({"data": planes, "fine_labels": y.tolist()})))
    members.append(("meta", pickle.dumps({"fine_label_names": [f"class {i}" for i in range(100)]})))
    sums = {file: md5(content) for file, content in members}
    served = {"cifar-100-python.tar.gz": tgz([(f"{kind.base_folder}/{file}", content) for file, content in members])}
    with serve(served) as server:
        monkeypatch.setattr(kind, "url", f"{server.url}/cifar-100-python.tar.gz")
        monkeypatch.setattr(kind, "tgz_md5", md5(served["cifar-100-python.tar.gz"]))
        for part in ("train_list", "test_list"):
            monkeypatch.setattr(kind, part, [[file, sums[file]] for file, _ in getattr(kind, part)])
        monkeypatch.setattr(kind, "meta", kind.meta | {"md5": sums["meta"]})
        layout = {"x": ("uint8", (700, 32, 32, 3)), "y": ("int64", (700,))}
        splits = {"train": (0, 600), "test": (600, 700)}
        changed = dataclasses.replace(originals.ORIGINALS["cifar100"], arrays=layout, splits=splits)
        monkeypatch.setitem(originals.ORIGINALS, "cifar100", changed)
        yield


def test_pictures_from_their_archive(here, monkeypatch):
    with cifar100(monkeypatch):
        changed = {"epochs": 1, "model": "cnn", "networks": ["cnn"], "learning_rate": 0.02, "device": "cpu"}
        rows = execute(here, "cifar100", **SMALL | changed)
    assert rows["attack accuracy on the unknown half, white box, %"]["n"] == 150
    assert rows["RMSE, 150 minus 100 shadow members"]["value"] is not None
    assert rows["RMSE minus that of the network above, network cnn"]["value"] is not None


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"dataset": "digit"}, "dataset"),
        ({"n_members": -1}, "n_members"),
        ({"shadow_sizes": [3]}, "shadow_sizes"),
        ({"shadow_sizes": [1200]}, "shadow_sizes"),
        ({"priors": [1.0]}, "priors"),
        ({"architectures": [["gelu", 1.0, 2]]}, "activation"),
        ({"networks": ["vgg"]}, "model"),
        ({"dataset": "synthetic-purchase", "networks": ["cnn"]}, "networks"),
        ({"memebers": 3}, "memebers"),
        ({"dataset": "song-mittal-location30", "architectures": [], "networks": [], "n_removed": 3}, "dataset"),
    ],
)
def test_bad_parameters_end_with_one_line(changes, message, here, capsys):
    given = [part for key, value in changes.items() for part in ("-p", key, json.dumps(value))]
    arguments = ["risk_scores", "--data", "digits", "--scale", "smoke", "--plain", *given]
    assert run.main(arguments, notebooks=ROOT / "notebooks") == 1
    line = [line for line in capsys.readouterr().err.splitlines() if line.startswith("run:")][-1]
    assert message in line
    assert not list(here.glob("MIA_RESULTS/*.json"))
