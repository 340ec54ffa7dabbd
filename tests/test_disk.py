"""Hashes against bytes put together by hand, whole files, folders that know their work."""

import ast
import hashlib
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from mia_lib import disk

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6, dtype=np.float32)[::2],
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.array([True, False]),
    np.array(["a", "bc"]),
    np.empty((0, 4)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_hashes_are_of_type_shape_and_content(array, monkeypatch):
    content = b"".join(np.array(value, array.dtype).tobytes() for value in array.ravel())
    for block in (disk.BLOCK, 8):
        monkeypatch.setattr(disk, "BLOCK", block)
        header = f"{array.dtype.str}{array.shape}".encode()
        assert disk.hash_arrays(array) == hashlib.sha256(header + content).hexdigest()
        twice = hashlib.sha256(2 * (header + content)).hexdigest()
        assert disk.hash_arrays(array, array) == twice
        # What the manifests of stores hold that are older than this module.
        header = f"{array.dtype.str} {array.shape} ".encode()
        assert disk.hash_array(array) == hashlib.sha256(header + content).hexdigest()


def test_hash_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert disk.hash_file(tmp_path / "a") == hashlib.sha256(b"abc").hexdigest()
    assert disk.hash_file(tmp_path / "a", hashlib.md5(b"0")) == hashlib.md5(b"0abc").hexdigest()


@pytest.mark.parametrize("shared", [False, True])
def test_whole_or_not_at_all(tmp_path, shared):
    path = tmp_path / "new" / "file"
    disk.write(path, lambda stream: stream.write(b"one"), shared=shared)

    def broken(stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk.write(path, broken, shared=shared)
    assert path.read_bytes() == b"one" and os.listdir(path.parent) == ["file"]


def test_shared_writers_do_not_meet(tmp_path):
    both = threading.Barrier(2)

    def slow(letter):
        def content(stream):
            stream.write(letter)
            both.wait(10)  # both temporary files are open now
            stream.write(letter)

        disk.write(tmp_path / "file", content, shared=True)

    threads = [threading.Thread(target=slow, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in (b"aa", b"bb")
    assert os.listdir(tmp_path) == ["file"]


def test_json_without_nan(tmp_path):
    disk.write_json(tmp_path / "a", {"b": "é", "a": 1}, sort_keys=True)
    assert (tmp_path / "a").read_text(encoding="utf-8") == '{\n "a": 1,\n "b": "é"\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        disk.write_json(tmp_path / "a", {"a": float("nan")})


def test_work_that_has_begun(tmp_path):
    file, manifest = tmp_path / "manifest.json", {"seed": 3, "fit": {"epochs": 2, "rates": (1, 2)}}
    assert disk.begun(file, manifest, "store") is None
    disk.write_json(file, manifest)
    there = {"seed": 3, "fit": {"epochs": 2, "rates": [1, 2]}}
    assert disk.begun(file, manifest, "store") == there
    assert disk.begun(file, manifest | {"seed": 4}, "store", aside=("seed",)) == there
    other = {"seed": 3, "fit": {"epochs": 5, "rates": [1, 2]}, "x": "0" * 64}
    with pytest.raises(ValueError) as error:
        disk.begun(file, other, "store")
    said = f"store: given {tmp_path}, made with other settings (fit.epochs: 2 -> 5; "
    assert str(error.value).startswith(said + "x: absent -> 000000000000...)")
    file.write_text("{")
    with pytest.raises(ValueError, match="folder: given .*manifest.json, which is damaged"):
        disk.begun(file, manifest, "folder")


# Whoever else writes, moves or hashes, and why that is no matter of `disk`.
WRITE = {
    "audit/__main__.py": "the report goes where the user wants it",
    "data/files.py": "pooch writes a download, which gets its name when its checksum is right",
    "data/originals.py": "a damaged download is set aside",
    "shadow/store.py": "damaged outputs are set aside",
}
HASH = {
    "audit/copies.py": "single records, to find copies",
    "audit/records.py": "single records, whose names those hashes are",
    "data/files.py": "checksums by the algorithm of whoever publishes the file",
    "results/code.py": "the text of a program",
    "shadow/identity.py": "the text of a program",
    "shadow/place.py": "the text that names a folder",
}
WRITERS = r"(os|shutil)\.(replace|rename|move|copy\w*)|np\.savez?(_compressed)?|(json|pickle)\.dump"
WRITERS += r"|torch\.save|.*\.(open_memmap|write_text|write_bytes|rename|to_csv|to_parquet)"


def calls(text):
    """The functions that a module calls, as written; `open` with all that it is given."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            yield f"open {ast.unparse(node)}" if name == "open" else name


def those_that_call(pattern):
    library = Path(disk.__file__).parent
    files = {path.relative_to(library).as_posix(): path for path in library.rglob("*.py")}
    found = {
        name
        for name, path in files.items()
        if any(re.fullmatch(pattern, one) for one in calls(path.read_text(encoding="utf-8")))
    }
    assert "disk.py" in found
    return found - {"disk.py"}


def test_one_room_writes_bytes():
    assert those_that_call(rf"{WRITERS}|open .*'[wax]b?\+?'.*") == WRITE.keys()


def test_one_room_hashes_arrays_and_files():
    assert those_that_call(r"hashlib\.\w+") == HASH.keys()
