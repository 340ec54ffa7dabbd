"""Small archives in the official formats of the fetched data sets, with the arrays that must come
out of them.
"""

import dataclasses
import gzip
import hashlib
import http.server
import io
import pickle
import struct
import tarfile
import threading
import zipfile
from contextlib import contextmanager

import numpy as np
from PIL import Image
from scipy.io import savemat

OBJECTS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def md5(content):
    return hashlib.md5(content).hexdigest()


def git_blob(content):
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


def local(source, server, served):
    """The source at the server, with the checksum of what is served, by the kind of checksum that
    it really has.
    """
    content = served[source.file]
    sums = {"": "", "md5": md5(content), "git-blob": git_blob(content)}
    digest = (
        sums[source.algorithm] if source.algorithm in sums else hashlib.sha256(content).hexdigest()
    )
    return dataclasses.replace(source, url=f"{server.url}/{source.file}", digest=digest)


def tgz(members):
    """A .tar.gz of (name, bytes) pairs; a TarInfo in place of the bytes goes in as it is
    (links).
    """
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link(name):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


def image(pixels, kind):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return out.getvalue()


def table(x, y=None, quote=False):
    """Comma-separated rows, labels (from 1) in the first column if given."""
    rows = x if y is None else np.column_stack([y + 1, x])
    form = '"{}"' if quote else "{}"
    return "".join(",".join(form.format(v) for v in row) + "\n" for row in rows.tolist()).encode()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def mnist(rng):
    parts = {"train": 5, "t10k": 3}
    x = {part: rng.integers(256, size=(n, 28, 28), dtype=np.uint8) for part, n in parts.items()}
    y = {part: rng.integers(10, size=n) for part, n in parts.items()}
    served = {}
    for part, n in parts.items():
        pixels = struct.pack(">4i", 2051, n, 28, 28) + x[part].tobytes()
        labels = struct.pack(">2i", 2049, n) + y[part].astype(np.uint8).tobytes()
        served[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(pixels)
        served[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(labels)
    arrays = {
        "x": np.concatenate([x["train"], x["t10k"]]),
        "y": np.concatenate([y["train"], y["t10k"]]),
    }
    return served, arrays, {"train": (0, 5), "test": (5, 8)}


def cifar_files(rng, batches, label_key, classes):
    """Pickled batches as (name, bytes), with the arrays that they hold in order."""
    members, xs, ys = [], [], []
    for name, n in batches:
        x, y = rng.integers(256, size=(n, 32, 32, 3), dtype=np.uint8), rng.integers(classes, size=n)
        planes = x.transpose(0, 3, 1, 2).reshape(n, 3072)
        members.append((name, pickle.dumps({"data": planes, label_key: y.tolist()})))
        xs.append(x)
        ys.append(y)
    return members, np.concatenate(xs), np.concatenate(ys)


def cifar10(rng):
    batches = [(f"data_batch_{i}", 2) for i in range(1, 6)] + [("test_batch", 3)]
    members, x, y = cifar_files(rng, batches, "labels", 10)
    members.append(("batches.meta", pickle.dumps({"label_names": list(OBJECTS)})))
    arrays = {"x": x, "y": y, "approximate": np.empty(0, dtype=np.int64)}
    return members, arrays, {"train": (0, 10), "test": (10, 13)}


def cifar100(rng):
    members, x, y = cifar_files(rng, [("train", 6), ("test", 4)], "fine_labels", 100)
    members.append(("meta", pickle.dumps({"fine_label_names": [f"class {i}" for i in range(100)]})))
    return members, {"x": x, "y": y}, {"train": (0, 6), "test": (6, 10)}


def svhn(rng):
    served, xs, ys = {}, [], []
    for part, n in (("train", 4), ("test", 3)):
        x, y = rng.integers(256, size=(n, 32, 32, 3), dtype=np.uint8), rng.permutation(10)[:n]
        out = io.BytesIO()
        # The file counts the digit 0 as class 10 and keeps the picture's number as the last axis.
        savemat(
            out,
            {"X": x.transpose(1, 2, 3, 0), "y": np.where(y == 0, 10, y).astype(np.uint8)[:, None]},
        )
        served[f"{part}_32x32.mat"] = out.getvalue()
        xs.append(x)
        ys.append(y)
    return (
        served,
        {"x": np.concatenate(xs), "y": np.concatenate(ys)},
        {"train": (0, 4), "test": (4, 7)},
    )


def cinic10(rng):
    members, xs, ys, from_cifar = [], [], [], []
    for part in ("train", "valid", "test"):
        for label, word in enumerate(OBJECTS):
            for file in (f"cifar10-{part}-{label}.png", f"n0{label}_17.png"):
                grey = file.startswith("n0") and label == 3
                pixels = rng.integers(256, size=(32, 32) if grey else (32, 32, 3), dtype=np.uint8)
                members.append((f"./{part}/{word}/{file}", image(pixels, "PNG")))
                xs.append(np.repeat(pixels[..., None], 3, axis=2) if grey else pixels)
                ys.append(label)
                from_cifar.append(file.startswith("cifar10-"))
    members = [
        members[i] for i in rng.permutation(len(members))
    ]  # an archive may hold them in any order
    members += [("./README.md", b"about"), ("./train/cat/._hidden.png", b"no picture")]
    arrays = {"x": np.stack(xs), "y": np.array(ys), "from_cifar10": np.array(from_cifar)}
    return (
        {"CINIC-10.tar.gz": tgz(members)},
        arrays,
        {"train": (0, 20), "valid": (20, 40), "test": (40, 60)},
    )


def imdb(rng):
    members, texts, y, is_test = [], [], [], []
    for part in ("train", "test"):
        for label, word in enumerate(("neg", "pos")):
            for number in range(11):  # 10 sorts after 9 as a number and before 2 as text
                text = f"{part} {word} {number} caf\u00e9 <br />"
                members.append(
                    (f"aclImdb/{part}/{word}/{number}_{rng.integers(1, 11)}.txt", text.encode())
                )
                texts.append(text)
                y.append(label)
                is_test.append(part == "test")
    members = [members[i] for i in rng.permutation(len(members))]
    members += [("aclImdb/train/unsup/0_0.txt", b"unlabelled"), ("aclImdb/imdb.vocab", b"the")]
    arrays = {"x": texts, "y": np.array(y), "is_test": np.array(is_test)}
    return {"aclImdb_v1.tar.gz": tgz(members)}, arrays, {"train": (0, 22), "test": (22, 44)}


def wikitext103(rng):
    articles = {
        "Valkyria Chronicles": ["First , with = signs = in it .", "S\u00e9cond <unk> @-@ one ."],
        "An empty one": [],
        "E = m c": ["= 5 is no heading", "nor = this =", "= = nor this ="],
    }
    lines, texts, article = [""], [], []
    for number, (title, paragraphs) in enumerate(articles.items()):
        lines += [f" = {title} = ", ""]
        for place, text in enumerate(paragraphs):
            if place == 1:
                lines += ["", " = = Plot = = ", "", " = = = Part one = = = ", ""]
            lines.append(f" {text} ")
            texts.append(text)
            article.append(number)
        lines.append(" ")
    tokens = "\n".join(lines).encode()
    members = [
        ("wikitext-103/wiki.test.tokens", b" = Other = \n text \n"),
        ("wikitext-103/wiki.train.tokens", tokens),
    ]
    arrays = {
        "x": texts,
        "y": np.zeros(len(texts), dtype=np.int64),
        "article": np.array(article, dtype=np.int32),
    }
    return {"wikitext-103-v1.zip": zipped(members)}, arrays, {}


def imagenet32_batch(x, y):
    """One batch in the official format: (k, 3072), channel by channel, and labels from 1."""
    return npz(
        data=x.transpose(0, 3, 1, 2).reshape(len(x), 3072), labels=y + 1, mean=np.zeros(3072)
    )


def imagenet32(rng, sizes=(2, 1, 2, 2, 2, 2, 2, 2, 2, 3, 4)):
    """Ten training batches and the validation batch, of these many images."""
    n, ends = sum(sizes), np.cumsum(sizes)
    x, y = rng.integers(256, size=(n, 32, 32, 3), dtype=np.uint8), rng.integers(1000, size=n)
    batches = [
        imagenet32_batch(x[stop - k : stop], y[stop - k : stop]) for k, stop in zip(sizes, ends)
    ]
    train = [
        (f"train_data_batch_{number}.npz", content)
        for number, content in enumerate(batches[:-1], 1)
    ]
    train = [
        (f"Imagenet32_train_npz/{name}", content) for name, content in sorted(train)
    ]  # 10 before 2
    served = {
        "Imagenet32_train_npz.zip": zipped(train),
        "Imagenet32_val_npz.zip": zipped([("val_data.npz", batches[-1])]),
    }
    return served, {"x": x, "y": y}, {"train": (0, int(ends[-2])), "test": (int(ends[-2]), n)}


def skin_lesions(rng):
    kinds = ("MEL", "NV", "BCC", "AKIEC", "BKL", "DF", "VASC")
    place = {"AKIEC": 0, "BCC": 1, "BKL": 2, "DF": 3, "MEL": 4, "NV": 5, "VASC": 6}
    y = [place[kind] for kind in kinds] + [5]
    lesion = [550, 3577, 1477, 12, 13, 14, 15, 3577]
    ids = [f"ISIC_{24306 + i:07d}" for i in range(8)]
    colours = rng.integers(256, size=(8, 3), dtype=np.uint8)
    # One colour in the central square and black beside it: what is left after cropping is that
    # colour.
    pixels = np.zeros((8, 450, 600, 3), dtype=np.uint8)
    pixels[:, :, 75:525] = colours[:, None, None]
    one_hot = "".join(
        f"{i}," + ",".join("1.0" if place[kind] == label else "0.0" for kind in kinds) + "\n"
        for i, label in zip(ids, y)
    )
    labels = "image," + ",".join(kinds) + "\n" + one_hot
    groups = "image,lesion_id,diagnosis_confirm_type\n" + "".join(
        f"{i},HAM_{number:07d},histopathology\n"
        for i, number in zip(reversed(ids), reversed(lesion))
    )
    stem = "ISIC2018_Task3_Training_"
    pictures = [(f"{stem}Input/{i}.jpg", image(p, "JPEG")) for i, p in zip(ids, pixels)]
    served = {
        f"{stem}LesionGroupings.csv": groups.encode(),
        f"{stem}GroundTruth.zip": zipped([(f"{stem}GroundTruth/{stem}GroundTruth.csv", labels)]),
        f"{stem}Input.zip": zipped([(f"{stem}Input/LICENSE.txt", b"terms"), *reversed(pictures)]),
    }
    x = np.broadcast_to(colours[:, None, None], (8, 64, 64, 3))
    return served, {"x": x, "y": np.array(y), "lesion": np.array(lesion, dtype=np.int32)}, {}


def _binary(rng, n, d, classes):
    return {"x": rng.integers(2, size=(n, d), dtype=np.uint8), "y": rng.integers(classes, size=n)}


def purchase100(rng):
    arrays = _binary(rng, 6, 600, 100)
    return {"dataset_purchase.tgz": tgz([("dataset_purchase", table(**arrays))])}, arrays, {}


def texas100(rng):
    arrays = _binary(rng, 4, 6169, 100)
    members = [
        ("texas/100/feats", table(arrays["x"])),
        ("texas/100/labels", table(arrays["y"][:, None] + 1)),
    ]
    return {"dataset_texas.tgz": tgz(members)}, arrays, {}


def location30(rng):
    arrays = _binary(rng, 5010, 446, 30)
    return {"dataset_location.tgz": tgz([("bangkok", table(**arrays, quote=True))])}, arrays, {}


def song_mittal_location30(rng):
    served, location, _ = location30(rng)
    order = rng.permutation(5010)
    served["song-mittal_shuffle_index.npz"] = npz(x=order)
    out = {}
    for role, rows in (
        ("target", [*order[:1000], *order[2000:3000]]),
        ("shadow", [*order[3000:3500], *order[4000:4500]]),
    ):
        n = len(rows)
        out[f"{role}_undefended"] = rng.dirichlet(np.ones(30), n).astype(np.float32)
        out[f"{role}_memguard"] = rng.dirichlet(np.ones(30), n)
        out[f"{role}_y"] = np.array([location["y"][row] for row in rows], dtype=np.uint8)
        out[f"{role}_member"] = np.array([i < n // 2 for i in range(n)])
        out[f"{role}_row"] = np.array(rows)
        served[f"song-mittal_location_{role}_predictions.npz"] = npz(
            tc_output=out[f"{role}_undefended"], defense_output=out[f"{role}_memguard"]
        )
    return served, out, {}


MAKERS = {
    "mnist": mnist,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "svhn": svhn,
    "cinic10": cinic10,
    "imdb": imdb,
    "wikitext103": wikitext103,
    "imagenet32": imagenet32,
    "skin-lesions": skin_lesions,
    "purchase100": purchase100,
    "texas100": texas100,
    "location30": location30,
    "song-mittal-location30": song_mittal_location30,
}


class Server:
    """What is served: ``files`` by name; ``cut`` names files whose transfer stops half way;
    ``asked`` counts.
    """

    def __init__(self, files):
        self.files, self.cut, self.asked, self.url = dict(files), set(), [], None


@contextmanager
def serve(files):
    """Serve files on loopback; yields a `Server` whose ``files`` and ``cut`` may be changed while
    it runs.
    """
    state = Server(files)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rpartition("/")[2]
            state.asked.append(name)
            content = state.files.get(name)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if name in state.cut else content)

        do_HEAD = do_GET

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
