"""Class-dependent thresholds: one sort against the loop over all values. Prints, fails nothing.

The loop is the search in the form in which it is publicly available: per class, every observed
value, members' first, is tried as the threshold, and the first with the largest balanced accuracy
is kept. Times are CPU seconds of one thread, medians over interleaved repeats; the ratio is what to
read, not the seconds.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time

import numpy as np

from mia_lib import attacks

SIZES = ((20_000, 100), (20_000, 10), (200_000, 100))


def made(n, n_classes, seed=0):
    """Scores of records of many classes, members a little higher, rounded so that some tie."""
    rng = np.random.default_rng(seed)
    labels, member = rng.integers(0, n_classes, n), rng.random(n) < 0.5
    return np.round(rng.normal(size=n) + 0.5 * member + 0.01 * labels, 4), labels, member


def loop(score, labels, member):
    thresholds = {}
    for label in range(labels.max() + 1):
        of_class = labels == label
        inside, outside = score[of_class & member], score[of_class & ~member]
        best, chosen = 0.0, 0.0
        for value in np.concatenate([inside, outside]):
            accuracy = 0.5 * (np.mean(inside >= value) + np.mean(outside < value))
            if accuracy > best:
                best, chosen = accuracy, value
        thresholds[label] = chosen
    return thresholds


def accuracies(thresholds, score, labels, member):
    table = np.array([thresholds[label] for label in range(labels.max() + 1)])
    called = score >= table[labels]
    inside, outside = (
        np.bincount(labels[group], minlength=len(table)) for group in (member, ~member)
    )
    right = np.bincount(labels[called & member], minlength=len(table)) / inside
    return (right + np.bincount(labels[~called & ~member], minlength=len(table)) / outside) / 2


def seconds(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


if __name__ == "__main__":
    print(
        f"{'records':>9}{'classes':>9}{'one sort, ms':>14}{'loop, ms':>11}{'ratio':>8}  "
        f"accuracies of the classes"
    )
    for n, n_classes in SIZES:
        data = made(n, n_classes)
        attacks.class_thresholds(*data)
        ours, theirs = [], []
        for _ in range(5 if n <= 20_000 else 1):
            inner = [seconds(attacks.class_thresholds, *data) for _ in range(7)]
            ours += [took for took, _ in inner]
            took, expected = seconds(loop, *data)
            theirs.append(took)
        found = inner[0][1]
        same = np.array_equal(accuracies(found, *data), accuracies(expected, *data))
        a, b = statistics.median(ours), statistics.median(theirs)
        verdict = "the same" if same else "THEY DIFFER"
        print(
            f"{n:9,}{n_classes:9}{a * 1e3:14.2f}{b * 1e3:11.0f}{b / a:7.0f}x  {verdict}", flush=True
        )
    print("Wanted at 20,000 records of 100 classes: at least 50x, aim 150x.")
