"""The training of a stack of GANs: weights of all networks as one tensor a layer, and a step of all
of them at once.

Taught in book/generators_one_record.ipynb.
"""

import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, leaky_relu

from mia_lib import checks, clock, disk, models, progress
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.training import LATEST, SAVE_EVERY, read_npz, seed_of, steps

BLOCK_STEPS = 8  # generator steps, at least one epoch, whose random numbers are drawn at a time
SLOPE = 0.2  # of the LeakyReLU of `networks.dense`
# to be raised whenever the same arguments give other numbers
REVISION = 1


class StackRun:
    """A stack in training."""

    def __init__(self, kind, x, masks, recipe, folder, rng, dtype):
        self.kind, self.recipe, self.of, self.dtype = kind, recipe, recipe.made(), dtype
        self.folder = None if folder is None else Path(folder)
        self.seed = seed_of(self.folder, rng)
        self.device = models.torch_device(recipe.device)
        self.data = disk.hash_arrays(x, masks)
        self.members = [np.flatnonzero(row) for row in masks]
        rows = torch.from_numpy(2 * x.reshape(len(x), -1) - 1)
        self.x = rows.to(self.device, dtype)
        self.n_steps = steps(int(round(masks.sum(1).mean())), recipe.batch_size)
        self.critic_steps = recipe.critic_steps if kind == "WGAN-GP" else 1
        self.losses = {name: np.empty((len(masks), 0)) for name in self._loss_names()}
        self.epoch = 0
        self.spent = 0.0
        self._start()

    def _loss_names(self):
        return ("critic" if self.kind == "WGAN-GP" else "discriminator", "generator")

    def _start(self):
        """Every network as torch makes it, from its own seed."""
        made = {}
        with torch.random.fork_rng(devices=[]):
            for s in range(len(self.members)):
                (number,) = self._sequence(s).generate_state(1, np.uint64)
                torch.random.default_generator.manual_seed(int(number >> np.uint64(1)))
                for name, net in (("generator", Generator), ("discriminator", Discriminator)):
                    for key, tensor in net(self.of).state_dict().items():
                        made.setdefault(f"{name}/{key}", []).append(tensor)
        self.weights = {
            key: torch.stack(tensors).to(self.device, self.dtype).requires_grad_(True)
            for key, tensors in made.items()
        }
        self.layers = {
            name: layers_of(self.weights, name) for name in ("generator", "discriminator")
        }
        self.optimizers = {
            name: torch.optim.Adam(
                [tensor for key, tensor in self.weights.items() if key.startswith(name)],
                lr=self.recipe.learning_rate,
                betas=self.recipe.betas,
                fused=True,
            )
            for name in self.layers
        }

    def _sequence(self, s, *block):
        return np.random.SeedSequence(self.seed, spawn_key=(s, *block))

    def train(self):
        per_block = max(1, BLOCK_STEPS // self.n_steps)
        saved, elapsed = time.monotonic(), clock.stopwatch(torch.get_num_threads())
        with progress.bar(self.recipe.epochs, f"{self.kind} stack, epochs") as bar:
            bar.update(min(self.epoch, self.recipe.epochs))
            drawn = None
            while self.epoch < self.recipe.epochs:
                block, inside = divmod(self.epoch, per_block)
                if drawn is None or inside == 0:
                    drawn = self._draw(block, per_block)
                self._one_epoch(drawn, inside)
                bar.update()
                last = self.epoch == self.recipe.epochs
                if self.folder is not None and (last or time.monotonic() - saved > SAVE_EVERY):
                    self._save(elapsed())
                    saved = time.monotonic()

    def _draw(self, block, per_block):
        """Records, noise and points between, of a block's steps, for every network."""
        n_steps, batch = per_block * self.n_steps, self.recipe.batch_size
        several = (n_steps, self.critic_steps, batch)
        rows, noise, mix = [], [], []
        for s, ids in enumerate(self.members):
            draws = np.random.default_rng(self._sequence(s, block))
            rows.append(ids[draws.integers(len(ids), size=several)])
            size = (n_steps, self.critic_steps + 1, batch, self.of.latent)
            noise.append(draws.standard_normal(size, dtype=np.float32))
            if self.kind == "WGAN-GP":
                mix.append(draws.random(several, dtype=np.float32))
        found = [torch.from_numpy(np.stack(one)).to(self.device) for one in (rows, noise)]
        mix = torch.from_numpy(np.stack(mix)).to(self.device, self.dtype) if mix else None
        return found[0], found[1].to(self.dtype), mix

    def _one_epoch(self, drawn, inside):
        rows, noise, mix = drawn
        step = self._wasserstein if self.kind == "WGAN-GP" else self._goodfellow
        total = 0
        for number in range(inside * self.n_steps, (inside + 1) * self.n_steps):
            real = self.x[rows[:, number]]  # (S, critic steps, B, d)
            total = total + step(real, noise[:, number], None if mix is None else mix[:, number])
        means = (total / self.n_steps).double().cpu().numpy()
        for name, values in zip(self._loss_names(), means):
            self.losses[name] = np.append(self.losses[name], values[:, None], axis=1)
        self.epoch += 1

    def _wasserstein(self, real, noise, mix):
        """A step of `wgan_gp` for every network; (2, S) losses."""
        critic, batch, total = self.layers["discriminator"], self.recipe.batch_size, 0
        with torch.no_grad():  # the generator stands still while the critic moves
            inputs = noise[:, :-1].flatten(1, 2)
            fakes = self._generated(inputs).view(real.shape)
            between = torch.lerp(fakes, real, mix[..., None])
        for c in range(self.critic_steps):
            with torch.no_grad():
                bends = bends_of(critic, between[:, c])
            scores = through(critic, torch.cat([real[:, c], fakes[:, c]], 1))[..., 0]
            loss = scores[:, batch:].mean(1) - scores[:, :batch].mean(1)
            slope = slope_of(critic, bends).norm(dim=2)
            loss = loss + self.recipe.penalty * ((slope - 1) ** 2).mean(1)
            descend(self.optimizers["discriminator"], loss)
            total = total + loss.detach() / self.critic_steps
        fooled = -through(frozen(critic), self._generated(noise[:, -1]))[..., 0].mean(1)
        descend(self.optimizers["generator"], fooled)
        return torch.stack([total, fooled.detach()])

    def _goodfellow(self, real, noise, mix):
        """A step of `js_gan` for every network; (2, S) losses. It uses one noise for both."""
        net, batch = self.layers["discriminator"], self.recipe.batch_size
        fake = self._generated(noise[:, 0])
        logits = through(net, torch.cat([real[:, 0], fake.detach()], 1))[..., 0]
        told = cross_entropy(logits[:, :batch], self.recipe.real_label)
        judged = (told + cross_entropy(logits[:, batch:], 0.0)) / 2
        descend(self.optimizers["discriminator"], judged)
        fooled = cross_entropy(through(frozen(net), fake)[..., 0], 1.0)
        descend(self.optimizers["generator"], fooled)
        return torch.stack([judged.detach(), fooled.detach()])

    def _generated(self, noise):
        return tanh(through(self.layers["generator"], noise))

    def state(self):
        return {key: tensor.detach().cpu().numpy() for key, tensor in self.weights.items()}

    def open(self):
        """Begin the folder, or go on from what is there."""
        manifest = {
            "revision": REVISION,
            "kind": self.kind,
            "seed": self.seed,
            "data": self.data,
            "device": self.device.type,
            "dtype": str(self.dtype),
            "networks": [str(net(self.of)) for net in (Generator, Discriminator)],
            **self.recipe.stored(),
        }
        file = self.folder / "manifest.json"
        if disk.begun(file, manifest, "folder") is None:
            disk.write_json(file, manifest)
        path = self.folder / LATEST
        if not path.exists():
            clock.made(self.folder)
            return
        state = read_npz(path)
        if int(state["epoch"]) > self.recipe.epochs:
            checks.fail(
                "recipe.epochs",
                f"{self.recipe.epochs}, where {self.folder} has reached {int(state['epoch'])}",
                "as many or more, or another folder",
            )
        self._load(state)
        self.spent = float(state["processor_seconds"])
        clock.found(self.folder, self.spent)

    def _save(self, seconds):
        state = {f"weight/{key}": array for key, array in self.state().items()}
        for name, optimizer in self.optimizers.items():
            for number, moments in optimizer.state_dict()["state"].items():
                for key, tensor in moments.items():
                    state[f"adam/{name}/{number}/{key}"] = tensor.cpu().numpy()
        state |= {f"loss/{name}": values for name, values in self.losses.items()}
        state["epoch"] = np.array(self.epoch)
        state["processor_seconds"] = np.array(self.spent + seconds)
        disk.write_npz(self.folder / LATEST, state)

    def _load(self, state):
        self.epoch = int(state["epoch"])
        with torch.no_grad():
            for key, tensor in self.weights.items():
                tensor.copy_(torch.from_numpy(state[f"weight/{key}"]))
        for name, optimizer in self.optimizers.items():
            moments, prefix = {}, f"adam/{name}/"
            for key, array in state.items():
                if key.startswith(prefix):
                    number, what = key.removeprefix(prefix).split("/")
                    moments.setdefault(int(number), {})[what] = torch.from_numpy(array)
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.losses = {name: state[f"loss/{name}"] for name in self.losses}


def layers_of(weights, name, dtype=None):
    """Pairs of weight (S, outputs, inputs) and bias (S, 1, outputs), in order."""
    keys = [key for key in weights if key.startswith(f"{name}/")]
    found = [weights[key] for key in keys]
    if dtype is not None:
        found = [torch.from_numpy(array).to(dtype) for array in found]
    return list(zip(found[::2], found[1::2]))


def frozen(layers):
    return [(weight.detach(), bias.detach()) for weight, bias in layers]


def through(layers, x):
    """Outputs (S, B, width) of the last linear layer."""
    for weight, bias in layers[:-1]:
        x = leaky_relu(torch.baddbmm(bias[:, None, :], x, weight.mT), SLOPE)
    weight, bias = layers[-1]
    return torch.baddbmm(bias[:, None, :], x, weight.mT)


def bends_of(layers, x):
    """The slope of every LeakyReLU at x, 1 or SLOPE, one (S, B, width) tensor a layer."""
    found = []
    for weight, bias in layers[:-1]:
        before = torch.baddbmm(bias[:, None, :], x, weight.mT)
        found.append((before > 0).to(x.dtype).mul_(1 - SLOPE).add_(SLOPE))
        x = before.mul_(found[-1])
    return found


def slope_of(layers, bends):
    """d output / d input of a network with one output, (S, B, inputs), by the chain rule."""
    outward = layers[-1][0]  # (S, 1, width)
    for (weight, _), bend in zip(reversed(layers[:-1]), reversed(bends)):
        outward = torch.bmm(outward * bend, weight)
    return outward


def tanh(x):
    """As 2 sigmoid(2 x) - 1, which is several times faster; in place where nothing is learnt."""
    return 2 * torch.sigmoid(2 * x) - 1


def cross_entropy(logits, target):
    target = torch.full_like(logits, target)
    return binary_cross_entropy_with_logits(logits, target, reduction="none").mean(1)


def descend(optimizer, losses):
    """Each network's own step: no weight takes part in another network's loss."""
    optimizer.zero_grad()
    losses.sum().backward()
    optimizer.step()
