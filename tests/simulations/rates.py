"""Do the intervals of pooled rates cover? Worlds with a known truth, and the simulation over them.

    python tests/simulations/rates.py [--repetitions 1000] [--minutes 60] [--store FOLDER]

runs what is missing, in steps, and writes notebooks/results/rates--simulation.json. Each repetition
has a seed of its own and is kept in the store (default: _build/simulations/rates), so the run may
be stopped at any time and continued, also with more repetitions. One process; about 1.5 core hours
for 1,000 repetitions.

The estimand is the largest TPR with FPR at most the rate, of infinitely many such examples and
models. It comes from closed forms and quadrature below, which share no code with the library.
"""

import argparse
import json
import os
import time
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import optimize, special, stats

from mia_lib import compare, lira, metrics, shadow

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "notebooks/results/rates--simulation.json"
N_MODELS = 64
SIZES = (1_797, 5_000)
RATES = (0.01, 0.001, 0.0001)
STEP = 10  # repetitions of a world before the next one has its turn
GAP = 2.0


# Signals: a difficulty of each example, a shift of each model, noise, and GAP for members.


def signals(rng, n, difficulty=0.0, shift=0.0, gap=GAP):
    """(S, n) signals and membership; difficulty (n,) or a number."""
    member = shadow.half_masks(N_MODELS, n, rng)
    noise = rng.normal(size=(N_MODELS, n)) + shift * rng.normal(size=(N_MODELS, 1))
    return difficulty + noise + gap * member, member


def normal_tpr(variance, gap=GAP):
    """N(0, variance) against N(gap, variance)."""
    return lambda rate: stats.norm.sf(stats.norm.isf(rate) - gap / np.sqrt(variance))


def one_threshold(rng, n):
    return signals(rng, n, 3.0 * rng.normal(size=n))


def heavy_tails(rng, n):
    return signals(rng, n, 2.0 * rng.standard_t(2, size=n))


@lru_cache
def heavy_tails_tpr(rate):
    """Difficulty twice a t with two degrees of freedom, integrated over its quantiles."""
    quantiles = 2.0 * stats.t.ppf((np.arange(400_000) + 0.5) / 400_000, 2)
    threshold = optimize.brentq(lambda t: stats.norm.sf(t - quantiles).mean() - rate, 0, 2000)
    return stats.norm.sf(threshold - GAP - quantiles).mean()


def shifted_models(rng, n):
    return signals(rng, n, rng.normal(size=n), shift=0.5)


def no_signal(rng, n):
    return signals(rng, n, 3.0 * rng.normal(size=n), gap=0.0)


# A score with eleven levels: how many of ten copies vote for membership.

VOTE = {"mean": -1.8, "spread": 1.5, "gap": 1.0}


def eleven_levels(rng, n):
    member = shadow.half_masks(N_MODELS, n, rng)
    logit = VOTE["mean"] + VOTE["spread"] * rng.normal(size=n) + VOTE["gap"] * member
    return rng.binomial(10, special.expit(logit)).astype(float), member


@lru_cache
def eleven_levels_tpr(rate):
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    logit = VOTE["mean"] + VOTE["spread"] * nodes
    above = [
        [weights @ stats.binom.sf(k - 1, 10, special.expit(logit + gap)) for k in range(12)]
        for gap in (0.0, VOTE["gap"])
    ]
    fpr, tpr = np.array(above) / weights.sum()
    return float(tpr[fpr <= rate].max())


# LiRA: a tenth of the examples has a gap of 4, the others 0.2 (in units of the example's own
# spread, which varies), and the scores are leave-one-out over the models.

SPREAD_OF_SPREADS = 0.3


def exposed_signals(rng, n):
    gap = np.where(rng.random(n) < 0.1, 4.0, 0.2)
    spread = np.exp(SPREAD_OF_SPREADS * rng.normal(size=n))
    member = shadow.half_masks(N_MODELS, n, rng)
    return spread * (rng.normal(size=(N_MODELS, n)) + gap * member), member


def lira_scores(variance):
    def draw(rng, n):
        signal, member = exposed_signals(rng, n)
        return lira.leave_one_out(signal, member, variance=variance), member

    return draw


@lru_cache
def lira_law(variance):
    """Pr(score > t), t and members or not in: what the fits may be is drawn two million times, and
    given the fits the score is a quadratic of a normal variable, whose law is exact.

    Equalised, each side has 31 models: their mean is N(., 1/31), 31 times their mean square about
    it a chi square with 30 degrees of freedom.
    """
    rng, draws, models = np.random.default_rng(0), 2_000_000, N_MODELS // 2 - 1
    gap = np.where(rng.random(draws) < 0.1, 4.0, 0.2)
    inside = gap + rng.normal(size=draws) / np.sqrt(models)
    outside = rng.normal(size=draws) / np.sqrt(models)
    if variance == "global":  # the mean square residual of all examples, in units of one's own
        own = np.exp(2 * SPREAD_OF_SPREADS * rng.normal(size=draws))
        v_in = v_out = np.exp(2 * SPREAD_OF_SPREADS**2) * (models - 1) / models / own
    else:
        v_in, v_out = rng.chisquare(models - 1, size=(2, draws)) / models
    square = (1 / v_out - 1 / v_in) / 2
    linear = inside / v_in - outside / v_out
    constant = (np.log(v_out / v_in) + outside**2 / v_out - inside**2 / v_in) / 2

    def above(t, is_member):
        moved = gap * is_member
        c = constant - t
        if variance == "global":
            root = -c / linear
            return special.ndtr(np.where(linear > 0, moved - root, root - moved)).mean()
        discriminant = linear**2 - 4 * square * c
        q = -(linear + np.copysign(np.sqrt(np.maximum(discriminant, 0)), linear)) / 2
        roots = np.sort([q / square, c / q], axis=0) - moved
        between = np.where(discriminant > 0, special.ndtr(roots[1]) - special.ndtr(roots[0]), 0.0)
        return np.where(square > 0, 1 - between, between).mean()

    return above


@lru_cache
def lira_tpr(variance, rate):
    above = lira_law(variance)
    threshold = optimize.brentq(lambda t: above(t, False) - rate, -5, 40, xtol=1e-4)
    return float(above(threshold, True))


WORLDS = {
    "one threshold": (one_threshold, normal_tpr(10.0)),
    "LiRA, a spread per example": (
        lira_scores("per-example"),
        lambda rate: lira_tpr("per-example", rate),
    ),
    "LiRA, one spread": (lira_scores("global"), lambda rate: lira_tpr("global", rate)),
    "heavy-tailed difficulty": (heavy_tails, heavy_tails_tpr),
    "a shift per model": (shifted_models, normal_tpr(2.25)),
    "eleven levels": (eleven_levels, eleven_levels_tpr),
    "no signal": (no_signal, lambda rate: rate),
}


# Ratios of two attacks on the same signals.


def known_over_one(rng, n):
    difficulty = 3.0 * rng.normal(size=n)
    signal, member = signals(rng, n, difficulty)
    return signal - difficulty, signal, member


def lira_over_lira(rng, n):
    signal, member = exposed_signals(rng, n)
    both = [lira.leave_one_out(signal, member, variance=v) for v in ("per-example", "global")]
    return *both, member


RATIOS = {
    "ratio: known difficulty over one threshold": (
        known_over_one,
        lambda rate: normal_tpr(1.0)(rate) / normal_tpr(10.0)(rate),
    ),
    "ratio: LiRA, a spread per example over one": (
        lira_over_lira,
        lambda rate: lira_tpr("per-example", rate) / lira_tpr("global", rate),
    ),
}


def repetition(world, n, number, rates=RATES):
    """One study: for each rate [resolvable, value, low, high], without limits where it is not."""
    names = [*WORLDS, *RATIOS]
    rng = np.random.default_rng([names.index(world), n, number])
    found = []
    if world in WORLDS:
        curve = metrics.roc(*WORLDS[world][0](rng, n))
        for rate in rates:
            # A rate that is not resolved promises nothing, so its interval is not computed.
            if curve.resolvable(rate):
                found.append([True, *curve.tpr_at(rate, rng=rng)])
            else:
                found.append([False, curve.tpr[curve.fpr <= rate].max(), None, None])
        return found
    scores, baseline, member = RATIOS[world][0](rng, n)
    curves = [metrics.roc(s, member) for s in (scores, baseline)]
    for rate in rates:
        if all(curve.resolvable(rate) for curve in curves):
            found.append([True, *compare.tpr_ratio(scores, baseline, member, rate, rng=rng)])
        else:
            tpr = [curve.tpr[curve.fpr <= rate].max() for curve in curves]
            found.append([False, tpr[0] / tpr[1] if tpr[1] else None, None, None])
    return found


def truth(world, rate):
    return float((WORLDS | RATIOS)[world][1](rate))


def summary(world, rate, studies):
    """Counts of one world at one rate; studies as `repetition` gives them for this rate."""
    target = truth(world, rate)
    said_yes = [(low, high) for yes, _, low, high in studies if yes]
    covered = sum(low <= target <= high for low, high in said_yes)
    values = np.array([value for _, value, _, _ in studies if value is not None])
    central = float(np.subtract(*np.quantile(values, [0.975, 0.025]))) if values.size else 0.0
    widths = [high - low for low, high in said_yes]
    return {
        "truth": target,
        "repetitions": len(studies),
        "yes": len(said_yes),
        "false": len(said_yes) - covered,
        "coverage": covered / len(said_yes) if said_yes else None,
        "width": float(np.median(widths) / central) if widths and central else None,
    }


def table(studies):
    """The record's rows from {(world, n): [repetitions]}."""
    return [
        {"world": world, "n": n, "models": N_MODELS, "rate": rate}
        | summary(world, rate, [study[k] for study in found])
        for (world, n), found in studies.items()
        for k, rate in enumerate(RATES)
        if found
    ]


def stored(folder, world, n):
    """The file of a world and the repetitions in it, in order."""
    path = folder / f"{[*WORLDS, *RATIOS].index(world):02d}-{n}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return path, [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--store", type=Path, default=ROOT / "_build/simulations/rates")
    options = parser.parse_args()
    options.store.mkdir(parents=True, exist_ok=True)
    cells = [(world, n) for n in SIZES[::-1] for world in [*WORLDS, *RATIOS]]
    start = time.monotonic()
    for goal in range(STEP, options.repetitions + STEP, STEP):
        for world, n in cells:
            path, found = stored(options.store, world, n)
            with path.open("a") as file:
                for number in range(len(found), min(goal, options.repetitions)):
                    if time.monotonic() - start > 60 * options.minutes:
                        break
                    file.write(json.dumps(repetition(world, n, number)) + "\n")
                    file.flush()
        print(f"{goal} repetitions after {(time.monotonic() - start) / 60:.1f} min", flush=True)
        if time.monotonic() - start > 60 * options.minutes:
            break
    write(options.store, cells)


def write(folder, cells):
    """The record from what the store holds."""
    rows = table({cell: stored(folder, *cell)[1] for cell in cells})
    RECORD.write_text(
        json.dumps(
            {
                "what": "coverage of Roc.tpr_at and compare.tpr_ratio where both curves are "
                "resolvable, nominal 95 %, scores of 64 models pooled",
                "width": "median width over the central 95 % of the value over repetitions",
                "rows": rows,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
