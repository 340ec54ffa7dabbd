"""Observations in a file: an .npz, a folder of .npy whose arrays are memory-mapped, a table."""

import io
import math
import zipfile
import zlib
from pathlib import Path

import numpy as np

from mia_lib import checks
from mia_lib.audit import answers, regression, tables
from mia_lib.audit.observations import ASSIGNMENTS, Observations

FILES = "an .npz file, a folder of .npy files, a .csv or a .parquet"
UNREADABLE = (
    ValueError, TypeError, OSError, EOFError, MemoryError, OverflowError, NotImplementedError,
    RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
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
    "predictions": ("float", "(n,)", "of a regression, instead of logits and labels"),
    "targets": ("float", "(n,)", "of a regression: the right numbers"),
    "shadow_predictions": ("float", "(S, n)", "of a regression, instead of shadow_logits"),
    "representation": ("float", "(n, d)", "the target's last hidden layer"),
    "features": ("number", "(n, ...)", "the raw inputs, for the blind baseline"),
    "columns.NAME": ("text, bool or number", "(n,)", "an attribute by which the report is sliced"),
}
NEEDED = ("labels", "member")
NEEDED_OF_NUMBERS = ("predictions", "targets", "member")  # of a regression
HEADER = 4096  # bytes in which the head of an array lies
# An archive that grows more than so much when it is unpacked, beyond so many bytes, is refused: a
# folder of .npy holds as much without being unpacked.
GROWTH, UNPACKED = 100, 2**30


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
        An ``.npz`` file; a folder of ``.npy`` files, which are memory-mapped: 256 shadow models x
        50,000 records x 10 classes take a folder; a ``.csv`` table, or a ``.parquet`` where pyarrow
        is there, with a record a row and the columns that `tables.read` names.
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
    may stand in for ``logits`` and ``shadow_logits``; ``predictions``, ``targets`` and
    ``shadow_predictions`` are those of a regression; a column is called ``columns.NAME``. An
    archive is read only where its heads tell the truth and what is in it fits into memory. Taught
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
    try:
        path = Path(path)
    except TypeError:
        checks.fail("path", type(path).__name__, "an .npz, a folder of .npy, a .csv or a .parquet")
    arrays = _arrays(path)
    if not arrays:
        checks.fail("path", f"{path}, which holds no array", FILES)
    known = [name for name in SCHEMA if name != "columns.NAME"]
    columns = {
        name.removeprefix("columns."): arrays.pop(name)
        for name in list(arrays)
        if name.startswith("columns.")
    }
    for name in arrays:
        if name not in known:
            checks.fail(str(path), f"an unknown entry {name!r}", "one of " + ", ".join(SCHEMA))
    numbers = [name for name in ("predictions", "targets", "shadow_predictions") if name in arrays]
    for name in NEEDED_OF_NUMBERS if numbers else NEEDED:
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
    if numbers:
        _regression(arrays, columns)
    elif "logits" not in arrays:
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
    if observations.task != answers.CLASSIFICATION:
        lines.append(("task", observations.task))
    return [*lines, ("assignment", observations.assignment)]


def _arrays(path):
    try:
        if path.is_dir():
            return dict(_folder(path))
        if not path.is_file():
            checks.fail("path", str(path), FILES)
        if path.suffix.lower() in tables.SUFFIXES:
            return tables.read(path)
        if not zipfile.is_zipfile(path):
            checks.fail("path", f"{path}, which is no .npz archive", FILES)
        return dict(_archive(path))
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        checks.fail("path", f"{path}, which cannot be read ({_first_line(error)})", FILES)


def _regression(arrays, columns):
    """Outputs and labels in place of predictions and right numbers."""
    for name in ("logits", "labels", "shadow_logits", "shadow_labels"):
        if name in arrays:
            checks.fail(name, "beside predictions of a regression", "one or the other")
    targets = arrays.pop("targets")
    arrays["logits"], scale = regression.outputs(arrays.pop("predictions"), targets)
    arrays["labels"] = np.zeros(len(targets), np.int64)
    if "shadow_predictions" in arrays:
        shadow = arrays.pop("shadow_predictions")
        arrays["shadow_logits"] = regression.outputs(shadow, targets, scale)[0]
    arrays["task"] = answers.REGRESSION
    columns.setdefault("target", targets)


def _archive(path):
    """Entries of an archive, each looked at before it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        size, packed = (
            sum(getattr(e, of) for e in entries) for of in ("file_size", "compress_size")
        )
        if size > UNPACKED and size > GROWTH * max(packed, 1):
            given = (
                f"{path}, which grows {size // max(packed, 1):,}-fold to {size / 2**30:,.1f} GiB"
            )
            checks.fail("path", given, "an archive without so many zeros, or a folder of .npy")
        free = _free_memory()
        if size > free:
            given = f"{path}, which takes {size / 2**30:,.1f} GiB, {free / 2**30:,.1f} GiB are free"
            checks.fail("path", given, "a folder of .npy, which is read a part at a time")
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            try:
                with archive.open(entry) as stream:
                    wrong = _wrong_head(stream.read(HEADER), entry.file_size)
                if wrong is None:
                    with archive.open(entry) as stream:
                        array = np.lib.format.read_array(stream, allow_pickle=False)
            except UNREADABLE as error:
                wrong = _first_line(error)
            if wrong is not None:
                given = f"an entry of {path} that cannot be read ({wrong})"
                checks.fail(name, given, "a plain numeric or text array")
            yield name, array


def _wrong_head(start, size):
    """What is wrong with an array's head, which must ask for as many bytes as there are: numpy
    would make room for whatever it says. None where nothing is.
    """
    stream = io.BytesIO(start)
    version = np.lib.format.read_magic(stream)
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, kind = read(stream)
    if kind.hasobject:
        return "pickled objects"
    wanted, there = kind.itemsize * math.prod(shape), size - stream.tell()
    return None if wanted == there else f"its head says {wanted:,} bytes, there are {there:,}"


def _free_memory():
    """Bytes that may be taken; without bound where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return 1024 * int(
            next(line for line in lines if line.startswith("MemAvailable")).split()[1]
        )
    except (OSError, StopIteration, ValueError):
        return math.inf


def _first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _folder(path):
    for file in sorted(path.glob("*.npy")):
        try:
            yield file.stem, np.load(file, mmap_mode="r", allow_pickle=False)
        except UNREADABLE as error:
            checks.fail(
                file.stem,
                f"{file}, which cannot be read ({_first_line(error)})",
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
