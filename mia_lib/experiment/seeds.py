"""One figure from several seeds."""

import numpy as np

from mia_lib import checks, intervals


def over_seeds(found, delta=0.05):
    """One figure from its values of several seeds.

    Parameters
    ----------
    found : sequence of Estimate or float
        The figure of each seed.
    delta : float
        Probability that the interval misses the truth.

    Returns
    -------
    Estimate
        One seed: its own value and interval, limits of None where it is a plain number. Several:
        their mean with a t interval over seeds.

    Raises
    ------
    ValueError
        No value.

    Notes
    -----
    Used in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> over_seeds([0.25])
    Estimate(value=0.25, low=None, high=None)
    >>> print(over_seeds([0.1, 0.2, 0.3]))
    0.200 [-0.048, 0.448]
    """
    found = list(found)
    if not found:
        checks.fail("found", "no value", "one for each seed")
    if len(found) > 1:
        values = [one.value if isinstance(one, intervals.Estimate) else one for one in found]
        return intervals.t_interval(np.asarray(values, dtype=float), delta)
    if isinstance(found[0], intervals.Estimate):
        return found[0]
    return intervals.Estimate(float(found[0]), None, None)
