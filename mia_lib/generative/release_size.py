"""How much a release may hold: its advantage against its size, a law, and what the law answers.

Taught in book/generators_one_record.ipynb.
"""

from dataclasses import dataclass, field

import numpy as np

from mia_lib import checks, metrics
from mia_lib.generative.one_record import increasing_sizes
from mia_lib.intervals import Estimate

N_RESAMPLES = 1_000
GRID = 80  # rates that are tried before the best of them is refined
GOLDEN = (5**0.5 - 1) / 2
FLAT = 1e-8  # of the sum of squares: what a constant may leave more than the best law
SECTIONS = 35  # each leaves GOLDEN of the distance between two rates


@dataclass(frozen=True)
class ReleaseLaw:
    """Adv(m) = ceiling (1 - (1 - rate)^m), fitted; made by `release_law`.

    Attributes
    ----------
    rate : Estimate
        In (0, 1): the chance that one synthetic record gives one of the exposed members away.
    ceiling : Estimate
        In (0, 1]: the advantage of an endless release.
    resampled : (2, n_resamples) float64 array
        Rates and ceilings of the resamples that the intervals are taken from.
    delta : float
        Nominal probability that an interval misses.

    Notes
    -----
    Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> sizes = np.array([10, 100, 1_000])
    >>> exact = np.tile(0.4 * (1 - 0.99**sizes), (5, 1))
    >>> law = release_law(sizes, exact, rng=np.random.default_rng(0))
    >>> f"{law.rate.value:.4f} {law.ceiling.value:.4f} {law.advantage(100).value:.4f}"
    '0.0100 0.4000 0.2536'
    """

    rate: Estimate
    ceiling: Estimate
    resampled: np.ndarray = field(repr=False)
    delta: float

    def advantage(self, size):
        """The advantage of a release of so many records.

        Parameters
        ----------
        size : int
            At least 1.

        Returns
        -------
        Estimate
        """
        size = checks.integer("size", size, 1)
        value = _law(size, self.rate.value, self.ceiling.value)
        return _estimate(value, _law(size, *self.resampled), self.delta)


def release_advantages(signals, member):
    """The advantage of every judged network at every size of its release, without upward bias.

    Parameters
    ----------
    signals : (J, S, n) array
        From `nearest_by_size`: J sizes, S networks.
    member : (S, n) bool array
        True where record i trained network s.

    Returns
    -------
    (S - S // 2, J) float64 array
        TPR - FPR of each network of the second half, in [-1, 1].

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a record without an IN and an OUT network in the first half, a judged
        network without members or without others.

    Notes
    -----
    The networks of the first half are the adversary's: each record's threshold lies half way
    between their means with it and without it. The other half is judged, so that nothing was fitted
    to what is judged, and the expectation is 0 where nothing leaks. Taught in
    book/generators_one_record.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.permuted(np.arange(16)[:, None] < np.full(300, 8), axis=0)
    >>> signals = np.stack([rng.normal(size=(16, 300)) + shift * member for shift in (0, 4)])
    >>> release_advantages(signals, member).mean(0).round(1) + 0.0
    array([0. , 0.9])
    """
    signals = checks.real_array("signals", signals, 3)
    member = checks.boolean_array("member", member, shape=signals.shape[1:])
    half = len(member) // 2
    known, judged = member[:half], member[half:]
    lacking = np.flatnonzero(~known.any(0) | known.all(0)) if half else np.arange(1)
    if lacking.size:
        checks.fail(
            "member",
            f"{lacking.size} records without an IN and an OUT network among the first {half}",
            "both for every record",
        )
    if not (judged.any(1) & ~judged.all(1)).all():
        checks.fail("member", "a network with one group only", "members and others in each")
    means = [
        (signals[:, :half] * side).sum(1) / side.sum(0) for side in (known, ~known)
    ]  # (J, n) each
    called = signals[:, half:] > (means[0] + means[1])[:, None] / 2
    tpr = (called & judged).sum(2) / judged.sum(1)
    fpr = (called & ~judged).sum(2) / (~judged).sum(1)
    return (tpr - fpr).T


def blocked_advantages(signals, member, n_blocks=40, *, rng=None):
    """The advantage of one generator's release at every size, in blocks of its records.

    Parameters
    ----------
    signals : (J, n) array
        J sizes, n records; larger for members, such as minus the distance to the nearest synthetic
        record.
    member : (n,) bool array
        True for records that trained the generator.
    n_blocks : int
        At least 4, at most the members and the others.
    rng : numpy.random.Generator, optional
        Deals the records; None means fresh entropy.

    Returns
    -------
    (n_blocks, J) float64 array
        TPR - FPR on each block's members and others, in [-1, 1].

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a group with fewer records than blocks, fewer than four blocks.

    Notes
    -----
    Where there is one generator and not many, no record has a threshold of its own. One threshold
    for all is fitted to the records of every second block and judges those of the others, and the
    other way round, so that nothing was fitted to what is judged, and the expectation is 0 where
    nothing leaks. The rows are what `release_law` takes; its intervals then are over records, for
    this generator and this release. A threshold that has to be found wins about 0.01 less than one
    that is known. In simulations with a thousand members, a quarter or a twentieth of them copied,
    the interval of the law's rate, nominally 95 %, therefore kept 86 and 88 %, that of its ceiling
    94 % at least and the t interval of the last advantage 90 % at least; where it was known which
    records have a copy, all kept 93 % or more. Where nothing leaks the t interval kept 93 %, since
    each half chooses the other's threshold (tests/generative/test_release_size.py). Run in
    notebooks/gan_stored.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(900) < 300
    >>> signals = np.stack([rng.normal(size=900) + shift * member for shift in (0, 2)])
    >>> blocked_advantages(signals, member, rng=rng).mean(0).round(1) + 0.0
    array([0. , 0.6])
    """
    signals = checks.real_array("signals", signals, 2)
    member = checks.boolean_array("member", member, shape=signals.shape[1:])
    n_blocks, rng = checks.integer("n_blocks", n_blocks, 4), checks.generator(rng)
    block = np.empty(len(member), np.int64)
    for name, side in (("members", member), ("others", ~member)):
        if side.sum() < n_blocks:
            checks.fail("member", f"{side.sum()} {name}", f"one for each of {n_blocks} blocks")
        block[side] = rng.permutation(side.sum()) % n_blocks
    called = np.empty(signals.shape, bool)
    for half in (block % 2 == 0, block % 2 == 1):
        for j, signal in enumerate(signals):
            curve = metrics.roc(signal[~half], member[~half])
            best = (curve.tpr - curve.fpr).argmax()  # of equals the largest threshold
            called[j, half] = signal[half] >= curve.thresholds[best]
    tpr, fpr = (
        np.stack([np.bincount(block[side], one[side], n_blocks) for one in called], axis=1)
        / np.bincount(block[side])[:, None]
        for side in (member, ~member)
    )
    return tpr - fpr


def release_law(sizes, advantages, delta=0.05, *, n_resamples=N_RESAMPLES, rng=None):
    """Fit Adv(m) = ceiling (1 - (1 - rate)^m) to measured advantages.

    Parameters
    ----------
    sizes : sequence of J ints
        Of releases, increasing, at least 2 of them.
    advantages : (G, J) array
        In [-1, 1]: of G generators that were trained independently, at least 2, from
        `release_advantages`; or of blocks of one generator's records, from `blocked_advantages`.
    delta : float
        Nominal probability that an interval misses.
    n_resamples : int
    rng : numpy.random.Generator, optional
        Draws the resamples; None means fresh entropy.

    Returns
    -------
    ReleaseLaw

    Raises
    ------
    ValueError
        Wrong shapes, advantages outside [-1, 1], fewer than two sizes or generators, no advantage
        above 0 to fit.

    Notes
    -----
    Where it comes from. Let a share A of the n members be such that the generator copies them, and
    let each synthetic record be, with probability rho, a copy of one of these A n, drawn evenly. A
    given one is in a release of m records with probability 1 - (1 - rho / (A n))^m, so that with no
    false alarm the advantage is A (1 - (1 - c)^m) with c = rho / (A n). A = 1 is the toy of
    book/generative.ipynb. The first record alone is worth A c = rho / n whatever A is, and the two
    are told apart only by sizes at which the curve bends.

    Least squares on the mean over generators. Where a constant fits as well, the smallest release
    says all that the largest does: the data do not bound the rate from above, and it is the largest
    number below 1. Intervals: percentile bootstrap over generators, or over blocks of records.
    Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> sizes = [10, 100, 1_000]
    >>> noise = np.random.default_rng(0).normal(0, 0.02, (30, 3))
    >>> measured = 0.4 * (1 - 0.99 ** np.array(sizes)) + noise
    >>> print(f"{release_law(sizes, measured, rng=np.random.default_rng(1)).ceiling:.2f}")
    0.41 [0.40, 0.41]
    """
    sizes = increasing_sizes(sizes)
    if sizes.size < 2:
        checks.fail("sizes", f"{sizes.tolist()}", "at least two sizes")
    advantages = checks.real_array("advantages", advantages, shape=(None, sizes.size))
    if len(advantages) < 2:
        checks.fail("advantages", f"{len(advantages)} generators", "at least two")
    if np.abs(advantages).max() > 1:
        checks.fail("advantages", f"{np.abs(advantages).max():g}", "values in [-1, 1]")
    delta = checks.delta(delta)
    n_resamples = checks.integer("n_resamples", n_resamples, 1)
    rng = checks.generator(rng)
    (rate,), (ceiling,) = _fit(sizes, advantages.mean(0)[None])
    if ceiling <= 0:
        checks.fail(
            "advantages", f"a mean of {advantages.mean():.3g} over all", "one that is above 0"
        )
    drawn = rng.integers(len(advantages), size=(n_resamples, len(advantages)))
    resampled = np.array(_fit(sizes, advantages[drawn].mean(1)))
    estimates = [_estimate(*pair, delta) for pair in zip((rate, ceiling), resampled)]
    return ReleaseLaw(*estimates, resampled, delta)


def release_size(law, advantage):
    """How many synthetic records until an advantage is reached.

    Parameters
    ----------
    law : ReleaseLaw
    advantage : float
        In (0, 1).

    Returns
    -------
    Estimate
        In records; the upper end is infinite where more than delta / 2 of the resampled laws never
        reach the advantage.

    Raises
    ------
    ValueError
        An advantage that the law never reaches.

    Notes
    -----
    log(1 - advantage / ceiling) / log(1 - rate). Whoever publishes wants the lower end. Beyond the
    largest measured size the answer rests on the law alone. Taught in
    book/generators_one_record.ipynb.

    Examples
    --------
    >>> sizes = np.array([10, 100, 1_000])
    >>> exact = np.tile(0.4 * (1 - 0.99**sizes), (5, 1))
    >>> law = release_law(sizes, exact, rng=np.random.default_rng(0))
    >>> f"{release_size(law, 0.2):.0f}"
    '69 [69, 69]'
    """
    advantage = checks.prior(advantage, "advantage")
    if advantage >= law.ceiling.value:
        checks.fail(
            "advantage",
            f"{advantage:g}, which the law never reaches",
            f"below its ceiling of {law.ceiling:.3f}",
        )
    value = _size(advantage, law.rate.value, law.ceiling.value)
    return _estimate(value, _size(advantage, *law.resampled), law.delta)


def _law(size, rate, ceiling):
    return -ceiling * np.expm1(size * np.log1p(-rate))


def _size(advantage, rate, ceiling):
    """Inverse of `_law` in the size; infinite where the ceiling is too low."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log1p(-advantage / ceiling) / np.log1p(-rate)
    return np.where(np.asarray(ceiling) > advantage, found, np.inf)


def _fit(sizes, means):
    """Rates and ceilings (R,) of least squares to means (R, J). For a given rate the ceiling has a
    closed form; the best of a grid of rates is refined by golden sections.
    """

    def best_ceiling(log_rates):  # (R, r), the ceilings and what is left, each (R, r)
        shape = _law(sizes, np.exp(log_rates)[..., None], 1.0)  # (R, r, J)
        along = (shape * means[:, None]).sum(-1) / (shape**2).sum(-1)
        ceiling = np.clip(along, 0, 1)
        return ceiling, ((means[:, None] - ceiling[..., None] * shape) ** 2).sum(-1)

    # from a curve that is straight up to the largest size, to one that is flat from the smallest on
    grid = np.linspace(np.log(1e-3 / sizes[-1]), np.log(1 - np.exp(-20 / sizes[0])), GRID)
    at = best_ceiling(grid[None])[1].argmin(1)
    low, high = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, GRID - 1)]
    for _ in range(SECTIONS):
        inner = np.stack([high - GOLDEN * (high - low), low + GOLDEN * (high - low)], 1)
        first, second = best_ceiling(inner)[1].T
        low = np.where(first <= second, low, inner[:, 0])
        high = np.where(first <= second, inner[:, 1], high)
    middle = (low + high) / 2
    ceiling, left = best_ceiling(middle[:, None])
    # from the smallest size on the curve of the grid's last rate is flat, as is that of any larger
    level = np.clip(means.mean(1), 0, 1)
    flat = ((means - level[:, None]) ** 2).sum(1) <= left[:, 0] + FLAT * (means**2).sum(1)
    rate = np.where(flat & (level > 0), np.nextafter(1.0, 0.0), np.exp(middle))
    return rate, np.where(flat, level, ceiling[:, 0])


def _estimate(value, resampled, delta):
    """Quantiles that are values of resamples, so that infinite ones stay infinite."""
    low, high = np.quantile(resampled, [delta / 2, 1 - delta / 2], method="nearest")
    return Estimate(float(value), float(low), float(high))
