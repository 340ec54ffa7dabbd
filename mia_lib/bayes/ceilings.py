"""What one pair of epsilon and delta promises about membership, and what an observed advantage says
about epsilon.

`delta` is that of differential privacy. Taught in book/bayes.ipynb.
"""

import numpy as np
from scipy import special

from mia_lib import checks


def _epsilons(epsilon):
    epsilon = checks.real_array("epsilon", epsilon, finite=False)
    if (epsilon < 0).any():
        checks.fail("epsilon", f"{epsilon.min():g}", "at least 0")
    return epsilon


def dp_ceiling(epsilon, prior=0.5):
    """Pure differential privacy's bound on abs(f_p), the risk of one record.

    Parameters
    ----------
    epsilon : array_like
        Privacy budget, at least 0, any shape; delta is 0.
    prior : float
        p = Pr(member), in (0, 1).

    Returns
    -------
    float64 array
        max(abs(tanh((epsilon + lambda) / 2)), abs(tanh((-epsilon + lambda) / 2))), lambda = log(p /
        (1 - p)).

    Raises
    ------
    ValueError
        Negative epsilon, NaN, a prior outside (0, 1).

    Notes
    -----
    MACE v1 Theorem 2, v2 Theorem 4. It needs delta = 0; with delta > 0 nothing holds for every
    record. It is a statement about random training with the record put in or left out, the others
    independent of it: for one trained model and a fixed training set, as the theorem is printed, it
    can fail. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> print(f"{dp_ceiling(1.0):.3f} {dp_ceiling(1.0, prior=0.1):.3f}")
    0.462 0.921
    """
    epsilon = _epsilons(epsilon)
    p = checks.prior(prior)
    # The larger of the two is the one that moves away from 0: tanh((epsilon + abs(lambda)) / 2).
    return np.tanh((epsilon + abs(np.log(p) - np.log1p(-p))) / 2)[()]


def dp_advantage_ceiling(epsilon, delta=0.0, prior=0.5):
    """(epsilon, delta)-differential privacy's bound on the membership advantage.

    Parameters
    ----------
    epsilon : array_like
        Privacy budget, at least 0, any shape.
    delta : float
        The delta of differential privacy, in [0, 1]; not an error probability.
    prior : float
        p = Pr(member), in (0, 1).

    Returns
    -------
    float64 array
        abs(1 - 2 p) + 2 min(p, 1 - p) [delta + (1 - delta) max(0, (e^epsilon - g) / (e^epsilon +
        1))], with g = max(p, 1 - p) / min(p, 1 - p).

    Raises
    ------
    ValueError
        Negative epsilon, NaN, delta outside [0, 1], a prior outside (0, 1).

    Notes
    -----
    The largest 2 accuracy - 1 on the region TPR <= min(e^epsilon FPR + delta, 1 - e^-epsilon (1 -
    delta - FPR)). At p = 1/2 it is (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), and tanh(epsilon /
    2) with delta = 0. At p = 0.1 and epsilon = 1 it is 0.8: nobody beats guessing "non-member",
    while `dp_ceiling` gives 0.92. It holds in expectation over training; a single model may lie
    above. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> print(f"{dp_advantage_ceiling(1.0):.3f} {dp_advantage_ceiling(1.0, prior=0.1):.3f}")
    0.462 0.800
    """
    epsilon = _epsilons(epsilon)
    delta = checks.number("delta", delta, 0, high=1)
    p = checks.prior(prior)
    rare, odds = min(p, 1 - p), max(p, 1 - p) / min(p, 1 - p)
    # (e^eps - g) / (e^eps + 1) without overflow.
    gain = np.maximum(0.0, 1 - (1 + odds) * special.expit(-epsilon))
    return (abs(1 - 2 * p) + 2 * rare * (delta + (1 - delta) * gain))[()]


def dp_epsilon(advantage, delta=0.0, prior=0.5):
    """The largest epsilon whose differential privacy keeps the advantage at or below a given value.

    Parameters
    ----------
    advantage : array_like
        What is to be allowed, from abs(1 - 2 p) + 2 min(p, 1 - p) delta (less cannot be promised)
        to 1; any shape.
    delta : float
        The delta of differential privacy, in [0, 1).
    prior : float
        p = Pr(member), in (0, 1).

    Returns
    -------
    float64 array
        The inverse of `dp_advantage_ceiling`; inf for an advantage of 1. At p = 1/2 and delta = 0
        it is 2 artanh(advantage).

    Raises
    ------
    ValueError
        An advantage that no epsilon keeps, or above 1; delta outside [0, 1); a prior outside (0,
        1).

    Notes
    -----
    MACE section 8 of v1, 10 of v2: which epsilon protects. Read the other way, an expected
    advantage above the given value excludes this epsilon and every smaller one. Taught in
    book/bayes.ipynb.

    Examples
    --------
    >>> print(f"{dp_epsilon(0.462117):.3f} {dp_epsilon(0.8, prior=0.1):.3f}")
    1.000 2.197
    """
    advantage = checks.real_array("advantage", advantage)
    delta = checks.number("delta", delta, 0, high=1, open_high=True)
    p = checks.prior(prior)
    rare, odds = min(p, 1 - p), max(p, 1 - p) / min(p, 1 - p)
    least = abs(1 - 2 * p) + 2 * rare * delta
    # A value that was computed as the floor may be a rounding below it.
    if (advantage < least - 1e-12).any() or (advantage > 1).any():
        wrong = advantage[(advantage < least - 1e-12) | (advantage > 1)].flat[0]
        checks.fail("advantage", f"{wrong:g}", f"values in [{least:g}, 1]")
    gain = np.maximum((advantage - least) / (2 * rare * (1 - delta)), 0.0)
    # 1 - gain, in the form that is exactly 0 at an advantage of 1.
    rest = (1 - advantage) / (2 * rare * (1 - delta))
    with np.errstate(divide="ignore"):
        return (np.log(odds + gain) - np.log(rest))[()]
