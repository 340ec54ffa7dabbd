"""Shadow training: queries, the store, resuming after a kill, damage, other settings,
executors.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from mia_lib import disk, machine, reseed, shadow
from mia_lib.shadow import identity, run
from mia_lib.train import Classifier

N, S = 60, 8


def data():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return (rng.normal(size=(N, 5)) + 2 * np.eye(3, 5)[y]).astype(np.float32), y


def half():
    return shadow.half_masks(S, N, np.random.default_rng(1))


RECIPE = Classifier(hidden=(6,), epochs=3, batch_size=8)


def contents(folder):
    """Every byte that a run leaves, but for the lock and the time it took."""
    return {
        str(f.relative_to(folder)): re.sub(rb'"processor_seconds": [\d.e-]+', b"", f.read_bytes())
        for f in sorted(folder.rglob("*"))
        if f.is_file() and f.name != "lock"
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference") / "store"
    return shadow.train(RECIPE, *data(), half(), folder, seed=3, chunk=2)


# queries


@pytest.mark.parametrize("shape", [(3, 6, 7), (3, 6, 7, 2)])
def test_augmentations_against_pad_and_crop(shape):
    x = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    for query in shadow.augmentations(shift=2):
        padded = np.pad(x, [(0, 0), (2, 2), (2, 2)] + [(0, 0)] * (x.ndim - 3), mode="reflect")
        want = padded[:, 2 - query.down : 8 - query.down, 2 - query.right : 9 - query.right]
        want = want[:, :, ::-1] if query.mirror else want
        assert np.array_equal(query(x), want) and query(x).dtype == np.uint8


def test_augmentations_are_complete_distinct_and_named():
    for shift, count in ((0, 2), (1, 18), (4, 162)):
        queries = shadow.augmentations(shift=shift)
        assert len(queries) == len({query.name for query in queries}) == count
        assert queries[0].name == "identity"
    assert len(shadow.augmentations(mirror=False, shift=1)) == 9


def test_bad_queries():
    with pytest.raises(ValueError, match="shift"):
        shadow.augmentations(shift=-1)
    with pytest.raises(ValueError, match="x: given shape"):
        shadow.Augmentation(mirror=True)(np.zeros((4, 5)))
    with pytest.raises(ValueError, match="larger than the shift"):
        shadow.Augmentation(down=3)(np.zeros((4, 3, 3)))


# what is stored


def test_the_store_holds_what_the_fit_returned(finished):
    x, y = data()
    for start in range(0, S, 2):
        rngs = [
            np.random.default_rng(np.random.SeedSequence(3, spawn_key=(s,)))
            for s in (start, start + 1)
        ]
        state = RECIPE(x, y, half()[start : start + 2], rngs)
        assert np.array_equal(finished.logits()[start : start + 2, 0], RECIPE.logits(state, x))
        for k in range(2):
            weights = finished.weights(start + k)
            assert weights.keys() == state.keys() and all(
                np.array_equal(weights[a], state[a][k]) for a in state
            )
    assert np.array_equal(finished.masks, half())
    assert finished.logits().shape == (S, 1, N, 3) and finished.logits().dtype == np.float32
    assert [seed.spawn_key for seed in finished.seeds] == [(s,) for s in range(S)]
    with pytest.raises(ValueError):
        finished.logits()[0] = 0
    with pytest.raises(ValueError, match="^s: given 8"):
        finished.weights(8)


def test_apply_computes_a_signal_from_the_weights(finished):
    def norms(state, x, y):
        return (state["head.weight"] ** 2).sum((1, 2))

    want = [(finished.weights(s)["head.weight"] ** 2).sum() for s in range(S)]
    np.testing.assert_allclose(finished.apply(norms), want, rtol=1e-6)
    again = finished.apply(lambda state, x, y: RECIPE.logits(state, x))
    assert np.array_equal(again, finished.logits()[:, 0])
    with pytest.raises(ValueError, match="^function: given a result of shape"):
        finished.apply(lambda state, x, y: 0.0)


def test_load_opens_a_finished_store(finished):
    x, y = data()
    opened = shadow.load(finished.path)
    assert np.array_equal(opened.logits(), finished.logits()) and np.array_equal(
        opened.masks, half()
    )
    with pytest.raises(ValueError, match="^x: given a store that was loaded without data"):
        opened.apply(lambda state, x, y: y)
    assert shadow.load(finished.path, x, y).apply(lambda state, x, y: state["head.bias"]).shape == (
        S,
        3,
    )
    with pytest.raises(ValueError, match="^x: given other data"):
        shadow.load(finished.path, x + 1, y)
    with pytest.raises(ValueError, match="^path"):
        shadow.load(finished.path / "models")


DAMAGE = {
    "manifest.json": ("where manifest.json is damaged, expected another folder", False),
    "masks.npy": ("where masks.npy is missing or damaged, expected a whole store", True),
    "logits.npy": (r"where .*logits\.npy is (missing or damaged|altered), expected a whole", True),
    "models/0000.npz": (r"where .*0000\.npz is truncated or altered, expected a whole", True),
    "done/0000.json": (r"where .*0000\.json is damaged, expected a whole store", True),
}


def spoil(file, how):
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    if file.suffix == ".json" and how == "altered":
        raw = b"{}"
    other = b"[]\n" if file.suffix == ".json" else b"no array"
    file.write_bytes({"short": raw[: len(raw) // 2], "empty": b"", "other": other}.get(how, raw))


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("how", ["short", "empty", "altered", "other"])
def test_load_names_what_is_damaged(finished, tmp_path, name, how):
    """Nothing is changed, and `shadow.train` mends what it is said to mend."""
    copy, (said, mended) = tmp_path / "s", DAMAGE[name]
    shutil.copytree(finished.path, copy)
    spoil(copy / name, how)
    with pytest.raises(ValueError, match=f"^path: given .*{said}"):
        shadow.load(copy)
    assert {p.name for p in copy.rglob("*")} == {p.name for p in finished.path.rglob("*")}
    if mended:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shadow.train(RECIPE, *data(), half(), copy, seed=3, chunk=2)
        assert np.array_equal(shadow.load(copy).logits(), finished.logits())


@pytest.mark.parametrize("name", ["masks.npy", "logits.npy", "models/0002.npz"])
def test_load_names_what_is_missing(finished, tmp_path, name):
    shutil.copytree(finished.path, tmp_path / "s")
    (tmp_path / "s" / name).unlink()
    with pytest.raises(ValueError, match="^path: given .* is missing.*, expected a whole store"):
        shadow.load(tmp_path / "s")


@pytest.mark.parametrize("name", ["masks.npy", "logits.npy"])
def test_a_header_that_breaks_off_is_damage(finished, tmp_path, name):
    """Numpy reads what is left as Python, which tokenize gives up on."""
    shutil.copytree(finished.path, tmp_path / "s")
    raw = bytearray((tmp_path / "s" / name).read_bytes())
    raw[8] ^= 64  # the length of the header
    (tmp_path / "s" / name).write_bytes(raw)
    with pytest.raises(ValueError, match=f"^path: given .*{name} is missing or damaged"):
        shadow.load(tmp_path / "s")
    with pytest.warns(UserWarning, match=name):
        shadow.train(RECIPE, *data(), half(), tmp_path / "s", seed=3, chunk=2)
    assert np.array_equal(shadow.load(tmp_path / "s").logits(), finished.logits())


def test_load_takes_nothing_for_a_store_that_is_none(finished, tmp_path):
    """Arrays of another shape, a folder in a file's place, and manifests that lack a part."""
    shutil.copytree(finished.path, tmp_path / "s")
    path, logits = tmp_path / "s" / "logits.npy", np.array(finished.logits())
    for wrong in (np.float32(0), logits[:, 0], np.concatenate([logits, logits]), logits * 1.0j):
        np.save(path, wrong)
        with pytest.raises(ValueError, match="logits.npy is missing or damaged"):
            shadow.load(tmp_path / "s")
    for harm in (_many_arrays, _part_of_many):
        harm(path)
        with pytest.raises(ValueError, match="logits.npy is missing or damaged"):
            shadow.load(tmp_path / "s")
    np.save(path, logits)
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    for change in ({"chunk": -1}, *({name: None} for name in ("chunk", "masks", "seed", "x", "y"))):
        kept = {name: value for name, value in (manifest | change).items() if value is not None}
        (tmp_path / "s" / "manifest.json").write_text(json.dumps(kept))
        with pytest.raises(ValueError, match="manifest.json is damaged, expected another folder"):
            shadow.load(tmp_path / "s")
    (tmp_path / "s" / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "s" / "done" / "0000.json").unlink()
    (tmp_path / "s" / "done" / "0000.json").mkdir()
    with pytest.raises(ValueError, match="0000.json cannot be read"):
        shadow.load(tmp_path / "s")


def test_queries_are_stored_in_their_order(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (30, 6, 6), dtype=np.uint8), np.arange(30) % 3
    queries = (*shadow.augmentations(shift=1), np.negative)
    masks = shadow.half_masks(2, 30, rng)
    store = shadow.train(RECIPE, x, y, masks, tmp_path / "s", queries=queries, chunk=1)
    assert store.logits().shape == (2, 19, 30, 3)
    for q in (0, 1, 7, 18):
        state = {name: array[None] for name, array in store.weights(1).items()}
        assert np.array_equal(store.logits()[1, q], RECIPE.logits(state, queries[q](x))[0])


def test_chunks_do_not_change_a_models_seed(tmp_path, finished):
    other = shadow.train(RECIPE, *data(), half(), tmp_path / "s", seed=3, chunk=3)
    np.testing.assert_allclose(other.logits(), finished.logits(), atol=1e-4)
    assert not np.allclose(
        finished.logits()[0],
        shadow.train(RECIPE, *data(), half(), tmp_path / "t").logits()[0],
        atol=0.1,
    )


def test_default_chunk_leaves_work_to_share_and_bounds_memory():
    y = np.array([0, 9])
    assert run._default_chunk(16, 1, np.tile(y, 100)) == 4
    assert run._default_chunk(1000, 1, np.tile(y, 100)) == 32
    assert run._default_chunk(256, 18, np.tile(y, 25_000)) == 7  # 36 MB of outputs each
    assert run._default_chunk(1, 1, y) == 1


# a user's own fit


class Centroids:
    """Nearest class mean: a fit that shares nothing with the library."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def __call__(self, x, y, members, rngs):
        means = [
            [x[row & (y == c)].mean(0) + 0.01 * rng.normal() for c in range(3)]
            for row, rng in zip(members, rngs)
        ]
        return {"means": np.array(means)}

    def logits(self, state, x):
        return -self.scale * ((x[None, :, None] - state["means"][:, None]) ** 2).sum(-1)


def train_naive_bayes(x, y, rng):
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(x, y)


def predict_log_probabilities(model, x):
    return model.predict_log_proba(x)


def test_a_users_own_fit(tmp_path):
    x, y = data()
    store = shadow.train(Centroids(), x, y, half(), tmp_path / "s", seed=3)
    assert (store.logits()[:, 0].argmax(-1) == y).mean() > 0.8
    assert store.apply(lambda state, x, y: state["means"]).shape == (S, 3, 5)
    with pytest.raises(ValueError, match=r"fit\.scale: 1\.0 -> 2\.0"):
        shadow.train(Centroids(2.0), x, y, half(), tmp_path / "s", seed=3)


def test_one_function_per_model(tmp_path):
    x, y = data()
    fit = shadow.each(train_naive_bayes, predict_log_probabilities)
    store = shadow.train(fit, x, y, half(), tmp_path / "s")
    model = train_naive_bayes(x[half()[5]], y[half()[5]], None)
    np.testing.assert_allclose(store.logits()[5, 0], model.predict_log_proba(x), rtol=1e-5)
    assert not (tmp_path / "s" / "models").exists()
    with pytest.raises(ValueError, match="^store: given no weights"):
        store.apply(lambda state, x, y: y)
    with pytest.raises(ValueError, match="^predict"):
        shadow.each(train_naive_bayes, None)


# executors


def test_processes_give_the_same_bits(tmp_path, finished):
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        shadow.train(RECIPE, *data(), half(), tmp_path / "s", seed=3, chunk=2, executor=pool)
    assert contents(tmp_path / "s") == contents(finished.path)


def test_a_dask_cluster_gives_the_same_bits(tmp_path, finished):
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        )
        with cluster, distributed.Client(cluster) as client:
            shadow.train(
                RECIPE,
                *data(),
                half(),
                tmp_path / "s",
                seed=3,
                chunk=2,
                executor=client.get_executor(),
            )
    assert contents(tmp_path / "s") == contents(finished.path)


class CountingExecutor(concurrent.futures.Executor):
    """Threads that count how many tasks are handed out and not yet collected."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.outstanding, self.most, self.lock = 0, 0, threading.Lock()

    def submit(self, function, *args):
        with self.lock:
            self.outstanding += 1
            self.most = max(self.most, self.outstanding)
        future = self.pool.submit(function, *args)
        result = future.result

        def collected(*a):
            with self.lock:
                self.outstanding -= 1
            return result(*a)

        future.result = collected
        return future


@pytest.mark.parametrize("window", [1, 3])
def test_tasks_in_flight_are_bounded(tmp_path, finished, window):
    executor = CountingExecutor()
    shadow.train(
        RECIPE, *data(), half(), tmp_path / "s", seed=3, chunk=1, executor=executor, window=window
    )
    assert executor.most == window and executor.outstanding == 0
    np.testing.assert_allclose(np.load(tmp_path / "s" / "logits.npy"), finished.logits(), atol=1e-4)


class FailsAt:
    """Trains like Centroids until a chunk begins with a given generator."""

    def __init__(self, stop):
        self.stop = stop

    def __call__(self, x, y, members, rngs):
        if rngs[0].bit_generator.seed_seq.spawn_key[0] >= self.stop:
            raise RuntimeError("out of memory")
        return Centroids()(x, y, members, rngs)

    def logits(self, state, x):
        return Centroids().logits(state, x)


def test_a_failing_model_stops_the_run_and_keeps_what_is_done(tmp_path):
    with pytest.raises(RuntimeError, match="out of memory"):
        shadow.train(FailsAt(4), *data(), half(), tmp_path / "s", chunk=2)
    assert sorted(f.name for f in (tmp_path / "s" / "done").iterdir()) == ["0000.json", "0002.json"]
    with pytest.raises(ValueError, match="models 4 to 5 are missing"):
        shadow.load(tmp_path / "s")


# broken off and resumed

SERVER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import test_shadow as t
from mia_lib import machine, reseed, shadow

def job(folder):
    shadow.train(t.RECIPE, *t.data(), t.half(), folder, seed=3, chunk=2)

job(sys.argv[2])  # what is slow only once is done before the forks
print("ready", flush=True)
for folder in sys.stdin:
    pid = os.fork()
    if pid == 0:
        job(folder.strip())
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


def test_killed_at_any_moment_it_resumes_to_the_same_bits(tmp_path, finished):
    """One process forks a run for each folder that it is given, because starting Python takes
    seconds.
    """
    command = [sys.executable, "-c", SERVER, os.path.dirname(__file__), str(tmp_path / "first")]
    environment = os.environ | {"MIA_PROGRESS": "off"}
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )

    def start(folder):
        server.stdin.write(f"{folder}\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    with server:
        assert server.stdout.readline() == "ready\n"
        began = time.monotonic()
        start(tmp_path / "uninterrupted")
        assert server.stdout.readline() == "0\n"
        duration = time.monotonic() - began
        for name in ("first", "uninterrupted"):
            assert contents(tmp_path / name) == contents(finished.path)
        rng = np.random.default_rng()
        partial = 0
        for attempt in range(8):
            folder = tmp_path / f"store{attempt}"
            for _ in range(2):
                pid = start(folder)
                time.sleep(rng.uniform(0, duration))
                with contextlib.suppress(ProcessLookupError):  # it was faster
                    os.kill(pid, signal.SIGKILL)
                server.stdout.readline()
                partial += 0 < len(list(folder.glob("done/*.json"))) < S // 2
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a killed run is not a damaged one
                shadow.train(RECIPE, *data(), half(), folder, seed=3, chunk=2)
            left = contents(folder)
            assert {name: left[name] for name in left if not name.endswith(".part")} == contents(
                finished.path
            )
        assert partial > 0
        server.stdin.close()


KILLED = [
    "models/0002.npz.part",
    "models/0002.npz",
    "logits.npy",
    "done/0002.json.part",
    "manifest.json.part",
    "masks.npy",
]


@pytest.mark.parametrize("moment", KILLED)
def test_killed_at_each_step_of_writing(tmp_path, finished, moment, monkeypatch):
    """The same, at chosen moments: the power fails just after a given file was written."""

    class PowerFailure(BaseException):
        pass

    class Cut:
        def __init__(self, real, name):
            self.real, self.name = real, name

        def __call__(self, *args, **options):
            if self.name == "replace" and str(args[0]).endswith(moment):
                raise PowerFailure
            result = self.real(*args, **options)
            if self.name == "replace" and str(args[1]).endswith(moment):
                raise PowerFailure
            return result

    folder = tmp_path / "s"
    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "replace", Cut(os.replace, "replace"))
        with pytest.raises(PowerFailure):
            shadow.train(RECIPE, *data(), half(), folder, seed=3, chunk=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shadow.train(RECIPE, *data(), half(), folder, seed=3, chunk=2)
    assert contents(folder) == contents(finished.path)


@pytest.fixture
def copy(tmp_path, finished):
    return shutil.copytree(finished.path, tmp_path / "copy")


def counting(monkeypatch):
    trained = []
    real = run.train_chunk
    monkeypatch.setattr(run, "train_chunk", lambda *args: trained.append(args[5]) or real(*args))
    return trained


def test_a_finished_store_trains_nothing(copy, finished, monkeypatch):
    trained = counting(monkeypatch)
    shadow.train(RECIPE, *data(), half(), copy, seed=3, chunk=2)
    assert trained == [] and contents(copy) == contents(finished.path)


def _truncate(file):
    file.write_bytes(file.read_bytes()[:-7])


def _flip(file):
    raw = bytearray(file.read_bytes())
    raw[-400] ^= 1
    file.write_bytes(raw)


def _many_arrays(file):
    with file.open("wb") as stream:  # savez would give a path another ending
        np.savez(stream, a=np.zeros(3))


def _part_of_many(file):
    _many_arrays(file)
    _truncate(file)


def _other_classes(file):
    np.save(file, np.zeros((S, 1, len(data()[1]), 5), np.float32))


@pytest.mark.parametrize(
    "name, harm, again",
    [
        ("models/0002.npz", _truncate, [2]),
        ("models/0004.npz", _flip, [4]),
        ("models/0004.npz", os.unlink, [4]),
        ("done/0006.json", _truncate, [6]),
        ("logits.npy", _flip, [6]),
        ("logits.npy", _truncate, [0, 2, 4, 6]),
        ("logits.npy", os.unlink, [0, 2, 4, 6]),
        ("masks.npy", _truncate, []),
        ("logits.npy", _many_arrays, [0, 2, 4, 6]),
        ("masks.npy", _many_arrays, []),
        ("logits.npy", _part_of_many, [0, 2, 4, 6]),
        ("masks.npy", _part_of_many, []),
        ("logits.npy", _other_classes, [0, 2, 4, 6]),
    ],
)
def test_damage_is_noticed_named_and_repaired(copy, finished, monkeypatch, name, harm, again):
    harm(copy / name)
    trained = counting(monkeypatch)
    with pytest.warns(UserWarning, match=name.replace(".", r"\.")):
        shadow.train(RECIPE, *data(), half(), copy, seed=3, chunk=2)
    left = contents(copy)
    left.pop("logits.npy.damaged", None)
    assert sorted(trained) == again and left == contents(finished.path)


def test_a_changed_setting_is_named_and_nothing_is_touched(copy, monkeypatch):
    x, y = data()
    before = contents(copy)
    call = {"fit": RECIPE, "x": x, "y": y, "masks": half(), "store": copy, "seed": 3, "chunk": 2}
    moved = x.copy()
    moved[0, 0] += 1e-3
    for changes, words in [
        ({"fit": dataclasses.replace(RECIPE, epochs=4)}, [r"fit\.epochs: 3 -> 4"]),
        (
            {"fit": dataclasses.replace(RECIPE, hidden=(7,), momentum=0.8)},
            [r"fit\.hidden: \[6\] -> \[7\]", "momentum"],
        ),
        ({"fit": Centroids()}, [r"fit\.class"]),
        ({"x": moved}, ["x: [0-9a-f]+"]),
        ({"x": x.astype(np.float64)}, ["x: "]),
        ({"y": (y + 1) % 3}, ["y: "]),
        ({"masks": ~half()}, ["masks: "]),
        ({"seed": 4}, ["seed: 3 -> 4"]),
        ({"chunk": 4}, ["chunk: 2 -> 4"]),
        ({"queries": [np.negative]}, ["queries"]),
    ]:
        with pytest.raises(ValueError, match="another folder") as error:
            shadow.train(**(call | changes))
        assert all(re.search(word, str(error.value)) for word in words), str(error.value)
    for target, name, words in [
        (run.torch, "__version__", r"versions\.torch: .* -> 9\.9"),
        (run.np, "__version__", r"versions\.numpy: .* -> 9\.9"),
        (run.mia_lib, "__version__", r"versions\.mia_lib: .* -> 9\.9"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(target, name, "9.9")
            with pytest.raises(ValueError, match=words):
                shadow.train(**call)
    with monkeypatch.context() as patch:
        patch.setattr(run.torch, "get_num_threads", lambda: 7)
        with pytest.raises(ValueError, match="threads: 1 -> 7"):
            shadow.train(**call)
    with monkeypatch.context() as patch:
        patch.setattr(identity, "code_hash", lambda: "other")
        with pytest.raises(ValueError, match="code: "):
            shadow.train(**call)
    assert contents(copy) == before


def test_source_counts_without_comments_and_docstrings():
    one = 'def f(x):\n    """Doc."""\n    return x + 1  # why\n'
    assert identity._without_comments(one) == identity._without_comments(
        "def f(x):\n\n    return x + 1\n"
    )
    assert identity._without_comments(one) != identity._without_comments(one.replace("1", "2"))


def test_describe_is_stable_and_sees_what_matters():
    def scaled(factor):
        return lambda x: factor * x

    assert (
        identity.describe(scaled(2)) == identity.describe(scaled(2)) != identity.describe(scaled(3))
    )
    assert (
        identity.describe(Centroids(1.0))
        == identity.describe(Centroids(1.0))
        != identity.describe(Centroids(2.0))
    )
    array = np.arange(3.0)
    assert identity.describe({"a": array}) != identity.describe({"a": array + 1})
    assert "0x" not in json.dumps(
        identity.describe([Centroids(), object(), train_naive_bayes, np.negative, {3, 1}])
    )
    made = identity.describe(np.random.default_rng(0))
    assert made == identity.describe(np.random.default_rng(0))
    names = np.array(["no", "yes", None], dtype=object)
    assert identity.describe(names) == identity.describe(names.copy())
    assert identity.describe(names) != identity.describe(names[::-1])
    looped = Centroids()
    looped.me = looped
    json.dumps(identity.describe(looped))


def typed(source, **names):
    """What source without a file defines, as at a prompt."""
    space = {"__name__": "__main__", "np": np, **names}
    exec(source, space)
    return space


FUNCTION = "def f(x, y, rng=None):\n    return [(x * {0}).{1}(), lambda: {0}]\n"
CLASS = "class Fit:\n    c = 1\n    def __call__(self, x): return x + {0}\n"
DEFAULT = "class Fit:\n    def __call__(self, x, k={0}): return x + k\n"
BARE = "class Fit:\n    {1} = {0}\n"


@pytest.mark.parametrize("name, source", [("f", FUNCTION), ("Fit", CLASS), ("Fit", DEFAULT)])
def test_code_without_source_is_known_by_its_constants(name, source):
    made = [typed(source.format(k, "sum"))[name] for k in (1.0, 1.0, 2.0)]
    found = [identity.describe(one) for one in made]
    assert found[0] == found[1] != found[2]


def test_code_without_source_is_known_by_its_names_bases_and_plain_attributes():
    def found(source, name, **names):
        return identity.describe(typed(source, **names)[name])

    assert found(FUNCTION.format(1, "sum"), "f") != found(FUNCTION.format(1, "prod"), "f")
    assert found(BARE.format(1, "a"), "Fit") == found(BARE.format(1, "a"), "Fit")
    assert found(BARE.format(1, "a"), "Fit") != found(BARE.format(2, "a"), "Fit")
    assert found(BARE.format(1, "a"), "Fit") != found(BARE.format(1, "b"), "Fit")
    child = "class Child(Base): pass"
    one, other = (found(child, "Child", Base=base) for base in (Centroids, Shifted))
    assert one != other
    moved = "\n\n" + CLASS.format(1)  # lines do not count
    assert found(CLASS.format(1), "Fit") == found(moved, "Fit")
    assert identity.describe(np.negative)["source"] == "unknown"  # compiled
    with pytest.raises(ValueError, match=r"^fit: given the class __main__\.Fit, whose source"):
        found("class Fit: pass", "Fit")


def test_a_script_s_lambdas_over_two_lines_are_told_apart():
    # fmt: off
    one = shadow.each(
        lambda x, y, rng: 1.0, lambda model, x: x)
    two = shadow.each(
        lambda x, y, rng: 2.0, lambda model, x: x)
    # fmt: on
    assert identity.describe(one) != identity.describe(two)


class Slotted:
    __slots__ = ("__hidden",)

    def __init__(self, hidden):
        self.__hidden = hidden


class Both(Slotted):
    """With a __dict__ beside its parent's slots."""


def masked(*mask):
    return np.ma.array([1.0, 2.0], mask=mask)


def tree(threshold):
    from sklearn.tree import DecisionTreeClassifier

    x = np.linspace(0, 1, 20)[:, None]
    return DecisionTreeClassifier(random_state=0).fit(x, x[:, 0] > threshold)


def nested(depth, last):
    for _ in range(depth):
        last = [last]
    return last


PAIRS = {  # how to make an object of one number
    "generator": np.random.default_rng,
    "bit generator": np.random.PCG64,
    "old generator": np.random.RandomState,
    "torch generator": lambda k: torch.Generator().manual_seed(k),
    "series": lambda k: pd.Series([1.0, k]),
    "names of a series": lambda k: pd.Series([1.0], index=[f"row {k}"]),
    "frame": lambda k: pd.DataFrame({"a": [1, 2], "b": ["x", str(k)]}),
    "column": lambda k: pd.DataFrame({f"a{k}": [1]}),
    "categories": lambda k: pd.Series(pd.Categorical(["a"], categories=["a", f"b{k}"])),
    "times": lambda k: pd.DataFrame({"t": pd.to_datetime([f"200{k}-01-01"], utc=True)}),
    "index": lambda k: pd.Index([1, k]),
    "several indices": lambda k: pd.MultiIndex.from_tuples([(1, "a"), (2, str(k))]),
    "masked": lambda k: masked(k == 1, False),
    "hidden by a mask": lambda k: np.ma.array([k, 2.0], mask=[True, False]),
    "slots": Slotted,
    "slots and more": Both,
    "queue": lambda k: collections.deque([np.full(2000, 1.0) * (np.arange(2000) != 1000 * k)]),
    "position in a list": lambda k: iter(list(range(k, 4))),
    "tree": lambda k: tree(k / 4),
    "deep": lambda k: nested(30, {"lr": k}),
    "long double": lambda k: np.longdouble(k) + np.finfo(np.longdouble).eps,
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_an_object_holds_counts(name):
    holder = [Centroids(PAIRS[name](k)) for k in (1, 1, 2)]
    found = [json.dumps(identity.describe(one)) for one in holder]
    assert found[0] == found[1] != found[2]
    assert "0x" not in found[0]


def test_bytes_between_fields_are_no_content():
    kind = np.dtype({"names": ["a", "b"], "formats": ["i8", "u1"], "itemsize": 16})
    found = []
    for filling in (0, 255, 255):
        raw = np.full(32, filling, np.uint8).view(kind)
        raw["a"], raw["b"] = [1, 2], [3, 4]
        found.append(raw)
    found[2]["b"][1] = 5
    same, filled, other = map(identity.describe, found)
    assert same == filled != other


def test_the_generator_that_all_share_is_no_part_of_a_fit():
    before = identity.describe(Centroids(np.random.mtrand._rand))
    np.random.mtrand._rand.random_sample()
    assert identity.describe(Centroids(np.random.mtrand._rand)) == before


def test_cycles_are_told_apart_from_depth():
    def ring(*values):
        first = link = Centroids(values[0])
        for value in values[1:]:
            link.next = Centroids(value)
            link = link.next
        link.next = first
        return first

    chains = [ring(*values) for values in ((1, 2, 3), (1, 2, 3), (1, 2, 4), (1, 2))]
    found = [identity.describe(one) for one in chains]
    assert found[0] == found[1] and found[0] != found[2] != found[3] != found[0]
    back, last = ring(1, 2), ring(1, 2)
    last.next.next = last.next  # the second holds itself, not the first
    assert identity.describe(back) != identity.describe(last)
    with pytest.raises(ValueError, match="^fit: given objects nested more than 100 deep"):
        identity.describe(nested(101, 0))


def test_objects_that_share_others_take_no_time():
    """2^60 ways lead to the last of them; 40 that know one another have still more."""
    found = []
    for last in (1, 1, 2):
        shared = [last]
        for _ in range(60):
            shared = [shared, shared]
        found.append(json.dumps(identity.describe(shared)))
    assert found[0] == found[1] != found[2] and len(found[0]) < 1e6
    known = [Centroids() for _ in range(20)]
    for one in known:
        one.others = known
    assert len(json.dumps(identity.describe(known[0]))) < 1e6
    assert identity.describe([np, np.linalg])[0]["module"] == "numpy"


def test_what_is_met_twice_is_described_twice():
    other = dataclasses.replace(RECIPE)
    assert identity.describe([RECIPE, RECIPE]) == identity.describe([RECIPE, other])


def test_descriptions_stay():
    """Names that stores and recorded runs have had from the first on."""
    settings = {
        "recipe": dataclasses.asdict(RECIPE),
        "numbers": [1, 1.5, float("inf"), None, np.float32(2), {3, 1}],
        "others": [b"ab", 1j, range(3), Ellipsis, object(), len, np.negative, torch.float32],
    }
    described = identity.describe(settings)
    assert described["numbers"] == [1, 1.5, "inf", None, 2.0, ["1", "3"]]
    assert [one["class"] for one in described["others"][:5]] == [
        f"builtins.{name}" for name in ("bytes", "complex", "range", "ellipsis", "object")
    ]
    texts = ["b'ab'", "1j", "range(0, 3)", "Ellipsis", "<object object>"]
    assert [one["repr"] for one in described["others"][:5]] == texts
    assert described["others"][7]["repr"] == "torch.float32"
    assert identity.describe(np.arange(3.0)) == disk.hash_array(np.arange(3.0))
    ways = {"class": "mia_lib.train.recipe.Classifier"}
    assert identity.describe(RECIPE) == ways | identity.describe(dataclasses.asdict(RECIPE))


class Shifted:
    """A query whose name says nothing of how far it shifts."""

    name = "shifted"

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x + np.float32(self.by)


def test_answers_to_other_queries_of_one_name_are_not_taken_for_these(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)).astype(np.float32), np.arange(20) % 2
    masks = shadow.half_masks(2, 20, rng)
    shadow.train(RECIPE, x, y, masks, tmp_path / "s", queries=[Shifted(0)])
    with pytest.raises(ValueError, match="queries"):
        shadow.train(RECIPE, x, y, masks, tmp_path / "s", queries=[Shifted(5)])


def test_two_writers_are_an_error_and_a_killed_one_leaves_no_lock(tmp_path):
    folder = tmp_path / "s"
    code = (
        "import sys, time; from mia_lib import disk\n"
        "with disk.locked(sys.argv[1]):\n    print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    with pytest.raises(ValueError, match="which another run is writing"):
        shadow.train(RECIPE, *data(), half(), folder)
    process.kill()
    process.wait()
    shadow.train(RECIPE, *data(), half(), folder)
    with disk.locked(folder):
        with pytest.raises(ValueError, match="which another run is writing"):
            shadow.train(RECIPE, *data(), half(), folder)


# bad input


class Short(Centroids):
    def logits(self, state, x):
        return super().logits(state, x)[:, :-1]


class Diverged(Centroids):
    def logits(self, state, x):
        return super().logits(state, x) * np.nan


def test_bad_input(tmp_path):
    x, y = data()
    nan = x.copy()
    nan[2, 2] = np.nan
    none = half()
    none[[3, 5]] = False
    call = {"fit": RECIPE, "x": x, "y": y, "masks": half(), "store": tmp_path / "s"}
    for changes, words in [
        ({"fit": 3}, "^fit: given 3"),
        ({"fit": print}, "^fit: given"),
        ({"x": nan}, "^x: given 1 NaN"),
        ({"x": np.zeros((0, 3))}, "^x: given shape"),
        ({"x": x.astype(str)}, "^x: given an array of dtype"),
        ({"y": y[:-1]}, "^y: given shape"),
        ({"y": y - 1}, "^y: given smallest label -1"),
        ({"fit": dataclasses.replace(RECIPE, n_classes=2)}, "^y: given largest label 2"),
        ({"masks": half()[:, :-1]}, "^masks: given shape"),
        ({"masks": none}, "^masks: given model 3, 5 without members"),
        ({"queries": []}, "^queries: given"),
        ({"queries": ["mirror"]}, "^queries: given"),
        ({"queries": 5}, "^queries: given 5, expected functions"),
        ({"executor": 3}, "^executor: given 3, expected a concurrent.futures.Executor"),
        ({"store": __file__}, "^store: given '.*test_shadow.py', expected a folder"),
        ({"store": os.path.join(__file__, "s")}, "^store: given '.*', expected a folder"),
        ({"store": 5}, "^store: given 5, expected a folder"),
        ({"seed": -1}, "^seed: given -1"),
        ({"chunk": 0}, "^chunk: given 0"),
        ({"window": 0}, "^window: given 0"),
        ({"fit": Short()}, r"^fit\.logits: given a result of shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            shadow.train(**(call | changes))
    with pytest.raises(ValueError, match="^fit: given NaN outputs of model 0, 1"):
        shadow.train(Diverged(), x, y, half(), tmp_path / "t", chunk=2)


def predict_known_classes(model, x):
    return np.zeros((len(x), len(model)))


def train_classes(x, y, rng):
    return np.unique(y)


def test_models_of_other_classes_are_named(tmp_path):
    """One column would spread over all; nothing of such a model is kept."""
    x, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 1, 1])
    masks = np.array([[1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]], bool)
    fit = shadow.each(train_classes, predict_known_classes)
    expected = "^fit.logits: given 1 columns from models 2 to 2, expected 2, as many as"
    for _ in range(2):
        with pytest.raises(ValueError, match=expected):
            shadow.train(fit, x, y, masks, tmp_path / "s", chunk=1)
    assert sorted(f.name for f in (tmp_path / "s" / "done").iterdir()) == ["0000.json", "0001.json"]
    assert np.load(tmp_path / "s" / "logits.npy").shape == (3, 1, 6, 2)


def test_a_store_keeps_masks_of_its_own(tmp_path):
    masks = half()
    store = shadow.train(Centroids(), *data(), masks, tmp_path / "s")
    masks[:] = False
    assert np.array_equal(store.masks, half())


def test_a_store_without_a_folder_names_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    trained, (x, y) = counting(monkeypatch), data()
    call = {"fit": RECIPE, "x": x, "y": y, "masks": half(), "seed": 3, "chunk": 4}
    first = shadow.train(**call)
    assert first.path.parent == tmp_path and re.fullmatch("shadow--[0-9a-f]{16}", first.path.name)
    assert trained == [0, 4]
    assert shadow.train(**call).path == first.path and trained == [0, 4]
    for changes in (
        {"fit": dataclasses.replace(RECIPE, epochs=4)},
        {"x": x + np.float32(1)},
        {"y": (y + 1) % 3},
        {"masks": ~half()},
        {"seed": 4},
        {"chunk": 2},
        {"queries": [np.negative]},
    ):
        assert shadow.train(**(call | changes)).path != first.path
    assert len(list(tmp_path.iterdir())) == 8


def test_seconds_are_those_of_all_runs_that_trained_into_the_store(tmp_path, monkeypatch):
    took = iter([3.0, 5.0, 7.0])
    monkeypatch.setattr(run.clock, "stopwatch", lambda threads: lambda: next(took))
    call = (RECIPE, *data(), half()[:5], tmp_path / "s")
    store = shadow.train(*call, chunk=2)
    assert store.seconds_per_model == (3 + 5 + 7) / 5
    again = shadow.train(*call, chunk=2)  # nothing trained, nothing counted
    assert again.seconds_per_model == store.seconds_per_model
    for file in (tmp_path / "s" / "done").iterdir():  # as stores of old versions have it
        record = json.loads(file.read_text())
        file.write_text(json.dumps({k: v for k, v in record.items() if k != "processor_seconds"}))
    assert np.isnan(store.seconds_per_model)


def test_a_folder_is_named_after_everything_it_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    settings = [("a", RECIPE, np.arange(3)), ("a", RECIPE, np.arange(4)), ("b", RECIPE, 0)]
    settings += [("b", dataclasses.replace(RECIPE, epochs=4), 0)]
    found = [shadow.folder("toy", *one) for one in settings]
    assert len(set(found)) == 4 and not list(tmp_path.iterdir())
    assert (
        found[0] == shadow.folder("toy", "a", RECIPE, np.arange(3)) and found[0].parent == tmp_path
    )


# --- the machine and the shift of the seeds -------------------------------------------------------

ELSEWHERE = {"processor": "another", "torch": "NEON", "BLAS": "openblas Prescott"}  # nothing of x86


def rewritten(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def again(folder, **changes):
    x, y = data()
    call = {"fit": RECIPE, "x": x, "y": y, "masks": half(), "store": folder, "seed": 3, "chunk": 2}
    return shadow.train(**(call | changes))


def test_a_store_names_what_made_it(finished):
    assert finished.manifest["machine"] == machine.instructions()
    assert {"threads", "versions"} <= finished.manifest.keys()
    assert json.loads((finished.path / "manifest.json").read_text()) == finished.manifest
    for file in (finished.path / "done").glob("*.json"):
        assert json.loads(file.read_text())["machine"] == machine.instructions()


def test_models_of_other_instructions_are_read_and_one_line_says_so(copy, finished, monkeypatch):
    monkeypatch.setattr(run, "train_chunk", None)  # nothing is trained
    rewritten(copy / "manifest.json", lambda manifest: manifest.update(machine=ELSEWHERE))
    for name in ("0000", "0004"):
        rewritten(copy / "done" / f"{name}.json", lambda done: done.update(machine=ELSEWHERE))
    with pytest.warns(UserWarning, match="4 models were trained with other instructions") as said:
        store = again(copy)
    assert len(said) == 1 and "torch NEON, here " in str(said[0].message)
    assert store.manifest["machine"] == ELSEWHERE
    assert np.array_equal(store.logits(), finished.logits())


def test_what_is_missing_is_trained_here_and_says_so_itself(copy):
    rewritten(copy / "manifest.json", lambda manifest: manifest.update(machine=ELSEWHERE))
    for name in ("0000", "0002", "0004"):
        rewritten(copy / "done" / f"{name}.json", lambda done: done.update(machine=ELSEWHERE))
    (copy / "done" / "0006.json").unlink()
    with pytest.warns(UserWarning, match="6 models were trained with other instructions"):
        again(copy)
    assert json.loads((copy / "done" / "0006.json").read_text())["machine"] != ELSEWHERE


@pytest.mark.filterwarnings("error")
def test_a_store_that_names_no_machine_is_gone_on_with(copy, finished):
    rewritten(copy / "manifest.json", lambda manifest: manifest.pop("machine"))
    for file in (copy / "done").glob("*.json"):
        rewritten(file, lambda done: done.pop("machine"))
    (copy / "done" / "0002.json").unlink()
    assert np.array_equal(again(copy).logits(), finished.logits())
    assert np.array_equal(shadow.load(copy).logits(), finished.logits())
    assert "machine" not in json.loads((copy / "manifest.json").read_text())


def test_a_shift_trains_other_models_on_the_same_data(tmp_path, copy, finished, monkeypatch):
    monkeypatch.setenv(reseed.VARIABLE, "2")
    with pytest.raises(ValueError, match="reseed: absent -> 2"):
        again(copy)
    shifted = again(tmp_path / "shifted")
    assert shifted.manifest.pop("reseed") == 2 and shifted.manifest == finished.manifest
    assert np.array_equal(shifted.masks, finished.masks)
    same = [np.array_equal(a, b) for a, b in zip(shifted.logits(), finished.logits())]
    assert not any(same)
    one = RECIPE(*data(), half()[:1], [np.random.default_rng(shifted.seeds[0])])
    assert np.allclose(RECIPE.logits(one, data()[0])[0], shifted.logits()[0, 0], atol=1e-5)


def test_a_shift_has_a_folder_of_its_own(monkeypatch):
    plain = shadow.folder("toy", 1)
    monkeypatch.setenv(reseed.VARIABLE, "2")
    two = shadow.folder("toy", 1)
    monkeypatch.setenv(reseed.VARIABLE, "3")
    assert len({plain, two, shadow.folder("toy", 1)}) == 3
    monkeypatch.setenv(reseed.VARIABLE, "0")
    assert shadow.folder("toy", 1) == plain


def test_the_librarys_hash_leaves_the_shift_out():
    plain = "from mia_lib import checks\ndef f(rngs):\n    return rngs\n"
    shifted = "from mia_lib import checks, reseed\n@reseed.fit\ndef f(rngs):\n    return rngs\n"
    assert identity._without_comments(plain) == identity._without_comments(shifted)
    other = shifted.replace("@reseed.fit", "@functools.cache")
    assert identity._without_comments(plain) != identity._without_comments(other)
