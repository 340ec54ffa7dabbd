"""Train the shadow models whose signals travel with the book, one by one, and write what they say.

    python scripts/signals.py cifar10 --blocks 4

Models come in blocks of 16, each with its own `half_masks`, so that every prefix of whole blocks
holds each training image in exactly half of its models. A model is a store of its own in MIA_RUNS:
a stop costs at most one. What it says is written to notebooks/signals/parts as soon as it is
trained, small enough to be committed, and another machine that finds the part does not train the
model again. When all 16 parts are there they become one file, notebooks/signals/NAME-BLOCK.npz,
which is never written again.

The recipe, the masks, the queries and the rows whose logits are kept are fixed: a change of any of
them is another set of models. A long run goes on from a checkout of the commit it began at.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pooch
import torch

from mia_lib import data, disk, shadow, signals, train
from mia_lib.data import stored_signals

ROOT = Path(__file__).resolve().parent.parent
SEED = 20_261_122
BLOCK = 16
N_TRAIN = 50_000
ROWS = {"cifar10": 4_000, "cifar100": 1_000}  # training images whose logits are kept
LOGIT_BLOCKS = {"cifar10": 4, "cifar100": 2}  # blocks whose logits travel
AIRBENCH = {
    "model": "speednet",
    "options": {"widths": [64, 128, 256]},
    "batch_size": 500,
    "optimizer": "sgd",
    "learning_rate": 1.5,
    "momentum": 0.85,
    "nesterov": True,
    "weight_decay": 0.0013,
    "schedule": "linear",
    "warmup": 0.23,
    "shift_rate": 64.0,
    "label_smoothing": 0.0,
    "augment": "weak",
    "dtype": "bfloat16",
}
# Chosen by pilots of one model each on 25,000 images, accuracy on members / test images: batches of
# 500 at rate 1.5 and decay 0.0013, 16 epochs 97.2 / 90.1 %, 24 epochs 99.7 / 90.2 % (reported from
# AMD Zen 5, 800 processor seconds); batches of 250 at rate 1 and decay 0.00065, 16 epochs 97.1 /
# 90.3 %, 24 epochs 98.4 / 91.4 %; 24 epochs of widths 32-96-128 95.9 / 89.2 %. The store's own
# first model, 24 epochs on AMD Zen 4, has 98.2 / 91.0 % after 1,650 processor seconds: above the 90
# % wanted of test images, below the 99 % wanted of members. Label smoothing would pin the logit
# that the attack reads.
# CIFAR-100, pilots of one model each on AMD Zen 4: 24 epochs of CIFAR-10's recipe 82.9 / 62.8 %,
# and with another seed 82.7 / 63.3 %; decay 0.0003 88.8 / 64.4 %; that in batches of 250 at rate 1
# 86.8 / 64.3 %; no decay 88.4 / 63.4 %, and 32 epochs of that 92.6 / 64.1 %. The longest took 1,890
# processor seconds, the others 1,320 to 1,450. None comes near the 99 % wanted of members; 24
# epochs without decay are as good as any in their time, and set members and others further apart
# than decay 0.0003 does (1.68 against 1.57 nats on average).
RECIPES = {
    "cifar10": {**AIRBENCH, "n_classes": 10, "epochs": 24},
    "cifar100": {**AIRBENCH, "n_classes": 100, "epochs": 24, "weight_decay": 0.0},
}


def processor():
    """Name of the processor and the kinds of bfloat16 units that it has."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {"name": platform.processor() or "unknown", "bfloat16": []}
    fields = dict(
        (part.strip() for part in line.split(":", 1)) for line in text.splitlines() if ":" in line
    )
    units = [unit for unit in ("amx_bf16", "avx512_bf16") if unit in fields.get("flags", "")]
    family = f"family {fields.get('cpu family')}, model {fields.get('model')}"
    return {"name": f"{fields.get('model name')} ({family})", "bfloat16": units}


def kept_rows(name):
    """The training images whose logits are kept, sorted, the same in every block."""
    rows = np.random.default_rng([SEED, 1]).choice(N_TRAIN, ROWS[name], replace=False)
    return np.sort(rows)


def masks(block, n):
    """(16, n) bool: the members of a block's models; what comes after the training images is never
    one.
    """
    inside = shadow.half_masks(BLOCK, N_TRAIN, np.random.default_rng([SEED, block]))
    return np.concatenate([inside, np.zeros((BLOCK, n - N_TRAIN), bool)], axis=1)


def first_equal(x):
    """For every row the first one that is equal to it in every number, or -1, (n,) int32."""
    _, first, group = np.unique(
        x.reshape(len(x), -1), axis=0, return_index=True, return_inverse=True
    )
    same = first[group.ravel()]
    return np.where(same < np.arange(len(x)), same, -1).astype(np.int32)


def about(name, dataset):
    """What holds for all models: labels, which images are copies, whose logits are kept."""
    approximate = np.zeros(N_TRAIN, bool)
    listed = np.asarray(dataset.extra.get("approximate", []), int)
    approximate[listed[listed < N_TRAIN]] = True
    return {
        "labels": np.asarray(dataset.y[:N_TRAIN], np.uint8),
        "approximate": approximate,
        "duplicate_of": first_equal(np.asarray(dataset.x[:N_TRAIN])),
        "rows": kept_rows(name),
    }


def part_file(folder, name, block, model):
    return folder / "parts" / f"{name}-{block:02d}-{model:02d}.npz"


def block_file(folder, name, block):
    return folder / f"{name}-{block:02d}.npz"


def write(path, **arrays):
    """One compressed file, whole or absent."""
    disk.write(path, lambda stream: np.savez_compressed(stream, **arrays))


def said(store, name, y):
    """What the one model of a store says, in the arrays that travel."""
    logits, member = store.logits()[0], store.masks[0]
    right = logits[0].argmax(-1) == y
    phi = signals.logit_confidence(np.asarray(logits, np.float64), y)
    return {
        "phi": phi[:, :N_TRAIN].astype(np.float16),
        "phi_test": phi[:, N_TRAIN:].astype(np.float16),
        "logits": logits[0, kept_rows(name)].astype(np.float16),
        "train_accuracy": right[member].mean(),
        "test_accuracy": right[N_TRAIN:].mean(),
    }


def train_model(name, block, model, x, y, runs, recipe):
    """The store of one model, trained where it is not there yet, and the seconds that it took."""
    path = runs / f"signals--{name}" / f"block-{block:02d}" / f"model-{model:02d}"
    cpu, wall = time.process_time(), time.monotonic()
    store = shadow.train(
        train.Classifier(**recipe),
        x,
        y,
        masks(block, len(x))[model : model + 1],
        path,
        queries=shadow.augmentations(mirror=True),
        seed=SEED + BLOCK * block + model,
        chunk=1,
    )
    return store, time.process_time() - cpu, time.monotonic() - wall


def merge(folder, name, block):
    """Sixteen parts become one file."""
    files = [part_file(folder, name, block, model) for model in range(BLOCK)]
    # with the masks that each was trained with, which the block cannot be asked for any more
    member = np.concatenate([stored_signals._part(file, N_TRAIN)["member"] for file in files])
    parts = [dict(np.load(file)) for file in files]
    together = {key: np.stack([part[key] for part in parts]) for key in parts[0]}
    arrays = {
        "phi": together["phi"][:, 0],
        "phi_mirror": together["phi"][:, 1],
        "phi_test": together["phi_test"],
        "member": np.packbits(member, axis=1),
        "train_accuracy": together["train_accuracy"],
        "test_accuracy": together["test_accuracy"],
        "provenance": np.array([str(text) for text in together["provenance"]]),
    }
    if block < LOGIT_BLOCKS[name]:
        arrays["logits"] = together["logits"]
    write(block_file(folder, name, block), **arrays)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=sorted(RECIPES))
    parser.add_argument("--blocks", type=int, default=4, help="blocks of 16 models (default 4)")
    parser.add_argument("--first", type=int, default=0, help="the block to begin with")
    parser.add_argument("--to", type=Path, default=ROOT / "notebooks" / "signals")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    runs = Path(os.environ.get("MIA_RUNS") or Path(pooch.os_cache("mia_lib")) / "runs")
    recipe, machine = dict(RECIPES[given.name]), processor()
    if not machine["bfloat16"]:
        recipe["dtype"] = "float32"
        print("no bfloat16 units here: float32, which takes two to three times as long", flush=True)
    dataset = data.load(given.name)
    x, y = np.asarray(dataset.x), np.asarray(dataset.y)
    if not (given.to / f"{given.name}.npz").exists():
        write(given.to / f"{given.name}.npz", **about(given.name, dataset))
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    for block in range(given.first, given.first + given.blocks):
        if block_file(given.to, given.name, block).exists():
            continue
        for model in range(BLOCK):
            file = part_file(given.to, given.name, block, model)
            if file.exists():
                continue
            store, cpu, wall = train_model(given.name, block, model, x, y, runs, recipe)
            provenance = {
                "commit": commit,
                "processor": machine,
                "torch": torch.__version__,
                "capability": torch.backends.cpu.get_cpu_capability(),
                "numpy": np.__version__,
                "threads": 1,
                "cpu_seconds": round(cpu, 1),
                "wall_seconds": round(wall, 1),
                "manifest": store.manifest,
                "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            }
            answers = said(store, given.name, y)
            write(file, **answers, provenance=np.array(json.dumps(provenance, sort_keys=True)))
            print(
                f"block {block} model {model}: members {answers['train_accuracy']:.2%}, "
                f"test {answers['test_accuracy']:.2%}, {cpu:.0f} CPU seconds",
                flush=True,
            )
        merge(given.to, given.name, block)
        print(f"block {block}: {block_file(given.to, given.name, block).name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
