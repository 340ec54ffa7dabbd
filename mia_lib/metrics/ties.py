"""Scores with few levels: rates that no threshold reaches."""

import numpy as np

from mia_lib import checks


def tie_limited(curve, fpr, *, unused=0.1):
    """Whether ties, and not what the attack knows, decide what it finds at a false-positive rate.

    Parameters
    ----------
    curve : Roc
    fpr : float
        A false-positive rate in [0, 1].
    unused : float
        In [0, 1): the share of the false positives that the rate allows above which, if no
        threshold can use them, the attack is limited.

    Returns
    -------
    bool
        False where the rate allows no false positive at all: then the number of non-members is the
        limit.

    Raises
    ------
    ValueError
        A rate or a share out of range.

    Notes
    -----
    All that share a score are called together. An attack that gives a tenth of the non-members its
    highest score has a true-positive rate of 0 below a false-positive rate of 10 %, whatever it
    knows. Taught in book/lira.ipynb.

    Examples
    --------
    >>> from mia_lib.metrics import roc
    >>> member = np.arange(200) % 2 == 0
    >>> levels = np.arange(200) // 50
    >>> tie_limited(roc(levels, member), 0.1), tie_limited(roc(np.arange(200.0), member), 0.1)
    (True, False)
    """
    fpr = checks.number("fpr", fpr, 0, high=1)
    unused = checks.number("unused", unused, 0, high=1, open_high=True)
    # in numbers of non-members; the smallest part of one makes up for rounding
    allowed = int(np.floor(fpr * curve.n_nonmembers + 1e-9))
    used = round(float(curve.fpr[curve.fpr <= fpr][-1]) * curve.n_nonmembers)
    return allowed - used > unused * allowed
