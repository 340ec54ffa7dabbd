"""DOMIAS: is the synthetic set denser at the example than data that the model never saw?

Taught in book/generative.ipynb.
"""

import numpy as np
from scipy import stats
from sklearn.decomposition import PCA

from mia_lib import checks
from mia_lib.generative import feature_rows


def domias(synthetic, reference, x, *, method="kernel", components=10, embedding=None):
    """Log-ratio of the density of a synthetic release to that of a reference set, at each example.

    Parameters
    ----------
    synthetic : array (m, ...)
        What the generator released.
    reference : array (r, ...)
        Real examples of the same population that are neither members nor among `x`.
    x : array (n, ...)
        Examples under attack.
    method : {"kernel", "gaussian"}
        Densities by Gaussian kernels with Scott's bandwidth in the shape of the covariance, or by
        one fitted normal.
    components : int
        Densities are estimated on so many leading principal components of synthetic and reference
        examples together (all where there are fewer columns).
    embedding : callable, optional
        As for `nearest_distances`; comes before the principal components.

    Returns
    -------
    float64 array (n,)
        log p_synthetic - log p_reference; larger means more likely a member.

    Raises
    ------
    ValueError
        Fewer synthetic or reference examples than components + 2, a set that does not vary in all
        components, shapes that disagree, NaN.

    Notes
    -----
    van Breugel et al. 2023. A distance to the synthetic set finds examples where the *population*
    is dense as well as those that the model copied; the ratio divides the first out. Both densities
    change by the same factor under an invertible linear map, so with as many components as columns
    the ratio does not. With fewer only rotations and one scale for all columns leave it as it is:
    other maps change which components lead. Taught in book/generative.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> synthetic, reference = rng.normal(1, 1, (50_000, 1)), rng.normal(0, 1, (50_000, 1))
    >>> # the truth is x - 1/2
    >>> domias(synthetic, reference, [[1.0], [2.0]], method="gaussian").round(1)
    array([0.5, 1.5])
    """
    checks.choice("method", method, ("kernel", "gaussian"))
    return log_ratio(*on_components(synthetic, reference, x, components, embedding), method)


def on_components(synthetic, reference, x, components, embedding=None):
    """The three sets (m, c), (r, c), (n, c) on the leading principal components of the first two
    together.
    """
    components = checks.integer("components", components, 1)
    examples = feature_rows.rows("x", x, embedding, like=("synthetic", synthetic))
    reference = feature_rows.rows("reference", reference, embedding, like=("synthetic", synthetic))
    synthetic = feature_rows.rows("synthetic", synthetic, embedding)
    components = min(components, examples.shape[1])
    for name, group in (("synthetic", synthetic), ("reference", reference)):
        if len(group) < components + 2:
            checks.fail(
                name,
                f"{len(group)} examples",
                f"at least {components + 2} for {components} components",
            )
    axes = PCA(components, svd_solver="full").fit(
        np.concatenate([synthetic, reference]).astype(np.float64)
    )
    return [axes.transform(group) for group in (synthetic, reference, examples)]


def log_ratio(synthetic, reference, at, method="kernel"):
    """`domias` at rows `at`, where all three are on components already."""
    return _log_density("synthetic", synthetic, at, method) - _log_density(
        "reference", reference, at, method
    )


def varies(points):
    """Whether rows vary in every component: others have no density."""
    spread = np.linalg.eigvalsh(np.atleast_2d(np.cov(points, rowvar=False)))
    return spread[0] > 1e-12 * max(spread[-1], 1e-300)


def _log_density(name, points, at, method):
    """Log-density (n,) at rows `at`, estimated from the rows of `points`."""
    if not varies(points):
        checks.fail(name, "examples that do not vary in every component", "fewer components")
    if method == "gaussian":
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        return np.atleast_1d(stats.multivariate_normal(points.mean(axis=0), covariance).logpdf(at))
    return stats.gaussian_kde(points.T).logpdf(at.T)
