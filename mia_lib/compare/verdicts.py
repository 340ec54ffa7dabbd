"""What an interval says about a claim.

Taught in book/replication.ipynb.
"""

import numpy as np

from mia_lib import checks


def verdict(estimate, region):
    """What an interval says about a claim.

    Parameters
    ----------
    estimate : Estimate, or three numbers (value, low, high)
        Ours. The ends may be infinite. None at both ends: there is no interval.
    region : (float, float)
        Where the claim counts as true, both ends included; they may be infinite. "Larger than" a
        bound starts at the next larger float.

    Returns
    -------
    str
        "confirmed" where the interval lies inside the region, "refuted" where it lies wholly
        outside, "undecided" else, and where a number is NaN or there is no interval.

    Raises
    ------
    ValueError
        A region whose ends are NaN or in the wrong order, an interval whose ends are.

    Notes
    -----
    Only what is computed without any sampling has low = value = high. Taught in
    book/replication.ipynb.

    Examples
    --------
    >>> from mia_lib.intervals import Estimate
    >>> verdict(Estimate(1.2, 1.07, 1.36), (1, float("inf"))), verdict((0.9, 0.8, 1.1), (1, 2))
    ('confirmed', 'undecided')
    """
    start, stop = (float(end) for end in region)
    if not start <= stop:
        checks.fail("region", f"({start:g}, {stop:g})", "two numbers, the smaller one first")
    value, low, high = estimate
    if low is None or high is None or np.isnan([value, low, high]).any():
        return "undecided"
    if low > high:
        checks.fail("estimate", f"[{low:g}, {high:g}]", "the smaller end first")
    if start <= low and high <= stop:
        return "confirmed"
    return "refuted" if high < start or stop < low else "undecided"
