"""MACE's toy classifiers: written by scripts/toy_classifier.py, read by `data.toy_classifiers`."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mia_lib import data

SCRIPT = Path(__file__).parents[2] / "scripts" / "toy_classifier.py"
SAID = {"device": "cpu", "filters": 4}


@pytest.fixture
def made(tmp_path):
    """Arrays of three networks, two lengths and 7 records, and a function that writes them."""
    rng = np.random.default_rng(0)
    arrays = {
        "epochs": np.array([0, 5]),
        "rates": np.array([1e-3, 1e-3, 1e-4]),
        "logits": rng.normal(size=(3, 2, 7)).astype(np.float16),
        "units": rng.random((3, 2, 2, 7)).astype(np.float16),
        "cancerous": np.arange(7) % 2 == 0,
        "rows": rng.permutation(100)[:7],
        "n_members": np.array(3),
        "provenance": np.array(json.dumps(SAID)),
    }

    def read(**changes):
        kept = {key: one for key, one in (arrays | changes).items() if one is not None}
        np.savez(tmp_path / "skin-lesions.npz", **kept)
        return data.toy_classifiers(tmp_path)

    return arrays, tmp_path, read


def test_a_file_is_read_as_it_was_written(made):
    arrays, _, read = made
    found = read()
    for key in ("epochs", "rates", "logits", "units", "cancerous", "rows"):
        np.testing.assert_array_equal(getattr(found, key), arrays[key])
    assert found.member.tolist() == [True] * 3 + [False] * 4 and found.provenance == SAID


def test_bad_files_end_in_one_line(made):
    arrays, folder, read = made
    with pytest.raises(data.DataError, match=r"no toy classifiers.*scripts/toy_classifier.py"):
        data.toy_classifiers(folder)
    with pytest.raises(ValueError, match="without units, expected a file of scripts/toy_cl"):
        read(units=None)
    with pytest.raises(ValueError, match=r"logits of shape \(3, 2, 6\), expected \(3, 2, 7\)"):
        read(logits=arrays["logits"][..., :-1])
    with pytest.raises(ValueError, match=r"units of shape \(3, 2, 3, 7\)"):
        read(units=np.zeros((3, 2, 3, 7), np.float16))
    with pytest.raises(ValueError, match="cancerous of shape"):
        read(cancerous=arrays["cancerous"][1:])
    file = folder / "skin-lesions.npz"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="skin-lesions.npz, which is damaged"):
        data.toy_classifiers(folder)


def affine(logits, units):
    """The largest distance of the logits from their best linear function of the units."""
    given = np.column_stack([units.T, np.ones(len(logits))]).astype(float)
    weights = np.linalg.lstsq(given, logits.astype(float), rcond=None)[0]
    return np.abs(given @ weights - logits).max()


def test_in_the_committed_file_the_output_follows_from_the_units():
    """Up to half precision: numbers of 16 and more are apart by 0.016."""
    found = data.toy_classifiers()
    assert found.member[:1000].all() and not found.member[1000:].any()
    assert len(np.unique(found.rows)) == 4_000 and found.epochs.tolist() == [0, 5, 10, 20, 40, 80]
    assert np.bincount((found.rates == 1e-4).astype(int)).tolist() == [10, 10]
    assert (found.units >= 0).all() and np.isfinite(found.logits).all()
    for logits, units in zip(found.logits, found.units):
        assert max(map(affine, logits, units)) < 0.02
    # one seed, two rates: the same network before training
    np.testing.assert_array_equal(found.units[:10, 0], found.units[10:, 0])
    assert not np.array_equal(found.units[0, 0], found.units[1, 0])


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("toy_classifier", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(script, monkeypatch, tmp_path):
    """300 pictures of 120 lesions at 9 by 9, brighter where cancerous, and small networks."""
    rng = np.random.default_rng(0)
    lesion = rng.integers(0, 120, 300)
    y = rng.integers(0, 7, 300)
    x = rng.integers(0, 120, (300, 9, 9, 3)) + 100 * np.isin(y, (0, 1, 4))[:, None, None, None]
    pictures = data.Dataset(x.astype(np.uint8), y, "skin-lesions", {"lesion": lesion})
    monkeypatch.setattr(script.data, "load", lambda name: pictures)
    roles = {"members": 80, "reference": 30, "others": 120}
    monkeypatch.setitem(script.gans.ROLES, "skin-lesions", roles)
    monkeypatch.setattr(script, "EPOCHS", [0, 1, 6])
    monkeypatch.setattr(script, "NETWORKS", 3)
    monkeypatch.setattr(script, "FILTERS", 4)
    monkeypatch.setattr(script, "FILE", tmp_path / "toy" / "skin-lesions.npz")
    return pictures


def test_the_script_writes_a_file_that_the_library_reads(script, small):
    assert script.main([]) is None
    found = data.toy_classifiers(script.FILE.parent)
    assert found.logits.shape == (6, 3, 200) and found.units.shape == (6, 3, 2, 200)
    assert found.rates.tolist() == [1e-3] * 3 + [1e-4] * 3 and found.member.sum() == 80
    lesion = small.extra["lesion"][found.rows]
    assert not set(lesion[found.member]) & set(lesion[~found.member])
    np.testing.assert_array_equal(found.cancerous, np.isin(small.y[found.rows], (0, 1, 4)))
    assert found.epochs.tolist() == [0, 1, 6] and found.provenance["device"] == "cpu"
    # one start a seed, whatever the rate, and another one for another seed
    np.testing.assert_array_equal(found.units[:3, 0], found.units[3:, 0])
    assert not np.array_equal(found.units[0, 0], found.units[1, 0])
    # training moves every network that has a living unit
    lives = found.units[:, 0].any(axis=(1, 2))
    assert lives.any() and (found.logits[lives, 0] != found.logits[lives, 2]).any(axis=1).all()
    for logits, units in zip(found.logits, found.units):
        assert max(map(affine, logits, units)) < 0.01
    script.FILE.write_bytes(b"kept")
    script.main([])
    assert script.FILE.read_bytes() == b"kept"


def test_the_network_has_the_printed_layers_and_begins_as_in_keras(script):
    """Layers of appendix E.3.3; Glorot's uniform weights, zero biases."""
    torch.manual_seed(0)
    net = script.Toy(64, script.FILTERS)
    assert net.convolution.weight.shape == (512, 3, 5, 5) and net.convolution.stride == (2, 2)
    assert net.units.weight.shape == (2, 512 * 30 * 30) and net.output.weight.shape == (1, 2)
    for layer in (net.convolution, net.units, net.output):
        assert not layer.bias.any()
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
        most = float(np.sqrt(6 / (fan_in + fan_out)))
        assert layer.weight.abs().max() <= most
        if layer is not net.output:  # of two weights nobody can tell
            assert float(layer.weight.detach().abs().mean()) == pytest.approx(most / 2, rel=0.05)
    x = torch.rand(3, 3, 64, 64)
    logit, units = net(x)
    seen = nn.functional.conv2d(x, net.convolution.weight, stride=2)
    seen = torch.where(seen > 0, seen, 0.2 * seen).flatten(1)
    by_hand = torch.clamp(seen @ net.units.weight.T, min=0)
    torch.testing.assert_close(units, by_hand, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logit, units @ net.output.weight[0])
