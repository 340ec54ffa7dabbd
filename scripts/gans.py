"""Train the GANs whose answers travel with the book, and write one file for each.

    scripts/gans.py mnist js_gan 0            # seed 0 of the JS-GANs on MNIST
    scripts/gans.py mnist wgan_gp-rare 0      # with a rare class
    scripts/gans.py cifar10-50000 wgan_gp 0 --device cuda     # all training images as members

A file is written once, when its network is done, and never again; training itself can be stopped
and goes on where it was (`MIA_RUNS`). The data are read from `MIA_DATA`.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from mia_lib import checks, data, disk, experiment, generative, shadow, signals, train
from mia_lib.data import stored_generators
from mia_lib.generative import training

ROOT = Path(__file__).resolve().parent.parent
PRECISION = {"precision": "bfloat16"}
JS_GAN = generative.JsGanRecipe(networks="mnist", epochs=300, penalty=1.0, **PRECISION)
PRIV_GAN = generative.PrivGanRecipe(
    networks="mnist", epochs=200, penalty=1.0, privacy_epochs=5, privacy_delay=15, **PRECISION
)
LESIONS = replace(JS_GAN, networks="skin-lesions", epochs=400)
# What each network is trained with. "unpenalised" is as in the papers, which have no penalty.
RECIPES = {
    "mnist": {
        "wgan_gp": generative.WganGpRecipe(
            networks="mnist", epochs=150, batch_size=256, learning_rate=3e-4, **PRECISION
        ),
        "js_gan": JS_GAN,
        "priv_gan": PRIV_GAN,
        "js_gan-unpenalised": replace(JS_GAN, epochs=50, penalty=0.0),
        "priv_gan-unpenalised": replace(PRIV_GAN, epochs=100, penalty=0.0),
        "wgan_gp-rare": generative.WganGpRecipe(
            networks="mnist", epochs=300, learning_rate=2e-4, **PRECISION
        ),
        "dp_cgan": generative.DpCganRecipe(
            networks=generative.dense((28, 28), 100, (128,), (128,)),
            epochs=1_120,
            batch_size=600,
            learning_rate=2e-4,
        ),
    },
    "skin-lesions": {
        **dict.fromkeys(("js_gan", "js_gan-marked"), LESIONS),
        "js_gan-unpenalised": replace(LESIONS, penalty=0.0),
    },
    "cifar10": {
        "wgan_gp": generative.WganGpRecipe(
            networks="cifar10", epochs=150, batch_size=128, learning_rate=2e-4, **PRECISION
        ),
        "js_gan": replace(LESIONS, networks="cifar10", epochs=200),
    },
    # all of the training images as members: as many epochs as a quarter of an hour of a GPU allows
    "cifar10-50000": {
        "wgan_gp": generative.WganGpRecipe(
            networks="cifar10", epochs=10, batch_size=256, learning_rate=3e-4, **PRECISION
        ),
        "js_gan": replace(LESIONS, networks="cifar10", epochs=25, batch_size=128),
    },
}
CHECKPOINTS = {
    "mnist": {
        "wgan_gp": [0, 10, 25, 50, 100, 150],
        "js_gan": [0, 25, 50, 100, 150, 200, 300],
        "priv_gan": [0, 25, 50, 100, 150, 200],
        "js_gan-unpenalised": [0, 25, 50],
        "priv_gan-unpenalised": [0, 50, 100],
        "wgan_gp-rare": [0, 50, 100, 200, 300],
        # the last epochs within budgets of epsilon 0.3, 1, 2, 5 and 10
        "dp_cgan": [0, 1, 18, 66, 344, 1_120],
    },
    "skin-lesions": {
        "js_gan": [0, 50, 100, 150, 200, 300, 400],
        "js_gan-marked": [0, 100, 200, 400],
        "js_gan-unpenalised": [0, 100, 200, 400],
    },
    "cifar10": {"wgan_gp": [0, 10, 25, 50, 100, 150], "js_gan": [0, 25, 50, 100, 150, 200]},
    "cifar10-50000": {"wgan_gp": [0, 3, 10], "js_gan": [0, 5, 15, 25]},
}
# members, other records, and reference records that only classifiers and controls see
ROLES = {
    "mnist": {"members": 7_000, "reference": 1_000, "others": 14_000},
    "skin-lesions": {"members": 1_000, "reference": 1_000, "others": 3_000},
    "cifar10": {"members": 6_000, "reference": 1_000, "others": 12_000},
    "cifar10-50000": {"members": 50_000, "reference": 1_000, "others": 9_000},
}
TRAINING_IMAGES = 50_000  # of CIFAR-10, which come first
RARE = (0, 6), (6_900, 700)  # digits of MNIST and how many of each, a tenth of them members
MARKED = 0.1  # share of the members that a white square is painted into
RELEASES = [100, 300, 1_000, 3_000, 10_000]
TRAINERS = {
    "wgan_gp": generative.wgan_gp,
    "js_gan": generative.js_gan,
    "priv_gan": generative.priv_gan,
    "dp_cgan": generative.dp_cgan,
}


def dealt(name, part, full, seed):
    """Rows by their roles; of a data set with groups no group has two roles."""
    rng, roles = np.random.default_rng([seed, 1]), ROLES[name]
    if part == "rare":
        return rare_rows(full, seed)
    if name == "cifar10-50000":
        rest = TRAINING_IMAGES + rng.permutation(len(full) - TRAINING_IMAGES)
        at = roles["reference"]
        rows = {"reference": rest[:at], "others": rest[at : at + roles["others"]]}
        return {"members": np.arange(TRAINING_IMAGES)} | {r: np.sort(rows[r]) for r in rows}
    if "lesion" in full.extra:
        return grouped_rows(full.extra["lesion"], roles, rng)
    rows = experiment.deal(len(full), roles, rng)
    return {role: np.sort(rows[role]) for role in roles}


def grouped_rows(groups, roles, rng):
    """As many rows of whole groups for each role as it asks for."""
    names, of_row = np.unique(groups, return_inverse=True)
    order, found, start = rng.permutation(len(names))[of_row].argsort(kind="stable"), {}, 0
    ranked = of_row[order]
    for role, size in roles.items():
        found[role] = np.sort(order[start : start + size])
        start += size
        while start < len(order) and ranked[start] == ranked[start - 1]:
            start += 1  # the rest of a group that another role has begun
    return found


def rare_rows(full, seed):
    """A common and a rare class, a tenth of each members; other digits for reference."""
    rng, inside, outside = np.random.default_rng([seed, 11]), [], []
    for label, size in zip(*RARE):
        rows = rng.permutation(np.flatnonzero(full.y == label))[:size]
        inside.append(rows[: size // 10])
        outside.append(rows[size // 10 :])
    left = np.setdiff1d(np.arange(len(full)), np.concatenate([*inside, *outside]))
    reference = np.sort(rng.permutation(left)[: ROLES["mnist"]["reference"]])
    return {
        "members": np.concatenate(inside),
        "reference": reference,
        "others": np.concatenate(outside),
    }


def painted(x, rows):
    """Records with a white square of a quarter of the side in the middle of some."""
    side, found = x.shape[1], x.copy()
    part = slice(side // 2 - side // 8, side // 2 + side // 8)
    some = found[rows]
    some[:, part, part] = 1
    found[rows] = some
    return found


def pixels(full, rows):
    """Records in [0, 1]."""
    return np.float32(full.x[rows]) / np.float32(255)


def judge_of(full, reference, rng):
    """A classifier of real records that no GAN has met."""
    recipe = train.Classifier(hidden=(128,), epochs=30, n_classes=int(full.y.max()) + 1)
    everyone = np.ones((1, len(reference)), bool)
    state = recipe(pixels(full, reference), full.y[reference], everyone, [rng])
    return lambda x: recipe.logits(state, x)[0]


def looked(logits):
    """Mean probability of the class that is found, and the shares of the classes."""
    shares = np.bincount(logits.argmax(1), minlength=logits.shape[1]) / len(logits)
    return float(signals.confidence(logits, logits.argmax(1)).mean()), shares


def nearest(release, x, k, device):
    """Minus the distances of records to the k nearest of a release, (n, k)."""
    if device == "cpu":
        return generative.nearest_distances(release, x, k=k)
    return nearest_on(device, release, x, k)


def nearest_on(device, release, x, k, block=256):
    """The same on a GPU: candidates by expanded squares, their distances by differences."""
    flat = [torch.from_numpy(a.reshape(len(a), -1)).float().to(device) for a in (release, x)]
    release, x = flat
    square, found = (release**2).sum(1), []
    for some in x.split(block):
        rough = square - 2 * some @ release.T  # but for a number of each record
        near = rough.topk(min(k + 8, len(release)), largest=False).indices
        exact = ((some[:, None] - release[near]) ** 2).double().sum(2).sqrt()
        found.append(exact.topk(k, largest=False).values)
    return 0.0 - torch.cat(found).cpu().numpy()


def asked(gan, records, reference, embedding, judge, seed):
    """What one checkpoint says of records and reference records, both with their classes."""
    near = partial(nearest, device=gan.device.type)
    score, reference_score = (
        gan.scores(one, labels if gan.n_classes else None).T.astype(np.float16)
        for one, labels in (records, reference)
    )
    x = records[0]
    release = generative.release(gan, RELEASES[-1], np.random.default_rng([seed, 3, gan.epoch])).x
    sure, shares = looked(judge(release[:2_000]))
    return {
        "score": score,
        "reference_score": reference_score,
        "nearest": near(release, x, 3).T.astype(np.float16),
        "embedded": near(embedding(release), embedding(x), 1)[:, 0].astype(np.float16),
        "sureness": sure,
        "shares": shares,
    }, release


def made(name, network, seed, device="cpu", commit=None):
    """Train one network and write what it says; the file, which may be there already."""
    file = stored_generators.FOLDER / f"{name}--{network}--{seed}.npz"
    if file.exists():
        return file
    kind, _, part = network.partition("-")
    recipe, at = RECIPES[name][network], CHECKPOINTS[name][network]
    recipe, full = replace(recipe, device=device), data.load(name.removesuffix("-50000"))
    rows = dealt(name, part, full, seed)
    inside, outside = rows["members"], rows["others"]
    order = np.concatenate([inside, outside])
    marked = np.zeros(len(order), bool)
    if part == "marked":
        rng = np.random.default_rng([seed, 12])
        marked[: len(inside)] = rng.permutation(len(inside)) < round(MARKED * len(inside))
        # the paper paints into members alone; half of the others say what the square alone does
        marked[len(inside) :] = np.arange(len(outside)) % 2 == 1
    x = painted(pixels(full, order), marked)
    members, reference = x[: len(inside)], pixels(full, rows["reference"])
    settings = recipe.stored(), generative.REVISION, torch.__version__
    settings += () if device == "cpu" else (device,)
    folder = shadow.folder(f"gans--{name}--{network}", *settings, members, order, seed)
    rng = np.random.default_rng([seed, 2])
    given = (members, full.y[inside]) if kind == "dp_cgan" else (members,)
    gans = TRAINERS[kind](*given, recipe, checkpoints=at, folder=folder, rng=rng)
    with np.load(folder / training.LATEST) as state:  # of all parts of a training that was stopped
        spent = float(state["processor_seconds"])
    rng = np.random.default_rng([seed, 6])
    known = full.y[rows["reference"]]
    embedding = generative.classifier_embedding(reference, known, rng=rng)
    judge = judge_of(full, rows["reference"], np.random.default_rng([seed, 14]))
    found = []
    for epoch in at:
        both = (x, full.y[order]), (reference, known)
        one, release = asked(gans[epoch], *both, embedding, judge, seed)
        found.append(one)
    arrays = {key: np.stack([one[key] for one in found]) for key in found[0]}
    by_size = [nearest(release[:size], x, 1, device)[:, 0] for size in RELEASES]
    sure, shares = looked(judge(members))
    pictures = np.uint8(np.round(255 * release[:40]))
    disk.write_npz(folder / "samples.npz", {"x": pictures})  # for whoever wants to look
    pictures = pictures if name == "mnist" else np.zeros(0, np.uint8)
    arrays |= {
        "epochs": np.array(at),
        "sizes": np.array(RELEASES),
        "by_size": np.array(by_size, np.float16),
        "rows": order,
        "labels": full.y[order].astype(np.int64),
        "n_members": np.array(len(inside)),
        "marked": marked,
        "real_sureness": np.array(sure),
        "real_shares": shares,
        "samples": pictures,
        "provenance": np.array(json.dumps(about(gans[at[-1]], recipe, seed, spent, commit))),
    }
    file.parent.mkdir(exist_ok=True)
    disk.write(file, lambda stream: np.savez_compressed(stream, **arrays))
    return file


def checked_out():
    """The commit of this checkout."""
    asked = ["git", "rev-parse", "HEAD"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def about(gan, recipe, seed, spent, commit):
    """Where a file comes from."""
    commit = (commit or checked_out()).strip()
    losses = {name: float(values[-1]) for name, values in gan.losses.items() if len(values)}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    versions = {"torch": torch.__version__, "numpy": np.__version__}
    return {
        "kind": gan.kind,
        "recipe": recipe.stored() | {"epochs": recipe.epochs},
        "seed": seed,
        "device": torch.cuda.get_device_name() if gan.device.type == "cuda" else "cpu",
        "processor_seconds": round(spent),
        "last_losses": losses,
        "commit": commit,
        "date": now,
        **versions,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dataset", choices=sorted(RECIPES))
    parser.add_argument("network", help="one of RECIPES, such as js_gan or wgan_gp-rare")
    parser.add_argument("seed", type=int)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--commit", help="of a copy of the code that is no checkout")
    given = parser.parse_args(arguments)
    checks.choice("network", given.network, tuple(RECIPES[given.dataset]))
    file = made(given.dataset, given.network, given.seed, given.device, given.commit)
    print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    sys.exit(main())
