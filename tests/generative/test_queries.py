"""Queries of generative models against loops, closed forms and synthetic sets that know nothing of
the members.
"""

import tracemalloc

import numpy as np
import pytest
import torch
from scipy import spatial, stats

from mia_lib import data, generative, metrics
from mia_lib.generative import nearest


class Scored:
    """A network whose discriminators are fixed linear functions."""

    def __init__(self, weights):
        self.weights = np.asarray(weights, dtype=float)

    def scores(self, x, labels=None):
        return np.asarray(x).reshape(len(x), -1) @ self.weights.T


def images(rng, n, side=4):
    return rng.random((n, side, side)).astype(np.float32)


class TestScores:
    def test_one_and_several_discriminators(self):
        rng = np.random.default_rng(0)
        x, one, three = (
            images(rng, 20),
            Scored(rng.normal(size=(1, 16))),
            Scored(rng.normal(size=(3, 16))),
        )
        table = np.array(
            [[sum(w[j] * image.flat[j] for j in range(16)) for w in three.weights] for image in x]
        )
        np.testing.assert_allclose(generative.all_scores(three, x), table, rtol=1e-6)
        np.testing.assert_allclose(
            generative.max_score(three, x), [max(row) for row in table], rtol=1e-6
        )
        np.testing.assert_allclose(
            generative.mean_score(three, x), [sum(row) / 3 for row in table], rtol=1e-6
        )
        np.testing.assert_array_equal(
            generative.discriminator_score(one, x), generative.max_score(one, x)
        )
        assert generative.all_scores(three, x).dtype == np.float64

    def test_labels_reach_a_conditional_network(self):
        class Conditional:
            def scores(self, x, labels=None):
                return (x.sum(axis=1) * labels)[:, None]

        found = generative.discriminator_score(Conditional(), np.ones((3, 2)), np.array([0, 1, 5]))
        np.testing.assert_array_equal(found, [0, 2, 10])

    def test_hybrid_is_both(self):
        rng = np.random.default_rng(1)
        x, synthetic, gan = images(rng, 9), images(rng, 30), Scored(rng.normal(size=(1, 16)))
        both = generative.hybrid(gan, synthetic, x, k=2)
        np.testing.assert_array_equal(both[:, 0], generative.discriminator_score(gan, x))
        np.testing.assert_array_equal(both[:, 1], generative.nearest_distance(synthetic, x, 2))

    def test_bad_input(self):
        x = np.ones((3, 4))
        with pytest.raises(ValueError, match="gan: given 2 discriminators, expected one"):
            generative.discriminator_score(Scored(np.ones((2, 4))), x)
        with pytest.raises(ValueError, match="gan: given 'ndarray', expected a trained network"):
            generative.max_score(x, x)
        with pytest.raises(ValueError, match=r"gan.scores\(x\): given 3 NaN"):
            generative.all_scores(Scored(np.full((1, 4), np.nan)), x)

        class Short:
            def scores(self, x, labels=None):
                return np.ones((len(x) - 1, 1))

        with pytest.raises(ValueError, match=r"gan.scores\(x\): given shape \(2, 1\)"):
            generative.all_scores(Short(), x)


class TestNearest:
    @pytest.mark.parametrize("k", [1, 3])
    @pytest.mark.parametrize(
        "types", [(np.float32, np.float32), (np.float32, np.float64), (np.uint8, np.float64)]
    )
    def test_against_all_pairs(self, k, types):
        rng = np.random.default_rng(2)
        synthetic = (255 * rng.random((500, 3, 5))).astype(types[0])
        x = (255 * rng.random((300, 3, 5))).astype(types[1])
        x[:5] = synthetic[:5]
        apart = spatial.distance.cdist(
            x.reshape(300, -1).astype(float), synthetic.reshape(500, -1).astype(float)
        )
        apart = np.sort(apart, axis=1)[:, :k]
        np.testing.assert_allclose(
            generative.nearest_distances(synthetic, x, k), -apart, rtol=1e-12, atol=1e-12
        )
        average = generative.nearest_distance(synthetic, x, k)
        np.testing.assert_allclose(average, -apart.mean(axis=1), rtol=1e-12, atol=1e-12)

    def test_a_copy_is_at_distance_zero(self):
        # Expanding the square would leave about 1e-3 here.
        x = np.float32(1000) + images(np.random.default_rng(3), 50)
        found = generative.nearest_distance(x, x)
        assert (found == 0).all() and not np.signbit(found).any()

    @pytest.mark.parametrize("far", [0.0, 1e6, 1e8, 1e10])
    @pytest.mark.parametrize("sides", [(1,), (1, -1)])
    def test_far_from_the_origin_nothing_is_lost(self, far, sides):
        # |x|^2 - 2 x.y + |y|^2 has no digit left of a distance of 1 where |x| is 1e8.
        rng = np.random.default_rng(31)
        side = far * rng.choice(sides, size=(90, 1))
        points = rng.integers(-64, 65, (90, 5)) / 16 + side  # every difference is a float
        synthetic, x = points[:60], points[60:]
        squares = np.array([[((a - b) ** 2).sum() for b in synthetic] for a in x])
        apart = np.sqrt(np.sort(squares, axis=1))
        found = generative.nearest_distances(synthetic, x, 3)
        np.testing.assert_allclose(found, -apart[:, :3], rtol=1e-12)
        assert generative.ball_radius(synthetic, x) == pytest.approx(np.median(apart[:, 0]))
        inside = apart <= 3.01
        found = generative.monte_carlo(synthetic, x, 3.01, weight="count")
        np.testing.assert_allclose(found, inside.mean(axis=1))
        found = generative.monte_carlo(synthetic, x, 3.01)
        weights = np.log(3.01 / np.maximum(apart, 3.01e-6))
        np.testing.assert_allclose(found, np.where(inside, weights, 0).mean(axis=1), rtol=1e-9)

    def test_a_larger_release_is_never_further(self):
        rng = np.random.default_rng(4)
        x, synthetic = images(rng, 100), images(rng, 4000)
        found = [generative.nearest_distance(synthetic[:m], x, 3) for m in (10, 100, 1000, 4000)]
        assert (np.diff(found, axis=0) >= 0).all() and (np.diff(found, axis=0) > 0).any(
            axis=1
        ).all()

    def test_embedding_is_the_space_of_the_distance(self):
        rng = np.random.default_rng(5)
        x, synthetic = images(rng, 40), images(rng, 60)

        def corners(z):
            return z[:, [0, -1], [0, -1]] * [1.0, 10.0]

        want = -spatial.distance.cdist(corners(x), corners(synthetic)).min(axis=1)
        np.testing.assert_allclose(
            generative.nearest_distance(synthetic, x, embedding=corners), want, rtol=1e-12
        )

    def test_bad_input(self):
        x = np.zeros((3, 2, 2))
        with pytest.raises(
            ValueError, match="synthetic: given 2 examples, expected at least k = 3"
        ):
            generative.nearest_distances(x[:2], x, 3)
        with pytest.raises(
            ValueError, match=r"x: given shape \(3, 4\), expected shape \(n, 2, 2\) as synthetic"
        ):
            generative.nearest_distance(x, np.zeros((3, 4)))
        with pytest.raises(ValueError, match="synthetic: given 1 NaN"):
            generative.nearest_distance(np.array([[1.0, np.nan]]), np.ones((1, 2)))
        with pytest.raises(
            ValueError, match=r"embedding\(x\): given shape \(2, 3\), expected 3 rows"
        ):
            generative.nearest_distance(x, x, embedding=lambda z: np.zeros((2, 3)))
        with pytest.raises(ValueError, match="embedding: given 'vgg'"):
            generative.nearest_distance(x, x, embedding="vgg")
        with pytest.raises(ValueError, match=r"x: given shape \(3,\)"):
            generative.nearest_distance(np.zeros(3), np.zeros(3))
        with pytest.raises(ValueError, match="k: given 0"):
            generative.nearest_distance(x, x, 0)


class TestBall:
    def test_against_a_loop(self):
        rng = np.random.default_rng(6)
        x, synthetic = rng.random((40, 3)), rng.random((200, 3))
        epsilon = 0.2
        x[0] = 50.0  # its ball is empty
        x[1] = synthetic[7]  # and this one is a copy
        count, log, printed = np.zeros(40), np.zeros(40), np.zeros(40)
        for i in range(40):
            for g in synthetic:
                d = np.sqrt(((g - x[i]) ** 2).sum())
                if d <= epsilon:
                    count[i] += 1 / 200
                    log[i] -= np.log(max(d, 1e-6 * epsilon) / epsilon) / 200
                    printed[i] -= np.log(max(d, 1e-6 * epsilon)) / 200
        np.testing.assert_allclose(
            generative.monte_carlo(synthetic, x, epsilon, weight="count"), count, atol=1e-12
        )
        np.testing.assert_allclose(generative.monte_carlo(synthetic, x, epsilon), log, atol=1e-12)
        np.testing.assert_allclose(
            generative.monte_carlo(synthetic, x, epsilon, unit=1.0), printed, atol=1e-12
        )
        assert count[0] == 0 and np.isfinite(log).all() and log.argmax() == 1

    def test_the_unit_of_the_distance_changes_nothing_unless_it_is_named(self):
        rng = np.random.default_rng(7)
        x, synthetic = rng.random((50, 2)), rng.random((300, 2))
        small = generative.monte_carlo(synthetic, x, 0.3)
        np.testing.assert_allclose(
            generative.monte_carlo(255 * synthetic, 255 * x, 255 * 0.3), small, rtol=1e-9
        )
        # As printed, the sign of the same score turns with the unit.
        assert (generative.monte_carlo(synthetic, x, 0.3, unit=1.0) >= 0).all()
        assert (
            generative.monte_carlo(255 * synthetic, 255 * x, 255 * 0.3, unit=1.0) < 0
        ).mean() > 0.9

    def test_radii(self):
        rng = np.random.default_rng(8)
        x, synthetic = rng.random((60, 2)), rng.random((80, 2))
        apart = spatial.distance.cdist(x, synthetic)
        assert abs(generative.ball_radius(synthetic, x) - np.median(apart.min(axis=1))) < 1e-12
        want = np.percentile(apart, 2.0)
        assert (
            abs(generative.ball_radius(synthetic, x, "percentile", percentile=2.0) - want) < 1e-12
        )
        drawn = generative.ball_radius(
            synthetic, x, "percentile", percentile=2.0, pairs=4000, rng=rng
        )
        share = (apart <= drawn).mean()  # Bin(4000, 0.02) has a standard deviation of 0.0022
        assert drawn != want and abs(share - 0.02) < 4 * 0.0022

    @pytest.mark.parametrize("far, scale, n_numbers", [(0.5, 0.3, 64), (1e3, 1.0, 5), (3e4, 50, 3)])
    def test_a_copy_counts_as_one_wherever_the_origin_is(self, far, scale, n_numbers):
        """No other lies in its ball; expanding the square would leave it beside the example."""
        synthetic = far + scale * np.random.default_rng(9).normal(size=(100, n_numbers))
        apart = spatial.distance.pdist(synthetic).min()
        found = generative.monte_carlo(synthetic, synthetic[:20], 0.9 * apart)
        np.testing.assert_allclose(100 * found, -np.log(1e-6), rtol=1e-9)

    @pytest.mark.parametrize("far", [0.0, 3e6])
    def test_the_median_example_lies_on_its_own_sphere(self, far):
        """Of an odd number of examples the median is a distance, and its ball is not empty."""
        for seed in range(40):
            rng = np.random.default_rng(seed)
            x, synthetic = far + rng.random((11, 16)), far + rng.random((60, 16))
            radius = generative.ball_radius(synthetic, x)
            count = generative.monte_carlo(synthetic, x, radius, weight="count")
            assert (count > 0).sum() == 6
            with pytest.raises(ValueError, match="epsilon: .*at least") as error:
                generative.monte_carlo(synthetic, x, 1e-4)
            least = float(str(error.value).split("at least ")[1])
            assert (generative.monte_carlo(synthetic, x, least, weight="count") > 0).sum() == 1

    def test_bad_input(self):
        x, synthetic = np.zeros((3, 2)), np.ones((4, 2))
        with pytest.raises(
            ValueError,
            match="epsilon: given 0.5, for which every ball is empty, expected at least 1.41421",
        ):
            generative.monte_carlo(synthetic, x, 0.5)
        with pytest.raises(ValueError, match="epsilon: given 0"):
            generative.monte_carlo(synthetic, x, 0)
        with pytest.raises(ValueError, match="weight: given 'cube'"):
            generative.monte_carlo(synthetic, x, 2.0, weight="cube")
        with pytest.raises(ValueError, match="unit: given -1"):
            generative.monte_carlo(synthetic, x, 2.0, unit=-1)
        with pytest.raises(ValueError, match="synthetic: given copies of x"):
            generative.ball_radius(x, x)
        with pytest.raises(ValueError, match="percentile: given 100"):
            generative.ball_radius(synthetic, x, "percentile", percentile=100)


class TestMemory:
    """Blocks of a megabyte, where all distances together would need 32."""

    @pytest.mark.parametrize(
        "query",
        [
            lambda synthetic, x: generative.nearest_distances(synthetic, x, 3),
            lambda synthetic, x: generative.monte_carlo(synthetic, x, 1.0),
            lambda synthetic, x: generative.ball_radius(
                synthetic, x, "percentile", percentile=1.0, pairs=10_000
            ),
        ],
    )
    def test_does_not_grow_with_the_product(self, query, monkeypatch):
        rng = np.random.default_rng(9)
        x, synthetic = rng.random((2000, 8)), rng.random((2000, 8))
        monkeypatch.setattr(nearest, "WORKING_MEMORY", 1)
        query(synthetic[:5], x[:5])
        tracemalloc.start()
        query(synthetic, x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * 2**20

    def test_the_measure_sees_a_large_block(self, monkeypatch):
        rng = np.random.default_rng(10)
        x, synthetic = rng.random((2000, 8)), rng.random((2000, 8))
        monkeypatch.setattr(nearest, "WORKING_MEMORY", 1000)
        tracemalloc.start()
        generative.monte_carlo(synthetic, x, 1.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak > 2000 * 2000 * 8


class Made(generative.Gan):
    """A network of given functions from latent points to records."""

    def __init__(self, *generators, latent, n_classes=0):
        super().__init__("made", generators, (), (), latent, n_classes)

    device = "cpu"

    def images(self, w, labels=None, pair=0):
        return self.generators[pair](w) if labels is None else self.generators[pair](w, labels)


def network(seed, latent=4, size=9):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(latent, 32), torch.nn.Tanh(), torch.nn.Linear(32, size)
    )


class TestReconstruction:
    def test_a_linear_generator_leaves_the_residual_of_the_projection(self):
        rng = np.random.default_rng(11)
        matrix, shift = (
            rng.normal(size=(5, 24)).astype(np.float32) / 3,
            rng.normal(size=24).astype(np.float32),
        )
        x = (rng.normal(size=(70, 5)) @ matrix + shift + 0.3 * rng.normal(size=(70, 24))).reshape(
            70, 4, 6
        )
        basis = np.linalg.qr(matrix.T.astype(float))[0]
        centred = x.reshape(70, 24) - shift
        residual = np.linalg.norm(centred - centred @ basis @ basis.T, axis=1)

        def generator(w):
            return (w @ torch.tensor(matrix) + torch.tensor(shift)).reshape(-1, 4, 6)

        gan = Made(generator, latent=5)
        found = generative.reconstruction(gan, x, n_steps=150, learning_rate=0.1, rng=rng, batch=32)
        np.testing.assert_allclose(found, -residual, rtol=1e-3)

    def test_a_trained_network_finds_its_own_records_again_and_stays_as_it_is(self):
        rng = np.random.default_rng(12)
        gan = generative.js_gan(
            images(rng, 30, 8), generative.JsGanRecipe(epochs=3, batch_size=10), rng=rng
        )[3]
        before = [p.clone() for p in gan.generator.state_dict().values()]
        made = gan.generate(20, rng)
        found = generative.reconstruction(
            gan, np.concatenate([made, 1 - made]), n_steps=150, rng=rng
        )
        assert found[:20].mean() > 0.15 * found[20:].mean() and found[20:].max() < -0.2
        assert all((p == q).all() for p, q in zip(gan.generator.state_dict().values(), before))
        assert all(p.grad is None for p in gan.generator.parameters())

    def test_more_effort_never_hurts(self):
        net, x = network(1), np.random.default_rng(13).normal(size=(30, 9))

        def effort(steps, restarts):
            rng = np.random.default_rng(2)
            return generative.reconstruction(
                Made(net, latent=4),
                x,
                None,
                n_steps=steps,
                restarts=restarts,
                candidates=500,
                rng=rng,
            )

        with torch.no_grad():
            points = np.random.default_rng(2).standard_normal((500, 4))
            made = net(torch.tensor(points, dtype=torch.float32)).numpy()
        start = effort(0, 1)
        np.testing.assert_allclose(start, -spatial.distance.cdist(x, made).min(axis=1), rtol=1e-5)
        assert (effort(50, 1) >= start).all() and (effort(50, 1) > start + 0.01).mean() > 0.8
        assert (effort(50, 5) >= effort(50, 1) - 1e-6).all() and (
            effort(50, 5) > effort(50, 1) + 1e-3
        ).any()

    def test_batches_do_not_influence_each_other(self):
        gan, x = Made(network(2), latent=4), np.random.default_rng(14).normal(size=(11, 9))
        one, many = (
            generative.reconstruction(
                gan, x, None, n_steps=40, rng=np.random.default_rng(3), batch=b
            )
            for b in (1, 256)
        )
        np.testing.assert_allclose(one, many, rtol=1e-4)

    def test_of_several_generators_the_closest_counts(self):
        first, second, x = network(3), network(4), np.random.default_rng(15).normal(size=(25, 9))

        def both(*nets):
            return generative.reconstruction(
                Made(*nets, latent=4), x, None, n_steps=60, restarts=4, rng=np.random.default_rng(4)
            )

        alone = [both(net) for net in (first, second)]
        np.testing.assert_allclose(both(first, second), np.maximum(*alone), atol=0.1)
        assert 0 < (alone[0] > alone[1]).sum() < 25

    def test_a_conditional_generator_gets_the_class_of_each_example(self):
        def generator(w, labels):
            return torch.nn.functional.one_hot(labels, 3).float() + 0.001 * w

        x, labels = np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 1])
        gan = Made(generator, latent=3, n_classes=3)
        found = generative.reconstruction(gan, x, labels, n_steps=5, restarts=1, candidates=5)
        np.testing.assert_allclose(found, [0, 0, 0, -np.sqrt(2)], atol=0.02)
        with pytest.raises(ValueError, match="labels: given"):
            generative.reconstruction(gan, x)

    def test_bad_input(self):
        gan = Made(lambda w: w.repeat(1, 3), latent=2)
        with pytest.raises(ValueError, match="x: given 5 entries an example, expected 6"):
            generative.reconstruction(gan, np.zeros((2, 5)))
        with pytest.raises(
            ValueError, match="candidates: given 2, expected a whole number of at least 3"
        ):
            generative.reconstruction(gan, np.zeros((2, 6)), candidates=2)
        with pytest.raises(ValueError, match=r"gan.images\(w\): given 6000 NaN"):
            generative.reconstruction(
                Made(lambda w: w.repeat(1, 3) * np.nan, latent=2), np.zeros((2, 6))
            )


class TestDomias:
    def test_gaussian_closed_form(self):
        # log N(x; 1, 2^2) - log N(x; 0, 1) along the first axis; the second says nothing.
        rng = np.random.default_rng(15)
        synthetic = rng.normal(size=(40_000, 2)) * [2, 1] + [1, 0]
        reference, x = rng.normal(size=(40_000, 2)), rng.normal(size=(300, 2))
        truth = stats.norm.logpdf(x[:, 0], 1, 2) - stats.norm.logpdf(x[:, 0])
        np.testing.assert_allclose(
            generative.domias(synthetic, reference, x, method="gaussian"), truth, atol=0.1
        )

    def test_kernel_closed_form(self):
        # A kernel estimate of N(mu, s^2) with bandwidth h s tends to N(mu, s^2 (1 + h^2)).
        rng = np.random.default_rng(16)
        m = 20_000
        synthetic, reference, x = (
            2 * rng.normal(size=(m, 1)) + 1,
            rng.normal(size=(m, 1)),
            np.linspace(-2, 2, 41)[:, None],
        )
        wider = np.sqrt(1 + m ** (-2 / 5))
        truth = stats.norm.logpdf(x[:, 0], 1, 2 * wider) - stats.norm.logpdf(x[:, 0], 0, wider)
        np.testing.assert_allclose(generative.domias(synthetic, reference, x), truth, atol=0.12)

    @pytest.mark.parametrize("method", ["kernel", "gaussian"])
    def test_invertible_linear_maps_change_nothing(self, method):
        rng = np.random.default_rng(17)
        sets = [rng.normal(size=(n, 3)) + 0.3 * k for k, n in enumerate((200, 150, 40))]
        matrix = rng.normal(size=(3, 3))
        plain, mapped = (
            generative.domias(*some, method=method)
            for some in (sets, [s @ matrix + 5 for s in sets])
        )
        np.testing.assert_allclose(plain, mapped, rtol=1e-7, atol=1e-8)

    @pytest.mark.parametrize("method", ["kernel", "gaussian"])
    def test_of_fewer_components_rotations_and_a_common_scale_change_nothing(self, method):
        rng = np.random.default_rng(32)
        sets = [rng.normal(size=(n, 4)) + 0.3 * k for k, n in enumerate((200, 150, 40))]
        matrix = rng.normal(size=(4, 4))
        rotation, _ = np.linalg.qr(matrix)
        plain, turned, mapped = (
            generative.domias(*(s @ a for s in sets), method=method, components=2)
            for a in (np.eye(4), 3 * rotation, matrix)
        )
        np.testing.assert_allclose(plain, turned, rtol=1e-7, atol=1e-8)
        assert np.abs(plain - mapped).max() > 0.1

    def test_far_away_it_stays_finite(self):
        rng = np.random.default_rng(18)
        found = generative.domias(
            rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), np.full((1, 2), 1e3)
        )
        assert np.isfinite(found).all()

    def test_a_reference_divides_the_population_out(self):
        # Most of the population sits close together, the rest is spread wide, and the release
        # copied 60 examples. What is close to it is mostly what is common: the ratio knows better
        # than the distance.
        rng = np.random.default_rng(19)

        def drawn(n):
            return np.where(rng.random((n, 1)) < 0.7, 0.3, 3.0) * rng.normal(size=(n, 2))

        members, others, reference, fresh = drawn(60), drawn(600), drawn(3000), drawn(1500)
        release = np.concatenate(
            [fresh, members.repeat(15, axis=0) + 0.05 * rng.normal(size=(900, 2))]
        )
        x, member = np.concatenate([members, others]), np.arange(660) < 60

        def auc(score):
            return metrics.roc(score, member).auc

        assert (
            auc(generative.domias(release, reference, x)) > auc(-np.linalg.norm(x, axis=1)) + 0.05
        )

    def test_bad_input(self):
        rng = np.random.default_rng(20)
        x = rng.normal(size=(30, 4))
        with pytest.raises(
            ValueError, match="synthetic: given 5 examples, expected at least 6 for 4 components"
        ):
            generative.domias(x[:5], x, x)
        with pytest.raises(
            ValueError, match="reference: given examples that do not vary in every component"
        ):
            generative.domias(x, np.repeat(x[:1], 30, axis=0), x)
        with pytest.raises(ValueError, match=r"reference: given shape \(30, 3\)"):
            generative.domias(x, x[:, :3], x)
        with pytest.raises(ValueError, match="method: given 'flow'"):
            generative.domias(x, x, x, method="flow")


def test_embedding_of_a_classifier():
    digits = data.load("digits")
    embedding = generative.classifier_embedding(
        digits.x[:400], digits.y[:400], rng=np.random.default_rng(21)
    )
    features = embedding(digits.x[400:])
    assert features.shape == (1397, 128)

    def right(space):
        """Share of other digits whose nearest one of the first 400 has their class."""
        apart = spatial.distance.cdist(space(digits.x[400:]), space(digits.x[:400]))
        return (digits.y[:400][apart.argmin(axis=1)] == digits.y[400:]).mean()

    # Distances in the feature space must know more about classes than raw noise directions do.
    blind = np.random.default_rng(22).normal(size=(64, 2))
    assert right(embedding) > 0.9 > right(lambda z: z.reshape(len(z), -1) @ blind)


QUERIES = {
    "nearest": lambda s, r, x, rng: generative.nearest_distance(s, x),
    "average of 3": lambda s, r, x, rng: generative.nearest_distance(s, x, 3),
    "third": lambda s, r, x, rng: generative.nearest_distances(s, x, 3)[:, 2],
    "ball, log": lambda s, r, x, rng: generative.monte_carlo(s, x, generative.ball_radius(s, x)),
    "ball, count": lambda s, r, x, rng: generative.monte_carlo(
        s, x, generative.ball_radius(s, x, "percentile", percentile=1.0, rng=rng), weight="count"
    ),
    "domias, kernel": lambda s, r, x, rng: generative.domias(s, r, x),
    "domias, gaussian": lambda s, r, x, rng: generative.domias(s, r, x, method="gaussian"),
}


@pytest.mark.simulation
@pytest.mark.parametrize("name", QUERIES)
def test_a_release_of_fresh_draws_tells_nothing_and_one_of_copies_does(name):
    null, copied = [], []
    for seed in range(40):
        rng = np.random.default_rng([seed, 23])
        members, others, synthetic, reference = (
            rng.normal(size=(n, 3)) for n in (100, 100, 300, 200)
        )
        x, member = np.concatenate([members, others]), np.arange(200) < 100
        null.append(metrics.roc(QUERIES[name](synthetic, reference, x, rng), member).auc)
        synthetic[:200] = np.repeat(members, 2, axis=0) + 0.05 * rng.normal(size=(200, 3))
        copied.append(metrics.roc(QUERIES[name](synthetic, reference, x, rng), member).auc)
    # Given the release, examples are independent: the standard deviation of one AUC is that of Mann
    # and Whitney.
    error = np.sqrt((100 + 100 + 1) / (12 * 100 * 100) / 40)
    assert abs(np.mean(null) - 0.5) < 4 * error
    assert np.mean(copied) > 0.5 + 6 * error


@pytest.mark.simulation
def test_networks_that_never_saw_anything_tell_nothing():
    found = []
    for seed in range(30):
        rng = np.random.default_rng([seed, 24])
        x, member = rng.normal(size=(200, 9)), np.arange(200) < 100
        gan = Scored(rng.normal(size=(2, 9)))
        queries = (
            generative.max_score(gan, x),
            generative.mean_score(gan, x),
            generative.reconstruction(
                Made(network(seed), latent=4),
                x,
                None,
                n_steps=20,
                restarts=1,
                candidates=50,
                rng=rng,
            ),
        )
        found.append([metrics.roc(query, member).auc for query in queries])
    error = np.sqrt((100 + 100 + 1) / (12 * 100 * 100) / 30)
    assert (np.abs(np.mean(found, axis=0) - 0.5) < 4 * error).all()


class TestNamedQueries:
    NAMES = ("embedded", "score", "all scores", "nearest", "average of 3", "vector of 3")
    NAMES += ("monte carlo", "domias", "hybrid")

    def test_each_is_the_query_of_its_name(self):
        rng = np.random.default_rng(3)
        x, made, known = images(rng, 30), images(rng, 60), images(rng, 60)
        gan = Scored(rng.normal(size=(2, 16)))
        found = generative.named_queries(
            self.NAMES, gan, made, x, reference=known, embedding=lambda z: z[:, 0]
        )
        distances = np.sort(spatial.distance.cdist(*(z.reshape(len(z), -1) for z in (x, made))))
        inside = spatial.distance.cdist(x[:, 0], made[:, 0]).min(1)
        assert list(found) == list(self.NAMES)
        assert np.allclose(found["all scores"], gan.scores(x))
        assert np.allclose(found["score"], gan.scores(x).max(1))
        assert np.allclose(found["nearest"], -distances[:, 0], atol=1e-5)
        assert np.allclose(found["average of 3"], -distances[:, :3].mean(1), atol=1e-5)
        assert np.allclose(found["vector of 3"], -distances[:, :3], atol=1e-5)
        assert np.allclose(found["embedded"], -inside, atol=1e-5)
        both = np.stack([gan.scores(x).max(1), -distances[:, 0]], 1)
        assert np.allclose(found["hybrid"], both, atol=1e-5)
        radius = generative.ball_radius(made, x)
        assert np.array_equal(found["monte carlo"], generative.monte_carlo(made, x, radius))
        assert np.array_equal(found["domias"], generative.domias(made, known, x))

    def test_what_is_unknown_or_missing_is_named(self):
        rng = np.random.default_rng(4)
        given = Scored(rng.normal(size=(1, 16))), images(rng, 9), images(rng, 5)
        with pytest.raises(ValueError, match="^names: given 'oracle'"):
            generative.named_queries(["oracle"], *given)
        with pytest.raises(ValueError, match="^reference: given None"):
            generative.named_queries(["domias"], *given)
        with pytest.raises(ValueError, match="^embedding: given None"):
            generative.named_queries(["embedded"], *given)

    def test_a_wrong_name_is_refused_before_anything_is_computed(self):
        with pytest.raises(ValueError, match="^names: given 'oracle'"):
            generative.named_queries(["score", "oracle"], None, None, None)
