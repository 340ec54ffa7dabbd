import concurrent.futures
import json
import time

import numpy as np
import pytest

from mia_lib import clock, generative, shadow
from mia_lib.generative import training
from mia_lib.train import Classifier


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch):
    monkeypatch.setattr(clock, "_counted", {})


def extra():
    """Processor seconds beside those of this process."""
    return clock.processor_seconds() - time.process_time()


def spin(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def test_each_piece_counts_once():
    clock.found("a", 10.0)
    clock.found("a", 10.0)
    clock.made("b")
    clock.found("b", 5.0)  # made here before: already in the time of this process
    clock.made("c", 3.0)
    assert extra() == pytest.approx(13, abs=0.1)
    clock.found("old", None)
    assert clock.processor_seconds() is None


def test_a_stopwatch_counts_its_own_thread():
    elapsed, of_all = clock.stopwatch(), clock.stopwatch(threads=2)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(spin, 0.2).result()
    assert elapsed() < 0.1 and of_all() >= 0.2


class Broken(Exception):
    pass


def masks():
    return shadow.half_masks(4, 30, np.random.default_rng(0))


def train(folder, **options):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    fit = Classifier(hidden=(4,), epochs=1)
    return shadow.train(fit, x, y, masks(), folder, chunk=1, **options)


def spent(folder):
    files = sorted((folder / "done").glob("*.json"))
    return [json.loads(file.read_text())["processor_seconds"] for file in files]


def test_shadow_models_of_earlier_parts_count(tmp_path, monkeypatch):
    real = shadow.run.train_chunk

    def broken_off(*task):
        if task[5] == 2:
            raise Broken
        spin(0.05)
        state, logits, (where, seconds) = real(*task)
        return state, logits, (where, seconds + 100)

    monkeypatch.setattr(shadow.run, "train_chunk", broken_off)
    with pytest.raises(Broken):
        train(tmp_path)
    assert extra() == pytest.approx(0, abs=0.1)  # done in this process
    monkeypatch.setattr(shadow.run, "train_chunk", real)
    monkeypatch.setattr(clock, "_counted", {})  # as a new process has it
    train(tmp_path)
    assert len(spent(tmp_path)) == 4 and min(spent(tmp_path)) > 0
    assert extra() == pytest.approx(sum(spent(tmp_path)[:2]), abs=0.1) and extra() > 200
    monkeypatch.setattr(clock, "_counted", {})
    shadow.load(tmp_path)
    train(tmp_path)
    assert extra() == pytest.approx(sum(spent(tmp_path)), abs=0.1)
    file = tmp_path / "done" / "0000.json"
    record = json.loads(file.read_text())
    del record["processor_seconds"]  # a store of an older version
    file.write_text(json.dumps(record))
    monkeypatch.setattr(clock, "_counted", {})
    train(tmp_path)
    assert clock.processor_seconds() is None


def test_shadow_models_of_other_processes_count(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "here", lambda: "this one")

    def elsewhere(*task):
        state, logits, (_, seconds) = real(*task)
        return state, logits, ("another", 50.0)

    real = shadow.run.train_chunk
    monkeypatch.setattr(shadow.run, "train_chunk", elsewhere)
    train(tmp_path)
    assert extra() == pytest.approx(200, abs=0.1) and spent(tmp_path) == [50.0] * 4


def test_a_gan_that_goes_on_counts_what_it_has_cost(tmp_path, monkeypatch):
    networks = generative.dense((2, 3), 4, (5,), (6,))
    x = np.random.default_rng(0).random((12, 2, 3))

    def run(epochs):
        monkeypatch.setattr(clock, "_counted", {})
        rng = np.random.default_rng(1)
        recipe = generative.JsGanRecipe(networks=networks, epochs=epochs, batch_size=4)
        generative.js_gan(x, recipe, folder=tmp_path, rng=rng)
        with np.load(tmp_path / training.LATEST) as state:
            return float(state["processor_seconds"])

    one = run(1)
    assert one > 0 and extra() == pytest.approx(0, abs=0.1)
    two = run(2)
    assert two > one and extra() == pytest.approx(one, abs=0.1)
    run(2)
    assert extra() == pytest.approx(two, abs=0.1)
