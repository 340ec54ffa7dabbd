"""Records drawn from a mixture of Bernoulli products, so that every true density is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from mia_lib import checks

# rows at a time: the (rows, classes, components) terms of 200,000 records would not fit in memory
_CHUNK = 4096


@dataclass(frozen=True)
class BernoulliMixture:
    """K classes of binary records, each class a mixture of M products of d independent Bernoulli
    variables.

    Parameters
    ----------
    class_weights : ndarray (K,)
        Pr(y = c), positive, summing to one.
    component_weights : ndarray (K, M)
        Pr(m | y = c), positive, each row summing to one.
    rates : ndarray (K, M, d)
        Pr(x_j = 1 | y = c, m), strictly between 0 and 1.

    Raises
    ------
    ValueError
        Shapes that do not fit, weights that are not positive or do not sum to one, a rate outside
        (0, 1).

    Notes
    -----
    p(x | y = c) = sum_m w_cm prod_j r_cmj^x_j (1 - r_cmj)^(1 - x_j). Everything is computed in log
    space. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> coin = BernoulliMixture(np.ones(1), np.ones((1, 1)), np.full((1, 1, 1), 0.25))
    >>> np.exp(coin.log_density([[0], [1]])).round(12)
    array([0.75, 0.25])
    """

    class_weights: np.ndarray
    component_weights: np.ndarray
    rates: np.ndarray

    def __post_init__(self):
        rates = checks.real_array("rates", self.rates, ndim=3)
        n_classes, n_components, _ = rates.shape
        classes = checks.real_array("class_weights", self.class_weights, shape=(n_classes,))
        components = checks.real_array(
            "component_weights", self.component_weights, shape=(n_classes, n_components)
        )
        if rates.min() <= 0 or rates.max() >= 1:
            checks.fail(
                "rates",
                f"values from {rates.min():g} to {rates.max():g}",
                "values strictly between 0 and 1",
            )
        for name, weights in (("class_weights", classes), ("component_weights", components)):
            if weights.min() <= 0 or np.abs(weights.sum(axis=-1) - 1).max() > 1e-9:
                checks.fail(
                    name,
                    "weights that are not positive or do not sum to one",
                    "positive weights summing to 1",
                )
        # The dataclass is frozen; this is the one place that replaces what came in by checked
        # float64 arrays.
        for name, value in (
            ("class_weights", classes),
            ("component_weights", components),
            ("rates", rates),
        ):
            object.__setattr__(self, name, value)

    def sample(self, n, rng=None):
        """Draw n records and their labels.

        Parameters
        ----------
        n : int
            How many, at least 1.
        rng : numpy.random.Generator, optional
            None means fresh entropy.

        Returns
        -------
        x : ndarray (n, d) of uint8
            Zeros and ones.
        y : ndarray (n,) of int64
            Labels 0 ... K - 1.
        """
        n, rng = checks.integer("n", n, 1), checks.generator(rng)
        n_classes, n_components, d = self.rates.shape
        y = rng.choice(n_classes, size=n, p=self.class_weights)
        cumulative = np.cumsum(self.component_weights, axis=1)
        # The last component takes what rounding leaves of the unit interval.
        component = (rng.random(n)[:, None] >= cumulative[y, :-1]).sum(axis=1)
        x = np.empty((n, d), dtype=np.uint8)
        for start in range(0, n, _CHUNK):
            rows = slice(start, min(start + _CHUNK, n))
            x[rows] = rng.random((rows.stop - start, d)) < self.rates[y[rows], component[rows]]
        return x, y.astype(np.int64)

    def log_joint(self, x):
        """log p(x, y = c) for every class, natural logarithm, shape (n, K)."""
        n_classes, n_components, d = self.rates.shape
        x = checks.real_array("x", x, shape=(None, d))
        if not np.isin(x, (0, 1)).all():
            checks.fail("x", "entries other than 0 and 1", "binary records")
        off = np.log1p(-self.rates)
        slope = (np.log(self.rates) - off).reshape(-1, d).T
        constant = (off.sum(axis=-1) + np.log(self.component_weights)).reshape(-1)
        out = np.empty((len(x), n_classes))
        for start in range(0, len(x), _CHUNK):
            terms = x[start : start + _CHUNK] @ slope + constant
            out[start : start + _CHUNK] = logsumexp(
                terms.reshape(-1, n_classes, n_components), axis=-1
            )
        return out + np.log(self.class_weights)

    def log_density(self, x, y=None):
        """log p(x), or log p(x | y) where labels are given, natural logarithm, shape (n,).

        Parameters
        ----------
        x : array (n, d)
            Zeros and ones.
        y : array (n,), optional
            Labels 0 ... K - 1.
        """
        joint = self.log_joint(x)
        if y is None:
            return logsumexp(joint, axis=1)
        y = checks.labels("y", y, len(joint), n_classes=len(self.class_weights))
        return joint[np.arange(len(y)), y] - np.log(self.class_weights)[y]

    def log_posterior(self, x):
        """log Pr(y = c | x) for every class, natural logarithm, shape (n, K)."""
        joint = self.log_joint(x)
        return joint - logsumexp(joint, axis=1, keepdims=True)


def purchase_mixture(
    n_features=600,
    n_classes=100,
    n_components=4,
    *,
    class_spread=0.4,
    component_spread=0.8,
    rng=None,
):
    """Draw a mixture that looks like shopping records: items with a popularity, classes and styles
    that differ in them.

    Item j has log-odds b_j ~ Normal(-1.5, 1) of being bought; class c shifts each by class_spread
    times a standard normal variable, and each of its styles by component_spread times another.
    Classes and styles are equally likely.

    Parameters
    ----------
    n_features, n_classes, n_components : int
        d, K and M, each at least 1.
    class_spread, component_spread : float
        Standard deviations on the log-odds scale, at least 0. Smaller class_spread: harder classes.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    BernoulliMixture

    Raises
    ------
    ValueError
        A count below 1 or a negative spread.

    Notes
    -----
    With the defaults about a quarter of the entries are one. The classes are separable by their
    true densities, but a 600-256-128-100 network fitted to 10,000 records reaches accuracy 1 on
    them and a little under 0.8 on new ones: the gap that membership inference lives on. Taught in
    book/metric_attacks.ipynb.

    Examples
    --------
    >>> purchase_mixture(5, 3, 2, rng=np.random.default_rng(0)).rates.shape
    (3, 2, 5)
    """
    d = checks.integer("n_features", n_features, 1)
    n_classes, n_components = (
        checks.integer("n_classes", n_classes, 1),
        checks.integer("n_components", n_components, 1),
    )
    class_spread = checks.number("class_spread", class_spread, 0)
    component_spread = checks.number("component_spread", component_spread, 0)
    rng = checks.generator(rng)
    log_odds = rng.normal(-1.5, 1.0, d)
    log_odds = log_odds + class_spread * rng.standard_normal((n_classes, 1, d))
    log_odds = log_odds + component_spread * rng.standard_normal((n_classes, n_components, d))
    return BernoulliMixture(
        np.full(n_classes, 1 / n_classes),
        np.full((n_classes, n_components), 1 / n_components),
        1 / (1 + np.exp(-log_odds)),
    )
