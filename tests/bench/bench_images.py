"""Training image networks in bfloat16 against float32 and against a plain torch loop, and how far a
step is from its convolutions. Prints, fails nothing.

The network and the batches are those of the stored signals of CIFAR-10 (scripts/signals.py), the
images are noise, which takes the same time. Times are CPU seconds of one thread, ratios the median
over interleaved repeats. That bfloat16 costs no accuracy is shown over five seeds on the digits.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MIA_PROGRESS", "off")

import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from mia_lib import data, intervals
from mia_lib.train import Classifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import signals as store  # noqa: E402  (the folder of scripts is not a package)

N, REPEATS, SEEDS = 4_000, 3, 5


def seconds(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def plain_loop(recipe, x, y):
    """As one would write it first: autocast, and images in torch's own layout."""
    net = recipe.network(x.shape[1:], 10, np.random.default_rng(0)).train()
    options = {"momentum": recipe.momentum, "nesterov": True, "weight_decay": recipe.weight_decay}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, **options)
    images = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous().float() / 255
    labels = torch.from_numpy(y)
    for rows in torch.randperm(len(y)).split(recipe.batch_size):
        with torch.autocast("cpu", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(net(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def convolutions(recipe, x, dtype):
    """Seconds that the convolutions of a step take alone, and what they would take if all ran at
    the rate of the fastest.
    """
    net, shapes = recipe.network(x.shape[1:], 10, np.random.default_rng(0)), []
    found = [m for m in net.modules() if isinstance(m, torch.nn.Conv2d)]
    hooks = [
        module.register_forward_hook(lambda m, given, out: shapes.append((m, given[0], out)))
        for module in found
    ]
    with torch.no_grad():
        net(recipe.as_read(torch.from_numpy(x[: recipe.batch_size])))
    for hook in hooks:  # or every timed call would add another one
        hook.remove()
    work, took = [], []
    for module, given, out in shapes:
        work.append(6 * out.numel() * module.weight[0].numel())  # forward and two gradients
        layout = {"memory_format": torch.channels_last, "dtype": dtype}
        module, given = module.to(**layout), given.detach().to(**layout).requires_grad_(True)
        one = lambda module=module, given=given: module(given).sum().backward()  # noqa: E731
        took.append(min(seconds(one) for _ in range(4)))
    return sum(took), sum(work) * min(t / w for t, w in zip(took, work))


def speed(x, y):
    recipe = Classifier(**store.RECIPES["cifar10"] | {"epochs": 1})
    wide, everyone = replace(recipe, dtype="float32"), np.ones((1, len(y)), bool)

    def train(kind):
        return kind(x, y, everyone, [np.random.default_rng(0)])

    def epoch(kind):
        # What is done once a network, such as whitening the patches, belongs to no step.
        once = seconds(lambda: train(kind))
        return seconds(lambda: train(replace(kind, epochs=2))) - once

    spent = {"bfloat16": [], "float32": [], "plain loop, bfloat16": []}
    for _ in range(REPEATS):
        spent["bfloat16"].append(epoch(recipe))
        spent["float32"].append(epoch(wide))
        spent["plain loop, bfloat16"].append(seconds(lambda: plain_loop(recipe, x, y)))
    print(f"  CPU seconds of one epoch of {len(y)} images")
    for name, times in spent.items():
        ratio = statistics.median(b / a for a, b in zip(spent["bfloat16"], times))
        print(f"  {name:22s} {statistics.median(times):7.2f} s CPU, {ratio:4.2f} times bfloat16")
    step = statistics.median(spent["bfloat16"]) / (len(y) // recipe.batch_size)
    (narrow, least), (broad, _) = (
        convolutions(recipe, x, dtype) for dtype in (torch.bfloat16, torch.float32)
    )
    print(f"  a step takes {step / least:4.2f} times its convolutions at the rate of the fastest,")
    print(f"  {step / narrow:4.2f} times them as they run; a step of nothing else would be")
    print(f"  {broad / narrow:4.2f} times as fast in bfloat16 as in float32", flush=True)


def accuracy():
    digits = data.load("digits")
    x, y = np.uint8(np.round(255 * digits.x.reshape(-1, 8, 8, 1))), digits.y
    inside = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    shape = {"model": "cnn", "options": {"widths": [16, 32]}, "epochs": 10, "learning_rate": 0.05}
    right = {}
    for dtype in ("float32", "bfloat16"):
        recipe = Classifier(**shape, n_classes=10, optimizer="sgd", momentum=0.9, dtype=dtype)
        each = []
        for seed in range(SEEDS):
            state = recipe(x, y, inside[None], [np.random.default_rng(seed)])
            found = recipe.logits(state, x)[0].argmax(1)
            each.append((found == y)[~inside].mean())
        right[dtype] = np.array(each)
    gap = intervals.t_interval(right["bfloat16"] - right["float32"])
    print(f"  test accuracy in float32 {right['float32'].mean():.3f}, bfloat16 minus it {gap:.3f}")


def main():
    torch.set_num_threads(1)
    units = store.processor()["bfloat16"]
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (N, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, N)
    print(f"CIFAR-10's network, bfloat16 units: {', '.join(units) or 'none'}")
    if units:
        speed(x, y)
    else:
        print("  without them bfloat16 is emulated: not measured")
    print(f"Digits, a small convolutional network, {SEEDS} seeds")
    accuracy()


if __name__ == "__main__":
    main()
