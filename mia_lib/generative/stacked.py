"""Many small GANs trained at once, each on records of its own: batched matrix products.

The S networks of a stack keep their weights as one (S, outputs, inputs) tensor a layer, so that a
step of all of them costs one product a layer. Every network draws from generators that its own
number, the stack's seed and the block of epochs decide: it is the same network in every stack, and
a run that was broken off needs no state of any generator to go on.

Taught in book/generators_one_record.ipynb.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, leaky_relu

from mia_lib import checks, clock, disk, models, progress, reseed
from mia_lib.generative import gan as gans
from mia_lib.generative.js import JsGanRecipe
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.training import LATEST, SAVE_EVERY, steps
from mia_lib.generative.wasserstein import WganGpRecipe

BLOCK_STEPS = 8  # generator steps, at least one epoch, whose random numbers are drawn at a time
SLOPE = 0.2  # of the LeakyReLU of `networks.dense`
FEWEST_FACTS = 0.2  # share of the members' variance below which a generator counts as collapsed
N_LOOKED_AT = 500  # records that a network makes to be looked at
# to be raised whenever the same arguments give other numbers
REVISION = 1


@dataclass(frozen=True)
class GanStack:
    """S trained GANs; made by `gan_stack`.

    Attributes
    ----------
    kind : str
        "WGAN-GP" or "JS-GAN".
    masks : (S, n) bool array
        True where record i trained network s.
    weights : dict of arrays with leading axis S
        Named like the state of a `Gan`: "generator/layers.0.weight".
    networks : Networks
    losses : dict of (S, epochs) float64 array
        The mean of each loss over each epoch. NaN from the epoch on in which a network broke.
    spread : (S,) float64 array
        Total variance of what a generator draws, over that of its members: near 1 where both vary
        alike, 0 where it draws one record only, NaN where it broke.

    Notes
    -----
    No network is left out: `broken` and `collapsed` say which ones failed, and `report` counts
    them. Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> from mia_lib import generative, shadow
    >>> x, masks = np.random.default_rng(0).random((20, 8, 8)), shadow.half_masks(4, 20)
    >>> stack = generative.gan_stack(x, masks, JsGanRecipe(epochs=2, batch_size=5))
    >>> len(stack), stack.scores(x).shape, stack.gan(3).generate(2).shape
    (4, (4, 20), (2, 8, 8))
    """

    kind: str
    masks: np.ndarray
    weights: dict
    networks: object
    losses: dict
    spread: np.ndarray

    def __len__(self):
        return len(self.masks)

    @property
    def broken(self):
        """(S,) bool: a weight that is not finite."""
        return ~np.isfinite(self.spread)

    @property
    def collapsed(self):
        """(S,) bool: not broken, and with less than a fifth of the members' variance."""
        return np.nan_to_num(self.spread, nan=1.0) < FEWEST_FACTS

    def report(self):
        """How many networks there are, broke and collapsed, in one line."""
        return (
            f"{len(self)} networks of kind {self.kind}: {self.broken.sum()} broken, "
            f"{self.collapsed.sum()} collapsed"
        )

    def scores(self, x):
        """What every discriminator or critic says of records, before any sigmoid.

        Parameters
        ----------
        x : (m, ...) array
            In [0, 1].

        Returns
        -------
        (S, m) float64 array
            Larger: judged more real, so more likely a member. NaN from a broken network.

        Raises
        ------
        ValueError
            For records of another shape or range.

        Examples
        --------
        >>> from mia_lib import generative, shadow
        >>> x, masks = np.random.default_rng(0).random((20, 8, 8)), shadow.half_masks(4, 20)
        >>> stack = generative.gan_stack(x, masks, JsGanRecipe(epochs=1, batch_size=5))
        >>> bool(np.allclose(stack.scores(x)[2], stack.gan(2).scores(x)[:, 0], atol=1e-5))
        True
        """
        x = gans.records("x", x, self.networks.shape).reshape(len(x), -1)
        layers = _layers(self.weights, "discriminator", torch.float32)
        found = np.empty((len(self), len(x)))
        with torch.no_grad():
            for start in range(0, len(x), gans.BLOCK):
                block = torch.from_numpy(2 * x[start : start + gans.BLOCK] - 1)
                block = block.expand(len(self), *block.shape)
                found[:, start : start + gans.BLOCK] = _through(layers, block)[..., 0].numpy()
        return np.where(self.broken[:, None], np.nan, found)

    def gan(self, s):
        """One network as a `Gan`, for every query of this room.

        Parameters
        ----------
        s : int
            Which network, 0 ... S - 1.

        Returns
        -------
        Gan
        """
        s = checks.integer("s", s, 0, high=len(self) - 1)
        nets = {
            "generator": Generator(self.networks),
            "discriminator": Discriminator(self.networks),
        }
        for name, net in nets.items():
            prefix = f"{name}/"
            net.load_state_dict(
                {
                    key.removeprefix(prefix): torch.from_numpy(array[s]).float()
                    for key, array in self.weights.items()
                    if key.startswith(prefix)
                }
            )
            net.eval().requires_grad_(False)
        some = next(iter(self.losses.values()))
        return gans.Gan(
            kind=self.kind,
            generators=(nets["generator"],),
            discriminators=(nets["discriminator"],),
            shape=self.networks.shape,
            latent=self.networks.latent,
            epoch=some.shape[1],
            losses={name: values[s] for name, values in self.losses.items()},
        )


def gan_stack(x, masks, recipe, *, folder=None, rng=None, dtype="float32"):
    """Train S GANs at once, each on the records of its own row of masks.

    Parameters
    ----------
    x : (n, ...) array
        Records in [0, 1].
    masks : (S, n) bool array
        Row s: the members of network s, at least one. From `shadow.half_masks`.
    recipe : WganGpRecipe or JsGanRecipe
        Its networks are fully connected, from `dense`. An epoch has as many steps as the average
        number of members fills batches, the same for all networks.
    folder : path, optional
        Where training is stored, about once a minute and at its end. A call with the same arguments
        goes on from there, also for more epochs. `shadow.folder` names one.
    rng : numpy.random.Generator, optional
        Decides on all networks by one seed. None: the folder's own seed where it has begun, else
        fresh entropy.
    dtype : {"float32", "float64"}

    Returns
    -------
    GanStack

    Raises
    ------
    ValueError
        For records outside [0, 1] or of another shape than the networks', a network without
        members, a recipe of another kind or with other layers, a folder of another training.

    Notes
    -----
    The losses, and the order of steps, are those of `wgan_gp` and `js_gan`. The slope of the
    critic, which the gradient penalty of a WGAN-GP needs, is written out layer by layer: the second
    derivative of a LeakyReLU is 0, so that one backward pass is enough. A network whose weights
    stop being finite keeps its place and harms no other. Taught in
    book/generators_one_record.ipynb.

    Examples
    --------
    >>> from mia_lib import generative, shadow
    >>> x, masks = np.random.default_rng(0).random((20, 8, 8)), shadow.half_masks(4, 20)
    >>> recipe = WganGpRecipe(epochs=2, batch_size=5, critic_steps=1)
    >>> generative.gan_stack(x, masks, recipe).report()
    '4 networks of kind WGAN-GP: 0 broken, 4 collapsed'
    """
    kind = _kind(recipe)
    of = recipe.made()
    checks.choice("dtype", dtype, ("float32", "float64"))
    x = gans.records("x", x, of.shape)
    masks = checks.boolean_array("masks", masks, ndim=2)
    if masks.shape[1] != len(x) or len(masks) == 0:
        checks.fail("masks", f"shape {masks.shape}", f"shape (S, {len(x)}) with S of at least 1")
    if not masks.any(1).all():
        none = ", ".join(map(str, np.flatnonzero(~masks.any(1))))
        checks.fail("masks", f"network {none} without members", "at least one for each network")
    run = _Run(kind, x, masks, recipe, folder, rng, getattr(torch, dtype))
    if run.folder is None:
        run.train()
    else:
        with disk.locked(run.folder, "folder"):
            run.open()
            run.train()
    weights = run.state()
    spread = _spread(weights, of, x, masks, run.seed)
    return GanStack(kind, masks, weights, of, run.losses, spread)


def _kind(recipe):
    """What the recipe trains, where a stack can."""
    kinds = {WganGpRecipe: "WGAN-GP", JsGanRecipe: "JS-GAN"}
    if type(recipe) not in kinds:
        checks.fail("recipe", type(recipe).__name__, "a WganGpRecipe or a JsGanRecipe")
    if recipe.precision != "float32":
        checks.fail("recipe.precision", repr(recipe.precision), "'float32'")
    of = recipe.made()
    with torch.device("meta"):
        made = [*of.generator(of.latent), *of.discriminator(0, 1)] if of.flat else []
    plain = (nn.Linear, nn.LeakyReLU, nn.Tanh, nn.Unflatten)
    if not made or not all(isinstance(layer, plain) for layer in made):
        checks.fail("recipe.networks", "other layers", "fully connected ones, made by dense")
    return kinds[type(recipe)]


class _Run:
    """A stack in training."""

    def __init__(self, kind, x, masks, recipe, folder, rng, dtype):
        self.kind, self.recipe, self.of, self.dtype = kind, recipe, recipe.made(), dtype
        self.folder = None if folder is None else Path(folder)
        if rng is None and self.folder is not None and (self.folder / "manifest.json").exists():
            self.seed = json.loads((self.folder / "manifest.json").read_text())["seed"]
        else:
            self.seed = reseed.seed(int(checks.generator(rng).integers(2**62)))
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
        self.layers = {name: _layers(self.weights, name) for name in ("generator", "discriminator")}
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
                bends = _bends(critic, between[:, c])
            scores = _through(critic, torch.cat([real[:, c], fakes[:, c]], 1))[..., 0]
            loss = scores[:, batch:].mean(1) - scores[:, :batch].mean(1)
            slope = _slope(critic, bends).norm(dim=2)
            loss = loss + self.recipe.penalty * ((slope - 1) ** 2).mean(1)
            _descend(self.optimizers["discriminator"], loss)
            total = total + loss.detach() / self.critic_steps
        fooled = -_through(_frozen(critic), self._generated(noise[:, -1]))[..., 0].mean(1)
        _descend(self.optimizers["generator"], fooled)
        return torch.stack([total, fooled.detach()])

    def _goodfellow(self, real, noise, mix):
        """A step of `js_gan` for every network; (2, S) losses. It uses one noise for both."""
        net, batch = self.layers["discriminator"], self.recipe.batch_size
        fake = self._generated(noise[:, 0])
        logits = _through(net, torch.cat([real[:, 0], fake.detach()], 1))[..., 0]
        told = _cross_entropy(logits[:, :batch], self.recipe.real_label)
        judged = (told + _cross_entropy(logits[:, batch:], 0.0)) / 2
        _descend(self.optimizers["discriminator"], judged)
        fooled = _cross_entropy(_through(_frozen(net), fake)[..., 0], 1.0)
        _descend(self.optimizers["generator"], fooled)
        return torch.stack([judged.detach(), fooled.detach()])

    def _generated(self, noise):
        return _tanh(_through(self.layers["generator"], noise))

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
        with np.load(path, allow_pickle=False) as file:
            state = dict(file)
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


def _layers(weights, name, dtype=None):
    """Pairs of weight (S, outputs, inputs) and bias (S, 1, outputs), in order."""
    keys = [key for key in weights if key.startswith(f"{name}/")]
    found = [weights[key] for key in keys]
    if dtype is not None:
        found = [torch.from_numpy(array).to(dtype) for array in found]
    return list(zip(found[::2], found[1::2]))


def _frozen(layers):
    return [(weight.detach(), bias.detach()) for weight, bias in layers]


def _through(layers, x):
    """Outputs (S, B, width) of the last linear layer."""
    for weight, bias in layers[:-1]:
        x = leaky_relu(torch.baddbmm(bias[:, None, :], x, weight.mT), SLOPE)
    weight, bias = layers[-1]
    return torch.baddbmm(bias[:, None, :], x, weight.mT)


def _bends(layers, x):
    """The slope of every LeakyReLU at x, 1 or SLOPE, one (S, B, width) tensor a layer."""
    found = []
    for weight, bias in layers[:-1]:
        before = torch.baddbmm(bias[:, None, :], x, weight.mT)
        found.append((before > 0).to(x.dtype).mul_(1 - SLOPE).add_(SLOPE))
        x = before.mul_(found[-1])
    return found


def _slope(layers, bends):
    """d output / d input of a network with one output, (S, B, inputs), by the chain rule."""
    outward = layers[-1][0]  # (S, 1, width)
    for (weight, _), bend in zip(reversed(layers[:-1]), reversed(bends)):
        outward = torch.bmm(outward * bend, weight)
    return outward


def _tanh(x):
    """As 2 sigmoid(2 x) - 1, which is several times faster; in place where nothing is learnt."""
    return 2 * torch.sigmoid(2 * x) - 1


def _cross_entropy(logits, target):
    target = torch.full_like(logits, target)
    return binary_cross_entropy_with_logits(logits, target, reduction="none").mean(1)


def _descend(optimizer, losses):
    """Each network's own step: no weight takes part in another network's loss."""
    optimizer.zero_grad()
    losses.sum().backward()
    optimizer.step()


def _spread(weights, of, x, masks, seed):
    """Total variance of what each generator draws over that of its members; NaN where broken."""
    finite = np.all([np.isfinite(a).reshape(len(masks), -1).all(1) for a in weights.values()], 0)
    noise = np.random.default_rng([seed, len(masks)])
    noise = noise.standard_normal((N_LOOKED_AT, of.latent), dtype=np.float32)
    layers = _layers(weights, "generator", torch.float32)
    with torch.no_grad():
        noise = torch.from_numpy(noise).expand(len(masks), -1, -1)
        drawn = (_tanh(_through(layers, noise)).double().numpy() + 1) / 2
    rows = x.reshape(len(x), -1)
    own = np.array([rows[row].var(axis=0).sum() for row in masks])
    return np.where(finite, drawn.var(axis=1).sum(1) / np.where(own > 0, own, np.nan), np.nan)
