"""Whether scores are probabilities, and how much they tell."""

from typing import NamedTuple

import numpy as np

from mia_lib import checks
from mia_lib.intervals import clopper_pearson
from mia_lib.risk_score import odds

ROUNDING = 1e-12  # a score of 0.6 that rounding put below 0.6 counts as 0.6
BLOCK = 1 << 20  # coins that are tossed at a time


class Calibration(NamedTuple):
    """A calibration curve and its distance from the diagonal, from `calibration`.

    Taught in book/risk_scores.ipynb.

    Parameters
    ----------
    score : float64 array (k,)
        Mean score of the records in each bin that holds any.
    fraction : float64 array (k,)
        Fraction of members among them, at the prior.
    low, high : float64 array (k,)
        Its Clopper-Pearson limits.
    count : int array (k,)
        Records in the bin.
    rmse : float
        Root mean square of fraction minus score, every bin counting once.
    noise_floor : float
        What `rmse` is, in the root mean square, when every score is exactly right.
    noise_limit : float
        What it then exceeds in a share delta of samples.
    rmse_records, noise_floor_records, noise_limit_records : float
        The same three, every record counting once, at the prior.
    resolution : float
        How much the scores tell apart: root mean square of fraction minus prior, every record
        counting once, the noise of counting taken off. 0 where bins do not differ.
    """

    score: np.ndarray
    fraction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    rmse: float
    noise_floor: float
    noise_limit: float
    rmse_records: float
    noise_floor_records: float
    noise_limit_records: float
    resolution: float


def calibration(score, member, prior=0.5, *, bins=10, delta=0.05, rng=None, n_draws=500):
    """Hold scores against the fraction of members among the records that have them.

    Parameters
    ----------
    score : array (n,)
        Probabilities of membership, in [0, 1].
    member : bool array (n,)
        The truth.
    prior : float
        The prior that the scores are for. Members and non-members are weighed so that members have
        this share.
    bins : int
        Bins of equal width on [0, 1].
    delta : float
        1 minus the level of the intervals and of the limit of noise.
    rng : numpy.random.Generator, optional
        For the limit of noise. None means fresh entropy.
    n_draws : int
        Samples that it is drawn from.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        Scores outside [0, 1], wrong shapes, one group without examples.

    Notes
    -----
    Song and Mittal, section 4.2.1 and Figure 3; the paper gives the RMSE without its noise, and
    does not say whether bins or records count once. By bins a bin of three records weighs as much
    as one of three hundred. By records, rmse^2 is the reliability of Murphy 1973 and resolution^2
    his resolution: scores want the first small and the second large, since the prior itself, as
    everybody's score, has a perfect reliability.

    The noise here is that of the finite number of records in each bin: each is a member by a coin
    of its own, and a draw with more members than expected is weighed down as the sample is. What
    the shadow data's own size does to the scores comes on top. Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> curve = calibration([0.2, 0.2, 0.8, 0.8], [False, False, True, True])
    >>> curve.fraction, round(curve.rmse, 3), round(curve.rmse_records, 3)
    (array([0., 1.]), 0.2, 0.2)
    """
    score = checks.real_array("score", score, 1)
    if score.min() < 0 or score.max() > 1:
        checks.fail(
            "score", f"values from {score.min():g} to {score.max():g}", "probabilities in [0, 1]"
        )
    member = checks.boolean_array("member", member, shape=score.shape)
    checks.both_groups("member", member)
    prior, bins, delta = checks.prior(prior), checks.integer("bins", bins, 1), checks.delta(delta)
    rng, n_draws = checks.generator(rng), checks.integer("n_draws", n_draws, 1)
    place = np.minimum(((score + ROUNDING) * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    kept = count > 0
    count, inside = count[kept], np.bincount(place[member], minlength=bins)[kept]
    mean = np.bincount(place, score, minlength=bins)[kept] / count
    # The sample's odds of membership times this are the odds at the prior.
    factor = odds.factor(prior, np.count_nonzero(member), len(member))
    low, high = clopper_pearson(inside, count, delta)
    fraction = odds.times(inside / count, factor)
    chance = odds.times(score, 1 / factor)
    drawn = _drawn_members(chance, place, kept, n_draws, rng)
    # More members than expected, in all bins together, are weighed off as they are in the sample.
    members = np.clip(drawn.sum(1, keepdims=True), 1, len(score) - 1)
    expected = np.clip(chance.sum(), 1e-9, len(score) - 1e-9)
    more = members / (len(score) - members) * (len(score) - expected) / expected
    apart = odds.times(drawn / count, factor / more) - mean
    in_bin, out_bin = inside / inside.sum(), (count - inside) / (count - inside).sum()
    of_records = prior * in_bin + (1 - prior) * out_bin
    by_bins, by_records = (
        _error(fraction - mean, apart, weight, delta)
        for weight in (np.full(len(count), 1 / len(count)), of_records)
    )
    told = of_records @ (fraction - prior) ** 2 - by_records[1] ** 2
    curve = mean, fraction, odds.times(low, factor), odds.times(high, factor), count
    return Calibration(*curve, *by_bins, *by_records, float(np.sqrt(max(told, 0.0))))


def _error(found, drawn, weight, delta):
    """The error that was found, and its root mean square and upper limit in draws."""
    noise = np.sqrt(drawn**2 @ weight)
    floor = np.sqrt(np.mean(noise**2))
    return tuple(map(float, (np.sqrt(weight @ found**2), floor, np.quantile(noise, 1 - delta))))


def _drawn_members(chance, place, kept, n_draws, rng):
    """Members in each bin, (n_draws, k), if each record is one with its own chance in this
    sample.
    """
    order = np.argsort(place, kind="stable")
    chance, start = chance[order], np.searchsorted(place[order], np.flatnonzero(kept))
    step = max(1, BLOCK // len(chance))
    parts = [
        np.add.reduceat(
            rng.random((min(step, n_draws - done), len(chance))) < chance,
            start,
            axis=1,
            dtype=np.int64,
        )
        for done in range(0, n_draws, step)
    ]
    return np.concatenate(parts)
