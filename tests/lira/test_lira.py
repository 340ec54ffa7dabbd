"""LiRA against literal loops, closed forms and signals that carry nothing."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mia_lib import lira, metrics, shadow, signals

GAUSSIANS = list(
    itertools.product(("per-example", "global"), ("mean", "median"), ("spherical", "diagonal"))
)
ATTACKS = [("online", None), ("offline", "one-sided"), ("offline", "density")]
OPTIONS = [(*attack, *gaussian) for attack in ATTACKS for gaussian in GAUSSIANS]
each_option = pytest.mark.parametrize(("name", "tail", "variance", "center", "covariance"), OPTIONS)


def call_with(name, tail, variance, center, covariance):
    options = {"variance": variance, "center": center, "covariance": covariance}
    return getattr(lira, name), options if tail is None else options | {"tail": tail}


def literal(target, shadow, used, member, name, tail, variance, center, covariance):
    """The attack as a reader would write it down: loops over sides, examples and queries, numpy and
    scipy.stats.norm.

    `used[s][i]` says whether shadow model s counts for example i.
    """
    n, n_queries = target.shape
    where = {}
    spread = {}
    for side in ("IN", "OUT") if name == "online" else ("OUT",):
        groups = [
            [
                [
                    shadow[s, i, q]
                    for s in range(len(shadow))
                    if used[s, i] and member[s, i] == (side == "IN")
                ]
                for q in range(n_queries)
            ]
            for i in range(n)
        ]
        where[side] = [
            [{"mean": np.mean, "median": np.median}[center](groups[i][q]) for q in range(n_queries)]
            for i in range(n)
        ]
        residuals = [
            np.concatenate([np.array(groups[i][q]) - where[side][i][q] for i in range(n)])
            for q in range(n_queries)
        ]
        if covariance == "spherical":
            overall = [np.sqrt(np.mean(np.concatenate(residuals) ** 2))] * n_queries
        else:
            overall = [np.sqrt(np.mean(r**2)) for r in residuals]
        spread[side] = [[None] * n_queries for _ in range(n)]
        for i in range(n):
            for q in range(n_queries):
                if variance == "global":
                    value = overall[q]
                elif covariance == "diagonal":
                    value = np.std(groups[i][q])
                else:
                    value = np.sqrt(np.mean([np.var(groups[i][r]) for r in range(n_queries)]))
                spread[side][i][q] = max(value, 1e-6 * overall[q] if overall[q] > 0 else 1e-30)
    scores = []
    for i in range(n):
        score = 0.0
        for q in range(n_queries):
            fitted = {side: stats.norm(where[side][i][q], spread[side][i][q]) for side in where}
            if name == "online":
                score += fitted["IN"].logpdf(target[i, q]) - fitted["OUT"].logpdf(target[i, q])
            elif tail == "one-sided":
                score += fitted["OUT"].logcdf(target[i, q])
            else:
                score -= fitted["OUT"].logpdf(target[i, q])
        scores.append(score)
    return np.array(scores)


def literal_leave_one_out(x, member, *options):
    n_models, n, _ = x.shape
    scores = np.empty((n_models, n))
    for s in range(n_models):
        used = np.ones((n_models, n), dtype=bool)
        for i in range(n):
            used[s, i] = False
            used[min(t for t in range(n_models) if member[t, i] != member[s, i]), i] = False
        scores[s] = literal(x[s], x, used, member, *options)
    return scores


def unequal_masks(n_models, n, rng, least=3):
    """Every example in a number of models of its own, at least `least` on each side."""
    counts = rng.integers(least, n_models - least + 1, n)
    return rng.random((n_models, n)).argsort(axis=0) < counts


def some_signals(n_models, n, n_queries, rng):
    member = unequal_masks(n_models, n, rng)
    x = (
        rng.normal(size=(n_models, n, n_queries)) * rng.uniform(0.2, 3, (n, 1))
        + rng.normal(size=(n, n_queries)) * 4
    )
    return x + 1.5 * member[..., None], member


class TestLiteralLoops:
    @each_option
    @pytest.mark.parametrize("n_queries", [1, 3])
    def test_one_target(self, name, tail, variance, center, covariance, n_queries):
        x, member = some_signals(10, 6, n_queries, np.random.default_rng(n_queries))
        attack, options = call_with(name, tail, variance, center, covariance)
        used = np.ones((9, 6), dtype=bool)
        want = literal(x[9], x[:9], used, member[:9], name, tail, variance, center, covariance)
        np.testing.assert_allclose(
            attack(x[9], x[:9], member[:9], **options), want, rtol=1e-9, atol=1e-10
        )
        if n_queries == 1:
            got = attack(x[9, :, 0], x[:9, :, 0], member[:9], **options)
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)

    @each_option
    @pytest.mark.parametrize("n_queries", [1, 3])
    def test_every_target(self, name, tail, variance, center, covariance, n_queries):
        x, member = some_signals(9, 5, n_queries, np.random.default_rng(n_queries))
        attack, options = call_with(name, tail, variance, center, covariance)
        want = literal_leave_one_out(x, member, name, tail, variance, center, covariance)
        np.testing.assert_allclose(
            lira.leave_one_out(x, member, attack, **options), want, rtol=1e-8, atol=1e-9
        )
        if n_queries == 1:
            got = lira.leave_one_out(x[..., 0], member, attack, **options)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)

    @each_option
    def test_an_outlier_that_is_all_of_the_spread(self, name, tail, variance, center, covariance):
        # Without the outlier, sums of squares lose every digit: 1e5 against a spread of 1e-4, and
        # ties in one example.
        rng = np.random.default_rng(3)
        x, member = some_signals(8, 4, 2, rng)
        x[:, 0] *= 1e-4
        x[2, 0] += 1e5
        x[:, 1] = 0.25
        x[5, 1] = -3
        attack, options = call_with(name, tail, variance, center, covariance)
        want = literal_leave_one_out(x, member, name, tail, variance, center, covariance)
        np.testing.assert_allclose(
            lira.leave_one_out(x, member, attack, **options), want, rtol=1e-5, atol=1e-7
        )

    @pytest.mark.parametrize("n_models", range(6, 12))
    def test_medians_of_even_and_odd_groups_with_ties(self, n_models):
        rng = np.random.default_rng(n_models)
        x = rng.integers(0, 4, (n_models, 7, 2)).astype(float) + rng.choice(
            [0.0, 0.125], (n_models, 7, 2)
        )
        member = unequal_masks(n_models, 7, rng)
        options = ("online", None, "global", "median", "diagonal")
        got = lira.leave_one_out(
            x, member, center="median", variance="global", covariance="diagonal"
        )
        np.testing.assert_allclose(
            got, literal_leave_one_out(x, member, *options), rtol=1e-9, atol=1e-10
        )

    def test_blocks_do_not_show(self, monkeypatch):
        rng = np.random.default_rng(8)
        x, member = some_signals(8, 50, 2, rng)
        whole = (
            lira.leave_one_out(x, member, variance="global"),
            lira.online(x[0], x[1:], member[1:], "global"),
        )
        monkeypatch.setattr(lira.every_target.blocks, "BLOCK", 50)
        monkeypatch.setattr(lira.every_target.blocks, "CHUNK", 130)
        parts = (
            lira.leave_one_out(x, member, variance="global"),
            lira.online(x[0], x[1:], member[1:], "global"),
        )
        np.testing.assert_allclose(parts[0], whole[0], rtol=1e-12)
        np.testing.assert_allclose(parts[1], whole[1], rtol=1e-12)

    @pytest.mark.parametrize("n_queries", [1, 2])
    def test_any_other_attack_sees_the_equalised_models(self, n_queries):
        x, member = some_signals(9, 5, n_queries, np.random.default_rng(4))
        calls = []

        def attack(target, shadow, shadow_member, **options):
            calls.append((shadow.shape, shadow_member.sum(axis=0)))
            return lira.online(target, shadow, shadow_member, **options)

        x = x if n_queries > 1 else x[..., 0]
        got = lira.leave_one_out(x, member, attack, variance="global", center="median")
        np.testing.assert_allclose(
            got, lira.leave_one_out(x, member, variance="global", center="median"), rtol=1e-9
        )
        assert len(calls) == 9
        for shape, inside in calls:
            assert shape == (7, *x.shape[1:])
            np.testing.assert_array_equal(inside, member.sum(axis=0) - 1)


class TestClosedForms:
    N = 400

    def gaussian_world(self, n_models, rng, n=N):
        """Signals N(mu_b, s_b^2) with known parameters per example, and the true log-likelihood
        ratio of a target.
        """
        mu = np.stack([rng.normal(size=n), rng.normal(size=n) + 1.5])
        sd = rng.uniform(0.5, 1.5, (2, n))
        member = np.arange(n_models + 1)[:, None] % 2 == np.zeros((1, n), int)
        member[-1] = rng.random(n) < 0.5
        which = member.astype(int)
        x = np.take_along_axis(mu, which, 0) + np.take_along_axis(sd, which, 0) * rng.normal(
            size=member.shape
        )
        truth = stats.norm.logpdf(x[-1], mu[1], sd[1]) - stats.norm.logpdf(x[-1], mu[0], sd[0])
        return x[-1], x[:-1], member[:-1], member[-1], truth, mu, sd

    def test_online_approaches_the_true_likelihood_ratio(self):
        sizes = [64, 256, 1024, 4096]
        errors = []
        for n_models in sizes:
            target, shadow, member, _, truth, *_ = self.gaussian_world(
                n_models, np.random.default_rng(n_models)
            )
            errors.append(np.median(np.abs(lira.online(target, shadow, member) - truth)))
        slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert -0.65 < slope < -0.35, (slope, errors)
        assert errors[-1] < 0.05

    def test_offline_approaches_the_true_tail(self):
        errors = []
        for n_models in (64, 4096):
            target, shadow, member, _, _, mu, sd = self.gaussian_world(
                n_models, np.random.default_rng(n_models)
            )
            truth = stats.norm.logcdf(target, mu[0], sd[0])
            errors.append(np.median(np.abs(lira.offline(target, shadow, member) - truth)))
        assert 4 < errors[0] / errors[1] < 16, errors

    def test_global_variance_with_common_spreads_and_queries(self):
        # Two independent queries, spreads 1 and 2 for IN and OUT: the truth is the sum over the
        # queries.
        rng = np.random.default_rng(5)
        n, n_models = 500, 1024
        center = rng.normal(size=(n, 2)) * 5
        member = np.arange(n_models)[:, None] % 2 == np.zeros((1, n), int)
        sd = np.where(member, 1.0, 2.0)[..., None]
        shadow = center + member[..., None] + sd * rng.normal(size=(n_models, n, 2))
        target = center + rng.normal(size=(n, 2))
        truth = (
            stats.norm.logpdf(target, center + 1, 1) - stats.norm.logpdf(target, center, 2)
        ).sum(axis=1)
        for covariance in ("spherical", "diagonal"):
            error = lira.online(target, shadow, member, "global", covariance=covariance) - truth
            assert np.median(np.abs(error)) < 0.1

    @pytest.mark.simulation
    def test_roc_lies_within_its_interval_of_the_closed_form(self):
        # Equal spreads and a common gap: the best attack has TPR = Phi(gap - z_(1 - FPR)) and AUC =
        # Phi(gap / sqrt 2).
        rng = np.random.default_rng(6)
        gap, n_models, n = 2.0, 512, 20_000
        center = rng.normal(size=n) * 3
        shadow_member = np.arange(n_models)[:, None] % 2 == np.zeros((1, n), int)
        shadow = (center + gap * shadow_member + rng.normal(size=(n_models, n))).astype(np.float32)
        member = rng.random(n) < 0.5
        target = center + gap * member + rng.normal(size=n)
        for variance in ("global", "per-example"):
            curve = metrics.roc(lira.online(target, shadow, shadow_member, variance), member)
            for fpr in (0.01, 0.1):
                estimate = curve.tpr_at(fpr, delta=1e-3)
                assert estimate.low <= stats.norm.cdf(gap - stats.norm.isf(fpr)) <= estimate.high
            area = curve.auc_interval(delta=1e-3)
            assert area.low <= stats.norm.cdf(gap / np.sqrt(2)) <= area.high


def empty_signals(n_models, rng, n=600, n_queries=1):
    """Exact-half masks and signals with effects of example and query, but none of membership."""
    member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
    noise = rng.normal(size=(n_models, n, n_queries)) * rng.uniform(0.5, 2, (n, 1))
    return rng.normal(size=(n, n_queries)) * 3 + noise, member


def auc(scores, member):
    ranks = stats.rankdata(scores)
    n_members = member.sum()
    return (ranks[member.ravel()].sum() - n_members * (n_members + 1) / 2) / (
        n_members * (member.size - n_members)
    )


def null_deviation(aucs):
    """Distance of the mean AUC from 1/2 in its own standard errors over independent draws.

    The draws are the unit, because the targets of one draw share examples and shadow models. With
    20 draws, 4 is exceeded by chance once in 1,300 times (t, 19 degrees of freedom).
    """
    return (np.mean(aucs) - 0.5) / (np.std(aucs, ddof=1) / np.sqrt(len(aucs)))


class TestSignalsThatCarryNothing:
    @pytest.mark.simulation
    @pytest.mark.parametrize("n_models", [6, 8, 16, 32])
    @each_option
    def test_leave_one_out_finds_nothing(self, n_models, name, tail, variance, center, covariance):
        attack, options = call_with(name, tail, variance, center, covariance)
        aucs = []
        for seed in range(20):
            x, member = empty_signals(
                n_models, np.random.default_rng([n_models, seed]), n_queries=2
            )
            aucs.append(auc(lira.leave_one_out(x, member, attack, **options), member))
        assert abs(null_deviation(aucs)) < 4, np.mean(aucs)

    @pytest.mark.simulation
    @pytest.mark.parametrize("n_models", [8, 16])
    @pytest.mark.parametrize(("name", "tail"), [("online", None), ("offline", "density")])
    def test_unequal_counts_alone_betray_membership(self, n_models, name, tail):
        # The same test on S plain calls, each with all other models: it must fail. (Not so for the
        # one-sided tail: without a signal its z is symmetric about 0 for any number of models, and
        # the AUC 1/2.)
        attack, options = call_with(name, tail, "per-example", "mean", "spherical")
        aucs = []
        for seed in range(20):
            x, member = empty_signals(
                n_models, np.random.default_rng([n_models, seed]), n_queries=2
            )
            rest = [np.delete(np.arange(n_models), s) for s in range(n_models)]
            scores = np.array(
                [attack(x[s], x[rest[s]], member[rest[s]], **options) for s in range(n_models)]
            )
            aucs.append(auc(scores, member))
        assert null_deviation(aucs) < -4, np.mean(aucs)

    @pytest.mark.simulation
    @pytest.mark.parametrize(("name", "tail"), ATTACKS)
    @pytest.mark.parametrize("n_models", [6, 16])
    def test_two_hundred_draws_find_nothing(self, n_models, name, tail):
        attack, options = call_with(name, tail, "per-example", "median", "diagonal")
        aucs = []
        for seed in range(200):
            x, member = empty_signals(
                n_models, np.random.default_rng([7, n_models, seed]), n_queries=2
            )
            aucs.append(auc(lira.leave_one_out(x, member, attack, **options), member))
        assert abs(null_deviation(aucs)) < 4, np.mean(aucs)

    def test_targets_of_one_example_are_not_ranked_by_chance(self):
        # Why the scores are pooled: each of these targets takes part in the others' fits.
        x, member = empty_signals(16, np.random.default_rng(9))
        scores = lira.leave_one_out(x, member)
        within = [auc(scores[:, i], member[:, i]) for i in range(600)]
        assert null_deviation(within) < -3
        assert abs(auc(scores, member) - 0.5) < 0.03

    @pytest.mark.simulation
    @pytest.mark.parametrize("n_in", [3, 9])
    def test_uneven_splits_find_nothing_either(self, n_in):
        aucs = []
        for seed in range(20):
            rng = np.random.default_rng([n_in, seed])
            x, _ = empty_signals(12, rng)
            member = rng.random((12, 600)).argsort(axis=0) < n_in
            aucs.append(auc(lira.leave_one_out(x, member), member))
        assert abs(null_deviation(aucs)) < 4, np.mean(aucs)


class TestInvariances:
    x, member = some_signals(10, 8, 2, np.random.default_rng(11))

    @pytest.mark.parametrize("center", ["mean", "median"])
    @pytest.mark.parametrize(("name", "tail"), [("online", None), ("offline", "one-sided")])
    def test_shift_and_scale_of_an_example(self, name, tail, center):
        attack, options = call_with(name, tail, "per-example", center, "spherical")
        rng = np.random.default_rng(12)
        moved = self.x * rng.uniform(0.1, 10, (8, 1)) + rng.normal(size=(8, 2)) * 100
        want = lira.leave_one_out(self.x, self.member, attack, **options)
        np.testing.assert_allclose(
            lira.leave_one_out(moved, self.member, attack, **options), want, rtol=1e-8
        )

    def test_shift_of_each_example_and_one_scale_for_global_variance(self):
        moved = self.x * 7 + np.random.default_rng(13).normal(size=(8, 2)) * 100
        want = lira.leave_one_out(self.x, self.member, variance="global")
        np.testing.assert_allclose(
            lira.leave_one_out(moved, self.member, variance="global"), want, rtol=1e-8
        )

    def test_diagonal_spreads_allow_a_scale_for_each_query(self):
        moved = self.x * np.array([1.0, 50.0])
        want = lira.leave_one_out(self.x, self.member, covariance="diagonal")
        np.testing.assert_allclose(
            lira.leave_one_out(moved, self.member, covariance="diagonal"), want, rtol=1e-8
        )
        assert not np.allclose(
            lira.leave_one_out(moved, self.member),
            lira.leave_one_out(self.x, self.member),
            rtol=1e-3,
        )

    @pytest.mark.parametrize("variance", ["per-example", "global"])
    def test_order_of_examples_and_queries(self, variance):
        order = np.random.default_rng(14).permutation(8)
        want = lira.leave_one_out(self.x, self.member, variance=variance)
        got = lira.leave_one_out(self.x[:, order, ::-1], self.member[:, order], variance=variance)
        np.testing.assert_allclose(got, want[:, order], rtol=1e-10)

    @pytest.mark.parametrize("variance", ["per-example", "global"])
    def test_order_of_models_decides_only_who_is_left_out(self, variance):
        # One target: none is left out, so the order says nothing at all.
        order = np.random.default_rng(15).permutation(9)
        want = lira.online(self.x[9], self.x[:9], self.member[:9], variance)
        got = lira.online(self.x[9], self.x[:9][order], self.member[:9][order], variance)
        np.testing.assert_allclose(got, want, rtol=1e-10)
        # All targets: the same holds while the first IN and the first OUT model of every example
        # stay the first.
        member = np.concatenate([self.member[:1], ~self.member[:1], self.member])
        x = np.concatenate([self.x[:2] + 0.5, self.x])
        order = np.r_[0, 1, 2 + np.random.default_rng(16).permutation(10)]
        want = lira.leave_one_out(x, member, variance=variance)
        got = lira.leave_one_out(x[order], member[order], variance=variance)
        np.testing.assert_allclose(got, want[order], rtol=1e-9)
        # Any other order changes it.
        got = lira.leave_one_out(x[::-1], member[::-1], variance=variance)
        assert not np.allclose(got, want[::-1], rtol=1e-3)

    def test_more_like_a_member_scores_higher(self):
        # With a common spread the ratio grows with the signal.
        member = np.arange(8)[:, None] % 2 == np.zeros((1, 5), int)
        shadow = (
            np.random.default_rng(0).normal(size=(1, 1))
            + np.array([-1, 1, 1, -1, -1, 1, 1, -1])[:, None] * 0.1
        )
        shadow = shadow + 3 * member + np.zeros((1, 5))
        scores = lira.online(np.linspace(0, 3, 5), shadow, member, "global")
        assert (np.diff(scores) > 0).all()
        assert (np.diff(lira.offline(np.linspace(0, 3, 5), shadow, member)) >= 0).all()


class TestEdges:
    @each_option
    def test_extreme_signals_stay_finite(self, name, tail, variance, center, covariance):
        attack, options = call_with(name, tail, variance, center, covariance)
        rng = np.random.default_rng(20)
        member = rng.random((8, 30)).argsort(axis=0) < 4
        logits = rng.normal(size=(8, 30, 3))
        logits[:, :10] *= 1e4
        logits[:, 10:20, 0] += np.where(member[:, 10:20], 1e4, 0)
        # Probabilities that round to 0 or 1.
        with np.errstate(divide="ignore"):
            logits[:, 20:] = np.log(rng.permuted(np.tile([1.0, 0.0, 0.0], (8, 10, 1)), axis=-1))
        x = signals.logit_confidence(logits, np.zeros(30, int))
        assert np.isfinite(lira.leave_one_out(x, member, attack, **options)).all()
        # As the target, model 7 leaves at least three on each side.
        assert np.isfinite(attack(x[7], x[:7], member[:7], **options)).all()

    @each_option
    @pytest.mark.parametrize("value", [0.0, 0.1, 1e4])
    def test_no_variance_at_all(self, name, tail, variance, center, covariance, value):
        attack, options = call_with(name, tail, variance, center, covariance)
        member = np.arange(8)[:, None] % 2 == np.zeros((1, 4), int)
        x = np.full((8, 4, 2), value)
        scores = lira.leave_one_out(x, member, attack, **options)
        assert np.isfinite(scores).all()
        if name == "online":
            np.testing.assert_array_equal(scores, 0)
        for target in (value, value + 1, -1e99):
            scores = attack(np.full((4, 2), target), x, member, **options)
            assert np.isfinite(scores).all()
            if tail == "one-sided":
                assert (scores < 0).all() == (target <= value)

    def test_the_floor_is_a_millionth_of_the_global_spread(self):
        # Example 0 never varies; the other's IN and OUT spreads are 3 and 5: floors from the root
        # mean squares.
        member = np.array([[True] * 2, [True] * 2, [False] * 2, [False] * 2])
        shadow = np.array([[2.0, 3.0], [2.0, -3.0], [1.0, 5.0], [1.0, -5.0]])
        floors = 1e-6 * np.sqrt(np.array([9.0, 25.0]) / 2)
        target = np.array([1.5, 0.25])
        want = stats.norm.logpdf(1.5, 2, floors[0]) - stats.norm.logpdf(1.5, 1, floors[1])
        np.testing.assert_allclose(lira.online(target, shadow, member)[0], want, rtol=1e-10)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e101])
    @pytest.mark.parametrize("where", ["target", "shadow", "signals", "generic"])
    def test_signals_must_be_finite(self, where, value):
        x, member = some_signals(9, 6, 2, np.random.default_rng(0))
        x[-1 if where == "target" else 3, 4, 1] = value
        with pytest.raises(
            ValueError, match="signals: given 1" if where == "generic" else f"{where}: given 1"
        ):
            if where == "signals":
                lira.leave_one_out(x, member)
            elif where == "generic":
                lira.leave_one_out(x, member, lambda *a: lira.online(*a))
            else:
                lira.online(x[-1], x[:-1], member[:-1])

    def test_an_example_without_models_on_a_side(self):
        x, member = some_signals(9, 8, 1, np.random.default_rng(1))
        x = x[..., 0]
        member[:, [2, 5]] = False
        member[0, 5] = True
        with pytest.raises(
            ValueError,
            match=r"shadow_member: given 2 examples with fewer than 2 IN .*\(examples 2, 5\)",
        ):
            lira.online(np.zeros(8), x, member)
        assert np.isfinite(lira.offline(np.zeros(8), x, member)).all()
        with pytest.raises(
            ValueError,
            match=r"member: given 2 examples with fewer than 3 IN models \(examples 2, 5\)",
        ):
            lira.leave_one_out(x, member)
        scores = lira.leave_one_out(x, member, lira.offline, variance="global", center="median")
        assert np.isfinite(scores).all()
        member = ~member
        with pytest.raises(ValueError, match="fewer than 2 OUT"):
            lira.offline(np.zeros(8), x, member)
        with pytest.raises(ValueError, match="fewer than 3 OUT"):
            lira.leave_one_out(x, member, lira.offline)

    def test_many_examples_are_counted_and_the_first_named(self):
        x, member = np.zeros((6, 20)), np.ones((6, 20), dtype=bool)
        with pytest.raises(ValueError, match=r"20 examples .*\(examples 0, 1, 2, 3, 4, \.\.\.\)"):
            lira.leave_one_out(x, member)

    @pytest.mark.parametrize("attack", [lira.online, lira.offline])
    def test_a_target_among_its_shadows_is_noticed(self, attack):
        x, member = some_signals(9, 600, 2, np.random.default_rng(2))
        attack(x[4], np.delete(x, 4, 0), np.delete(member, 4, 0))
        with pytest.raises(
            ValueError, match="shadow: given signals of model 4 that equal the target's"
        ):
            attack(x[4], x, member)
        twice = np.concatenate([x, x[4:5]])
        with pytest.raises(ValueError, match="not among its shadow models"):
            attack(x[4], twice, np.concatenate([member, member[4:5]]))
        with pytest.raises(ValueError, match="not among its shadow models"):
            lira.leave_one_out(twice, np.concatenate([member, member[4:5]]), attack)
        almost = x[4].copy()
        almost[-1, -1] += 1e-9
        attack(almost, x, member)

    def test_saturated_signals_are_not_taken_for_a_copy(self):
        # Half of the models give the same, saturated answer: the target agrees with them without
        # being one of them.
        member = np.arange(8)[:, None] < np.array([[4, 4]])
        shadow = np.where(
            np.arange(8)[:, None] % 2 == 0, 103.6, np.arange(8.0)[:, None]
        ) + np.zeros((1, 2))
        assert np.isfinite(lira.online(np.full(2, 103.6), shadow, member)).all()

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"variance": "local"}, ValueError, "variance: given 'local'"),
            ({"center": "mode"}, ValueError, "center: given 'mode'"),
            ({"covariance": None}, ValueError, "covariance: given None"),
            ({"ddof": 1}, TypeError, "ddof"),
            ({"tail": "density"}, TypeError, "tail"),
        ],
    )
    def test_unknown_options(self, change, error, message):
        x, member = some_signals(9, 6, 1, np.random.default_rng(3))
        with pytest.raises(error, match=message):
            lira.online(x[8], x[:8], member[:8], **change)
        with pytest.raises(error, match=message):
            lira.leave_one_out(x, member, **change)

    def test_unknown_tail_and_attack(self):
        x, member = some_signals(9, 6, 1, np.random.default_rng(3))
        for call in (
            lambda: lira.offline(x[8], x[:8], member[:8], tail="two-sided"),
            lambda: lira.leave_one_out(x, member, lira.offline, tail="two-sided"),
        ):
            with pytest.raises(ValueError, match="tail: given 'two-sided'"):
                call()
        with pytest.raises(ValueError, match="attack: given 'online'"):
            lira.leave_one_out(x, member, "online")
        with pytest.raises(ValueError, match="attack's scores: given shape"):
            lira.leave_one_out(x, member, lambda target, shadow, shadow_member: target[:2, 0])

    @pytest.mark.parametrize(
        ("target", "shadow", "member", "message"),
        [
            ((4,), (6, 5), (6, 5), "shadow: given shape"),
            ((4,), (6, 4, 1), (6, 4), "shadow: given shape"),
            ((4, 2), (6, 4), (6, 4), "shadow: given shape"),
            ((4, 2), (6, 4, 3), (6, 4), "shadow: given shape"),
            ((4,), (6, 4), (6, 5), "shadow_member: given shape"),
            ((4, 1, 1), (6, 4), (6, 4), "target: given shape"),
            ((0,), (6, 0), (6, 0), "target: given an empty array"),
            ((4,), (0, 4), (0, 4), "shadow: given shape"),
        ],
    )
    def test_wrong_shapes(self, target, shadow, member, message):
        for attack in (lira.online, lira.offline):
            with pytest.raises(ValueError, match=message):
                attack(np.zeros(target), np.zeros(shadow), np.zeros(member, dtype=bool))

    def test_wrong_kinds(self):
        with pytest.raises(ValueError, match="signals: given an array of dtype"):
            lira.leave_one_out(np.array([["a"]]), np.ones((1, 1), bool))
        with pytest.raises(ValueError, match="signals: given shape"):
            lira.leave_one_out(np.zeros(3), np.ones(3, bool))
        with pytest.raises(ValueError, match="member: given an array of dtype"):
            lira.leave_one_out(np.zeros((6, 2)), np.full((6, 2), 0.5))

    def test_float32_memory_map_gives_what_float64_in_memory_gives(self, tmp_path):
        x, member = some_signals(9, 40, 2, np.random.default_rng(5))
        x = x.astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        for variance in ("per-example", "global"):
            scores = lira.leave_one_out(mapped, member, variance=variance)
            assert scores.dtype == np.float64
            np.testing.assert_array_equal(
                scores, lira.leave_one_out(x.astype(float), member, variance=variance)
            )
            scores = lira.online(mapped[0], mapped[1:], member[1:], variance)
            assert scores.dtype == np.float64
            np.testing.assert_array_equal(
                scores, lira.online(x[0].astype(float), x[1:], member[1:], variance)
            )

    @pytest.mark.parametrize("variance", ["per-example", "global"])
    def test_memory_beyond_the_result_does_not_grow_with_the_examples(self, tmp_path, variance):
        rng = np.random.default_rng(7)
        beyond = []
        for n in (12_000, 36_000):
            member = rng.random((32, n), dtype=np.float32).argsort(axis=0) < 16
            np.save(tmp_path / "x.npy", rng.normal(size=(32, n, 4)).astype(np.float32))
            mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
            tracemalloc.start()
            scores = lira.leave_one_out(mapped, member, variance=variance)
            beyond.append(tracemalloc.get_traced_memory()[1] - scores.nbytes)
            tracemalloc.stop()
        # The larger input alone would be 35 MB in float64.
        assert beyond[1] < 16 * 2**20 and beyond[1] < 1.2 * beyond[0]

    def test_a_twin_is_found_beside_models_that_begin_alike(self):
        # All models are saturated on the first examples, so that only the later ones tell them
        # apart.
        x, member = some_signals(9, 60, 1, np.random.default_rng(8))
        x[:, :20] = 103.6
        assert np.isfinite(lira.leave_one_out(x, member)).all()
        x[7] = x[5]
        with pytest.raises(
            ValueError, match="signals: given signals of model 7 that equal those of model 5"
        ):
            lira.leave_one_out(x, member)

    def test_input_is_left_as_it_was(self):
        x, member = some_signals(9, 20, 2, np.random.default_rng(6))
        before = x.copy(), member.copy()
        for options in ({}, {"variance": "global", "center": "median"}):
            lira.leave_one_out(x, member, **options)
            lira.online(x[0], x[1:], member[1:], **options)
        np.testing.assert_array_equal(x, before[0])
        np.testing.assert_array_equal(member, before[1])


@settings(max_examples=60)
@given(st.data())
def test_shapes_and_finite_scores(data):
    n_models, n, n_queries = (
        data.draw(st.integers(*limits)) for limits in ((6, 12), (1, 9), (1, 4))
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    member = unequal_masks(n_models, n, rng)
    scale = 10.0 ** data.draw(st.integers(-20, 20))
    # Coarse values: ties, and examples without variance.
    x = rng.integers(-data.draw(st.integers(0, 3)), 4, (n_models, n, n_queries)) * scale
    x[:, rng.random(n) < 0.3] = 0
    x += rng.normal(size=x.shape) * scale * data.draw(st.sampled_from([0.0, 1e-12, 1.0]))
    name, tail, *gaussian = data.draw(st.sampled_from(OPTIONS))
    attack, options = call_with(name, tail, *gaussian)
    flat = n_queries == 1 and data.draw(st.booleans())
    try:
        scores = lira.leave_one_out(x[..., 0] if flat else x, member, attack, **options)
    except ValueError as error:
        assert "not among its shadow models" in str(error)
        return
    assert scores.shape == (n_models, n) and scores.dtype == np.float64
    assert np.isfinite(scores).all()
    target = rng.normal(size=(n, n_queries)) * scale
    scores = attack(target[:, 0] if flat else target, x[..., 0] if flat else x, member, **options)
    assert scores.shape == (n,) and scores.dtype == np.float64
    assert np.isfinite(scores).all()


def left_out_by_the_loop(x, member, center, tail=None):
    """Scores (S, n) of every model in turn, one example at a time, spreads floored at a millionth
    of the target's global one.
    """
    n_models, n = x.shape
    middle = np.mean if center == "mean" else np.median
    scores = np.empty((n_models, n))
    for s in range(n_models):
        fits = []
        for side in (True, False):
            groups = []
            for i in range(n):
                models = [m for m in range(n_models) if member[m, i] == side]
                models.remove(s if member[s, i] == side else models[0])
                groups.append(x[models, i])
            total = sum(((g - middle(g)) ** 2).sum() for g in groups) / sum(map(len, groups))
            fits.append([(middle(g), max(g.std(), 1e-6 * np.sqrt(total))) for g in groups])
        for i in range(n):
            (mu_in, sd_in), (mu_out, sd_out) = (fit[i] for fit in fits)
            out = stats.norm.logpdf(x[s, i], mu_out, sd_out)
            scores[s, i] = stats.norm.logpdf(x[s, i], mu_in, sd_in) - out
            if tail:
                scores[s, i] = (
                    stats.norm.logcdf(x[s, i], mu_out, sd_out) if tail != "density" else -out
                )
    return scores


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("tail", [None, "one-sided", "density"])
def test_floor_of_every_target(center, tail):
    """Records on which all models of a side agree but one, which floors the spread of some targets
    and not of others.
    """
    rng = np.random.default_rng(3)
    member = np.arange(8)[:, None] % 2 == np.arange(5) % 2
    x = rng.normal(size=(8, 5)).round(2)
    x[:, 0] = np.where(member[:, 0], 2.0, 1.0) + 0.5 * (np.arange(8) == 4)
    x[:, 3] = np.where(member[:, 3], 1.5, 0.5) - 0.25 * (np.arange(8) == 2)
    attack, options = (lira.offline, {"tail": tail}) if tail else (lira.online, {})
    found = lira.leave_one_out(x, member, attack, center=center, **options)
    want = left_out_by_the_loop(x, member, center, tail)
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert np.abs(want).max() > 1e6  # some spread was floored


@pytest.mark.parametrize("tail", ["density", "one-sided"])
def test_few_values_without_information_find_nothing(tail):
    """Right or wrong, whoever trained: rounding must not order equal scores by membership."""
    rng, gaps = np.random.default_rng(40), []
    for _ in range(4):
        member = rng.permuted(np.tile(np.arange(8) % 2 == 0, (4000, 1)), axis=1).T
        right = (rng.random((8, 4000)) < 0.8) * 1.0
        curve = metrics.roc(lira.leave_one_out(right, member, lira.offline, tail=tail), member)
        gaps.append((curve.tpr - curve.fpr).max())
    assert max(gaps) < 0.025  # 0.08 where the last bits decide


def test_coins_for_masks_give_an_area_to_signals_without_information():
    """What the notes of `leave_one_out` say: records have other numbers of IN models; with as many
    for each the area is 1/2.
    """
    rng, areas = np.random.default_rng(41), []
    for masks in (shadow.bernoulli_masks, shadow.half_masks):
        member = masks(16, 6000, rng)
        held = member.sum(axis=0)
        member = member[:, (held >= 4) & (held <= 12)]
        carried = rng.normal(size=member.shape) + rng.normal(size=member.shape[1])
        scores = lira.leave_one_out(carried, member, lira.online, variance="bayesian")
        areas.append(metrics.roc(scores, member).auc)
    assert 0.515 < areas[0] < 0.525 and abs(areas[1] - 0.5) < 0.005
