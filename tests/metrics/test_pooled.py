"""Pooled rates: who carries the false positives, what models add, do the intervals cover."""

import numpy as np
import pytest
from scipy import stats
from simulations import rates

from mia_lib import intervals, shadow
from mia_lib.metrics import pooled, roc


def made(n_models, n, seed, gap=1.0, difficulty=0.0, shift=0.0):
    rng = np.random.default_rng(seed)
    member = shadow.half_masks(n_models, n, rng)
    scores = rng.normal(size=(n_models, n)) + gap * member + difficulty * rng.normal(size=n)
    return scores + shift * rng.normal(size=(n_models, 1)), member


# Counting what is independent


def test_independent_by_its_definition():
    rng = np.random.default_rng(0)
    group = rng.integers(6, size=50)
    sizes = [list(group).count(g) for g in set(group)]
    assert pooled.independent(group) == pytest.approx(sum(sizes) ** 2 / sum(k * k for k in sizes))
    assert pooled.independent(np.array([], dtype=int)) == 0
    one_by_one = [pooled.independent(group[:k]) for k in range(1, 51)]
    np.testing.assert_allclose(pooled.independent_of_first(group, 6), one_by_one)


def test_effective_nonmembers():
    # Ten targets; the non-member entries of examples 0, 1, 2, ... hold the top places, ten each.
    scores = np.tile(np.arange(100.0)[::-1], (10, 1)) + 0.01 * np.arange(10)[:, None]
    member = np.zeros((10, 100), dtype=bool)
    member[:, 50:] = True
    curve = roc(scores, member)  # 500 non-members
    assert curve.effective_nonmembers(9 / 500) == pytest.approx(1 / (10 / 500))
    assert curve.effective_nonmembers(29 / 500) == pytest.approx(3 / (30 / 500)) == 50
    assert curve.effective_nonmembers(1.0) == 50
    alone = np.arange(1000).reshape(10, 100)
    assert curve.effective_nonmembers(29 / 500, groups=alone) == 500
    assert roc(scores[0], member[0]).effective_nonmembers(0.001) == 50
    assert roc(scores[:1], member[:1]).effective_nonmembers(0.001) == 50


def test_a_tied_block_counts_as_a_whole():
    """Half of the non-members share the top score, so that no threshold has a rate of 1 %."""
    scores, member = made(8, 400, 1)
    scores = np.where(np.arange(400) % 2 == 0, 9.0, scores)
    curve = roc(scores, member)
    nonmember = ~member[:, ::2]
    carried = nonmember.sum(axis=0)
    want = carried.sum() ** 2 / (carried**2).sum() / (carried.sum() / (~member).sum())
    assert curve.tpr_at(0.01).value == 0
    assert curve.effective_nonmembers(0.01) == pytest.approx(want)


def test_resolvable_by_carriers_and_not_by_entries():
    scores, member = made(64, 2000, 2)
    assert roc(scores, member).resolvable(0.01) and roc(scores, member).resolvable(0.001)
    scores[:, :5] += 100  # five examples take 160 of the 640 false positives that 1 % allows
    curve = roc(scores, member)
    assert curve.distinct_false_positives(0.01) > 300 and curve.resolvable(0.01)
    assert not curve.resolvable(0.001)
    assert curve.tpr_at(0.001, rng=np.random.default_rng(0)).low == 0
    assert not curve.resolvable(0.01, delta=1e-40)


def test_resolvable_by_models():
    """One shift per model and nothing else that entries share: 16 models are too few."""
    scores, member = made(16, 20_000, 3, shift=1.0)
    curve = roc(scores, member)
    assert curve.effective_nonmembers(0.01) * 0.01 > 1000
    assert not curve.resolvable(0.01)
    flat = roc(scores.ravel(), member.ravel())
    groups = np.tile(np.arange(20_000), 16)
    assert flat.resolvable(0.01, groups=groups)  # no models are named
    assert roc(scores - scores.mean(axis=1, keepdims=True), member).resolvable(0.01)
    assert curve.smallest_resolvable() == 1 and curve.records_needed(0.01) == np.inf


@pytest.mark.parametrize("decimals", [12, 1])
def test_smallest_resolvable(decimals):
    scores, member = made(32, 1000, 4, difficulty=2.0)
    curve = roc(scores.round(decimals), member)
    smallest = curve.smallest_resolvable()
    assert 0.001 < smallest < 0.5
    assert all(curve.resolvable(a) for a in np.geomspace(1.0001 * smallest, 1, 200))
    if decimals == 12:
        assert not curve.resolvable(0.97 * smallest)
    assert curve.smallest_resolvable(delta=0.001) > smallest
    assert curve.records_needed(smallest / 10) == np.ceil(10_000 * smallest / smallest)


def test_equal_infinities_are_ties_as_equal_numbers_are():
    """A probability of 0 has the logarithm -inf; only the order of scores counts."""
    scores, member = made(16, 500, 6, difficulty=2.0)
    lowest = scores < np.quantile(scores, 0.3)
    with np.errstate(invalid="raise"):
        found = [
            (curve.smallest_resolvable(), curve.records_needed(0.01), *curve.auc_interval())
            for curve in (roc(np.where(lowest, low, scores), member) for low in (-np.inf, -1e6))
        ]
    assert found[0] == found[1]


def test_records_needed_are_enough_and_not_too_many():
    rate = 0.002
    needed = roc(*made(32, 1500, 5, difficulty=2.0)).records_needed(rate)
    verdicts = [
        np.mean(
            [roc(*made(32, int(f * needed), s, difficulty=2.0)).resolvable(rate) for s in (6, 7)]
        )
        for f in (0.5, 2.0)
    ]
    assert verdicts == [0, 1]


# How far a rate moves


def test_spread_of_a_mean():
    """Effects of examples, of models and of entries: their variances are known."""
    rng, n, n_models = np.random.default_rng(6), 400, 100
    groups = np.tile(np.arange(n), n_models)
    found = []
    for _ in range(40):
        x = 2 * rng.normal(size=n) + rng.normal(size=(n_models, 1))
        x += 3 * rng.normal(size=(n_models, n))
        influence = (x - x.mean()).ravel() / x.size
        spread = pooled.spread(influence, groups, n, n_models)
        found.append((*spread,))
    examples, models, high = np.mean(found, axis=0)
    entry = 9 / (n * n_models)
    assert examples == pytest.approx(4 / n + entry, rel=0.05)
    error = (1 / n_models + entry) * np.sqrt(2 / (n_models - 1))  # one standard error is on top
    assert models == pytest.approx(1 / n_models, rel=0.1)
    assert high == pytest.approx(1 / n_models + error, rel=0.1)
    assert pooled.spread(influence, groups, n, 1).models == 0
    assert pooled.Spread(0.0, 0.0, 0.0).stretch == 1
    assert pooled.Spread(1.0, 0.0, 3.0).stretch == 2


@pytest.mark.parametrize("fpr", [0.02, 0.2])
def test_influence_gives_the_variance_of_the_bootstrap(fpr):
    curve = roc(*made(16, 2000, 7, gap=2.0, difficulty=1.0))
    influence = curve.influence(fpr)
    assert influence.shape == (16, 2000) and abs(influence.sum()) < 1e-12
    rng = np.random.default_rng(0)
    drawn = [np.bincount(rng.integers(2000, size=2000), minlength=2000) for _ in range(400)]
    resampled = curve.weighted_tpr(fpr)(np.array(drawn))
    assert (influence.sum(axis=0) ** 2).sum() == pytest.approx(resampled.var(), rel=0.25)


def test_skewness_against_poisson_tails():
    for count, delta in ((3, 0.05), (20, 0.05), (20, 0.001)):
        limit = count + pooled.skewness(count, delta) * stats.norm.isf(delta / 2) * np.sqrt(count)
        assert stats.poisson.cdf(count, limit) == pytest.approx(delta / 2)


# Bad input


def test_nothing_to_go_by():
    scores, member = made(8, 200, 8)
    rng = np.random.default_rng(0)
    tied = roc(np.zeros((8, 200)), member)
    value, low, high = tied.tpr_at(0.01, rng=rng)
    assert value == low == 0 and 0 < high < 0.03 and tied.tpr_at(1.0, rng=rng) == (1, 1, 1)
    perfect = roc(member.astype(float), member)  # no non-member above the threshold
    assert perfect.tpr_at(0.0, rng=rng) == (1, 0, 1)
    carrier = scores.copy()
    carrier[:, 3] += 100
    one = roc(carrier, member)
    assert not one.resolvable(0.002) and one.distinct_false_positives(0.002) == 1
    assert one.tpr_at(0.002, rng=rng).low == 0
    for curve in (tied, perfect, one):
        assert not curve.resolvable(0.0)
    two = roc([[3.0, 1.0], [0.0, 2.0]], [[True, False], [False, True]])
    assert two.tpr_at(0.5, rng=rng) == (1, 0, 1) and not two.resolvable(0.5)
    assert two.smallest_resolvable() == 1 and two.records_needed(0.1) == np.inf
    with pytest.raises(ValueError, match="n_groups: given 1"):
        two.tpr_at(0.5, groups=np.zeros(2))
    for call in (two.influence, two.effective_nonmembers, two.records_needed, two.resolvable):
        with pytest.raises(ValueError, match="^fpr: given"):
            call(-0.1)
        with pytest.raises(ValueError, match="^groups: given"):
            call(0.1, groups=np.zeros(3))


# Coverage


HARDEST = [
    ("one threshold", 1_797, 0.01),
    ("heavy-tailed difficulty", 5_000, 0.01),
    ("a shift per model", 5_000, 0.01),
    ("LiRA, one spread", 5_000, 0.001),
    ("ratio: known difficulty over one threshold", 1_797, 0.01),
]


@pytest.mark.simulation
@pytest.mark.parametrize(("world", "n", "rate"), HARDEST)
def test_coverage(world, n, rate):
    """False: a rate that is called resolvable and whose interval leaves out the truth."""
    repetitions = 200
    studies = [rates.repetition(world, n, number, (rate,))[0] for number in range(repetitions)]
    found = rates.summary(world, rate, studies)
    print(found)
    assert found["false"] <= stats.binom.isf(0.001, max(found["yes"], 1), 0.05)
    if n == 5_000:
        assert found["yes"] >= stats.binom.ppf(0.001, repetitions, 0.95)
        assert found["width"] < 2


@pytest.mark.simulation
def test_the_binomial_interval_does_not_cover():
    """Entries of one example are not trials of their own."""
    rng, repetitions, naive = np.random.default_rng(11), 100, 0
    truth = rates.truth("one threshold", 0.01)
    for _ in range(repetitions):
        curve = roc(*rates.one_threshold(rng, 600))
        found = curve.tpr[curve.fpr <= 0.01].max() * curve.n_members
        low, high = intervals.clopper_pearson(round(found), curve.n_members)
        naive += low <= truth <= high
    assert naive < 0.6 * repetitions


@pytest.mark.slow
def test_the_law_of_lira_scores():
    """What the simulation takes for the truth, against leave-one-out scores of many records."""
    rng = np.random.default_rng(9)
    for variance in ("per-example", "global"):
        world = f"LiRA, {'one spread' if variance == 'global' else 'a spread per example'}"
        scores, member = rates.WORLDS[world][0](rng, 20_000)
        for t in (0.5, 2.0):
            for side in (True, False):
                seen = (scores[member == side] > t).mean()
                assert rates.lira_law(variance)(t, side) == pytest.approx(seen, rel=0.08, abs=2e-4)


# The parts of a pooled interval, each by its own arithmetic


def test_freedom_is_satterthwaites():
    for v, w, k, m in ((1.0, 3.0, 99.0, 20.0), (2.0, 0.5, 30.0, 8.0)):
        between = pooled.Spread(v, w, 9.0)
        want = (v + w) ** 2 / (v * v / k + w * w / m)
        assert pooled.freedom(between, k, m) == pytest.approx(min(k, want))
    assert pooled.freedom(pooled.Spread(5.0, 0.0, 9.0), 31.0, 2.0) == 31
    assert pooled.freedom(pooled.Spread(1.0, 1.0, 9.0), 4.0, 400.0) == 4  # of the carriers at most


def test_the_rarest_are_carriers_or_models():
    assert pooled.rarest(pooled.Spread(1.0, 0.0, 9.0), 30.0, 20.0) == 30
    assert pooled.rarest(pooled.Spread(1.0, 0.1, 9.0), 30.0, 20.0) == 20
    assert pooled.rarest(pooled.Spread(1.0, 0.1, 9.0), 30.0, 40.0) == 30


def test_what_suffices():
    """Five times log(4 / delta) independent parts; twice as many models where these vary most."""
    enough = 5 * np.log(4 / 0.1)  # 18.4
    assert pooled.enough(0.1) == pytest.approx(enough)
    alike = pooled.Spread(1.0, 0.0, 0.0)
    assert pooled.suffices(alike, enough, 1.0, 0.1) is True
    assert pooled.suffices(alike, 0.99 * enough, 99.0, 0.1) is False
    for variance, models, want in (
        (4.0, 19.0, True),  # 20 carriers, 25 / (1 / 20 + 16 / 19) = 28 parts
        (4.0, 12.0, True),  # 25 / (1 / 20 + 16 / 12) = 18.1: fewer than needed
        (4.01, 36.0, False),  # twice as many models are asked for
        (4.01, 37.0, True),
    ):
        parts = (1 + variance) ** 2 / (1 / 20 + variance**2 / models)
        want = want and bool(min(20, parts) >= enough)
        found = pooled.suffices(pooled.Spread(1.0, variance, 9.0), 20.0, models, 0.1)
        assert found is want


def test_the_ends_of_a_pooled_interval(monkeypatch):
    """Both sides of the bootstrap's interval are stretched for the models, the lower one for what
    is rare too.
    """
    curve = roc(*made(64, 600, 1, shift=0.5))
    fpr, n = 0.2, 64
    monkeypatch.setattr(intervals, "bootstrap", lambda *_, **__: (0.5, 0.45, 0.56))
    influence = curve.influence(fpr)
    examples = (influence.sum(axis=0) ** 2).sum()
    models = (influence.sum(axis=1) ** 2).sum()
    added = models - (influence**2).sum()
    stretch = np.sqrt(1 + (added + models * np.sqrt(2 / (n - 1))) / examples)
    count = min(curve.carried_by(fpr))  # models add something, so that they count too
    normal = stats.norm.isf(0.05) * np.sqrt(count)
    skew = (stats.gamma.isf(0.05, count + 1) - count) / normal
    assert added > 0 and skew > 1 and curve.resolvable(fpr, delta=0.1)
    found = curve.tpr_at(fpr, delta=0.1)
    want = 0.5, 0.5 - stretch * skew * 0.05, 0.5 + stretch * 0.06
    np.testing.assert_allclose(found, want, rtol=1e-9)
    monkeypatch.setattr(intervals, "bootstrap", lambda *_, **__: (0.99, 0.01, 1.0))
    assert curve.tpr_at(fpr, delta=0.1).low == 0  # and not below


@pytest.mark.parametrize(("fpr", "n"), [(0.2, 60), (0.05, 60), (0.8, 60), (0.5, 3)])
def test_influence_by_hand(fpr, n):
    """A member above the threshold raises the TPR; a non-member above it moves the threshold, along
    the slope of the curve about the rate.
    """
    scores, member = made(6, n, 3)
    curve = roc(scores, member)
    above = sorted(scores[~member], reverse=True)
    n0, n1 = len(above), member.sum()

    def at(rate):
        """FPR, TPR and threshold (exclusive) where at most this rate is called."""
        called = max(k for k in range(n0 + 1) if k / n0 <= rate)
        threshold = above[called] if called < n0 else -np.inf
        return called / n0, (scores[member] > threshold).mean(), threshold

    carriers = curve.effective_nonmembers(fpr) * fpr
    reach = min(0.9, 2 / np.sqrt(max(1, carriers)))
    ends = at(fpr * (1 - reach)), at(min(1, fpr * (1 + reach)))
    slope = (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0])
    rate, value, threshold = at(fpr)
    want = np.where(
        member, ((scores > threshold) - value) / n1, -slope * ((scores > threshold) - rate) / n0
    )
    np.testing.assert_allclose(curve.influence(fpr), want, rtol=1e-9, atol=1e-15)


def test_carried_by_counts_examples_and_models():
    scores, member = made(6, 40, 5)
    curve = roc(scores, member)
    order = [place for place in np.argsort(-scores.ravel()) if not member.ravel()[place]]
    for fpr in (0.1, 0.5):
        called = order[: int(fpr * len(order)) + 1]  # and the one that comes next
        counts = []
        for names in ([place % 40 for place in called], [place // 40 for place in called]):
            sizes = [names.count(name) for name in set(names)]
            counts.append(sum(sizes) ** 2 / sum(k * k for k in sizes))
        want = counts[0] * len(order) / len(called) * fpr, counts[1]
        np.testing.assert_allclose(curve.carried_by(fpr), want, rtol=1e-9)


def test_a_pooled_area_has_the_variance_of_examples_and_of_models():
    """Every pair of a member and a non-member, by loops; what each entry adds is summed over its
    example and over its model."""
    scores, member = made(4, 40, 6)
    places = [(s, i) for s in range(4) for i in range(40)]
    inside, outside = ([p for p in places if member[p] == side] for side in (True, False))
    won = {
        (a, b): (scores[a] > scores[b]) + (scores[a] == scores[b]) / 2
        for a in inside
        for b in outside
    }
    area = sum(won.values()) / len(won)
    moves = {a: sum(won[a, b] - area for b in outside) / len(won) for a in inside}
    moves |= {b: sum(won[a, b] - area for a in inside) / len(won) for b in outside}
    assert min(len({i for _, i in side}) for side in (inside, outside)) >= 30
    examples = sum(sum(moves[s, i] for s in range(4)) ** 2 for i in range(40))
    models = sum(sum(moves[s, i] for i in range(40)) ** 2 for s in range(4))
    added = models * (1 + (2 / 3) ** 0.5) - sum(m**2 for m in moves.values())
    parts = examples * 40 / 39, max(0.0, added)
    assert parts[1] > 0 or models < sum(m**2 for m in moves.values())
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 39 + parts[1] ** 2 / 3)
    logit, error = np.log(area / (1 - area)), sum(parts) ** 0.5 / (area * (1 - area))
    for delta in (0.05, 0.4):
        reach = stats.t.ppf(1 - delta / 2, freedom) * error
        want = [area, *(1 / (1 + np.exp(-logit + side * reach)) for side in (1, -1))]
        np.testing.assert_allclose(roc(scores, member).auc_interval(delta), want, rtol=1e-9)


@pytest.mark.simulation
@pytest.mark.parametrize("few", [1, 2, 5])
def test_few_groups_of_members_are_not_taken_for_many(few):
    """Ten records each of a thousand people, of whom few are members; nothing leaks."""
    groups, missed = np.repeat(np.arange(1000), 10), 0
    for seed in range(100):
        rng = np.random.default_rng([seed, few])
        scores = rng.normal(size=groups.size) + rng.normal(size=1000)[groups]
        found = roc(scores, groups < few).auc_interval(groups=groups)
        missed += not found.low <= 0.5 <= found.high
    assert missed <= 12  # of 100; 95, 38 and 15 where all groups count as one side


def test_a_rate_of_few_groups_leaves_room_at_its_end():
    """Eleven canaries in eight models, all found or none: the limit of eleven trials."""
    member = np.zeros((8, 3000), bool)
    member[::2, :11] = True
    rng = np.random.default_rng(0)
    found = roc(rng.normal(size=member.shape) + 100 * member, member).tpr_at(0.01, rng=rng)
    assert found.value == 1 and np.isclose(found.low, 0.0)  # not resolved: twenty groups at least
    nobody = roc(rng.normal(size=member.shape) - 100 * member, member).tpr_at(0.01, rng=rng)
    assert nobody.value == 0 and np.isclose(nobody.high, 1 - 0.025 ** (1 / 11))
    assert not roc(rng.normal(size=member.shape), member).resolvable(0.5)
    member[::2, :25] = True
    found = roc(rng.normal(size=member.shape) + 100 * member, member).tpr_at(0.01, rng=rng)
    assert found.value == 1 and np.isclose(found.low, 0.025 ** (1 / 25))


def test_a_rate_of_many_groups_has_a_width_where_all_or_none_are_found():
    """Three hundred examples in eight models: none found is not a rate of 0 for sure."""
    rng = np.random.default_rng(0)
    member = rng.permuted(np.repeat([[True], [False]], 4, axis=0).repeat(300, 1), axis=0)
    nobody = roc(rng.normal(size=member.shape) - 100 * member, member).tpr_at(0.05, rng=rng)
    assert nobody.value == 0 and np.isclose(nobody.high, 1 - 0.025 ** (1 / 300))
    everyone = roc(rng.normal(size=member.shape) + 100 * member, member).tpr_at(0.05, rng=rng)
    assert everyone.value == 1 and np.isclose(everyone.low, 0.025 ** (1 / 300))


@pytest.mark.simulation
def test_a_rate_that_is_rarely_found_is_covered():
    """Of a thousand examples three stick out in every model: most samples of 300 have one or none,
    and those with none would be missed by an interval that ends where it begins.
    """
    covered, n_draws = 0, 200
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        member = rng.permuted(np.repeat([[True], [False]], 4, axis=0).repeat(300, 1), axis=0)
        found = rng.random(300) < 0.003
        scores = rng.normal(size=member.shape) + np.where(found, 100, -100) * member
        low, high = roc(scores, member).tpr_at(0.05, rng=rng)[1:]
        covered += low <= 0.003 <= high
    assert covered >= 0.93 * n_draws
