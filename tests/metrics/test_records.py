"""Rates of single records and calibrated scores, against literal loops and known rates."""

import math

import numpy as np
import pytest
from scipy import stats

from mia_lib import lira, metrics


def some(rng, n_models=9, n=12, ties=False):
    member = rng.random((n_models, n)) < 0.5
    scores = rng.normal(size=(n_models, n)) * rng.uniform(0.1, 9, n) + rng.normal(size=n) * 50
    return (np.round(scores / 20) if ties else scores), member


def literal_rates(scores, member, threshold):
    found = {True: [], False: []}
    for i in range(scores.shape[1]):
        for side, rates in found.items():
            called = [scores[s, i] >= threshold for s in range(len(scores)) if member[s, i] == side]
            rates.append(sum(called) / len(called) if called else math.nan)
    return found[False], found[True]


def literal_calibrated(scores, member, tail):
    found = np.full(scores.shape, math.nan)
    for i in range(scores.shape[1]):
        outside = [s for s in range(len(scores)) if not member[s, i]]
        for s in range(len(scores)):
            others = outside[1:] if member[s, i] else [t for t in outside if t != s]
            x, values = scores[s, i], [scores[t, i] for t in others]
            m = len(values)
            if tail == "empirical" and m >= 1:
                below = [(v < x) + (v == x) / 2 for v in values]
                found[s, i] = sum(below) / m
            if tail == "gaussian" and m >= 2 and len(set(values)) > 1:
                sd = np.std(values, ddof=1)
                t = (x - np.mean(values)) / (sd * math.sqrt(1 + 1 / m))
                # from whichever side the tail is, since the other one rounds to 1
                z = stats.norm.isf(stats.t.sf(abs(t), m - 1))
                found[s, i] = math.copysign(z, t)
    return found


class TestRates:
    @pytest.mark.parametrize("seed", range(4))
    def test_by_a_loop(self, seed):
        scores, member = some(np.random.default_rng(seed), n_models=6, ties=seed % 2)
        for threshold in (-1e9, 0.0, scores[3, 4], 1e9):
            got = metrics.record_rates(scores, member, threshold)
            np.testing.assert_array_equal(got, literal_rates(scores, member, threshold))

    def test_their_mean_is_the_pooled_rate(self):
        scores, member = some(np.random.default_rng(5), n_models=40)
        threshold = np.quantile(scores, 0.8)
        rates = metrics.record_rates(scores, member, threshold)
        for rate, side in zip(rates, (~member, member)):
            pooled = (scores[side] >= threshold).mean()
            assert np.average(rate, weights=side.sum(axis=0)) == pytest.approx(pooled)

    def test_a_record_without_models_on_a_side(self):
        member = np.array([[True, False], [True, False]])
        fpr, tpr = metrics.record_rates(np.ones((2, 2)), member, 1.0)
        np.testing.assert_array_equal(fpr, [math.nan, 1])
        np.testing.assert_array_equal(tpr, [1, math.nan])


class TestCalibrated:
    @pytest.mark.parametrize("tail", ["gaussian", "empirical"])
    @pytest.mark.parametrize("seed", range(6))
    def test_by_a_loop(self, tail, seed):
        rng = np.random.default_rng(seed)
        scores, member = some(rng, n_models=3 + 2 * seed, n=20, ties=seed in (2, 3))
        scores[:, 0] = 0.1  # one score for all models
        member[:, 1] = True  # never OUT
        member[:, 2] = np.arange(len(member)) > 0  # OUT once
        got = metrics.record_calibrated(scores, member, tail)
        np.testing.assert_allclose(
            got, literal_calibrated(scores, member, tail), rtol=1e-9, atol=1e-12
        )
        assert np.isnan(got[:, 1:3]).all()
        if tail == "gaussian":
            assert np.isnan(got[:, 0]).all()

    def test_gaussian_is_the_default_and_needs_three_out_models(self):
        scores, member = some(np.random.default_rng(6))
        np.testing.assert_array_equal(
            metrics.record_calibrated(scores, member),
            metrics.record_calibrated(scores, member, "gaussian"),
        )
        member = np.array([[True], [False], [False]])
        x = np.array([[1.0], [2.0], [4.0]])
        assert np.isnan(metrics.record_calibrated(x, member)).all()
        found = metrics.record_calibrated(x, member, "empirical")
        np.testing.assert_array_equal(found[:, 0], [0, 0, 1])

    def test_one_score_that_is_all_of_the_spread(self):
        # Without it the sum of squares has lost its digits.
        rng = np.random.default_rng(7)
        member = np.arange(8)[:, None] % 2 == np.zeros((1, 6), int)
        scores = rng.normal(size=(8, 6)) * 1e-4 + 3
        scores[1, 0] = 1e6  # the lowest-numbered OUT model, which IN entries leave out
        scores[3, 1] = -1e6
        scores[:, 2] = [0.1, 5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]  # the others agree exactly
        got = metrics.record_calibrated(scores, member)
        want = literal_calibrated(scores, member, "gaussian")
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert np.isnan(got[[0, 1, 2, 4, 6], 2]).all()

    def test_far_out_scores_are_finite_and_keep_their_order(self):
        rng = np.random.default_rng(8)
        scores = rng.normal(size=(2_003, 1))
        member = np.arange(2_003)[:, None] >= 2_000
        scores[2_000:, 0] = 50, 60, 1e6
        found = metrics.record_calibrated(scores, member)[2_000:, 0]
        assert np.isfinite(found).all() and (np.diff(found) > 0).all() and found[0] > 30

    @pytest.mark.simulation
    def test_normal_scores_have_the_rate_that_is_named(self):
        """Normal OUT scores: an entry and the others of its record are exchangeable, so its t
        is exact for any record.
        """
        rng = np.random.default_rng(9)
        for n_models in (8, 32):
            scores, _ = some(rng, n_models=n_models, n=40_000)
            member = rng.random((n_models, 40_000)).argsort(axis=0) < n_models // 2
            z = metrics.record_calibrated(scores, member)
            for rate in (0.01, 0.1):
                for side in (member, ~member):
                    called = (z >= stats.norm.isf(rate)) & side
                    each = called.sum(axis=0) / side.sum(axis=0)  # records are independent
                    error = each.std() / np.sqrt(each.size)
                    assert abs(each.mean() - rate) < 4 * error


def silent(rng, n_models=64, n=4_000):
    """Signals of records that differ in level and spread, and know nothing of membership."""
    member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
    return rng.normal(size=(n_models, n)) * rng.uniform(0.5, 2, n) + rng.normal(size=n) * 3, member


class TestTheTrap:
    """Without a signal members and non-members are called equally often, if the judged models are
    none of the references.
    """

    def rates(self, scores, member):
        z = metrics.record_calibrated(scores, member)
        cut = np.quantile(z[~member], 0.99)
        fpr, tpr = metrics.record_rates(z, member, cut)
        more = tpr - fpr
        return tpr.mean(), more.mean(), more.std() / np.sqrt(more.size)

    @pytest.mark.simulation
    @pytest.mark.parametrize("variance", ["per-example", "global", "bayesian"])
    def test_disjoint_references(self, variance):
        x, _ = silent(np.random.default_rng(10))
        halves = [np.random.default_rng([10, half]).random((32, 4_000)) for half in (0, 1)]
        member = np.concatenate([half.argsort(axis=0) < 16 for half in halves])
        references = x[:32], member[:32]
        scores = np.stack([lira.online(row, *references, variance) for row in x[32:]])
        tpr, more, error = self.rates(scores, member[32:])
        assert abs(more) < 4 * error and abs(tpr - 0.01) < 0.002

    @pytest.mark.simulation
    @pytest.mark.parametrize("variance", ["per-example", "global"])
    def test_leave_one_out_fails(self, variance):
        x, member = silent(np.random.default_rng(11))
        scores = lira.leave_one_out(x, member, variance=variance)
        tpr, more, error = self.rates(scores, member)
        assert more < -8 * error and tpr < 0.005


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.ones(3)}, "scores: given shape"),
        ({"scores": np.full((3, 2), np.nan)}, "scores: given 6 NaN"),
        ({"member": np.ones((2, 2), bool)}, "member: given shape"),
        ({"member": np.full((3, 2), 0.5)}, "member: given an array of dtype float64"),
        ({"tail": "normal"}, "tail: given 'normal', expected one of 'gaussian', 'empirical'"),
        ({"threshold": math.nan}, "threshold: given nan"),
        ({"threshold": "1"}, "threshold: given '1'"),
    ],
)
def test_bad_input(change, message):
    good = {"scores": np.ones((3, 2)), "member": np.ones((3, 2), bool)}
    for function, own in (
        (metrics.record_rates, {"threshold": 0.0}),
        (metrics.record_calibrated, {"tail": "empirical"}),
    ):
        if set(change) <= set(good | own):
            with pytest.raises(ValueError, match=f"^{message}"):
                function(**good | own | change)
