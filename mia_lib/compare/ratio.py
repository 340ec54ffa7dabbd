"""How many times as many members one attack finds as another.

Taught in book/lira.ipynb.
"""

import numpy as np

from mia_lib import checks, intervals, metrics
from mia_lib.compare.protocol import checked
from mia_lib.metrics import pooled


def tpr_ratio(scores, baseline, member, fpr, *, delta=0.05, rng=None):
    """How many times as many members one attack finds as another at the same false-positive rate.

    Parameters
    ----------
    scores, baseline : arrays (S, n) or (n,)
        Of the attack and of what it is compared with.
    member : bool array, same shape
    fpr : float
        In (0, 1).
    delta : float
    rng : numpy.random.Generator, optional

    Returns
    -------
    Estimate
        TPR over TPR, at least 0. Both are resampled together, so that what makes an example hard
        for either cancels. inf where the baseline finds none. Where the rate is not resolvable for
        both (`metrics.Roc.resolvable`) the interval is all of [0, inf]: nothing is ranked on it.

    Raises
    ------
    ValueError
        Wrong shapes, scores that `metrics.roc` refuses, a rate outside (0, 1), an attack and a
        baseline that both find none.

    Notes
    -----
    Both sides of the bootstrap's interval for TPR / (TPR + TPR of the baseline) are stretched as in
    `metrics.Roc.tpr_at`: by what models add to the variance of the logarithm of the ratio, and by
    the skewness of the fewer independent false positives; of one target, or where either finds
    nobody, by nothing. Where resampling finds nobody for one of the two throughout, the end that it
    leaves out comes from the limits of both rates at delta / 2. Taught in book/lira.ipynb.

    Examples
    --------
    >>> member = np.arange(400) % 2 == 0
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> tpr_ratio(x + 2 * member, x + 2 * member, member, 0.1, rng=np.random.default_rng(0))
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    both, member = checked({"scores": scores, "baseline": baseline}, member)
    fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
    delta = checks.delta(delta)
    curves = [metrics.roc(values, member) for values in both.values()]
    parts = [curve.weighted_tpr(fpr) for curve in curves]

    def share(weights):
        ours, theirs = (part(weights) for part in parts)
        total = ours + theirs
        return np.divide(
            ours, total, out=np.full(len(total), np.nan), where=total > 0
        )  # undefined: left out

    n = member.shape[-1]
    whole = np.ones((1, n), dtype=np.int64)
    if np.isnan(share(whole)[0]):
        checks.fail(
            "scores, baseline",
            f"two attacks without a true positive at FPR {fpr:g}",
            "one that finds a member",
        )
    # The share of the two rates has the ratio's order and stays finite where the baseline finds
    # none.
    value = float(share(whole)[0])
    low, high = 0.0, 1.0
    if all(curve.resolvable(fpr, delta) for curve in curves):
        found = intervals.bootstrap(share, n, delta, rng=rng)
        stretch = _stretch(curves, [part(whole)[0] for part in parts], fpr, delta)
        low = max(0.0, value - stretch * max(0.0, value - found.low))
        high = min(1.0, value + stretch * max(0.0, found.high - value))
    value, low, high = (part / (1 - part) if part < 1 else np.inf for part in (value, low, high))
    if np.isinf(low) or high == 0:
        # one of the two finds nobody, which resampling cannot vary: the ends come from both rates
        ours, theirs = (curve.tpr_at(fpr, delta / 2, rng=rng) for curve in curves)
        low = min(low, ours.low / theirs.high)
        high = max(high, ours.high / theirs.low if theirs.low else np.inf)
    return intervals.Estimate(value, low, high)


def _stretch(curves, rates, fpr, delta):
    """By how much either side of a ratio's bootstrap interval over examples is too short."""
    if len(curves[0].shape) == 1 or curves[0].shape[0] == 1 or min(rates) == 0:
        return 1.0
    n_models, n = curves[0].shape
    ours, theirs = (curve.influence(fpr).ravel() / rate for curve, rate in zip(curves, rates))
    spread = pooled.spread(ours - theirs, np.tile(np.arange(n), n_models), n, n_models)
    count = min(pooled.rarest(spread, *curve.carried_by(fpr)) for curve in curves)
    return spread.stretch * pooled.skewness(count, delta)
