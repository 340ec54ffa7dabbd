"""Bad files and bad calls, about two hundred: each ends in one clear line or in a right answer, in
seconds and in bounded memory.

Every array of a good file is replaced by something else, one at a time; so is every argument. What
is not refused must give the report that an oracle expects: the same as before where nothing was
said differently, and in any case one whose figures are numbers.
"""

import io
import json
import math
import pickle
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from mia_lib import audit
from mia_lib.audit import __main__ as command
from mia_lib.audit import files, verdict

N, K, S = 60, 3, 4
SECONDS = 20  # of a case, on a machine that may be busy; each takes well below one
BYTES = 100 * 2**20  # that a refused file may take
RNG = np.random.default_rng(0)
MEMBER = np.arange(N) % 2 == 0
GOOD = {
    "logits": RNG.normal(size=(N, K)),
    "labels": RNG.integers(0, K, N),
    "member": MEMBER,
    "assignment": np.array(["random"]),
    "shadow_logits": RNG.normal(size=(S, N, K)),
    "shadow_member": np.array([MEMBER, ~MEMBER] * 2)[:, RNG.permutation(N)],
    "features": RNG.normal(size=(N, 2)),
    "columns.side": np.where(RNG.random(N) < 0.5, "left", "right"),
}
NUMBERS = {
    "predictions": RNG.normal(size=N),
    "targets": RNG.normal(size=N),
    "member": MEMBER,
    "assignment": np.array(["random"]),
}


def spoiled(array, value):
    """The array with one entry changed."""
    changed = np.array(array, dtype=float)
    changed[(0,) * changed.ndim] = value
    return changed


# name: what becomes of an array; None where this kind of change does not apply
SPOILED = {
    "one row less": lambda a: a[..., :-1, :] if a.ndim > 1 else a[:-1],
    "one axis more": lambda a: a[None, ..., None],
    "flat": lambda a: a.reshape(-1) if a.ndim > 1 else None,
    "empty": lambda a: a[:0],
    "a scalar": lambda a: a.reshape(-1)[0],
    "text": lambda a: a.astype(str),
    "bytes": lambda a: np.full(a.shape, b"x"),
    "complex": lambda a: a.astype(complex) + 1j if a.dtype.kind in "fiub" else None,
    "dates": lambda a: np.zeros(a.shape, "datetime64[D]"),
    "pickled": lambda a: np.array([{}] * len(np.atleast_1d(a)), dtype=object),
    "records": lambda a: np.zeros(a.shape, [("a", "f8"), ("b", "i4")]),
    "NaN": lambda a: spoiled(a, np.nan) if a.dtype.kind in "fiub" else None,
    "infinity": lambda a: spoiled(a, np.inf) if a.dtype.kind in "fiub" else None,
    "minus infinity": lambda a: spoiled(a, -np.inf) if a.dtype.kind in "fiub" else None,
    "huge": lambda a: spoiled(a, 1e300) if a.dtype.kind in "fiub" else None,
    "one half": lambda a: spoiled(a, 0.5) if a.dtype.kind in "fiub" else None,
    "negative": lambda a: -np.abs(a.astype(float)) - 1 if a.dtype.kind in "fiub" else None,
    "all the same": lambda a: np.zeros_like(a),
}
CASES = [
    (base, name, change)
    for base, arrays in (("classes", GOOD), ("numbers", NUMBERS))
    for name, array in arrays.items()
    for change, function in SPOILED.items()
    if (name != "assignment" or base == "classes") and function(array) is not None
]
# What is no mistake: outputs and records of any size, probability 0, one class, one word.
ANSWERED = {
    ("logits", "minus infinity"),
    ("shadow_logits", "minus infinity"),
    ("logits", "one half"),
    ("shadow_logits", "one half"),
    ("logits", "negative"),
    ("shadow_logits", "negative"),
    ("logits", "all the same"),
    ("shadow_logits", "all the same"),
    ("labels", "all the same"),
    ("features", "huge"),
    ("features", "one half"),
    ("features", "negative"),
    ("features", "all the same"),
    ("columns.side", "all the same"),
    ("columns.side", "text"),
    ("assignment", "text"),
    ("assignment", "a scalar"),
    ("assignment", "one axis more"),
    ("predictions", "one half"),
    ("predictions", "negative"),
    ("predictions", "all the same"),
    ("targets", "one half"),
    ("targets", "negative"),
    ("targets", "all the same"),
}


def finite(value):
    """Every number within, however deep."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def ends_well(path):
    """The report's content, or the line with which the file is refused; quickly, either way."""
    start = time.process_time()
    try:
        content = audit.run(audit.load(path)).content
    except ValueError as error:
        said = str(error)
        assert ": given " in said and ", expected " in said and "\n" not in said, said
        assert len(said) < 600
        assert said.startswith(("path: ", str(path), *GOOD, *NUMBERS)), "not a name of the user's"
        content = said
    assert time.process_time() - start < SECONDS
    if isinstance(content, dict):
        json.dumps(content, allow_nan=False)
        assert content["verdict"] in verdict.VERDICTS and finite(content)
    return content


@pytest.mark.parametrize(
    ("base", "name", "change"), CASES, ids=["-".join(case).replace(" ", "_") for case in CASES]
)
def test_a_spoiled_array(tmp_path, base, name, change):
    arrays = GOOD if base == "classes" else NUMBERS
    with np.errstate(all="ignore"):
        np.savez(tmp_path / "seen.npz", **arrays | {name: SPOILED[change](arrays[name])})
    content = ends_well(tmp_path / "seen.npz")
    accepted = isinstance(content, dict)
    assert accepted == ((name, change) in ANSWERED), content["verdict"] if accepted else content


@pytest.mark.parametrize("name", [*GOOD, "nobody"])
def test_a_missing_or_unknown_array(tmp_path, name):
    arrays = {**GOOD, "nobody": np.zeros(3)} if name == "nobody" else dict(GOOD)
    if name != "nobody":
        arrays.pop(name)
    np.savez(tmp_path / "seen.npz", **arrays)
    content = ends_well(tmp_path / "seen.npz")
    needed = {"logits", "labels", "member", "shadow_logits", "shadow_member", "nobody"}
    assert isinstance(content, str) == (name in needed)


SAME = {
    "float32 masks": {"member": MEMBER.astype(np.float32)},
    "masks of 0 and 1": {"member": MEMBER.astype(np.uint8)},
    "labels as floats": {"labels": GOOD["labels"].astype(float)},
    "other order in memory": {"logits": np.asfortranarray(GOOD["logits"])},
    "other byte order": {"logits": GOOD["logits"].astype(">f8")},
    "a constant added": {"logits": GOOD["logits"] + 1000.0},
    "one query": {"logits": GOOD["logits"][None], "shadow_logits": GOOD["shadow_logits"][:, None]},
}


@pytest.mark.parametrize("change", SAME)
def test_the_same_said_otherwise(tmp_path, change):
    np.savez(tmp_path / "good.npz", **GOOD)
    np.savez(tmp_path / "seen.npz", **GOOD | SAME[change])
    good, seen = ends_well(tmp_path / "good.npz"), ends_well(tmp_path / "seen.npz")
    assert seen["verdict"] == good["verdict"]
    for one, other in zip(good["attacks"], seen["attacks"]):
        assert other["auc"] == pytest.approx(one["auc"], abs=1e-3), one["name"]


def test_every_record_twice(tmp_path):
    twice = {
        name: array if name == "assignment" else np.concatenate([array, array], axis=axis)
        for (name, array), axis in zip(GOOD.items(), (0, 0, 0, 0, 1, 1, 0, 0))
    }
    np.savez(tmp_path / "seen.npz", **twice)
    assert ends_well(tmp_path / "seen.npz")["counts"]["copies"] == N


def archive(path, **entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(f"{name}.npy", content)
    return path


def stored(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def head(shape, kind="<f8"):
    """An array's head that promises what does not follow."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


LABELS = stored(GOOD["labels"])
BROKEN = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("no archive"),
    "zeros": lambda path: path.write_bytes(bytes(10_000)),
    "a pickle": lambda path: path.write_bytes(pickle.dumps([1, 2])),
    "a single array": lambda path: path.write_bytes(LABELS),
    "no array": lambda path: archive(path),
    "no .npy inside": lambda path: zipfile.ZipFile(path, "w").writestr("a.txt", "x"),
    "cut in half": lambda path: path.write_bytes(cut(path, 0.5)),
    "cut at the end": lambda path: path.write_bytes(cut(path, 0.99)),
    "one byte flipped": lambda path: path.write_bytes(flipped(path)),
    "a head without numbers": lambda path: archive(path, logits=head((N, K))),
    "a head of a terabyte": lambda path: archive(path, logits=head((10**12,))),
    "a head that overflows": lambda path: archive(path, logits=head((2**40, 2**40))),
    "a negative head": lambda path: archive(path, logits=head((-5,))),
    "a head of objects": lambda path: archive(path, logits=head((3,), "|O") + pickle.dumps(3)),
    "no head": lambda path: archive(path, logits=b"not numpy"),
    "half a head": lambda path: archive(path, logits=LABELS[:20]),
    "an empty entry": lambda path: archive(path, logits=b""),
    "a head of code": lambda path: archive(path, logits=code_in_the_head()),
    "an unknown version": lambda path: archive(path, logits=b"\x93NUMPY\x09\x00" + LABELS[8:]),
    "a name twice": lambda path: twice_the_name(path),
    "encrypted": lambda path: encrypted(path),
}


def cut(path, share):
    archive(path, **{name: stored(array) for name, array in GOOD.items()})
    content = path.read_bytes()
    return content[: int(share * len(content))]


def flipped(path):
    content = bytearray(cut(path, 1))
    content[len(content) // 3] ^= 0xFF
    return bytes(content)


def code_in_the_head():
    said = b"{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (3,), }"
    said = said.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said


def twice_the_name(path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as file:
        for _ in range(2):
            file.writestr("logits.npy", LABELS)


def encrypted(path):
    """The flag that an entry needs a password."""
    content = bytearray(archive(path, labels=LABELS).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_archive(tmp_path, kind, capsys):
    path = tmp_path / "seen.npz"
    BROKEN[kind](path)
    tracemalloc.start()
    try:
        assert isinstance(ends_well(path), str)
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()
    assert command.main([str(path), "--check"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"no array", head((N, K)), head((10**12,)), stored(np.array([{}])), LABELS[:99]],
)
def test_a_broken_folder(tmp_path, content):
    (tmp_path / "logits.npy").write_bytes(content)
    assert isinstance(ends_well(tmp_path), str)


def test_an_archive_that_grows_is_refused(tmp_path, monkeypatch):
    """A megabyte of zeros in place of terabytes: the bound is lowered, not the file made huge."""
    path = archive(tmp_path / "seen.npz", logits=stored(np.zeros((2**17, 8))))
    monkeypatch.setattr(files, "UNPACKED", 2**20)
    assert "-fold to 0.0 GiB" in ends_well(path)
    monkeypatch.undo()
    monkeypatch.setattr(files, "_free_memory", lambda: 2**20)
    assert "are free, expected a folder of .npy" in ends_well(path)
    assert files._free_memory() == 2**20
    monkeypatch.undo()
    assert files._free_memory() > 2**20


WRONG = [None, "high", [0.5], np.nan, np.inf, -1, 0, 1, 2, True, 1j, {}, object()]


@pytest.mark.parametrize(
    "value",
    WRONG,
    ids=lambda value: repr(value).split(" at 0x")[0],  # the same in every process
)
@pytest.mark.parametrize("name", ["prior", "delta"])
def test_a_wrong_number(name, value):
    with pytest.raises(ValueError, match=f"{name}: given"):
        audit.run(audit.Observations(GOOD["logits"], GOOD["labels"], MEMBER), **{name: value})


@pytest.mark.parametrize("value", [None, "1", 0.5, -1, np.nan, True, [1], {}], ids=repr)
def test_a_wrong_seed(value):
    with pytest.raises(ValueError, match="seed: given"):
        audit.run(audit.Observations(GOOD["logits"], GOOD["labels"], MEMBER), seed=value)


@pytest.mark.parametrize("value", [3, b"x", ["x"], {}], ids=repr)
@pytest.mark.parametrize("name", ["model", "date"])
def test_a_wrong_word(name, value):
    with pytest.raises(ValueError, match=f"{name}: given"):
        audit.run(audit.Observations(GOOD["logits"], GOOD["labels"], MEMBER), **{name: value})


WRONG_PATHS = {
    "nothing": None,
    "a number": 3,
    "a list": [],
    "empty": "",
    "a folder": ".",
    "a device": "/dev/null",
    "a zero byte": "\x00",
}


@pytest.mark.parametrize("value", WRONG_PATHS.values(), ids=WRONG_PATHS)
def test_a_wrong_path(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="given"):
        audit.load(value)


@pytest.mark.parametrize("value", [None, 3, {}, GOOD, "seen.npz"], ids=lambda v: type(v).__name__)
def test_no_observations(value):
    with pytest.raises(ValueError, match="observations: given"):
        audit.run(value)
    seen = audit.Observations(GOOD["logits"], GOOD["labels"], MEMBER)
    with pytest.raises(ValueError, match="given"):
        audit.compare(seen, value)


def test_there_are_enough_cases():
    calls = 2 * len(WRONG) + 8 + 8 + 7 + 5
    assert len(CASES) + len(GOOD) + 1 + len(SAME) + len(BROKEN) + 6 + calls >= 150
