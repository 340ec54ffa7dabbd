"""Kernel densities on a line and Clopper-Pearson intervals against the usual libraries. Prints,
fails nothing.

Times are CPU seconds of one thread, medians over interleaved repeats; the ratio is what to read,
not the seconds. Where the reference is too slow it runs on fewer queries and is extrapolated, which
the table says. Errors are checked in the same run.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import sys
import time

import numpy as np
from scipy import stats

from mia_lib import bayes, intervals


def seconds(function):
    """CPU seconds of one call, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def interleaved(ours, reference, repeats=5):
    """Median CPU seconds of both, alternating, and the last results."""
    times = ([], [])
    for _ in range(repeats):
        for kept, function in zip(times, (ours, reference)):
            spent, result = seconds(function)
            kept.append(spent)
            if function is ours:
                first = result
            else:
                second = result
    return statistics.median(times[0]), statistics.median(times[1]), first, second


def kernel_row(n, queries, asked, rng):
    """One size: all queries by the grid, `asked` of them by scipy."""
    points, at = rng.normal(size=n), rng.normal(size=queries)
    # A query is two densities: ours is asked for both and its time halved.
    query = bayes.KernelDensity(points, points)
    h = float(query.bandwidth[0])
    scipys = stats.gaussian_kde(points, bw_method=h / points.std(ddof=1))
    ours, theirs, got, want = interleaved(
        lambda: query.likelihoods(at)[0], lambda: scipys(at[:asked])
    )
    ours, theirs = ours / 2, theirs * queries / asked
    # The tails too: queries spread evenly over the whole range, judged where the promise is made.
    wide = np.linspace(points.min(), points.max(), queries)
    some = np.linspace(0, queries - 1, asked).astype(int)
    fast, exact = query.likelihoods(wide)[0][some], scipys(wide[some])
    promised = exact > 1e-6 * exact.max()
    error = max(
        np.abs(got[:asked] / want - 1).max(), np.abs(fast[promised] / exact[promised] - 1).max()
    )
    note = "" if asked == queries else f"scipy extrapolated from {asked:,} queries"
    ratio = theirs / ours
    print(
        f"{n:>9,} {queries:>9,} {ours * 1e3:>10.2f} {theirs * 1e3:>12.1f} {ratio:>9,.0f} "
        f"{error:>10.1e}  {note}"
    )


def kernels(rng):
    print(
        "\nGaussian kernel density in one dimension, against scipy.stats.gaussian_kde (aim: "
        "2,000 at 10^5 x 10^5)"
    )
    print(
        f"{'points':>9} {'queries':>9} {'ours ms':>10} {'scipy ms':>12} {'ratio':>9} "
        f"{'rel. error':>10}"
    )
    sizes = (
        (2_000, 2_000, 2_000),
        (10_000, 10_000, 1_000),
        (100_000, 1_000, 200),
        (100_000, 100_000, 200),
    )
    for n, queries, asked in sizes:
        kernel_row(n, queries, asked, rng)


def clopper_pearson(rng, n=100_000, asked=1_000):
    try:
        from statsmodels.stats.proportion import proportion_confint
    except ImportError:
        print(
            "\nClopper-Pearson: left out, statsmodels is not installed (pip install statsmodels)",
            file=sys.stderr,
        )
        return

    def row(name, ours, successes, trials):
        def loop():
            return np.array(
                [
                    proportion_confint(int(k), int(m), 0.05, "beta")
                    for k, m in zip(successes[:asked], trials[:asked])
                ]
            ).T

        spent, theirs, got, want = interleaved(ours, loop)
        theirs *= n / asked
        error = np.abs(np.array(got)[:, :asked] - want).max()
        print(
            f"{name:>22} {spent * 1e3:>10.1f} {theirs * 1e3:>12.1f} {theirs / spent:>9,.0f} "
            f"{error:>10.1e}"
        )

    print(
        f"\n{n:,} Clopper-Pearson intervals, against a loop of statsmodels.proportion_confint "
        f"(aim: 150)"
    )
    print(f"The loop is extrapolated from {asked:,} intervals.")
    print(f"{'':>22} {'ours ms':>10} {'loop ms':>12} {'ratio':>9} {'error':>10}")
    trials = rng.integers(1, 5_000, size=n)
    successes = rng.binomial(trials, rng.random(n))
    row("all different", lambda: intervals.clopper_pearson(successes, trials), successes, trials)
    trials = np.full(n, 5_000)
    successes = rng.binomial(trials, rng.random(n))
    row(
        "of 5,000 trials each",
        lambda: intervals.clopper_pearson(successes, trials),
        successes,
        trials,
    )
    # As risks are judged: every example has the limits of its bin, here for two likelihoods at
    # once.
    signal = rng.normal(size=n)
    query = bayes.Histogram(signal, signal)
    counts = query.member_count[query.cells(signal)]
    row(
        "of every example's bin",
        lambda: query.likelihood_box(signal, 0.1)[:2],
        counts,
        np.full(n, n),
    )


def high_dimensions(rng):
    print(
        "\nHistogram of 100^d bins, 10,000 + 10,000 examples: fit, advantage and risk of all "
        "examples"
    )
    print(f"{'d':>9} {'ms':>10}")
    for d in (1, 2, 10, 50):
        x, y = rng.random((10_000, d)), rng.random((10_000, d))

        def everything(x=x, y=y):
            query = bayes.Histogram(x, y)
            return query.advantage(), query.risk(x), query.risk(y)

        print(f"{d:>9} {statistics.median(seconds(everything)[0] for _ in range(3)) * 1e3:>10.1f}")


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    kernels(generator)
    clopper_pearson(generator)
    high_dimensions(generator)
