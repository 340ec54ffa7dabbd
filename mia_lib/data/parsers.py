"""From the official files to arrays, one function per data set; the arguments are the paths of its
files.
"""

import csv
import http.client
import io
import re

import numpy as np

from mia_lib import progress
from mia_lib.data import files
from mia_lib.data.files import DataError

_OBJECTS = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_LESIONS = ("AKIEC", "BCC", "BKL", "DF", "MEL", "NV", "VASC")


def _torchvision(root, home, official, build, parts):
    """One torchvision data set for each of its parts, fetched and verified by torchvision.

    ``official`` holds (file, md5) pairs and ``home`` is the folder where torchvision looks for
    them.
    """
    try:
        return [build(str(root), part) for part in parts]
    # AssertionError: torchvision's own check of an idx file.
    except (RuntimeError, AssertionError, http.client.HTTPException, *files.BROKEN) as error:
        expected = ", ".join(f"{file} (md5 {md5}, from torchvision)" for file, md5 in official)
        raise DataError(
            f"torchvision could not fetch or read its files: {error}. Expected {expected}. "
            f"To put them there by hand: {home}"
        ) from error


def mnist(downloads):
    from torchvision.datasets import MNIST

    # torchvision takes an unpacked file for whole because it exists. Where the verified archive is
    # there, unpack again.
    home = downloads / "MNIST" / "raw"
    for archive in home.glob("*-ubyte.gz"):
        archive.with_suffix("").unlink(missing_ok=True)
    parts = _torchvision(
        downloads,
        home,
        MNIST.resources,
        lambda root, train: MNIST(root, train=train, download=True),
        (True, False),
    )
    x = np.concatenate([part.data.numpy() for part in parts])
    return {"x": x, "y": np.concatenate([part.targets.numpy() for part in parts])}


def cifar(downloads, kind):
    from torchvision import datasets

    build = getattr(datasets, kind)
    official = [(build.filename, build.tgz_md5)]
    parts = _torchvision(
        downloads,
        downloads,
        official,
        lambda root, train: build(root, train=train, download=True),
        (True, False),
    )
    y = np.concatenate([np.asarray(part.targets, dtype=np.int64) for part in parts])
    return {"x": np.concatenate([part.data for part in parts]), "y": y}


def cifar10(downloads):
    return cifar(downloads, "CIFAR10") | {"approximate": np.empty(0, dtype=np.int64)}


def svhn(downloads):
    from torchvision.datasets import SVHN

    splits = ("train", "test")
    official = [SVHN.split_list[split][1:] for split in splits]
    parts = _torchvision(
        downloads,
        downloads,
        official,
        lambda root, split: SVHN(root, split=split, download=True),
        splits,
    )
    x = np.concatenate([part.data.transpose(0, 2, 3, 1) for part in parts])
    return {"x": x, "y": np.concatenate([part.labels for part in parts])}


def _pixels(content, path, name):
    from PIL import Image

    try:
        return Image.open(io.BytesIO(content)).convert("RGB")
    except (SyntaxError, *files.BROKEN) as error:  # Pillow's word for a broken PNG chunk
        raise DataError(
            f"{path}: image {name!r} cannot be read ({error}), expected a whole image", path
        ) from error


def cinic10(path):
    part_of = {"train": 0, "valid": 1, "test": 2}
    is_image = re.compile(
        rf"(?:{'|'.join(part_of)})/(?:{'|'.join(_OBJECTS)})/[^/.][^/]*\.png"
    ).fullmatch
    # Sorted by part, class and file name, because an archive's own order is nobody's promise.
    images = {}
    for name, content in progress.bar(files.members(path, is_image), "images read"):
        part, label, file = name.split("/")
        images[part_of[part], _OBJECTS.index(label), file] = np.asarray(
            _pixels(content, path, name)
        )
    keys = sorted(images)
    return {
        "x": _stack([images.pop(key) for key in keys], path),
        "y": np.array([label for _, label, _ in keys], dtype=np.int64),
        "from_cifar10": np.array([file.startswith("cifar10-") for _, _, file in keys], dtype=bool),
    }


def _stack(images, path):
    if len({image.shape for image in images}) != 1:
        shapes = sorted({image.shape for image in images})
        raise DataError(
            f"{path} holds images of shapes {shapes}, expected images of one shape", path
        )
    return np.stack(images)


def imdb(path):
    is_review = re.compile(r"aclImdb/(train|test)/(neg|pos)/([0-9]+)_[0-9]+\.txt").fullmatch
    reviews = {}
    for name, content in progress.bar(files.members(path, is_review), "reviews read"):
        part, label, number = is_review(name).groups()
        reviews[part == "test", label == "pos", int(number)] = content
    keys = sorted(reviews)
    return {
        "text": np.frombuffer(b"\0".join(reviews[key] for key in keys), dtype=np.uint8),
        "y": np.array([positive for _, positive, _ in keys], dtype=np.int64),
        "is_test": np.array([is_test for is_test, _, _ in keys], dtype=bool),
    }


_HEADING = re.compile(rb"((?:= )+)(?![=\s]).*?\S((?: =)+)")


def _heading_level(line):
    """1 for ``= Title =``, 2 for ``= = Section = =`` and so on, 0 for a line that is no heading."""
    found = _HEADING.fullmatch(line)
    level = found[1].count(b"=") if found else 0
    return level if found and level == found[2].count(b"=") else 0


def wikitext103(path):
    member = "wikitext-103/wiki.train.tokens"
    paragraphs, article, n_articles = [], [], 0
    for line in files.named_members(path, [member])[0].split(b"\n"):
        line = line.strip()
        level = _heading_level(line)
        n_articles += level == 1
        if level or not line:
            continue
        if not n_articles:
            raise DataError(
                f"{path}: {member} begins with {line[:40]!r}, expected an article's ' = Title = '",
                path,
            )
        paragraphs.append(line)
        article.append(n_articles - 1)
    if not paragraphs:
        raise DataError(f"{path}: {member} has no paragraph, expected articles of some", path)
    return {
        "text": np.frombuffer(b"\0".join(paragraphs), dtype=np.uint8),
        "y": np.zeros(len(paragraphs), dtype=np.int64),
        "article": np.array(article, dtype=np.int32),
    }


def _imagenet_batch(path, name):
    """Images (k, 3072), all red values first, then green, then blue, and labels (k,) from 1."""
    found = [
        content for _, content in files.members(path, re.compile(rf"(?:.*/)?{name}\.npz").fullmatch)
    ]
    if len(found) != 1:
        raise DataError(f"{path} has {len(found)} members {name}.npz, expected one", path)
    data, labels = files.read_npz(path, ["data", "labels"], found[0]).values()
    if (
        data.dtype != np.uint8
        or data.shape[1:] != (3072,)
        or labels.shape != data.shape[:1]
        or labels.dtype.kind not in "iu"
    ):
        shapes = f"data {data.dtype} {data.shape} and labels {labels.dtype} {labels.shape}"
        raise DataError(
            f"{path}: {name}.npz holds {shapes}, expected data uint8 (k, 3072) and k whole labels",
            path,
        )
    return data, labels


def imagenet32(train_path, val_path, splits):
    # One array of the known size is filled batch by batch: the set is 4 GB, and a second copy is
    # nowhere made.
    n = splits["test"][1]
    x, y = np.empty((n, 32, 32, 3), dtype=np.uint8), np.empty(n, dtype=np.int64)
    train_names = [f"train_data_batch_{number}" for number in range(1, 11)]
    for path, names, (start, stop) in (
        (train_path, train_names, splits["train"]),
        (val_path, ["val_data"], splits["test"]),
    ):
        row = start
        for name in progress.bar(names, "batches read"):
            data, labels = _imagenet_batch(path, name)
            if row + len(data) > stop:
                raise DataError(f"{path} holds more than the expected {stop - start} images", path)
            x[row : row + len(data)] = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            y[row : row + len(data)] = labels
            row += len(data)
        if row != stop:
            raise DataError(f"{path} holds {row - start} images, expected {stop - start}", path)
    y -= 1  # the files count classes from 1
    return {"x": x, "y": y}


def _table(text, path, columns):
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or set(columns) - set(rows[0]):
        raise DataError(f"{path} lacks a column, expected {', '.join(columns)}", path)
    return rows


def skin_lesions(groups_path, labels_path, images_path):
    from PIL import Image

    is_image = re.compile(r"(?:.*/)?(ISIC_[0-9]+)\.jpg").fullmatch
    labels_name = "ISIC2018_Task3_Training_GroundTruth/ISIC2018_Task3_Training_GroundTruth.csv"
    try:
        groups = _table(
            groups_path.read_text(encoding="utf-8-sig"), groups_path, ("image", "lesion_id")
        )
        lesion = {row["image"]: int(row["lesion_id"].rpartition("_")[2]) for row in groups}
        labels = _table(
            files.named_members(labels_path, [labels_name])[0].decode("utf-8-sig"),
            labels_path,
            ("image", *_LESIONS),
        )
        label = {
            row["image"]: int(np.argmax([float(row[kind]) for kind in _LESIONS])) for row in labels
        }
    except ValueError as error:
        raise DataError(
            f"{groups_path} or {labels_path}: {error}, expected the official tables", groups_path
        ) from error
    images = {}
    for name, content in progress.bar(files.members(images_path, is_image), "images read"):
        key = is_image(name)[1]
        if key not in lesion or key not in label:
            raise DataError(
                f"{images_path}: image {key} is in no row of the tables, expected one row each",
                images_path,
            )
        full = _pixels(content, images_path, name)
        side = min(full.size)
        left, top = (full.width - side) // 2, (full.height - side) // 2
        square = full.crop((left, top, left + side, top + side))
        images[key] = np.asarray(square.resize((64, 64), Image.Resampling.LANCZOS))
    keys = sorted(images)
    return {
        "x": _stack([images.pop(key) for key in keys], images_path),
        "y": np.array([label[key] for key in keys], dtype=np.int64),
        "lesion": np.array([lesion[key] for key in keys], dtype=np.int32),
    }


def _binary_rows(text, path):
    """Rows of comma-separated zeros and ones as uint8, (n, d); every row of one length."""
    text = text.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"
    width = text.index(b"\n") + 1
    raw = np.frombuffer(text, dtype=np.uint8)
    if width % 2 or raw.size % width:
        raise DataError(
            f"{path} holds rows of different lengths, expected a table of zeros and ones", path
        )
    raw = raw.reshape(-1, width)
    x, separators = raw[:, ::2] - np.uint8(ord("0")), raw[:, 1::2]
    if (
        x.max() > 1
        or (separators[:, :-1] != ord(",")).any()
        or (separators[:, -1] != ord("\n")).any()
    ):
        raise DataError(
            f"{path} holds something else, expected rows of as many zeros and ones", path
        )
    return x


def _label_column(fields, path):
    try:
        return (
            np.array([int(field) for field in fields], dtype=np.int64) - 1
        )  # the files count classes from 1
    except ValueError as error:
        raise DataError(f"{path}: {error}, expected a whole number as label", path) from error


def _labelled_table(path, member):
    """A table whose first column is the label."""
    lines = files.named_members(path, [member])[0].replace(b'"', b"").split()
    heads, _, tails = zip(*(line.partition(b",") for line in lines)) if lines else ((), (), ())
    return {"x": _binary_rows(b"\n".join(tails), path), "y": _label_column(heads, path)}


def purchase100(path):
    return _labelled_table(path, "dataset_purchase")


def location30(path):
    return _labelled_table(path, "bangkok")


def texas100(path):
    features, labels = files.named_members(path, ["texas/100/feats", "texas/100/labels"])
    return {"x": _binary_rows(features, path), "y": _label_column(labels.split(), path)}


# Which places of the authors' permutation hold the records of each role (MemGuard/config.ini in
# their repository).
_ROLES = {"target": ((0, 1000), (2000, 3000)), "shadow": ((3000, 3500), (4000, 4500))}


def song_mittal_location30(location, index, target, shadow):
    y = location30(location)["y"]
    order = files.read_npz(index, ["x"])["x"]
    out = {}
    for role, path in (("target", target), ("shadow", shadow)):
        members, others = (order[slice(*places)] for places in _ROLES[role])
        rows = np.concatenate([members, others])
        outputs = files.read_npz(path, ["tc_output", "defense_output"])
        out[f"{role}_y"] = y[rows].astype(np.uint8)
        out[f"{role}_member"] = np.arange(len(rows)) < len(members)
        out[f"{role}_row"] = rows
        out[f"{role}_undefended"], out[f"{role}_memguard"] = (
            outputs["tc_output"],
            outputs["defense_output"],
        )
    return out
