"""Generalized metrics: Lemma 7 as printed on a fine grid, thresholds by brute force, Algorithm 2 by
its definition.
"""

import numpy as np
import pytest

from mia_lib import bayes, intervals, metrics
from mia_lib.bayes import generalized
from mia_lib.metrics import Metric

F1 = Metric(0, 2, 0, 0, 0, 0, 2, 1, 1, 0)
COUNT = 41


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def as_printed(metric, x, y, p, t):
    """The objective of Lemma 7, symbol by symbol."""
    m = metric
    n1, n2, n3, n4 = m.a0 + m.a01, m.a0 + m.a00, m.a11 - m.a01, m.a10 - m.a00
    d1, d2, d3, d4 = m.b0 + m.b01, m.b0 + m.b00, m.b11 - m.b01, m.b10 - m.b00
    called = x >= (1 - p) * t / ((1 - t) * p) * y
    return (n1 * x * p + n2 * y * (1 - p) + n3 * x * p * called + n4 * y * (1 - p) * called) / (
        d1 * x * p + d2 * y * (1 - p) + d3 * x * p * called + d4 * y * (1 - p) * called
    )


def grid_of(box, p, t):
    """Points of the box: a grid, and points on and close to both sides of the switching line."""
    x, y = (
        v.ravel()
        for v in np.meshgrid(np.linspace(box[0], box[1], 60), np.linspace(box[2], box[3], 60))
    )
    slope = (1 - p) * t / ((1 - t) * p)
    line = np.linspace(box[2], box[3], 60)
    near = np.concatenate([line * slope * factor for factor in (1 - 1e-12, 1, 1 + 1e-12)])
    beside = np.tile(line, 3)
    across = np.linspace(box[0], box[1], 60)
    near, beside = (
        np.append(near, np.tile(across, 3)),
        np.append(
            beside,
            np.concatenate([across / slope * factor for factor in (1 - 1e-12, 1, 1 + 1e-12)]),
        ),
    )
    inside = (near >= box[0]) & (near <= box[1]) & (beside >= box[2]) & (beside <= box[3])
    return np.append(x, near[inside]), np.append(y, beside[inside])


def test_lemma_7_against_a_grid_on_random_metrics():
    rng = np.random.default_rng(3)
    inside = outside = jumps = 0
    for _ in range(300):
        a, b = (
            rng.normal(size=5),
            rng.uniform(0.1, 1, size=5),
        )  # numerators of either sign, denominators without zeros
        metric = Metric(*a, *b)
        p, t = rng.uniform(0.05, 0.95), rng.uniform(0.05, 0.95)
        box = np.concatenate([np.sort(rng.uniform(0.01, 1, 2)), np.sort(rng.uniform(0.01, 1, 2))])
        x, y = grid_of(box, p, t)
        value = as_printed(metric, x, y, p, t)
        low, high = bayes.generalized_risk_interval(metric, *box[:, None], p, t)
        assert low[0] == pytest.approx(value.min(), abs=1e-9)
        assert high[0] == pytest.approx(value.max(), abs=1e-9)
        called = x * p * (1 - t) >= (1 - p) * t * y
        inside += called.any() and not called.all()
        outside += called.all() or not called.any()
        jumps += called.any() and not called.all() and value.max() - value.min() > 0.1
    assert min(inside, outside, jumps) > 30


def test_lemma_7_for_many_boxes_at_once_is_the_same_as_one_by_one(rng):
    boxes = np.sort(rng.uniform(0, 1, (2, 2, 200)), axis=1).reshape(4, 200)
    low, high = bayes.generalized_risk_interval(metrics.am(0.2), *boxes, 0.2, 0.2)
    for i in range(0, 200, 20):
        one = bayes.generalized_risk_interval(metrics.am(0.2), *boxes[:, i : i + 1], 0.2, 0.2)
        assert (low[i], high[i]) == (one[0][0], one[1][0])


def test_lemma_7_holds_the_individual_risk(rng):
    x, y, p = rng.uniform(0.1, 0.5, 500), rng.uniform(0.1, 0.5, 500), 0.3
    eta = p * x / (p * x + (1 - p) * y)
    for metric in (metrics.accuracy(), metrics.am(p), metrics.weighted_accuracy(1, 2, 3, 4), F1):
        value = bayes.generalized_risk(metric, eta, 0.4)
        expected = [
            metric.value(e, 1 - e, 0, 0) if e >= 0.4 else metric.value(0, 0, e, 1 - e) for e in eta
        ]
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        low, high = bayes.generalized_risk_interval(
            metric, x * 0.9, x * 1.1, y * 0.9, y * 1.1, p, 0.4
        )
        assert ((low <= value) & (value <= high)).all()
        # A box that is one point leaves one value.
        low, high = bayes.generalized_risk_interval(metric, x, x, y, y, p, 0.4)
        np.testing.assert_allclose(low, value, rtol=1e-9)
        np.testing.assert_allclose(high, value, rtol=1e-9)


def test_lemma_7_at_the_ends_where_the_printed_form_divides_by_zero():
    accuracy = metrics.accuracy()
    one = np.ones(1)
    # t = 1: "member" only where y = 0.
    low, high = bayes.generalized_risk_interval(
        accuracy, 0.2 * one, 0.4 * one, 0.1 * one, 0.3 * one, 0.5, 1.0
    )
    np.testing.assert_allclose([low, high], [[0.2], [0.6]])
    # t = 0: always "member".
    low, high = bayes.generalized_risk_interval(
        accuracy, 0.2 * one, 0.4 * one, 0.1 * one, 0.3 * one, 0.5, 0.0
    )
    np.testing.assert_allclose([low, high], [[0.4], [0.8]])
    # One likelihood that is surely 0, and a box that says nothing.
    zero = np.zeros(1)
    for box, expected in (((0.1, 0.2, 0, 0), 1.0), ((0, 0, 0.1, 0.2), 1.0), ((0, 0.2, 0, 0), 1.0)):
        low, high = bayes.generalized_risk_interval(accuracy, *(b + zero for b in box), 0.5, 0.5)
        np.testing.assert_allclose([low[0], high[0]], expected)
    low, high = bayes.generalized_risk_interval(accuracy, zero, zero, zero, zero, 0.5, 0.5)
    np.testing.assert_allclose([low[0], high[0]], [0.5, 1.0])
    low, high = bayes.generalized_risk_interval(accuracy, [], [], [], [], 0.5, 0.5)
    assert low.shape == high.shape == (0,)


def test_individual_am_risk_exceeds_one():
    low, high = bayes.generalized_risk_interval(
        metrics.am(0.1), [0.5], [1.0], [0.0], [0.1], 0.1, 0.1
    )
    assert high[0] == pytest.approx(5)


@pytest.mark.parametrize(
    "metric, box, t",
    [
        (metrics.ppv(), (0.1, 0.2, 0.3, 0.4), 0.9),  # never called: 0 / 0 throughout
        (metrics.ppv(), (0.1, 0.9, 0.1, 0.9), 0.5),  # called on one side only
        (metrics.tpr(), (0.0, 0.5, 0.1, 0.4), 0.5),  # 0 / 0 at x = 0
        (metrics.tnr(), (0.1, 0.5, 0.0, 0.4), 0.5),  # 0 / 0 at y = 0
        (
            Metric(0, 1, 0, 0, 1, -0.5, 1, 0, 1, 0),
            (0.1, 0.9, 0.1, 0.9),
            0.5,
        ),  # changes its sign at eta = 1/2
    ],
)
def test_a_denominator_that_reaches_zero_is_an_error(metric, box, t):
    with pytest.raises(
        ValueError, match="metric: given a denominator that reaches 0 in 1 of 2 boxes"
    ):
        # The second box is harmless.
        boxes = [np.array([end, safe]) for end, safe in zip(box, (0.8, 0.9, 0.01, 0.02))]
        bayes.generalized_risk_interval(metric, *boxes, 0.5, t)


def test_ppv_is_fine_where_everybody_in_the_box_is_called():
    low, high = bayes.generalized_risk_interval(metrics.ppv(), [0.6], [0.8], [0.1], [0.2], 0.5, 0.5)
    np.testing.assert_allclose([low[0], high[0]], [0.75, 8 / 9])


def literal_threshold(metric, eta, member, nonmember, prior):
    """Best value over a threshold between any two neighbours of eta, a multiple of 1 / 31."""
    best = -np.inf
    for t in np.append(0, np.arange(1, 62, 2) / 62):
        called = eta >= t
        tp, fp = prior * member[called].sum(), (1 - prior) * nonmember[called].sum()
        value = metric.value(tp, fp, prior - tp, 1 - prior - fp)
        best = max(best, value) if not np.isnan(value) else best
    return best


@pytest.mark.parametrize(
    "metric",
    [
        metrics.accuracy(),
        metrics.am(0.3),
        metrics.tpr(),
        metrics.tnr(),
        metrics.ppv(),
        F1,
        metrics.weighted_accuracy(1, 2, 5, 1),
    ],
)
def test_optimal_threshold_by_brute_force(rng, metric):
    for _ in range(5):
        member, nonmember = rng.dirichlet(np.ones(COUNT)), rng.dirichlet(np.ones(COUNT))
        eta = rng.integers(0, 30, COUNT) / 31  # with ties, and unrelated to the masses
        t, value = generalized.optimal_threshold(metric, eta, member, nonmember, prior=0.3)
        assert value == pytest.approx(
            literal_threshold(metric, eta, member, nonmember, 0.3), abs=1e-9
        )
        tp, fp = 0.3 * member[eta >= t].sum(), 0.7 * nonmember[eta >= t].sum()
        assert metric.value(tp, fp, max(0.3 - tp, 0), max(0.7 - fp, 0)) == pytest.approx(value)


@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_optimal_threshold_on_a_known_mixture_is_theorem_1s_and_the_fixed_point(rng, prior):
    # Eight cells of three independent Bernoulli bits: masses, and so posteriors, are known.
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    member, nonmember = (
        np.prod(np.where(bits == 1, rate, 1 - np.array(rate)), axis=1)
        for rate in ((0.7, 0.6, 0.8), (0.4, 0.5, 0.3))
    )
    eta = prior * member / (prior * member + (1 - prior) * nonmember)
    for metric in (
        metrics.accuracy(),
        metrics.am(prior),
        F1,
        metrics.weighted_accuracy(1, 2, 5, 1),
    ):
        t, value = generalized.optimal_threshold(metric, eta, member, nonmember, prior=prior)
        rule = metric.threshold_at(value)
        np.testing.assert_array_equal(eta >= t, eta >= rule)
        if metric.threshold() is not None:
            assert rule == metric.threshold()
    # PPV: the supremum is the largest posterior, reached by that cell alone.
    t, value = generalized.optimal_threshold(metrics.ppv(), eta, member, nonmember, prior=prior)
    assert value == pytest.approx(eta.max()) and (eta >= t).sum() == 1


def test_algorithm_2_on_data_that_separate():
    x, y = np.full(30, 1.0), np.full(60, 0.0)
    for metric in (
        metrics.accuracy(),
        metrics.am(0.3),
        F1,
        metrics.ppv(),
        metrics.weighted_accuracy(1, 1, 1, 1),
    ):
        estimate = bayes.generalized_advantage(metric, x, y, 0.3, bins=2)
        assert (
            estimate.value == pytest.approx(1)
            and estimate.low < 1
            and estimate.high == pytest.approx(1)
        )


@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_upper_limits_in_closed_form(rng, prior):
    x, y, edges = rng.normal(size=700) + 1, rng.normal(size=900), np.linspace(-8, 9, 18)
    query = bayes.Histogram(x, y, prior, edges)
    w, t = query.advantage(), intervals.mcdiarmid(700, 900, prior, delta=0.05)
    estimate = bayes.generalized_advantage(metrics.accuracy(), x, y, prior, edges)
    assert estimate.high == pytest.approx(min(1, (1 + w.value + t) / 2))
    assert bayes.sign_split_advantage(x, y, prior, edges).high == pytest.approx(min(1, w.value + t))
    # AM is accuracy at even prior, whatever p is.
    even, t = (
        bayes.Histogram(x, y, 0.5, edges).advantage().value,
        intervals.mcdiarmid(700, 900, 0.5, delta=0.05),
    )
    estimate = bayes.generalized_advantage(metrics.am(prior), x, y, prior, edges)
    assert estimate.high == pytest.approx((1 + even + t) / 2)
    assert bayes.generalized_advantage(metrics.ppv(), x, y, prior, edges).high == 1


def test_upper_limit_of_a_ratio_metric_by_scanning(rng):
    x, y, prior, edges = (
        rng.normal(size=3000) + 1.5,
        rng.normal(size=5000),
        0.4,
        np.linspace(-8, 9, 18),
    )
    p_hat, q_hat = np.histogram(x, edges)[0] / 3000, np.histogram(y, edges)[0] / 5000
    passing = []
    for value in np.linspace(0, 1, 20001):
        # F1 = 2 TP / (2 TP + FP + FN): the payoff of calling a cell, and what one example may
        # change.
        constant = -value * prior
        member, nonmember = 2 - 2 * value + value, -value
        best = (
            constant + np.maximum(prior * member * p_hat + (1 - prior) * nonmember * q_hat, 0).sum()
        )
        changes = 3000 * (prior * member / 3000) ** 2 + 5000 * ((1 - prior) * nonmember / 5000) ** 2
        if best + np.sqrt(changes * np.log(2 / 0.05) / 2) >= 0:
            passing.append(value)
    estimate = bayes.generalized_advantage(F1, x, y, prior, edges, rng=rng)
    assert estimate.high == pytest.approx(max(passing), abs=1e-4) and max(passing) < 0.9
    assert estimate.low < estimate.value < estimate.high


def test_heuristic_adversary_calls_the_highest_scores(rng):
    x, y = rng.normal(size=100) + 1, rng.normal(size=900)
    order = np.argsort(-np.concatenate([x, y]), kind="stable")[:100]
    tp, fp = (order < 100).mean() * 0.1, (order >= 100).mean() * 0.1
    for metric in (metrics.accuracy(), metrics.am(0.1), metrics.ppv()):
        expected = metric.value(tp, fp, 0.1 - tp, 0.9 - fp)
        assert bayes.heuristic_advantage(metric, x, y, prior=0.1) == pytest.approx(expected)
    assert bayes.heuristic_advantage(metrics.accuracy(), [1, 1], [1, 1]) == pytest.approx(
        0.5
    )  # ties: nobody is called


def test_average_interval_by_literal_loops(rng):
    x, y, prior, t = rng.normal(size=60) + 1, rng.normal(size=80), 0.3, 0.3
    query = bayes.Histogram(x, y, prior, 6)
    metric = metrics.am(prior)
    totals = np.zeros(3)
    for group, weight in ((x, prior), (y, 1 - prior)):
        for s in group:
            eta = (1 + query.risk([s])[0]) / 2
            value = (
                metric.value(eta, 1 - eta, 0, 0) if eta >= t else metric.value(0, 0, eta, 1 - eta)
            )
            ends = bayes.generalized_risk_interval(
                metric, *query.likelihood_box([s], 0.05), prior, t
            )
            totals += weight / len(group) * np.array([value, ends[0][0], ends[1][0]])
    got = bayes.average_risk_interval(metric, query, x, y, t)
    np.testing.assert_allclose(got, totals, rtol=1e-10)
    # For accuracy the average risk is the plug-in advantage.
    average = bayes.average_risk_interval(
        metrics.accuracy(), bayes.Histogram(x, y, prior, 6), x, y, 0.5
    )
    assert 2 * average.value - 1 == pytest.approx(query.advantage().value)


def test_am_is_asked_for_at_its_own_prior_alone(rng):
    """Its coefficients hold 1 / p: elsewhere it is no mean of two rates and leaves [0, 1]."""
    x, y = rng.normal(size=40) + 1, rng.normal(size=40)
    am, other = metrics.am(0.1), bayes.Histogram(x, y, 0.5, 4)
    ends = ([0.1], [0.2], [0.1], [0.2])
    for call in (
        lambda: bayes.generalized_advantage(am, x, y),
        lambda: bayes.heuristic_advantage(am, x, y),
        lambda: generalized.optimal_threshold(am, [0.2, 0.8], [0.3, 0.7], [0.7, 0.3]),
        lambda: bayes.generalized_risk_interval(am, *ends, 0.5, 0.1),
        lambda: bayes.average_risk_interval(am, other, x, y, 0.1),
    ):
        with pytest.raises(ValueError, match="^metric: given one that is made for a prior of 0.1,"):
            call()
    found = bayes.heuristic_advantage(metrics.am(0.1 + 0.2), x, y, prior=0.3)  # equal but rounding
    assert 0.5 < found <= 1
    # The same coefficients by hand are a metric of any population.
    by_hand = Metric(0, 0.5 / 0.1, 0, 0, 0.5 / 0.9, 1, 0, 0, 0, 0)
    assert by_hand == am and bayes.heuristic_advantage(by_hand, x, y) > 1


def test_bad_input(rng):
    x, y = rng.normal(size=20), rng.normal(size=20)
    box = ([0.1], [0.2], [0.1], [0.2])
    with pytest.raises(ValueError, match="metric: given str"):
        bayes.generalized_advantage("accuracy", x, y)
    with pytest.raises(ValueError, match="metric: given numerator"):
        bayes.generalized_advantage(Metric(0, 1, 0, 0, 0, 0, 0, 1, 0, 0), x, y)
    with pytest.raises(ValueError, match="metric: given numerator"):
        bayes.generalized_advantage(Metric(0, 1, 0, 0, 0, -0.5, 1, 1, 0, 0), x, y)
    with pytest.raises(ValueError, match="member_signal: given 3 examples, expected at least 4"):
        bayes.generalized_advantage(F1, x[:3], y)
    with pytest.raises(ValueError, match="nonmember_signal: given 2 examples, expected at least 3"):
        bayes.generalized_advantage(metrics.accuracy(), x, y[:2])
    for name, value in (
        ("prior", 0),
        ("prior", 1),
        ("delta", 0),
        ("delta", 1),
        ("bins", 0),
        ("rng", 5),
    ):
        with pytest.raises(ValueError, match=name):
            bayes.generalized_advantage(metrics.accuracy(), x, y, **{name: value})
    with pytest.raises(ValueError, match="p_low: given 1 limits above"):
        bayes.generalized_risk_interval(metrics.accuracy(), [0.3], [0.2], [0.1], [0.2], 0.5, 0.5)
    with pytest.raises(ValueError, match="q_low: given -0.1"):
        bayes.generalized_risk_interval(metrics.accuracy(), [0.1], [0.2], [-0.1], [0.2], 0.5, 0.5)
    with pytest.raises(ValueError, match="p_high: given shape"):
        bayes.generalized_risk_interval(
            metrics.accuracy(), [0.1], [0.2, 0.3], [0.1], [0.2], 0.5, 0.5
        )
    with pytest.raises(ValueError, match="prior"):
        bayes.generalized_risk_interval(metrics.accuracy(), *box, 0, 0.5)
    with pytest.raises(ValueError, match="threshold"):
        bayes.generalized_risk_interval(metrics.accuracy(), *box, 0.5, np.nan)
    with pytest.raises(ValueError, match="posterior"):
        generalized.optimal_threshold(metrics.accuracy(), [0.5, 1.2], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="member_mass"):
        generalized.optimal_threshold(metrics.accuracy(), [0.5, 0.6], [0, 0], [1, 1])
    with pytest.raises(ValueError, match="nonmember_mass: given shape"):
        generalized.optimal_threshold(metrics.accuracy(), [0.5, 0.6], [0, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="posterior"):
        bayes.generalized_risk(metrics.accuracy(), [1.5], 0.5)
    with pytest.raises(ValueError, match="outside the support"):
        bayes.average_risk_interval(metrics.accuracy(), bayes.Histogram(x, y), [99.0], y, 0.5)


def test_one_box_as_numbers():
    box = (0.2, 0.4, 0.1, 0.3, 0.5, 0.5)
    low, high = bayes.generalized_risk_interval(metrics.accuracy(), *box)
    arrays = bayes.generalized_risk_interval(
        metrics.accuracy(), *([number] for number in box[:4]), *box[4:]
    )
    assert low.shape == high.shape == () and (low, high) == (arrays[0][0], arrays[1][0])


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_lower_limit_in_closed_form_where_two_limits_decide(delta):
    """Separated groups: all 15 of the members judged are called, none of the 30 non-members. The
    limits of the two rates share delta / 2, and those of k = m and k = 0 are roots.
    """
    found = bayes.generalized_advantage(
        metrics.accuracy(), np.ones(30), np.zeros(60), 0.3, 2, delta, np.random.default_rng(0)
    )
    hits, alarms = (delta / 4) ** (1 / 15), 1 - (delta / 4) ** (1 / 30)
    assert found.low == pytest.approx(0.3 * hits + 0.7 * (1 - alarms), rel=1e-9)


def test_lower_limit_in_closed_form_where_all_four_limits_decide():
    """The share that is called a member falls with no rate: everybody is called, by a threshold of
    its own, and each of the four limits has an eighth of delta.
    """
    called = Metric(0, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    found = bayes.generalized_advantage(
        called, np.ones(30), np.zeros(60), 0.3, 2, 0.08, np.random.default_rng(0)
    )
    low = 0.3 * 0.01 ** (1 / 10) + 0.7 * 0.01 ** (1 / 20)  # of the last thirds
    assert found.value == 1 and found.low == pytest.approx(low, rel=1e-9)


def test_the_upper_limit_is_not_below_the_value():
    """At a level near 0 the part that is judged can do better than the limit."""
    edges, equal = [-9.0, 0.5, 9.0], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=60) + 1, rng.normal(size=60)
        found = bayes.generalized_advantage(metrics.accuracy(), x, y, 0.5, edges, 0.99, rng)
        assert found.value <= found.high
        equal += found.value == found.high
    assert 0 < equal < 20


def test_a_box_of_almost_no_area_has_limits():
    """One step of the last digit up in x, and eta may round downwards, past a threshold that lies
    between.
    """
    x, y, p = *np.random.default_rng(0).uniform(0.1, 1, (2, 20_000)), 0.3
    above = np.nextafter(x, 2)
    eta, moved = (p * v / (p * v + (1 - p) * y) for v in (x, above))
    found = np.flatnonzero(moved < eta)[:20]
    assert found.size
    for i in found:
        low, high = bayes.generalized_risk_interval(
            metrics.accuracy(), x[i], above[i], y[i], y[i], p, eta[i]
        )
        best = max(eta[i], 1 - eta[i])
        assert min(eta[i], 1 - eta[i]) - 1e-12 <= low <= high <= best + 1e-12


@pytest.mark.parametrize("low", [0.0, 0.3, 0.5, 1 - 2**-53])
def test_an_optimal_threshold_between_two_neighbouring_floats(low):
    eta = [low, np.nextafter(low, 1)]
    cut, best = generalized.optimal_threshold(metrics.accuracy(), eta, [0.4, 0.6], [0.6, 0.4])
    assert best == pytest.approx(0.6) and (np.array(eta) >= cut).tolist() == [False, True]


def test_ends_of_an_optimal_threshold():
    """Half-way between neighbours; below the lowest and above the highest too."""
    eta, ones = [0.2, 0.6], [1.0, 1.0]
    for member, nonmember, cut, best in (
        ([0.0, 1.0], [1.0, 0.0], 0.4, 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.8, 0.5),  # of equal values the largest threshold
        (ones, ones, 0.8, 0.5),
    ):
        found = generalized.optimal_threshold(metrics.accuracy(), eta, member, nonmember)
        assert found == pytest.approx((cut, best))
    everybody = generalized.optimal_threshold(metrics.tpr(), eta, ones, ones, prior=0.3)
    assert everybody == pytest.approx((0.1, 1.0))
    certain = generalized.optimal_threshold(metrics.tnr(), [0.2, 1.0], ones, ones)
    assert certain == pytest.approx((0.6, 0.5))  # nobody can be called with eta = 1 left over
