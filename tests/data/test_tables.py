"""Releases of tabular synthesisers: made by scripts/synthesiser.py, read by
`data.synthetic_tables`.
"""

import importlib.util
import itertools
import json
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mia_lib import data

SCRIPTS = Path(__file__).parents[2] / "scripts"
SAID = {"synthesiser": "toy"}
N, D, TABLES, M = 12, 11, 4, 5


@pytest.fixture
def made(tmp_path):
    """Arrays of four tables and 12 records, and a function that writes and reads them."""
    rng = np.random.default_rng(0)
    member = rng.permuted(np.arange(TABLES)[:, None] < np.full(N, TABLES // 2), axis=0)
    bits = {key: rng.integers(0, 2, shape, dtype=np.uint8) for key, shape in (
        ("x", (N, D)), ("reference", (7, D)), ("release", (TABLES, M, D))
    )}  # fmt: skip
    arrays = {key: np.packbits(one, axis=-1) for key, one in bits.items()} | {
        "labels": rng.integers(0, 3, N).astype(np.uint8),
        "rows": rng.permutation(100)[:N],
        "reference_labels": rng.integers(0, 3, 7).astype(np.uint8),
        "release_labels": rng.integers(0, 3, (TABLES, M)).astype(np.uint8),
        "log_density": rng.normal(size=(TABLES, N)).astype(np.float32),
        "member": np.packbits(member, axis=1),
        "columns": np.array(D),
        "provenance": np.array(json.dumps(SAID)),
    }

    def read(**changes):
        kept = {key: one for key, one in (arrays | changes).items() if one is not None}
        np.savez(tmp_path / "location30--arf.npz", **kept)
        return data.synthetic_tables("location30", folder=tmp_path)

    return arrays, bits | {"member": member}, tmp_path, read


def test_a_file_is_read_as_it_was_written(made):
    arrays, plain, _, read = made
    found = read()
    for key in ("labels", "rows", "reference_labels", "release_labels", "log_density"):
        np.testing.assert_array_equal(getattr(found, key), arrays[key])
    for key, name in (("x", "x"), ("reference", "reference"), ("release", "releases")):
        np.testing.assert_array_equal(getattr(found, name), plain[key])
    np.testing.assert_array_equal(found.member, plain["member"])
    assert found.provenance == SAID


def test_bad_files_end_in_one_line(made):
    arrays, plain, folder, read = made
    with pytest.raises(data.DataError, match=r"location30--arf.npz: .*scripts/synthesiser.py loc"):
        data.synthetic_tables("location30", folder=folder)
    with pytest.raises(ValueError, match="^name: given 'mnist'"):
        data.synthetic_tables("mnist")
    with pytest.raises(ValueError, match="^kind: given 'ctgan'"):
        data.synthetic_tables("location30", "ctgan")
    with pytest.raises(ValueError, match="without labels, expected a file of scripts/synthesiser"):
        read(labels=None)
    for key, short in (
        ("x", arrays["x"][1:]),
        ("labels", arrays["labels"][1:]),
        ("reference", arrays["reference"][1:]),
        ("release", arrays["release"][:, 1:]),
        ("log_density", arrays["log_density"][1:]),
        ("member", arrays["member"][1:]),
    ):
        with pytest.raises(ValueError, match=rf"arf.npz, {key} of shape \(.*\), expected \("):
            read(**{key: short})
    other = plain["member"].copy()
    other[0, 0] = ~other[0, 0]
    with pytest.raises(ValueError, match="other masks, expected every record in half"):
        read(member=np.packbits(other, axis=1))
    file = folder / "location30--arf.npz"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="location30--arf.npz, which is damaged"):
        data.synthetic_tables("location30", folder=folder)


@pytest.mark.parametrize("kind", ["arf", "arf-50"])
def test_the_committed_releases_are_what_the_docstring_says(kind):
    found = data.synthetic_tables("synthetic-purchase", kind)
    assert found.releases.shape == (16, 10_000, 100) and found.reference.shape == (4_000, 100)
    assert found.member.shape == (16, 4_000) and (found.member.sum(0) == 8).all()
    assert found.labels.max() == found.release_labels.max() == 9
    # members can be drawn, each by the synthesiser that it trained
    assert np.isfinite(found.log_density[found.member]).all()
    # records and reference are the population's, and no record is in both
    about = found.provenance
    drawn = data.synthetic_purchase(20_000, np.random.default_rng(100), **about["purchases"])
    np.testing.assert_array_equal(drawn.x[found.rows], found.x)
    np.testing.assert_array_equal(drawn.y[found.rows], found.labels)
    order = np.random.default_rng([about["seed"], 0]).permutation(20_000)[4_000:8_000]
    np.testing.assert_array_equal(drawn.x[order], found.reference)
    # arfpy's own draws are of the law that the releases come from
    assert np.abs(about["forge_gap"]).max() < 4 and np.std(about["forge_gap"]) < 2


def test_both_kinds_have_the_same_members():
    first, second = (
        data.synthetic_tables("synthetic-purchase", kind) for kind in ("arf", "arf-50")
    )
    np.testing.assert_array_equal(first.member, second.member)
    np.testing.assert_array_equal(first.rows, second.rows)


def scripted(name, **modules):
    """A script as a module, with stand-ins for what it imports."""
    kept = {key: sys.modules.get(key) for key in modules}
    sys.modules.update(modules)
    try:
        spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for key, old in kept.items():
            sys.modules.pop(key) if old is None else sys.modules.update({key: old})
    return module


@pytest.fixture(scope="module")
def worker():
    """The worker without arfpy, which the book does not install."""
    fake = types.ModuleType("arfpy")
    fake.arf = types.ModuleType("arfpy.arf")
    return scripted("arf_worker", arfpy=fake)


WEIGHTS = np.array([0.3, 0.7])
TABLES_OF = [
    np.array([[0.5, 0.5], [1.0, 0.0]]),  # two levels, in each of two leaves
    np.array([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]),
]


def by_hand(row):
    """The mixture's probability of one row."""
    return sum(
        w * np.prod([table[leaf, value] for table, value in zip(TABLES_OF, row)])
        for leaf, w in enumerate(WEIGHTS)
    )


def test_the_density_is_the_mixtures(worker):
    rows = np.array(list(itertools.product(range(2), range(3))))
    found = np.exp(worker.log_density(WEIGHTS, TABLES_OF, rows))
    np.testing.assert_allclose(found, [by_hand(row) for row in rows], atol=1e-12)
    assert found.sum() == pytest.approx(1)


def test_draws_follow_the_mixture(worker):
    n = 200_000
    drawn = worker.drawn(WEIGHTS, TABLES_OF, n, np.random.default_rng(1))
    counts = np.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=6)
    expected = n * np.array([by_hand(row) for row in itertools.product(range(2), range(3))])
    assert (np.abs(counts - expected) <= 4 * np.sqrt(expected + 1)).all()


def test_leaves_are_read_from_what_arfpy_estimates(worker):
    """In arfpy's own tables: coverage adds up over trees, a level that a leaf lacks has no row."""
    leaves = [(0, 3, 0.3), (1, 2, 0.7)]  # tree, node, coverage: two trees with one leaf each
    bounds = pd.DataFrame(
        [(*leaf, name) for leaf in leaves for name in ("a", "b")],
        columns=["tree", "nodeid", "cvg", "variable"],
    )
    probabilities = pd.DataFrame(
        [
            (tree, node, name, value, TABLES_OF[column][leaf, value])
            for leaf, (tree, node, _) in enumerate(leaves)
            for column, name in enumerate("ab")
            for value in range(TABLES_OF[column].shape[1])
            if TABLES_OF[column][leaf, value]
        ],
        columns=["tree", "nodeid", "variable", "value", "prob"],
    )
    model = types.SimpleNamespace(bnds=bounds, class_probs=probabilities, num_trees=2)
    weights, tables = worker.leaves_of(model, {"a": 2, "b": 3})
    np.testing.assert_allclose(weights, WEIGHTS)
    for found, expected in zip(tables, TABLES_OF):
        np.testing.assert_allclose(found, expected)


WORKER = """
import sys
import numpy as np
given = dict(np.load(sys.argv[1]))
if {stop} and int(given["seed"]) % 2:
    sys.exit(1)
rng = np.random.default_rng(int(given["seed"]))
rows = given["members"][rng.integers(len(given["members"]), size=int(given["n_release"]))]
np.savez(sys.argv[2], release=rows, log_density=np.zeros(len(given["asked"])), leaves=3,
         accuracy=[0.6, 0.4], forge_gap=0.1, versions="none")
"""


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The script with a worker that copies members, and eight records."""
    script = scripted("synthesiser")
    monkeypatch.setenv("MIA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "WORKER", tmp_path / "worker.py")
    monkeypatch.setattr(script, "N_RELEASE", 20)
    sizes = {"n": 8, "n_reference": 5, "tables": 4}
    monkeypatch.setitem(script.SIZES, "synthetic-purchase", sizes)
    monkeypatch.setattr(script, "interpreter", lambda runs: sys.executable)
    return script, tmp_path


def test_the_script_writes_what_the_library_reads_and_goes_on_after_a_stop(small):
    script, home = small
    (home / "worker.py").write_text(WORKER.format(stop=True))
    (home / "worker.txt").write_text("nothing")
    with pytest.raises(script.subprocess.CalledProcessError):
        script.main(["synthetic-purchase", "arf"])
    (home / "worker.py").write_text(WORKER.format(stop=False))
    assert script.main(["synthetic-purchase", "arf"]) is None
    found = data.synthetic_tables("synthetic-purchase", folder=home / "notebooks" / "tables")
    assert found.releases.shape == (4, 20, 100) and found.reference.shape == (5, 100)
    assert (found.member.sum(0) == 2).all() and found.provenance["leaves"] == [3] * 4
    for s, release in enumerate(found.releases):  # this worker copies
        table = np.c_[release, found.release_labels[s]]
        members = np.c_[found.x, found.labels][found.member[s]]
        assert (table[:, None] == members).all(-1).any(1).all()
    (home / "worker.py").unlink()  # a file that is there is not made again
    script.main(["synthetic-purchase", "arf"])


def test_other_settings_are_other_tables(small, monkeypatch):
    """What is kept of one run is never taken for another one."""
    script, home = small
    (home / "worker.py").write_text(WORKER.format(stop=False))
    (home / "worker.txt").write_text("nothing")
    script.main(["synthetic-purchase", "arf"])
    file = home / "notebooks" / "tables" / "synthetic-purchase--arf.npz"
    file.unlink()
    monkeypatch.setattr(script, "SEED", 3)
    script.main(["synthetic-purchase", "arf"])
    found = data.synthetic_tables("synthetic-purchase", folder=file.parent)
    for s, release in enumerate(found.releases):
        assert (release[:, None] == found.x[found.member[s]]).all(-1).any(1).all()
