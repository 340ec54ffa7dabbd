"""Student's t far out: the logarithm of its distribution function where the probability itself
underflows, and the normal quantile of what is left.
"""

import numpy as np
from scipy import special

# Below this probability the logarithm comes from a continued fraction of so many terms.
SMALLEST, TERMS = 1e-280, 60


def normal_score(t, freedom):
    """The normal quantile at which the normal law is as far out as Student's t is at t.

    Parameters
    ----------
    t : array
    freedom : array
        Degrees of freedom, of the shape of t; infinity for the normal law.

    Returns
    -------
    float64 array
        Increasing in t, 0 at 0, finite.

    Examples
    --------
    >>> normal_score(np.array([-2.0, 0.0, 2.0]), np.full(3, np.inf))
    array([-2.,  0.,  2.])
    """
    return np.sign(t) * np.abs(special.ndtri_exp(log_tail(-np.abs(t), freedom)))


def log_tail(z, freedom):
    """Log of the distribution function of Student's t, freedom of the shape of z; exact in both
    tails.
    """
    tail = special.stdtr(freedom, -np.abs(z))
    above, normal = z > 0, np.isinf(freedom)
    with np.errstate(divide="ignore"):
        found = np.log(tail)
    found[above] = np.log1p(-tail[above])
    if normal.any():
        found[normal] = special.log_ndtr(z[normal])
    deep = ~above & ~normal & (tail < SMALLEST)
    if deep.any():
        found[deep] = _log_deep_tail(z[deep], freedom[deep])
    return found


def _log_deep_tail(z, freedom):
    """The same where the probability underflows: half the incomplete beta function I_x(a, 1/2), by
    its continued fraction (DLMF 8.17.22).
    """
    a, odds = freedom / 2, z * z / freedom
    x = 1 / (1 + odds)
    fraction = np.ones_like(x)
    for m in range(TERMS, 0, -1):
        even = m * (0.5 - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        k = m - 1
        odd = -(a + k) * (a + 0.5 + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        fraction = 1 + odd / (1 + even / fraction)
    found = -a * np.log1p(odds) - 0.5 * np.log1p(1 / odds) - np.log(2 * a * fraction)
    return found - special.betaln(a, 0.5)
