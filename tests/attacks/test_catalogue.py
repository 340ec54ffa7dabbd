"""Every entry of the catalogue: against a loop that its author wrote, with nothing to find and with
something to find, target by target against all at once, and given nonsense.

A new entry is picked up by itself. What it needs from its author is a loop in `LOOPS`.
"""

import dataclasses
import functools
import inspect
import math
from pathlib import Path

import numpy as np
import pytest
from lira.test_posterior import literal

from mia_lib import attacks, lira, metrics, risk_score, shadow, signals, train
from mia_lib.attacks.entry import NEEDS

ROOT = Path(__file__).resolve().parents[2]
entries = pytest.mark.parametrize("entry", attacks.CATALOGUE, ids=lambda entry: entry.name)
# What a network learns is held against a count, which it can only approach.
ABOUT = {
    "Class networks": 0.05,
    "Learned network": 0.05,
    "Gradient network": 0.06,
    "Quantile regression": 0.25,
}


class Linear:
    """Models whose logits are linear in x."""

    def logits(self, state, x):
        return np.asarray(x) @ state


class World:
    """What S models answer on n records, and what an adversary may know beside it.

    Logits have a part of the record, a part of chance and, with a gain, a part that says who was a
    member. Coarse logits take few values, so that records can be counted.
    """

    def __init__(self, seed, n_models=12, n=60, n_classes=3, gain=0.0, coarse=False):
        rng = np.random.default_rng(seed)
        self.member = shadow.half_masks(n_models, n, rng)
        self.labels = np.arange(n) % n_classes
        self.features = rng.integers(0, 2, (n, 1)).astype(float)
        logits = rng.normal(size=(n, n_classes)) + rng.normal(size=(n_models, n, n_classes))
        logits[:, np.arange(n), self.labels] += gain * self.member
        if coarse:
            better = rng.random((n_models, n)) < np.where(self.member, 0.7, 0.4)
            logits = np.zeros((n_models, n, n_classes))
            logits[:, np.arange(n), self.labels] = np.where(better, 2.0, -1.0)
        self.logits = logits
        # models that are asked themselves: near a zero of the loss where they saw the record
        self.x = rng.normal(size=(n, 4))
        self.states = rng.normal(size=(n_models, 4, n_classes))
        self.gradients = rng.normal(size=(n_models, n, 2)) - gain * self.member[..., None]
        if coarse:
            self.gradients = np.repeat(better[..., None], 2, axis=-1).astype(float)
            # no record may be another's copy
            self.gradients += 1e-9 * rng.normal(size=(n_models, n, 1))

    def signal(self, entry):
        """What the attack reads of all models, (S, n) or (S, n, d)."""
        if "queries" in entry.needs:
            score = entry.signal(Linear(), self.x)
            return np.concatenate([score(w[None], self.x, self.labels) for w in self.states])
        if "weights" in entry.needs:
            return self.gradients
        return entry.signal(self.logits, self.labels)

    def given(self, entry, s=None):
        """What the entry asks for beside signals and masks, for all targets or one."""
        more = entry.takes(labels=self.labels, features=self.features, rng=np.random.default_rng(0))
        if s is not None:
            more |= entry.takes(member=self.member[s])
        return more

    def all_targets(self, entry, **options):
        return lira.leave_one_out(
            self.signal(entry), self.member, entry, **self.given(entry), **options
        )


def teachers(entry, s, world):
    """The shadow models of target s, for each record, (models, n)."""
    n_models, n = world.member.shape
    if "networks" in entry.name.lower() or entry.name == "Learned network":
        half, count = n_models // 2, 4 if entry.name == "Class networks" else 1
        first = half if s < half else 0
        return np.repeat(np.arange(first, first + count)[:, None], n, axis=1)
    if "shadow" in entry.needs:
        return np.full((1, n), (s + 1) % n_models)
    others = np.empty((n_models - 2, n), dtype=int)
    for i in range(n):
        unlike = [t for t in range(n_models) if world.member[t, i] != world.member[s, i]]
        others[:, i] = [t for t in range(n_models) if t not in (s, unlike[0])]
    return others


def of_one(entry, world, s, rng=None, **options):
    """Scores of one target by the entry's first function."""
    signal, rows = world.signal(entry), teachers(entry, s, world)
    more = world.given(entry, s) | options
    if rng is not None and "rng" in more:
        more["rng"] = rng
    if not {"IN", "OUT", "shadow"} & set(entry.needs):
        return entry.one_target(signal[s], **entry.options | more)
    columns = np.arange(signal.shape[1])
    shadows, masks = signal[rows, columns], world.member[rows, columns]
    return entry.one_target(signal[s], shadows, masks, **entry.options | more)


# The loops. Each takes a world, the target s and the numbers of its shadow models for each record,
# (models, n), and says what the scores are.


def p(z):
    """Probabilities of one row of logits."""
    top = max(z)
    parts = [math.exp(v - top) for v in z]
    return [part / sum(parts) for part in parts]


def log_p(world, s, i):
    return math.log(p(world.logits[s, i])[world.labels[i]])


def phi(world, s, i):
    right = p(world.logits[s, i])[world.labels[i]]
    return math.log(right) - math.log(1 - right)


def certainty(world, s, i):
    """Minus the modified entropy."""
    found, y = p(world.logits[s, i]), world.labels[i]
    others = sum(q * math.log(1 - q) for c, q in enumerate(found) if c != y)
    return (1 - found[y]) * math.log(found[y]) + others


def record_by_record(score):
    """Scores of a formula for one record."""
    return lambda world, s, models: [score(world, s, i) for i in range(len(world.labels))]


def against(signal, formula):
    """Scores of a formula that holds the target's signal against those of IN and OUT models."""

    def loop(world, s, models):
        scores = []
        for i, own in enumerate(models.T):
            inside = [signal(world, t, i) for t in own if world.member[t, i]]
            outside = [signal(world, t, i) for t in own if not world.member[t, i]]
            scores.append(formula(signal(world, s, i), inside, outside))
        return scores

    return loop


def mean(values):
    return sum(values) / len(values)


def variance(values):
    return mean([(v - mean(values)) ** 2 for v in values])


def log_normal(x, values, spread):
    return -math.log(math.sqrt(2 * math.pi * spread)) - (x - mean(values)) ** 2 / (2 * spread)


def below(x, values, spread):
    return math.log(math.erfc((mean(values) - x) / math.sqrt(2 * spread)) / 2)


def ratio(x, inside, outside, s_in, s_out):
    return log_normal(x, inside, s_in) - log_normal(x, outside, s_out)


def likelihood(shared, one_sided):
    """LiRA, with the spread of each record or the root mean square of all."""

    def loop(world, s, models):
        groups = []
        for i, own in enumerate(models.T):
            both = [
                [phi(world, t, i) for t in own if world.member[t, i] == side] for side in (1, 0)
            ]
            groups.append((phi(world, s, i), *both))
        spread = [
            sum(len(g[k]) * variance(g[k]) for g in groups) / sum(len(g[k]) for g in groups)
            for k in (1, 2)
        ]
        scores = []
        for x, inside, outside in groups:
            s_in, s_out = spread if shared else (variance(inside), variance(outside))
            found = (
                below(x, outside, s_out) if one_sided else ratio(x, inside, outside, s_in, s_out)
            )
            scores.append(found)
        return scores

    return loop


def beaten(slope):
    """RMIA at gamma = 1."""

    def average(x, inside, outside):
        out = mean([math.exp(v) for v in outside])
        if slope is not None:
            return math.exp(x) / (((1 + slope) * out + 1 - slope) / 2)
        return math.exp(x) / ((mean([math.exp(v) for v in inside]) + out) / 2)

    def loop(world, s, models):
        found = against(log_p, average)(world, s, models)
        n = len(found)
        return [
            sum(a >= b for j, b in enumerate(found) if j != i) / (n - 1)
            for i, a in enumerate(found)
        ]

    return loop


def posterior(name, tail):
    """LiRA with Student's t and estimated priors."""

    def loop(world, s, models):
        columns = np.arange(len(world.labels))
        x = np.array([[phi(world, t, i) for i in columns] for t in range(len(world.member))])
        given = x[s, :, None], x[models, columns, None], np.ones(models.shape, bool)
        return literal(*given, world.member[models, columns], name, tail, "spherical")

    return loop


def normalised(sides):
    """BASE: against the mean probability of the models of these sides."""

    def excess(x, inside, outside):
        groups = {"IN": inside, "OUT": outside}
        return x - math.log(mean([math.exp(v) for side in sides for v in groups[side]]))

    return against(log_p, excess)


def tail(x, inside, outside):
    """-log Pr[an OUT model >= x]: ranks, linear between the values, exponential beyond."""
    out = sorted(outside)
    m, k = len(out), max(2, math.ceil(0.1 * len(out)))
    scale = mean(out[-k:]) - out[-k - 1]
    if x > out[-1]:
        return (x - out[-1]) / scale - math.log(0.5 / m)
    if x < out[0]:
        return -math.log(1 - 0.5 / m * math.exp((x - out[0]) / scale))
    j = max(j for j in range(m) if out[j] <= x)
    share = 0 if j == m - 1 else (x - out[j]) / (out[j + 1] - out[j])
    return -math.log(1 - (j + 0.5 + share) / m)


def class_thresholds(world, s, models):
    """The value of a class that calls most of its members and fewest others; else that of all."""

    def best(values):
        n_in, n_out = sum(m for _, m in values), sum(not m for _, m in values)
        if not n_in or not n_out:
            return None
        gains = [
            (
                round(
                    mean([v >= t for v, m in values if m])
                    + mean([v < t for v, m in values if not m]),
                    9,
                ),
                t,
            )
            for t, _ in values
        ]
        return max(gains)[1]

    n, t = len(world.labels), models[0, 0]
    known = [(certainty(world, t, i), world.member[t, i], world.labels[i]) for i in range(n)]
    scores = []
    for i in range(n):
        own = best([(v, m) for v, m, y in known if y == world.labels[i]])
        own = best([(v, m) for v, m, _ in known]) if own is None else own
        scores.append(certainty(world, s, i) - own)
    return scores


def share_in_bin(world, s, models):
    """Share of members in the bin of the class, five bins of the logarithm."""
    n, t = len(world.labels), models[0, 0]
    asked = [math.log(max(-certainty(world, s, i), 1e-10)) for i in range(n)]
    known = [math.log(max(-certainty(world, t, i), 1e-10)) for i in range(n)]
    scores = []
    for i in range(n):
        own = [j for j in range(n) if world.labels[j] == world.labels[i]]
        low, high = min(known[j] for j in own), max(known[j] for j in own)

        def place(value, low=low, high=high):
            return min(4, max(0, math.floor(5 * (value - low) / (high - low))))

        inside = [place(known[j]) for j in own if world.member[t, j]]
        outside = [place(known[j]) for j in own if not world.member[t, j]]
        here = place(asked[i])
        _, nearest = min((abs(b - here), b) for b in inside + outside)
        share = inside.count(nearest) / len(inside), outside.count(nearest) / len(outside)
        scores.append(share[0] / sum(share))
    return scores


def bayes_risk(world, s, models):
    """f of the bin, twenty equally full bins of one half for the other, both ways."""
    n, member = len(world.labels), world.member[s]
    value = [phi(world, s, i) for i in range(n)]
    even = np.random.default_rng(0).permutation(n) % 2 == 0
    scores = [0.0] * n
    for i in range(n):
        known = [j for j in range(n) if even[j] != even[i]]
        ranked = sorted(value[j] for j in known)
        edges = []
        for k in range(1, 20):
            at = k / 20 * (len(ranked) - 1)
            low = math.floor(at)
            edges.append(
                ranked[low] + (at - low) * (ranked[min(low + 1, len(ranked) - 1)] - ranked[low])
            )
        here = [
            j
            for j in known
            if sum(value[j] >= e for e in edges) == sum(value[i] >= e for e in edges)
        ]
        a = sum(member[j] for j in here) / sum(member[j] for j in known)
        b = sum(not member[j] for j in here) / sum(not member[j] for j in known)
        scores[i] = (a - b) / (a + b) if here else 0.0
    return scores


def merlin(world, s, models):
    """Share of a hundred copies, with noise of one standard deviation, that have a larger loss,
    and for equal shares how far the loss rises.
    """
    noise, n = np.random.default_rng(0), len(world.labels)

    def loss(x, i):
        return -math.log(p(x[i] @ world.states[s])[world.labels[i]])

    rises = [[] for _ in range(n)]
    for _ in range(100):
        step = 1.0 * np.std(world.x) * noise.standard_normal(world.x.shape, dtype=np.float32)
        for i in range(n):
            rises[i].append(loss(world.x + step, i) - loss(world.x, i))
    scores = []
    for each in rises:
        mean = sum(each) / 100
        spread = math.sqrt(sum((rise - mean) ** 2 for rise in each) / 100)
        place = (1 + mean / (abs(mean) + spread)) / 2
        scores.append((sum(rise > 0 for rise in each) + place) / 101)
    return scores


def share_of_members(world, s, models, odds_of_class):
    """Among the shadow models' answers of one class that are like the record's, the share of
    members, were both groups equally large in all (or in the class)."""
    like, group = {}, {}
    for t in models[:, 0]:
        for i, y in enumerate(world.labels):
            inside, right = world.member[t, i], world.logits[t, i, y] > 0
            whole = inside, y if odds_of_class else None
            like[inside, right, y] = like.get((inside, right, y), 0) + 1
            group[whole] = group.get(whole, 0) + 1
    scores = []
    for i, y in enumerate(world.labels):
        right, kind = world.logits[s, i, y] > 0, y if odds_of_class else None
        share_in = like[True, right, y] / group[True, kind]
        share_out = like[False, right, y] / group[False, kind]
        scores.append(share_in / (share_in + share_out))
    return scores


def by_gradient(world, s, models):
    n, member, value = len(world.labels), world.member[s], world.gradients[s, :, 0].round()
    even = np.random.default_rng(0).permutation(n) % 2 == 0
    scores = []
    for i in range(n):
        known = [j for j in range(n) if even[j] != even[i]]
        a = mean([value[j] == value[i] for j in known if member[j]])
        b = mean([value[j] == value[i] for j in known if not member[j]])
        scores.append(a / (a + b))
    return scores


def above_quantile(world, s, models):
    """The record against the median of the non-members with its feature, half of whom are known."""
    groups = {0.0: [], 1.0: []}
    for j, kind in enumerate(world.features[:, 0]):
        if not world.member[s, j]:
            groups[kind].append(phi(world, s, j))
    middle = {kind: sorted(values)[len(values) // 2] for kind, values in groups.items()}
    return [phi(world, s, i) - middle[kind] for i, kind in enumerate(world.features[:, 0])]


MIDDLE = lambda x, inside, outside: x - (mean(inside) + mean(outside)) / 2  # noqa: E731
ABOVE_OUT = lambda x, inside, outside: x - mean(outside)  # noqa: E731
LOOPS = {
    "LOSS": record_by_record(log_p),
    "Class networks": functools.partial(share_of_members, odds_of_class=True),
    "MERLIN": merlin,
    "Modified entropy, class thresholds": class_thresholds,
    "MALT": against(log_p, MIDDLE),
    "Outlier tail": against(log_p, tail),
    "Difficulty calibration": against(log_p, ABOVE_OUT),
    "Reference quantile": against(phi, lambda x, inside, out: mean([o < x for o in out])),
    "LiRA, online": likelihood(shared=True, one_sided=False),
    "LiRA, online, global variance": likelihood(shared=True, one_sided=False),
    "LiRA, offline": likelihood(shared=True, one_sided=True),
    "LiRA, offline, global variance": likelihood(shared=True, one_sided=True),
    "Confidence": record_by_record(phi),
    "Calibrated confidence": against(phi, ABOVE_OUT),
    "Midpoint": against(phi, MIDDLE),
    "RMIA, online": beaten(None),
    "RMIA, offline": beaten(0.0),
    "BASE, online": normalised(("IN", "OUT")),
    "BASE, offline": normalised(("OUT",)),
    "LiRA, online, Bayesian": posterior("online", None),
    "LiRA, offline, Bayesian": posterior("offline", "one-sided"),
    "Quantile regression": above_quantile,
    "Bayes risk": bayes_risk,
    "Gradient network": by_gradient,
    "Learned network": functools.partial(share_of_members, odds_of_class=False),
    "Privacy risk score": share_in_bin,
    "Modified entropy": record_by_record(certainty),
    "Entropy": record_by_record(
        lambda world, s, i: sum(q * math.log(q) for q in p(world.logits[s, i]))
    ),
    "Hinge": record_by_record(
        lambda world, s, i: (
            world.logits[s, i, world.labels[i]]
            - max(z for c, z in enumerate(world.logits[s, i]) if c != world.labels[i])
        )
    ),
    "Correctness": record_by_record(
        lambda world, s, i: float(
            max(p(world.logits[s, i])) == p(world.logits[s, i])[world.labels[i]]
        )
    ),
}


@entries
def test_against_the_loop_of_its_author(entry):
    assert entry.name in LOOPS, f"{entry.name}: write its loop in tests/attacks/test_catalogue.py"
    learns = entry.name in ABOUT
    coarse = learns and entry.name != "Quantile regression"
    world = World(1, n=800 if learns else 60, n_classes=2 if coarse else 3, gain=0.7, coarse=coarse)
    options = {"epochs": 100} if "epochs" in entry.options else {}
    options |= {"level": 0.5} if entry.name == "Quantile regression" else {}
    want = LOOPS[entry.name](world, 2, teachers(entry, 2, world))
    got = of_one(entry, world, 2, **options)
    if learns:
        assert np.abs(got - want).max() < ABOUT[entry.name]
        assert np.ptp(want) > 2 * ABOUT[entry.name]
    else:
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["LiRA, online", "LiRA, offline"])
def test_the_spread_is_each_records_own_from_64_models_on(name):
    entry, world = attacks.named(name), World(2, n_models=70, n=20, gain=0.7)
    own = likelihood(shared=False, one_sided="offline" in name)
    want = own(world, 3, teachers(entry, 3, world))
    np.testing.assert_allclose(of_one(entry, world, 3), want, rtol=1e-7, atol=1e-9)
    signal = world.signal(entry)
    for n_models, spread in ((63, "global"), (64, "per-example")):
        rows = signal[1 : n_models + 1], world.member[1 : n_models + 1]
        plain = lira.online if name == "LiRA, online" else lira.offline
        np.testing.assert_array_equal(
            entry.one_target(signal[0], *rows, **entry.options),
            plain(signal[0], *rows, variance=spread),
        )


@entries
def test_one_target_and_all_targets_agree(entry):
    world = World(3, n_models=8, n=90, gain=0.5)
    fast = {"epochs": 3} if "epochs" in entry.options else {}
    fast |= {"n_steps": 20} if entry.name == "Quantile regression" else {}
    every = world.all_targets(entry, **fast)
    assert every.shape == (8, 90) and every.dtype == np.float64 and np.isfinite(every).all()
    rng = np.random.default_rng(0)  # one after the other, as all at once draws from it
    targets = range(8)
    if entry.name in ("Class networks", "Learned network"):
        targets = (0, 4)  # one fit for each half
    if entry.name == "Quantile regression":
        targets = (0,)  # all regressors draw together: a single target draws as alone
        signal = world.signal(entry)[:1]
        every = entry.every_target(
            signal, world.member[:1], features=world.features, rng=rng, **entry.options | fast
        )
        rng = np.random.default_rng(0)
    for s in targets:
        one = of_one(entry, world, s, rng, **fast)
        assert one.shape == (90,) and one.dtype == np.float64
        np.testing.assert_allclose(one, every[s], rtol=1e-5, atol=1e-6)


def pooled_auc(entry, world, **options):
    return metrics.roc(world.all_targets(entry, **options), world.member).auc


@pytest.mark.simulation
@entries
def test_finds_nothing_where_there_is_nothing(entry):
    """Without an effect of membership the AUC of N scores has the standard deviation sqrt((N + 1) /
    (12 N_1 N_0)), ties making it smaller; four of it are missed once in 16,000. Leave-one-out moves
    the mean by less than 1 / (10 n).
    """
    n_models, n, repetitions = 16, 300, 4
    fast = {"epochs": 3} if "epochs" in entry.options else {}
    fast |= {"n_steps": 20} if entry.name == "Quantile regression" else {}
    found = [pooled_auc(entry, World(s, n_models, n), **fast) for s in range(repetitions)]
    size = n_models * n
    spread = math.sqrt((size + 1) / (12 * (size / 2) ** 2) / repetitions)
    assert abs(np.mean(found) - 0.5) < 4 * spread + 0.1 / n


@pytest.mark.simulation
@pytest.mark.parametrize(
    "entry",
    [entry for entry in attacks.CATALOGUE if "queries" not in entry.needs],  # the next test's
    ids=lambda entry: entry.name,
)
def test_finds_what_is_there(entry):
    """Members whose right logit is larger, or whose gradient is smaller, have larger scores."""
    fast = {"n_steps": 100} if entry.name == "Quantile regression" else {}
    assert pooled_auc(entry, World(9, 16, 300, gain=2.5), **fast) > 0.6


def test_merlin_finds_a_dip():
    class Dip:
        def logits(self, state, x):
            return np.stack(
                [np.where(state, -np.abs(x[..., 0] - 1), x[..., 0]), 0 * x[..., 0]], -1
            )[None]

    x, y, state = np.ones((200, 1)), np.zeros(200, int), np.arange(200) < 100
    score = attacks.named("MERLIN").signal(Dip(), np.linspace(-1, 1, 200))(state, x, y)[0]
    assert (score[:100] > 100 / 101).all() and abs(score[100:].mean() - 0.5) < 0.05


def test_gradients_are_what_the_entry_reads():
    entry, recipe = attacks.named("Gradient network"), train.Classifier(hidden=(4,), epochs=2)
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    member = np.arange(60) < 30
    state = recipe(x, y, member[None], [np.random.default_rng(0)])
    signal = entry.signal(recipe, state, x, y)
    assert len(signal) == 60 and signal.ndim == 2
    found = entry.one_target(signal, member=member, rng=np.random.default_rng(0), epochs=2)
    assert found.shape == (60,)


def in_one_line(call, *names):
    with pytest.raises(ValueError) as caught:
        call()
    said = str(caught.value)
    assert said.startswith(names) and ": given" in said and ", expected" in said
    assert "\n" not in said


@entries
def test_bad_input_ends_in_one_clear_line(entry):
    world = World(4, n_models=8, n=40)
    signal, given = world.signal(entry).astype(float), functools.partial(world.given, entry)
    broken = signal.copy()
    broken[0, 5] = np.nan
    names = ("signals", "target", "target_logits", "target_signal", "target_features", "known_")

    def every(signal, member=world.member):
        return lira.leave_one_out(signal, member, entry, **given())

    in_one_line(lambda: every(broken), *names)
    in_one_line(lambda: every(signal[:, :3]), "member")
    in_one_line(lambda: every(signal[0]), "signals", "member")
    shadows, more = (signal[1:], world.member[1:]), given(0) | entry.options
    in_one_line(lambda: entry.one_target(broken[0], *shadows, **more), *names)
    if {"IN", "OUT", "shadow"} & set(entry.needs):
        in_one_line(
            lambda: entry.one_target(signal[0], signal[1:], world.member, **more), "shadow_member"
        )
    if {"IN", "OUT"} & set(entry.needs):
        lonely = world.member.copy()
        lonely[:, 7] = "IN" not in entry.needs  # nobody is left on a side that it needs
        in_one_line(lambda: every(signal, lonely), "member")
    if "known" in entry.needs:
        one_group = {**more, "member": np.ones(40, bool)}
        in_one_line(lambda: entry.one_target(signal[0], **one_group), "member")


def test_signals_of_bad_outputs():
    for entry in attacks.CATALOGUE:
        if not {"queries", "weights"} & set(entry.needs) and entry.signal.__name__ != "outputs":
            in_one_line(
                functools.partial(entry.signal, np.full((4, 3), np.nan), np.zeros(4, int)), "logits"
            )


def test_probability_zero_is_finite_for_networks():
    entry = attacks.named("Learned network")
    z = entry.signal(np.log(np.array([[0.5, 0.5, 1e-45]])) + [[0, 0, -np.inf]], [0])
    np.testing.assert_allclose(z[0, 2], signals.LOG_ZERO, rtol=1e-12)


@entries
def test_the_entry_says_what_it_is(entry):
    assert entry.name and entry.authors and entry.equation and 2017 <= entry.year <= 2026
    assert set(entry.needs) <= set(NEEDS) and entry.adversary
    assert (ROOT / entry.chapter).is_file()
    assert attacks.named(entry.name) is entry
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.name = "other"
    with pytest.raises(TypeError):
        entry.options["gamma"] = 3.0
    # what one of its functions can be given beside the signals, the other can be given too
    fast = {"epochs": 1} if "epochs" in entry.options else {}
    fast |= {"n_steps": 2} if entry.name == "Quantile regression" else {}
    World(5, n_models=8, n=30).all_targets(entry, **fast)


def test_the_list_begins_with_the_rows_of_table_one():
    authors = [entry.authors for entry in attacks.CATALOGUE[:9]]
    assert authors == [
        "Yeom et al.",
        "Shokri et al.",
        "Jayaraman et al.",
        "Song and Mittal",
        "Sablayrolles et al.",
        "Long et al.",
        "Watson et al.",
        "Ye et al.",
        "Carlini et al.",
    ]
    assert len({entry.name for entry in attacks.CATALOGUE}) == len(attacks.CATALOGUE)


def test_nothing_below_imports_the_catalogue():
    """Its own room's door does, and the audit above it, through that door."""
    for path in sorted((ROOT / "mia_lib").rglob("*.py")):
        place, text = path.relative_to(ROOT / "mia_lib"), path.read_text(encoding="utf-8")
        if place.as_posix() not in ("attacks/__init__.py", "attacks/catalogue.py"):
            assert "attacks.catalogue import" not in text and "import catalogue" not in text
        if place.parts[0] in ("lira", "bayes", "risk_score", "signals.py", "metrics"):
            assert "mia_lib.attacks import" not in text and "import attacks" not in text


def test_a_misspelt_name_is_told_the_nearest():
    with pytest.raises(ValueError, match="name: given 'LiRA onlin'.*LiRA, online"):
        attacks.named("LiRA onlin")


def test_settings_are_those_of_the_functions_where_these_have_one():
    """Who calls a function by itself gets the attack of the catalogue."""
    said = {
        "RMIA, online": (attacks.rmia, "gamma"),
        "RMIA, offline": (attacks.rmia, "gamma"),
        "Privacy risk score": (risk_score.privacy_risk_score, "bins", "log_bins"),
        "Quantile regression": (attacks.quantile_regression, "level"),
        "Gradient network": (attacks.gradient_attack, "epochs"),
    }
    for name, (function, *settings) in said.items():
        for setting in settings:
            default = inspect.signature(function).parameters[setting].default
            assert attacks.named(name).options[setting] == default
    copies = attacks.named("MERLIN").signal.keywords["copies"]
    assert inspect.signature(attacks.merlin).parameters["repeats"].default == copies


def test_an_option_goes_before_the_setting_of_the_entry():
    world, entry = World(7), attacks.named("LiRA, online")
    x = world.signal(entry)
    np.testing.assert_array_equal(
        lira.leave_one_out(x, world.member, entry, variance="per-example"),
        lira.leave_one_out(x, world.member),
    )
    with pytest.raises(TypeError, match="tail: given an option that online lacks"):
        lira.leave_one_out(x, world.member, entry, tail="density")
