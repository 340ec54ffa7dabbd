"""Guarantees that are a formula: a Gaussian mechanism, and no more than one pair of epsilon and
delta.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from mia_lib import checks
from mia_lib.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Gaussian(Guarantee):
    """Closed forms of Dong, Roth and Su 2022, Corollary 2.13."""

    mu: float

    def _group(self, k):
        return Gaussian(k * self.mu)

    def _divergence(self, epsilon, with_record):
        # The same in both directions. exp(epsilon) Phi(.) in one exponent, which cannot overflow.
        centre = epsilon / self.mu
        with np.errstate(invalid="ignore"):
            second = np.exp(np.minimum(epsilon + special.log_ndtr(-centre - self.mu / 2), 0.0))
        return np.where(
            np.isinf(epsilon), 0.0, np.maximum(special.ndtr(self.mu / 2 - centre) - second, 0.0)
        )

    def _epsilon(self, delta):
        with np.errstate(invalid="ignore"):
            # There delta(epsilon) is below its first term, Phi(mu / 2 - epsilon / mu) = delta.
            high = np.maximum(self.mu * (self.mu / 2 - special.ndtri(delta)), 0.0)
        low = np.zeros_like(high)
        for _ in range(100):  # halves the bracket; its upper end is always allowed
            middle = np.where(np.isinf(high), high, (low + high) / 2)
            allowed = self._divergence(middle, True) <= delta
            low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
        return np.where(delta >= self._divergence(np.zeros(()), True), 0.0, high)

    def _tpr(self, fpr):
        return special.ndtr(special.ndtri(fpr) + self.mu)

    def _fpr(self, tpr):
        return special.ndtr(special.ndtri(tpr) - self.mu)


@dataclass(frozen=True)
class Approximate(Guarantee):
    """With probability delta everything is seen, else the record's bit by randomised response."""

    epsilon_0: float
    delta_0: float

    def _group(self, k):
        # The sum of e^(j epsilon), j < k, is (e^(k epsilon) - 1) / (e^epsilon - 1).
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.exp(self.epsilon_0 * np.arange(1, k))
        delta = min(1.0, self.delta_0 * (1 + terms.sum())) if self.delta_0 else 0.0
        return Approximate(k * self.epsilon_0, delta)

    def _divergence(self, epsilon, with_record):
        # (e^a - e^epsilon) / (e^a + 1) without overflow; the same in both directions.
        low = np.minimum(epsilon, self.epsilon_0)
        share = special.log_expit(-self.epsilon_0)
        with np.errstate(invalid="ignore"):
            gain = special.expit(self.epsilon_0) - np.exp(low + share)
        gain = np.where(epsilon < self.epsilon_0, np.maximum(gain, 0.0), 0.0)
        return self.delta_0 + (1 - self.delta_0) * gain

    def _epsilon(self, delta):
        beyond = (delta - self.delta_0) / max(1 - self.delta_0, 1e-300)
        left = 1 - beyond - beyond * np.exp(-self.epsilon_0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.maximum(self.epsilon_0 + np.log(np.maximum(left, 0.0)), 0.0)
        found = np.where((left <= 0) | (delta >= 1), 0.0, found)
        return np.where(delta < self.delta_0, np.inf, found)

    def _tpr(self, fpr):
        if np.isinf(self.epsilon_0):
            return np.ones_like(fpr)
        e, rest = np.exp(-self.epsilon_0), 1 - self.delta_0
        with np.errstate(divide="ignore", invalid="ignore"):
            few = np.where(fpr > 0, fpr / e, 0.0) + self.delta_0
        return np.minimum(few, 1 - e * np.maximum(rest - fpr, 0.0))

    def _fpr(self, tpr):
        if np.isinf(self.epsilon_0):
            return np.zeros_like(tpr)
        e, rest = np.exp(-self.epsilon_0), 1 - self.delta_0
        with np.errstate(divide="ignore", invalid="ignore"):
            many = rest - np.where(tpr < 1, (1 - tpr) / e, 0.0)
        return np.maximum(0.0, np.maximum(e * (tpr - self.delta_0), many))


def gaussian(mu):
    """The guarantee of a Gaussian mechanism, mu-Gaussian differential privacy.

    Parameters
    ----------
    mu : float
        How far the record moves the released number, in standard deviations of its noise; above 0.
        T steps on all records at noise multiplier sigma have mu = sqrt(T) / sigma.

    Returns
    -------
    Guarantee
        Its curve is Phi(Phi^-1(FPR) + mu); ``group(k)`` has k mu.

    Raises
    ------
    ValueError
        For mu of 0 or below.

    Notes
    -----
    Dong, Roth and Su 2022, in closed form. Taught in
    book/attacking_dp.ipynb.

    Examples
    --------
    >>> print(f"{gaussian(0.247).advantage():.3f} {gaussian(0.247).group(5).tpr_at(0.05):.2f}")
    0.098 0.34
    """
    return Gaussian(checks.number("mu", mu, 0, open_low=True))


def gaussian_at(epsilon, delta=1e-5):
    """The Gaussian guarantee that has an epsilon at a delta, such as what an audit certifies.

    Parameters
    ----------
    epsilon : float
        At least 0 and finite. 0 is the guarantee of a training that tells nothing of the record.
    delta : float
        The delta of differential privacy, in (0, 1).

    Returns
    -------
    Guarantee
        Its ``epsilon(delta)`` is `epsilon`; its curve passes through all rates.

    Raises
    ------
    ValueError
        For a value outside its range.

    Notes
    -----
    Every epsilon above 0 has one mu, because epsilon rises with mu. Where epsilon and delta are
    both below about 1e-12 rounding decides on the mu. Taught in book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> print(f"{gaussian_at(gaussian(1.0).epsilon(1e-5)).mu:.3f}")
    1.000
    """
    epsilon, delta = checks.number("epsilon", epsilon, 0), checks.delta(delta)
    if epsilon == 0:
        return Approximate(0.0, 0.0)

    def beyond(mu):
        return float(Gaussian(mu).epsilon(delta)) - epsilon

    low = 2 * special.ndtri((1 + delta) / 2)  # delta(0) of this mu is delta
    if delta < 1e-8:  # where it loses digits beside 1
        low = np.sqrt(8) * special.erfinv(delta)
    if beyond(low) >= 0:  # an epsilon that rounding does not tell from 0
        return Gaussian(low)
    high = max(1.0, 2 * low)
    while beyond(high) < 0:
        high *= 2
    return Gaussian(optimize.brentq(beyond, low, high, xtol=min(1e-12, 1e-6 * low), maxiter=1000))


def approximate(epsilon, delta):
    """The guarantee of a training of which no more is known than one pair.

    Parameters
    ----------
    epsilon : float
        At least 0; inf promises nothing.
    delta : float
        The delta of differential privacy, in [0, 1].

    Returns
    -------
    Guarantee
        That of the worst training with this pair: TPR <= min(e^epsilon FPR + delta, 1 - e^-epsilon
        (1 - delta - FPR)). ``group(k)`` has k epsilon and delta (e^(k epsilon) - 1) / (e^epsilon -
        1), at most 1.

    Raises
    ------
    ValueError
        For a value outside its range.

    Notes
    -----
    Kairouz, Oh and Viswanath 2015. Where the mechanism is known, its own guarantee is smaller
    almost everywhere. Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> pair = approximate(1.0, 0.01)
    >>> print(f"{pair.advantage():.3f} {pair.group(3).delta(3.0):.3f}")
    0.467 0.111
    """
    if not (isinstance(epsilon, float | np.floating) and epsilon == np.inf):
        epsilon = checks.number("epsilon", epsilon, 0)
    return Approximate(float(epsilon), checks.number("delta", delta, 0, high=1))
