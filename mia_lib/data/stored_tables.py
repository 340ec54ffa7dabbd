"""What tabular synthesisers released, small enough to travel with the book.

Written by scripts/synthesiser.py: one file for each population and kind of synthesiser.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mia_lib import checks
from mia_lib.data import stored_signals
from mia_lib.data.files import DataError

FOLDER = stored_signals.FOLDER.parent / "tables"
_EACH = (
    "x labels rows reference reference_labels release release_labels log_density member columns "
    "provenance"
).split()


@dataclass(frozen=True)
class SyntheticTables:
    """Releases of S synthesisers, each trained on a random half of the same n records.

    Parameters
    ----------
    x : (n, d) uint8 array
        Records of 0 and 1 that are asked about.
    labels : (n,) uint8 array
        Their classes, a column of the table like the others.
    rows : (n,) int64 array
        Which records of the population these are.
    reference : (r, d) uint8 array
        Records of the population that no synthesiser saw.
    reference_labels : (r,) uint8 array
    releases : (S, m, d) uint8 array
        m synthetic records of each synthesiser, in the order in which they were drawn.
    release_labels : (S, m) uint8 array
    log_density : (S, n) float32 array
        Natural logarithm of the probability that each synthesiser gives each record with its
        class; -inf where it cannot draw it. Whoever has the synthesiser itself can ask for it.
    member : (S, n) bool array
        True where record i trained synthesiser s; each record trained half of them.
    provenance : dict
        ``synthesiser``, ``settings``, ``versions``, ``accuracy`` of every forest that was grown
        (where there are two or more the last but one releases), ``leaves``, seed and date.

    Notes
    -----
    Made by `synthetic_tables`. Used in notebooks/synthesiser.ipynb.

    Examples
    --------
    >>> SyntheticTables.__dataclass_params__.frozen
    True
    """

    x: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    reference: np.ndarray
    reference_labels: np.ndarray
    releases: np.ndarray
    release_labels: np.ndarray
    log_density: np.ndarray
    member: np.ndarray
    provenance: dict


def synthetic_tables(name, kind="arf", folder=None):
    """The stored releases of a tabular synthesiser, without training anything.

    Parameters
    ----------
    name : {"synthetic-purchase", "location30"}
        The population. Only the releases of ``synthetic-purchase`` come with a clone: those of
        ``location30`` may hold near copies of people's records.
    kind : {"arf", "arf-50"}
        An adversarial random forest with arfpy's default settings, whose leaves have at least 5
        records, shuffled ones counted with the real ones, or with leaves of at least 50.
    folder : path-like, optional
        Where the file is. None: notebooks/tables of the clone that the library is installed from.

    Returns
    -------
    SyntheticTables

    Raises
    ------
    ValueError
        For an unknown name or kind; for a file that is damaged or whose arrays do not fit each
        other.
    DataError
        If there is no file: the line says how to make it.

    Notes
    -----
    Watson et al. 2023, arXiv:2205.09435. Used in notebooks/synthesiser.ipynb.

    Examples
    --------
    >>> tables = synthetic_tables("synthetic-purchase")
    >>> tables.releases.shape, tables.member.sum(0).tolist()[:2]
    ((16, 10000, 100), [8, 8])
    """
    checks.choice("name", name, ("synthetic-purchase", "location30"))
    checks.choice("kind", kind, ("arf", "arf-50"))
    folder = FOLDER if folder is None else Path(folder)
    file = folder / f"{name}--{kind}.npz"
    if not file.exists():
        raise DataError(
            f"{folder} holds no {file.name}: `python scripts/synthesiser.py {name} {kind}` in a "
            "clone of the repository makes it"
        )
    found = stored_signals.read_arrays(file, _EACH, "scripts/synthesiser.py")
    d, n, r = int(found.pop("columns")), len(found["rows"]), len(found["reference_labels"])
    tables, m = found["release_labels"].shape
    packed = -(-d // 8)
    shapes = {"x": (n, packed), "labels": (n,), "reference": (r, packed)}
    shapes |= {"release": (tables, m, packed), "log_density": (tables, n)}
    shapes |= {"member": (tables, -(-n // 8))}
    stored_signals.check_shapes(file, found, shapes)
    member = np.unpackbits(found.pop("member"), axis=1, count=n).astype(bool)
    if (member.sum(0) != tables // 2).any():
        checks.fail("signals", f"{file} with other masks", "every record in half of the tables")
    bits = {key: np.unpackbits(found.pop(key), axis=-1, count=d) for key in ("x", "reference")}
    releases = np.unpackbits(found.pop("release"), axis=-1, count=d)
    provenance = json.loads(str(found.pop("provenance")))
    return SyntheticTables(releases=releases, member=member, provenance=provenance, **bits, **found)
