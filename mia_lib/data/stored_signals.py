"""What the shadow models of CIFAR say, small enough to travel with the book.

Written by scripts/signals.py and read here: one file a block of 16 models, and until a block is
done one file a model, its part.
"""

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mia_lib import checks, disk
from mia_lib.data.files import DataError
from mia_lib.masks import half_masks

NAMES = ("cifar10", "cifar100")
BLOCK = 16  # models a file; `half_masks` is drawn for each block
FREE = ("device", "dtype")  # of a recipe: where it runs, and in which precision
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
    phi_mirror : (S, n) float16 array
        The same of the image's mirror image.
    member : (S, n) bool array
        True where image i trained model s. Every image is in exactly half of the models of every
        whole block of 16, and in 0 to 8 models of a block that is not done.
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
        Commit, recipe, processor, versions, seconds and date of each model, and the ``file`` that
        it was read from: ``cifar10-00.npz`` for a whole block, ``parts/cifar10-00-03.npz`` for a
        model of a block that is not done.

    Notes
    -----
    Made by `signals`. Taught in book/signals_benchmark.ipynb.

    Examples
    --------
    >>> Signals.__dataclass_params__.frozen
    True
    """

    name: str
    phi: np.ndarray
    phi_mirror: np.ndarray
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
        S, the first so many. None: all that are stored.
    folder : path-like, optional
        Where the files are. None: notebooks/signals of the clone that the library is installed
        from.

    Returns
    -------
    Signals

    Raises
    ------
    ValueError
        For an unknown name, more models than are stored, a gap in the numbering of the files, a
        file that is cut short or holds other masks, a model of another recipe or other images.
    DataError
        If the files are not here: the line says where to get them.

    Notes
    -----
    Blocks that are done come first, then the parts of the block that is not. Masks of parts are
    drawn again from the seed that a part names, and compared with the hash that was written when
    the model was trained. Taught in book/signals_benchmark.ipynb.

    Examples
    --------
    >>> signals("mnist")
    Traceback (most recent call last):
    ...
    ValueError: name: given 'mnist', expected one of 'cifar10', 'cifar100'
    """
    checks.choice("name", name, NAMES)
    folder = FOLDER if folder is None else Path(folder)
    about, files = folder / f"{name}.npz", _files(folder, name)
    if not about.exists() or not files:
        raise DataError(
            f"{folder} holds no signals of {name}: they come with a clone of the repository, in "
            f"notebooks/signals, or from scripts/signals.py {name}, which trains the models"
        )
    stored = sum(size for _, size in files)
    wanted = stored if n_models is None else checks.integer("n_models", n_models, 1, high=stored)
    known, blocks, left = read_arrays(about, _ABOUT), [], wanted
    for file, size in files:
        if left > 0:
            block = (_part if file.parent.name == "parts" else _block)(file, len(known["labels"]))
            blocks.append({key: array[:left] for key, array in block.items()})
            left -= size
    joined = {key: np.concatenate([block[key] for block in blocks]) for key in _EACH}
    provenance = [
        json.loads(text) | {"file": file.relative_to(folder).as_posix()}
        for block, (file, _) in zip(blocks, files)
        for text in block["provenance"]
    ]
    _same(folder, provenance)
    return Signals(
        name,
        joined["phi"],
        joined["phi_mirror"],
        joined["member"],
        known["labels"].astype(np.int64),
        joined["train_accuracy"],
        joined["test_accuracy"],
        known["approximate"],
        known["duplicate_of"].astype(np.int64),
        known["rows"].astype(np.int64),
        np.concatenate([block["logits"] for block in itertools.takewhile(_has_logits, blocks)]),
        provenance,
    )


_ABOUT = ("labels", "approximate", "duplicate_of", "rows")
_EACH = ("phi", "phi_mirror", "member", "train_accuracy", "test_accuracy", "provenance")


def _files(folder, name):
    """The files in the order of their models, each with how many it holds: whole blocks, then the
    parts of the block that is not done.
    """
    whole = sorted(folder.glob(f"{name}-[0-9][0-9].npz"))
    found = [(file, int(file.stem[-2:])) for file in whole]
    # parts of blocks that are done say nothing new
    parts = {
        (int(block), int(model)): file
        for file in folder.glob(f"parts/{name}-[0-9][0-9]-[0-9][0-9].npz")
        for block, model in [re.findall(r"-(\d\d)", file.stem)[-2:]]
        if folder / f"{name}-{block}.npz" not in whole
    }
    found += [(parts[place], place[0] * BLOCK + place[1]) for place in sorted(parts)]
    for place, (file, number) in enumerate(found):
        expected = place if place < len(whole) else len(whole) * BLOCK + place - len(whole)
        if number != expected:
            checks.fail(
                "signals",
                f"{file.name} without the one before it",
                "blocks, and parts of the block that is not done, numbered from 00 without a gap",
            )
    return [(file, BLOCK if place < len(whole) else 1) for place, (file, _) in enumerate(found)]


def read_arrays(file, names, script="scripts/signals.py"):
    """All arrays of one file; one line where it is damaged or lacks one of these."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = dict(arrays)
    except Exception as error:  # zipfile, zlib, numpy and the system each have their own
        checks.fail(
            "signals", f"{file}, which is damaged ({type(error).__name__})", "the file of the clone"
        )
    missing = [key for key in names if key not in found]
    if missing:
        checks.fail("signals", f"{file} without {', '.join(missing)}", f"a file of {script}")
    return found


def check_shapes(file, found, shapes):
    """One line where an array of a file has not the shape that it should have."""
    for key, expected in shapes.items():
        if found[key].shape != expected:
            checks.fail("signals", f"{file}, {key} of shape {found[key].shape}", str(expected))


def _block(file, n):
    """One block, checked: 16 models, n images, each of them in exactly half of the models."""
    block = read_arrays(file, _EACH)
    member = np.unpackbits(block["member"], axis=1, count=n).astype(bool)
    if block["phi"].shape != (BLOCK, n) or member.shape != (BLOCK, n):
        checks.fail("signals", f"{file} of shape {block['phi'].shape}", f"({BLOCK}, {n})")
    if (member.sum(0) != BLOCK // 2).any():
        checks.fail("signals", f"{file} with other masks", "every image in half of the models")
    return block | {"member": member}


def _has_logits(block):
    return "logits" in block


def _part(file, n):
    """One model as a block of one, checked: its mask is the one that it was trained with."""
    part = read_arrays(file, ("phi", "phi_test", "logits", *_EACH[3:]))
    if part["phi"].shape != (2, n):
        checks.fail("signals", f"{file} of shape {part['phi'].shape}", f"(2, {n})")
    block, model = map(int, re.findall(r"-(\d\d)", file.stem)[-2:])
    manifest = json.loads(str(part["provenance"]))["manifest"]
    seed = manifest["seed"] - BLOCK * block - model
    member = half_masks(BLOCK, n, np.random.default_rng([seed, block]))[model]
    trained = np.concatenate([member, np.zeros(part["phi_test"].shape[1], bool)])
    if disk.hash_array(trained[None]) != manifest["masks"]:
        checks.fail("signals", f"{file} with other masks", "those that its seed draws")
    found = {"phi": part["phi"][0], "phi_mirror": part["phi"][1], "member": member}
    found |= {key: part[key] for key in ("logits", *_EACH[3:])}
    return {key: np.asarray(array)[None] for key, array in found.items()}


def _same(folder, provenance):
    """Raise unless all models come from one recipe and the same images."""

    def identity(manifest):
        fit = {key: value for key, value in manifest["fit"].items() if key not in FREE}
        return [manifest["x"], manifest["y"], fit]

    first = identity(provenance[0]["manifest"])
    for other in provenance[1:]:
        pairs = zip(("images", "labels", "recipe"), first, identity(other["manifest"]))
        for what, expected, found in pairs:
            if found != expected:
                checks.fail(
                    "signals",
                    f"{folder / other['file']} of other {what} than {provenance[0]['file']}",
                    "models of one run",
                )
