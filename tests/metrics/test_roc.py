import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from mia_lib import intervals, metrics
from mia_lib.metrics import resolution, roc


def by_hand(scores, member):
    """Every threshold by a loop: {threshold: (fpr, tpr)}, and the AUC over all pairs."""
    scores, member = list(np.ravel(scores)), list(np.ravel(member))
    n1 = sum(member)
    n0 = len(member) - n1
    points = {float("inf"): (0.0, 0.0)}
    for t in set(scores):
        tp = sum(1 for s, m in zip(scores, member) if m and s >= t)
        fp = sum(1 for s, m in zip(scores, member) if not m and s >= t)
        points[t] = (fp / n0, tp / n1)
    won = sum(
        (s > r) + (s == r) / 2
        for s, m in zip(scores, member)
        if m
        for r, o in zip(scores, member)
        if not o
    )
    return points, won / (n1 * n0)


def largest_tpr(points, fpr):
    return max(tpr for f, tpr in points.values() if f <= fpr)


@st.composite
def cases(draw):
    n = draw(st.integers(2, 25))
    # Few distinct values, so that ties within and across the groups are the rule.
    scores = draw(
        st.lists(st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 2.0, 7.0]), min_size=n, max_size=n)
    )
    member = draw(
        st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda m: any(m) and not all(m))
    )
    return np.array(scores), np.array(member)


@settings(deadline=None, max_examples=200)
@given(cases(), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])))
def test_curve_by_brute_force(case, fpr):
    scores, member = case
    points, auc = by_hand(scores, member)
    curve = roc(scores, member)
    assert curve.thresholds[0] == np.inf and (np.diff(curve.thresholds) < 0).all()
    assert dict(zip(curve.thresholds, zip(curve.fpr, curve.tpr))) == points
    assert curve.auc == pytest.approx(auc, abs=1e-12)
    assert curve.auc == pytest.approx(np.trapezoid(curve.tpr, curve.fpr), abs=1e-12)
    assert curve.balanced_accuracy == pytest.approx(
        max((1 + t - f) / 2 for f, t in points.values())
    )
    assert curve.fpr_floor == 1 / (~member).sum()
    assert (curve.n_members, curve.n_nonmembers) == (member.sum(), (~member).sum())
    estimate = curve.tpr_at(fpr)
    assert estimate.value == largest_tpr(points, fpr)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    area = curve.auc_interval()
    assert area.value == curve.auc and 0 <= area.low <= area.value <= area.high <= 1


def test_auc_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    for decimals in (0, 1, 12):
        member = rng.random(500) < 0.3
        scores = (rng.normal(size=500) + member).round(decimals)
        assert roc(scores, member).auc == pytest.approx(roc_auc_score(member, scores), abs=1e-12)


def test_ties_cannot_be_split():
    # Nine of ten share the top score: no threshold takes some of them and not the others.
    curve = roc([1.0] * 9 + [0.0], [True] * 5 + [False] * 5)
    np.testing.assert_array_equal(curve.fpr, [0, 0.8, 1])
    np.testing.assert_array_equal(curve.tpr, [0, 1, 1])
    assert curve.tpr_at(0.79).value == 0 and curve.tpr_at(0.8).value == 1


def test_at_most_means_at_most():
    # One false positive of a hundred is FPR 1 %, which is allowed at 1 %, and 29 / 100 is allowed
    # at 0.29 although 0.29 * 100 rounds to less than 29.
    scores = np.arange(200.0)
    member = np.arange(200) % 2 == 0
    curve = roc(scores, member)
    points, _ = by_hand(scores, member)
    for k in range(101):
        assert (
            curve.tpr_at(k / 100).value
            == largest_tpr(points, k / 100)
            == min(k, 99) / 100 + (k == 100) * 0.01
        )


def test_monotone_transformations_keep_the_curve():
    rng = np.random.default_rng(1)
    scores, member = rng.normal(size=100), rng.random(100) < 0.5
    one, other = roc(scores, member), roc(np.exp(scores), member)
    np.testing.assert_array_equal(one.fpr, other.fpr)
    np.testing.assert_array_equal(one.tpr, other.tpr)
    assert roc(-scores, member).auc == pytest.approx(1 - one.auc)


@pytest.mark.parametrize(
    ("scores", "member", "name"),
    [
        ([1.0, 2.0], [True, True], "member"),
        ([1.0, 2.0], [False, False], "member"),
        ([1.0, np.nan], [True, False], "scores"),
        ([1.0, np.inf], [True, False], "scores"),
        ([1.0, 2.0], [True], "member"),
        ([[1.0, 2.0]], [True, False], "member"),
        ([], [], "scores"),
        (1.0, True, "scores"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2), bool), "scores"),
        ([1.0, 2.0], [1, 2], "member"),
    ],
)
def test_refuses(scores, member, name):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        roc(scores, member)


def test_methods_refuse():
    curve = roc([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]], [[1, 0, 1], [0, 1, 0]])
    for wrong in (-0.1, 1.1, np.nan, "0.1"):
        with pytest.raises(ValueError, match="^fpr: given "):
            curve.tpr_at(wrong)
    for call in (curve.tpr_at, curve.distinct_false_positives):
        with pytest.raises(ValueError, match="^groups: given "):
            call(0.1, groups=[0, 1])
    for call in (lambda **o: curve.tpr_at(0.1, **o), curve.auc_interval):
        with pytest.raises(ValueError, match="^delta: given "):
            call(delta=0)
        with pytest.raises(ValueError, match="^rng: given "):
            call(rng=3)


# One target: the distribution-free interval


def at_most(k, n0, fpr):
    """Pr(Bin(n0, fpr) <= k), term by term."""
    return math.fsum(math.comb(n0, i) * fpr**i * (1 - fpr) ** (n0 - i) for i in range(k + 1))


@pytest.mark.parametrize("n0", [1, 5, 200, 900])
@pytest.mark.parametrize("fpr", [0.0, 0.001, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("n1", [1, 300])
def test_ranks_and_levels_spend_delta(n0, fpr, n1):
    """The threshold errs with p, the TPR, independently, with the level: together delta / 2."""
    for delta in (0.5, 0.1, 0.001):
        strict = resolution.strict_rank(n0, n1, fpr, delta)
        assert (strict is None) == (at_most(0, n0, fpr) > delta / 4)
        place, level = resolution.lax_rank(n0, n1, fpr, delta)
        sides = [(1 - at_most(place, n0, fpr), level)]
        if strict is not None:
            sides.append((at_most(strict[0], n0, fpr), strict[1]))
        for p, level in sides:
            assert p + (1 - p) * level == pytest.approx(delta / 2, rel=1e-6)
            assert level >= delta / 40


@pytest.mark.parametrize("n0", [5, 200, 900])
@pytest.mark.parametrize("fpr", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_one_target_interval_by_its_definition(n0, fpr):
    rng = np.random.default_rng(0)
    n1 = 5000  # enough that some lie between any two non-members
    members, nonmembers = rng.normal(1, 1, n1), np.sort(rng.normal(size=n0))[::-1]
    got = roc(np.append(members, nonmembers), np.arange(n1 + n0) < n1).tpr_at(fpr, delta=0.1)
    strict = resolution.strict_rank(n0, n1, fpr, 0.1)
    place, level = resolution.lax_rank(n0, n1, fpr, 0.1)
    low, high = 0.0, 1.0
    if strict is not None:
        k = sum(members > nonmembers[strict[0]])
        low = stats.beta.ppf(strict[1], k, n1 - k + 1) if k else 0.0
    if place < n0:
        k = sum(members > nonmembers[place])
        high = stats.beta.isf(level, k + 1, n1 - k) if k < n1 else 1.0
    assert got.low == pytest.approx(low, abs=1e-12) and got.high == pytest.approx(high, abs=1e-12)


def test_lower_end_is_zero_exactly_where_not_resolvable():
    for n0, resolvable in ((4379, False), (4380, True)):
        scores = np.append(np.full(100, 5.0), np.linspace(0, 1, n0))
        curve = roc(scores, np.arange(100 + n0) < 100)
        assert curve.resolvable(0.001) is resolvable
        assert (curve.tpr_at(0.001).low > 0) is resolvable
        assert curve.resolvable(0.01)
        assert not curve.resolvable(0.001, delta=0.01)


@pytest.mark.parametrize(
    ("fpr", "purpose", "n"),
    [
        (1e-3, "certify", 2_995),
        (1e-5, "certify", 299_572),
        (1e-3, "interval", 4_380),
        (1e-5, "interval", 438_201),
    ],
)
def test_nonmembers_needed(fpr, purpose, n):
    assert metrics.n_nonmembers_needed(fpr, purpose=purpose) == n
    level = 0.05 if purpose == "certify" else 0.0125
    assert stats.binom.pmf(0, n, fpr) <= level < stats.binom.pmf(0, n - 1, fpr)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"fpr": 0}, "fpr"), ({"delta": 1}, "delta"), ({"purpose": "x"}, "purpose")],
)
def test_nonmembers_needed_refuses(options, name):
    with pytest.raises(ValueError, match=f"^{name}: given "):
        metrics.n_nonmembers_needed(**{"fpr": 0.1, **options})


@pytest.mark.parametrize(
    ("tpr", "fpr", "delta"),
    [(0.02, 0.01, 0.05), (0.1, 0.01, 0.05), (1.0, 0.5, 0.2), (0.3, 0.2, 0.01)],
)
def test_members_needed(tpr, fpr, delta):
    """The first n at which a binomial tail says that guessing would hardly find round(tpr n) of n
    members.
    """
    n = 1
    while not stats.binom.sf(np.round(tpr * n) - 1, n, fpr) < delta / 4:
        n += 1
    assert metrics.n_members_needed(tpr, fpr, delta) == n
    for bad in ({"tpr": 0.01, "fpr": 0.01}, {"tpr": 1.1, "fpr": 0.01}, {"tpr": 0.5, "fpr": 0.0}):
        with pytest.raises(ValueError, match="given "):
            metrics.n_members_needed(**bad)


def test_members_needed_for_a_rate_hardly_above_guessing():
    """Half a billion: found by halving, and by the normal law to three digits."""
    found = metrics.n_members_needed(0.01001, 0.01)
    assert found == pytest.approx((stats.norm.isf(0.0125) / 1e-5) ** 2 * 0.01 * 0.99, rel=2e-3)


@pytest.mark.simulation
@pytest.mark.parametrize(("n0", "fpr"), [(1000, 0.01), (1000, 0.1), (200, 0.001)])
@pytest.mark.parametrize("decimals", [12, 0])
def test_one_target_tpr_coverage(n0, fpr, decimals):
    """Members N(1, 1), non-members N(0, 1), and the same rounded to whole numbers, where ties are
    everywhere.
    """
    rng = np.random.default_rng(7)
    if decimals == 0:
        edges = np.arange(-10, 12) - 0.5  # rounded score >= k where the score is above k - 1/2
        truth = stats.norm.sf(edges - 1)[stats.norm.sf(edges) <= fpr].max()
    else:
        truth = stats.norm.sf(stats.norm.isf(fpr) - 1)
    member = np.arange(300 + n0) < 300
    covered, width, quarters = 0, 0.0, 0.0
    for _ in range(1000):
        curve = roc((rng.normal(size=member.size) + member).round(decimals), member)
        estimate = curve.tpr_at(fpr)
        covered += estimate.low <= truth <= estimate.high
        width += estimate.high - estimate.low
        quarters += in_quarters(curve, fpr)
    assert covered >= 927
    if n0 == 1000 and decimals:
        assert width / 1000 < (0.35 if fpr == 0.1 else 0.25)  # it says something
        assert width < 0.99 * quarters


def in_quarters(curve, fpr, delta=0.05):
    """Width of the interval that gives delta / 4 to each threshold and each TPR, whatever the
    thresholds need of it.
    """
    n0, n1 = curve.n_nonmembers, curve.n_members
    few = int(stats.binom.ppf(delta / 4, n0, fpr))
    few -= stats.binom.cdf(few, n0, fpr) > delta / 4
    many = int(stats.binom.isf(delta / 4, n0, fpr))
    found = [(curve.member_scores > curve.nonmember_scores[k]).sum() for k in (max(few, 0), many)]
    low = stats.beta.ppf(delta / 4, found[0], n1 - found[0] + 1) if few >= 0 and found[0] else 0.0
    high = stats.beta.isf(delta / 4, found[1] + 1, n1 - found[1]) if found[1] < n1 else 1.0
    return high - low


@pytest.mark.simulation
@pytest.mark.parametrize("side", ["above", "below"])
def test_one_target_tpr_coverage_at_a_jump(side):
    """All members just on one side of the threshold: the curve that costs the limits most. A
    threshold that is a little too lax finds all of them, one that is too strict none, so delta is
    spent in full.
    """
    rng, n0, n1, fpr = np.random.default_rng(8), 1000, 300, 0.01
    member = np.arange(n1 + n0) < n1
    edge = 1 - fpr  # of uniform non-members; half of the members are spread like these
    misses = 0
    for _ in range(1000):
        scores = rng.random(member.size)
        jumping = rng.random(n1) < 0.5
        scores[:n1][jumping] = edge + (1e-9 if side == "above" else -1e-9)
        truth = 0.5 * fpr + 0.5 * (side == "above")
        estimate = roc(scores, member).tpr_at(fpr)
        misses += not estimate.low <= truth <= estimate.high
    assert stats.binom.ppf(0.001, 1000, 0.005) <= misses <= 73


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("n1", "n0", "shift"), [(500, 500, 0.0), (500, 500, 1.0), (300, 900, 0.2), (40, 40, 2.33)]
)
def test_one_target_auc_coverage(n1, n0, shift):
    rng = np.random.default_rng(5)
    truth = stats.norm.cdf(shift / np.sqrt(2))
    member = np.arange(n1 + n0) < n1
    covered = 0
    for _ in range(1000):
        estimate = roc(rng.normal(size=n1 + n0) + shift * member, member).auc_interval()
        covered += estimate.low <= truth <= estimate.high
    assert 927 <= covered <= 990


def test_auc_variance_is_delongs():
    rng = np.random.default_rng(2)
    members, nonmembers = rng.normal(0.5, 1, 40).round(1), rng.normal(size=30).round(1)
    won = (members[:, None] > nonmembers) + (members[:, None] == nonmembers) / 2
    variance = won.mean(axis=1).var(ddof=1) / 40 + won.mean(axis=0).var(ddof=1) / 30
    estimate = roc(np.append(members, nonmembers), np.arange(70) < 40).auc_interval()
    logit = np.log(estimate.value / (1 - estimate.value))
    ends = np.log(np.array(estimate[1:]) / (1 - np.array(estimate[1:])))
    assert ends.mean() == pytest.approx(logit)  # symmetric in the logit
    freedom = variance**2 / sum(
        (v / n) ** 2 / (n - 1)
        for v, n in ((won.mean(axis=1).var(ddof=1), 40), (won.mean(axis=0).var(ddof=1), 30))
    )
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance) / (estimate.value * (1 - estimate.value))
    assert ends[1] - ends[0] == pytest.approx(2 * half)


def test_auc_interval_at_the_extremes():
    perfect = roc(np.arange(30.0), np.arange(30) >= 20).auc_interval()
    assert perfect.value == perfect.high == 1
    assert perfect.low == pytest.approx(0.025 ** (1 / 10))  # ten disjoint pairs
    reverse = roc(-np.arange(30.0), np.arange(30) >= 20).auc_interval()
    assert reverse == (0, 0, pytest.approx(1 - perfect.low))
    tied = roc(np.zeros(10), np.arange(10) < 5).auc_interval()  # five disjoint pairs, all tied
    assert tied == (0.5, pytest.approx(0.05 ** (1 / 5) / 2), pytest.approx(1 - tied.low))
    alone = roc([2.0, 3.0, 1.0, 0.0], [True, False, False, False]).auc_interval()
    assert alone.low < 0.2 and alone.high > 0.9


# Pooled targets: the bootstrap over examples


def pooled(rng, n_targets, n, exposed, effect=1.5):
    """Scores in which every example has an effect of its own; the first `exposed` of them are
    recognised as members.

    An entry of an unexposed example is N(e, 1) with e ~ N(0, effect^2), member or not; an exposed
    member has 4 added. Non-members are N(0, 1 + effect^2) whatever the example, so the ROC is
    known.
    """
    member = rng.random((n_targets, n)) < 0.5
    scores = rng.normal(size=(n_targets, n)) + effect * rng.normal(size=n)
    scores += 4 * (member & (rng.random(n) < exposed))
    return scores, member


def test_weighted_statistics_by_copying_examples(monkeypatch):
    """Drawing an example twice is having it twice: the bootstrap's statistics equal those of copied
    columns.
    """
    rng = np.random.default_rng(0)
    scores, member = pooled(rng, 4, 30, 0.3)
    scores = scores.round(0)
    drawn = rng.integers(30, size=(40, 30))
    weights = np.stack([np.bincount(columns, minlength=30) for columns in drawn])
    monkeypatch.setattr(intervals, "bootstrap", lambda statistic, *_, **__: statistic(weights))
    copies = [(scores[:, columns], member[:, columns]) for columns in drawn]
    curve = roc(scores, member)
    for fpr in (0.0, 0.02, 0.1, 0.5, 1.0):
        want = [largest_tpr(by_hand(*copy)[0], fpr) for copy in copies[:10]]
        np.testing.assert_allclose(curve.weighted_tpr(fpr)(weights[:10]), want, rtol=1e-12)


def test_a_short_prefix_is_extended():
    """The top of the ranking belongs to example 0, so a resample without it passes the rate much
    further down.
    """
    rng = np.random.default_rng(0)
    member = rng.random((400, 20)) < 0.5
    scores = rng.normal(size=(400, 20)) - 50.0 * np.arange(20)
    drawn = np.array([[0] * 20, [19] * 20, np.arange(20), [0] * 10 + [7] * 10])
    weights = np.stack([np.bincount(columns, minlength=20) for columns in drawn])
    got = roc(scores, member).weighted_tpr(0.02)(weights)
    want = [roc(scores[:, c].ravel(), member[:, c].ravel()).tpr_at(0.02).value for c in drawn]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_resamples_without_members_are_left_out():
    scores = np.array([[3.0, 2.0, 1.0], [2.5, 1.5, 0.5]])
    member = np.array([[True, False, False], [True, False, False]])
    assert roc(scores, member).tpr_at(0.0, rng=np.random.default_rng(0)) == (1, 0, 1)
    # Both members are one example's, so that there is one pair of examples.
    assert roc(scores, member).auc_interval() == (1, pytest.approx(0.025), 1)
    with pytest.raises(ValueError, match="^groups: given a single group, expected"):
        roc(scores, member).auc_interval(groups=[0, 0, 0])


def test_groups():
    rng = np.random.default_rng(0)
    scores, member = pooled(rng, 6, 50, 0.2)
    curve = roc(scores, member)

    def seeded(roc, **options):
        return roc.tpr_at(0.1, rng=np.random.default_rng(1), **options)

    names = np.array([f"example {i:02d}" for i in range(50)])
    assert (
        seeded(curve) == seeded(curve, groups=names) == seeded(curve, groups=np.tile(names, (6, 1)))
    )
    flat = roc(scores.ravel(), member.ravel())
    # Flattened scores name no models, so that nothing is added for them.
    assert seeded(flat, groups=np.tile(names, 6)).value == seeded(curve).value
    assert seeded(flat, groups=np.tile(names, 6)).high <= seeded(curve).high
    # Each flattened entry its own group, or a single target: independent entries, hence the
    # distribution-free interval. Rows name models still, whatever the groups are.
    assert seeded(flat, groups=np.arange(300)) == seeded(flat)
    assert seeded(curve, groups=np.arange(300).reshape(6, 50)) != seeded(flat)
    assert roc(scores[:1], member[:1]).tpr_at(0.1) == roc(scores[0], member[0]).tpr_at(0.1)
    assert roc(scores[:1], member[:1]).auc_interval() == roc(scores[0], member[0]).auc_interval()


def test_same_generator_same_interval():
    scores, member = pooled(np.random.default_rng(0), 6, 50, 0.2)
    curve = roc(scores, member)
    one, two = (curve.tpr_at(0.1, rng=np.random.default_rng(1)) for _ in range(2))
    assert one == two != curve.tpr_at(0.1, rng=np.random.default_rng(2))
    assert len({curve.auc_interval(rng=np.random.default_rng(seed)) for seed in (1, 2)}) == 1


def test_disjoint_pairs_of_examples_where_every_pair_is_in_order():
    """Three examples that are both, one member only, two non-members only: three pairs at most."""
    member = np.array([[1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)
    scores = member + 0.01 * np.arange(12).reshape(2, 6)
    assert roc(scores, member).auc_interval().low == pytest.approx(0.025 ** (1 / 3))
    assert roc(-scores, member).auc_interval().high == pytest.approx(1 - 0.025 ** (1 / 3))
    alone = np.zeros((2, 6), dtype=bool)
    alone[:, 0] = True  # a single example has been a member
    assert roc(alone + scores - member, alone).auc_interval().low == pytest.approx(0.025)


def test_distinct_false_positives():
    # Ten targets; the non-member entries of example 0 hold the top ten places.
    scores = np.tile(np.arange(100.0)[::-1], (10, 1))
    member = np.zeros((10, 100), dtype=bool)
    member[:, 50:] = True
    curve = roc(scores, member)
    assert curve.distinct_false_positives(0.0) == 0
    assert curve.distinct_false_positives(10 / 500) == 1
    assert curve.distinct_false_positives(20 / 500) == 2
    assert curve.distinct_false_positives(1.0) == 50
    assert curve.distinct_false_positives(20 / 500, groups=np.arange(1000).reshape(10, 100)) == 20


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("n_targets", "n", "difficulty", "shift", "gap", "covers"),
    [
        (16, 200, 1.0, 0.0, 0.0, 0.94),
        (64, 400, 3.0, 0.0, 2.0, 0.94),
        (64, 400, 1.0, 0.5, 2.0, 0.94),
        (16, 400, 1.0, 0.5, 2.0, 0.94),
        (4, 400, 1.0, 0.2, 1.0, 0.94),
        (16, 100, 2.0, 0.0, 2.0, 0.94),
        # where it is known to fall short of 95 %, as the docstring says
        (4, 400, 1.0, 0.5, 2.0, 0.92),
        (4, 400, 1.0, 1.0, 2.0, 0.75),
        (16, 400, 1.0, 1.0, 5.0, 0.91),
        (16, 200, 1.0, 0.0, 8.0, 0.90),
    ],
)
def test_pooled_auc_coverage(n_targets, n, difficulty, shift, gap, covers):
    """Normal signals with an effect of each example and one of each model, which the area of
    infinitely many of both knows: Phi(gap / sqrt(2 (1 + difficulty^2 + shift^2)))."""
    rng = np.random.default_rng(13)
    truth = stats.norm.cdf(gap / np.sqrt(2 * (1 + difficulty**2 + shift**2)))
    covered, values, n_worlds = 0, [], 400
    for _ in range(n_worlds):
        member = rng.random((n_targets, n)) < 0.5
        scores = rng.normal(size=(n_targets, n)) + difficulty * rng.normal(size=n)
        scores += shift * rng.normal(size=(n_targets, 1)) + gap * member
        estimate = roc(scores, member).auc_interval()
        covered += estimate.low <= truth <= estimate.high
        values.append(estimate.value)
    print(f"covered {covered / n_worlds:.1%}")
    error = np.std(values, ddof=1)
    assert abs(np.mean(values) - truth) < 4 * error / np.sqrt(n_worlds) + 0.3 * error * (shift > 0)
    assert stats.binom.ppf(0.001, n_worlds, covers) <= covered


def test_bootstrap_memory_stays_small():
    scores, member = pooled(np.random.default_rng(0), 64, 1000, 0.1)
    curve = roc(scores, member)
    tracemalloc.start()
    curve.tpr_at(0.01, rng=np.random.default_rng(0))
    curve.auc_interval(rng=np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # a matrix of 1,000 resamples x 64,000 entries would be 512 MB


def test_the_rate_of_a_draw_with_a_single_member():
    """Targets in rows, the group of an entry being its record; by counting the entries drawn."""
    scores = np.array([[0.9, 0.1, 0.4, 0.3], [0.2, 0.8, 0.6, 0.5]])
    member = np.array([[True, False, False, False], [False, False, True, False]])
    curve = roc(scores, member)
    weights = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [2, 1, 0, 0], [0, 2, 0, 1], [3, 0, 0, 0]])
    for fpr in (0.0, 0.3, 0.6):
        want = []
        for drawn in weights:
            inside, outside = [], []
            for who, side in ((True, inside), (False, outside)):
                for s, i in np.argwhere(member == who):
                    side += [scores[s, i]] * drawn[i]
            allowed = [
                np.mean(np.greater_equal(inside, cut))
                for cut in [np.inf, *inside]
                if inside and outside and np.mean(np.greater_equal(outside, cut)) <= fpr
            ]
            want.append(max(allowed, default=np.nan))
        np.testing.assert_allclose(curve.weighted_tpr(fpr)(weights), want)
    assert np.isnan(want[3]) and not np.isnan(want[1])


def test_a_threshold_that_spends_exactly_its_part_is_allowed():
    """(1 - 1/2)^3 is a quarter of 1/2."""
    assert resolution.strict_rank(3, 50, 0.5, 0.5)[0] == 0
    assert resolution.strict_rank(3, 50, 0.5, 0.49) is None


def test_a_single_member_has_the_largest_variance_that_an_area_allows():
    scores, member = np.array([2.5, 1.0, 2.0, 3.0, 4.0]), np.arange(5) == 0
    auc, delta = 0.5, 0.1
    parts = auc * (1 - auc), np.var([1, 1, 0, 0], ddof=1) / 4
    freedom = sum(parts) ** 2 / (parts[0] ** 2 + parts[1] ** 2 / 3)
    half = stats.t.isf(delta / 2, freedom) * math.sqrt(sum(parts)) / (auc * (1 - auc))
    want = auc, 1 / (1 + math.exp(half)), 1 / (1 + math.exp(-half))
    np.testing.assert_allclose(roc(scores, member).auc_interval(delta), want)
