"""What trained GANs say of records, small enough to travel with the book.

Written by scripts/gans.py: one file for each network and its release.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special

from mia_lib import checks
from mia_lib.data import stored_signals
from mia_lib.data.files import DataError

FOLDER = stored_signals.FOLDER.parent / "gans"
_EACH = ("epochs", "score", "nearest", "embedded", "by_size", "sizes", "reference_score")
_EACH += ("rows", "labels", "n_members", "marked", "sureness", "shares", "real_shares")
_EACH += ("real_sureness", "samples", "provenance")


@dataclass(frozen=True)
class StoredGan:
    """Answers of one GAN, after T lengths of training, about n members and others.

    Parameters
    ----------
    name : str
        "mnist--js_gan--0": data set, network, seed.
    epochs : (T,) int64 array
        Rising, from 0, the untrained network, on.
    score : (T, pairs, n) float16 array
        What each discriminator says, before any sigmoid; larger: judged more real.
    nearest : (T, 3, n) float16 array
        Minus the distance of each record to the three nearest of a release, in pixels from 0 to 1.
    embedded : (T, n) float16 array
        Minus the distance to the nearest of the release in the features of a classifier that was
        trained on reference records.
    sizes, by_size : (R,) int64 array, (R, n) float16 array
        Of releases of the last network: size, and minus the distance to the nearest.
    reference_score : (T, pairs, r) float16 array
        The scores of r other records, which no network saw and nobody is judged on.
    member : (n,) bool array
        True for records that the GAN was trained on.
    rows, labels : (n,) int64 array
        Which records of the data set these are, and their classes.
    marked : (n,) bool array
        True where a white square was painted into the record before training and queries.
    sureness, shares : (T,) and (T, K) float64 array
        Of generated records: mean probability that a classifier of real records gives the class
        that it finds, and the shares of the classes that it finds.
    real_sureness, real_shares : float, (K,) float64 array
        The same of the members.
    samples : (m, ...) uint8 array
        Some records that the last network made; none where they may not be shown.
    provenance : dict
        ``kind``, ``recipe``, ``commit``, ``processor_seconds``, versions, and what else made the
        file; ``device`` of those that a GPU may have trained.

    Notes
    -----
    Made by `generators`. Half precision moves the AUC of the first stored JS-GAN by 1e-6, its W_N
    in a hundred cells by 2e-4. Taught in book/mace_replicated.ipynb.

    Examples
    --------
    >>> StoredGan.__dataclass_params__.frozen
    True
    """

    name: str
    epochs: np.ndarray
    score: np.ndarray
    nearest: np.ndarray
    embedded: np.ndarray
    sizes: np.ndarray
    by_size: np.ndarray
    reference_score: np.ndarray
    member: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    marked: np.ndarray
    sureness: np.ndarray
    shares: np.ndarray
    real_sureness: float
    real_shares: np.ndarray
    samples: np.ndarray
    provenance: dict

    def output(self, t):
        """What the discriminators put out at one checkpoint, in the papers' units.

        Parameters
        ----------
        t : int
            The place of the checkpoint.

        Returns
        -------
        (pairs, n) float64 array
            D(z) after the sigmoid, in [0, 1]; of a WGAN-GP, which has none, the critic's value.
        """
        score = self.score[t].astype(float)
        return score if self.provenance["kind"] == "WGAN-GP" else special.expit(score)

    def sides(self, signal):
        """A signal of members and of others.

        Parameters
        ----------
        signal : (n, ...) array

        Returns
        -------
        tuple of two arrays
        """
        return signal[self.member], signal[~self.member]


def generators(dataset, network, folder=None):
    """The stored answers of GANs, without training anything.

    Parameters
    ----------
    dataset : str
        "mnist", "skin-lesions", "cifar10", or "cifar10-50000": all of its training images as
        members.
    network : str
        "wgan_gp", "js_gan", "priv_gan" or "dp_cgan", or one of the first three with "-rare",
        "-marked" or "-unpenalised" behind it: of a rare class, of painted squares, without the
        penalty on the discriminator's slope. `generator_names` has those that are stored.
    folder : path-like, optional
        Where the files are. None: notebooks/gans of the clone that the library is installed from.

    Returns
    -------
    list of StoredGan
        One for each seed that is stored, by seed.

    Raises
    ------
    ValueError
        For a network that is not stored, a file that is damaged or whose arrays do not fit each
        other.
    DataError
        If there is no file of this data set: the line says where to get them.

    Notes
    -----
    Networks of one seed have the same members, other records and reference records. Taught in
    book/mace_replicated.ipynb.

    Examples
    --------
    >>> generators("mnist", "gan")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: network: given 'gan', expected one of 'dp_cgan', 'js_gan', ...
    """
    folder = FOLDER if folder is None else Path(folder)
    stored = generator_names(dataset, folder)
    seeds = stored[checks.choice("network", network, tuple(stored))]
    return [_read(folder / f"{dataset}--{network}--{seed}.npz") for seed in seeds]


def generator_names(dataset, folder=None):
    """Which GANs of a data set are stored.

    Parameters
    ----------
    dataset : str
    folder : path-like, optional
        As for `generators`.

    Returns
    -------
    dict of str to list of int
        The seeds of each network, by its name.

    Raises
    ------
    DataError
        If there is none: the line says where to get them.

    Notes
    -----
    Used in notebooks/gan_stored.ipynb.

    Examples
    --------
    >>> "wgan_gp" in generator_names("mnist")
    True
    """
    folder, found = FOLDER if folder is None else Path(folder), {}
    for file in sorted(folder.glob(f"{dataset}--*--*.npz")):
        _, name, seed = file.stem.split("--")
        found[name] = sorted([*found.get(name, []), int(seed)])
    if not found:
        raise DataError(
            f"{folder} holds no generators of {dataset!r}: they come with a clone of the "
            "repository, in notebooks/gans, or from scripts/gans.py, which trains them"
        )
    return found


def _read(file):
    found = stored_signals.read_arrays(file, _EACH, "scripts/gans.py")
    n, n_epochs = len(found["rows"]), len(found["epochs"])
    pairs = found["score"].shape[1] if found["score"].ndim == 3 else 0
    n_reference = found["reference_score"].shape[-1]
    shapes = {"score": (n_epochs, pairs, n), "nearest": (n_epochs, 3, n), "embedded": (n_epochs, n)}
    shapes |= {"by_size": (len(found["sizes"]), n), "labels": (n,), "marked": (n,)}
    shapes |= {"reference_score": (n_epochs, pairs, n_reference), "sureness": (n_epochs,)}
    shapes |= {"shares": (n_epochs, len(found["real_shares"]))}
    stored_signals.check_shapes(file, found, shapes)
    member = np.arange(n) < int(found.pop("n_members"))
    provenance = json.loads(str(found.pop("provenance")))
    sure = float(found.pop("real_sureness"))
    return StoredGan(
        name=file.stem, member=member, provenance=provenance, real_sureness=sure, **found
    )
