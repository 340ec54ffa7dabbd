"""The arithmetic of f_p that all estimators of it share."""

import numpy as np


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
