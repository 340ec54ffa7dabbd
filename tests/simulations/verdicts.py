"""How often is a verdict of the audit wrong? Worlds with a known truth, and the simulation over
them.

    python tests/simulations/verdicts.py [--draws 50] [--minutes 60] [--store FOLDER]

runs what is missing, in steps, and writes notebooks/results/verdicts--simulation.json. Each draw
has a seed of its own and is kept in the store (default: _build/simulations/verdicts), so the run
may be stopped at any time and continued, also with more draws. One process.

A sentence is false where the world makes it so: "check the input" where masks and the declared
assignment are right; "leak" where outputs and labels do not depend on membership given the
features; "groups differ" where both groups have one law; "no leak shown" where some attack of the
report has a larger TPR - FPR than the limit that it names.
"""

import argparse
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mia_lib import metrics, shadow
from mia_lib.audit import Observations, conduct, methods, verdict

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "notebooks/results/verdicts--simulation.json"
STEP = 10  # draws of a world before the next one has its turn
TRUTH = 100_000  # records from which the truth of a world is computed; fewer with shadow models
SLOW = "Learned network"  # trained anew in every draw, so it takes part in few worlds


@dataclass(frozen=True)
class World:
    """Records with normal inputs, three classes, and a model that reads the first column.

    The logit of the right class is `sure` + x_0 + a difficulty of the record + noise of the model,
    and `gain` more for members that are exposed. Members' inputs lie `drift` standard deviations
    higher in `drifting` columns.
    """

    n: int = 1000
    width: int = 5
    assignment: str = "random"
    leak: float = 0.0  # share of the members that the model lifts
    gain: float = 8.0  # by so much
    drifting: int = 0
    drift: float = 0.0
    copies: int = 1  # rows of each record, all on one side
    coined: bool = False  # copies with a coin each instead
    share: float = 0.5  # of the rows that are members, where no coins are declared
    sure: float = 1.0  # what a logit of the right class is ahead by
    harder: float | None = None  # by so much for copies; then half of the rows have none
    moods: float = 0.0  # how far models differ in how sure they are
    n_shadow: int = 0
    masks: str = "right"  # "inverted", "useless", "halves" (exact halves with the target's)
    features: bool = True
    classes: int = 3
    digits: int | None = None  # of the outputs, where they are rounded
    ordered: bool = False  # members first
    trained: str = ""  # a model that is trained in every draw
    learned: bool = False  # with the attack that trains a network

    def may_be_false(self):
        """Which of the first three verdicts the world can make false."""
        declared = self.assignment == "given" or not self.drifting
        complete = self.assignment != "given" or self.features
        return {
            verdict.CHECK: declared and complete and self.masks in ("right", "halves"),
            verdict.LEAK: self.leak == 0,
            verdict.DIFFER: self.drifting == 0,
        }


def draw(world, rng, n=None):
    """Observations of a world."""
    n = n or world.n
    single = 0 if world.harder is None else n // 2
    unit = np.append(np.arange(single), single + np.arange(n - single) // world.copies)
    units = unit[-1] + 1
    member = np.zeros(n, dtype=bool)
    if world.assignment == "coins" and not world.copies > 1:
        member = rng.random(n) < 0.5
    elif world.coined:
        member = rng.random(n) < world.share
    else:
        inside = np.zeros(units, dtype=bool)
        inside[rng.permutation(units)[: int(units * world.share)]] = True
        member = inside[unit]
    masks = _masks(world, member, rng)
    if masks is not None and world.masks == "halves":
        member, masks = masks[0], masks[1:]
    x = rng.normal(size=(units, world.width))[unit]
    x[:, : world.drifting] += world.drift * member[:, None]
    labels = rng.integers(0, world.classes, units)[unit]
    if world.trained:
        logits, shadow_logits = _trained(world, x, member, masks, rng)
        labels = _labels(x, world.trained)
    else:
        difficulty = rng.normal(size=(units, 3))[unit]
        exposed = rng.random(n) < world.leak
        logits = _outputs(world, x, labels, difficulty, unit, member & exposed, rng)
        shadow_logits = None
        if masks is not None:
            shadow_logits = np.stack(
                [_outputs(world, x, labels, difficulty, unit, m & exposed, rng) for m in masks]
            )
    told = masks
    if world.masks == "inverted":
        told = ~masks
    elif world.masks == "useless":
        told = masks[:, rng.permutation(n)]
    order = np.argsort(~member, kind="stable") if world.ordered else np.arange(n)
    return Observations(
        logits[order],
        labels[order],
        member[order],
        None if told is None else shadow_logits[:, order],
        None if told is None else told[:, order],
        features=x[order] if world.features else None,
        assignment=world.assignment,
    )


def _masks(world, member, rng):
    if not world.n_shadow:
        return None
    if world.masks == "halves":
        return shadow.half_masks(world.n_shadow + 1, len(member), rng)
    masks = shadow.bernoulli_masks(world.n_shadow, len(member), rng)
    while True:  # LiRA needs two models on each side of every record
        held = masks.sum(axis=0)
        short = np.flatnonzero((held < 2) | (held > world.n_shadow - 2))
        if not short.size:
            return masks
        masks[:, short] = rng.random((world.n_shadow, short.size)) < 0.5


def _outputs(world, x, labels, difficulty, unit, lifted, rng):
    logits = difficulty + 0.3 * rng.normal(size=(unit[-1] + 1, 3))[unit]
    mood = world.moods * rng.normal() if world.moods else 0.0
    copied = (np.bincount(unit) > 1)[unit]
    ahead = world.sure + mood + x[:, 0] - (world.harder or 0.0) * copied
    logits[np.arange(len(x)), labels] += ahead + world.gain * lifted
    return logits if world.digits is None else np.round(logits, world.digits)


def _labels(x, trained):
    """Given by the inputs, so that they do not depend on membership; for a model that overfits, by
    many columns in a way that no line follows.
    """
    bits = np.sin(37.0 * x).sum(axis=1) if trained != "stranger" else x[:, 0]
    return (bits > 0).astype(int)


def _trained(world, x, member, masks, rng):
    """Logits of a model that is fitted to its members, or, "stranger", to fresh records."""

    def fitted(mask):
        seen, fresh = x[mask], rng.normal(size=(400, world.width))
        if world.trained == "stranger":
            seen = fresh
        model = (
            DecisionTreeClassifier(max_depth=6, random_state=0)
            if world.trained == "tree"
            else LogisticRegression(C=10.0, max_iter=300)
        )
        model.fit(seen, _labels(seen, world.trained))
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(x))

    return fitted(member), None if masks is None else np.stack([fitted(m) for m in masks])


SHADOWS = {"n_shadow": 16}
ONE = {"drifting": 1, "drift": 0.5}
MANY = {"drifting": 10, "drift": 0.3, "width": 30}
ALL = {"leak": 1.0, "gain": 1.0}
GIVEN = {"assignment": "given"}
COINS = {"assignment": "coins"}

WORLDS = {
    # Nothing leaks, and chance decided
    **{f"no leak, n = {n:,}": World(n=n) for n in (100, 300, 1000, 5000, 20_000)},
    **{f"no leak, coins, n = {n:,}": World(n=n, **COINS) for n in (300, 5000)},
    "no leak, coarse outputs, members first, coins": World(digits=0, ordered=True, **COINS),
    "no leak, no features, one class": World(n=300, features=False, classes=1),
    # A part leaks
    **{f"1 % leak, n = {n:,}": World(n=n, leak=0.01) for n in (1000, 10_000, 20_000)},
    "1 % leak, coins, n = 10,000": World(n=10_000, leak=0.01, **COINS),
    **{f"5 % leak, n = {n:,}": World(n=n, leak=0.05) for n in (300, 1000, 5000)},
    "8 % leak, n = 4,000": World(n=4000, leak=0.08),
    **{f"all leak a little, n = {n:,}": World(n=n, **ALL) for n in (100, 1000, 5000)},
    "all leak a little, coins, n = 1,000": World(**ALL, **COINS),
    # Chance was declared and did not decide
    "drift called coins, one column": World(drifting=1, drift=2.0, **COINS),
    "drift called random, many columns": World(n=2000, **MANY),
    "weak drift called random, one of 5": World(drifting=1, drift=0.25),
    "weak drift called random, one of 30": World(n=300, width=30, **ONE),
    # Groups as they came
    **{f"given, no drift, n = {n:,}": World(n=n, **GIVEN) for n in (300, 1000, 5000)},
    **{
        f"given, one of 30 drifts, n = {n:,}": World(n=n, width=30, **ONE, **GIVEN)
        for n in (300, 1000, 5000)
    },
    "given, one of 5 drifts, n = 20,000": World(n=20_000, **ONE, **GIVEN),
    "given, one of 200 drifts, n = 1,000": World(width=200, **ONE, **GIVEN),
    **{
        f"given, ten of 30 drift, n = {n:,}": World(n=n, **MANY, **GIVEN) for n in (300, 1000, 5000)
    },
    "given, all leak, n = 1,000": World(**ALL, **GIVEN),
    "given, 5 % leak, n = 5,000": World(n=5000, leak=0.05, **GIVEN),
    "given, one drifts, 5 % leak, n = 5,000": World(n=5000, leak=0.05, **ONE, **GIVEN),
    "given, ten drift, all leak much, n = 5,000": World(
        n=5000, leak=1.0, gain=3.0, **MANY, **GIVEN
    ),
    "given, no features": World(features=False, **GIVEN),
    # Copies
    "pairs, no leak, n = 300": World(n=300, copies=2),
    "fours, no leak, n = 1,000": World(copies=4),
    "pairs with coins of their own, no leak": World(n=600, copies=2, coined=True, **COINS),
    "pairs, given, no drift": World(copies=2, **GIVEN),
    "pairs, given, one of 30 drifts": World(copies=2, width=30, **ONE, **GIVEN),
    "pairs, 5 % leak, n = 2,000": World(n=2000, copies=2, leak=0.05),
    # Shadow models
    "shadows, no leak, n = 300": World(n=300, **SHADOWS),
    "shadows, no leak, coins, n = 1,000": World(**SHADOWS, **COINS),
    "shadows, no leak, with the network": World(n=300, learned=True, **SHADOWS),
    "shadows, exact halves, no leak": World(n=600, n_shadow=15, masks="halves"),
    "shadows, exact halves, all leak": World(n=600, n_shadow=15, masks="halves", **ALL),
    "shadows, all leak, n = 300": World(n=300, **ALL, **SHADOWS),
    "shadows, 5 % leak, n = 1,000": World(leak=0.05, gain=4.0, **SHADOWS),
    "shadows, given, one of 30 drifts": World(width=30, **ONE, **GIVEN, **SHADOWS),
    "shadows, pairs, no leak": World(n=600, copies=2, **SHADOWS),
    "shadows inverted, all leak": World(n=300, masks="inverted", **ALL, **SHADOWS),
    "shadows inverted, no leak": World(n=300, masks="inverted", **SHADOWS),
    "shadows useless, all leak": World(masks="useless", **ALL, **SHADOWS),
    "shadows useless, no leak": World(n=300, masks="useless", **SHADOWS),
    # Models that are trained in every draw
    "logistic regression, trained": World(n=300, width=40, leak=1.0, trained="line", classes=2),
    "logistic regression, of other records": World(n=300, trained="stranger", classes=2),
    "logistic regression, given, of other records, one drifts": World(
        n=1000, trained="stranger", classes=2, **ONE, **GIVEN
    ),
    "logistic regression, trained, 8 shadows, coins": World(
        n=300, width=40, leak=1.0, trained="line", classes=2, n_shadow=8, **COINS
    ),
    "decision tree, trained": World(n=400, leak=1.0, trained="tree", classes=2),
    "decision tree, trained, given": World(n=400, leak=1.0, trained="tree", classes=2, **GIVEN),
}

# Groups, records or models that are not alike, and nothing leaks. They came later: the files of
# peers.py are of the worlds above.
UNEVEN = {
    "no leak, 60 members of 900, accurate": World(n=900, share=1 / 15, sure=4.0),
    "no leak, 100 others of 2,000, accurate": World(n=2000, share=0.95, sure=4.0),
    "fours, harder, 85 % members, no leak": World(
        n=4000, copies=4, coined=True, share=0.85, harder=1.0
    ),
    "shadows, exact halves, of other moods, no leak": World(n_shadow=15, masks="halves", moods=1.0),
}
EVERY = WORLDS | UNEVEN


def _methods(world):
    return tuple(m for m in methods.METHODS if world.learned or m.name != SLOW)


def with_methods(world, work):
    """Let the audit run without its slowest attack, which takes part where the world says so."""
    before = methods.METHODS
    methods.METHODS = _methods(world)
    try:
        return work()
    finally:
        methods.METHODS = before


def one(name, number):
    """One draw: [verdict, upper limit of TPR - FPR]."""
    world = EVERY[name]
    rng = np.random.default_rng([list(EVERY).index(name), number])
    seen = draw(world, rng)
    found = with_methods(world, lambda: conduct.judge(seen, seed=number))["decided"]
    return [found["verdict"], found["most found"]]


def largest_gap(name):
    """The largest TPR - FPR of any attack of the report: the threshold from one half of very many
    records, the rates from the other half.
    """
    world = EVERY[name]
    rng = np.random.default_rng([list(EVERY).index(name), 1 << 30])
    if world.trained:
        return _trained_gap(world, rng)
    n = TRUTH // (4 if world.n_shadow else 1)
    scores, member = _scores(world, draw(world, rng, n))
    return max(_gap(score, member) for score in scores.values())


def _scores(world, o):
    view = conduct.View(o, conduct._left_out(o))
    rng = np.random.default_rng(0)
    scores = {
        m.name: methods.score(m, view, rng) for m in _methods(world) if not methods.lacks(m, view)
    }
    return scores, o.member


def _trained_gap(world, rng, models=100):
    """Scores of many models pooled: the law of a record of a model that is drawn too."""
    parts = [_scores(world, draw(world, rng)) for _ in range(models)]
    member = np.concatenate([m for _, m in parts])
    return max(
        _gap(np.concatenate([scores[name] for scores, _ in parts]), member) for name in parts[0][0]
    )


def _gap(score, member):
    first = np.arange(len(score)) % 2 == 0
    curve = metrics.roc(score[first], member[first])
    best = np.argmax(curve.tpr - curve.fpr)
    threshold = curve.thresholds[best]
    called = score[~first] >= threshold
    rest = member[~first]
    return float(called[rest].mean() - called[~rest].mean())


def summary(name, draws, gap):
    """Counts of one world; draws as `one` gives them."""
    world, said = EVERY[name], [one[0] for one in draws]
    count = {v: said.count(v) for v in verdict.VERDICTS}
    false = {v: count[v] if may else None for v, may in world.may_be_false().items()}
    false[verdict.NONE] = sum(v == verdict.NONE and most < gap for v, most in draws)
    return {
        "world": name,
        "draws": len(draws),
        "trains": bool(world.trained),
        "said": count,
        "false": false,
        "largest TPR - FPR": gap,
        "median limit": float(np.median([most for _, most in draws])),
    }


def table(studies, gaps):
    """The record's rows and the totals over all worlds."""
    rows = [summary(name, draws, gaps[name]) for name, draws in studies.items() if draws]
    totals = {}
    for v in verdict.VERDICTS:
        could = [row for row in rows if row["false"][v] is not None]
        drawn, false = (
            sum(row[key] if key == "draws" else row["false"][v] for row in could)
            for key in ("draws", "false")
        )
        totals[v] = {
            "draws": drawn,
            "false": false,
            "share": false / drawn if drawn else None,
            "most in one world": max((row["false"][v] for row in could), default=0),
        }
    return rows, totals


def stored(folder, name):
    """The file of a world and the draws in it, in order."""
    path = folder / f"{list(EVERY).index(name):02d}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return path, [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--store", type=Path, default=ROOT / "_build/simulations/verdicts")
    options = parser.parse_args()
    options.store.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()

    def spent():
        return (time.monotonic() - start) / 60

    for goal in range(STEP, options.draws + STEP, STEP):
        for name in EVERY:
            path, found = stored(options.store, name)
            with path.open("a") as file:
                for number in range(len(found), min(goal, options.draws)):
                    if spent() > options.minutes:
                        break
                    file.write(json.dumps(one(name, number)) + "\n")
                    file.flush()
        print(f"{goal} draws after {spent():.1f} min", flush=True)
        write(options.store)
        if spent() > options.minutes:
            break


def write(folder):
    """The record from what the store holds."""
    kept = folder / "truth.json"
    gaps = json.loads(kept.read_text()) if kept.exists() else {}
    for name in EVERY:
        if name not in gaps:
            gaps[name] = with_methods(EVERY[name], lambda name=name: largest_gap(name))
            kept.write_text(json.dumps(gaps, indent=1))
    rows, totals = table({name: stored(folder, name)[1] for name in EVERY}, gaps)
    record = {
        "what": "how often each verdict of the audit is wrong, at delta = 0.05",
        "false": "of the draws that could make a verdict false; null: none could",
        "totals": totals,
        "rows": rows,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
