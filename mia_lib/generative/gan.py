"""What a trained GAN is to whoever uses or attacks it.

Taught in book/generative.ipynb.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from mia_lib import checks

BLOCK = 2048  # records that pass through a network at a time


@dataclass(frozen=True)
class Gan:
    """A trained GAN: one pair of generator and discriminator, or several.

    Attributes
    ----------
    kind : str
        What trained it, "WGAN-GP" for example.
    generators, discriminators : tuple of torch.nn.Module
        One of each a pair. Both work in [-1, 1]; `images` and `scores` convert.
    shape : tuple of int
        Shape of one record.
    latent : int
        Length of the generator's input w, which is standard normal.
    n_classes : int
        K for a conditional GAN, else 0.
    epoch : int
        Epochs of training.
    losses : dict of (epochs,) float64 array
        The mean of each loss over each epoch.
    epsilon : float or None
        The privacy budget that training has spent; None where it is not private.

    Notes
    -----
    Who holds this object has a white box. Who only gets what ``generate`` returns has a synthetic
    release. Taught in book/generative.ipynb.

    Examples
    --------
    >>> from mia_lib import generative
    >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
    >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe)[1]
    >>> gan.generate(3).shape, gan.scores(np.zeros((5, 8, 8))).shape
    ((3, 8, 8), (5, 1))
    """

    kind: str
    generators: tuple
    discriminators: tuple
    shape: tuple
    latent: int
    n_classes: int = 0
    epoch: int = 0
    losses: dict = field(default_factory=dict, repr=False)
    epsilon: float | None = None

    @property
    def generator(self):
        """The generator, of the first pair where there are several."""
        return self.generators[0]

    @property
    def device(self):
        """Where the networks are."""
        return next(self.generator.parameters()).device

    def images(self, w, labels=None, pair=0):
        """Records from given noise, as a tensor that can be differentiated by w.

        Parameters
        ----------
        w : (n, latent) tensor
            On the networks' device.
        labels : (n,) int64 tensor, optional
            The class of each; a conditional GAN needs it.
        pair : int
            Which generator.

        Returns
        -------
        (n, ...) tensor in [0, 1]

        Examples
        --------
        >>> from mia_lib import generative
        >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
        >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe)[1]
        >>> w = torch.zeros(2, gan.latent, requires_grad=True)
        >>> gan.images(w).sum().backward(), w.grad.shape
        (None, torch.Size([2, 32]))
        """
        return (self.generators[pair](w, labels) + 1) / 2

    @torch.no_grad()
    def generate(self, n, rng=None, labels=None):
        """A synthetic release.

        Parameters
        ----------
        n : int
            How many records, at least 1.
        rng : numpy.random.Generator, optional
        labels : (n,) array of int, optional
            The class of each; for a conditional GAN, and only for one.

        Returns
        -------
        (n, ...) float32 array in [0, 1]
            With several pairs, each record comes from a generator drawn at random.

        Raises
        ------
        ValueError
            For labels that are missing, too many, or not classes of this GAN.

        Examples
        --------
        >>> from mia_lib import generative
        >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
        >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe)[1]
        >>> fake = gan.generate(100, np.random.default_rng(0))
        >>> fake.shape, bool(fake.min() >= 0), bool(fake.max() <= 1)
        ((100, 8, 8), True, True)
        """
        n, rng = checks.integer("n", n, 1), checks.generator(rng)
        labels = self._labels(labels, n)
        found = np.empty((n, *self.shape), np.float32)
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            w = rng.standard_normal((rows.stop - start, self.latent), dtype=np.float32)
            pair = rng.integers(len(self.generators), size=len(w))
            for number in np.unique(pair):
                own = np.flatnonzero(pair == number)
                classes = None if labels is None else labels[rows][own]
                made = self.images(torch.from_numpy(w[own]).to(self.device), classes, number)
                found[start + own] = made.cpu().numpy()
        return found

    @torch.no_grad()
    def scores(self, x, labels=None):
        """What the discriminators say of records, before any sigmoid.

        Parameters
        ----------
        x : (n, ...) array
            In [0, 1].
        labels : (n,) array of int, optional
            For a conditional GAN, and only for one.

        Returns
        -------
        (n, pairs) float64 array
            Larger: judged more real, so more likely a member.

        Raises
        ------
        ValueError
            For records of another shape or range; for labels as in `generate`.

        Examples
        --------
        >>> from mia_lib import generative
        >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
        >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe)[1]
        >>> gan.scores(np.full((2, 8, 8), 0.5)).shape
        (2, 1)
        """
        x = records("x", x, self.shape)
        labels = self._labels(labels, len(x))
        found = np.empty((len(x), len(self.discriminators)))
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            block = torch.from_numpy(2 * x[rows] - 1).to(self.device)
            classes = None if labels is None else labels[rows]
            for pair, net in enumerate(self.discriminators):
                found[rows, pair] = net(block, classes)[:, 0].double().cpu().numpy()
        return found

    def _labels(self, labels, n):
        if not self.n_classes:
            if labels is not None:
                checks.fail("labels", "labels", f"None: a {self.kind} is not conditional")
            return None
        if labels is None:
            checks.fail(
                "labels", "None", f"{n} labels below {self.n_classes}: a {self.kind} is conditional"
            )
        return torch.from_numpy(checks.labels("labels", labels, n, n_classes=self.n_classes)).to(
            self.device
        )


class Release(NamedTuple):
    """A synthetic release; made by `release`.

    Attributes
    ----------
    x : (n, ...) float32 array
        The records, in [0, 1].
    labels : (n,) int array or None
        The class that was asked for, of a conditional GAN.
    """

    x: np.ndarray
    labels: np.ndarray | None


def release(gan, n, rng=None):
    """A synthetic release of any GAN: of a conditional one with classes drawn evenly.

    Parameters
    ----------
    gan : Gan
    n : int
        How many records, at least 1.
    rng : numpy.random.Generator, optional
        Draws the classes first, where there are any, then the records.

    Returns
    -------
    Release

    Raises
    ------
    ValueError
        For an n below 1.

    Notes
    -----
    Evenly, and not as the members' classes are shared out, which a private GAN must not tell.
    Used in notebooks/gan.ipynb.

    Examples
    --------
    >>> from mia_lib import generative
    >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
    >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe)[1]
    >>> generative.release(gan, 100, np.random.default_rng(0)).x.shape
    (100, 8, 8)
    """
    n, rng = checks.integer("n", n, 1), checks.generator(rng)
    labels = rng.integers(gan.n_classes, size=n) if gan.n_classes else None
    return Release(gan.generate(n, rng, labels), labels)


def records(name, x, shape):
    """Records of one shape in [0, 1], as a contiguous float32 array (n, ...)."""
    x = checks.real_array(name, x, shape=(None, *shape), dtype=np.float32)
    if x.min() < 0 or x.max() > 1:
        checks.fail(name, f"values from {x.min():g} to {x.max():g}", "values in [0, 1]")
    return np.ascontiguousarray(x)
