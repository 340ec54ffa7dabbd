"""Stacks of GANs against a plain loop of autograd in float64, resuming, and networks that fail."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mia_lib import generative, shadow
from mia_lib.generative import stack_training, stacked, wasserstein
from mia_lib.generative.networks import Discriminator, Generator

SMALL = generative.dense((2, 3), 4, (5,), (7, 6))
RECORDS = np.random.default_rng(0).random((22, 2, 3))
MASKS = shadow.half_masks(4, 22, np.random.default_rng(1))
CHOICES = {"networks": SMALL, "epochs": 5, "batch_size": 4, "learning_rate": 0.01}
RECIPES = {
    "WGAN-GP": generative.WganGpRecipe(critic_steps=3, penalty=2.0, **CHOICES),
    "JS-GAN": generative.JsGanRecipe(real_label=0.8, **CHOICES),
}


LEAKY = nn.LeakyReLU(0.2)


def other_layers(leaky=LEAKY, bias=True, last=nn.Tanh):
    """Networks like SMALL, but for what is given."""

    def generator(n_inputs):
        inner = nn.Linear(n_inputs, 5), leaky, nn.Linear(5, 6)
        return nn.Sequential(*inner, last(), nn.Unflatten(1, (2, 3)))

    def discriminator(n_classes, n_outputs):
        return nn.Sequential(nn.Linear(6, 7, bias=bias), leaky, nn.Linear(7, n_outputs))

    return generative.Networks((2, 3), 4, generator, discriminator, flat=True)


def seeded(seed=3):
    return np.random.default_rng(seed)


def cross_entropy(logits, target):
    return binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def looped(kind, recipe, seed, s, n_steps):
    """Network s alone, with torch's modules, autograd and Adam in float64, from the stack's own
    random numbers.
    """
    (number,) = np.random.SeedSequence(seed, spawn_key=(s,)).generate_state(1, np.uint64)
    torch.manual_seed(int(number) >> 1)
    generator, critic = Generator(SMALL).double(), Discriminator(SMALL).double()
    of_generator, of_critic = (
        torch.optim.Adam(net.parameters(), lr=recipe.learning_rate, betas=recipe.betas)
        for net in (generator, critic)
    )
    x = torch.from_numpy(2 * RECORDS.astype(np.float32) - 1).double()
    ids, batch = np.flatnonzero(MASKS[s]), recipe.batch_size
    critic_steps = getattr(recipe, "critic_steps", 1)
    per_block = max(1, stack_training.BLOCK_STEPS // n_steps)
    for epoch in range(recipe.epochs):
        block, inside = divmod(epoch, per_block)
        if inside == 0:
            draws = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(s, block)))
            several = (per_block * n_steps, critic_steps, batch)
            rows = ids[draws.integers(len(ids), size=several)]
            size = (per_block * n_steps, critic_steps + 1, batch, SMALL.latent)
            noise = torch.from_numpy(draws.standard_normal(size, dtype=np.float32)).double()
            if kind == "WGAN-GP":
                mix = torch.from_numpy(draws.random(several, dtype=np.float32)).double()
        for t in range(inside * n_steps, (inside + 1) * n_steps):
            for c in range(critic_steps):
                real, fake = x[rows[t, c]], generator(noise[t, c])
                if kind == "WGAN-GP":
                    penalty = wasserstein.gradient_penalty(critic, real, fake.detach(), mix[t, c])
                    loss = critic(fake.detach()).mean() - critic(real).mean()
                    loss = loss + recipe.penalty * penalty
                else:
                    told = cross_entropy(critic(real), recipe.real_label)
                    loss = (told + cross_entropy(critic(fake.detach()), 0.0)) / 2
                of_critic.zero_grad()
                loss.backward()
                of_critic.step()
            if kind == "WGAN-GP":
                loss = -critic(generator(noise[t, critic_steps])).mean()
            else:
                loss = cross_entropy(critic(generator(noise[t, 0])), 1.0)
            of_generator.zero_grad()
            loss.backward()
            of_generator.step()
    nets = {"generator": generator, "discriminator": critic}
    return {
        f"{name}/{key}": tensor.numpy()
        for name, net in nets.items()
        for key, tensor in net.state_dict().items()
    }


@pytest.mark.parametrize("kind", RECIPES)
def test_stacked_and_looped_training_give_the_same_weights(kind):
    recipe = RECIPES[kind]
    stack = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded(), dtype="float64")
    seed = int(seeded().integers(2**62))
    n_steps = round(MASKS.sum(1).mean()) // recipe.batch_size
    assert n_steps == 2 and stack.kind == kind
    for s in range(len(MASKS)):
        alone = looped(kind, recipe, seed, s, n_steps)
        assert alone.keys() == stack.weights.keys()
        for key, expected in alone.items():
            assert np.abs(stack.weights[key][s] - expected).max() < 1e-10, key


@pytest.mark.parametrize("kind", RECIPES)
def test_a_network_does_not_depend_on_the_rest_of_its_stack(kind):
    recipe = RECIPES[kind]
    four = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded(), dtype="float64")
    others = MASKS.copy()
    others[1:] = np.roll(MASKS[1:], 1, axis=1)
    again = generative.gan_stack(RECORDS, others, recipe, rng=seeded(), dtype="float64")
    for key, array in four.weights.items():
        assert np.allclose(array[0], again.weights[key][0], atol=1e-12)
    assert not np.allclose(four.scores(RECORDS)[1], again.scores(RECORDS)[1])


def test_the_slope_of_a_critic_is_its_gradient():
    weights = [torch.randn(2, 5, 3), torch.randn(2, 5), torch.randn(2, 4, 5), torch.randn(2, 4)]
    weights += [torch.randn(2, 1, 4), torch.randn(2, 1)]
    layers = list(zip(weights[::2], weights[1::2]))
    x = torch.randn(2, 6, 3, requires_grad=True)
    (expected,) = torch.autograd.grad(stack_training.through(layers, x).sum(), x)
    found = stack_training.slope_of(layers, stack_training.bends_of(layers, x.detach()))
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", RECIPES)
def test_who_else_is_in_the_stack_matters_by_the_average_number_of_members_alone(kind):
    pair, others = MASKS[:2], np.roll(MASKS[:2], 5, axis=1)
    larger = np.ones_like(pair)
    alone, beside, outnumbered = (
        generative.gan_stack(RECORDS, np.concatenate(masks), RECIPES[kind], rng=seeded())
        for masks in ([pair], [pair, others], [pair, larger])
    )
    for key, array in alone.weights.items():
        np.testing.assert_allclose(array, beside.weights[key][:2], atol=1e-4)
    key = "generator/layers.0.weight"
    assert np.abs(alone.weights[key] - outnumbered.weights[key][:2]).max() > 0.01


class TestResuming:
    @pytest.mark.parametrize("kind", RECIPES)
    def test_a_run_goes_on_from_its_folder(self, kind, tmp_path):
        recipe = RECIPES[kind]
        shorter = type(recipe)(**{**vars(recipe), "epochs": 2})
        generative.gan_stack(RECORDS, MASKS, shorter, folder=tmp_path / "a", rng=seeded())
        # the seed is the folder's own
        found = generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path / "a")
        whole = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded())
        for key, array in whole.weights.items():
            assert np.array_equal(array, found.weights[key])
        assert all(np.array_equal(whole.losses[name], found.losses[name]) for name in whole.losses)

    def test_a_killed_run_goes_on_bit_for_bit(self, tmp_path, monkeypatch):
        recipe = RECIPES["WGAN-GP"]
        monkeypatch.setattr(stack_training, "SAVE_EVERY", -1)
        once, made = stack_training.StackRun._save, []

        def killed(self, seconds):
            once(self, seconds)
            made.append(self.epoch)
            if self.epoch == 3:
                raise KeyboardInterrupt

        monkeypatch.setattr(stack_training.StackRun, "_save", killed)
        with pytest.raises(KeyboardInterrupt):
            generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path, rng=seeded())
        monkeypatch.setattr(stack_training.StackRun, "_save", once)
        found = generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path, rng=seeded())
        whole = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded())
        assert made == [1, 2, 3]
        assert all(np.array_equal(a, found.weights[key]) for key, a in whole.weights.items())

    def test_a_finished_run_is_not_made_again(self, tmp_path, monkeypatch):
        recipe = RECIPES["JS-GAN"]
        first = generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path, rng=seeded())
        monkeypatch.setattr(stack_training.StackRun, "_one_epoch", None)
        again = generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path)
        assert np.array_equal(first.scores(RECORDS), again.scores(RECORDS))
        assert json.loads((tmp_path / "manifest.json").read_text())["kind"] == "JS-GAN"

    def test_another_training_is_refused(self, tmp_path):
        generative.gan_stack(RECORDS, MASKS, RECIPES["JS-GAN"], folder=tmp_path, rng=seeded())
        with pytest.raises(ValueError, match="folder: given .*data"):
            generative.gan_stack(RECORDS, ~MASKS, RECIPES["JS-GAN"], folder=tmp_path)
        fewer = generative.JsGanRecipe(real_label=0.8, **{**CHOICES, "epochs": 1})
        with pytest.raises(ValueError, match="recipe.epochs: given 1, where .* has reached 5"):
            generative.gan_stack(RECORDS, MASKS, fewer, folder=tmp_path)


class TestFailures:
    def test_a_broken_network_is_counted_and_harms_no_other(self, monkeypatch):
        """The start of network 2 is spoilt; the others end where they end without it."""
        recipe = RECIPES["WGAN-GP"]
        whole = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded())
        start = stack_training.StackRun._start

        def spoilt(self):
            start(self)
            with torch.no_grad():
                self.weights["generator/layers.0.weight"][2] = torch.nan

        monkeypatch.setattr(stack_training.StackRun, "_start", spoilt)
        stack = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded())
        assert stack.broken.tolist() == [False, False, True, False]
        assert len(stack) == 4 and "4 networks of kind WGAN-GP: 1 broken" in stack.report()
        scores = stack.scores(RECORDS)
        assert np.isnan(scores[2]).all()
        others = [0, 1, 3]
        assert np.allclose(scores[others], whole.scores(RECORDS)[others], atol=1e-6)
        assert np.isnan(stack.losses["critic"][2]).all()

    def test_a_generator_of_one_record_has_collapsed(self):
        """Before any training the outputs hardly vary; records of one value have no variance."""
        none = generative.JsGanRecipe(**{**CHOICES, "epochs": 0})
        stack = generative.gan_stack(RECORDS, MASKS, none, rng=seeded())
        stack.weights["generator/layers.0.weight"][1] = 0  # the noise is not seen
        spread = stacked._spread(stack.weights, SMALL, RECORDS, MASKS, 0)
        assert spread[1] == pytest.approx(0, abs=1e-12)
        assert (spread[[0, 2, 3]] > 0).all()
        made = stack.gan(0).generate(20_000, seeded()).reshape(20_000, -1)
        members = RECORDS[MASKS[0]].reshape(MASKS[0].sum(), -1)
        assert spread[0] == pytest.approx(made.var(0).sum() / members.var(0).sum(), rel=0.2)


def test_networks_of_ones_own_with_the_same_layers_are_trained():
    recipe = generative.JsGanRecipe(**CHOICES | {"networks": other_layers()})
    stack = generative.gan_stack(RECORDS, MASKS, recipe, rng=seeded())
    alone = stack.gan(1).scores(RECORDS)[:, 0]
    assert np.allclose(stack.scores(RECORDS)[1], alone, atol=1e-6)


@pytest.mark.parametrize(
    "networks",
    [
        other_layers(nn.LeakyReLU(0.01)),
        other_layers(nn.Tanh()),
        other_layers(nn.Identity()),
        other_layers(bias=False),
        other_layers(last=nn.Identity),
        generative.Networks((2, 3), 4, nn.Identity, lambda *sizes: nn.Identity(), flat=True),
    ],
)
def test_layers_that_a_stack_would_compute_otherwise_are_refused(networks):
    recipe = generative.JsGanRecipe(**CHOICES | {"networks": networks})
    with pytest.raises(ValueError, match="^recipe.networks: given other layers, expected fully"):
        generative.gan_stack(RECORDS, MASKS, recipe)


@pytest.mark.parametrize("file", ["manifest.json", "latest.npz"])
def test_a_damaged_folder_names_its_file(file, tmp_path):
    recipe = RECIPES["JS-GAN"]
    generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path, rng=seeded())
    whole = (tmp_path / file).read_bytes()
    for cut in (0, len(whole) // 2):
        (tmp_path / file).write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=f"^folder: given .*{file}, which is damaged"):
            generative.gan_stack(RECORDS, MASKS, recipe, folder=tmp_path)


def test_one_of_a_stack_is_a_gan_of_its_own():
    stack = generative.gan_stack(RECORDS, MASKS, RECIPES["JS-GAN"], rng=seeded())
    for s in range(4):
        one = stack.gan(s)
        assert np.allclose(one.scores(RECORDS)[:, 0], stack.scores(RECORDS)[s], atol=1e-6)
        assert one.losses["generator"].shape == (5,) and one.epoch == 5
    assert stack.gan(0).generate(3, seeded()).shape == (3, 2, 3)


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"masks": MASKS[:, :3]}, r"masks: given shape \(4, 3\)"),
        ({"masks": np.zeros((2, 22), bool)}, "masks: given network 0, 1 without members"),
        ({"x": RECORDS + 2}, "x: given values from"),
        ({"recipe": generative.PrivGanRecipe()}, "recipe: given PrivGanRecipe"),
        (
            {"recipe": generative.JsGanRecipe(precision="bfloat16", **CHOICES)},
            "recipe.precision: given 'bfloat16'",
        ),
        (
            {"recipe": generative.JsGanRecipe(networks="cifar10"), "x": np.zeros((22, 32, 32, 3))},
            "recipe.networks: given other layers",
        ),
        (
            {"recipe": generative.JsGanRecipe(penalty=2.0, **CHOICES)},
            "recipe.penalty: given 2.0, expected 0",
        ),
        ({"dtype": "half"}, "dtype: given 'half'"),
    ],
)
def test_bad_input_is_named(change, expected):
    given = {"x": RECORDS, "masks": MASKS, "recipe": RECIPES["JS-GAN"]} | change
    dtype = given.pop("dtype", "float32")
    with pytest.raises(ValueError, match=expected):
        generative.gan_stack(*given.values(), dtype=dtype)
