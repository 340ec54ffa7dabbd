"""The fetched data sets: where their official files are, what their arrays look like, and the
official splits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mia_lib import disk
from mia_lib.data import files, parsers
from mia_lib.data.files import DataError, Source

_PRIVACY_TRUST = "https://raw.githubusercontent.com/privacytrustlab/datasets"
_LOCATION_COMMIT = "169de9de00de049dd2e571cf7279e64698ac046a"
_MEMGUARD_COMMIT = "defb9cb9731009b9ae8cb70cf439252bd7225822"
_MEMGUARD = f"https://raw.githubusercontent.com/inspire-group/membership-inference-evaluation/{_MEMGUARD_COMMIT}/MemGuard"
_ISIC = "https://isic-challenge-data.s3.amazonaws.com/2018"
_IMAGENET = "https://image-net.org/data/downsample"
_RESIZED = "tensorflow_datasets/datasets/imagenet_resized/checksums.tsv"
_AT_COMMIT = "the file at that commit"
_BLOB = "the file's id in the repository privacytrustlab/datasets"

_LOCATION = Source(
    "dataset_location.tgz",
    f"{_PRIVACY_TRUST}/{_LOCATION_COMMIT}/dataset_location.tgz",
    "md5",
    "66851c781a61f51b35ead292b5f303e3",
    _AT_COMMIT,
)

# Files that torchvision fetches are not here: it knows their addresses and checksums.
_SOURCES = {
    "cinic10": [
        Source(
            "CINIC-10.tar.gz",
            "https://datashare.ed.ac.uk/server/api/core/bitstreams/e8e186cc-2688-48f1-aa5a-3fda1a43f8b6/content",
            "md5",
            "6ee4d0c996905fe93221de577967a372",
            "the ETag of the file at Edinburgh DataShare, as public loaders record it",
        )
    ],
    "imdb": [
        Source(
            "aclImdb_v1.tar.gz",
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "md5",
            "7c2ac02c03563afcf9b574c7e56c153a",
            "torchtext/datasets/imdb.py",
        )
    ],
    "wikitext103": [
        Source(
            "wikitext-103-v1.zip",
            "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-103-v1.zip",
            "md5",
            "9ddaacaf6af0710eda8c456decff7832",
            "torchtext/datasets/wikitext103.py",
        )
    ],
    "imagenet32": [
        Source(
            f"Imagenet32_{part}_npz.zip",
            f"{_IMAGENET}/Imagenet32_{part}_npz.zip",
            "sha256",
            digest,
            _RESIZED,
        )
        for part, digest in (
            ("train", "94226337ecc1b0309d9fcd0167127aaadc931587035fbcb53925235edbaec4fc"),
            ("val", "013990e6dec1237dcd1f9beadbab81ead6604cc119af5cacbfb59ae28148377a"),
        )
    ],
    "skin-lesions": [
        Source(f"ISIC2018_Task3_Training_{part}", f"{_ISIC}/ISIC2018_Task3_Training_{part}")
        for part in ("LesionGroupings.csv", "GroundTruth.zip", "Input.zip")
    ],
    "purchase100": [
        Source(
            "dataset_purchase.tgz",
            f"{_PRIVACY_TRUST}/master/dataset_purchase.tgz",
            "git-blob",
            "3efa7476ad5ed7ac3e558d28585a186b38fc5f19",
            _BLOB,
        )
    ],
    "texas100": [
        Source(
            "dataset_texas.tgz",
            f"{_PRIVACY_TRUST}/master/dataset_texas.tgz",
            "git-blob",
            "966f7ff40b24cf5912ff84759aab9adb8c25f30e",
            _BLOB,
        )
    ],
    "location30": [_LOCATION],
    "song-mittal-location30": [
        _LOCATION,
        *(
            Source(
                f"song-mittal_{Path(path).name}",
                f"{_MEMGUARD}/{path}",
                "sha256",
                digest,
                _AT_COMMIT,
            )
            for path, digest in (
                (
                    "data/location/shuffle_index.npz",
                    "ff3668c6392ff549e8da4cca462c72d78df4386a4462b1f306c6f7ac714f76d4",
                ),
                (
                    "saved_predictions/location_target_predictions.npz",
                    "ede16b7f3585d9b3de6b7fd5387977d9dc4337de86753c8614e97c5c3104ab02",
                ),
                (
                    "saved_predictions/location_shadow_predictions.npz",
                    "c13151ff93b70940c5b3ff49d384b6773d1e59990cea795b010abb52dd356276",
                ),
            )
        ),
    ],
}


@dataclass(frozen=True)
class Original:
    """A fetched data set: how its arrays are made, and what they must look like.

    ``parse`` takes the paths of the set's sources, in their order; where torchvision fetches, the
    downloads folder. ``arrays`` gives dtype and shape by name, None for any length. ``splits``
    gives first row and end of each.
    """

    parse: Callable
    classes: int
    arrays: dict
    splits: dict


def _images(n, *shape):
    return {"x": ("uint8", (n, *shape)), "y": ("int64", (n,))}


def _train_test(n_train, n):
    return {"train": (0, n_train), "test": (n_train, n)}


_PREDICTIONS = {
    f"{role}_{what}": (dtype, (n, *shape))
    for role, n in (("target", 2000), ("shadow", 1000))
    for what, dtype, shape in (
        ("undefended", "float32", (30,)),
        ("memguard", "float64", (30,)),
        ("y", "uint8", ()),
        ("member", "bool", ()),
        ("row", "int64", ()),
    )
}

ORIGINALS = {
    "mnist": Original(parsers.mnist, 10, _images(70_000, 28, 28), _train_test(60_000, 70_000)),
    "cifar10": Original(
        parsers.cifar10,
        10,
        _images(60_000, 32, 32, 3) | {"approximate": ("int64", (None,))},
        _train_test(50_000, 60_000),
    ),
    "cifar100": Original(
        lambda downloads: parsers.cifar(downloads, "CIFAR100"),
        100,
        _images(60_000, 32, 32, 3),
        _train_test(50_000, 60_000),
    ),
    "svhn": Original(parsers.svhn, 10, _images(99_289, 32, 32, 3), _train_test(73_257, 99_289)),
    "cinic10": Original(
        parsers.cinic10,
        10,
        _images(270_000, 32, 32, 3) | {"from_cifar10": ("bool", (270_000,))},
        {"train": (0, 90_000), "valid": (90_000, 180_000), "test": (180_000, 270_000)},
    ),
    "imdb": Original(
        parsers.imdb,
        2,
        {"text": ("uint8", (None,)), "y": ("int64", (50_000,)), "is_test": ("bool", (50_000,))},
        _train_test(25_000, 50_000),
    ),
    "wikitext103": Original(
        parsers.wikitext103,
        1,
        {"text": ("uint8", (None,)), "y": ("int64", (None,)), "article": ("int32", (None,))},
        {},
    ),
    "imagenet32": Original(
        lambda train, val: parsers.imagenet32(train, val, ORIGINALS["imagenet32"].splits),
        1000,
        _images(1_331_167, 32, 32, 3),
        _train_test(1_281_167, 1_331_167),
    ),
    "skin-lesions": Original(
        parsers.skin_lesions, 7, _images(10_015, 64, 64, 3) | {"lesion": ("int32", (10_015,))}, {}
    ),
    "purchase100": Original(parsers.purchase100, 100, _images(197_324, 600), {}),
    "texas100": Original(parsers.texas100, 100, _images(67_330, 6169), {}),
    "location30": Original(parsers.location30, 30, _images(5_010, 446), {}),
    "song-mittal-location30": Original(parsers.song_mittal_location30, 30, _PREDICTIONS, {}),
}


def check(name, arrays, where):
    """Raise DataError unless the arrays have the dtypes and shapes of the data set, and labels in
    range.
    """
    original = ORIGINALS[name]
    for key, (dtype, shape) in original.arrays.items():
        array = arrays[key]
        fits = len(shape) == array.ndim and all(
            want in (None, got) for want, got in zip(shape, array.shape)
        )
        if array.dtype != dtype or not fits:
            raise DataError(
                f"{where}: found {key} {array.dtype} {array.shape}, expected {describe(name)}"
            )
        if key == "y" or key.endswith("_y"):
            if array.min() < 0 or array.max() >= original.classes:
                found = f"{array.min()} ... {array.max()}"
                raise DataError(
                    f"{where}: found labels {found} in {key}, expected 0 ... {original.classes - 1}"
                )


def describe(name):
    """What NAME.npz holds, in words."""
    parts = []
    for key, (dtype, shape) in ORIGINALS[name].arrays.items():
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        parts.append(f"{key} {dtype} ({lengths}{',' if len(shape) == 1 else ''})")
    return "; ".join(parts)


def arrays(name):
    """The arrays of a fetched data set: from NAME.npz if it is there, else fetched, parsed, checked
    and kept there.

    Raises
    ------
    DataError
        NAME.npz is damaged; or a file of the data set cannot be fetched, is damaged or is not what
        was expected.
    """
    cached = files.folder() / f"{name}.npz"
    if cached.exists():
        return _cached(name, cached)
    downloads = files.folder() / "downloads"
    sources = _SOURCES.get(name, [])
    try:
        if sources:
            out = _parsed(name, sources, [files.fetch(source, downloads) for source in sources])
        else:
            out = ORIGINALS[name].parse(downloads)
            check(name, out, f"the files of {name} in {downloads}")
        disk.write_npz(cached, out, shared=True)
    except (DataError, OSError) as error:
        raise DataError(
            f"{name}: {error}. Or put the arrays by hand at {cached}: {describe(name)}"
        ) from error
    return out


def _cached(name, path):
    try:
        out = files.read_npz(path, list(ORIGINALS[name].arrays))
        check(name, out, path)
    except DataError as error:
        raise DataError(
            f"{name}: {error}. Replace {path} by a file that holds {describe(name)}, "
            "or remove it so that the data set is fetched again"
        ) from error
    return out


def _parsed(name, sources, paths):
    """Parse and check. A file without a checksum that proves damaged is set aside, so that it is
    fetched anew.
    """
    try:
        out = ORIGINALS[name].parse(*paths)
        check(name, out, ", ".join(map(str, paths)))
        return out
    except DataError as error:
        aside = []
        for source, path in zip(sources, paths):
            if not source.digest and error.path in (None, path):
                aside.append(path.rename(path.with_name(path.name + ".broken")))
        if aside:
            names = ", ".join(map(str, aside))
            raise DataError(
                f"{error}. Set aside as {names}; put a good one at {paths[0].parent} by hand"
            ) from error
        raise
