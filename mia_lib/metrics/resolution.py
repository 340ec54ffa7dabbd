"""How small a false-positive rate a number of non-members can resolve.

Taught in book/membership_game.ipynb.
"""

import numpy as np
from scipy import stats

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
    return max(1, int(np.ceil(np.log(level) / np.log1p(-fpr))))


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
    # through in blocks.
    start, block = 1, 4096
    while True:
        n = np.arange(start, start + block)
        seen = intervals.clopper_pearson_lower(np.round(tpr * n), n, delta / 4) > fpr
        if seen.any():
            return int(n[seen.argmax()])
        start, block = start + block, min(2 * block, 1 << 20)


def fewest_false_positives(n0, fpr, delta):
    """The largest k with Pr(Bin(n0, fpr) <= k) <= delta / 4; None if there is none.

    Above the threshold of the true ROC(fpr) lie more than k of n0 non-members, except with
    probability delta / 4.
    """
    k = int(stats.binom.ppf(delta / 4, n0, fpr))
    while k >= 0 and stats.binom.cdf(k, n0, fpr) > delta / 4:
        k -= 1
    return k if k >= 0 else None


def most_false_positives(n0, fpr, delta):
    """The smallest k with Pr(Bin(n0, fpr) >= k + 1) <= delta / 4.

    Above the threshold of the true ROC(fpr) lie at most k of n0 non-members, except with
    probability delta / 4.
    """
    k = max(0, int(stats.binom.isf(delta / 4, n0, fpr)) - 1)
    while stats.binom.sf(k, n0, fpr) > delta / 4:
        k += 1
    return k
