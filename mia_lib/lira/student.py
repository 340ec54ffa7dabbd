"""Student's t as the predictive law of signals: log densities and log distribution functions, with
any number of degrees of freedom (infinity: the normal law), exact far out.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from mia_lib.lira import choices
from mia_lib.metrics import tails

# Steps of the integral over the common spread of several queries, in standard deviations of its
# logarithm: an integrand with so light tails is summed to ten digits.
NODES = np.arange(-32.0, 8.0, 0.4)


class Student(NamedTuple):
    """Predictive laws of a side."""

    center: np.ndarray  # (b, Q, c)
    squared_scale: np.ndarray  # (b, Q or 1, c)
    freedom: np.ndarray  # degrees, broadcasts against the scales
    constant: np.ndarray  # `constant` of these degrees


def constant(freedom, queries):
    """Of the log density of a Student's t in so many dimensions (the normal's for infinity)."""
    finite = np.where(np.isinf(freedom), 1.0, freedom)
    found = special.gammaln(queries / 2) - special.betaln(finite / 2, queries / 2)
    found = found - queries / 2 * np.log(finite * np.pi)
    return np.where(np.isinf(freedom), -queries / 2 * np.log(2 * np.pi), found)


def log_density(x, law):
    """Log densities (b, c) of signals (b, Q, c), summed over queries of their own spreads."""
    queries = x.shape[1] // law.squared_scale.shape[1]
    squares = x - law.center
    squares *= squares
    if queries > 1:
        squares = squares.sum(axis=1, keepdims=True)
    squares /= law.squared_scale
    if np.isinf(law.freedom).any():
        finite = np.where(np.isinf(law.freedom), 1.0, law.freedom)
        bent = (finite + queries) * np.log1p(squares / finite)
        squares = np.where(np.isinf(law.freedom), squares, bent)
    else:
        squares /= law.freedom
        np.log1p(squares, out=squares)
        squares *= law.freedom + queries
    squares += queries * np.log(law.squared_scale)
    squares *= -0.5
    squares += law.constant
    return squares[:, 0] if squares.shape[1] == 1 else squares.sum(axis=1)


def log_cumulative(x, law):
    """Log Pr[all signals of a model are at most x], (b, c), of signals (b, Q, c)."""
    z = (x - law.center) / np.sqrt(law.squared_scale)
    if z.shape[1] > law.squared_scale.shape[1]:
        return log_orthant(z, np.broadcast_to(law.freedom, (*z.shape[:1], 1, *z.shape[2:]))[:, 0])
    return tails.log_tail(z, np.broadcast_to(law.freedom, z.shape)).sum(axis=1)


def log_orthant(z, freedom):
    """Log Pr[all Q coordinates of a spherical Student's t are at most z], (b, c) of z (b, Q, c).

    The coordinates are normal, divided by the root of a common w ~ chi2(freedom) / freedom: an
    integral over u = log w, summed about its largest term on a scale that the prior gives.
    """
    finite = np.where(np.isinf(freedom), 1.0, freedom)
    half = finite / 2
    width = 1 / np.sqrt(half)
    middle = -np.log1p((np.minimum(z, 0.0) ** 2).sum(axis=1) / finite)
    total, above = np.full(middle.shape, -np.inf), np.zeros(middle.shape)
    base = np.zeros(half.shape)
    for node in NODES:
        u = middle + node * width
        both = special.log_ndtr(np.exp(u / 2)[:, None] * z).sum(axis=1)
        weight = half * (u - np.expm1(u))
        total = np.logaddexp(total, weight + both)
        above -= np.exp(weight) * np.expm1(both)
        base += np.exp(half * (node * width - np.expm1(node * width)))
    # Where no coordinate is below 0, the probability of the rest keeps the digits near 1.
    above = np.where(middle < 0, 0.5, np.minimum(above / base, 0.5))
    found = np.where(above < 0.5, np.log1p(-above), total - np.log(base))
    return np.where(np.isinf(freedom), special.log_ndtr(z).sum(axis=1), found)


def ratio(x, laws, options):
    """Scores (b, c) of signals (b, Q, c) under the laws {side: Student}."""
    if options.sides == choices.ONLINE:
        return log_density(x, laws["IN"]) - log_density(x, laws["OUT"])
    return (log_cumulative if options.tail == "one-sided" else _surprise)(x, laws["OUT"])


def _surprise(x, law):
    return -log_density(x, law)
