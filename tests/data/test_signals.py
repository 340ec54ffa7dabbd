"""Signals that travel with the book: written by scripts/signals.py, read by `data.signals`."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mia_lib import data, signals
from mia_lib.data import signals as read

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import signals as script  # noqa: E402  (the folder of scripts is not a package)

N_TRAIN, N_TEST, K = 60, 20, 10
RECIPE = {"model": "cnn", "options": {"widths": [2]}, "epochs": 1, "batch_size": 10, "n_classes": K}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Two blocks of sixteen tiny models on images of which one pair is equal, and their folder."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (N_TRAIN + N_TEST, 16, 16, 3), dtype=np.uint8)
    x[7] = x[3]
    y = rng.integers(0, K, len(x))
    toy = data.Dataset(x, y, "cifar10", {"approximate": np.array([5, 70])})
    monkeypatch.setenv("MIA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(script, "N_TRAIN", N_TRAIN)
    monkeypatch.setattr(script, "ROWS", {"cifar10": 6})
    monkeypatch.setattr(script, "RECIPES", {"cifar10": RECIPE})
    monkeypatch.setattr(script, "LOGIT_BLOCKS", {"cifar10": 1})
    monkeypatch.setattr(script.data, "load", lambda name: toy)
    return toy, tmp_path / "signals"


def run(folder, *more):
    script.main(["cifar10", "--blocks", "2", "--to", str(folder), *more])


def test_blocks_hold_what_the_models_say(made, tmp_path):
    toy, folder = made
    run(folder)
    found = read("cifar10", folder=folder)
    assert found.phi.shape == found.member.shape == (32, N_TRAIN)
    assert found.phi.dtype == np.float16 and found.logits.shape == (16, 6, K)
    assert (found.member[:16].sum(0) == 8).all() and (found.member[16:].sum(0) == 8).all()
    assert found.approximate.nonzero()[0].tolist() == [5]
    assert found.duplicate_of[7] == 3 and (np.delete(found.duplicate_of, 7) == -1).all()
    np.testing.assert_array_equal(found.labels, toy.y[:N_TRAIN])
    for model in (0, 17):
        path = tmp_path / "runs" / "signals--cifar10" / f"block-{model // 16:02d}"
        logits = np.load(path / f"model-{model % 16:02d}" / "logits.npy")[0, 0].astype(float)
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        p = np.exp(log_p[np.arange(len(toy.y)), toy.y])
        np.testing.assert_allclose(found.phi[model], np.log(p / (1 - p))[:N_TRAIN], rtol=2e-3)
        right = logits.argmax(1) == toy.y
        assert found.test_accuracy[model] == right[N_TRAIN:].mean()
        assert found.train_accuracy[model] == right[:N_TRAIN][found.member[model]].mean()
        if model < 16:
            expected = logits[found.rows].astype(np.float16)
            np.testing.assert_array_equal(found.logits[model], expected)
    assert {"commit", "processor", "torch", "cpu_seconds", "manifest"} <= set(found.provenance[0])
    assert read("cifar10", 16, folder=folder).phi.shape == (16, N_TRAIN)


def test_a_stop_costs_at_most_one_model(made, monkeypatch):
    toy, folder = made
    train, calls = script.shadow.train, []

    def stopped(*args, **options):
        calls.append(options["seed"])
        if len(calls) == 5:
            raise KeyboardInterrupt
        return train(*args, **options)

    monkeypatch.setattr(script.shadow, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    assert len(list((folder / "parts").glob("*.npz"))) == 4
    run(folder)
    assert calls == [script.SEED + k for k in [0, 1, 2, 3, 4, *range(4, 32)]]
    whole = read("cifar10", folder=folder)
    calls.clear()
    run(folder)  # blocks are never written again
    assert not calls and (read("cifar10", folder=folder).phi == whole.phi).all()


def test_another_machine_goes_on_from_the_parts(made, monkeypatch, tmp_path):
    toy, folder = made
    run(folder)
    whole = read("cifar10", folder=folder).phi
    script.block_file(folder, "cifar10", 1).unlink()
    for file in folder.glob("parts/cifar10-01-*.npz"):
        if int(file.stem[-2:]) >= 4:
            file.unlink()
    monkeypatch.setenv("MIA_RUNS", str(tmp_path / "another machine"))
    run(folder)
    stores = list((tmp_path / "another machine").glob("*/*/model-*"))
    assert len(stores) == 12
    np.testing.assert_array_equal(read("cifar10", folder=folder).phi, whole)


def test_bad_files_end_in_one_line(made, tmp_path):
    toy, folder = made
    with pytest.raises(data.DataError, match=r"no signals of cifar10.*scripts/signals.py"):
        read("cifar10", folder=tmp_path / "nothing")
    run(folder)
    with pytest.raises(ValueError, match="n_models: given 8, expected"):
        read("cifar10", 8, folder=folder)
    with pytest.raises(ValueError, match="n_models: given 24, expected a multiple of 16"):
        read("cifar10", 24, folder=folder)
    with pytest.raises(ValueError, match="n_models: given 48"):
        read("cifar10", 48, folder=folder)
    file = script.block_file(folder, "cifar10", 0)
    arrays = dict(np.load(file))
    other = dict(arrays, member=np.packbits(np.ones((16, N_TRAIN), bool), axis=1))
    np.savez(file, **other)
    with pytest.raises(ValueError, match="other masks"):
        read("cifar10", folder=folder)
    np.savez(file, **dict(arrays, phi=arrays["phi"][:, :-1]))
    with pytest.raises(ValueError, match="of shape"):
        read("cifar10", folder=folder)
    np.savez(file, **{key: array for key, array in arrays.items() if key != "provenance"})
    with pytest.raises(ValueError, match="without provenance"):
        read("cifar10", folder=folder)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        read("cifar10", folder=folder)


def test_where_there_is_no_bfloat16_it_is_said(made, monkeypatch, capsys):
    toy, folder = made
    monkeypatch.setattr(script, "RECIPES", {"cifar10": {**RECIPE, "dtype": "bfloat16"}})
    monkeypatch.setattr(script, "processor", lambda: {"name": "old", "bfloat16": []})
    run(folder, "--blocks", "1")
    assert "no bfloat16 units" in capsys.readouterr().out
    record = json.loads(str(np.load(script.part_file(folder, "cifar10", 0, 0))["provenance"]))
    assert record["manifest"]["fit"]["dtype"] == "float32"


def test_phi_is_the_logit_confidence():
    logits, y = np.random.default_rng(1).normal(size=(2, 5, 3)), np.array([0, 1, 2, 0, 1])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    p = p[:, np.arange(5), y]
    np.testing.assert_allclose(signals.logit_confidence(logits, y), np.log(p / (1 - p)))
