"""Work that is kept: done once, found by a run that goes on, not by another."""

import json

import numpy as np
import pytest

from mia_lib import clock, experiment


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
    np.savez(tmp_path / "before.npz", found=[3], processor_seconds=1000.0)
    assert experiment.kept_array(tmp_path, "before", lambda: 1 / 0) == [3]
    assert sum(clock._counted.values()) == 1000
