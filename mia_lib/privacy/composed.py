"""The guarantee of DP-SGD: many steps on random subsets, composed by `dp-accounting`."""

import functools
from dataclasses import dataclass

import numpy as np
from scipy import stats

from mia_lib import checks
from mia_lib.privacy.guarantee import Guarantee

POINTS = 4000  # tangents that stand for the curve of a composed mechanism
LARGEST = 700.0  # exp of more overflows; a delta here is an upper limit of every later one


@dataclass(frozen=True)
class SubsampledGaussian(Guarantee):
    """A composition that `dp-accounting` computes, rounded upwards."""

    noise_multiplier: float
    sampling_rate: float
    steps: int
    records: int = 1

    def _group(self, k):
        k = k * self.records
        return SubsampledGaussian(self.noise_multiplier, self.sampling_rate, self.steps, k)

    def _losses(self, with_record):
        return _composed(self.noise_multiplier, self.sampling_rate, self.steps, self.records)[
            0 if with_record else 1
        ]

    def _divergence(self, epsilon, with_record):
        asked, place = np.unique(np.clip(epsilon, -LARGEST, LARGEST), return_inverse=True)
        found = self._losses(with_record).get_delta_for_epsilon(asked)
        return np.asarray(found)[place].reshape(np.shape(epsilon))

    def _epsilon(self, delta):
        asked, place = np.unique(delta, return_inverse=True)
        both = [
            [self._losses(way).get_epsilon_for_delta(d) for d in asked] for way in (True, False)
        ]
        found = np.where(asked > 0, np.max(both, axis=0), np.inf)
        return np.where(asked < 1, found, 0.0)[place].reshape(delta.shape)

    def _lines(self):
        return _tangents(self.noise_multiplier, self.sampling_rate, self.steps, self.records)

    def _tpr(self, fpr):
        epsilon, divergence, _ = self._lines()
        slope, flat = np.exp(epsilon), fpr.ravel()
        parts = [  # in pieces, so that a long array does not make a large matrix
            (slope * some[:, None] + divergence).min(1, initial=1.0)
            for some in np.split(flat, range(500, flat.size, 500))
        ]
        return np.concatenate(parts).reshape(fpr.shape)

    def _fpr(self, tpr):
        # A guess about a fair coin meets each direction half of the time; the mean of two tangents
        # of one slope is a tangent of the mean.
        epsilon, divergence, other = self._lines()
        lines = (np.asarray(tpr)[..., None] - (divergence + other) / 2) * np.exp(-epsilon)
        return lines.max(-1, initial=0.0)


def _interval(sigma, rate, records):
    """The grid of the privacy losses: a fiftieth of one step's standard deviation.

    A rounded step adds at most a quarter of the squared interval to its variance, a ten-thousandth
    of it. Where tiny rates have very rare large losses, the grid's length sets it.
    """
    with np.errstate(over="ignore"):
        spread = min(rate * np.sqrt(np.expm1(sigma**-2)), np.sqrt(rate) / sigma)
        largest = np.log1p(rate * np.expm1(min((0.5 + 10 * sigma) / sigma**2, LARGEST)))
    return float(records * max(spread / 50, largest / 200_000))


@functools.lru_cache(maxsize=64)
def _composed(sigma, rate, steps, records):
    """The privacy losses of all steps: "with" against "without", and the other way round."""
    # only here: its import takes a second
    from dp_accounting.pld import privacy_loss_distribution as library

    options = {"value_discretization_interval": _interval(sigma, rate, records)}
    if records == 1 or rate == 1:
        one = library.from_gaussian_mechanism(
            sigma, sensitivity=records, sampling_prob=rate, **options
        )
    else:
        coins = stats.binom.pmf(np.arange(records + 1), records, rate)
        drawn = np.flatnonzero(coins)
        one = library.from_mixture_gaussian_mechanism(
            sigma, drawn.astype(float), coins[drawn], **options
        )
    whole = one.self_compose(steps)
    # The distribution itself only answers with the larger of the two; its parts are not public.
    return whole._pmf_remove, whole._pmf_add


@functools.lru_cache(maxsize=64)
def _tangents(sigma, rate, steps, records):
    """Weights' logarithms and H of both directions, enough to draw the curve."""
    with_record, without = _composed(sigma, rate, steps, records)
    ends = [min(one.get_epsilon_for_delta(1e-13), LARGEST) for one in (without, with_record)]
    epsilon = np.linspace(-ends[0], ends[1], POINTS)
    divergences = [one.get_delta_for_epsilon(epsilon) for one in (with_record, without)]
    return epsilon, *(np.clip(one, np.maximum(0, -np.expm1(epsilon)), 1) for one in divergences)


def subsampled_gaussian(noise_multiplier, sampling_rate, steps):
    """The guarantee of DP-SGD: in every step each record is drawn by its own coin (Poisson
    sampling), and the clipped sum gets Gaussian noise.

    Parameters
    ----------
    noise_multiplier : float
        sigma, the noise's standard deviation in units of the clipping norm; above 0.
    sampling_rate : float
        q, the probability with which a step uses a record, in (0, 1].
    steps : int
        T, at least 1.

    Returns
    -------
    Guarantee
        For data sets that differ by one record added or left out, against an attacker who sees
        every step. ``group(k)``: k records together, as many coins in every step, all of whose
        gradients point the same way.

    Raises
    ------
    ValueError
        For a value outside its range.

    Notes
    -----
    The steps are composed by privacy loss distributions (`dp-accounting`): the law of log(P / Q) on
    a grid, rounded so that every H(t) is an upper limit, convolved with itself T times by a fast
    Fourier transform, whose own rounding of about 1e-12 remains. The roundings upwards add up over
    very many steps of which each tells almost nothing: where T sigma / q is 1e10 the advantage is
    too large by 0.4 %, at 1e11 by 5 %, at 1e12 by 50 to 75 %, and at 1e14 it is 1 (sigma 1000, q
    1e-5, T 1e6, where 4e-6 is right). That is no less valid, but says nothing. The rate and the
    number of steps must not depend on the record: see `public_size` in `train.PrivateSGD`. Zhu,
    Dong and Wang 2022; Doroshenko et al. 2022; groups: Choquette-Choo et al. 2023. Taught in
    book/attacking_dp.ipynb.

    Examples
    --------
    >>> mechanism = subsampled_gaussian(3.0, 0.1, 100)
    >>> print(f"{mechanism.advantage():.3f} {mechanism.epsilon(1e-5):.2f}")
    0.135 1.39
    """
    return SubsampledGaussian(
        checks.number("noise_multiplier", noise_multiplier, 0, open_low=True),
        checks.number("sampling_rate", sampling_rate, 0, high=1, open_low=True),
        checks.integer("steps", steps, 1),
    )
