"""Permutation tests of the discrepancy that see the records alone: a kernel that is given, scaled
or learned.

Every function takes records as arrays (n, ...) and returns a `TestResult`. The halves x_train,
y_train choose, the halves x, y are tested, and no record may be in both.

Taught in book/two_sample.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.two_sample import kernels
from mia_lib.two_sample.fitted import fit_bandwidth, fit_deep_features
from mia_lib.two_sample.fitting import DeepFeatures
from mia_lib.two_sample.permutation import permutation_test

RECIPE = DeepFeatures()


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
        As for `permutation_test`; training halves of different size, records that are all the same,
        tested records of other features.

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
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    x, y = _to_be_tested(x_train, x, y)
    fitted = fit_bandwidth(
        x_train, y_train, scales=(1,), n_steps=n_steps, learning_rate=learning_rate
    )
    return fitted.test(x, y, n_permutations, rng)


def deep_feature_test(x_train, y_train, x, y, *, recipe=RECIPE, n_permutations=499, rng=None):
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
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    x, y = _to_be_tested(x_train, x, y)
    fitted = fit_deep_features(x_train, y_train, recipe=recipe, scales=(1,), rng=rng)
    return fitted.test(x, y, n_permutations, rng)


def _to_be_tested(x_train, x, y):
    """Both sets as `kernels.pair` gives them: what is wrong with them is said before the fit."""
    x, y = kernels.pair("x", x, "y", y)
    kernels.pair("x_train", x_train, "x", x)
    return x, y
