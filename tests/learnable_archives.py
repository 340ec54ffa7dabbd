"""Data sets of few classes that differ, served at their addresses in their original formats: a
network can learn them.
"""

import dataclasses
import pickle
from contextlib import contextmanager

import numpy as np
import torchvision
from data_archives import local, md5, serve, table, tgz

from mia_lib.data import originals


def records(d, n=700, n_classes=4):
    """Binary records of few classes, each class with a rate of its own, so that there is something
    to learn.
    """
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return (rng.random((n, d)) < rng.random((n_classes, d))[y]).astype(np.uint8), y


def _purchase100():
    x, y = records(600)
    return {"dataset_purchase.tgz": tgz([("dataset_purchase", table(x, y))])}, len(y)


def _texas100():
    x, y = records(6169)
    return {
        "dataset_texas.tgz": tgz(
            [("texas/100/feats", table(x)), ("texas/100/labels", table(y[:, None] + 1))]
        )
    }, len(y)


TABLES = {"purchase100": _purchase100, "texas100": _texas100}


@contextmanager
def tables(name, monkeypatch):
    """Binary records under the name of one of `TABLES`."""
    served, n = TABLES[name]()
    with serve(served) as server:
        sources = [local(source, server, served) for source in originals._SOURCES[name]]
        monkeypatch.setitem(originals._SOURCES, name, sources)
        original = originals.ORIGINALS[name]
        layout = {key: (dtype, (n, *shape[1:])) for key, (dtype, shape) in original.arrays.items()}
        monkeypatch.setitem(originals.ORIGINALS, name, dataclasses.replace(original, arrays=layout))
        yield


@contextmanager
def cifar100(monkeypatch):
    """CIFAR-100 of 600 and 100 pictures in four classes."""
    rng = np.random.default_rng(1)
    kind, members = torchvision.datasets.CIFAR100, []
    for file, n in (("train", 600), ("test", 100)):
        y = np.arange(n) % 4
        planes = np.clip(rng.normal(60 + 40 * y[:, None], 30, (n, 3072)), 0, 255).astype(np.uint8)
        members.append((file, pickle.dumps({"data": planes, "fine_labels": y.tolist()})))
    members.append(("meta", pickle.dumps({"fine_label_names": [f"class {i}" for i in range(100)]})))
    sums = {file: md5(content) for file, content in members}
    served = {
        "cifar-100-python.tar.gz": tgz(
            [(f"{kind.base_folder}/{file}", content) for file, content in members]
        )
    }
    with serve(served) as server:
        monkeypatch.setattr(kind, "url", f"{server.url}/cifar-100-python.tar.gz")
        monkeypatch.setattr(kind, "tgz_md5", md5(served["cifar-100-python.tar.gz"]))
        for part in ("train_list", "test_list"):
            monkeypatch.setattr(kind, part, [[file, sums[file]] for file, _ in getattr(kind, part)])
        monkeypatch.setattr(kind, "meta", kind.meta | {"md5": sums["meta"]})
        layout = {"x": ("uint8", (700, 32, 32, 3)), "y": ("int64", (700,))}
        splits = {"train": (0, 600), "test": (600, 700)}
        changed = dataclasses.replace(originals.ORIGINALS["cifar100"], arrays=layout, splits=splits)
        monkeypatch.setitem(originals.ORIGINALS, "cifar100", changed)
        yield
