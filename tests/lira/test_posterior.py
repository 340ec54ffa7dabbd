"""LiRA with Student's t against integrals, scipy's laws, literal loops and known priors."""

import itertools

import numpy as np
import pytest
from lira.test_lira import auc, empty_signals, null_deviation, some_signals
from scipy import integrate, optimize, special, stats

from mia_lib import lira, metrics

INF = float("inf")
ATTACKS = [("online", None), ("offline", "one-sided"), ("offline", "density")]
each_attack = pytest.mark.parametrize(("name", "tail"), ATTACKS)
each_covariance = pytest.mark.parametrize("covariance", ["spherical", "diagonal"])


def bayesian(name, tail=None, **options):
    given = {"variance": "bayesian"} | options | ({} if tail is None else {"tail": tail})
    return getattr(lira, name), given


def by_integration(seen, asked, prior, tail):
    """Log of Pr[next <= asked] (or of its density) after `seen` (c, Q), all queries of one spread:
    sums over a grid of log variances and, within each, of locations.
    """
    location, kappa, nu, variance = prior
    logs = np.linspace(-8, 9, 601)
    v = np.exp(logs)[:, None]
    # v = nu variance / chi2(nu): an inverse gamma law, times v for the step in log v
    base = stats.invgamma(nu / 2, scale=nu * variance / 2).logpdf(v[:, 0]) + logs
    both = base.copy()
    for q in range(seen.shape[1]):
        middle = (kappa * location + seen[:, q].sum()) / (kappa + len(seen))
        mu = middle + np.sqrt(v) * np.linspace(-8, 8, 161)
        terms = stats.norm.logpdf(mu, location, np.sqrt(v / kappa)) + logs[:, None] / 2
        for value in seen[:, q]:
            terms += stats.norm.logpdf(value, mu, np.sqrt(v))
        law = stats.norm.logcdf if tail == "one-sided" else stats.norm.logpdf
        base += special.logsumexp(terms, axis=1)
        both += special.logsumexp(terms + law(asked[q], mu, np.sqrt(v)), axis=1)
    return special.logsumexp(both) - special.logsumexp(base)


PRIORS = {"IN": lira.Prior(0.7, 0.6, 3.0, 1.7), "OUT": lira.Prior(-0.4, 2.5, 5.0, 0.6)}


def three_sides(rng, n_queries, n=2):
    member = np.array([[True], [True], [False], [True], [False]]) & np.ones(n, bool)
    shadow = rng.normal(size=(5, n, n_queries)) * [[[1.0]], [[2.0]], [[0.5]], [[1.0]], [[0.7]]]
    return rng.normal(size=(n, n_queries)) * 2, shadow + member[..., None], member


class TestAgainstIntegrals:
    @each_attack
    @pytest.mark.parametrize("n_queries", [1, 2])
    def test_one_spread_for_all_queries(self, name, tail, n_queries):
        target, shadow, member = three_sides(np.random.default_rng(n_queries), n_queries)
        attack, options = bayesian(name, tail, priors=PRIORS)
        got = attack(target, shadow, member, **options)
        for i, score in enumerate(got):
            sides = {"IN": shadow[member[:, i], i], "OUT": shadow[~member[:, i], i]}
            want = {
                side: by_integration(sides[side], target[i], PRIORS[side], tail) for side in sides
            }
            wanted = {None: want["IN"] - want["OUT"], "density": -want["OUT"]}
            assert score == pytest.approx(wanted.get(tail, want["OUT"]), rel=1e-6, abs=1e-6)

    @each_attack
    def test_one_spread_for_each_query_is_a_sum(self, name, tail):
        target, shadow, member = three_sides(np.random.default_rng(5), 3, n=4)
        attack, options = bayesian(name, tail, priors=PRIORS)
        got = attack(target, shadow, member, covariance="diagonal", **options)
        single = [
            attack(target[:, q], shadow[..., q], member, **options) for q in range(target.shape[1])
        ]
        np.testing.assert_allclose(got, np.sum(single, axis=0), rtol=1e-12)

    def test_priors_of_each_record_and_each_query(self):
        target, shadow, member = three_sides(np.random.default_rng(6), 2, n=3)
        locations = np.random.default_rng(7).normal(size=(3, 2))
        parts = [[1.0, 2.0], [3.0, INF], [0.5, 0.25]]
        whole = dict.fromkeys(("IN", "OUT"), lira.Prior(locations, *parts))
        attack, options = bayesian("online", covariance="diagonal", priors=whole)
        got = attack(target, shadow, member, **options)
        want = np.zeros(3)
        for q in range(2):
            one = lira.Prior(locations[:, q], *(part[q] for part in parts))
            priors = dict.fromkeys(("IN", "OUT"), one)
            want += lira.online(
                target[:, q], shadow[..., q], member, variance="bayesian", priors=priors
            )
        np.testing.assert_allclose(got, want, rtol=1e-12)


class TestKnowingNothing:
    """kappa = nu = 0: the record's own models alone."""

    NOTHING = dict.fromkeys(("IN", "OUT"), lira.Prior(0.0, 0, 0, 1.0))

    @each_attack
    def test_is_student_s_t_with_as_many_degrees_as_models(self, name, tail):
        x, member = some_signals(9, 30, 1, np.random.default_rng(0))
        x = x[..., 0]
        attack, options = bayesian(name, tail, priors=self.NOTHING)
        got = attack(x[0], x[1:], member[1:], **options)
        for i, score in enumerate(got):
            law = {}
            for side, own in (("IN", member[1:, i]), ("OUT", ~member[1:, i])):
                values = x[1:, i][own]
                scale = values.std() * np.sqrt(1 + 1 / len(values))
                law[side] = stats.t(len(values), values.mean(), scale)
            wanted = {
                None: law["IN"].logpdf(x[0, i]) - law["OUT"].logpdf(x[0, i]),
                "one-sided": law["OUT"].logcdf(x[0, i]),
                "density": -law["OUT"].logpdf(x[0, i]),
            }
            assert score == pytest.approx(wanted[tail], rel=1e-9)

    @pytest.mark.parametrize("tail", ["one-sided", "density"])
    def test_is_the_joint_law_of_several_queries(self, tail):
        x, member = some_signals(8, 4, 3, np.random.default_rng(1))
        got = lira.offline(
            x[0], x[1:], member[1:], variance="bayesian", priors=self.NOTHING, tail=tail
        )
        for i, score in enumerate(got):
            values = x[1:, i][~member[1:, i]]
            scale = values.var(axis=0).mean() * (1 + 1 / len(values))
            law = stats.multivariate_t(values.mean(axis=0), scale * np.eye(3), values.size, seed=0)
            if tail == "density":
                assert score == pytest.approx(-law.logpdf(x[0, i]), rel=1e-9)
            else:
                assert np.exp(score) == pytest.approx(law.cdf(x[0, i]), rel=2e-3, abs=1e-5)

    def test_tends_to_the_attack_with_spreads_of_each_record(self):
        rng, differences = np.random.default_rng(2), []
        for n_models in (16, 64, 256, 1024):
            x, member = empty_signals(n_models, rng, n=300)
            x = x[..., 0]
            sides = x[0], x[1:], member[1:]
            t = lira.online(*sides, variance="bayesian", priors=self.NOTHING)
            differences.append(np.median(np.abs(t - lira.online(*sides))))
        assert all(a > 2.5 * b for a, b in zip(differences, differences[1:])), differences

    def test_two_models_a_side_suffice_and_one_does_not(self):
        member = np.array([[True], [True], [False], [False]]) & np.ones(6, bool)
        x = np.random.default_rng(3).normal(size=(5, 6))
        for priors in (None, self.NOTHING):
            scores = lira.online(x[4], x[:4], member, variance="bayesian", priors=priors)
            assert np.isfinite(scores).all()
        with pytest.raises(ValueError, match="^shadow_member: given 6 examples"):
            lira.online(x[4], x[1:4], member[1:], variance="bayesian")


class TestKnowingTheVariance:
    """kappa = 0, nu = infinity: a normal law whose variance is 1 + 1 / c times the prior's."""

    @each_covariance
    def test_ranks_as_global_spreads_at_equal_counts(self, covariance):
        rng = np.random.default_rng(4)
        x, _ = some_signals(9, 200, 2, rng)
        member = rng.random((8, 200)).argsort(axis=0) < 4
        axes = (0, 1) if covariance == "diagonal" else (0, 1, 2)
        priors = {}
        for side, own in (("IN", member), ("OUT", ~member)):
            mean = x[1:].mean(axis=0, where=own[..., None])
            pooled = np.mean((x[1:] - mean) ** 2, axis=axes, where=own[..., None])
            priors[side] = lira.Prior(0.0, 0, INF, pooled)
        sides = x[0], x[1:], member
        t = lira.online(*sides, variance="bayesian", covariance=covariance, priors=priors)
        exact = lira.online(*sides, variance="global", covariance=covariance)
        # The squares are 5 / 4 as wide, and the logarithms' factor 5 / 4 is the same on both sides.
        logs = sum(np.log(priors[s].variance).sum() * f for s, f in (("OUT", 1), ("IN", -1)))
        logs *= 1 if covariance == "diagonal" else 2
        np.testing.assert_allclose(t - logs / 2, (exact - logs / 2) * 4 / 5, rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(np.argsort(t), np.argsort(exact))
        got = lira.offline(*sides, variance="bayesian", covariance=covariance, priors=priors)
        mean = sides[1].mean(axis=0, where=~member[..., None])
        law = stats.norm(mean, np.sqrt(priors["OUT"].variance * 5 / 4))
        np.testing.assert_allclose(got, law.logcdf(x[0]).sum(axis=1), rtol=1e-9)

    def test_a_location_that_no_record_departs_from(self):
        x, member = some_signals(7, 5, 1, np.random.default_rng(5))
        priors = dict.fromkeys(("IN", "OUT"), lira.Prior(0.5, INF, INF, 2.0))
        got = lira.offline(
            x[0], x[1:], member[1:], variance="bayesian", priors=priors, tail="density"
        )
        np.testing.assert_allclose(got, -stats.norm.logpdf(x[0, :, 0], 0.5, np.sqrt(2)), rtol=1e-12)


def literal_priors(groups, covariance):
    """Priors {side: (location (n, Q), kappa, nu, variance)} of lists groups[side][i] of (c, Q)."""
    n, n_queries = len(groups["OUT"]), groups["OUT"][0].shape[1]
    sets = [range(n_queries)] if covariance == "spherical" else [[q] for q in range(n_queries)]
    found = {}
    for side, own in groups.items():
        location = np.empty((n, n_queries))
        means = np.array([values.mean(axis=0) for values in own])
        for q in range(n_queries):
            if len(groups) == 2:
                other = groups["IN" if side == "OUT" else "OUT"]
                x = np.array([values[:, q].mean() for values in other])
                location[:, q] = np.polyval(np.polyfit(x, means[:, q], 1), x)
            else:
                location[:, q] = means[:, q].mean()
        kappa, nu, variance = (np.empty(n_queries) for _ in range(3))
        for queries in sets:
            logs, noise, level, of_mean = [], [], [], []
            for values in own:
                freedom = (len(values) - 1) * len(queries)
                squares = sum(len(values) * values[:, q].var() for q in queries)
                logs.append(np.log(squares / 2) - special.digamma(freedom / 2))
                noise.append(special.polygamma(1, freedom / 2))
                level.append(squares / freedom)
                of_mean.append(squares / freedom / len(values))
            excess = np.var(logs, ddof=1) - np.mean(noise)
            if excess > 0:
                half = np.exp(
                    optimize.brentq(
                        lambda u, excess: special.polygamma(1, np.exp(u)) - excess,
                        -12,
                        25,
                        args=(excess,),
                        xtol=1e-14,
                    )
                )
                nu[queries] = 2 * half
                variance[queries] = np.exp(np.mean(logs) + special.digamma(half)) / half
            else:
                nu[queries], variance[queries] = INF, np.exp(np.mean(logs))
            residual = means[:, queries] - location[:, queries]
            residual = np.mean(np.sum(residual**2, axis=0)) / (n - len(groups))
            between = residual - np.mean(of_mean)
            kappa[queries] = np.mean(level) / between if between > 0 else INF
        found[side] = location, kappa, nu, variance
    return found


def below(z, degrees):
    """Pr[all coordinates of a spherical t are at most z]: normal ones, divided by a common root."""
    if degrees == INF or len(z) == 1:
        return stats.t.cdf(z, degrees).prod()
    return integrate.quad(
        lambda w: stats.norm.cdf(np.sqrt(w / degrees) * z).prod() * stats.chi2.pdf(w, degrees),
        0,
        np.inf,
        epsabs=1e-13,
    )[0]


def literal(target, shadow, used, member, name, tail, covariance):
    """The attack as a reader would write it down; used[s, i]: whether model s counts."""
    n, n_queries = target.shape
    groups = {
        side: [shadow[used[:, i] & (member[:, i] == (side == "IN")), i] for i in range(n)]
        for side in (("IN", "OUT") if name == "online" else ("OUT",))
    }
    priors = literal_priors(groups, covariance)
    scores = np.zeros(n)
    for i in range(n):
        sets = (
            [list(range(n_queries))]
            if covariance == "spherical"
            else [[q] for q in range(n_queries)]
        )
        for queries in sets:
            law = {}
            for side in groups:
                values = groups[side][i][:, queries]
                c, (location, kappa, nu, variance) = len(values), priors[side]
                m, k, free, v = (
                    location[i, queries],
                    kappa[queries[0]],
                    nu[queries[0]],
                    variance[queries[0]],
                )
                between = 1 / (1 / k + 1 / c)
                center = m + (values.mean(axis=0) - m) / (1 + k / c)
                squares = ((values - values.mean(axis=0)) ** 2).sum()
                squares += between * ((values.mean(axis=0) - m) ** 2).sum()
                degrees = free + values.size
                scale = v if free == INF else (free * v + squares) / degrees
                shape = scale * (1 + 1 / (k + c)) * np.eye(len(queries))
                law[side] = stats.multivariate_t(center, shape, degrees)
            x = target[i, queries]
            if name == "online":
                scores[i] += law["IN"].logpdf(x) - law["OUT"].logpdf(x)
            elif tail == "density":
                scores[i] -= law["OUT"].logpdf(x)
            else:
                z = (x - center) / np.sqrt(shape[0, 0])
                scores[i] += np.log(below(z, degrees))
    return scores


class TestLiteralLoops:
    @each_attack
    @each_covariance
    @pytest.mark.parametrize("n_queries", [1, 2])
    def test_one_target(self, name, tail, covariance, n_queries):
        x, member = some_signals(9, 8, n_queries, np.random.default_rng(n_queries + 20))
        attack, options = bayesian(name, tail, covariance=covariance)
        used = np.ones((8, 8), bool)
        want = literal(x[8], x[:8], used, member[:8], name, tail, covariance)
        got = attack(x[8], x[:8], member[:8], **options)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)
        if n_queries == 1:
            got = attack(x[8, :, 0], x[:8, :, 0], member[:8], **options)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize(("name", "tail"), [("online", None), ("offline", "density")])
    @each_covariance
    @pytest.mark.parametrize("n_queries", [1, 3])
    def test_every_target(self, name, tail, covariance, n_queries):
        x, member = some_signals(8, 6, n_queries, np.random.default_rng(n_queries + 30))
        want = np.empty((8, 6))
        for s in range(8):
            used = np.ones((8, 6), bool)
            for i in range(6):
                used[s, i] = False
                used[min(t for t in range(8) if member[t, i] != member[s, i]), i] = False
            want[s] = literal(x[s], x, used, member, name, tail, covariance)
        attack, options = bayesian(name, tail, covariance=covariance)
        got = lira.leave_one_out(x, member, attack, **options)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)

    @each_attack
    @each_covariance
    @pytest.mark.parametrize("given", [True, False])
    def test_every_target_is_one_target_at_a_time(self, name, tail, covariance, given):
        x, member = some_signals(9, 40, 2, np.random.default_rng(9))
        x = x + 1e6  # far from 0, and some records' models agree exactly
        x[:, 3] = 1e6 + 0.1
        attack, options = bayesian(
            name, tail, covariance=covariance, priors=PRIORS if given else None
        )

        def one(target, shadow, shadow_member):
            return attack(target, shadow, shadow_member, **options)

        want = lira.leave_one_out(x, member, one)
        got = lira.leave_one_out(x, member, attack, **options)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

    def test_blocks_do_not_show(self, monkeypatch):
        x, member = some_signals(8, 50, 2, np.random.default_rng(8))
        whole = lira.leave_one_out(x, member, variance="bayesian")
        one = lira.online(x[0], x[1:], member[1:], "bayesian")
        monkeypatch.setattr(lira.every_target.blocks, "BLOCK", 50)
        monkeypatch.setattr(lira.every_target.blocks, "CHUNK", 130)
        np.testing.assert_allclose(
            lira.leave_one_out(x, member, variance="bayesian"), whole, rtol=1e-10
        )
        np.testing.assert_allclose(
            lira.online(x[0], x[1:], member[1:], "bayesian"), one, rtol=1e-10
        )

    def test_records_in_another_order_get_the_same_scores(self):
        rng = np.random.default_rng(10)
        x, member = some_signals(8, 60, 1, rng)
        x, order = x[..., 0], rng.permutation(60)
        for attack in (lira.online, lira.offline):
            scores = lira.leave_one_out(x, member, attack, variance="bayesian")
            other = lira.leave_one_out(x[:, order], member[:, order], attack, variance="bayesian")
            np.testing.assert_allclose(other, scores[:, order], rtol=1e-10)


class TestTails:
    @pytest.mark.parametrize("z", [[6.0, 7.5], [15.0, 40.0], [-30.0, 2.0], [-3.0, -9.0]])
    def test_two_queries_far_out_on_either_side(self, z):
        freedom, z = 8.0, np.array(z)

        def integrand(w, above):
            logs = stats.norm.logcdf(np.sqrt(w / freedom) * z).sum()
            return (-np.expm1(logs) if above else np.exp(logs)) * stats.chi2.pdf(w, freedom)

        above = z.min() > 0
        points = {"points": (1e-4, 1e-2, 0.1, 1, 8, 30), "limit": 500, "epsabs": 0}
        want = integrate.quad(integrand, 0, 300, args=(above,), **points)[0]
        got = lira.student.log_orthant(z[None, :, None], np.full((1, 1), freedom))[0, 0]
        assert got <= 0
        assert (-np.expm1(got) if above else np.exp(got)) == pytest.approx(want, rel=1e-6)

    def test_scores_keep_their_order_far_out(self):
        x = np.linspace(-1e5, 1e5, 101)
        shadow = np.random.default_rng(0).normal(size=(12, 101))
        shadow -= shadow.mean(axis=1, keepdims=True)
        member = np.arange(12)[:, None] % 2 == np.zeros((1, 101), int)
        prior = {"OUT": lira.Prior(0.0, INF, INF, 1.0)}
        for spread in (prior, {"OUT": lira.Prior(0.0, INF, 100.0, 1.0)}):
            scores = lira.offline(x, shadow, member, variance="bayesian", priors=spread)
            assert np.isfinite(scores).all()
            assert (np.diff(scores[:50]) > 0).mean() > 0.95


class TestPriorsFromRecords:
    @pytest.mark.simulation
    @pytest.mark.parametrize("n_models", [4, 16])
    def test_known_priors_are_found(self, n_models):
        rng = np.random.default_rng(n_models)
        n, nu, variance, kappa = 40_000, 6.0, 0.5, 0.8
        v = nu * variance / rng.chisquare(nu, (2, n))
        out = rng.normal(2.0, 3.0, n)
        inside = 1.5 + 0.6 * out + rng.normal(size=n) * np.sqrt(v[0] / kappa)
        member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
        x = np.where(member, inside, out)
        x = x + rng.normal(size=x.shape) * np.sqrt(np.where(member, v[0], v[1]))
        found = lira.fit_priors(x, member)
        assert found["IN"].nu == pytest.approx(nu, rel=0.1)
        assert found["OUT"].nu == pytest.approx(nu, rel=0.1)
        assert found["IN"].variance == pytest.approx(variance, rel=0.03)
        # The line is in the OUT *means*, which are the locations and noise of variance v / c.
        noise = nu * variance / (nu - 2) / (n_models / 2)
        slope = 0.6 * 9 / (9 + noise)
        means = x.mean(axis=0, where=~member)
        near = np.polyfit(means, found["IN"].location, 1)
        assert near[0] == pytest.approx(slope, rel=0.03)
        rest = 1 / kappa * nu * variance / (nu - 2) + 0.36 * 9 * noise / (9 + noise)
        assert found["IN"].kappa == pytest.approx(nu * variance / (nu - 2) / rest, rel=0.1)

    def test_as_they_are_used(self):
        x, member = some_signals(9, 30, 2, np.random.default_rng(12))
        for covariance in ("spherical", "diagonal"):
            options = {"variance": "bayesian", "covariance": covariance}
            priors = lira.fit_priors(x[1:], member[1:], covariance=covariance)
            for attack in (lira.online,):
                sides = x[0], x[1:], member[1:]
                np.testing.assert_array_equal(
                    attack(*sides, **options, priors=priors), attack(*sides, **options)
                )
            priors = lira.fit_priors(x[1:], member[1:], covariance=covariance, attack=lira.offline)
            np.testing.assert_array_equal(
                lira.offline(*sides, **options, priors=priors), lira.offline(*sides, **options)
            )

    def test_records_whose_spreads_agree_have_infinitely_many_degrees(self):
        offsets = np.array([[-1.0], [1.0], [-1.0], [1.0]])
        member = np.array([[True], [True], [False], [False]]) & np.ones(5, bool)
        priors = lira.fit_priors(np.arange(5.0) + offsets + member, member)
        assert priors["IN"].nu == priors["OUT"].nu == INF
        # log of the one variance 2, less psi(1 / 2) - log(1 / 2), its bias with one degree
        assert priors["OUT"].variance == pytest.approx(np.exp(np.log(1.0) - special.digamma(0.5)))

    def test_models_that_agree_say_nothing_of_spreads(self):
        rng = np.random.default_rng(13)
        x, member = some_signals(8, 30, 1, rng)
        x = x[..., 0]
        flat = np.concatenate([x, np.full((8, 1), 2.0)], axis=1)
        who = np.concatenate([member, member[:, :1]], axis=1)
        one, more = lira.fit_priors(x, member), lira.fit_priors(flat, who)
        assert one["OUT"].nu == pytest.approx(more["OUT"].nu)
        assert one["OUT"].variance == pytest.approx(more["OUT"].variance)
        for constant in (x * 0, x * 0 + 3):
            scores = lira.online(x[0], constant[1:], member[1:], variance="bayesian")
            assert np.isfinite(scores).all()

    def test_one_record_knows_nothing_of_others(self):
        x, member = some_signals(8, 1, 1, np.random.default_rng(14))
        x = x[..., 0]
        for attack in (lira.online, lira.offline):
            np.testing.assert_allclose(
                attack(x[0], x[1:], member[1:], variance="bayesian"),
                attack(
                    x[0], x[1:], member[1:], variance="bayesian", priors=TestKnowingNothing.NOTHING
                ),
            )


class TestWhatItIsFor:
    @pytest.mark.simulation
    @pytest.mark.parametrize("name", ["online", "offline"])
    @pytest.mark.parametrize("n_models", [6, 16])
    def test_signals_without_membership_give_nothing(self, name, n_models):
        rng, found = np.random.default_rng(n_models), []
        for _ in range(40):
            x, member = empty_signals(n_models, rng)
            scores = lira.leave_one_out(x[..., 0], member, getattr(lira, name), variance="bayesian")
            found.append(auc(scores, member))
        assert abs(null_deviation(found)) < 4

    @pytest.mark.simulation
    def test_few_models_find_more_than_with_either_spread(self):
        rng, n, n_models = np.random.default_rng(1), 20_000, 8
        v = 4 * 0.5 / rng.chisquare(4, n)
        member = rng.random((n_models, n)).argsort(axis=0) < n_models // 2
        x = rng.normal(0, 3, n) + member * rng.normal(1, 0.5, n)
        x = x + rng.normal(size=member.shape) * np.sqrt(v)
        found = {
            variance: metrics.roc(lira.leave_one_out(x, member, variance=variance), member).auc
            for variance in ("per-example", "global", "bayesian")
        }
        assert found["bayesian"] > max(found["per-example"], found["global"]) + 0.01, found


X, WHO = np.arange(12.0).reshape(6, 2) ** 2, np.arange(6)[:, None] % 2 == np.zeros((1, 2), int)
SIDE = X[0], X[1:], np.roll(WHO, 1, axis=0)[1:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": "median"}, "center: given 'median' with variance='bayesian', expected 'mean'"),
        ({"priors": PRIORS, "variance": "global"}, "priors: given some with variance='global'"),
        (
            {"priors": {"OUT": PRIORS["OUT"]}},
            "priors: given .*, expected a mapping with IN and OUT",
        ),
        ({"priors": PRIORS | {"IN": 0}}, r"priors\['IN'\]: given int, expected a lira.Prior"),
        (
            {"priors": PRIORS | {"IN": lira.Prior([0.0, 1, 2], 0, 0, 1)}},
            r"priors\['IN'\].location: given shape \(3, 1\), expected a number or 2 of them",
        ),
        (
            {"priors": PRIORS | {"IN": lira.Prior(0.0, -1, 0, 1)}},
            r"priors\['IN'\].kappa: given -1, expected a number from 0 to inf",
        ),
        (
            {"priors": PRIORS | {"IN": lira.Prior(0.0, 0, 0, -1)}, "covariance": "diagonal"},
            r"priors\['IN'\].variance: given -1, expected a number, or 1 of them, from 1e-60",
        ),
    ],
)
def test_bad_input(options, message):
    for attack, sides in ((lira.online, SIDE), (lira.leave_one_out, (X, WHO))):
        with pytest.raises(ValueError, match=f"^{message}"):
            attack(*sides, **{"variance": "bayesian"} | options)


@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
@pytest.mark.parametrize(
    "attack, options", [(lira.online, {}), (lira.offline, {}), (lira.offline, {"tail": "density"})]
)
def test_priors_at_the_ends_of_what_is_allowed(attack, options, covariance):
    """Nothing overflows there, and so many degrees of freedom are the normal law's."""
    options = options | {"variance": "bayesian", "covariance": covariance}
    parts = ((-9e99, 0.0, 9e99), (0, 1, INF), (0, 1e100, INF), (1e-60, 1e200))
    for prior in itertools.product(*parts):
        priors = {"IN": lira.Prior(*prior), "OUT": lira.Prior(0.0, 1, 1, 1.0)}
        for sides in (priors, {"IN": priors["OUT"], "OUT": priors["IN"]}):
            with np.errstate(divide="ignore"):  # 1e130 spreads out
                assert np.isfinite(attack(*SIDE, **options, priors=sides)).all(), prior
    found = [
        attack(*SIDE, **options, priors=dict.fromkeys(("IN", "OUT"), lira.Prior(0.5, 1, nu, 2.0)))
        for nu in (1e100, INF)
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_priors_are_those_of_an_attack():
    with pytest.raises(ValueError, match="^attack: given 'online', expected lira.online or"):
        lira.fit_priors(X, WHO, attack="online")
