"""Stacked training of many small GANs against the library's own loop in memory, one `wgan_gp` or
`js_gan` after the other. Prints, fails nothing.

Both make the same number of steps on as many records. Times are CPU seconds of one thread, the
ratio is the median over interleaved repeats, and it is what to read. That both train the same
networks is tested in float64 (tests/generative/test_stacked.py).
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MIA_PROGRESS", "off")

import statistics
import time

import numpy as np
import torch

from mia_lib import data, generative

N_NETWORKS, REPEATS = 64, 3
HIDDEN = (32, 32)
KINDS = ((generative.WganGpRecipe, generative.wgan_gp), (generative.JsGanRecipe, generative.js_gan))


def seconds(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def compare(x, recipe, train_one):
    rng = np.random.default_rng(0)
    half = np.arange(len(x)) < len(x) // 2
    masks = rng.permuted(np.tile(half, (N_NETWORKS, 1)), axis=1)  # equally many for each
    inside = [x[row] for row in masks]

    def loop():
        for members in inside:
            train_one(members, recipe, rng=rng)

    stacked, looped = [], []
    for _ in range(REPEATS):
        stacked.append(seconds(lambda: generative.gan_stack(x, masks, recipe, rng=rng)))
        looped.append(seconds(loop))
    ratio = statistics.median(b / a for a, b in zip(stacked, looped))
    steps = recipe.epochs * (half.sum() // recipe.batch_size)
    print(
        f"{train_one.__name__:8s} {N_NETWORKS} networks, {steps} steps of {recipe.batch_size}: "
        f"stacked {statistics.median(stacked):6.2f} s CPU, loop {statistics.median(looped):6.2f} s,"
        f" {ratio:4.1f} times",
        flush=True,
    )


def main():
    torch.set_num_threads(1)
    digits = data.load("digits").x.reshape(-1, 8, 8)
    networks = generative.dense((8, 8), 32, HIDDEN, HIDDEN)
    print("Digits, hidden layers of 32 and 32")
    for recipe, train_one in KINDS:
        compare(digits, recipe(networks=networks, epochs=1, batch_size=64), train_one)
    # what notebooks/gan_one_record trains on MNIST
    networks = generative.dense((28, 28), 16, (64, 64), (64, 64))
    try:
        x = np.float32(data.load("mnist").x[:2_000]) / 255
    except data.DataError:
        print("MNIST is not here (MIA_DATA): not measured")
        return
    print("MNIST, hidden layers of 64 and 64")
    for recipe, train_one in KINDS:
        compare(x, recipe(networks=networks, epochs=1, batch_size=128), train_one)


if __name__ == "__main__":
    main()
