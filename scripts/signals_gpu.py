"""The networks of scripts/signals.py on a GPU, and what becomes of the attack where the training is
another one.

    python scripts/signals_gpu.py --series cifar10 cifar100 ... --data FOLDER --to FOLDER
    python scripts/signals_gpu.py --adopt COMMIT --to FOLDER      takes in what was trained

Several processes share a GPU: each takes networks from a common list (scripts/captured.py trains
them) and writes one file for each; what is there is not trained again. A network of the stores
"cifar10" and "cifar100" becomes a part as scripts/signals.py writes it, with the same members,
recipe and seed: other kernels round differently, so the network is another one by the same rule.
(Those of today were trained by an earlier form, in which a network's learning rate fell by the
schedule of the first network of its process. The schedules have 1,188 to 1,215 steps, so that a
rate ended at most 2.1 % of its peak above 0.)
"base" is the store's own recipe, asked more. "unaugmented" to "smoothed" are sixteen networks each
with the members of the first block and another recipe, "targets" to "shifted" networks whose
members come from one half of the images or the other, "resnet18" six whose layers are kept. Of
these the last "resnet18" has not been trained. `--adopt` takes in what was trained: parts and whole
blocks of the stores, and one file of each other series.
"""

import argparse
import datetime
import json
import os
import sys
import time
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import captured  # noqa: E402
import signals as store  # noqa: E402

from mia_lib import disk  # noqa: E402
from mia_lib.data import stored_signals  # noqa: E402
from mia_lib.data.stored_variants import asked_rows, pool_rows  # noqa: E402
from mia_lib.shadow import identity  # noqa: E402
from mia_lib.shadow.queries import augmentations  # noqa: E402
from mia_lib.shadow.store import model_seed  # noqa: E402
from mia_lib.train import Classifier, batches, looped  # noqa: E402

RESIDUAL = {"shift_rate": 1.0, "momentum": 0.9, "schedule": "linear", "warmup": 0.2}
# name: what differs from the recipe of the store. "lane" is what a recipe has no word for, "kind"
# what is kept.
SERIES = {
    "cifar10": {"kind": "part", "models": range(64), "weights": range(59, 64)},
    "cifar100": {"kind": "part", "models": range(32)},
    "base": {"passes": [3, 6, 12, 18, 24], "queries": 18},
    "resnet18": {
        "kind": "layers",
        "models": range(6),
        "model": "resnet18",
        "options": {},
        **RESIDUAL,
        "batch_size": 250,
        "learning_rate": 0.1,
        "weight_decay": 2e-4,
        "epochs": 24,
    },
    "unaugmented": {"augment": None},
    "mirrored": {"lane": {"shift": False}},
    "wrn": {
        "model": "wide_resnet",
        "options": {"depth": 10, "width": 2},
        **RESIDUAL,
        "learning_rate": 0.4,
        "weight_decay": 5e-4,
    },
    "half": {"options": {"widths": [32, 64, 128]}},
    "quarter": {"options": {"widths": [16, 32, 64]}},
    "cnn": {
        "model": "cnn",
        "options": {"widths": [32, 64, 128]},
        **RESIDUAL,
        "learning_rate": 0.05,
        "weight_decay": 5e-4,
    },
    "adam": {
        "optimizer": "adam",
        "nesterov": False,
        "learning_rate": 0.008,
        "weight_decay": 0.0,
        "shift_rate": 1.0,
    },
    "sgd": {"momentum": 0.0, "nesterov": False, "learning_rate": 3.0},
    "smoothed": {"label_smoothing": 0.2},
    "targets": {"pool": "own", "models": range(8), "kind": "pool"},
    "overlapping": {"pool": "all", "kind": "pool"},
    "disjoint": {"pool": "other", "kind": "pool"},
    "shifted": {"pool": "other", "kind": "pool", "coarse": True},
    "cutout": {"lane": {"cutout": 12}},
}
OWN = ("kind", "models", "weights", "passes", "queries", "lane", "pool", "coarse")


def recipe_of(name):
    """The recipe of a series."""
    changed = {key: value for key, value in SERIES[name].items() if key not in OWN}
    return Classifier(**{**store.RECIPES[dataset_of(name)], **changed})


def dataset_of(name):
    return "cifar100" if name == "cifar100" else "cifar10"


def half_of(name, model):
    """(N_TRAIN,) bool: the members of a network that has half of all images."""
    block, row = divmod(model, store.BLOCK) if SERIES[name].get("kind") == "part" else (0, model)
    return store.masks(block, store.N_TRAIN)[row]


def pool():
    """(N_TRAIN,) bool: the half of the images that targets of "targets" have their members from."""
    own = np.zeros(store.N_TRAIN, bool)
    own[pool_rows()] = True
    return own


def members_of(name, model):
    """The images that a network is trained on, sorted."""
    which = SERIES[name].get("pool")
    if which is None:
        return np.flatnonzero(half_of(name, model))
    mine = pool()
    own = {"own": mine, "other": ~mine, "all": np.ones(store.N_TRAIN, bool)}[which]
    rng = np.random.default_rng([store.SEED, 4, ["own", "all", "other"].index(which), model])
    return np.sort(rng.permutation(np.flatnonzero(own))[: store.N_TRAIN // 4])


def seed_of(name, model):
    """A network's own generator, that of scripts/signals.py for the stores and for "base"."""
    own = 0 if name in ("cifar10", "cifar100", "base") else zlib.crc32(name.encode())
    first = store.SEED + own + model
    return np.random.default_rng(model_seed(first, 0))


def coarse(x):
    """Images at half of their resolution: each 2 x 2 pixels have their mean."""
    n, height, width, channels = x.shape
    small = x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4)).round()
    return small.astype(np.uint8).repeat(2, 1).repeat(2, 2)


def phi_of(logits, y):
    """Logit-scaled confidence (n,) float64 of outputs (n, K), log p_y - log(1 - p_y)."""
    z = logits.double()
    own = z.gather(1, y[:, None])[:, 0]
    rest = z.scatter(1, y[:, None], -torch.inf).logsumexp(1)
    return own - rest


class Work:
    """One process's share of the networks."""

    def __init__(self, data, to, until, device, limit=None):
        self.data, self.to, self.until = data, to, until
        self.device, self.limit, self.loaded = torch.device(device), limit, {}

    def images(self, name):
        """Images and labels of a series on the device."""
        key = dataset_of(name), bool(SERIES[name].get("coarse"))
        if key not in self.loaded:
            with np.load(self.data / f"{key[0]}.npz") as arrays:
                x, y = arrays["x"], arrays["y"]
            x = coarse(x) if key[1] else x
            tensors = torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))
            self.loaded[key] = tuple(tensor.to(self.device) for tensor in tensors)
        return self.loaded[key]

    def models(self, name):
        return SERIES[name].get("models", range(store.BLOCK))

    def claim(self, name):
        """The next network of a series that nobody has, or None."""
        for model in self.models(name):
            lock = self.to / f"{name}-{model:02d}.lock"
            if time.time() > self.until or (self.limit and model >= self.limit):
                return None
            if (self.to / f"{name}-{model:02d}.npz").exists():
                continue
            try:
                with open(lock, "x") as stream:
                    stream.write(str(os.getpid()))
            except FileExistsError:
                continue
            return model
        return None

    def series(self, name):
        """Train what is left of a series."""
        recipe, special, lane = recipe_of(name), SERIES[name], None
        look = getattr(self, "see_" + special.get("kind", "variant"))
        while (model := self.claim(name)) is not None:
            began, (x, y) = time.time(), self.images(name)
            clear, _ = self.images(dataset_of(name))
            ids = members_of(name, model)
            if lane is None:
                options = special.get("lane", {})
                most = max(len(members_of(name, model)) for model in self.models(name))
                lane = captured.Lane(recipe, x, y, most, recipe.n_classes, **options)
            passes = [replace(recipe, stop=s) for s in special.get("passes", [recipe.epochs])]
            stops = [batches.steps_made(one, len(ids)) for one in passes]
            seen = partial(look, name, recipe=recipe, x=clear, y=y, ids=ids)
            found = lane.train(ids, seed_of(name, model), stops, seen)
            found = [{key: t.cpu().numpy() for key, t in one.items()} for one in found]
            arrays = {key: np.stack([f[key] for f in found if key in f]) for key in found[-1]}
            if special.get("kind"):  # one look alone
                arrays = {key: array[0] for key, array in arrays.items()}
            if model in special.get("weights", ()):
                store.write(self.to / f"weights-{name}-{model:02d}.npz", **lane.state())
            about = {"seconds": time.time() - began, "torch": torch.__version__}
            about |= {"numpy": np.__version__, "device": self.named()}
            about |= {"code": identity.code_hash()}
            now = datetime.datetime.now(datetime.UTC)
            about["date"] = now.isoformat(timespec="seconds")
            arrays["about"] = np.array(json.dumps(about))
            store.write(self.to / f"{name}-{model:02d}.npz", **arrays)
            shares = [np.ravel(arrays[f"{side}_accuracy"])[-1] for side in ("train", "test")]
            said = f"{shares[0]:.2%} {shares[1]:.2%} {time.time() - began:.1f} s"
            print(f"{time.strftime('%X')} {name} {model}: {said}", flush=True)

    def named(self):
        return torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu"

    def outputs(self, net, recipe, x):
        """Outputs (n, K) of a network in evaluation mode; nothing is timed for so few batches."""
        with (
            torch.backends.cudnn.flags(enabled=True, benchmark=False),
            looped._mixed(recipe, x.device),
        ):
            parts = [net(recipe.as_read(x[i : i + 4096])) for i in range(0, len(x), 4096)]
        return torch.cat(parts).float()

    def see_part(self, name, net, last, recipe, x, y, ids):
        """What a network of a store says: the arrays of a part."""
        plain, mirror = (self.outputs(net, recipe, images) for images in (x, x.flip(2)))
        phi = torch.stack([phi_of(logits, y) for logits in (plain, mirror)]).half()
        rows = torch.from_numpy(store.kept_rows(name)).to(x.device)
        return {
            "phi": phi[:, : store.N_TRAIN],
            "phi_test": phi[:, store.N_TRAIN :],
            "logits": plain[rows].half(),
            **self.accuracies(plain, y, ids),
        }

    def accuracies(self, logits, y, ids):
        right = (logits.argmax(1) == y).double()
        ids = torch.from_numpy(ids).to(y.device)
        return {"train_accuracy": right[ids].mean(), "test_accuracy": right[store.N_TRAIN :].mean()}

    def see_variant(self, name, net, last, recipe, x, y, ids):
        """Two queries of ten thousand images, and where it is asked for eighteen at the end."""
        plain, labels = self.outputs(net, recipe, x), y[torch.from_numpy(asked_rows()).to(x.device)]
        many = last and "queries" in SERIES[name]
        found = []
        for query in augmentations(shift=1 if many else 0):
            images = torch.from_numpy(np.ascontiguousarray(query(self.shown()))).to(x.device)
            found.append(phi_of(self.outputs(net, recipe, images), labels).half())
        phi = torch.stack(found)
        more = {"phi_of_many": phi} if many else {}
        return {"phi": phi[:2], **more, **self.accuracies(plain, y, ids)}

    def shown(self):
        if "shown" not in self.loaded:
            x, _ = self.images("cifar10")
            self.loaded["shown"] = x.cpu().numpy()[asked_rows()]
        return self.loaded["shown"]

    def see_pool(self, name, net, last, recipe, x, y, ids):
        """The images of the pool that the targets' members come from."""
        plain = self.outputs(net, recipe, x)
        rows = torch.from_numpy(np.flatnonzero(pool())).to(x.device)
        phi = phi_of(plain[rows], y[rows]).half()
        return {"phi": phi, **self.accuracies(plain, y, ids)}

    def see_layers(self, name, net, last, recipe, x, y, ids):
        """Outputs and what the last layer reads, of the images whose outputs the stores keep."""
        plain, seen = self.outputs(net, recipe, x), []
        hook = net.head.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
        rows = torch.from_numpy(store.kept_rows("cifar10")).to(x.device)
        logits = self.outputs(net, recipe, x[rows])
        hook.remove()
        phi = phi_of(plain, y).half()
        kept = {
            "logits": logits.half(),
            "layer": torch.cat(seen).half(),
            "phi": phi[: store.N_TRAIN],
        }
        return {**kept, **self.accuracies(plain, y, ids)}


def adopt(folder, to, commit):
    """Make parts, and of sixteen parts blocks, of what was trained for the stores, and one file of
    each other series.
    """
    for name in ("cifar10", "cifar100"):
        like = stored_signals.signals(name, 1).provenance[0]
        for file in sorted(folder.glob(f"{name}-[0-9]*.npz")):
            with np.load(file) as found:
                arrays = dict(found)
            block, model = divmod(int(file.stem[-2:]), store.BLOCK)
            part = store.part_file(to / "signals", name, block, model)
            if store.block_file(to / "signals", name, block).exists():
                continue
            about, n = json.loads(str(arrays.pop("about"))), store.N_TRAIN
            n += arrays["phi_test"].shape[1]
            said = provenance(like, store.BLOCK * block + model, n, about, commit)
            arrays["provenance"] = np.array(json.dumps(said))
            store.write(part, **arrays)
        for block in range(len(SERIES[name]["models"]) // store.BLOCK):
            parts = [store.part_file(to / "signals", name, block, m) for m in range(store.BLOCK)]
            if all(part.exists() for part in parts):
                store.merge(to / "signals", name, block)
                for part in parts:
                    part.unlink()
    for name in SERIES:
        files = sorted(folder.glob(f"{name}-[0-9]*.npz"))
        if SERIES[name].get("kind") != "part" and files:
            adopt_variant(name, files, to / "variants" / f"cifar10-{name}.npz", commit)


def adopt_variant(name, files, to, commit):
    """One file of the networks of a series; of those that it has already, what is not new stays."""
    kind = SERIES[name].get("kind", "variant")
    found = [read_variant(kind, name, file) for file in files]
    about = [json.loads(str(one.pop("about"))) | {"commit": commit} for one in found]
    models = [int(file.stem[-2:]) for file in files]
    if to.exists():
        with np.load(to) as before:
            old = dict(before)
        said = json.loads(str(old.pop("provenance")))
        for place, model in enumerate(old.pop("models").tolist()):
            if model not in models:
                models.append(model)
                found.append({key: array[place] for key, array in old.items()})
                about.append({"commit": said["commit"]} | said["networks"][place])
    order = np.argsort(models)
    arrays = {key: np.stack([found[i][key] for i in order]) for key in found[0]}
    said = {"recipe": identity.describe(recipe_of(name)), "commit": commit}
    said |= {"lane": SERIES[name].get("lane", {}), "networks": [about[i] for i in order]}
    said |= {"passes": SERIES[name].get("passes", [recipe_of(name).epochs])}
    said |= {"coarse": bool(SERIES[name].get("coarse"))}
    arrays["provenance"] = np.array(json.dumps(said, sort_keys=True))
    store.write(to, models=np.sort(models), **arrays)


def read_variant(kind, name, file):
    """What one network of a series says, in the arrays that travel."""
    with np.load(file) as stored:
        one = dict(stored)
    if kind == "variant":
        one["phi"] = one["phi"][:, 0]  # the image as it is
        if "phi_of_many" in one:
            one["phi_of_many"] = one["phi_of_many"][0]
        return one
    if kind == "pool":
        inside = np.isin(np.flatnonzero(pool()), members_of(name, int(file.stem[-2:])))
        one["member"] = np.packbits(inside)
    else:
        one["phi"] = one["phi"][asked_rows()]
    for key in ("phi", "train_accuracy", "test_accuracy"):
        one[key] = one[key][None]  # after one length of training
    return one


def provenance(like, number, n, about, commit):
    """Provenance of a network that was trained on a GPU on some of n images, beside that of one of
    the same store.
    """
    block, row = divmod(number, store.BLOCK)
    members = store.masks(block, n)[row]
    fit = like["manifest"]["fit"] | {"device": "cuda"}
    versions = like["manifest"]["versions"] | {key: about[key] for key in ("torch", "numpy")}
    machine = {"processor": about["device"]}
    changed = {"device": "cuda", "fit": fit, "machine": machine, "versions": versions}
    changed |= {"seed": store.SEED + number, "masks": disk.hash_array(members[None])}
    changed |= {"code": about["code"]}
    return {
        "commit": commit,
        "processor": {"name": about["device"], "bfloat16": ["tensor cores"]},
        "torch": about["torch"],
        "capability": "CUDA",
        "numpy": about["numpy"],
        "threads": 1,
        "cpu_seconds": None,
        "wall_seconds": round(about["seconds"], 1),  # three others ran beside it
        "manifest": like["manifest"] | changed,
        "date": about["date"],
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--series", nargs="+", choices=list(SERIES), default=list(SERIES))
    parser.add_argument("--data", type=Path, help="folder of cifar10.npz")
    parser.add_argument("--to", type=Path, required=True, help="folder of what is written")
    parser.add_argument("--adopt", metavar="COMMIT", help="take what was trained at that commit in")
    parser.add_argument("--until", type=float, default=np.inf, help="begin none after this time")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, help="only the first so many networks of each series")
    given = parser.parse_args(arguments)
    if given.adopt:
        notebooks = Path(__file__).resolve().parent.parent / "notebooks"
        return adopt(given.to, notebooks, given.adopt)
    given.to.mkdir(parents=True, exist_ok=True)
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(1)
    if given.device == "cuda":  # everything in one order
        torch.cuda.set_stream(torch.cuda.Stream())
    work = Work(given.data, given.to, given.until, given.device, given.limit)
    for name in given.series:
        work.series(name)


if __name__ == "__main__":
    sys.exit(main())
