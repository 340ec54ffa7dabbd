"""What data and which code a result comes from, as hashes."""

import hashlib
from pathlib import Path

import numpy as np

from mia_lib import checks


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
    digest = hashlib.sha256()
    for array in arrays:
        array = np.asarray(array)
        if array.dtype.hasobject:
            checks.fail("arrays", f"an array of dtype {array.dtype}", "arrays without objects")
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        rows = array.reshape(1) if array.ndim == 0 else array
        step = max(1, (1 << 24) // max(1, rows[:1].nbytes))
        for start in range(0, len(rows), step):
            digest.update(np.ascontiguousarray(rows[start : start + step]).tobytes())
    return digest.hexdigest()


def hash_code(*paths):
    """SHA-256 over the library's source, and over further files.

    Parameters
    ----------
    *paths : path
        Further files, by name and content.

    Returns
    -------
    str
        64 hexadecimal digits. Line ends do not matter.

    Examples
    --------
    >>> hash_code() == hash_code()
    True
    """
    library = Path(__file__).parents[1]
    named = [(path.relative_to(library).as_posix(), path) for path in sorted(library.rglob("*.py"))]
    digest = hashlib.sha256()
    for name, path in named + [(Path(path).name, Path(path)) for path in paths]:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
