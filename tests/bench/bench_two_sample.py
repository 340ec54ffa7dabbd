"""The permutation test as one triangular matrix product against re-indexing, and a whole power
curve. Prints, fails nothing.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time

import numpy as np

from mia_lib import two_sample
from mia_lib.two_sample.permutation import count_at_least, permuted_statistics


def seconds(function, *arguments):
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def by_indexing(gram, n_x, orders):
    """Cut the permuted blocks out of the gram matrix, one permutation after the other."""
    found = []
    for order in orders:
        x, y = order[:n_x], order[n_x:]
        xx, yy, xy = gram[np.ix_(x, x)], gram[np.ix_(y, y)], gram[np.ix_(x, y)]
        n = len(x)
        within = (xx.sum() - np.trace(xx) + yy.sum() - np.trace(yy)) / (n * (n - 1))
        found.append(within - 2 * (xy.sum() - np.trace(xy)) / (n * (n - 1)))
    return np.array(found)


def beside_one_product(rng, n=500, n_permutations=1000, n_classes=10):
    """Both tests of a given gram matrix, in matrix products of its size in single precision; to be
    at most three and six.
    """
    pooled, labels = rng.normal(size=(2 * n, 20)), rng.integers(n_classes, size=2 * n)
    gram = two_sample.gaussian_kernel(pooled, pooled, two_sample.median_bandwidth(pooled))
    one, other = rng.normal(size=(2, 2 * n, 2 * n)).astype(np.float32)
    spent = []
    for _ in range(7):
        product, _ = seconds(np.matmul, one, other)
        plain, _ = seconds(two_sample.permutation_test, gram, n, n_permutations, rng)
        aware, _ = seconds(
            lambda: two_sample.within_class_test(
                gram, labels, n, n_permutations=n_permutations, rng=rng
            )
        )
        spent.append((product, plain / product, aware / product))
    product, plain, aware = np.median(spent, axis=0)
    print(
        f"\nWhole tests, n = {n} + {n}, B = {n_permutations:,}, one {2 * n} x {2 * n} product "
        f"{product:.4f} s:\n  permutation test {plain:.1f} products, within {n_classes} classes "
        f"{aware:.1f} products"
    )


def main():
    rng = np.random.default_rng(0)
    print(f"{'n':>5s} {'B':>5s} {'indexing':>10s} {'product':>10s} {'ratio':>7s}  the same count")
    for n, n_permutations, repeats in (
        (125, 1000, 3),
        (250, 1000, 3),
        (500, 200, 3),
        (500, 1000, 3),
    ):
        pooled = rng.normal(size=(2 * n, 20))
        gram = two_sample.gaussian_kernel(pooled, pooled, two_sample.median_bandwidth(pooled))
        orders = rng.permuted(np.broadcast_to(np.arange(2 * n), (n_permutations, 2 * n)), axis=1)
        some = orders[
            : max(20, n_permutations // 10)
        ]  # the loop is linear in B: extrapolated from a tenth
        observed = permuted_statistics(gram, n, np.arange(2 * n)[None])[0]
        ratios, spent = [], []
        for _ in range(repeats):
            loop, expected = seconds(by_indexing, gram, n, some)
            product, _ = seconds(count_at_least, gram, n, orders, observed, 1.0)
            loop *= n_permutations / len(some)
            spent.append((loop, product))
            ratios.append(loop / product)
        same = count_at_least(gram, n, some, observed, 1.0) == (expected >= observed - 1e-12).sum()
        loop, product = np.median(spent, axis=0)
        ratio = statistics.median(ratios)
        print(
            f"{n:5d} {n_permutations:5d} {loop:9.2f}s {product:9.4f}s {ratio:7.0f}  "
            f"{'yes' if same else 'NO'}",
            flush=True,
        )

    beside_one_product(rng)

    print(
        "\nA power curve: 10 shares x 100 repetitions x 499 permutations, n = 500, kernel "
        "fitted before"
    )
    raw, rep, member = (
        rng.normal(size=(4000, 20)),
        rng.normal(size=(4000, 10)),
        np.arange(4000) < 1500,
    )
    fitted = two_sample.HrMmd(n_steps=0, rng=rng).fit(rep[:500], raw[:500], rep[-500:], raw[-500:])
    rep, raw, member = rep[500:-500], raw[500:-500], member[500:-500]

    def kernel(records):
        z, x = rep[records], raw[records]
        return two_sample.deep_kernel(z, x, z, x, **fitted.parameters)

    began, wall = time.process_time(), time.perf_counter()
    p_values = two_sample.power_curve(
        kernel, member, 500, np.linspace(0.1, 1, 10), n_repeats=100, n_permutations=499, rng=rng
    )
    took, wall = time.process_time() - began, time.perf_counter() - wall
    print(
        f"  {took:.0f} s of one core ({wall:.0f} s wall on this machine now) for "
        f"{p_values.size:,} tests, all of them run"
    )


if __name__ == "__main__":
    main()
