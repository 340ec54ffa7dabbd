"""Permutation tests of the discrepancy that see the records alone: a kernel that is given, scaled
or learned.

Every function takes records as arrays (n, ...) and returns a `TestResult`. The halves x_train,
y_train choose, the halves x, y are tested, and no record may be in both.

Taught in book/two_sample.ipynb.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from mia_lib import checks, extras
from mia_lib.two_sample import fitting, kernels
from mia_lib.two_sample.permutation import permutation_test

torch = extras.module("torch")


def median_kernel_test(x, y, n_permutations=499, *, rng=None):
    """MMD-G: a Gaussian kernel whose bandwidth is the median distance; nothing is fitted.

    Parameters
    ----------
    x, y : array (n_x, ...), (n_y, ...)
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `median_bandwidth` and `permutation_test`.

    Notes
    -----
    The bandwidth is that of the pooled records, which no permutation changes: the level is exact.
    HR-MMD App. G.3. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> median_kernel_test(rng.normal(size=50), rng.normal(size=50) + 2, rng=rng).p_value
    0.002
    """
    x, y = kernels.pair("x", x, "y", y)
    pooled = np.concatenate([x, y])
    gram = kernels.gaussian_kernel(pooled, pooled, kernels.median_bandwidth(pooled))
    return permutation_test(gram, len(x), n_permutations, rng)


def optimized_kernel_test(
    x_train, y_train, x, y, *, n_steps=100, learning_rate=0.05, n_permutations=499, rng=None
):
    """MMD-O: a Gaussian kernel whose bandwidth maximises J on the training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n_x, ...), (n_y, ...)
    n_steps : int
        Steps of Adam on the logarithm of the bandwidth, from the median distance.
    learning_rate : float
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `permutation_test`; training halves of different size, records that are all the same.

    Notes
    -----
    HR-MMD App. G.3. Run in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> optimized_kernel_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    x_train, y_train = fitting.training_halves(x_train, y_train)
    pooled, n = np.concatenate([x_train, y_train]), len(x_train)
    squares = kernels.squared_distances(pooled, pooled)
    log_width = torch.tensor(
        np.log(kernels.median_square("x_train, y_train", squares)) / 2, requires_grad=True
    )
    squares = torch.from_numpy(squares)

    def objective():
        return fitting.criterion(
            *fitting.blocks(torch.exp(-0.5 * torch.exp(-2 * log_width) * squares), n)
        )

    fitting.ascend([log_width], objective, n_steps, learning_rate)
    x, y = kernels.pair("x", x, "y", y)
    both = np.concatenate([x, y])
    return permutation_test(
        kernels.gaussian_kernel(both, both, float(log_width.detach().exp())),
        len(x),
        n_permutations,
        rng,
    )


@dataclass(frozen=True)
class DeepFeatures:
    """How the network of `deep_feature_test` is made and fitted.

    Parameters
    ----------
    hidden : int
        Width of the three hidden layers (softplus).
    n_features : int
        Outputs of the network, which the first kernel works on.
    n_steps : int
        Of Adam on the network, epsilon and both bandwidths.
    learning_rate : float
        Of Adam, above 0.

    Raises
    ------
    ValueError
        For a choice out of range.

    Notes
    -----
    Run in notebooks/two_sample_levels.ipynb.
    """

    hidden: int = 50
    n_features: int = 20
    n_steps: int = 200
    learning_rate: float = 0.005

    def __post_init__(self):
        checks.integer("hidden", self.hidden, 1)
        checks.integer("n_features", self.n_features, 1)
        checks.integer("n_steps", self.n_steps, 0)
        checks.number("learning_rate", self.learning_rate, 0, open_low=True)


def deep_feature_test(
    x_train, y_train, x, y, *, recipe=DeepFeatures(), n_permutations=499, rng=None
):
    """MMD-D: a deep kernel on the records alone, whose network and bandwidths maximise J on the
    training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n_x, ...), (n_y, ...)
    recipe : DeepFeatures
        The network and its fitting.
    n_permutations : int
    rng : numpy.random.Generator, optional
        Start of the network and permutations; None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `optimized_kernel_test`.

    Notes
    -----
    Liu et al. 2020, HR-MMD App. G.3. Records are standardised by the training halves. Run in
    notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100, 2)) * np.array([1.0, 3.0])[:, None, None]
    >>> deep_feature_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    rng = checks.generator(rng)
    x_train, y_train = fitting.training_halves(x_train, y_train)
    pooled, n = np.concatenate([x_train, y_train]), len(x_train)
    scaler = StandardScaler().fit(pooled)
    pooled = scaler.transform(pooled)
    squares = kernels.squared_distances(pooled, pooled)
    widths = [pooled.shape[1], *3 * [recipe.hidden], recipe.n_features]
    layers = []
    for before, after in zip(widths, widths[1:]):
        spread = np.sqrt(1 / before)
        layers.append(
            torch.from_numpy(rng.uniform(-spread, spread, (before, after))).requires_grad_()
        )
        layers.append(torch.zeros(after, dtype=torch.float64, requires_grad=True))

    def features(records):
        out = torch.from_numpy(records)
        for i in range(0, len(layers), 2):
            out = out @ layers[i] + layers[i + 1]
            out = torch.nn.functional.softplus(out) if i + 2 < len(layers) else out
        return out

    with torch.no_grad():
        start = features(pooled).numpy()
    start = kernels.median_square("x_train, y_train", kernels.squared_distances(start, start))
    raw = kernels.median_square("x_train, y_train", squares)
    free = torch.tensor(
        [-3.0, np.log(start) / 2, np.log(raw) / 2], dtype=torch.float64, requires_grad=True
    )
    squares = torch.from_numpy(squares)

    def objective():
        out = features(pooled)
        norms = (out**2).sum(1)
        gram = fitting.deep_gram(
            free, (norms[:, None] + norms - 2 * out @ out.T).clamp_min(0), squares
        )
        return fitting.criterion(*fitting.blocks(gram, n))

    fitting.ascend([*layers, free], objective, recipe.n_steps, recipe.learning_rate)
    x, y = kernels.pair("x", x, "y", y)
    both = scaler.transform(np.concatenate([x, y]))
    with torch.no_grad():
        out = features(both).numpy()
        distances = (torch.from_numpy(kernels.squared_distances(z, z)) for z in (out, both))
        gram = fitting.deep_gram(free, *distances).numpy()
    return permutation_test((gram + gram.T) / 2, len(x), n_permutations, rng)
