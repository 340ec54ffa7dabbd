"""DP-SGD on ten thousand images of CIFAR-10, a grid of noise and clipping norms, on a GPU.

    python scripts/private_gpu.py --data FOLDER --to FOLDER

For each cell pilots choose the learning rate by what they get right of images that they did not
see, then sixteen networks are trained, each on a random half of the images. Several processes take
cells from the same list.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import signals_gpu  # noqa: E402

from mia_lib import masks as drawn  # noqa: E402
from mia_lib import signals  # noqa: E402
from mia_lib.train import PrivateImages  # noqa: E402

# noise and norm, in the order in which they are run
CELLS = [(0.0, 10.0), (0.8, 1.0), (0.0, 1.0), (0.8, 10.0), (0.2, 1.0), (0.2, 10.0)]
STEPS = (0.05, 0.15, 0.5, 1.5)  # learning rate times norm
MODELS, PILOTS = 16, 2
NETWORK = {"widths": (32, 64, 64), "epochs": 20, "batch_size": 250, "n_classes": 10}


def fit_of(noise, norm, step, n, device):
    """The private training of a cell at one length of step."""
    chosen = {"noise_multiplier": noise, "max_norm": norm, "learning_rate": step / norm}
    return PrivateImages(**NETWORK, **chosen, public_size=n // 2, device=device)


def right_of(logits, y, members):
    """Share of members and of other images that each network gets right, (k, 2)."""
    right = logits.argmax(-1) == y
    return np.array([[r[m].mean(), r[~m].mean()] for r, m in zip(right, members)])


def cell(x, y, noise, norm, device):
    """Pilots, networks and what these say of all images and of the test images."""
    (x, x_test), (y, y_test), n = x, y, len(x[0])
    seed = [signals_gpu.SEED, 5, int(10 * noise), int(norm)]
    masks, tried = drawn.half_masks(PILOTS, n, np.random.default_rng([*seed, 0])), []
    for step in STEPS:
        fit = fit_of(noise, norm, step, n, device)
        rngs = [np.random.default_rng([*seed, 1, k]) for k in range(PILOTS)]
        logits = np.nan_to_num(fit.logits(fit(x, y, masks, rngs), x), nan=-1e9)
        tried.append(right_of(logits, y, masks)[:, 1].mean())
    fit = fit_of(noise, norm, STEPS[int(np.argmax(tried))], n, device)
    # every cell has the same members, so that cells can be compared image by image
    masks = drawn.half_masks(MODELS, n, np.random.default_rng([signals_gpu.SEED, 6]))
    rngs = [np.random.default_rng([*seed, 2, k]) for k in range(MODELS)]
    state = fit(x, y, masks, rngs)
    logits, on_test = fit.logits(state, x), fit.logits(state, x_test)
    return {
        "phi": signals.logit_confidence(logits.astype(float), y).astype(np.float16),
        "member": masks,
        "accuracy": right_of(logits, y, masks),
        "test_accuracy": (on_test.argmax(-1) == y_test).mean(axis=1),
        "tried": np.array(tried),
        "learning_rate": fit.learning_rate,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of cifar10.npz")
    parser.add_argument("--to", type=Path, required=True, help="folder of what is written")
    parser.add_argument("--until", type=float, default=np.inf, help="begin none after this time")
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    with np.load(given.data / "cifar10.npz") as arrays:
        x, y, rows = arrays["x"], arrays["y"].astype(np.int64), signals_gpu.wide_rows()
    x, y = ((a[rows], a[signals_gpu.N :]) for a in (x, y))
    for noise, norm in CELLS:
        name, began = f"private-{noise:g}-{norm:g}", time.time()
        if began > given.until or (given.to / f"{name}.npz").exists():
            continue
        try:
            os.close(os.open(given.to / f"{name}.lock", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        found = cell(x, y, noise, norm, given.device)
        about = {"seconds": time.time() - began, "torch": torch.__version__, **NETWORK}
        about["device"] = torch.cuda.get_device_name() if given.device == "cuda" else "cpu"
        aside = given.to / f"{name}.{os.getpid()}.tmp"
        with open(aside, "wb") as stream:
            np.savez_compressed(stream, **found, about=np.array(json.dumps(about)))
        os.replace(aside, given.to / f"{name}.npz")
        said = f"tried {np.round(found['tried'], 3)}, test {found['test_accuracy'].mean():.2%}"
        print(f"{time.strftime('%X')} {name}: {said}, {time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
