"""What the shadow models of CIFAR say, small enough to travel with the book.

Written by scripts/signals.py, one file a block of 16 models, and read here.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mia_lib import checks
from mia_lib.data.files import DataError

NAMES = ("cifar10", "cifar100")
BLOCK = 16  # models a file; `half_masks` is drawn for each block
FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "signals"


@dataclass(frozen=True)
class Signals:
    """Answers of S shadow models to the n training images of one data set.

    Parameters
    ----------
    name : str
    phi : (S, n) float16 array
        Logit-scaled confidence of model s on image i, log p_y - log(1 - p_y), for the image as it
        is.
    member : (S, n) bool array
        True where image i trained model s; every image is in exactly half of the models of every
        block of 16.
    labels : (n,) int64 array
    train_accuracy, test_accuracy : (S,) float64 array
        On the model's own members and on the official test images, as fractions.
    approximate : (n,) bool array
        True where the pixels come from a JPEG copy of the image.
    duplicate_of : (n,) int64 array
        The first training image with the same pixels, or -1.
    rows : (m,) int64 array
        The images whose logits are kept.
    logits : (T, m, K) float16 array
        Logits of the first T <= S models on those images.
    provenance : list of S dict
        Commit, recipe, processor, versions, seconds and date of each model.

    Notes
    -----
    Made by `signals`, meant for book/lira.ipynb.

    Examples
    --------
    >>> Signals.__dataclass_params__.frozen
    True
    """

    name: str
    phi: np.ndarray
    member: np.ndarray
    labels: np.ndarray
    train_accuracy: np.ndarray
    test_accuracy: np.ndarray
    approximate: np.ndarray
    duplicate_of: np.ndarray
    rows: np.ndarray
    logits: np.ndarray
    provenance: list


def signals(name, n_models=None, folder=None):
    """The stored answers of shadow models, without training anything.

    Parameters
    ----------
    name : {"cifar10", "cifar100"}
    n_models : int, optional
        S, a multiple of 16: the first so many. None: all that are stored.
    folder : path-like, optional
        Where the files are. None: notebooks/signals of the clone that the library is installed
        from.

    Returns
    -------
    Signals

    Raises
    ------
    ValueError
        For an unknown name, a number of models that is no multiple of 16 or more than are stored,
        a file that is cut short or holds other masks.
    DataError
        If the files are not here: the line says where to get them.

    Notes
    -----
    Meant for book/lira.ipynb and its neighbours once the models are trained; until then it
    raises DataError.

    Examples
    --------
    >>> signals("mnist")
    Traceback (most recent call last):
    ...
    ValueError: name: given 'mnist', expected one of 'cifar10', 'cifar100'
    """
    checks.choice("name", name, NAMES)
    folder = FOLDER if folder is None else Path(folder)
    about, files = folder / f"{name}.npz", sorted(folder.glob(f"{name}-[0-9][0-9].npz"))
    if not about.exists() or not files:
        raise DataError(
            f"{folder} holds no signals of {name}: they come with a clone of the repository, in "
            f"notebooks/signals, or from scripts/signals.py {name}, which trains the models"
        )
    stored = BLOCK * len(files)
    wanted = (
        stored if n_models is None else checks.integer("n_models", n_models, BLOCK, high=stored)
    )
    if wanted % BLOCK:
        checks.fail("n_models", str(n_models), f"a multiple of {BLOCK}, whole blocks of models")
    known = _read(about)
    blocks = [_block(file, len(known["labels"])) for file in files[: wanted // BLOCK]]
    joined = {key: np.concatenate([block[key] for block in blocks]) for key in _EACH}
    logits = [block["logits"] for block in blocks if "logits" in block]
    return Signals(
        name,
        joined["phi"],
        joined["member"],
        known["labels"].astype(np.int64),
        joined["train_accuracy"],
        joined["test_accuracy"],
        known["approximate"],
        known["duplicate_of"].astype(np.int64),
        known["rows"].astype(np.int64),
        np.concatenate(logits),
        [json.loads(text) for text in joined["provenance"]],
    )


_EACH = ("phi", "member", "train_accuracy", "test_accuracy", "provenance")


def _read(file):
    """All arrays of one file; one line where it is damaged."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except Exception as error:  # zipfile, zlib, numpy and the system each have their own
        checks.fail(
            "signals", f"{file}, which is damaged ({type(error).__name__})", "the file of the clone"
        )


def _block(file, n):
    """One block, checked: 16 models, n images, each of them in exactly half of the models."""
    block = _read(file)
    missing = [key for key in _EACH if key not in block]
    if missing:
        checks.fail(
            "signals", f"{file} without {', '.join(missing)}", "a file of scripts/signals.py"
        )
    member = np.unpackbits(block["member"], axis=1, count=n).astype(bool)
    if block["phi"].shape != (BLOCK, n) or member.shape != (BLOCK, n):
        checks.fail("signals", f"{file} of shape {block['phi'].shape}", f"({BLOCK}, {n})")
    if (member.sum(0) != BLOCK // 2).any():
        checks.fail("signals", f"{file} with other masks", "every image in half of the models")
    return block | {"member": member}
