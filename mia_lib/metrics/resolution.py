"""How small a false-positive rate a number of non-members can resolve.

Taught in book/membership_game.ipynb.
"""

import numpy as np
from scipy import special, stats

from mia_lib import checks, intervals


def n_nonmembers_needed(fpr, delta=0.05, purpose="certify"):
    """How many independent non-members a claim about a false-positive rate needs.

    Parameters
    ----------
    fpr : float
        The false-positive rate a, in (0, 1).
    delta : float
        The error probability of the claim.
    purpose : {"certify", "interval"}
        "certify": zero false positives show FPR <= a with a one-sided limit at level delta.
        "interval": the interval of `Roc.tpr_at` at level delta has a lower end above 0 to offer.

    Returns
    -------
    int
        The smallest n with (1 - a)^n <= delta ("certify") or <= delta / 4 ("interval").

    Raises
    ------
    ValueError
        fpr or delta outside (0, 1), an unknown purpose.

    Notes
    -----
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> n_nonmembers_needed(0.001), n_nonmembers_needed(0.00001)
    (2995, 299572)
    >>> n_nonmembers_needed(0.001, purpose="interval"), n_nonmembers_needed(0.00001,
    ...     purpose="interval")
    (4380, 438201)
    """
    fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
    delta = checks.delta(delta)
    purpose = checks.choice("purpose", purpose, ("certify", "interval"))
    level = delta if purpose == "certify" else delta / 4
    n = np.log(level) / np.log1p(-fpr)
    return max(1, int(np.ceil(n * (1 - 1e-12))))  # a whole number may be rounded upwards


def n_members_needed(tpr, fpr, delta=0.05):
    """How many members it takes before a true-positive rate is seen to be above guessing.

    Parameters
    ----------
    tpr : float
        The true-positive rate that the attack has, in (fpr, 1].
    fpr : float
        At this false-positive rate, in (0, 1), which is the TPR of guessing.
    delta : float
        Of the interval of `Roc.tpr_at`, which gives delta / 4 to the lower limit of the TPR.

    Returns
    -------
    int
        The smallest n whose Clopper-Pearson lower limit exceeds fpr when tpr n members, rounded,
        are found. The threshold of a real interval is a little stricter, so that somewhat more are
        needed.

    Raises
    ------
    ValueError
        fpr or delta outside (0, 1), tpr not above fpr.

    Notes
    -----
    Taught in book/audit.ipynb.

    Examples
    --------
    >>> n_members_needed(0.02, 0.01), n_members_needed(0.1, 0.01)
    (626, 15)
    """
    fpr, delta = (
        checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True),
        checks.delta(delta),
    )
    tpr = checks.number("tpr", tpr, fpr, high=1, open_low=True)
    # The limit rises and falls a little with every whole member found, so the sizes are looked
    # through in blocks; from the first at which the most that rounding can find would suffice.
    low, high = 0, 1
    while not _might_do(high, tpr, fpr, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _might_do(middle, tpr, fpr, delta) else (middle, high)
    start, block = high, 4096
    while True:
        n = np.arange(start, start + block)
        seen = intervals.clopper_pearson_lower(np.round(tpr * n), n, delta / 4) > fpr
        if seen.any():
            return int(n[seen.argmax()])
        start, block = start + block, min(2 * block, 1 << 20)


def _might_do(n, tpr, fpr, delta):
    """Whether the most that rounding can find of n members has a lower limit above fpr."""
    found = min(tpr * n + 0.5, n)
    return special.betaincinv(found, n - found + 1, delta / 4) > fpr


def strict_rank(n0, n1, fpr, delta):
    """The threshold, by its rank, and the level of the TPR there that bound ROC(fpr) from below.

    Parameters
    ----------
    n0, n1 : int
        Independent non-members and members.
    fpr : float
        In [0, 1].
    delta : float

    Returns
    -------
    (int, float) or None
        k and a level such that the Clopper-Pearson limit, at this level, of the TPR above the
        non-member at place k (from 0, descending) exceeds ROC(fpr) with probability at most
        delta / 2. None where even k = 0 would spend more than delta / 4 on the threshold.

    Notes
    -----
    The threshold is too low with probability p = Pr(Bin(n0, fpr) <= k). Members are drawn apart
    from non-members, so that the TPR may err with (delta / 2 - p) / (1 - p). Which k is best
    depends on the curve; the one that is best for ROC(x) = sqrt(x) is taken, so that the choice
    looks at numbers of records alone and the limit holds for any curve. Taught in
    book/membership_game.ipynb.

    Examples
    --------
    >>> strict_rank(4379, 100, 0.001, 0.05) is None, strict_rank(4380, 100, 0.001, 0.05)[0]
    (True, 0)
    """
    if stats.binom.cdf(0, n0, fpr) > delta / 4:
        return None
    places = stats.binom.ppf(_spent(delta), n0, fpr).astype(np.int64)
    places = np.unique(np.clip(np.append(places, places - 1), 0, n0 - 1))
    places, level = _rest(places, stats.binom.cdf(places, n0, fpr), delta)
    found = n1 * np.sqrt((places + 1) / (n0 + 1))
    best = np.argmax(special.betaincinv(found, n1 - found + 1, level))
    return int(places[best]), float(level[best])


def lax_rank(n0, n1, fpr, delta):
    """The threshold, by its rank, and the level of the TPR there that bound ROC(fpr) from above.

    Parameters
    ----------
    n0, n1 : int
        Independent non-members and members.
    fpr : float
        In [0, 1).
    delta : float

    Returns
    -------
    (int, float)
        k and a level such that the Clopper-Pearson limit, at this level, of the TPR above the
        non-member at place k (from 0, descending; n0: below all) falls short of ROC(fpr) with
        probability at most delta / 2.

    Notes
    -----
    As `strict_rank`, with p = Pr(Bin(n0, fpr) > k). Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> lax_rank(1000, 100, 0.0, 0.05)
    (0, 0.025)
    """
    places = stats.binom.isf(_spent(delta), n0, fpr).astype(np.int64)
    places = np.unique(np.clip(np.append(places, places + 1), 0, n0))
    places, level = _rest(places, stats.binom.sf(places, n0, fpr), delta)
    found = n1 * np.sqrt((places + 1) / (n0 + 1))
    found = np.minimum(found, n1)
    high = special.betainccinv(found + 1, np.maximum(n1 - found, 1e-9), level)
    best = np.argmin(high)
    return int(places[best]), float(level[best])


def _spent(delta):
    """What of delta / 2 the threshold may use up: from a sixteenth to fifteen sixteenths."""
    return delta / 2 * np.arange(1, 16) / 16


def _rest(places, spent, delta):
    """The places that leave something of delta / 2, and what they leave for the TPR."""
    left = spent <= delta / 2 * 15 / 16
    return places[left], ((delta / 2 - spent) / (1 - spent))[left]
