"""Evidence that may be looked at as often as one likes: bets on the coins of canaries.

Taught in book/class_aware.ipynb.
"""

import numpy as np
from scipy import special

from mia_lib import checks


def e_process(coins, bets):
    """What an auditor owns who began with 1 and bet on each coin in turn at fair odds.

    Parameters
    ----------
    coins : bool array (m,)
        Which of two twins was published: True for the first.
    bets : array (m,) or (Q, m)
        In [-1, 1]: the share of what is owned that is put on True (above 0) or on False (below
        0). A bet may depend on the model, on all scores and on the coins before it, not on its own
        or on later ones. Rows are bets on the *same* coins: other queries, other models, other
        strategies; the stake is divided equally among them.

    Returns
    -------
    float64 array (m,)
        e-values after each coin, the mean over rows of the product of 1 + bet (coin True) or 1 -
        bet (coin False).

    Raises
    ------
    ValueError
        Coins that are not boolean, bets outside [-1, 1], NaN, shapes that do not fit.

    Notes
    -----
    Where the model knows nothing of the coins the expectation of each entry is 1 at most, and the
    chance that *any* entry ever reaches 1 / alpha is alpha at most (Ville's inequality): the
    auditor may stop when he likes, or buy further coins. e-values of independent coins are
    multiplied, which this does along a row. Those of the same coins are dependent: their mean is an
    e-value again, their product is not, and has the expectation prod(1 + bet bet') instead of 1.
    Vovk and Wang 2021. Taught in book/class_aware.ipynb.

    Examples
    --------
    >>> e_process([True, False, True], [0.5, -0.5, 0.5])
    array([1.5  , 2.25 , 3.375])
    >>> e_process([True, False], [[0.5, 0.5], [-0.5, -0.5]])
    array([1.  , 0.75])
    """
    coins = checks.boolean_array("coins", coins, ndim=1)
    bets = checks.real_array("bets", bets, (1, 2))
    if bets.shape[-1] != len(coins):
        checks.fail("bets", f"bets on {bets.shape[-1]} coins", f"on {len(coins)}")
    if np.abs(bets).max() > 1:
        checks.fail("bets", f"a largest magnitude of {np.abs(bets).max():g}", "bets in [-1, 1]")
    bets = np.atleast_2d(bets)
    with np.errstate(divide="ignore"):  # all was lost: the logarithm is -inf
        gains = np.log1p(np.where(coins, bets, -bets))
    return np.exp(special.logsumexp(np.cumsum(gains, axis=1), axis=0) - np.log(len(bets)))
