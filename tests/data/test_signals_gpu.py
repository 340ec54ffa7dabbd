"""Networks that scripts/signals_gpu.py trains: on a processor its step is called, not replayed."""

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from mia_lib import data, shadow, signals
from mia_lib.data import signals as read
from mia_lib.data import stored_signals
from mia_lib.train import Classifier, batches

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import captured  # noqa: E402  (the folder of scripts is not a package)
import signals as cpu  # noqa: E402
import signals_gpu as script  # noqa: E402

RECIPE = {
    "model": "speednet",
    "options": {"widths": [4, 8, 8]},
    "n_classes": 10,
    "epochs": 2,
    "batch_size": 20,
    "learning_rate": 0.1,
    "momentum": 0.85,
    "nesterov": True,
    "weight_decay": 0.001,
    "schedule": "linear",
    "warmup": 0.23,
    "augment": "weak",
    "dtype": "float32",
}
WITHOUT = {"nesterov": False, "momentum": 0.0}
ADAM = {"nesterov": False, "optimizer": "adam", "learning_rate": 0.003}


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (100, 16, 16, 3), dtype=np.uint8), rng.integers(0, 10, 100)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"shift_rate": 64.0, "learning_rate": 0.01},
        {"augment": None},
        {"nesterov": False},
        WITHOUT,
        ADAM,
        {"label_smoothing": 0.2},
        {"model": "cnn", "options": {"widths": [4]}},
        {"model": "wide_resnet", "options": {"depth": 10, "width": 1}, "learning_rate": 0.02},
    ],
)
def test_a_lane_gives_the_network_of_the_recipe(images, change):
    """The next ones too, also with fewer members or more: nothing of the first is left."""
    x, y = images
    recipe = Classifier(**RECIPE | change)
    lane = captured.Lane(recipe, torch.from_numpy(x), torch.from_numpy(y), 57, 10)
    for seed, last in ((3, 100), (4, 80), (5, 100)):  # fifty members, forty, fifty
        members = (np.arange(100) % 2 == 0) & (np.arange(100) < last)
        expected = recipe(x, y, members[None], [np.random.default_rng(seed)])
        rng, total = np.random.default_rng(seed), batches.step_count(recipe, members.sum())
        seen = lane.train(np.flatnonzero(members), rng, [2, total], lambda net, last: last)
        assert seen == [False, True]
        found = lane.state()
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, atol=2e-4, err_msg=name)


def test_a_stop_sees_the_network_of_a_run_that_stops_there(images):
    x, y = images
    # with augmentation the plan of a run that stops has other draws in its last block of steps
    recipe = Classifier(**RECIPE | {"augment": None})
    lane = captured.Lane(recipe, torch.from_numpy(x), torch.from_numpy(y), 100, 10)
    outputs = lambda net, last: net(recipe.as_read(torch.from_numpy(x)))  # noqa: E731
    early, _ = lane.train(np.arange(100), np.random.default_rng(0), [5, 10], outputs)
    stopped = replace(recipe, stop=1)
    state = stopped(x, y, np.ones((1, 100), bool), [np.random.default_rng(0)])
    np.testing.assert_allclose(early, stopped.logits(state, x)[0], atol=1e-3)


def test_a_lane_says_what_it_has_no_room_for(images):
    x, y = (torch.from_numpy(array) for array in images)
    lane = captured.Lane(Classifier(**RECIPE), x, y, 60, 10)
    for size in (19, 61):
        with pytest.raises(ValueError, match=f"ids: given {size} members, .* expected 20 members"):
            lane.train(np.arange(size), np.random.default_rng(0), [1], lambda net, last: None)


def test_without_shifts_images_are_mirrored_or_not(images):
    x, y = (torch.from_numpy(array) for array in images)
    lane = captured.Lane(Classifier(**RECIPE), x, y, 100, 10, shift=False)
    lane.start(np.arange(100), np.random.default_rng(0))
    assert (lane.crops[..., :2] == captured.looped.PAD).all()
    assert set(lane.crops[..., 2].unique().tolist()) == {0, 1}


def test_a_square_is_painted_over():
    images = torch.zeros(2, 6, 6, 1, dtype=torch.uint8)
    found = captured.painted(images, torch.tensor([[3, 3], [0, 5]]), 4)[..., 0]
    assert (found[0, 1:5, 1:5] == 127).all() and (found[0] == 127).sum() == 16
    assert (found[1, :2, 3:] == 127).all() and (found[1] == 127).sum() == 6


def test_members_and_seeds_are_those_of_the_stores():
    rng = np.random.default_rng([cpu.SEED, 2])
    block = shadow.half_masks(16, 50_000, rng)
    np.testing.assert_array_equal(script.half_of("cifar10", 37), block[5])
    np.testing.assert_array_equal(script.half_of("base", 5), read("cifar10", 16).member[5])
    expected = np.random.default_rng(shadow.store.model_seed(cpu.SEED + 37, 0)).random()
    assert script.seed_of("cifar10", 37).random() == expected
    assert script.seed_of("half", 5).random() != script.seed_of("adam", 5).random()
    for name in ("cifar10", "cifar100"):
        recipe = Classifier(**cpu.RECIPES[name])
        assert script.recipe_of(name) == recipe


def test_how_far_the_schedules_of_a_series_can_be_apart():
    """What the script and the benchmark page say of the networks that were trained so far."""
    trained = {"cifar10": range(32, 64), "cifar100": range(6, 32), "base": range(16)}
    steps, apart = [], []
    for name, models in trained.items():
        recipe = script.recipe_of(name)
        sizes = [len(script.members_of(name, model)) for model in models]
        each = [batches.step_count(recipe, size) for size in sizes]
        steps += each
        apart.append(1 - min(each) / max(each))  # of the peak, at the end of a falling line
    assert (min(steps), max(steps)) == (1188, 1215) and 0.02 < max(apart) < 0.0215


def test_pools_share_no_image():
    mine = script.pool()
    assert mine.sum() == 25_000
    expected = np.random.default_rng([cpu.SEED, 3]).permutation(50_000)[:25_000]
    np.testing.assert_array_equal(np.flatnonzero(mine), np.sort(expected))
    for name, inside in (("targets", mine), ("disjoint", ~mine), ("shifted", ~mine)):
        ids = script.members_of(name, 3)
        assert len(ids) == 12_500 and inside[ids].all()
    np.testing.assert_array_equal(script.members_of("disjoint", 1), script.members_of("shifted", 1))


def test_coarse_images_have_the_means_of_four_pixels():
    x = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    found = script.coarse(x)[0, ..., 0]
    assert found[0].tolist() == [2, 2, 4, 4] and found[3].tolist() == [10, 10, 12, 12]


def test_phi_is_the_logit_confidence():
    rng = np.random.default_rng(0)
    logits, y = 8 * rng.normal(size=(50, 7)).astype(np.float32), rng.integers(0, 7, 50)
    found = script.phi_of(torch.from_numpy(logits), torch.from_numpy(y))
    np.testing.assert_allclose(found, signals.logit_confidence(logits, y), rtol=1e-12)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The script on 80 images of 16 pixels a side, twenty of which stand for the test images."""
    rng, n = np.random.default_rng(1), 60
    for name, k in (("cifar10", 10), ("cifar100", 100)):
        x = rng.integers(0, 256, (80, 16, 16, 3), dtype=np.uint8)
        np.savez(tmp_path / f"{name}.npz", x=x, y=rng.integers(0, k, 80))
    monkeypatch.setattr(cpu, "N_TRAIN", n)
    monkeypatch.setattr(cpu, "ROWS", {"cifar10": 6, "cifar100": 6})
    monkeypatch.setattr(cpu, "RECIPES", {"cifar10": RECIPE | {"batch_size": 10}})
    monkeypatch.setattr(script, "asked_rows", lambda: np.arange(0, 60, 3))
    monkeypatch.setattr(script, "pool_rows", lambda: np.arange(0, 60, 2))
    monkeypatch.setitem(script.SERIES, "base", {"passes": [1, 2], "queries": 18})
    monkeypatch.setitem(script.SERIES["cifar10"], "weights", [1])
    return tmp_path


def run(folder, *series):
    script.main(
        ["--series", *series, "--data", str(folder), "--to", str(folder / "to"), "--device", "cpu"]
        + ["--limit", "2"]
    )
    return {file.stem: dict(np.load(file)) for file in (folder / "to").glob("*.npz")}


def test_each_series_says_what_its_kind_is_asked_for(small, capsys):
    found = run(small, "cifar10", "base", "unaugmented", "mirrored", "cutout", "shifted")
    assert found["cifar10-01"]["phi"].shape == (2, 60)
    assert found["cifar10-01"]["phi_test"].shape == (2, 20)
    assert found["cifar10-01"]["logits"].shape == (6, 10)
    assert found["base-00"]["phi"].shape == (2, 2, 20)
    assert found["base-00"]["phi_of_many"].shape == (1, 18, 20)
    assert found["cutout-01"]["phi"].shape == (1, 2, 20)
    assert found["shifted-00"]["phi"].shape == (30,)
    many, two = found["base-00"]["phi_of_many"][0], found["base-00"]["phi"][-1]
    np.testing.assert_allclose(many[:2], two, rtol=1e-2, atol=1e-2)
    assert "cifar10 1:" in capsys.readouterr().out

    # what a part says is what the network says that the processor trains
    with np.load(small / "cifar10.npz") as arrays:
        x, y = arrays["x"], arrays["y"].astype(np.int64)
    recipe, inside = script.recipe_of("cifar10"), script.half_of("cifar10", 1)
    members = np.append(inside, np.zeros(20, bool))
    state = recipe(x, y, members[None], [script.seed_of("cifar10", 1)])
    part, weights = found["cifar10-01"], found["weights-cifar10-01"]
    np.testing.assert_allclose(weights["head.weight"], state["head.weight"], atol=1e-3)
    logits = recipe.logits(state, x)[0]
    phi = signals.logit_confidence(logits, y)
    np.testing.assert_allclose(part["phi"][0], phi[:60], rtol=1e-2, atol=2e-2)
    right = logits.argmax(1) == y
    assert part["train_accuracy"] == right[:60][inside].mean()
    assert part["test_accuracy"] == right[60:].mean()


def test_nothing_is_trained_twice(small, capsys):
    (small / "to").mkdir()
    (small / "to" / "half-01.lock").touch()  # another process has it
    assert run(small, "half").keys() == {"half-00"}
    capsys.readouterr()
    run(small, "half")
    assert capsys.readouterr().out == ""


def test_what_was_trained_is_taken_in(small, monkeypatch):
    """Sixteen parts become a block, which is read as those of the processor are, and the networks
    of another recipe one file.
    """
    folder = small / "repository"
    script.main(
        ["--series", "cifar10", "half", "--data", str(small), "--to", str(small / "to")]
        + ["--device", "cpu", "--limit", "16"]
    )
    like = read("cifar10", 1).provenance[0]
    first = types.SimpleNamespace(provenance=[like])
    monkeypatch.setattr(stored_signals, "signals", lambda name, n_models: first)
    script.adopt(small / "to", folder, "c0ffee")
    assert not list(folder.glob("signals/parts/*"))
    with np.load(folder / "signals" / "cifar10-00.npz") as block:
        member = np.unpackbits(block["member"], axis=1, count=60).astype(bool)
        expected = np.stack([script.half_of("cifar10", model) for model in range(16)])
        np.testing.assert_array_equal(member, expected)
        said = json.loads(str(block["provenance"][3]))
        third = np.load(small / "to" / "cifar10-03.npz")
        np.testing.assert_array_equal(block["phi"][3], third["phi"][0])
    manifest = said["manifest"]
    assert manifest["seed"] == cpu.SEED + 3 and said["commit"] == "c0ffee"
    other = {key: v for key, v in manifest["fit"].items() if key != "device"}
    assert other == {key: v for key, v in like["manifest"]["fit"].items() if key != "device"}
    with np.load(folder / "variants" / "cifar10-half.npz") as half:
        assert half["phi"].shape == (16, 1, 20) and half["models"].tolist() == list(range(16))


def test_pools_layers_and_single_networks_are_taken_in(small):
    """Networks of a pool keep their members, those of layers their outputs; a network that is
    trained later joins the file of the others.
    """
    to, folder = small / "to", small / "repository"
    asked = ["--data", str(small), "--to", str(to), "--device", "cpu", "--limit", "3", "--series"]
    to.mkdir()
    (to / "half-01.lock").touch()  # as if its process had ended
    script.main([*asked, "targets", "disjoint", "half"])
    script.adopt(to, folder, "c0ffee")
    with np.load(folder / "variants" / "cifar10-targets.npz") as pooled:
        assert pooled["phi"].shape == (3, 1, 30) and pooled["train_accuracy"].shape == (3, 1)
        member = np.unpackbits(pooled["member"], axis=1, count=30).astype(bool)
        first = np.load(to / "targets-02.npz")
        np.testing.assert_array_equal(pooled["phi"][2, 0], first["phi"])
    rows = np.arange(0, 60, 2)
    for model in range(3):
        ids = script.members_of("targets", model)
        assert set(rows[member[model]]) == set(ids) and len(ids) == 15
    with np.load(folder / "variants" / "cifar10-disjoint.npz") as pooled:
        assert not pooled["member"].any()

    file = folder / "variants" / "cifar10-half.npz"
    before = dict(np.load(file))
    assert before["models"].tolist() == [0, 2]
    for old in to.glob("half-*"):
        old.unlink()
    for there in ("00", "02"):
        (to / f"half-{there}.lock").touch()
    script.main([*asked, "half"])
    script.adopt(to, folder, "later")
    after = dict(np.load(file))
    assert after["models"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(after["phi"][[0, 2]], before["phi"])
    said = json.loads(str(after["provenance"]))
    assert [one["commit"] for one in said["networks"]] == ["c0ffee", "later", "c0ffee"]


def test_networks_of_both_kinds_of_machine_are_alike():
    """Accuracies, mean and spread of phi: no difference by Welch's test at 99.9 %, whose intervals
    keep within limits that were set after a look at the first of them.
    """
    for name, wide in (("cifar10", 1), ("cifar100", 2)):  # six of CIFAR-100 are from a processor
        every = data.signals(name)
        on_gpu = np.array([one["capability"] == "CUDA" for one in every.provenance])
        assert on_gpu.any() and not on_gpu.all()
        phi = every.phi.astype(np.float32)
        means = {
            side: [p[m].mean() for p, m in zip(phi, inside)]
            for side, inside in (("members", every.member), ("others", ~every.member))
        }
        gap = np.subtract(means["members"], means["others"])
        spread = [p.std() for p in phi]
        figures = [every.train_accuracy, every.test_accuracy, gap, spread, *means.values()]
        for each, close in zip(figures, (0.01, 0.01, 0.1, 0.1, 0.2, 0.2)):
            each = np.asarray(each, float)
            apart = stats.ttest_ind(each[on_gpu], each[~on_gpu], equal_var=False)
            low, high = apart.confidence_interval(0.999)
            assert low < 0 < high and max(-low, high) < wide * close, (name, low, high)
