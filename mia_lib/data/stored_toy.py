"""What MACE's toy classifiers of skin lesions say, small enough to travel with the book.

Written by scripts/toy_classifier.py: one file for all networks.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mia_lib.data import stored_signals
from mia_lib.data.files import DataError

FOLDER = stored_signals.FOLDER.parent / "toy"
_EACH = ("epochs", "rates", "logits", "units", "cancerous", "rows", "n_members", "provenance")


@dataclass(frozen=True)
class ToyClassifiers:
    """Answers of S networks, after T lengths of training, about n members and others.

    Parameters
    ----------
    epochs : (T,) int64 array
        Rising, from 0, the untrained network, on.
    rates : (S,) float64 array
        Adam's rate for each network. Networks of one place among those of their rate have the same
        start and the same order of records.
    logits : (S, T, n) float16 array
        The output before its sigmoid; larger: judged more cancerous.
    units : (S, T, 2, n) float16 array
        The two rectified units below the output, which is a linear function of them.
    cancerous : (n,) bool array
        What the networks learned to tell: True for akiec, bcc and mel.
    member : (n,) bool array
        True for the records that all networks were trained on, which come first.
    rows : (n,) int64 array
        Which records of the data set these are.
    provenance : dict
        ``device``, ``batch_size``, ``filters``, versions and date.

    Notes
    -----
    Made by `toy_classifiers`. Used in notebooks/bayes.ipynb.

    Examples
    --------
    >>> ToyClassifiers.__dataclass_params__.frozen
    True
    """

    epochs: np.ndarray
    rates: np.ndarray
    logits: np.ndarray
    units: np.ndarray
    cancerous: np.ndarray
    member: np.ndarray
    rows: np.ndarray
    provenance: dict


def toy_classifiers(folder=None):
    """The stored answers of MACE's binary classifiers, without training anything.

    Parameters
    ----------
    folder : path-like, optional
        Where the file is. None: notebooks/toy of the clone that the library is installed from.

    Returns
    -------
    ToyClassifiers

    Raises
    ------
    ValueError
        For a file that is damaged or whose arrays do not fit each other.
    DataError
        If there is no file: the line says where to get it.

    Notes
    -----
    The layers are those of MACE version 2, appendix E.3.3; no lesion shows both a member and
    another record. Used in notebooks/bayes.ipynb.

    Examples
    --------
    >>> toys = toy_classifiers()
    >>> toys.logits.shape, toys.units.shape, int(toys.member.sum())
    ((20, 6, 4000), (20, 6, 2, 4000), 1000)
    """
    folder = FOLDER if folder is None else Path(folder)
    file = folder / "skin-lesions.npz"
    if not file.exists():
        raise DataError(
            f"{folder} holds no toy classifiers: they come with a clone of the repository, in "
            "notebooks/toy, or from scripts/toy_classifier.py, which trains them"
        )
    found = stored_signals.read_arrays(file, _EACH, "scripts/toy_classifier.py")
    n, shape = len(found["rows"]), (len(found["rates"]), len(found["epochs"]))
    shapes = {"logits": (*shape, n), "units": (*shape, 2, n), "cancerous": (n,)}
    stored_signals.check_shapes(file, found, shapes)
    member = np.arange(n) < int(found.pop("n_members"))
    provenance = json.loads(str(found.pop("provenance")))
    return ToyClassifiers(member=member, provenance=provenance, **found)
