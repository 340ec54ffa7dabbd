"""All-target leave-one-out LiRA against one refit per target, and how its cost grows. Prints, fails
nothing.

The refit is the attack in the form in which it is publicly available: per target, Python lists of
each example's IN and OUT signals, cut to the shortest, np.median and np.std over models, scipy's
normal log-density. Times are CPU seconds of one thread, medians over interleaved repeats; the ratio
is what to read, not the seconds.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy import stats

from mia_lib import attacks, lira

N_TARGETS = 8
OPTIONS = {
    "median, per example, diagonal": {"center": "median", "covariance": "diagonal"},
    "mean, per example, diagonal": {"covariance": "diagonal"},
    "median, global, spherical": {"center": "median", "variance": "global"},
    "mean, global, spherical": {"variance": "global"},
}
POSTERIOR = 5  # times the pass with spreads of each record that "bayesian" may take


def made(n_models, n, n_queries, seed=0):
    """Signals (S, n, Q) with effects of example and membership, each example in exactly half of the
    models.
    """
    rng = np.random.default_rng(seed)
    member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
    x = rng.standard_normal((n_models, n, n_queries))
    x += rng.normal(size=(n, n_queries)) * 3
    x += member[..., None]
    return x, member


def refit(x, member, target, name):
    """One target: lists of slices over the examples, then medians (or means), spreads and
    densities.

    Every list is cut to the shortest one, dropping its lowest-numbered models: with exact halves
    that is what `leave_one_out` leaves out too. Global spreads are root mean square residuals, IN
    and OUT apart; taken about one grand mean, they would hold the differences between the examples.
    """
    others = np.delete(np.arange(len(x)), target)
    x_shadow, keep = x[others], member[others]
    inside = [x_shadow[keep[:, j], j, :] for j in range(x.shape[1])]
    outside = [x_shadow[~keep[:, j], j, :] for j in range(x.shape[1])]
    sides = []
    for group in (inside, outside):
        size = min(map(len, group))
        group = np.array([values[len(values) - size :] for values in group])
        center = np.median(group, axis=1) if "median" in name else np.mean(group, axis=1)
        if "global" in name:
            sides.append((center, np.sqrt(np.mean((group - center[:, None]) ** 2)) + 1e-30))
        else:
            sides.append((center, np.std(group, axis=1) + 1e-30))
    densities = [stats.norm.logpdf(x[target], center, spread) for center, spread in sides]
    return (densities[0] - densities[1]).sum(axis=1)


def seconds(function, *arguments, **options):
    start = time.process_time()
    result = function(*arguments, **options)
    return time.process_time() - start, result


def peak_megabytes(x, member, options):
    """What is allocated at the peak beyond the input, the result included (numpy reports its arrays
    to tracemalloc).
    """
    tracemalloc.start()
    lira.leave_one_out(x, member, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def against_refits():
    n_models, n, n_queries = 256, 10_000, 2
    x, member = made(n_models, n, n_queries)
    targets = np.linspace(0, n_models - 1, N_TARGETS).astype(int)
    print(
        f"All {n_models} models as targets, {n:,} examples, {n_queries} queries; {n_models} "
        f"refits extrapolated from {N_TARGETS}"
    )
    print(
        f"{'':32}{'one pass, s':>12}{'refits, s':>12}{'ratio':>9}"
        f"{'largest difference':>21}{'extra memory':>15}"
    )
    for name, options in OPTIONS.items():
        ours, theirs, worst = [], [], 0.0
        for target in targets:
            took, scores = seconds(lira.leave_one_out, x, member, **options)
            ours.append(took)
            took, expected = seconds(refit, x, member, target, name)
            theirs.append(took)
            worst = max(
                worst, float(np.max(np.abs(scores[target] - expected) / (1 + np.abs(expected))))
            )
        one, all_refits = statistics.median(ours), statistics.median(theirs) * n_models
        peak = peak_megabytes(x, member, options)
        print(
            f"{name:32}{one:12.3f}{all_refits:12.1f}{all_refits / one:8.0f}x"
            f"{worst:21.1e}{peak:12.0f} MB",
            flush=True,
        )
        if worst > 1e-8:
            print(f"{'':32}THE RESULTS DIFFER")
    print(
        f"Wanted: at least 200x (aim 1,000x) and under 256 MB beyond the input of "
        f"{x.nbytes / 2**20:.0f} MB; the "
        f"result itself is {8 * n_models * n / 2**20:.0f} MB of it.\n"
    )


def posterior_predictive():
    """Student's t with estimated priors against the pass with spreads of each record."""
    x, member = made(64, 20_000, 1)
    print("Posterior predictive laws, 64 models, 20,000 examples, CPU seconds of one pass")
    for attack, tail in (
        (lira.online, {}),
        (lira.offline, {"tail": "one-sided"}),
        (lira.offline, {"tail": "density"}),
    ):
        took = {"per-example": [], "bayesian": []}
        for _ in range(7):
            for variance, times in took.items():
                options = {"variance": variance} | tail
                times.append(seconds(lira.leave_one_out, x, member, attack, **options)[0])
        one, other = (statistics.median(times) for times in took.values())
        name = " ".join([attack.__name__, *tail.values()])
        print(f"{name:22}{one:10.3f}{other:10.3f}{other / one:8.1f}x   wanted: {POSTERIOR}x")
    print()


def one_fit():
    """One target: the library's fit and score, its change of layout included, against lists of
    slices.
    """
    print("One target against 256 models, CPU seconds, medians of interleaved repeats")
    print(
        f"{'examples x queries':22}{'center':10}{'ours, s':>10}{'lists, s':>10}"
        f"{'ratio':>9}{'wanted':>9}"
    )
    for n, n_queries, repeats, wanted in ((10_000, 2, 7, (3, 12)), (10_000, 18, 3, (2, 6))):
        x, member = made(257, n, n_queries)
        for center, least in zip(("median", "mean"), wanted):
            ours, lists = [], []
            for target in range(repeats):
                # Models keep their order: the target is the first, and the others follow it.
                others = np.roll(x, -target, axis=0)
                masks = np.roll(member, -target, axis=0)
                options = {"center": center, "covariance": "diagonal"}
                ours.append(seconds(lira.online, others[0], others[1:], masks[1:], **options)[0])
                lists.append(seconds(refit, others, masks, 0, "median")[0])
            mine, theirs = statistics.median(ours), statistics.median(lists)
            name = f"{n:,} x {n_queries}"
            print(
                f"{name:22}{center:10}{mine:10.3f}{theirs:10.3f}{theirs / mine:8.1f}x{least:8}x",
                flush=True,
            )
    print("The lists always take the median, as the public code does.\n")


def full_size():
    """256 x 50,000 x 18 in float32 from a file: what is allocated beyond the input, which is never
    read as a whole.
    """
    n_models, n, n_queries = 256, 50_000, 18
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "signals.npy"
        x = np.lib.format.open_memmap(file, "w+", np.float32, (n_models, n, n_queries))
        for row in x:
            row[:] = rng.standard_normal(row.shape, dtype=np.float32)
        x.flush()
        del x
        member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
        x = np.load(file, mmap_mode="r")
        tracemalloc.start()
        took, _ = seconds(lira.leave_one_out, x, member)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(
            f"{n_models} x {n:,} x {n_queries} from a memory map, every model as target: "
            f"{took:.0f} s of CPU, {peak:.0f} MB "
            f"beyond the input (wanted: under 256), {8 * n_models * n / 2**20:.0f} MB of them "
            f"the result"
        )


def other_attacks():
    """The attacks that the comparison adds, all 256 models as targets."""
    x, member = made(256, 10_000, 1)
    x = -np.logaddexp(0, -x[..., 0])
    names = ("midpoint", "difficulty_calibration", "reference_quantile", "outlier_tail", "rmia")
    for attack in (getattr(attacks, name) for name in names):
        took, _ = seconds(lira.leave_one_out, x, member, attack)
        print(f"  {attack.__name__:24} 256 x 10,000: {took:.2f} s of CPU", flush=True)


def growth():
    print("Growth of the one pass (default options): CPU seconds, and nanoseconds per signal")
    base = {"S": 128, "n": 4_000, "Q": 2}
    for axis, values in {
        "S": (32, 64, 128, 256, 512),
        "n": (1_000, 4_000, 16_000),
        "Q": (1, 2, 6, 18),
    }.items():
        cells = []
        for value in values:
            shape = base | {axis: value}
            x, member = made(*shape.values())
            took = statistics.median(seconds(lira.leave_one_out, x, member)[0] for _ in range(3))
            cells.append(f"{value:,}: {took:.3f} s, {took / x.size * 1e9:.0f} ns")
        others = ", ".join(f"{key} = {value:,}" for key, value in base.items() if key != axis)
        print(f"  {axis} ({others}):  " + "   ".join(cells), flush=True)
    print(
        "Uneven halves (each example in a random half of the models), S = 128, n = 4,000, Q = 2:",
        end=" ",
    )
    x, _ = made(*base.values())
    member = np.random.default_rng(1).random(x.shape[:2]) < 0.5
    print(f"{statistics.median(seconds(lira.leave_one_out, x, member)[0] for _ in range(3)):.3f} s")


if __name__ == "__main__":
    against_refits()
    one_fit()
    posterior_predictive()
    growth()
    other_attacks()
    full_size()
