"""Stacked training of many small MLPs against plain loops over models, and how its cost grows.
Prints, fails nothing.

Two loops, both written out here with nothing but torch: one with a DataLoader, one that indexes
arrays in memory. All start from the same weights and see the same batches, and the weights that
they end with are compared. Times are CPU seconds of one thread, ratios the median over interleaved
repeats; the ratio is what to read, not the seconds.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from mia_lib import models, shadow
from mia_lib.train import Classifier, batches, products


def generators(n_models):
    return [np.random.default_rng([0, s]) for s in range(n_models)]


def prepared(recipe, x, y, masks):
    """For each model its start and its batches, which the loops get for nothing."""
    jobs = []
    for row, rng in zip(masks, generators(len(masks))):
        net = models.build(
            "mlp",
            x.shape[1:],
            int(y.max()) + 1,
            rng=rng,
            hidden=recipe.hidden,
            activation=recipe.activation,
        )
        ids = np.flatnonzero(row)
        size, steps = batches.batch_size(recipe, len(ids)), batches.step_count(recipe, len(ids))
        stream, plan, block = batches.Stream(ids, rng), [], batches.block_steps(size)
        for start in range(0, steps, block):
            count = min(block, steps - start)
            plan.extend(stream.take(count * size).reshape(count, size))
        jobs.append((net, plan))
    return jobs


def loop(recipe, jobs, batches_of):
    """One model after the other, as one would write it first."""
    states = []
    for net, plan in jobs:
        optimizer = torch.optim.SGD(
            net.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum
        )
        for inputs, labels in batches_of(plan):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(inputs), labels).backward()
            optimizer.step()
        states.append({name: tensor.numpy() for name, tensor in net.state_dict().items()})
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def seconds(function, *arguments):
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def compare(title, recipe, x, y, masks, repeats):
    x, y = x.astype(np.float32), y.astype(np.int64)
    tensors = torch.from_numpy(x), torch.from_numpy(y)
    dataset = TensorDataset(*tensors)

    def with_loader(plan):
        return DataLoader(dataset, batch_sampler=[batch.tolist() for batch in plan])

    def in_memory(plan):
        for index in map(torch.from_numpy, plan):
            yield tensors[0][index], tensors[1][index]

    ratios, spent, difference = (
        {"loader": [], "memory": []},
        {"loader": [], "memory": [], "stacked": []},
        0.0,
    )
    for _ in range(repeats):
        took, stack = seconds(recipe, x, y, masks, generators(len(masks)))
        spent["stacked"].append(took)
        for name, source in (("loader", with_loader), ("memory", in_memory)):
            took, state = seconds(loop, recipe, prepared(recipe, x, y, masks), source)
            spent[name].append(took)
            ratios[name].append(took / spent["stacked"][-1])
            difference = max(
                difference, max(float(np.abs(stack[key] - state[key]).max()) for key in stack)
            )
    print(f"{title}: {len(masks)} models, batches of {recipe.batch_size}")
    labels = {"loader": "loop with a DataLoader", "memory": "loop in memory", "stacked": "stacked"}
    for name, label in labels.items():
        gain = (
            f"stacked is {statistics.median(ratios[name]):5.1f} times faster"
            if name in ratios
            else ""
        )
        print(f"  {label:24s} {statistics.median(spent[name]):7.2f} s CPU   {gain}")
    verdict = "equal" if difference < 1e-4 else "DIFFERENT"
    print(f"  final weights {verdict}: largest difference {difference:.1e}\n", flush=True)
    return statistics.median(spent["loader"]), statistics.median(spent["stacked"])


def product_share(recipe, x, y, masks, loader, stacked):
    """How much of the stacked training is matrix products at the speed that this processor reaches
    in torch's libraries or numpy's: what no rewriting saves, and so how much faster than the loop
    anything could be.
    """
    sizes, batch = [x.shape[1], *recipe.hidden, int(y.max()) + 1], recipe.batch_size
    operations = [2 * batch * before * after for before, after in zip(sizes, sizes[1:])]
    steps = sum(batches.step_count(recipe, int(row.sum())) for row in masks)
    a, b, out = (
        torch.randn(batch, sizes[0]),
        torch.randn(sizes[0], sizes[1]),
        torch.empty(batch, sizes[1]),
    )

    def in_torch():
        torch.mm(a, b, out=out)

    def in_numpy():
        np.matmul(a.numpy(), b.numpy(), out=out.numpy())

    def repeated(product):
        for _ in range(200):
            product()

    @products.at_full_speed
    def as_trained(product, x):
        repeated(product)

    took = min(seconds(repeated, one)[0] for one in 5 * (in_torch, in_numpy))
    took = min(took, *(seconds(as_trained, in_torch, a)[0] for _ in range(5)))
    speed = 200 * operations[0] / took
    least = (
        steps * (2 * sum(operations) + sum(operations[1:])) / speed
    )  # forwards, to the weights, to the inputs but the first
    share = f"{least:.2f} s, {least / stacked:.0%} of the stacked training"
    print(f"  matrix products alone, at this core's {speed / 1e9:.0f} GFLOP/s: {share};")
    print(
        f"  at that speed nothing is over {loader / least:.1f} times faster than the loop\n",
        flush=True,
    )


def growth(recipe, x, y):
    print(
        "Growth with the number of models S, digits, 64-128-10, and with the number of examples n"
    )
    print(
        f"  {'S':>5s} {'n':>6s} {'s CPU':>8s} {'ms per model':>13s} {'us per model and step':>22s}"
    )
    for n_models, copies in (
        (2, 1),
        (8, 1),
        (32, 1),
        (128, 1),
        (512, 1),
        (32, 2),
        (32, 4),
        (32, 8),
    ):
        data, labels = np.tile(x, (copies, 1)).astype(np.float32), np.tile(y, copies)
        masks = shadow.half_masks(n_models, len(labels), np.random.default_rng(1))
        steps = sum(batches.step_count(recipe, int(row.sum())) for row in masks)
        took = statistics.median(
            seconds(recipe, data, labels, masks, generators(n_models))[0] for _ in range(3)
        )
        per_model, per_step = 1e3 * took / n_models, 1e6 * took / steps
        print(
            f"  {n_models:5d} {len(labels):6d} {took:8.2f} {per_model:13.1f} {per_step:22.1f}",
            flush=True,
        )


def main():
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    x = x / 16
    masks = shadow.half_masks(64, len(y), np.random.default_rng(0))
    for batch_size in (32, 64):
        recipe = Classifier(hidden=(128,), epochs=3, batch_size=batch_size, schedule="constant")
        compare("Digits, 64-128-10", recipe, x, y, masks, repeats=5)
    rng = np.random.default_rng(0)
    features, labels = (rng.random((4096, 600)) < 0.5).astype(np.uint8), rng.integers(0, 100, 4096)
    masks = shadow.half_masks(64, 4096, rng)
    for batch_size in (64, 256):
        recipe = Classifier(hidden=(256, 128), epochs=2, batch_size=batch_size, schedule="constant")
        given = recipe, features, labels, masks
        times = compare("Purchase-sized, 600-256-128-100", *given, repeats=3)
        product_share(*given, *times)
    growth(Classifier(hidden=(128,), epochs=3, schedule="constant"), x, y)


if __name__ == "__main__":
    main()
