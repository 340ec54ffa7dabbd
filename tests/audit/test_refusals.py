"""What the audit refuses, asked where it is said: each message names what was given."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from mia_lib import audit
from mia_lib.audit import __main__ as command
from mia_lib.audit import answers, files, records, regression, tables

MEMBER = np.arange(40) < 20
X, Y = np.zeros((40, 2)), np.arange(40) % 2
NORMAL = np.random.default_rng(0).normal(size=(40, 2))


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def numbers(folder, **more):
    arrays = {"predictions": X[:, 0], "targets": X[:, 0] + 1, "member": MEMBER} | more
    np.savez(folder / "seen.npz", **arrays)
    return folder / "seen.npz"


class Several:
    def predict_proba(self, x):
        return [x, x]


REFUSED = [
    (lambda f: command._writable(Path("/proc/nobody/report"), f / "a.csv"), "output: given"),
    (lambda f: command.settings(f / "none.yaml"), "file: given .* which cannot be read"),
    (lambda f: command.settings(written(f, "a.yaml", "- 1")), "a.yaml: given a list"),
    (lambda f: command.settings(written(f, "a.yaml", "seed: 1")), "file: given nothing in"),
    (lambda f: command.settings(written(f, "a.yaml", "file: x\nfil: y")), "unknown name 'fil'"),
    (lambda f: command.settings(written(f, "a.yaml", "file: 3")), "a.yaml: file: given 3"),
    (lambda f: answers.ask("predict", Several(), X), "predict: given answers to 2 questions"),
    (lambda f: answers.ask("predict", 3, X), "predict: given int"),
    (lambda f: answers.ask("predict", lambda x: [[1], [1, 2]], X), "predict: given answers of"),
    (lambda f: answers.logits("fit", X[:, 0], np.arange(3)), "fit: given one number for 3 classes"),
    (
        lambda f: answers.logits("fit", X, np.arange(3)),
        r"fit: given predictions of shape \(40, 2\)",
    ),
    (lambda f: audit.observe(lambda x: X, X, Y.astype(str), MEMBER), "y: given labels of dtype"),
    (
        lambda f: audit.observe(
            lambda x: np.array(["a", 1] * 20, object), X, np.array(["a", 1] * 20, object), MEMBER
        ),
        "y: given labels of several types",
    ),
    (lambda f: audit.Observations(NORMAL, Y, MEMBER, structure="x"), "structure: given str"),
    (
        lambda f: audit.Observations(NORMAL, Y, MEMBER, task="regression"),
        "task: given 'regression'",
    ),
    (lambda f: records.taken(torch.utils.data.DataLoader([])), "x: given a DataLoader without"),
    (lambda f: regression.outputs(X[:3, 0], X[:, 0]), "predictions: given shape"),
    (lambda f: regression.outputs(X[:, 0], X[:, 0] + 1e200), "predictions: given an error of 1e"),
    (lambda f: audit.load(numbers(f, labels=Y)), "labels: given beside predictions"),
    (lambda f: tables.read(written(f, "a.csv", "label,member\n")), "a.csv: given a table without"),
    (
        lambda f: tables.read(written(f, "a.csv", "label,label \n1,2\n")),
        "given two columns 'label'",
    ),
]


WORDS = [re.sub(r"[^\w ,.']+", " ", message).strip() for _, message in REFUSED]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=WORDS)
def test_what_is_refused(tmp_path, call, message):
    with pytest.raises(ValueError, match=message):
        call(tmp_path)


def test_an_archive_without_its_list(tmp_path):
    np.savez(tmp_path / "seen.npz", labels=Y)
    content = (tmp_path / "seen.npz").read_bytes()
    (tmp_path / "seen.npz").write_bytes(content.replace(b"PK\x01\x02", b"PK\x00\x00"))
    with pytest.raises(ValueError, match="path: given .* which cannot be read"):
        audit.load(tmp_path / "seen.npz")


def test_archives_that_do_not_fit(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "seen.npz", logits=np.zeros((2**17, 8)))
    monkeypatch.setattr(files, "UNPACKED", 2**20)
    with pytest.raises(ValueError, match="path: given .* which grows"):
        audit.load(tmp_path / "seen.npz")
    monkeypatch.setattr(files, "UNPACKED", 2**30)
    monkeypatch.setattr(files, "_free_memory", lambda: 2**20)
    with pytest.raises(ValueError, match="path: given .* which takes 0.0 GiB"):
        audit.load(tmp_path / "seen.npz")


def test_a_table_that_breaks_its_reader(tmp_path, monkeypatch):
    def broken(*given, **named):
        raise KeyError("arrow")

    monkeypatch.setattr(pd, "read_csv", broken)
    with pytest.raises(ValueError, match=r"path: given .* which cannot be read \(KeyError\)"):
        audit.load(written(tmp_path, "a.csv", "label"))
