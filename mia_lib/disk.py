"""What is written to disk: hashes of what is there, files that are whole or absent, folders of work
that goes on where it stopped.

A folder of work has a manifest, a JSON file with everything that its numbers depend on. Work goes
on only where the manifest is the same, so that no folder mixes two settings.
"""

import contextlib
import hashlib
import json
import os
import uuid
from pathlib import Path

import numpy as np

from mia_lib import checks

try:
    import fcntl
except ImportError:  # Windows has no such lock; two writers are then not noticed
    fcntl = None

BLOCK = 1 << 24  # bytes of an array that are hashed at a time
_locked_here = set()


def hash_arrays(*arrays):
    """SHA-256 over the types, shapes and contents of arrays.

    Parameters
    ----------
    *arrays : array_like
        Memory maps are read in blocks.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ValueError
        An array of objects.

    Examples
    --------
    >>> hash_arrays([1.0, 2.0]) == hash_arrays(np.array([1.0, 2.0])) != hash_arrays([[1.0, 2.0]])
    True
    """
    return _digest(map(np.asarray, arrays), "{}{}")


def hash_array(array):
    """SHA-256 of one array, in the form that stores of shadow models have had from the first on.

    Examples
    --------
    >>> hash_array([1.0, 2.0]) == hash_array(np.array([1.0, 2.0])) != hash_array([[1.0, 2.0]])
    True
    """
    return _digest([np.ascontiguousarray(array)], "{} {} ")


def _digest(arrays, header):
    digest = hashlib.sha256()
    for array in arrays:
        if array.dtype.hasobject:
            checks.fail("arrays", f"an array of dtype {array.dtype}", "arrays without objects")
        digest.update(header.format(array.dtype.str, array.shape).encode())
        rows = array.reshape(1) if array.ndim == 0 else array
        step = max(1, BLOCK // max(1, rows[:1].nbytes))
        for start in range(0, len(rows), step):
            digest.update(np.ascontiguousarray(rows[start : start + step]).tobytes())
    return digest.hexdigest()


def hash_file(path, digest=None):
    """SHA-256 of a file, or what another hashlib object makes of it, in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: digest or hashlib.sha256()).hexdigest()


def write(path, content, *, shared=False):
    """Write a file whole or not at all: to a temporary one beside it, flushed, moved into place.

    Parameters
    ----------
    path : path
        Its folder is made where it is not there. What the file held is kept until the new content
        is complete.
    content : callable
        ``content(stream)`` writes the bytes.
    shared : bool
        Whether another process may write the same file at this moment; then the temporary one has
        a name that no other has.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new" / "file"
    >>> write(path, lambda stream: stream.write(b"whole"))
    >>> path.read_bytes(), [file.name for file in path.parent.iterdir()]
    (b'whole', ['file'])
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f".{path.name}.{uuid.uuid4().hex[:8]}.part" if shared else f"{path.name}.part"
    temporary = path.with_name(name)
    try:
        with open(temporary, "wb") as stream:
            content(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _flush_folder(path.parent)


def _flush_folder(folder):
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_npz(path, arrays, *, shared=False):
    """Arrays by name, as `write` writes."""
    write(path, lambda stream: np.savez(stream, **arrays), shared=shared)


def write_npy(path, array):
    """One array, as `write` writes."""
    write(path, lambda stream: np.save(stream, array, allow_pickle=False))


def writable_npy(path, shape):
    """The writable memory map of a float32 array; made, at full length, if it is not there.

    The one file that is not written whole: its rows are filled in place, so whoever fills them
    keeps a checksum of what counts.
    """
    path = Path(path)
    if not path.exists():
        temporary = path.with_name(f"{path.name}.part")
        np.lib.format.open_memmap(temporary, "w+", np.float32, shape).flush()
        os.replace(temporary, path)
    return np.lib.format.open_memmap(path, "r+")


def write_json(path, content, *, sort_keys=False, shared=False):
    """JSON without NaN, as `write` writes."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)
    write(path, lambda stream: stream.write(f"{text}\n".encode()), shared=shared)


def begun(file, manifest, name, *, aside=()):
    """The manifest of a folder whose work has begun, with these settings.

    Parameters
    ----------
    file : path
        The folder's manifest.
    manifest : dict
        Everything that the numbers depend on.
    name : str
        The caller's argument that names the folder.
    aside : sequence of str
        Entries that may differ.

    Returns
    -------
    dict or None
        The manifest as it is on disk, None where there is none yet.

    Raises
    ------
    ValueError
        A damaged manifest; one that says anything else, with every difference.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "manifest.json"
    >>> begun(file, {"seed": 0}, "store"), write_json(file, {"seed": 0})
    (None, None)
    >>> begun(file, {"seed": 0}, "store")
    {'seed': 0}
    """
    file = Path(file)
    if not file.exists():
        return None
    try:
        old = json.loads(file.read_text())
    except ValueError:
        checks.fail(name, f"{file}, which is damaged", "another folder")
    new = json.loads(json.dumps(manifest))
    both = ({entry: of[entry] for entry in of if entry not in aside} for of in (old, new))
    changes = [f"{entry}: {was} -> {now}" for entry, was, now in _differences(*both)]
    if changes:
        checks.fail(
            name,
            f"{file.parent}, made with other settings ({'; '.join(changes)})",
            "another folder, or the same settings",
        )
    return old


def _differences(old, new, prefix=""):
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _differences(
                old.get(name, "absent"),
                new.get(name, "absent"),
                f"{prefix}.{name}" if prefix else name,
            )
    elif old != new:
        yield prefix, _short(old), _short(new)


def _short(value):
    text = value if isinstance(value, str) else json.dumps(value)
    hashed = len(text) == 64 and set(text) <= set("0123456789abcdef")
    return f"{text[:12]}..." if hashed else text if len(text) <= 60 else f"{text[:57]}..."


@contextlib.contextmanager
def locked(path, name="store"):
    """Hold the folder against other writers; the system drops the lock with the process, however
    that ends.

    A record lock, not flock: forked workers do not inherit it, so none can keep it alive after its
    parent is killed.
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    key = str(path.resolve())
    busy = f"{path}, which another run is writing"
    if key in _locked_here:
        checks.fail(name, busy, "a folder of its own for each run")
    with open(path / "lock", "w") as stream:
        if fcntl is not None:
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                checks.fail(name, busy, "a folder of its own for each run")
        _locked_here.add(key)
        try:
            yield
        finally:
            _locked_here.discard(key)
