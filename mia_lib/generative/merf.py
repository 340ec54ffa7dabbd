"""A private generator that draws: DP-MERF, one noisy mean embedding for each class.

Taught in book/generators_one_record.ipynb.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from scipy import optimize

from mia_lib import checks, privacy, progress, reseed
from mia_lib.generative import gan as gans
from mia_lib.generative.networks import NETWORKS, Generator, Networks

COUNT_WEIGHT = 0.5  # of a record in its class's count, beside 1 in its class's embedding
ONE_RECORD = np.sqrt(1 + COUNT_WEIGHT**2)  # how far one record moves what is released
# in units of what one record adds: nothing of the data is left beyond the larger one, and all below
# the smaller one
SMALLEST_NOISE, LARGEST_NOISE = 0.01, 1e4
BLOCK = 10_000  # records whose features are in memory at a time


class Embedding(NamedTuple):
    """What `dp_merf` releases of its members; its generator is computed from this alone.

    Attributes
    ----------
    sums : (K, D + 1) float64 array
        For each class the features of its records and half of their number, summed, with noise.
    frequencies : (d, D / 2) float64 array
        Of the random features, for records of d numbers.
    deviation : float
        Standard deviation of the noise of every entry, which is independent of the others.

    Notes
    -----
    Whoever audits the release may read it: the noise is Gaussian and its deviation is known, so
    that likelihood ratios are exact. Used in notebooks/gan_private.ipynb.
    """

    sums: np.ndarray
    frequencies: np.ndarray
    deviation: float

    def adds(self, x):
        """What each of some records adds to the row of its class.

        Parameters
        ----------
        x : (n, ...) array
            Records of d numbers each, in [0, 1].

        Returns
        -------
        (n, D + 1) float64 array
            Rows of Euclidean norm sqrt(1 + 1/4).

        Raises
        ------
        ValueError
            Records of another size, NaN.

        Examples
        --------
        >>> x = np.random.default_rng(0).random((40, 8, 8))
        >>> released = dp_merf(x, np.arange(40) % 2, epsilon=1.0, n_steps=1).embedding
        >>> added = released.adds(x[:3])
        >>> added.shape == (3, released.sums.shape[1]), round(float((added[0] ** 2).sum()), 6)
        (True, 1.25)
        """
        features = _features(self._rows(x), self.frequencies)
        return np.hstack([features, np.full((len(x), 1), COUNT_WEIGHT)])

    def exact(self, x, labels):
        """What some records add to all rows together, without noise.

        Parameters
        ----------
        x : (n, ...) array
            As for `adds`.
        labels : (n,) array of int
            Their classes, below K.

        Returns
        -------
        (K, D + 1) float64 array

        Raises
        ------
        ValueError
            As `adds`; labels of another length or beyond K.
        """
        x = self._rows(x)
        labels = checks.labels("labels", labels, len(x), n_classes=len(self.sums))
        return _sums(x, labels, self.frequencies, len(self.sums))

    def _rows(self, x):
        """Records as rows of numbers, checked."""
        x = checks.real_array("x", x)
        numbers = len(self.frequencies)
        if x.ndim < 2 or x[0].size != numbers:
            checks.fail("x", f"shape {x.shape}", f"records of {numbers} numbers each")
        return x.reshape(len(x), -1)


@dataclass(frozen=True)
class MerfGan(gans.Gan):
    """A generator with the embedding that it was computed from; made by `dp_merf`.

    Attributes
    ----------
    embedding : Embedding
        What was released of the members, with noise.

    Notes
    -----
    All else is as for `Gan`. Used in notebooks/gan_private.ipynb.
    """

    embedding: Embedding | None = field(default=None, repr=False)


def dp_merf(
    x,
    labels,
    epsilon,
    *,
    delta=1e-5,
    noise_multiplier=None,
    networks="digits",
    n_features=400,
    bandwidth=None,
    n_steps=1_500,
    batch_size=200,
    learning_rate=2e-3,
    rng=None,
):
    """Train a conditional generator on noisy mean embeddings, the only thing that sees the data.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    labels : (n,) array of int
        Their classes, 0 ... K - 1, each with a record.
    epsilon : float
        Budget, above 0.
    delta : float
        Of differential privacy, in (0, 1).
    noise_multiplier : float, optional
        Standard deviation of the noise over what one record adds. None: the smallest from 0.01 to
        10,000 that keeps within epsilon.
    networks : str or Networks
        As for `GanRecipe`; only the generator is used.
    n_features : int
        D, an even number of random features, at least 2.
    bandwidth : float, optional
        h of the Gaussian kernel, above 0, in the unit of x. None: a quarter of sqrt(d) for d
        numbers a record. It is not fitted to x, which would cost budget.
    n_steps, batch_size, learning_rate
        Of the generator's Adam; whole numbers of at least 1, and above 0.
    rng : numpy.random.Generator, optional
        Draws features, noise and networks; None means fresh entropy. The noise protects nobody who
        may know the seed.

    Returns
    -------
    MerfGan
        Conditional and without a discriminator; its ``epsilon`` is what was spent, at most the
        budget, its ``embedding`` the `Embedding` that was released.

    Raises
    ------
    ValueError
        A budget that the noise cannot keep, a class without a record, records of another shape than
        the networks' or outside [0, 1], weights that are not finite in the end.

    Notes
    -----
    Harder, Adamczewski and Park 2021. With random features phi of norm 1, released is for each
    class the sum of phi over its records and half of their number, both with Gaussian noise: adding
    or removing a record moves that by sqrt(1 + 1/4) in Euclidean norm, so that `privacy.gaussian`
    says what it spends. The generator is fitted to the ratios and never sees a record. The number
    of classes is taken as known. Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> x = np.random.default_rng(0).random((40, 8, 8))
    >>> gan = dp_merf(x, np.arange(40) % 2, epsilon=1.0, n_steps=2)
    >>> gan.kind, gan.epsilon <= 1, gan.generate(3, labels=[0, 1, 1]).shape
    ('DP-MERF', True, (3, 8, 8))
    """
    if not isinstance(networks, Networks):
        checks.choice("networks", networks, NETWORKS)
        networks = NETWORKS[networks]
    x = gans.records("x", x, networks.shape)
    labels = checks.labels("labels", labels, len(x))
    n_classes = int(labels.max()) + 1
    lacking = np.setdiff1d(np.arange(n_classes), labels)
    if lacking.size:
        found = ", ".join(map(str, lacking))
        checks.fail("labels", f"no record of class {found}", f"records of all {n_classes} classes")
    n_features = checks.integer("n_features", n_features, 2)
    if n_features % 2:
        checks.fail("n_features", str(n_features), "an even number, a cosine and a sine each")
    bandwidth = (
        0.25 * np.sqrt(x[0].size)
        if bandwidth is None
        else checks.number("bandwidth", bandwidth, 0, open_low=True)
    )
    n_steps = checks.integer("n_steps", n_steps, 1)
    batch_size = checks.integer("batch_size", batch_size, 1)
    learning_rate = checks.number("learning_rate", learning_rate, 0, open_low=True)
    noise, spent = _budget(epsilon, checks.delta(delta), noise_multiplier)
    rng = checks.generator(rng)
    frequencies = rng.normal(scale=1 / bandwidth, size=(x[0].size, n_features // 2))
    sums = _noisy_sums(x.reshape(len(x), -1), labels, frequencies, noise, rng)
    wanted = _means(sums)
    seed = reseed.seed(int(rng.integers(2**62)))
    net = _fitted(networks, wanted, frequencies, n_steps, batch_size, learning_rate, seed)
    return MerfGan(
        kind="DP-MERF",
        generators=(net,),
        discriminators=(),
        shape=networks.shape,
        latent=networks.latent,
        n_classes=n_classes,
        epoch=n_steps,
        epsilon=spent,
        embedding=Embedding(sums, frequencies, noise * ONE_RECORD),
    )


def _budget(epsilon, delta, noise_multiplier):
    """Noise over what one record adds, and the epsilon that it spends."""
    epsilon = checks.number("epsilon", epsilon, 0, open_low=True)
    if noise_multiplier is not None:
        noise = checks.number("noise_multiplier", noise_multiplier, 0, open_low=True)
        spent = float(privacy.gaussian(1 / noise).epsilon(delta))
        if spent > epsilon:
            checks.fail(
                "epsilon",
                f"{epsilon:g}, where a noise multiplier of {noise:g} spends {spent:.3g}",
                "a larger budget or more noise",
            )
        return noise, spent
    if privacy.gaussian(1 / LARGEST_NOISE).epsilon(delta) > epsilon:
        checks.fail(
            "epsilon",
            f"{epsilon:g}, which a noise multiplier of {LARGEST_NOISE:g} does not keep",
            f"a larger budget at delta = {delta:g}",
        )

    def over(log_noise):
        return float(privacy.gaussian(np.exp(-log_noise)).epsilon(delta)) - epsilon

    most = float(privacy.gaussian(1 / SMALLEST_NOISE).epsilon(delta))
    if most <= epsilon:
        return SMALLEST_NOISE, most
    least = -np.log(100)
    noise = float(np.exp(optimize.brentq(over, least, np.log(LARGEST_NOISE), xtol=1e-10)))
    noise *= 1 + 1e-8  # on the safe side of the root
    return noise, float(privacy.gaussian(1 / noise).epsilon(delta))


def _features(rows, frequencies):
    """Random features (n, D) of norm 1, for arrays and tensors alike."""
    angles = rows @ frequencies
    if isinstance(angles, np.ndarray):
        return np.concatenate([np.cos(angles), np.sin(angles)], 1) / np.sqrt(angles.shape[1])
    return torch.cat([torch.cos(angles), torch.sin(angles)], 1) / angles.shape[1] ** 0.5


def _sums(rows, labels, frequencies, n_classes=None):
    """(K, D + 1): each class's features and half of its count, summed over its records; K is one
    more than the largest label where it is not given.
    """
    one_hot = np.eye(labels.max() + 1 if n_classes is None else n_classes)[labels]
    counts = COUNT_WEIGHT * one_hot.sum(0)[:, None]
    features = 0.0
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        features = features + one_hot[part].T @ _features(rows[part], frequencies)
    return np.hstack([features, counts])


def _noisy_sums(rows, labels, frequencies, noise, rng):
    """`_sums` with noise: the only function of the data."""
    sums = _sums(rows, labels, frequencies)
    return sums + rng.normal(scale=noise * ONE_RECORD, size=sums.shape)


def _means(sums):
    """Mean embedding (K, D) of each class, from noisy sums."""
    counts = np.maximum(sums[:, -1] / COUNT_WEIGHT, 1)
    return sums[:, :-1] / counts[:, None]


def _fitted(networks, wanted, frequencies, n_steps, batch_size, learning_rate, seed):
    """A generator whose mean embeddings are those that are wanted, class by class."""
    n_classes = len(wanted)
    each = max(1, batch_size // n_classes)
    with torch.random.fork_rng(devices=[]):
        torch.random.default_generator.manual_seed(seed)
        net = Generator(networks, n_classes)
    draws = torch.Generator().manual_seed(seed + 1)
    labels = torch.arange(n_classes).repeat_interleave(each)
    wanted, frequencies = (torch.from_numpy(a).float() for a in (wanted, frequencies))
    adam = torch.optim.Adam(net.parameters(), lr=learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, n_steps)
    for _ in progress.bar(range(n_steps), "DP-MERF steps"):
        w = torch.randn(len(labels), networks.latent, generator=draws)
        drawn = (net(w, labels).flatten(1) + 1) / 2
        means = _features(drawn, frequencies).view(n_classes, each, -1).mean(1)
        adam.zero_grad()
        ((means - wanted) ** 2).sum().backward()
        adam.step()
        schedule.step()
    if not all(bool(torch.isfinite(tensor).all()) for tensor in net.state_dict().values()):
        checks.fail(
            "learning_rate", f"{learning_rate:g}, which ends in nan or inf", "a smaller one"
        )
    return net.eval().requires_grad_(False)
