"""Training of GANs: layer lists, losses, privacy, resuming, and that an unseen set stays unseen."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from mia_lib import data, generative, metrics, train
from mia_lib.generative import privgan, training, wasserstein
from mia_lib.generative.networks import Discriminator, Generator

SMALL = generative.dense((2, 3), 4, (5,), (6,))
RECORDS = np.random.default_rng(0).random((12, 2, 3))


RECIPES = {
    "js_gan": generative.JsGanRecipe,
    "wgan_gp": generative.WganGpRecipe,
    "priv_gan": generative.PrivGanRecipe,
    "dp_cgan": generative.DpCganRecipe,
}


def trained(kind, x, labels=None, *, checkpoints=None, folder=None, rng=None, **choices):
    """GANs of a kind, whose recipe is made of the choices."""
    given = (x,) if labels is None else (x, labels)
    run = dict(checkpoints=checkpoints, folder=folder, rng=rng)
    return getattr(generative, kind)(*given, RECIPES[kind](**choices), **run)


def seeded(seed=0):
    return np.random.default_rng(seed)


def same(a, b):
    """Whether two GANs have the same weights, bit for bit, and the same losses."""
    pairs = zip(a.generators + a.discriminators, b.generators + b.discriminators)
    weights = [(p, q) for m, n in pairs for p, q in zip(m.parameters(), n.parameters())]
    losses = all(np.array_equal(a.losses[name], b.losses[name]) for name in a.losses)
    return losses and all(torch.equal(p, q) for p, q in weights)


class TestLayers:
    def test_widths_are_read_once(self):
        widths = [5]
        of = generative.dense((2, 3), 4, widths, iter((6, 7)))
        widths.append(8)
        assert [len(of.generator(4)), len(of.discriminator(0, 1))] == [3 + 2, 5]
        assert len(of.discriminator(0, 1)) == 5  # made again, the same

    def count(self, network):
        return sum(p.numel() for p in network.parameters())

    @pytest.mark.parametrize(
        "name, generator, discriminator",
        [
            # (inputs + 1) outputs for every dense layer, by hand
            ("digits", 33 * 128 + 129 * 256 + 257 * 64, 65 * 256 + 257 * 256 + 257),
            (
                "mnist",
                101 * 512 + 513 * 512 + 513 * 1024 + 1025 * 784,
                785 * 2048 + 2049 * 512 + 513 * 256 + 257,
            ),
            # (inputs x kernel area + 1) outputs for a convolution, inputs x kernel area x outputs +
            # outputs for its transpose
            (
                "cifar10",
                101 * 2048
                + (512 * 16 * 128 + 128)
                + (128 * 16 * 64 + 64)
                + (64 * 16 * 32 + 32)
                + (32 * 16 * 3 + 3),
                76 * 64 + 1601 * 128 + 3201 * 128 + 3201 * 256 + (256 * 4 + 1),
            ),
            (
                "skin-lesions",
                101 * 8192
                + (512 * 25 * 256 + 256)
                + (256 * 25 * 128 + 128)
                + (128 * 25 * 64 + 64)
                + (64 * 25 * 3 + 3),
                76 * 64 + 1601 * 128 + 3201 * 128 + 3201 * 256 + (256 * 16 + 1),
            ),
        ],
    )
    def test_shapes_and_numbers_of_weights(self, name, generator, discriminator):
        of = generative.NETWORKS[name]
        with torch.device("meta"):
            g, d = Generator(of), Discriminator(of)
            assert (self.count(g), self.count(d)) == (generator, discriminator)
            made = g(torch.zeros(2, of.latent))
            assert made.shape == (2, *of.shape) and d(made).shape == (2, 1)
            assert Discriminator(of, n_outputs=3)(made).shape == (2, 3)
            labels = torch.zeros(2, dtype=torch.int64)
            conditional = Generator(of, 10)(torch.zeros(2, of.latent), labels)
            assert conditional.shape == made.shape and Discriminator(of, 10)(
                conditional, labels
            ).shape == (2, 1)

    def test_the_listed_cifar10_generator_gives_40_pixels(self):
        layers = [nn.ConvTranspose2d(1, 1, 4, stride=1)] + [
            nn.ConvTranspose2d(1, 1, 4, stride=2, padding=1)
        ] * 3
        assert nn.Sequential(*layers)(torch.zeros(1, 1, 2, 2)).shape[2:] == (40, 40)

    def test_a_conditional_network_uses_the_class(self):
        torch.manual_seed(0)
        for name in ("digits", "cifar10"):
            of = generative.NETWORKS[name]
            w, classes = torch.ones(1, of.latent).repeat(2, 1), torch.tensor([0, 1])
            made = Generator(of, 2)(w, classes)
            assert not torch.allclose(made[0], made[1])
            scores = Discriminator(of, 2)(made[:1].repeat(2, *[1] * len(of.shape)), classes)
            assert scores[0] != scores[1]

    def test_colour_images_keep_their_axes(self):
        # A change in one corner of one image changes a score through the patches that hold it:
        # height and width not mixed up.
        of = generative.NETWORKS["cifar10"]
        torch.manual_seed(0)
        first = Discriminator(of).layers[:2]  # to channels, first convolution
        x = torch.zeros(1, 32, 32, 3)
        y = x.clone()
        y[0, 0, 31, 2] = 1
        changed = (first(y) - first(x)).abs().sum(1)[0] > 0
        assert changed[0, 15] and not changed[15].any() and not changed[:, 0].any()

    @pytest.mark.parametrize(
        "shape, latent, hidden", [((0,), 2, (3,)), ((2,), 0, (3,)), ((2,), 2, (0,))]
    )
    def test_sizes_below_one(self, shape, latent, hidden):
        with pytest.raises(ValueError, match="shape|latent|hidden"):
            generative.dense(shape, latent, hidden, (2,))

    @pytest.mark.parametrize("shape", [(8, 8), (28, 28), (12, 4)])
    def test_upsampling_draws_pictures_of_the_shape(self, shape):
        of = generative.upsampling(shape, 5, 20, channels=(4, 3))
        drawn = Generator(of, n_classes=10)(torch.randn(6, 5), torch.arange(6))
        assert drawn.shape == (6, *shape) and float(drawn.detach().abs().max()) <= 1
        kinds = [type(layer).__name__ for layer in of.generator(5)]
        assert kinds.count("Upsample") == kinds.count("Conv2d") == 2
        convolutions = [one for one in of.generator(5) if type(one).__name__ == "Conv2d"]
        assert [one.weight.shape[:2] for one in convolutions] == [(3, 4), (1, 3)]

    def test_what_upsampling_generates_does_not_depend_on_what_is_beside_it(self):
        x, labels = np.random.default_rng(0).random((40, 8, 8)), np.arange(40) % 2
        how = {"networks": generative.upsampling((8, 8), 4), "n_steps": 2}
        gan = generative.dp_merf(x, labels, 1.0, **how, rng=np.random.default_rng(1))
        both = gan.generate(2, np.random.default_rng(2), [0, 1])
        alone = gan.generate(1, np.random.default_rng(2), [0])
        assert np.allclose(alone, both[:1], atol=1e-6)

    @pytest.mark.parametrize(
        "change, expected",
        [
            ({"shape": (8, 6)}, "shape: given .*multiples of 4"),
            ({"shape": (8,)}, "shape: given .*multiples of 4"),
            ({"hidden": 0}, "hidden"),
            ({"channels": (0, 8)}, "channels"),
        ],
    )
    def test_what_cannot_be_doubled_twice(self, change, expected):
        given = {"shape": (8, 8), "latent": 2} | change
        with pytest.raises(ValueError, match=expected):
            generative.upsampling(given.pop("shape"), given.pop("latent"), **given)


class TestGradientPenalty:
    def test_linear_critic(self):
        slope = torch.tensor([[2.0], [-1.0], [2.0]], dtype=torch.float64)  # length 3
        real, fake = torch.rand(2, 5, 3, dtype=torch.float64)
        assert float(
            wasserstein.gradient_penalty(lambda x: x @ slope, real, fake, torch.rand(5))
        ) == pytest.approx(4)

    def test_finite_differences(self):
        torch.manual_seed(0)
        critic = Discriminator(SMALL).double()
        real, fake = torch.rand(2, 4, 2, 3, dtype=torch.float64)
        mix = torch.tensor([0.0, 0.2, 0.7, 1.0], dtype=torch.float64)
        step, terms = 1e-6, []
        with torch.no_grad():
            for i in range(4):
                point = mix[i] * real[i] + (1 - mix[i]) * fake[i]
                slope = []
                for j in range(6):
                    shift = torch.zeros(6, dtype=torch.float64)
                    shift[j] = step
                    ends = [
                        float(critic((point + sign * shift.reshape(2, 3))[None]))
                        for sign in (1, -1)
                    ]
                    slope.append((ends[0] - ends[1]) / (2 * step))
                terms.append((np.linalg.norm(slope) - 1) ** 2)
        assert wasserstein.gradient_penalty(critic, real, fake, mix).item() == pytest.approx(
            np.mean(terms), rel=1e-6
        )

    def test_its_own_gradient(self):
        # d/ds of (|s v| - 1)^2 with |v| = 5 at s = 1: 2 (5 - 1) 5
        scale = torch.ones((), requires_grad=True)
        v = torch.tensor([[3.0], [4.0]])
        wasserstein.gradient_penalty(
            lambda x: x @ (scale * v), torch.ones(3, 2), torch.zeros(3, 2), torch.rand(3)
        ).backward()
        assert float(scale.grad) == pytest.approx(40)

    def test_the_penalty_holds_the_slope(self):
        x = np.concatenate([np.full((50, 1), 0.25), np.full((50, 1), 0.75)])
        of = generative.dense((1,), 2, (16,), (32, 32))
        settings = dict(networks=of, epochs=40, batch_size=50, learning_rate=1e-3)
        steep = trained("wgan_gp", x, penalty=0.0, rng=seeded(), **settings)[40]
        held = trained("wgan_gp", x, penalty=10.0, rng=seeded(), **settings)[40]
        at = np.linspace(0.2, 0.8, 61)[:, None]
        slopes = [
            np.abs(np.diff(gan.scores(at)[:, 0])).max() / 0.01 / 2 for gan in (steep, held)
        ]  # in [-1, 1]
        assert slopes[0] > 1.5 * slopes[1]


class TestPrivGan:
    def test_loss_is_the_literal_sum(self):
        rng = seeded()
        scores, logits, others = (
            rng.normal(size=(3, 4)),
            rng.normal(size=(12, 3)),
            rng.integers(3, size=12),
        )
        want = 0.0
        for j in range(3):
            for b in range(4):
                want += np.log1p(np.exp(-scores[j, b])) / 4
                row = logits[4 * j + b]
                want += 0.7 * (np.log(np.exp(row).sum()) - row[others[4 * j + b]]) / 4
        own = [torch.from_numpy(s) for s in scores]
        got = privgan.generators_loss(own, torch.from_numpy(logits), torch.from_numpy(others), 0.7)
        assert float(got) == pytest.approx(want)

    def test_slices_are_shuffled_parts(self):
        parts = [part.numpy() for part in privgan.slices(100, 3, torch.Generator().manual_seed(1))]
        assert [len(part) for part in parts] == [34, 33, 33]
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(100))
        assert all(part.min() < 20 and part.max() >= 80 for part in parts)  # not contiguous

    def test_each_pair_learns_its_own_slice(self):
        x = np.repeat([0.1, 0.9], 40)[:, None] + seeded().normal(0, 0.02, (80, 1))
        of = generative.dense((1,), 2, (16,), (32,))
        gan = trained(
            "priv_gan",
            x.clip(0, 1),
            n_pairs=2,
            networks=of,
            epochs=2,
            batch_size=10,
            privacy_epochs=0,
            rng=seeded(),
            checkpoints=[0, 2],
        )
        assert len(gan[2].generators) == len(gan[2].discriminators) == 2
        first, second = (
            generative.Gan("", (g,), (d,), (1,), 2)
            for g, d in zip(gan[2].generators, gan[2].discriminators)
        )
        assert not np.array_equal(first.scores(x.clip(0, 1)), second.scores(x.clip(0, 1)))
        mixed = gan[2].generate(4000, seeded(1))
        means = [one.generate(2000, seeded(2)).mean() for one in (first, second)]
        assert mixed.mean() == pytest.approx(np.mean(means), abs=0.02)

    def test_the_privacy_loss_makes_generators_alike(self):
        # Two slices cannot be steered from outside, so the two clusters are the slices of a run
        # whose permutation is known.
        n, of = 60, generative.dense((1,), 2, (16,), (32,))
        run_seed = int(seeded(3).integers(2**62))
        own = privgan.slices(n, 2, torch.Generator().manual_seed(run_seed))
        x = np.full((n, 1), 0.1)
        x[own[1].numpy()] = 0.9
        settings = dict(networks=of, epochs=150, batch_size=30, learning_rate=5e-3, privacy_delay=1)
        apart = {}
        for weight in (0.0, 20.0):
            gan = trained("priv_gan", x, n_pairs=2, privacy=weight, rng=seeded(3), **settings)[150]
            w = torch.randn(500, 2, generator=torch.Generator().manual_seed(0))
            apart[weight] = float(gan.images(w, pair=1).mean() - gan.images(w, pair=0).mean())
        assert apart[0.0] > 0.4 and abs(apart[20.0]) < apart[0.0] - 0.2

    @pytest.mark.parametrize(
        "pairs, message", [(1, "n_pairs: given 1"), (13, "13 slices of 12 records")]
    )
    def test_bad_pairs(self, pairs, message):
        with pytest.raises(ValueError, match=message):
            trained("priv_gan", RECORDS, n_pairs=pairs, networks=SMALL)

    def test_warm_ups(self):
        x = RECORDS
        settings = dict(networks=SMALL, epochs=3, batch_size=3)
        cold = trained(
            "priv_gan", x, privacy_epochs=0, privacy_delay=100, rng=seeded(), **settings
        )[3]
        late = trained("priv_gan", x, privacy_epochs=0, privacy_delay=3, rng=seeded(), **settings)[
            3
        ]
        warm = trained(
            "priv_gan", x, privacy_epochs=4, privacy_delay=100, rng=seeded(), **settings
        )[3]
        assert np.array_equal(cold.losses["privacy"][:2], late.losses["privacy"][:2])
        assert (
            cold.losses["privacy"][2] != late.losses["privacy"][2]
        )  # its second step of epoch 3 sees the first
        assert cold.losses["privacy"][0] != warm.losses["privacy"][0]


class TestPrivate:
    def trained(self, sigma, max_norm, x, labels, batch_size=None, epochs=1, **options):
        batch_size = batch_size or len(x)
        return trained(
            "dp_cgan",
            x,
            labels,
            networks=SMALL,
            epochs=epochs,
            batch_size=batch_size,
            noise_multiplier=sigma,
            max_norm=max_norm,
            checkpoints=range(epochs + 1),
            rng=seeded(),
            **options,
        )

    def test_clipped_sum_is_that_of_a_loop_over_records(self, monkeypatch):
        """With plain SGD of rate 1 the step is the gradient: compare it with a loop, one record
        after the other.
        """
        monkeypatch.setattr(
            torch.optim,
            "Adam",
            lambda parameters, lr, betas, fused: torch.optim.SGD(parameters, lr=1.0),
        )
        x, labels, n, max_norm = RECORDS, np.arange(12) % 3, 12, 0.15
        gans = self.trained(0.0, max_norm, x, labels)
        seed = int(seeded().integers(2**62))
        draws = torch.Generator().manual_seed(seed)
        drawn = torch.rand(n, generator=draws) < 1.0  # batch size n: everybody takes part
        assert drawn.all()
        asked = torch.randint(3, (n,), generator=draws)
        noise = torch.randn(n, SMALL.latent, generator=draws)
        start = gans[0]
        fake = start.generators[0](noise, asked).detach()
        real = torch.from_numpy(2 * x.astype(np.float32) - 1)
        net = start.discriminators[0].requires_grad_(True)
        total, norms = [torch.zeros_like(p) for p in net.parameters()], []
        for record, label, target in [(real[i], int(labels[i]), 1.0) for i in range(n)] + [
            (fake[i], int(asked[i]), 0.0) for i in range(n)
        ]:
            logit = net(record[None], torch.tensor([label]))[0, 0]
            loss = -torch.log(torch.sigmoid(logit) if target else 1 - torch.sigmoid(logit))
            gradients = torch.autograd.grad(loss, list(net.parameters()))
            norm = float(torch.sqrt(sum((g**2).sum() for g in gradients)))
            norms.append(norm)
            for sum_, g in zip(total, gradients):
                sum_ += g * min(1.0, max_norm / norm)
        assert min(norms) < max_norm or max(norms) > max_norm  # clipping matters
        for before, sum_, after in zip(
            net.parameters(), total, gans[1].discriminators[0].parameters()
        ):
            assert torch.allclose(before - sum_ / n, after, atol=1e-5)

    def test_noise_has_its_spread(self, monkeypatch):
        monkeypatch.setattr(
            torch.optim,
            "Adam",
            lambda parameters, lr, betas, fused: torch.optim.SGD(parameters, lr=1.0),
        )
        labels = np.arange(12) % 3
        plain, noisy = (
            self.trained(sigma, 1e-3, RECORDS, labels)[1].discriminators[0] for sigma in (0.0, 50.0)
        )
        moved = torch.cat(
            [(a - b).flatten() for a, b in zip(plain.parameters(), noisy.parameters())]
        ).numpy()
        want = 50.0 * 1e-3 / 12
        assert stats.kstest(moved / want, "norm").pvalue > 1e-4 and len(moved) > 50

    def test_one_record_moves_the_sum_by_at_most_the_norm(self, monkeypatch):
        monkeypatch.setattr(
            torch.optim,
            "Adam",
            lambda parameters, lr, betas, fused: torch.optim.SGD(parameters, lr=1.0),
        )
        labels, max_norm = np.arange(12) % 3, 0.05
        other = RECORDS.copy()
        other[4] = 1 - other[4]
        nets = [
            self.trained(0.0, max_norm, x, labels)[1].discriminators[0] for x in (RECORDS, other)
        ]
        moved = [(a - b) * 12 for a, b in zip(nets[0].parameters(), nets[1].parameters())]
        distance = float(torch.sqrt(sum((m**2).sum() for m in moved)))
        assert 0 < distance <= 2 * max_norm + 1e-5  # replaced: one record left out, one added

    @pytest.mark.parametrize("epsilon", [0.2, 0.9, 1.0, 3.0, 30.0])
    def test_the_last_epoch_within_a_budget(self, epsilon):
        n, recipe = 23, generative.DpCganRecipe(epochs=12, batch_size=5, noise_multiplier=2.0)
        spent = [0.0] + [train.epsilon(2.0, 5 / 23, 4 * epoch) for epoch in range(1, 14)]
        within = [epoch for epoch in range(14) if spent[epoch] <= epsilon]
        wanted = None if 13 in within else max(within) or None
        assert generative.epochs_within(epsilon, n, recipe) == wanted

    def test_the_budgets_of_that_test_are_of_every_kind(self):
        spent = [train.epsilon(2.0, 5 / 23, 4 * epoch) for epoch in (1, 2, 13)]
        assert 0.2 < spent[0] < spent[1] < 3.0 < 30.0
        assert spent[2] < 30.0

    def test_a_budget_that_cannot_be_meant(self):
        with pytest.raises(ValueError, match="^epsilon: given 0"):
            generative.epochs_within(0, 100)
        with pytest.raises(ValueError, match="^n: given 10"):
            generative.epochs_within(1.0, 10, generative.DpCganRecipe(batch_size=20))

    def test_the_guarantee_at_a_rate_of_one_is_that_of_a_gaussian(self):
        """Every step sees all members: T of them are one Gaussian mechanism at sqrt(T) / sigma."""
        recipe = generative.DpCganRecipe(batch_size=12, noise_multiplier=4.0)
        mu = np.sqrt(3) / 4
        for found, wanted in (
            (recipe.guarantee(12, 3).advantage(), 2 * stats.norm.cdf(mu / 2) - 1),
            (recipe.guarantee(12, 3).tpr_at(0.05), stats.norm.cdf(mu + stats.norm.ppf(0.05))),
        ):
            assert wanted <= found <= wanted + 2e-3

    def test_the_guarantee_is_within_what_the_moments_spend(self):
        recipe = generative.DpCganRecipe(batch_size=5, noise_multiplier=2.0)
        moments = train.epsilon(2.0, 5 / 23, 4 * 7)
        assert 0.8 * moments < recipe.guarantee(23, 7).epsilon(1e-5) <= moments

    def test_a_guarantee_without_noise_or_steps(self):
        recipe = generative.DpCganRecipe(batch_size=5, noise_multiplier=0.0)
        assert recipe.guarantee(23, 7).advantage() == 1
        with pytest.raises(ValueError, match="^epochs: given 0"):
            recipe.guarantee(23, 0)
        with pytest.raises(ValueError, match="^n_members: given 4"):
            recipe.guarantee(4, 1)

    def test_epsilon_by_an_accountant_that_shares_nothing(self):
        """Sampling rate 1: T Gaussian mechanisms are one with noise sigma / sqrt(T), whose exact
        delta is known.
        """
        labels, sigma, n_steps, delta = np.zeros(12, int), 2.0, 3, 1e-5
        gans = self.trained(sigma, 1.0, RECORDS, labels, epochs=n_steps, delta=delta)
        s = sigma / np.sqrt(n_steps)

        def exact(epsilon):
            a, b = 1 / (2 * s) - epsilon * s, -1 / (2 * s) - epsilon * s
            return stats.norm.cdf(a) - np.exp(epsilon) * stats.norm.cdf(b)

        low, high = 0.0, 50.0
        for _ in range(100):
            low, high = (
                ((low + high) / 2, high)
                if exact((low + high) / 2) > delta
                else (low, (low + high) / 2)
            )
        assert high <= gans[n_steps].epsilon <= 1.15 * high
        assert gans[0].epsilon == 0.0 and gans[1].epsilon < gans[2].epsilon

    def test_epsilon_with_sampling_against_another_accountant(self):
        from opacus.accountants import PRVAccountant

        gans = self.trained(
            1.2, 1.0, RECORDS, np.zeros(12, int), batch_size=3, epochs=20, delta=1e-4
        )
        accountant = PRVAccountant()
        accountant.history = [(1.2, 0.25, 80)]
        other = accountant.get_epsilon(1e-4)
        assert other <= gans[20].epsilon <= 1.3 * other

    def test_batches_that_hold_nobody(self):
        gan = self.trained(1.0, 1.0, RECORDS, np.zeros(12, int), batch_size=1, epochs=2)[2]
        assert np.isfinite(gan.scores(RECORDS, np.zeros(12, int))).all()

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="batch_size: given 13"):
            trained("dp_cgan", RECORDS, np.zeros(12, int), networks=SMALL, batch_size=13)
        with pytest.raises(ValueError, match="labels: given shape"):
            trained("dp_cgan", RECORDS, np.zeros(11, int), networks=SMALL, batch_size=2)
        with pytest.raises(ValueError, match="noise_multiplier"):
            trained(
                "dp_cgan",
                RECORDS,
                np.zeros(12, int),
                networks=SMALL,
                batch_size=2,
                noise_multiplier=-1.0,
            )


KINDS = {
    "js_gan": {},
    "wgan_gp": {"critic_steps": 2},
    "priv_gan": {"privacy_epochs": 2, "privacy_delay": 3},
    "dp_cgan": {"labels": np.arange(12) % 3},
}
COMMON = dict(networks=SMALL, batch_size=4)


class TestRuns:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_stopped_run_goes_on_bit_for_bit(self, kind, tmp_path):
        train, options = partial(trained, kind), COMMON | KINDS[kind]
        whole = train(RECORDS, epochs=5, checkpoints=[0, 2, 5], rng=seeded(), **options)
        train(RECORDS, epochs=3, checkpoints=[0, 2], folder=tmp_path / "a", rng=seeded(), **options)
        torch.manual_seed(99)  # torch's global generator plays no part
        parts = train(
            RECORDS, epochs=5, checkpoints=[0, 2, 5], folder=tmp_path / "a", rng=seeded(), **options
        )
        assert all(same(whole[epoch], parts[epoch]) for epoch in (0, 2, 5))
        assert not same(whole[2], whole[5])
        again = train(
            RECORDS, epochs=5, checkpoints=[2], folder=tmp_path / "a", **options
        )  # the folder knows its seed
        assert same(again[2], whole[2])

    def test_a_killed_run_goes_on_bit_for_bit(self, tmp_path):
        code = (
            "import numpy as np, os, sys\n"
            "from mia_lib import disk, generative\n"
            "from mia_lib.generative import training\n"
            "training.SAVE_EVERY = 0\n"
            "save, count = disk.write_npz, [0]\n"
            "def dying(path, arrays):\n"
            "    count[0] += 1\n"
            "    if count[0] == 6: path.with_name(path.name + '.part').write_bytes(b'half'); "
            "os._exit(9)\n"
            "    save(path, arrays)\n"
            "disk.write_npz = dying\n"
            "of = generative.dense((2, 3), 4, (5,), (6,))\n"
            "x = np.random.default_rng(0).random((12, 2, 3))\n"
            "recipe = generative.JsGanRecipe(networks=of, epochs=9, batch_size=4)\n"
            "generative.js_gan(x, recipe, folder=sys.argv[1], rng=np.random.default_rng(0))\n"
        )
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        assert (
            subprocess.run(
                [sys.executable, "-c", code, str(tmp_path / "a")], env=environment
            ).returncode
            == 9
        )
        assert 0 < int(np.load(tmp_path / "a" / "latest.npz")["epoch"]) < 9
        resumed = trained(
            "js_gan", RECORDS, epochs=9, folder=tmp_path / "a", rng=seeded(), **COMMON
        )[9]
        assert same(resumed, trained("js_gan", RECORDS, epochs=9, rng=seeded(), **COMMON)[9])

    @pytest.mark.parametrize(
        "change",
        [
            {"rng": seeded(1)},
            {"batch_size": 3},
            {"x": 1 - RECORDS},
            {"networks": generative.dense((2, 3), 4, (7,), (6,))},
        ],
    )
    def test_a_folder_of_another_training(self, change, tmp_path):
        arguments = {"x": RECORDS, "epochs": 1, "folder": tmp_path / "a", "rng": seeded()} | COMMON
        trained("js_gan", **arguments)
        with pytest.raises(ValueError, match="folder: given"):
            trained("js_gan", **arguments | {"rng": seeded()} | change)

    def test_a_checkpoint_that_is_past_is_trained_again(self, tmp_path):
        whole = trained("js_gan", RECORDS, epochs=4, checkpoints=[2, 4], rng=seeded(), **COMMON)
        arguments = dict(folder=tmp_path / "a", **COMMON)
        trained("js_gan", RECORDS, epochs=4, rng=seeded(), **arguments)
        again = trained("js_gan", RECORDS, epochs=4, checkpoints=[2, 4], **arguments)
        assert same(again[2], whole[2]) and same(again[4], whole[4])

    def test_training_again_for_a_checkpoint_loses_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(training, "SAVE_EVERY", 0)
        arguments = dict(folder=tmp_path / "a", **COMMON)
        trained("js_gan", RECORDS, epochs=8, rng=seeded(), **arguments)
        latest = (tmp_path / "a" / "latest.npz").read_bytes()
        epoch = training.Run._epoch

        def cut(run, step, n_steps, number):
            if number == 4:
                raise KeyboardInterrupt
            return epoch(run, step, n_steps, number)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(training.Run, "_epoch", cut)
            trained("js_gan", RECORDS, epochs=8, checkpoints=[5, 8], **arguments)
        assert (tmp_path / "a" / "latest.npz").read_bytes() == latest
        done = []
        monkeypatch.setattr(
            training.Run, "_epoch", lambda *args: done.append(args[-1]) or epoch(*args)
        )
        trained(
            "js_gan", RECORDS, epochs=9, **arguments
        )  # without the missing checkpoint: from the latest
        assert done == [9]
        whole = trained("js_gan", RECORDS, epochs=9, checkpoints=[5, 9], rng=seeded(), **COMMON)
        done.clear()
        again = trained("js_gan", RECORDS, epochs=9, checkpoints=[5, 9], **arguments)
        assert done[0] < 5 and same(again[5], whole[5]) and same(again[9], whole[9])
        assert not (tmp_path / "a" / "again.npz").exists()

    @pytest.mark.parametrize("file", ["manifest.json", "latest.npz", "epoch-000001.npz"])
    def test_a_damaged_folder_names_its_file(self, file, tmp_path):
        arguments = dict(epochs=2, checkpoints=[1, 2], folder=tmp_path / "a", **COMMON)
        trained("js_gan", RECORDS, rng=seeded(), **arguments)
        path = tmp_path / "a" / file
        whole = path.read_bytes()
        spoilt = [b"", whole[: len(whole) // 2], b"[]", b"{}", b'{"seed": "none"}']
        for content in spoilt:
            path.write_bytes(content)
            with pytest.raises(ValueError, match=f"^folder: given .*{file}, which is damaged"):
                trained("js_gan", RECORDS, **arguments)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_recipe_of_another_kind_is_refused(self, kind):
        given = (RECORDS, *KINDS["dp_cgan"].values()) if kind == "dp_cgan" else (RECORDS,)
        for recipe in [RECIPES[other]() for other in KINDS if other != kind] + [None]:
            names = [type(recipe).__name__, RECIPES[kind].__name__]
            with pytest.raises(ValueError, match="^recipe: given {}, expected a {}".format(*names)):
                getattr(generative, kind)(*given, recipe)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_diverged_run_names_its_epoch(self, kind, tmp_path):
        train = partial(trained, kind)
        with pytest.raises(
            ValueError,
            match=r"loss: given (nan|inf|-inf) in epoch \d+.*try a smaller learning_rate",
        ):
            train(
                RECORDS,
                **KINDS[kind],
                epochs=40,
                learning_rate=1e30,
                folder=tmp_path / "a",
                rng=seeded(),
                **COMMON,
            )
        latest = np.load(tmp_path / "a" / "latest.npz")
        assert all(
            np.isfinite(latest[name]).all() for name in latest.files if name.startswith("loss/")
        )

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_weights_that_the_last_step_spoilt_are_not_kept(self, value, tmp_path):
        recipe = generative.GanRecipe(networks=SMALL, epochs=3)
        run = training.Run("toy", RECORDS, recipe, folder=tmp_path / "a", rng=seeded())
        network, _ = run.add("generator", lambda: torch.nn.Linear(2, 2))

        def step(epoch):  # its loss is taken before the weights change
            if epoch == 3:
                network.weight.data[0, 1] = value
            return {"generator": torch.tensor(1.0)}

        with pytest.raises(
            ValueError,
            match=r"weights of generator/weight: given nan or inf after epoch 3 of the toy"
            r".*learning_rate",
        ):
            run.train(step, 1, [1, 3])
        kept = sorted(path.name for path in (tmp_path / "a").glob("*.npz"))
        assert (
            kept == ["epoch-000001.npz", "latest.npz"]
            and np.load(tmp_path / "a" / "latest.npz")["epoch"] == 1
        )

    def test_the_manifest_is_readable(self, tmp_path):
        trained(
            "wgan_gp", RECORDS, epochs=1, folder=tmp_path / "a", rng=seeded(), penalty=3.0, **COMMON
        )
        manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
        assert manifest["kind"] == "WGAN-GP" and manifest["penalty"] == 3.0

    def test_bfloat16_is_near_and_scores_in_float32(self):
        runs = [
            trained("wgan_gp", RECORDS, epochs=5, rng=seeded(), precision=p, **COMMON)[5]
            for p in ("float32", "bfloat16")
        ]
        a, b = (gan.scores(RECORDS) for gan in runs)
        assert not np.array_equal(a, b) and np.allclose(a, b, atol=0.05)
        assert not runs[1].discriminators[0].bfloat16

    @pytest.mark.parametrize(
        "change, name",
        [
            ({"x": RECORDS * 255}, "x"),
            ({"x": RECORDS[:, 0]}, "x"),
            ({"networks": "nobody"}, "networks"),
            ({"epochs": -1}, "epochs"),
            ({"batch_size": 0}, "batch_size"),
            ({"learning_rate": 0.0}, "learning_rate"),
            ({"betas": (1.0, 0.9)}, "betas"),
            ({"checkpoints": [9]}, "checkpoints"),
            ({"checkpoints": []}, "checkpoints"),
            ({"rng": 3}, "rng"),
            ({"device": "gpu"}, "device"),
            ({"precision": "half"}, "precision"),
            ({"real_label": 0.4}, "real_label"),
            ({"x": RECORDS * np.nan}, "x"),
        ],
    )
    def test_bad_arguments(self, change, name):
        with pytest.raises(ValueError, match=f"{name}: given"):
            trained("js_gan", **{"x": RECORDS, "epochs": 2} | COMMON | change)

    def test_steps_are_full_batches(self):
        assert [training.steps(n, 4) for n in (3, 4, 7, 8)] == [1, 1, 1, 2]


@pytest.fixture(scope="module")
def gans():
    return {
        kind: trained(kind, RECORDS, epochs=1, rng=seeded(), **COMMON | KINDS[kind])[1]
        for kind in KINDS
    }


class TestGan:
    @pytest.mark.parametrize("kind", KINDS)
    def test_shapes_and_ranges(self, kind, gans):
        gan = gans[kind]
        given = {"labels": np.arange(7) % 3} if gan.n_classes else {}
        made = gan.generate(7, seeded(), **given)
        assert (
            made.shape == (7, 2, 3)
            and made.dtype == np.float32
            and made.min() >= 0
            and made.max() <= 1
        )
        assert np.array_equal(made, gan.generate(7, seeded(), **given))
        scores = gan.scores(made, **given)
        assert scores.shape == (7, len(gan.discriminators)) and scores.dtype == np.float64

    def test_more_than_a_block(self, gans, monkeypatch):
        gan = gans["priv_gan"]
        x = seeded().random((50, 2, 3))
        whole = gan.scores(x)
        monkeypatch.setattr("mia_lib.generative.gan.BLOCK", 7)
        assert np.allclose(gan.scores(x), whole, atol=1e-6)
        assert gan.generate(20, seeded()).shape == (20, 2, 3)

    def test_images_follow_the_noise(self, gans):
        w = torch.zeros(3, 4, requires_grad=True)
        gans["js_gan"].images(w).sum().backward()
        assert w.grad.abs().sum() > 0

    def test_labels(self, gans):
        with pytest.raises(ValueError, match="labels: given None"):
            gans["dp_cgan"].generate(2)
        with pytest.raises(ValueError, match="labels: given labels"):
            gans["js_gan"].scores(RECORDS, np.zeros(12, int))
        with pytest.raises(ValueError, match="labels: given largest label 3"):
            gans["dp_cgan"].scores(RECORDS[:1], [3])

    def test_records_out_of_range(self, gans):
        with pytest.raises(ValueError, match="x: given values from"):
            gans["js_gan"].scores(RECORDS + 1)


@pytest.fixture(scope="module")
def digits_gan():
    """120 members for 250 epochs, and who was a member."""
    x = data.load("digits").x
    member = np.zeros(len(x), bool)
    member[seeded(5).permutation(len(x))[:120]] = True
    gan = trained(
        "wgan_gp", x[member], epochs=250, batch_size=60, learning_rate=5e-4, rng=seeded()
    )[250]
    return x, member, gan


@pytest.mark.simulation
def test_a_critic_knows_its_members_and_no_others(digits_gan):
    """Against the next 120 records as if they had been members: nothing."""
    x, member, gan = digits_gan
    scores = gan.scores(x)[:, 0]
    assert metrics.roc(scores, member).auc > 0.7
    rest = np.flatnonzero(~member)
    never = np.zeros(len(rest), bool)
    never[seeded(6).permutation(len(rest))[:120]] = True
    curve = metrics.roc(scores[rest], never)
    interval = curve.auc_interval(0.01, rng=seeded(7))
    assert interval.low < 0.5 < interval.high


@pytest.mark.simulation
def test_generated_digits_are_digits(digits_gan):
    """A classifier trained on non-members finds all classes among the samples, and is surer of them
    than of noise.
    """
    from sklearn.linear_model import LogisticRegression

    x, member, gan = digits_gan
    y = data.load("digits").y
    flat = x.reshape(len(x), -1)
    classifier = LogisticRegression(max_iter=200).fit(flat[~member], y[~member])
    made = gan.generate(1000, seeded()).reshape(1000, -1)
    sure = classifier.predict_proba(made).max(1).mean()
    noise = classifier.predict_proba(seeded().permuted(made, axis=1)).max(1).mean()
    share = np.bincount(classifier.predict(made), minlength=10) / 1000
    assert share.min() > 0.01 and sure > noise


def test_a_release_asks_a_conditional_gan_for_every_class_alike():
    gan = trained("dp_cgan", RECORDS, np.arange(12) % 3, networks=SMALL, batch_size=2, epochs=1)[1]
    made = generative.release(gan, 600, seeded(1))
    assert stats.chisquare(np.bincount(made.labels, minlength=3)).pvalue > 0.001
    again = seeded(1)
    labels = again.integers(3, size=600)
    assert np.array_equal(made.labels, labels)
    assert np.array_equal(made.x, gan.generate(600, again, labels))


def test_a_release_of_any_other_gan_is_what_it_generates():
    gan = trained("js_gan", RECORDS, networks=SMALL, batch_size=2, epochs=1)[1]
    made = generative.release(gan, 5, seeded(1))
    assert made.labels is None and np.array_equal(made.x, gan.generate(5, seeded(1)))
    with pytest.raises(ValueError, match="^n: given 0"):
        generative.release(gan, 0)
