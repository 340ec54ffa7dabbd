"""Tests of a few fitted features: mean embeddings at locations, smoothed characteristic functions
at frequencies.

Features are fitted on the halves x_train, y_train and tested on x, y by a limiting chi-squared law.
No record may be in both.

Taught in book/two_sample.ipynb.
"""

import numpy as np
from scipy import stats
from sklearn.preprocessing import StandardScaler

from mia_lib import checks, extras
from mia_lib.two_sample import fitting, kernels
from mia_lib.two_sample.permutation import SMALLEST, TestResult

torch = extras.module("torch")

RIDGE = 1e-5  # on the covariance of the features while they are optimised


def mean_embedding_test(
    x_train, y_train, x, y, *, n_locations=5, n_steps=100, learning_rate=0.05, rng=None
):
    """ME: mean embeddings compared at a few locations, which are optimised on the training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n, ...)
        Equally many records, more than locations.
    n_locations : int
        J, at least 1; it starts from records of the training halves.
    n_steps, learning_rate : int, float
        Of Adam on locations (in units of the training halves' standard deviations) and width.
    rng : numpy.random.Generator, optional
        Chooses the start; None means fresh entropy.

    Returns
    -------
    TestResult
        n W' S^-1 W, and its p-value by the chi-squared law with J degrees of freedom; one below the
        smallest normal float, about 2e-308, is given as that.

    Raises
    ------
    ValueError
        As for `optimized_kernel_test`; tested sets of different size or too few records.

    Notes
    -----
    Jitkrittum et al. 2016. The law holds for large n only: with few records the level is above the
    stated one. Run in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200)) + np.array([[0], [1]])
    >>> mean_embedding_test(a[:100], b[:100], a[100:], b[100:], rng=rng).p_value < 0.001
    True
    """
    rng, n_locations = checks.generator(rng), checks.integer("n_locations", n_locations, 1)
    x_train, y_train, x, y = _standardised(x_train, y_train, x, y, n_locations)
    there = np.concatenate([x_train, y_train])
    start = there[rng.choice(len(there), n_locations, replace=len(there) < n_locations)]
    log_width = torch.tensor(_log_median(x_train, y_train), requires_grad=True)
    locations = torch.from_numpy(start.copy()).requires_grad_()

    def features(records):
        squares = ((records[:, None] - locations) ** 2).sum(2)
        return torch.exp(-0.5 * torch.exp(-2 * log_width) * squares)

    return _chi_squared_test(
        features, [locations, log_width], x_train, y_train, x, y, n_steps, learning_rate
    )


def characteristic_function_test(
    x_train, y_train, x, y, *, n_frequencies=5, n_steps=100, learning_rate=0.05, rng=None
):
    """SCF: smoothed characteristic functions compared at a few frequencies, which are optimised on
    the training halves.

    Parameters
    ----------
    x_train, y_train, x, y, n_steps, learning_rate, rng
        As for `mean_embedding_test`.
    n_frequencies : int
        J, at least 1; the statistic has 2 J features, sine and cosine.

    Returns
    -------
    TestResult
        n W' S^-1 W, and its p-value by the chi-squared law with 2 J degrees of freedom, as for
        `mean_embedding_test`.

    Raises
    ------
    ValueError
        As for `mean_embedding_test`.

    Notes
    -----
    Chwialkowski et al. 2015; frequencies and width are really optimised here. Run in
    notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200)) * np.array([[1], [2]])
    >>> characteristic_function_test(a[:100], b[:100], a[100:], b[100:], rng=rng).p_value < 0.001
    True
    """
    rng, n_frequencies = checks.generator(rng), checks.integer("n_frequencies", n_frequencies, 1)
    x_train, y_train, x, y = _standardised(x_train, y_train, x, y, 2 * n_frequencies)
    log_width = torch.tensor(_log_median(x_train, y_train), requires_grad=True)
    frequencies = torch.from_numpy(rng.normal(size=(n_frequencies, x.shape[1]))).requires_grad_()

    def features(records):
        scaled = records * torch.exp(-log_width)
        angles, window = scaled @ frequencies.T, torch.exp(-0.5 * (scaled**2).sum(1, keepdim=True))
        return torch.cat([torch.sin(angles), torch.cos(angles)], 1) * window

    return _chi_squared_test(
        features, [frequencies, log_width], x_train, y_train, x, y, n_steps, learning_rate
    )


def _chi_squared_test(features, free, x_train, y_train, x, y, n_steps, learning_rate):
    """Maximise n W' S^-1 W on the training halves, then compute it, and its p-value, on the
    others.
    """

    def statistic(x, y, ridge):
        differences = features(x) - features(y)
        mean = differences.mean(0)
        centred = differences - mean
        covariance = centred.T @ centred / (len(x) - 1) + ridge * torch.eye(
            len(mean), dtype=torch.float64
        )
        return len(x) * mean @ torch.linalg.solve(covariance, mean)

    x_train, y_train, x, y = map(torch.from_numpy, (x_train, y_train, x, y))
    fitting.ascend(free, lambda: statistic(x_train, y_train, RIDGE), n_steps, learning_rate)
    with torch.no_grad():
        # Features that coincide make the covariance singular; so small a ridge changes nothing
        # else.
        value, n_features = float(statistic(x, y, 1e-12)), features(x[:1]).shape[1]
    return TestResult(value, max(float(stats.chi2.sf(value, n_features)), SMALLEST))


def _standardised(x_train, y_train, x, y, n_features):
    """All four in units of the training halves' standard deviations; the tested sets paired."""
    x_train, y_train = fitting.training_halves(x_train, y_train)
    x, y = kernels.pair("x", x, "y", y)
    if len(x) != len(y) or len(x) <= n_features + 1:
        checks.fail(
            "y",
            f"{len(y)} records against {len(x)} in x",
            f"equally many, more than {n_features + 1}",
        )
    scaler = StandardScaler().fit(np.concatenate([x_train, y_train]))
    return [scaler.transform(z) for z in (x_train, y_train, x, y)]


def _log_median(x, y):
    pooled = np.concatenate([x, y])
    return (
        np.log(kernels.median_square("x_train, y_train", kernels.squared_distances(pooled, pooled)))
        / 2
    )
