"""Use cases: each is what its parts say, and is sound on data whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import bayes

EDGES = np.linspace(0, 1, 11)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def test_membership_privacy_by_literal_loops(rng):
    x, y, prior, k = rng.random(300) ** 1.5, rng.random(500), 0.4, 10
    estimate = bayes.membership_privacy(bayes.Histogram(x, y, prior, EDGES), 0.1)
    values, lows, highs = [], [], []
    for j in range(k):
        inside = [(s >= EDGES[j]) & (s < EDGES[j + 1]) for s in (x, y)]
        limits = [
            stats.binomtest(int(i.sum()), i.size).proportion_ci(1 - 0.1 / k / 2, "exact")
            for i in inside
        ]
        (a, b), (p, q) = (i.mean() for i in inside), limits
        f = [
            (prior * u - (1 - prior) * v) / (prior * u + (1 - prior) * v)
            for u, v in ((a, b), (p.low, q.high), (p.high, q.low))
        ]
        values.append(abs(f[0]))
        lows.append(max(f[1], -f[2], 0))
        highs.append(max(f[2], -f[1]))
    # Guessing alone has abs(2 p - 1) = 0.2, and the largest abs(f) is no smaller.
    np.testing.assert_allclose(estimate, [max(values), max(0.2, *lows), max(highs)], atol=1e-8)
    assert (
        bayes.Histogram(x, y, prior, EDGES).advantage().value <= estimate.value + 1e-12
    )  # Lemma 9


def test_an_empty_cell_certifies_nothing(rng):
    x, y = rng.random(2000) / 2, rng.random(2000) / 2
    assert bayes.membership_privacy(bayes.Histogram(x, y, bins=EDGES)).high == 1
    assert bayes.membership_privacy(bayes.Histogram(x, y, bins=[0, 0.25, 0.5])).high < 0.5
    high_dimensional = bayes.Histogram(rng.random((50, 200)), rng.random((50, 200)))
    estimate = bayes.membership_privacy(high_dimensional)
    assert estimate.value == 1 and estimate.low < 0.1 and estimate.high == 1
    with pytest.raises(ValueError, match="query: given KernelDensity, expected a Histogram"):
        bayes.membership_privacy(bayes.KernelDensity(x, y))


def test_certificate_is_made_of_its_parts(rng):
    x, y = rng.random(400) ** 2, rng.random(900)
    found = bayes.certificate(x, y, 0.3, bins=EDGES, delta=0.1, rng=rng)
    query = bayes.Histogram(x, y, 0.3, EDGES)
    assert found.advantage == query.advantage(0.1)
    assert found.privacy == bayes.membership_privacy(query, 0.1)
    assert found.trivial == pytest.approx(0.4) and found.p_value == 0.001
    assert found.sign_split.high == pytest.approx(found.advantage.high)
    truth = np.abs(0.3 * np.diff(np.sqrt(EDGES)) - 0.7 * np.diff(EDGES)).sum()
    for estimate in (found.advantage, found.sign_split):
        assert estimate.low <= truth <= estimate.high


def test_queries_are_compared_at_one_joint_level(rng):
    signals = {
        "strong": (rng.random(3000) ** 3, rng.random(3000)),
        "weak": (rng.random(3000), rng.random(3000)),
    }
    found = bayes.compare_queries(signals, bins=EDGES, delta=0.1, rng=rng)
    assert list(found) == ["strong", "weak"]
    assert found["strong"].advantage == bayes.Histogram(*signals["strong"], 0.5, EDGES).advantage(
        0.05
    )
    assert found["strong"].advantage.low > found["weak"].advantage.high
    named = bayes.compare_queries(signals, bins={"strong": EDGES, "weak": 5}, rng=rng)
    assert (
        named["weak"].advantage.value == bayes.Histogram(*signals["weak"], bins=5).advantage().value
    )
    for bad in ({}, [1, 2], {"one": (np.arange(3.0),)}):
        with pytest.raises(ValueError, match="signals"):
            bayes.compare_queries(bad)


@pytest.mark.parametrize(
    "kind, options", [(bayes.Histogram, {"bins": 12}), (bayes.KernelDensity, {})]
)
def test_most_exposed_come_first(rng, kind, options):
    x, y = np.append(rng.normal(size=500), rng.normal(size=30) + 4), rng.normal(size=2000)
    query = kind(x, y, **options)
    order = bayes.most_exposed(query, x)
    assert sorted(order) == list(range(530))
    low = query.risk_interval(x)[0]
    assert (np.diff(low[order]) <= 0).all()
    assert (order[:20] >= 500).mean() > 0.8
    outside = bayes.most_exposed(query, [500.0, x[order[0]]])
    np.testing.assert_array_equal(outside, [1, 0])
