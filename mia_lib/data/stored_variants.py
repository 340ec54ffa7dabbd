"""What networks say that have the members of the stored ones and were trained in another way.

Written by scripts/signals_gpu.py: one file for each way of training.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mia_lib import checks
from mia_lib.data import stored_signals
from mia_lib.data.files import DataError
from mia_lib.masks import half_masks

NAMES = ("cifar10",)
SEED, N, N_ROWS = 20_261_122, 50_000, 10_000  # as in scripts/signals_gpu.py
POOLED = ("targets", "overlapping", "disjoint", "shifted")
FOLDER = stored_signals.FOLDER.parent / "variants"
_EACH = ("models", "phi", "train_accuracy", "test_accuracy")


@dataclass(frozen=True)
class Variant:
    """Answers of S networks that one recipe trained to n training images of one data set.

    Parameters
    ----------
    name : str
    models : (S,) int64 array
        The number of each network, rising: it has the members of that network of `signals`, but for
        the networks of `POOLED`.
    phi : (S, T, n) float16 array
        Logit-scaled confidence log p_y - log(1 - p_y) of network s on image i, after each of T
        lengths of training.
    phi_of_many : (S, 18, n) float16 array, or None
        The same at the end of training for the queries of ``shadow.augmentations(shift=1)``, the
        image as it is first, its mirror image second.
    member : (S, n) bool array
        True where image i trained network s.
    labels : (n,) int64 array
    rows : (n,) int64 array
        Which training images these are, rising.
    logits, layer : (S, m, K) and (S, m, d) float16 arrays, or None
        Outputs and what the last layer reads, of the images ``signals(name).rows``.
    passes : (T,) int64 array
        Epochs after which the networks were asked.
    train_accuracy, test_accuracy : (S, T) float64 array
        On the network's own members, about 25,000 (of `POOLED` 12,500), and on the official test
        images, as fractions.
    provenance : dict
        ``recipe``, ``lane`` (what a recipe has no word for), ``passes``, ``commit``, and of each
        of the ``networks`` its device, seconds and versions.

    Notes
    -----
    Made by `variants`. Used in notebooks/lira_variants.ipynb.

    Examples
    --------
    >>> Variant.__dataclass_params__.frozen
    True
    """

    name: str
    models: np.ndarray
    phi: np.ndarray
    phi_of_many: np.ndarray | None
    logits: np.ndarray | None
    layer: np.ndarray | None
    member: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    passes: np.ndarray
    train_accuracy: np.ndarray
    test_accuracy: np.ndarray
    provenance: dict


def variants(dataset, name, folder=None):
    """The stored answers of networks that were trained in another way than those of `signals`.

    Parameters
    ----------
    dataset : {"cifar10"}
    name : str
        "base" for the recipe of `signals` itself, else what differs, such as "half" for half of
        the widths or "adam" for the optimizer: the files DATASET-NAME.npz that are there. "targets"
        have their members from one half of the images, the pool; the networks of an attacker have
        theirs from all images ("overlapping"), from the other half ("disjoint"), or from that half
        at half of its resolution ("shifted").
    folder : path-like, optional
        Where they are; the labels are in the folder signals beside it. None: notebooks/variants of
        the clone that the library is installed from.

    Returns
    -------
    Variant

    Raises
    ------
    ValueError
        For an unknown data set or name, a file that is damaged or whose arrays do not fit each
        other.
    DataError
        If no file is here: the line says where to get them.

    Notes
    -----
    Networks of one number have the same members whatever their recipe, and all recipes were asked
    about the same 10,000 images; those of `POOLED` have members of their own and were asked about
    the 25,000 images of the pool. Used in notebooks/lira_variants.ipynb.

    Examples
    --------
    >>> variants("cifar100", "half")
    Traceback (most recent call last):
    ...
    ValueError: dataset: given 'cifar100', expected one of 'cifar10'
    """
    checks.choice("dataset", dataset, NAMES)
    folder = FOLDER if folder is None else Path(folder)
    files = {file.stem.partition("-")[2]: file for file in sorted(folder.glob(f"{dataset}-*.npz"))}
    if not files:
        raise DataError(
            f"{folder} holds no variants of {dataset}: they come with a clone of the repository, "
            "in notebooks/variants, or from scripts/signals_gpu.py, which trains the networks"
        )
    file = files[checks.choice("name", name, tuple(files))]
    pooled = name in POOLED
    each = (*_EACH, "provenance", *(("member",) if pooled else ()))
    found = stored_signals.read_arrays(file, each, "scripts/signals_gpu.py")
    provenance = json.loads(str(found["provenance"]))
    models, passes = found["models"].astype(np.int64), np.array(provenance["passes"], np.int64)
    rows = pool_rows() if pooled else asked_rows()
    shape = len(models), len(passes)
    shapes = {"phi": (*shape, len(rows)), "train_accuracy": shape, "test_accuracy": shape}
    if "phi_of_many" in found:
        shapes["phi_of_many"] = (len(models), 18, len(rows))
    if pooled:
        shapes["member"] = (len(models), -(-len(rows) // 8))
    stored_signals.check_shapes(file, found, shapes)
    known = np.isin(models, range(stored_signals.BLOCK)).all()
    if not known or (np.diff(models) <= 0).any():
        given = f"{file} of networks {models.tolist()}"
        checks.fail("signals", given, f"rising numbers below {stored_signals.BLOCK}")
    if pooled:
        member = np.unpackbits(found["member"], axis=1, count=len(rows)).astype(bool)
    else:
        halves = half_masks(stored_signals.BLOCK, N, np.random.default_rng([SEED, 0]))
        member = halves[models][:, rows]
    about = stored_signals.read_arrays(folder.parent / "signals" / f"{dataset}.npz", ("labels",))
    return Variant(
        name,
        models,
        found["phi"],
        found.get("phi_of_many"),
        found.get("logits"),
        found.get("layer"),
        member,
        about["labels"][rows].astype(np.int64),
        rows,
        passes,
        found["train_accuracy"],
        found["test_accuracy"],
        provenance,
    )


def pool_rows():
    """The training images that the members of "targets" are drawn from, (n,) int64, rising."""
    return np.sort(np.random.default_rng([SEED, 3]).permutation(N)[: N // 2])


def asked_rows():
    """The training images that all these networks were asked about, (n,) int64, rising."""
    return np.sort(np.random.default_rng([SEED, 2]).choice(N, N_ROWS, replace=False))
