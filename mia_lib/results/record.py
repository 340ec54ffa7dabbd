"""One record: made, written whole or not at all, found and read."""

import json
import math
import numbers
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np

from mia_lib import __version__, checks, clock, disk
from mia_lib.intervals import Estimate
from mia_lib.results.places import recorded, written
from mia_lib.results.schema import SCALES, SCHEMA, check, check_row
from mia_lib.results.today import code_of

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "torchvision")


def row(id, what, value, *, low=None, high=None, n=None, paper=None, where=None, note=""):
    """One row of a record.

    Parameters
    ----------
    id : str
        The row of the inventory that it reproduces, for example "L2".
    what : str
        What was measured, with its unit.
    value : float, Estimate or None
        Ours. An `Estimate` brings its own low and high. None or NaN: not measured.
    low, high : float, optional
        The interval.
    n : int, optional
        What the value was measured on: models, examples or repetitions, as `what` or `note` says.
    paper : float or str, optional
        What the paper reports.
    where : str, optional
        Where in the paper.
    note : str
        Why they differ, or anything else a reader has to know.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        A value of the wrong type, low above high.

    Examples
    --------
    >>> row("L2", "AUC", Estimate(0.72, 0.71, 0.73), n=256, paper=0.722, where="Table I")["low"]
    0.71
    """
    if isinstance(value, Estimate):
        if low is not None or high is not None:
            checks.fail("low, high", "both an Estimate and limits", "one of them")
        value, low, high = value
    made = dict(
        id=id, what=what, paper=paper, where=where, value=value, low=low, high=high, n=n, note=note
    )
    made = {key: _plain(key, v) for key, v in made.items()}
    check_row("row", made)
    return made


@dataclass(frozen=True)
class Provenance:
    """What a record's rows come from.

    Parameters
    ----------
    notebook, data, scale : str
        What was run: letters, digits, dots, dashes and underscores, since they name the file.
    parameters : dict
        The notebook's parameters.
    seed : int or None
        The seed it was run with.
    device : str
        What it ran on.
    data_hash : str, optional
        `hash_arrays` of the data.

    Examples
    --------
    >>> Provenance("lira", "digits", "smoke", {"models": 8}, seed=0).device
    'cpu'
    """

    notebook: str
    data: str
    scale: str
    parameters: dict
    seed: int | None
    device: str = "cpu"
    data_hash: str | None = None


def write(provenance, rows, seconds, *, name=None, folder=None):
    """Write a record, whole or not at all.

    Parameters
    ----------
    provenance : Provenance
        Notebook, data, scale, parameters, seed and device.
    rows : list of dict
        Made by `row`.
    seconds : float
        How long it took, by the clock on the wall. The processor seconds, with those of all parts
        of a resumed run, come from `mia_lib.clock`.
    name : str, optional
        File name without ".json". Default: NOTEBOOK--DATA--SCALE.
    folder : path, optional
        Where. Default: the folder in the environment variable MIA_RESULTS, else _build/results of
        the project.

    Returns
    -------
    pathlib.Path
        The file. An older record of that name is replaced.

    Raises
    ------
    ValueError
        A name that is no file name, anything in the record that `check` refuses.

    Examples
    --------
    >>> import tempfile
    >>> of = Provenance("lira", "digits", "smoke", {}, seed=0)
    >>> rows = [row("L2", "AUC", 0.72, n=256)]
    >>> path = write(of, rows, 1.5, folder=tempfile.mkdtemp())
    >>> path.name, read(path)["rows"][0]["value"]
    ('lira--digits--smoke.json', 0.72)
    """
    parts = {part: getattr(provenance, part) for part in ("notebook", "data", "scale")}
    for part, text in [
        *parts.items(),
        ("name", "--".join(map(str, parts.values())) if name is None else name),
    ]:
        if not isinstance(text, str) or not re.fullmatch(r"\w[\w.-]*", text, flags=re.ASCII):
            checks.fail(part, repr(text), "letters, digits, dots, dashes and underscores")
    record = {
        "schema": SCHEMA,
        **parts,
        "parameters": provenance.parameters,
        "seed": provenance.seed,
        "hashes": {"data": provenance.data_hash, "code": code_of(provenance.notebook)},
        "versions": _versions(),
        "device": provenance.device,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "processor_seconds": clock.processor_seconds(),
        "rows": rows,
    }
    record = _plain("record", record)
    check(record)
    target = (written() if folder is None else Path(folder)) / f"{text}.json"
    disk.write_json(target, record, shared=True)
    return target


def read(path_or_name):
    """Read a record and check it.

    Parameters
    ----------
    path_or_name : path or str
        A file, or the name NOTEBOOK--DATA--SCALE of a record in notebooks/results.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        No such record, JSON that ends early, anything that `check` refuses; the message begins with
        the file.

    Examples
    --------
    >>> read("nothing--of--this")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: path_or_name: given 'nothing--of--this', expected a file, or ... notebooks/results
    """
    path = Path(path_or_name)
    if not path.is_file():
        path = recorded() / f"{path_or_name}.json"
    if not path.is_file():
        checks.fail(
            "path_or_name",
            repr(str(path_or_name)),
            "a file, or the name of a record in notebooks/results",
        )

    def no_constant(text):
        raise ValueError(f"{text} is no JSON number")

    try:
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=no_constant)
    except ValueError as error:
        checks.fail(path.name, f"text that is no JSON ({error})", "a complete result record")
    try:
        check(record)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return record


def find(notebook=None, data=None, scale=None, *, folder=None):
    """Read all records of a folder, or those that match; recorded simulations are none.

    Parameters
    ----------
    notebook, data, scale : str, optional
        Only records with this entry.
    folder : path, optional
        Default: notebooks/results of the project.

    Returns
    -------
    list of dict
        In the order of the file names; empty where there is none.

    Raises
    ------
    ValueError
        A file that is no record, where it names what is asked for.

    Examples
    --------
    >>> find(folder="no such folder")
    []
    """
    folder = recorded() if folder is None else Path(folder)
    wanted = {
        key: v
        for key, v in dict(notebook=notebook, data=data, scale=scale).items()
        if v is not None
    }
    paths = [path for path in folder.glob("*--*.json") if not path.stem.endswith("--simulation")]
    records = [read(path) for path in sorted(paths) if _names(path, wanted.values())]
    return [record for record in records if all(record[key] == v for key, v in wanted.items())]


def _names(path, values):
    """Whether a file has these texts in its name or anywhere in it: one that lacks them need not be
    read and checked. Texts that JSON may write in two ways are looked for in every file.
    """
    if not values:
        return True
    named = [f'"{part}"' for part in path.stem.split("--")]
    text = path.read_text(encoding="utf-8", errors="replace") + " ".join(named)
    return all(f'"{v}"' in text or json.dumps(v) != f'"{v}"' for v in values)


def largest(notebook, folder=None):
    """The record of the largest scale of every data set.

    Parameters
    ----------
    notebook : str
        The experiment.
    folder : path, optional
        Default: notebooks/results of the project.

    Returns
    -------
    dict
        The record by the name of the data set, in the order of the names; empty where there is
        none. The scales from the smallest: smoke, default, seeds, paper.

    Raises
    ------
    ValueError
        A file that is no record, a record of another scale.

    Notes
    -----
    Used in book/two_sample.ipynb and book/set_evidence.ipynb.

    Examples
    --------
    >>> largest("lira", folder="no such folder")
    {}
    """
    records = find(notebook, folder=folder)
    for record in records:
        checks.choice("scale", record["scale"], SCALES)
    records.sort(key=lambda record: (record["data"], SCALES.index(record["scale"])))
    return {record["data"]: record for record in records}  # the last of a data set stays


def _versions():
    versions = {"python": platform.python_version(), "mia_lib": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _plain(name, value):
    """The value as JSON has it: NaN becomes null, numpy's numbers and arrays Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(f"{name}.{key}", v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{name}[{i}]", v) for i, v in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, int)):
        value = float(value)
        if math.isinf(value):
            checks.fail(name, str(value), "a finite number, or NaN for not measured")
        return None if math.isnan(value) else value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    checks.fail(name, type(value).__name__, "a number, a text, a list or a dict")
