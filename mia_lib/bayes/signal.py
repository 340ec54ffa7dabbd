"""What every estimator of this package does with its arguments, and the arithmetic of f_p that they
share.
"""

import numpy as np

from mia_lib import checks


def two_groups(member_signal, nonmember_signal, least=2):
    """Both groups as (N1, d) and (N2, d) float64 arrays of one dimension d, at least `least` rows
    each.
    """
    groups = []
    for name, value in (("member_signal", member_signal), ("nonmember_signal", nonmember_signal)):
        array = checks.real_array(name, value, ndim=(1, 2), empty=True)
        array = array[:, None] if array.ndim == 1 else array
        if array.shape[0] < least:
            checks.fail(name, f"{array.shape[0]} examples", f"at least {least}")
        if array.shape[1] == 0:
            checks.fail(name, f"shape {array.shape}", "at least one column")
        groups.append(array)
    if groups[0].shape[1] != groups[1].shape[1]:
        checks.fail(
            "nonmember_signal",
            f"{groups[1].shape[1]} columns",
            f"{groups[0].shape[1]} as in member_signal",
        )
    return groups


def queries(signal, dimension):
    """Signals to be judged, as (m, d); (m,) is allowed where d = 1."""
    array = checks.real_array("signal", signal, ndim=(1, 2) if dimension == 1 else 2, empty=True)
    array = array[:, None] if array.ndim == 1 else array
    if array.shape[1] != dimension:
        checks.fail("signal", f"{array.shape[1]} columns", f"{dimension} as in the fitted signals")
    return array


def risk(member, nonmember, prior):
    """f_p from both likelihoods (MACE eq. 10 of v1, 8 of v2), NaN where both are 0."""
    top = prior * member - (1 - prior) * nonmember
    bottom = prior * member + (1 - prior) * nonmember
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)


def risk_bounds(member_low, member_high, nonmember_low, nonmember_high, prior):
    """Smallest and largest f_p on a box of likelihoods: f_p grows with the first and falls with the
    second.

    A corner where both likelihoods are 0 says nothing, so there the end is -1 or 1.
    """
    low = risk(member_low, nonmember_high, prior)
    high = risk(member_high, nonmember_low, prior)
    return np.where(np.isnan(low), -1.0, low), np.where(np.isnan(high), 1.0, high)


def trivial_advantage(prior):
    """abs(2 p - 1): what the adversary has that always guesses the likelier answer."""
    return abs(2 * prior - 1)
