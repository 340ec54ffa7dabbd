"""The likelihood-ratio attack with Student's t: a record's own location and spread, as far as its
few models tell them, and what all records' models tell beforehand.

A side of a record (IN or OUT) has c models with Q signals each, normal with locations mu (Q,) and
one variance v. The conjugate prior of both is normal-inverse-gamma:

    v ~ nu variance / chi2(nu),    mu_q | v ~ N(m_q, v / kappa).

Multiply it by the likelihood of c signals with mean xbar_q and squares S about it, summed over q.
In mu_q the exponents add up to one square, (kappa + c) (mu_q - m'_q)^2 with
m' = (kappa m + c xbar) / (kappa + c), and a rest, kappa c / (kappa + c) (xbar_q - m_q)^2. The
product has therefore the prior's form again, with

    kappa' = kappa + c,    nu' = nu + c Q,
    nu' variance' = nu variance + S + sum_q (xbar_q - m_q)^2 / (1 / kappa + 1 / c).

A further model's signals are then, given v, normal about m' with variance v (1 + 1 / kappa'), and
v varies as nu' variance' / chi2(nu'): a multivariate Student's t with nu' degrees of freedom,
location m' and squared scale variance' (1 + 1 / kappa') in every direction. With Q = 1 for each
query by itself, this is the diagonal form.

Limits. kappa = nu = 0: c Q degrees, the record's own mean, squared scale S / (c Q) (1 + 1 / c).
nu = infinity: a normal law whose variance is the prior's, times 1 + 1 / (kappa + c).

The priors' parameters are estimated by moments over all records of the reference models. If v is
as above and S = v chi2(d), then e = log(S / 2) - psi(d / 2) has mean log variance + log(nu / 2) -
psi(nu / 2) and variance psi'(d / 2) + psi'(nu / 2). So the variance of e over records, less the
mean of psi'(d / 2), gives nu by inverting the trigamma function, and the mean of e then gives the
variance (Smyth 2004, section 6.2, for d = c - 1). The location m of one side is a straight line in
the record's mean on the other side, fitted by least squares over records (a constant where only one
side is read). Where the dependence is linear this is the exact prior, because the IN models know
nothing more from the OUT models once mu_in is given. Since xbar - m has variance
v (1 / kappa + 1 / c), the residual mean square less the mean of v / c, over the mean of v,
estimates 1 / kappa.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special

from mia_lib import checks, model_checks
from mia_lib.lira import choices, student

# What a prior's numbers may be. Degrees of freedom may also be infinite: larger ones must be, or
# their product with the variance overflows.
RANGES = {
    "kappa": (0, np.inf),
    "nu": (0, model_checks.LARGEST),
    "variance": (choices.TINY, choices.LARGEST),
}


class Prior(NamedTuple):
    """What is known of one side's locations and spreads before a record's own models are seen.

    Parameters
    ----------
    location : number or array (n,) or (n, Q)
        Prior mean of the location of each record (and query), in the signal's unit; below 1e100 in
        magnitude, as signals are.
    kappa : number
        What it weighs, in models: 0 for nothing, infinity where no record departs from it.
    nu : number
        Degrees of freedom of the prior of the variance: 0 for nothing, infinity where all records
        have the same variance; finite ones up to 1e100.
    variance : number
        Scale of that prior, in the signal's unit squared; from 1e-60 to 1e200.

    Notes
    -----
    With ``covariance="diagonal"`` the last three may be arrays (Q,). Taught in
    book/one_family.ipynb.

    Examples
    --------
    >>> Prior(0.0, 0, float("inf"), 2.0).variance
    2.0
    """

    location: object
    kappa: object
    nu: object
    variance: object


class Seen(NamedTuple):
    """What one side's models say of b records, for each of c targets (or for all: c = 1)."""

    means: np.ndarray  # (b, Q, c)
    squares: np.ndarray  # (b, Q or 1, c), about the means; 1: summed over queries
    count: object  # models, a number or (b, 1, 1)

    @property
    def queries(self):
        """How many signals of a model share a spread."""
        return self.means.shape[1] // self.squares.shape[1]


class Line(NamedTuple):
    """Estimated priors: the location is a line in the other side's mean; one column a target."""

    intercept: np.ndarray  # (Q, T)
    slope: np.ndarray  # (Q, T)
    kappa: np.ndarray  # (Q or 1, T)
    nu: np.ndarray
    variance: np.ndarray


def contributions(own, other, shift):
    """What each record adds to the sums that a side's priors are estimated from, by name.

    `other` is the other side's `Seen`, or None; `shift` (1, Q, 1) a value near all means, which
    keeps the digits of their squares.
    """
    freedom = (own.count - 1) * own.queries
    some = own.squares > 0  # models that agree exactly say nothing of a logarithm
    logs = np.where(some, own.squares, 1.0)
    logs *= 0.5
    np.log(logs, out=logs)
    logs -= special.digamma(freedom / 2)
    logs *= some
    y = own.means - shift
    found = {
        "spreads": some,
        "logs": logs,
        "squared logs": logs * logs,
        "noise": special.polygamma(1, freedom / 2) * some,
        "variances": own.squares / freedom,
        "variances of means": own.squares / (freedom * own.count),
        "y": y,
        "yy": y * y,
    }
    if other is not None:
        x = other.means - shift
        found |= {"x": x, "xx": x * x, "xy": x * y}
    return found


def estimated(sums, n, shift):
    """The `Line` of sums by name, (Q or 1, T) each, over n records."""
    queries = len(sums["y"]) // len(sums["logs"])
    intercept, residuals, parameters = sums["y"] / n, sums["yy"] - sums["y"] ** 2 / n, 1
    slope = np.zeros_like(intercept)
    if "x" in sums:
        about = sums["xx"] - sums["x"] ** 2 / n
        both = sums["xy"] - sums["x"] * sums["y"] / n
        np.divide(both, about, out=slope, where=about > 1e-12 * sums["xx"])
        intercept -= slope * sums["x"] / n
        residuals -= slope * both
        parameters = 2
    intercept += shift[0] - slope * shift[0]
    if queries > 1:
        residuals = residuals.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (
            residuals * n / np.maximum(n - parameters, 1) - queries * sums["variances of means"]
        )
        kappa = queries * sums["variances"] / between
        kappa = np.where(between > 0, kappa, np.inf)
        spreads = sums["spreads"]
        excess = sums["squared logs"] - sums["logs"] ** 2 / spreads
        excess = excess / (spreads - 1) - sums["noise"] / spreads
        half = np.where(excess > 0, inverse_trigamma(np.where(excess > 0, excess, 1.0)), np.inf)
        level = sums["logs"] / spreads
        level = level - np.where(half < np.inf, np.log(half) - special.digamma(half), 0.0)
    # A line needs more records than it has parameters, a variance of logarithms two.
    kappa = np.where(n > parameters, kappa, 0.0)
    known = spreads > 1
    return Line(
        intercept,
        slope,
        kappa,
        np.where(known, 2 * half, 0.0),
        np.where(known, np.exp(np.where(known, level, 0.0)), choices.TINY),
    )


def other_side(seen, side):
    """The other side's `Seen`, None where only one side is read."""
    return next((found for name, found in seen.items() if name != side), None)


def of_one_target(seen, shift):
    """Estimated priors {side: (location (n, Q), kappa, nu, variance (Q or 1, 1))}."""
    found = {}
    for side, own in seen.items():
        other = other_side(seen, side)
        terms = contributions(own, other, shift)
        sums = {name: term.sum(axis=0) for name, term in terms.items()}
        line = estimated(sums, len(own.means), shift)
        location = np.broadcast_to(line.intercept, own.means.shape)
        if other is not None:
            location = location + line.slope * other.means
        found[side] = (location[..., 0], line.kappa, line.nu, line.variance)
    return found


def inverse_trigamma(value):
    """x with psi'(x) = value > 0, by Newton's method on 1 / psi', which is nearly a line."""
    x = 0.5 + 1 / value
    for _ in range(12):
        there = special.polygamma(1, x)
        x = x + there * (1 - there / value) / special.polygamma(2, x)
    return x


def students(seen, location, kappa, nu, variance, place=None):
    """The predictive laws of a side after its models were seen.

    `location` broadcasts against the means, kappa, nu and variance against (b, Q or 1, c). With
    `place`, a function that lays (Q or 1, T) out so, these three are of each target.
    """
    place = place or (lambda table: table)
    count, shared = seen.count, seen.queries
    freedom = nu + count * shared
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = place(1 / (1 + kappa / count))
        between = place(1 / (1 / kappa + 1 / count))
        growth = 1 + 1 / (kappa + count)
        known = place(growth * np.where(np.isinf(nu), variance, nu * variance / freedom))
    away = seen.means - location
    squares = away * away
    if shared > 1:
        squares = squares.sum(axis=1, keepdims=True)
    squares = squares * between
    squares += seen.squares
    squares *= place(growth / freedom)
    squares += known
    np.maximum(squares, choices.TINY, out=squares)
    away *= weight
    away += location
    return student.Student(away, squares, place(freedom), place(student.constant(freedom, shared)))


def checked(priors, n, n_queries, options):
    """Priors that were handed in, {side: (location (n, Q or 1), kappa, nu, variance (Q or 1, 1))}.

    None stays None: they are to be estimated.
    """
    if priors is None:
        return None
    if options.variance != "bayesian":
        checks.fail("priors", f"some with variance={options.variance!r}", "variance='bayesian'")
    if not isinstance(priors, Mapping) or not set(options.sides) <= set(priors):
        checks.fail("priors", repr(priors), f"a mapping with {' and '.join(options.sides)}")
    return {side: _one(side, priors[side], n, n_queries, options) for side in options.sides}


def _one(side, prior, n, n_queries, options):
    if not isinstance(prior, Prior):
        checks.fail(f"priors[{side!r}]", type(prior).__name__, "a lira.Prior")
    location = checks.real_array(f"priors[{side!r}].location", prior.location, (0, 1, 2))
    model_checks.bounded(f"priors[{side!r}].location", location)
    if location.ndim == 1:
        location = location[:, None]
    elif location.ndim == 0:
        location = np.broadcast_to(location, (n, 1))
    if location.shape not in ((n, 1), (n, n_queries)):
        checks.fail(
            f"priors[{side!r}].location", f"shape {location.shape}", f"a number or {n} of them"
        )
    sizes = (1,) if options.shares_spread else (1, n_queries)
    found = [location]
    for name, (low, high) in RANGES.items():
        called = f"priors[{side!r}].{name}"
        value = np.atleast_1d(checks.real_array(called, getattr(prior, name), (0, 1), finite=False))
        told = value[value != np.inf] if name == "nu" else value
        if value.size not in sizes or (told < low).any() or (told > high).any():
            many = "a number" if options.shares_spread else f"a number, or {n_queries} of them,"
            more = " or infinity" if name == "nu" else ""
            expected = f"{many} from {low:g} to {high:g}{more}"
            checks.fail(called, repr(getattr(prior, name)), expected)
        found.append(value[:, None])
    return found
