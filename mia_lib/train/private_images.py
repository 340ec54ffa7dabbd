"""Differentially private training of a small convolutional network on images.

`private` does the same for MLPs; `private_network` has the network and its per-example gradients.

Run in notebooks/lira_dp.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from mia_lib import checks, models, reseed
from mia_lib.train import batches, products
from mia_lib.train.private import PrivateSGD
from mia_lib.train.private_network import clipped_sum, network, per_example
from mia_lib.train.recipe import Classifier

AT_ONCE = 2**29  # entries of per-example gradients held at a time: 2 GB
MULTIPLE = 32  # batches are padded to a multiple of this, so that few shapes occur on a GPU


class _Recipe(Classifier):
    """A `Classifier` of this network: what it checks, how it reads images, how it answers."""

    def network(self, shape, n_classes, rng=None):
        return network((shape[2], *shape[:2]), n_classes, **self.options, rng=rng)


@dataclass(frozen=True, kw_only=True)
class PrivateImages:
    """DP-SGD for a convolutional network: `PrivateSGD` where examples are images (Abadi et al.
    2016).

    Parameters
    ----------
    widths : tuple of int
        Channels of each 3x3 convolution; every one halves the sides of the image (see `network`).
    groups : int
        Groups of channels that are normalised together; divides every width.
    epochs : float
        Passes over a model's own training set, above 0, in expectation.
    batch_size : int
        B, at least 1, the expected size of a batch.
    learning_rate : float
        At its peak, per step, above 0.
    momentum : float
        In [0, 1).
    schedule : {"cosine", "constant", "linear"}
        Falling to 0 over the run, or constant.
    noise_multiplier : float
        sigma, at least 0: the noise on the sum of the clipped gradients has standard deviation
        sigma x max_norm.
    max_norm : float
        C, above 0: a gradient longer than this is shortened to it, over all weights and biases
        together.
    public_size : int, optional
        The number of members that sampling rate and number of steps are computed from; None: each
        model's own. See `PrivateSGD`.
    n_classes : int, optional
        K. None: the largest label of the whole data set plus one.
    device : {"cpu", "cuda", "auto"}

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Sampling, noisy sum and guarantee are those of `PrivateSGD`. The noise comes from torch's
    generator of the device, seeded by the model's own: for experiments, not for deployment. On the
    CPU the same generators give the same bits; on a GPU the noise is another and results agree up
    to rounding. Models train one after the other, in float32 (on a GPU cuDNN may round the inputs
    of a convolution to TF32; norms and clipping are not touched by it). The setting is that of
    Carlini et al. 2022, appendix A-A, Table IV and Fig. 14; of their network the paper says
    "standard CNN" alone, so this need not be it. Run in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> x = np.repeat(np.uint8([0, 255] * 6), 16).reshape(12, 4, 4, 1)
    >>> fit = PrivateImages(widths=(8,), epochs=2, batch_size=4, learning_rate=0.1,
    ...     noise_multiplier=1.0, max_norm=1.0)
    >>> state = fit(x, [0, 1] * 6, np.ones((1, 12), bool), [np.random.default_rng(0)])
    >>> state["conv0.weight"].shape, fit.logits(state, x).shape
    ((1, 8, 1, 3, 3), (1, 12, 2))
    >>> f"{fit.epsilon(12, delta=1e-2):.1f}"
    '3.4'
    """

    widths: tuple = (32, 64, 64)
    groups: int = 8
    epochs: float
    batch_size: int
    learning_rate: float
    momentum: float = 0.9
    schedule: str = "cosine"
    noise_multiplier: float
    max_norm: float
    public_size: int | None = None
    n_classes: int | None = None
    device: str = "cpu"

    def __post_init__(self):
        widths = checks.widths("widths", self.widths)
        object.__setattr__(self, "widths", widths)  # a parameter file has a list
        checks.integer("groups", self.groups, 1)
        if any(width % self.groups for width in widths):
            checks.fail("groups", repr(self.groups), f"a divisor of all widths, {widths}")
        checks.number("noise_multiplier", self.noise_multiplier, 0)
        checks.number("max_norm", self.max_norm, 0, open_low=True)
        if self.public_size is not None:
            checks.integer("public_size", self.public_size, 1)
        self.recipe  # noqa: B018  (it checks what is left)

    @property
    def recipe(self):
        """The choices that a training without privacy has too, as a `Classifier`."""
        return _Recipe(
            "cnn",
            options={"widths": self.widths, "groups": self.groups},
            n_classes=self.n_classes,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            schedule=self.schedule,
            device=self.device,
        )

    @property
    def torch_device(self):
        """The device that will be used; ValueError where there is no GPU and one is asked for."""
        return models.torch_device(self.device)

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k models.

        Parameters
        ----------
        x : (n, height, width) or (n, height, width, channels) array
            Bytes, which are read as (x - 127.5) / 127.5, or numbers, which are read as they are.
        y : (n,) int array
            Labels 0 ... K - 1.
        members : (k, n) boolean array
            Row s: the training set of model s.
        rngs : sequence of k numpy.random.Generator
            One per model: initial weights, batches, noise.

        Returns
        -------
        dict of numpy arrays with leading axis k
            Weights and biases, named as in the torch module.

        Raises
        ------
        ValueError
            For wrong shapes, NaN, a label out of range, a model without members.
        """
        recipe = self.recipe
        data, labels, ids, n_classes = recipe.prepared(x, y, members, rngs)
        images, shape = data.permute(0, 3, 1, 2).contiguous(), tuple(data.shape[1:])
        states = []
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            for own, rng in zip(ids, rngs):
                net = recipe.network(shape, n_classes, rng).to(images.device)
                states.append(_train_one(self, recipe, net, images, labels, own, rng))
        return {name: np.stack([state[name] for state in states]) for name in states[0]}

    # What these ask of a fit is its recipe, its noise and its public size.
    logits, features = PrivateSGD.logits, PrivateSGD.features
    epsilon, guarantee, _sampling = PrivateSGD.epsilon, PrivateSGD.guarantee, PrivateSGD._sampling


@torch.no_grad()
def _train_one(fit, recipe, net, images, labels, ids, rng):
    public, device = fit.public_size or len(ids), images.device
    expected = batches.batch_size(recipe, public)
    n_steps = batches.step_count(recipe, public)
    rates = batches.learning_rates(recipe, np.arange(n_steps), n_steps).tolist()
    noise = torch.Generator(device).manual_seed(int(rng.spawn(1)[0].integers(2**63)))
    index, counts = _plan(ids, expected / public, n_steps, rng)
    width = index.shape[1]
    index = torch.from_numpy(index).to(device)
    used = torch.arange(width, device=device) < torch.from_numpy(counts).to(device)[:, None]
    # A GPU wants batches of one shape; on a CPU the padding would only cost time.
    sizes = np.full(n_steps, width) if device.type != "cpu" else counts.clip(1)
    parameters = list(net.requires_grad_(False).parameters())
    theta = nn.utils.parameters_to_vector(parameters)
    nn.utils.vector_to_parameters(theta, parameters)  # each is a view of it from now on
    velocity, entries = torch.zeros_like(theta), len(theta)
    at_once, spread = max(1, AT_ONCE // entries), fit.noise_multiplier * fit.max_norm

    # Nothing in here waits for the device: it is busy while the next steps are handed to it.
    for step, (rate, size) in enumerate(zip(rates, sizes.tolist())):
        total = torch.zeros_like(theta)
        for start in range(0, size, at_once):
            rows = slice(start, min(start + at_once, size))
            some = index[step, rows]
            gradients = per_example(net, recipe.normalised(images[some]), labels[some])
            total += clipped_sum(gradients, fit.max_norm, used[step, rows])
        if spread:
            total.add_(torch.randn(entries, generator=noise, device=device), alpha=spread)
        velocity.mul_(fit.momentum).add_(total, alpha=1 / expected)
        theta.add_(velocity, alpha=-rate)
    return {name: p.cpu().numpy() for name, p in net.named_parameters()}


def _plan(ids, rate, n_steps, rng):
    """Poisson samples of the members for all steps, and their sizes, before the first step: drawn
    in between they would keep a GPU waiting. Rows are padded with example 0.
    """
    drawn = [ids[rng.random(len(ids)) < rate] for _ in range(n_steps)]
    counts = np.array([len(rows) for rows in drawn])
    index = np.zeros((n_steps, MULTIPLE * -(-max(1, counts.max()) // MULTIPLE)), np.int64)
    for step, rows in enumerate(drawn):
        index[step, : len(rows)] = rows
    return index, counts
