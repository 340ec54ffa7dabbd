"""Observations in a file: an .npz, or a folder of .npy whose arrays are memory-mapped."""

import zipfile
from pathlib import Path

import numpy as np

from mia_lib import checks
from mia_lib.audit.observations import ASSIGNMENTS, Observations

# name: (type, shape, meaning). `probabilities` stand in for `logits`, `shadow_probabilities` for
# `shadow_logits`.
SCHEMA = {
    "logits": (
        "float",
        "(n, K) or (Q, n, K)",
        "the target's outputs before the softmax, or log-probabilities",
    ),
    "probabilities": ("float", "(n, K) or (Q, n, K)", "instead of logits: rows that sum to 1"),
    "labels": ("int", "(n,)", "the right class of each record, 0 ... K - 1"),
    "member": ("bool", "(n,)", "True where the record trained the target"),
    "assignment": (
        "text",
        "()",
        "given (the default), random or coins: how records came to be members",
    ),
    "shadow_logits": (
        "float",
        "(S, n, K) or (S, Q, n, K); (S, m, K)",
        "outputs of S shadow models; on other records with shadow_labels",
    ),
    "shadow_probabilities": ("float", "like shadow_logits", "instead of shadow_logits"),
    "shadow_member": ("bool", "(S, n); (S, m)", "True where the record trained shadow model s"),
    "shadow_labels": (
        "int",
        "(m,)",
        "labels of the shadow models' records, where these are others",
    ),
    "representation": ("float", "(n, d)", "the target's last hidden layer"),
    "features": ("number", "(n, ...)", "the raw inputs, for the blind baseline"),
    "columns.NAME": ("text, bool or number", "(n,)", "an attribute by which the report is sliced"),
}
NEEDED = ("labels", "member")


def schema():
    """The entries that a file may have, as text.

    Examples
    --------
    >>> print(schema().splitlines()[0][:40])
    logits                float, (n, K) or (
    """
    lines = [
        f"{name:<21} {kind}, {shape}: {meaning}" for name, (kind, shape, meaning) in SCHEMA.items()
    ]
    return "\n".join(
        [
            *lines,
            "",
            "assignment:",
            *(f"  {word:<7} {meaning}" for word, meaning in ASSIGNMENTS.items()),
        ]
    )


def load(path, assignment=None):
    """Read observations and check them.

    Parameters
    ----------
    path : path-like
        An ``.npz`` file, or a folder of ``.npy`` files, which are memory-mapped: 256 shadow models
        x 50,000 records x 10 classes take a folder.
    assignment : str, optional
        In place of what the file says; see `Observations`.

    Returns
    -------
    Observations

    Raises
    ------
    ValueError
        No such file, an unknown or a missing entry, pickled objects, anything that `Observations`
        refuses: the message names the array, what was given and what was expected.

    Notes
    -----
    The entries are the arguments of `Observations`; ``probabilities`` and ``shadow_probabilities``
    may stand in for ``logits`` and ``shadow_logits``; a column is called ``columns.NAME``. Taught
    in book/audit.ipynb.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "seen.npz"
    ...     labels, member = rng.integers(3, size=40), np.arange(40) < 20
    ...     np.savez(file, logits=rng.normal(size=(40, 3)), labels=labels, member=member)
    ...     load(file).n
    40
    """
    path = Path(path)
    arrays = dict(_folder(path) if path.is_dir() else _archive(path))
    if not arrays:
        checks.fail("path", f"{path}, which holds no array", "an .npz or a folder of .npy")
    known = [name for name in SCHEMA if name != "columns.NAME"]
    columns = {
        name.removeprefix("columns."): arrays.pop(name)
        for name in list(arrays)
        if name.startswith("columns.")
    }
    for name in arrays:
        if name not in known:
            checks.fail(str(path), f"an unknown entry {name!r}", "one of " + ", ".join(SCHEMA))
    for name in NEEDED:
        if name not in arrays:
            checks.fail(
                name,
                f"nothing in {path}",
                f"{SCHEMA[name][0]} {SCHEMA[name][1]}: {SCHEMA[name][2]}",
            )
    for part in ("", "shadow_"):
        both = f"{part}probabilities", f"{part}logits"
        if both[0] in arrays:
            if both[1] in arrays:
                checks.fail(both[1], f"beside {both[0]}", "one of them")
            arrays[both[1]] = _log(both[0], arrays.pop(both[0]))
    if "logits" not in arrays:
        checks.fail(
            "logits", f"neither logits nor probabilities in {path}", "float (n, K) or (Q, n, K)"
        )
    if "assignment" in arrays:
        word = arrays.pop("assignment")
        if word.dtype.kind != "U" or word.size != 1:
            checks.fail(
                "assignment",
                f"an array of dtype {word.dtype}, shape {word.shape}",
                "one word, such as np.array('random')",
            )
        arrays["assignment"] = str(word.reshape(-1)[0])
    if assignment is not None:
        arrays["assignment"] = assignment
    return Observations(**arrays, columns=columns)


def describe(observations):
    """What was given, a line for each array.

    Run in notebooks/audit.ipynb.

    Parameters
    ----------
    observations : Observations

    Returns
    -------
    list of (str, str)
        Name and shape with type, or the word itself for the assignment.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> describe(Observations(rng.normal(size=(40, 3)), rng.integers(3, size=40),
    ...     np.arange(40) < 20))[0]
    ('logits', '(40, 3) float64')
    """
    names = (
        "logits",
        "labels",
        "member",
        "shadow_logits",
        "shadow_member",
        "shadow_labels",
        "representation",
        "features",
    )
    arrays = {name: getattr(observations, name) for name in names}
    arrays |= {f"columns.{name}": array for name, array in observations.columns.items()}
    lines = []
    for name, array in arrays.items():
        if array is not None:
            kind = "text" if array.dtype.kind == "U" else array.dtype.name
            lines.append((name, f"{array.shape} {kind}"))
    return [*lines, ("assignment", observations.assignment)]


def _archive(path):
    if not path.is_file():
        checks.fail("path", str(path), "an .npz file or a folder of .npy files")
    if not zipfile.is_zipfile(path):
        checks.fail(
            "path", f"{path}, which is no .npz archive", "an .npz file or a folder of .npy files"
        )
    with np.load(path, allow_pickle=False) as stored:
        for name in stored.files:
            try:
                yield name, stored[name]
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                checks.fail(
                    name,
                    f"an entry of {path} that cannot be read ({error})",
                    "a plain numeric or text array",
                )


def _folder(path):
    for file in sorted(path.glob("*.npy")):
        try:
            yield file.stem, np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            checks.fail(
                file.stem,
                f"{file}, which cannot be read ({error})",
                "a plain numeric or text array",
            )


def _log(name, array):
    """Log-probabilities of checked probabilities, a slice at a time."""
    if array.dtype.kind != "f" or array.ndim < 2 or array.size == 0:
        checks.fail(name, f"shape {array.shape}, dtype {array.dtype}", f"float {SCHEMA[name][1]}")
    logs = np.empty(array.shape, array.dtype if array.dtype == np.float32 else np.float64)
    flat, out = array.reshape(-1, array.shape[-1]), logs.reshape(-1, array.shape[-1])
    for start in range(0, len(flat), 1 << 16):
        rows = np.asarray(flat[start : start + (1 << 16)], dtype=np.float64)
        checks.distributions(
            name, rows, expected="probabilities; logits are outputs before the softmax"
        )
        with np.errstate(divide="ignore"):
            out[start : start + (1 << 16)] = np.log(rows)
    return logs
