"""Many small GANs trained at once, each on records of its own: batched matrix products.

The S networks of a stack keep their weights as one (S, outputs, inputs) tensor a layer, so that a
step of all of them costs one product a layer. Every network draws from generators that its own
number, the stack's seed and the block of epochs decide, so that a run that was broken off needs no
state of any generator to go on. Who else is in the stack matters in two ways only: all take as many
steps an epoch as their average number of members asks for, and batched products of another size may
round differently.

Taught in book/generators_one_record.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from mia_lib import checks, disk
from mia_lib.generative import gan as gans
from mia_lib.generative.js import JsGanRecipe
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.stack_training import SLOPE, StackRun, layers_of, tanh, through
from mia_lib.generative.wasserstein import WganGpRecipe

LEAST_VARIANCE = 0.2  # of the members': a generator with less counts as collapsed
N_LOOKED_AT = 500  # records that a network makes to be looked at


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
        return np.isnan(self.spread)

    @property
    def collapsed(self):
        """(S,) bool: not broken, and with less than a fifth of the members' variance."""
        return np.nan_to_num(self.spread, nan=1.0) < LEAST_VARIANCE

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
        layers = layers_of(self.weights, "discriminator", torch.float32)
        found = np.empty((len(self), len(x)))
        with torch.no_grad():
            for start in range(0, len(x), gans.BLOCK):
                block = torch.from_numpy(2 * x[start : start + gans.BLOCK] - 1)
                block = block.expand(len(self), *block.shape)
                found[:, start : start + gans.BLOCK] = through(layers, block)[..., 0].numpy()
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
        Its networks are fully connected, from `dense`; a JS-GAN's penalty is 0. An epoch has as
        many steps as the average number of members fills batches, the same for all networks.
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
        members, a recipe of another kind, with other layers or with a JS-GAN's penalty, a folder of
        another training or with a damaged file.

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
    run = StackRun(kind, x, masks, recipe, folder, rng, getattr(torch, dtype))
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
    if type(recipe) is JsGanRecipe and recipe.penalty:
        checks.fail("recipe.penalty", repr(recipe.penalty), "0: a stack of JS-GANs has none")
    if not _is_dense(recipe.made()):
        checks.fail("recipe.networks", "other layers", "fully connected ones, made by dense")
    return kinds[type(recipe)]


def _is_dense(of):
    """Whether the layers are those that a stack computes: linear ones with LeakyReLU between."""
    with torch.device("meta"):
        made = of.generator(of.latent), of.discriminator(0, 1)
    if not of.flat or not all(isinstance(layers, nn.Sequential) for layers in made):
        return False
    generator, discriminator = map(list, made)
    ends = [type(layer) for layer in generator[-2:]] == [nn.Tanh, nn.Unflatten]
    return ends and _alternates(generator[:-2]) and _alternates(discriminator)


def _alternates(layers):
    """Whether they are linear layers, the first and the last too, with a LeakyReLU between two."""
    linear, leaky = layers[::2], layers[1::2]
    return (
        len(linear) == len(leaky) + 1
        and all(isinstance(one, nn.Linear) and one.bias is not None for one in linear)
        and all(isinstance(one, nn.LeakyReLU) and one.negative_slope == SLOPE for one in leaky)
    )


def _spread(weights, of, x, masks, seed):
    """Total variance of what each generator draws over that of its members; NaN where broken."""
    finite = np.all([np.isfinite(a).reshape(len(masks), -1).all(1) for a in weights.values()], 0)
    noise = np.random.default_rng([seed, len(masks)])
    noise = noise.standard_normal((N_LOOKED_AT, of.latent), dtype=np.float32)
    layers = layers_of(weights, "generator", torch.float32)
    with torch.no_grad():
        noise = torch.from_numpy(noise).expand(len(masks), -1, -1)
        drawn = (tanh(through(layers, noise)).double().numpy() + 1) / 2
    rows = x.reshape(len(x), -1)
    own = np.array([rows[row].var(axis=0).sum() for row in masks])
    varies = drawn.var(axis=1).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where((own == 0) & (varies == 0), 1.0, varies / own)
    return np.where(finite, spread, np.nan)
