"""Limits of pooled rates: 256 models on 10,000 examples. Prints, fails nothing.

CPU seconds of one thread, the median of three; the target for the limits at one rate is 10 s.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time

import numpy as np

from mia_lib import compare, metrics, shadow

N_MODELS, N = 256, 10_000
REPEATS = 3


def made(seed=0):
    """Scores with effects of example, model and membership."""
    rng = np.random.default_rng(seed)
    member = shadow.half_masks(N_MODELS, N, rng)
    scores = rng.normal(size=(N_MODELS, N)) + 2.0 * member + rng.normal(size=N)
    return scores + 0.2 * rng.normal(size=(N_MODELS, 1)), member


def seconds(function):
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def main():
    scores, member = made()
    curve = metrics.roc(scores, member)
    rng = np.random.default_rng(1)
    rows = [("the curve itself", lambda: metrics.roc(scores, member))]
    for rate in (0.0001, 0.001, 0.01, 0.1):
        rows.append((f"tpr_at, FPR {rate:.2%}", lambda rate=rate: curve.tpr_at(rate, rng=rng)))
    rows.append(("resolvable, FPR 0.1%", lambda: curve.resolvable(0.001)))
    rows.append(("smallest_resolvable", curve.smallest_resolvable))
    rows.append(
        (
            "tpr_ratio, FPR 0.1%, curves included",
            lambda: compare.tpr_ratio(scores, scores - member, member, 0.001, rng=rng),
        )
    )
    print(f"{N_MODELS} models x {N:,} examples, CPU seconds")
    for name, function in rows:
        print(f"  {name:38s} {seconds(function):7.2f}", flush=True)


if __name__ == "__main__":
    main()
