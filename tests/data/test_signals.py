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
import signals_precision as precision  # noqa: E402

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
    assert found.provenance[17]["file"] == "cifar10-01.npz"
    assert read("cifar10", 16, folder=folder).phi.shape == (16, N_TRAIN)
    np.testing.assert_array_equal(read("cifar10", 19, folder=folder).phi, found.phi[:19])


def test_a_block_keeps_what_its_models_say_of_test_images(made):
    _, folder = made
    run(folder)
    for block in (0, 1):
        kept = np.load(script.block_file(folder, "cifar10", block))["phi_test"]
        assert kept.dtype == np.float16 and kept.shape[:2] == (16, 2)  # image and mirror
        for model in range(16):
            part = np.load(script.part_file(folder, "cifar10", block, model))
            np.testing.assert_array_equal(kept[model], part["phi_test"])


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


@pytest.fixture
def unfinished(made):
    """The folder of one block that is done and three models of the next, and what all 32 say."""
    _, folder = made
    run(folder)
    whole = read("cifar10", folder=folder)
    script.block_file(folder, "cifar10", 1).unlink()
    for model in range(3, 16):
        script.part_file(folder, "cifar10", 1, model).unlink()
    return folder, whole


def test_parts_of_a_block_that_is_not_done_are_read(unfinished):
    folder, whole = unfinished
    found = read("cifar10", folder=folder)
    for name in ("phi", "phi_mirror", "member", "train_accuracy", "test_accuracy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[:19])
    np.testing.assert_array_equal(found.logits[:16], whole.logits)
    files = [one["file"] for one in found.provenance]
    assert files[15:17] == ["cifar10-00.npz", "parts/cifar10-01-00.npz"] and len(files) == 19
    assert read("cifar10", 17, folder=folder).phi.shape == (17, N_TRAIN)
    with pytest.raises(ValueError, match="n_models: given 20"):
        read("cifar10", 20, folder=folder)
    script.block_file(folder, "cifar10", 0).unlink()  # its sixteen parts are still there
    again = read("cifar10", folder=folder)
    np.testing.assert_array_equal(again.phi, found.phi)
    np.testing.assert_array_equal(again.member, found.member)
    assert again.logits.shape == (19, 6, K)


def test_logits_are_those_of_the_first_models(made):
    """A block beyond the limit has none, and the parts of the next have them again."""
    _, folder = made
    run(folder, "--blocks", "3")
    script.block_file(folder, "cifar10", 2).unlink()
    for model in range(3, 16):
        script.part_file(folder, "cifar10", 2, model).unlink()
    found = read("cifar10", folder=folder)
    assert len(found.phi) == 35 and found.logits.shape == (16, 6, K)


def test_a_part_of_another_model_is_not_merged(unfinished):
    """Once it is in the block nothing can tell any more."""
    folder, _ = unfinished
    first, second = (script.part_file(folder, "cifar10", 0, model) for model in (0, 1))
    first.write_bytes(second.read_bytes())
    with pytest.raises(ValueError, match=r"00-00.npz with other masks"):
        script.merge(folder, "cifar10", 0)


def test_the_logits_of_a_part_are_those_of_the_kept_rows(unfinished):
    folder, _ = unfinished
    found = read("cifar10", folder=folder)
    kept = found.logits[-1].astype(float)
    p = np.exp(kept) / np.exp(kept).sum(1, keepdims=True)
    p = p[np.arange(6), found.labels[found.rows]]
    phi = found.phi[-1, found.rows]
    np.testing.assert_allclose(np.log(p / (1 - p)), phi, rtol=5e-3, atol=5e-3)


def changed(file, **arrays):
    np.savez(file, **(dict(np.load(file)) | arrays))


def test_bad_parts_end_in_one_line(unfinished):
    folder, _ = unfinished
    part = script.part_file(folder, "cifar10", 1, 1)
    sound = part.read_bytes()
    arrays = dict(np.load(part))

    part.write_bytes(sound[:-200])
    with pytest.raises(ValueError, match=r"signals: given .*01-01.npz, which is damaged"):
        read("cifar10", folder=folder)
    assert len(read("cifar10", 17, folder=folder).phi) == 17  # the ones before it are sound

    np.savez(part, **{key: array for key, array in arrays.items() if key != "logits"})
    with pytest.raises(ValueError, match="01-01.npz without logits"):
        read("cifar10", folder=folder)
    changed(part, logits=arrays["logits"], phi=arrays["phi"][:, 1:])
    with pytest.raises(ValueError, match=rf"01-01.npz of shape \(2, {N_TRAIN - 1}\)"):
        read("cifar10", folder=folder)

    # under another number it would be given the members of another model
    part.write_bytes(script.part_file(folder, "cifar10", 1, 2).read_bytes())
    with pytest.raises(ValueError, match=r"01-01.npz with other masks"):
        read("cifar10", folder=folder)

    for key, value, what in (
        ("fit", {"epochs": 2}, "recipe"),
        ("x", "0" * 64, "images"),
        ("y", "0" * 64, "labels"),
    ):
        provenance = json.loads(str(arrays["provenance"]))
        old = provenance["manifest"][key]
        provenance["manifest"][key] = old | value if key == "fit" else value
        np.savez(part, **(arrays | {"provenance": np.array(json.dumps(provenance))}))
        with pytest.raises(ValueError, match=f"01-01.npz of other {what} than cifar10-00.npz"):
            read("cifar10", folder=folder)
    provenance = json.loads(str(arrays["provenance"]))
    provenance["manifest"]["fit"] |= {"dtype": "float32"}  # a processor without bfloat16 units
    changed(part, **(arrays | {"provenance": np.array(json.dumps(provenance))}))
    assert len(read("cifar10", folder=folder).phi) == 19

    part.unlink()
    with pytest.raises(ValueError, match=r"cifar10-01-02.npz without the one before it"):
        read("cifar10", folder=folder)
    part.write_bytes(sound)
    script.block_file(folder, "cifar10", 0).unlink()
    script.part_file(folder, "cifar10", 0, 0).unlink()
    with pytest.raises(ValueError, match=r"cifar10-00-01.npz without the one before it"):
        read("cifar10", folder=folder)


def test_the_committed_signals_are_sound():
    """However many models there are by now: masks by their hashes, accuracies by their answers."""
    found = read("cifar10")
    n_models, n = found.phi.shape
    assert n_models >= 4 and n == len(found.labels) == 50_000
    right = found.phi > 0  # more likely than all other classes together, so an accuracy at most
    likeliest = found.logits.argmax(-1) == found.labels[found.rows]
    for model in range(n_models):
        share, said = right[model, found.member[model]].mean(), found.train_accuracy[model]
        assert share <= said < share + 0.015
        of_kept = likeliest[model, found.member[model, found.rows]]  # an accuracy itself
        error = np.sqrt(said * (1 - said) / len(of_kept))
        assert abs(of_kept.mean() - said) < 4 * error < 0.015
    assert found.test_accuracy.min() > 0.9 and found.train_accuracy.min() > 0.97
    kept = found.logits.astype(float)
    np.testing.assert_allclose(
        signals.logit_confidence(kept, found.labels[found.rows]),
        found.phi[: len(kept), found.rows],
        rtol=1e-2,
        atol=2e-2,
    )
    assert found.approximate.sum() == 77 and (found.duplicate_of == -1).all()


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


def test_what_float16_costs_is_computed_from_the_store(made):
    _, folder = made
    run(folder, "--blocks", "1")
    precision.main(["cifar10", "--folder", str(folder)])
    found = json.loads((folder / "cifar10-precision.json").read_text())
    assert (found["n_models"], found["n_images"]) == (16, N_TRAIN)
    stored = read("cifar10", folder=folder)
    step = np.spacing(np.abs(stored.phi)).astype(float).max()
    assert 0 < found["largest_difference"] <= step
    rows = {row["attack"]: row for row in found["rows"]}
    assert set(rows) == set(precision.ATTACKS)
    # the AUC of LOSS, by all pairs
    member, phi = stored.member.ravel(), stored.phi.ravel().astype(float)
    above = phi[member][:, None] - phi[~member]
    auc = ((above > 0) + (above == 0) / 2).mean()
    assert rows["LOSS"]["float16"]["auc"] == pytest.approx(auc, abs=1e-12)


def test_equal_signals_cost_nothing():
    rng = np.random.default_rng(2)
    phi, member = rng.normal(size=(6, 40)), np.arange(6)[:, None] % 2 == np.zeros((1, 40), int)
    rows = precision.compared(phi, phi, member)
    assert all(row["float32"] == row["float16"] for row in rows)
    coarse = precision.compared(phi, np.round(phi / 4) * 4, member)
    assert coarse[0]["float32"] != coarse[0]["float16"]
