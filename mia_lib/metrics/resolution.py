"""How small a false-positive rate a number of non-members can resolve.

Taught in book/membership_game.ipynb.
"""

import numpy as np
from scipy import stats

from mia_lib import checks


def n_nonmembers_needed(fpr, delta=0.05, purpose="certify"):
    """How many independent non-members a claim about a false-positive rate needs.

    Parameters
    ----------
    fpr : float
        The false-positive rate a, in (0, 1).
    delta : float
        The error probability of the claim.
    purpose : {"certify", "interval"}
        "certify": zero false positives show FPR <= a with a one-sided limit at level delta. "interval": the interval of
        `Roc.tpr_at` at level delta has a lower end above 0 to offer.

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
    >>> n_nonmembers_needed(0.001, purpose="interval"), n_nonmembers_needed(0.00001, purpose="interval")
    (4380, 438201)
    """
    fpr = checks.number("fpr", fpr, 0, 1, open_low=True, open_high=True)
    delta = checks.delta(delta)
    purpose = checks.choice("purpose", purpose, ("certify", "interval"))
    level = delta if purpose == "certify" else delta / 4
    return max(1, int(np.ceil(np.log(level) / np.log1p(-fpr))))


def fewest_false_positives(n0, fpr, delta):
    """The largest k with Pr(Bin(n0, fpr) <= k) <= delta / 4; None if there is none.

    Above the threshold of the true ROC(fpr) lie more than k of n0 non-members, except with probability delta / 4.
    """
    k = int(stats.binom.ppf(delta / 4, n0, fpr))
    while k >= 0 and stats.binom.cdf(k, n0, fpr) > delta / 4:
        k -= 1
    return k if k >= 0 else None


def most_false_positives(n0, fpr, delta):
    """The smallest k with Pr(Bin(n0, fpr) >= k + 1) <= delta / 4.

    Above the threshold of the true ROC(fpr) lie at most k of n0 non-members, except with probability delta / 4.
    """
    k = max(0, int(stats.binom.isf(delta / 4, n0, fpr)) - 1)
    while stats.binom.sf(k, n0, fpr) > delta / 4:
        k += 1
    return k
