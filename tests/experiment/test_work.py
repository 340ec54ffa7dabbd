"""Work that is kept: done once, found by a run that goes on, not by another."""

import json

import numpy as np
import pytest

from mia_lib import clock, experiment, train


def begun(**values):
    space = {}
    run = experiment.begin("toy", space)
    space |= {"dataset": "digits", "seed": 0, "scale": "smoke"} | values
    run.check()
    return run


def test_work_is_done_once(tmp_path):
    done = []

    def work():
        done.append(1)
        return {"rejections": 3, "shares": [0.5]}

    first, second = (experiment.kept(tmp_path / "new", "count", work) for _ in range(2))
    assert first == second == {"rejections": 3, "shares": [0.5]} and done == [1]
    assert experiment.kept(tmp_path / "new", "other", lambda: 4) == 4


def test_work_that_failed_is_not_kept(tmp_path):
    with pytest.raises(ValueError):
        experiment.kept(tmp_path, "count", lambda: float("nan"))
    assert experiment.kept(tmp_path, "count", lambda: 5) == 5


def test_the_seconds_of_work_that_is_found_count(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "_counted", {})
    kept = {"found": 3, "processor_seconds": 1000.0}
    (tmp_path / "count.json").write_text(json.dumps(kept))
    assert experiment.kept(tmp_path, "count", lambda: 4) == 3
    assert clock.processor_seconds() >= 1000
    experiment.kept(tmp_path, "other", lambda: 4)
    experiment.kept(tmp_path, "other", lambda: 4)
    assert sum(clock._counted.values()) == 1000  # what this process did is in its own time


def test_a_folder_is_for_one_choice_of_parameters_and_outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    folder = experiment.work_folder(begun(), np.arange(3))
    assert folder.parent == tmp_path and folder.name.startswith("toy--")
    assert folder == experiment.work_folder(begun(scale="paper"), np.arange(3))
    assert folder != experiment.work_folder(begun(seed=1), np.arange(3))
    assert folder != experiment.work_folder(begun(), np.arange(4))
    monkeypatch.setenv("MIA_CODE", "toy " + 64 * "0")
    assert folder != experiment.work_folder(begun(), np.arange(3))


def test_an_array_is_kept_too(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "_counted", {})
    first = experiment.kept_array(tmp_path / "new", "curve", lambda: np.eye(2, dtype=np.float32))
    again = experiment.kept_array(tmp_path / "new", "curve", lambda: 1 / 0)
    assert first.dtype == again.dtype == np.float32 and (again == np.eye(2)).all()
    with pytest.raises(ZeroDivisionError):
        experiment.kept_array(tmp_path, "other", lambda: 1 / 0)
    assert not list(tmp_path.glob("*.npz"))
    np.savez(tmp_path / "before.npz", found=[3], **{"processor seconds": 1000.0})
    assert experiment.kept_array(tmp_path, "before", lambda: 1 / 0) == [3]
    assert sum(clock._counted.values()) == 1000


def test_arrays_are_made_once(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "_counted", {})
    made = []

    def work():
        made.append(1)
        return {"head.weight": np.arange(3.0), "layer0.bias": np.ones((2, 2))}

    for _ in range(2):
        found = experiment.kept_arrays(tmp_path / "new", "targets", work)
        assert list(found) == ["head.weight", "layer0.bias"]
        np.testing.assert_array_equal(found["head.weight"], np.arange(3.0))
    assert made == [1] and sum(clock._counted.values()) == 0


def test_the_seconds_of_arrays_that_are_found_count(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "_counted", {})
    np.savez(tmp_path / "targets.npz", z=np.ones(2), **{"processor seconds": np.array(1000.0)})
    assert list(experiment.kept_arrays(tmp_path, "targets", dict)) == ["z"]
    assert clock.processor_seconds() >= 1000


@pytest.mark.parametrize("share", [0, 0.5, 0.95])
def test_a_kept_file_that_is_damaged_is_named(tmp_path, share):
    experiment.kept(tmp_path, "count", lambda: [3] * 20)
    experiment.kept_arrays(tmp_path, "targets", lambda: {"w": np.arange(900.0)})
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="folder: given .*count.json, which is damaged"):
        experiment.kept(tmp_path, "count", lambda: 4)
    with pytest.raises(ValueError, match="folder: given .*targets.npz, which is damaged"):
        experiment.kept_arrays(tmp_path, "targets", dict)
    for file in tmp_path.iterdir():
        file.unlink()
    assert experiment.kept(tmp_path, "count", lambda: 4) == 4


def test_kept_arrays_that_ask_for_a_password_are_named(tmp_path):
    experiment.kept_arrays(tmp_path, "targets", lambda: {"w": np.arange(9.0)})
    file = tmp_path / "targets.npz"
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag of encryption
    file.write_bytes(content)
    with pytest.raises(ValueError, match="folder: given .*targets.npz, which is damaged"):
        experiment.kept_arrays(tmp_path, "targets", dict)


@pytest.mark.parametrize("at_once", [None, 1, 2, 5])
def test_kept_models_are_those_that_the_recipe_trains(tmp_path, at_once):
    rng = np.random.default_rng(0)
    x, y, members = rng.normal(size=(20, 3)), rng.integers(2, size=20), rng.random((5, 20)) < 0.5
    fit = train.Classifier(hidden=(4,), epochs=2, batch_size=4, n_classes=2)

    def rngs():
        return [np.random.default_rng([7, k]) for k in range(5)]

    expected = fit.logits(fit(x, y, members, rngs()), x)
    given = tmp_path, "targets", fit, x, y, members
    found = experiment.kept_fit(*given, rngs(), at_once=at_once)["logits"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    files = sorted(tmp_path.iterdir())
    assert len(files) == -(-5 // (at_once or 5))
    files[0].unlink()
    trained = []

    def watched(*args):
        trained.append(len(args[2]))
        return fit(*args)

    def read(_, weights, x):
        return {"logits": fit.logits(weights, x)}

    options = {"at_once": at_once, "read": read}
    again = experiment.kept_fit(*given[:2], watched, *given[3:], rngs(), **options)["logits"]
    np.testing.assert_array_equal(again, found)
    assert trained == [at_once or 5]
