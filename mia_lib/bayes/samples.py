"""The signals of both groups, checked, as every estimator of this package reads them."""

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


def of_records(signals, member):
    """Several queries of the same records, finite and as many as `member`, which is checked too."""
    member = checks.boolean_array("member", member)
    if min(member.sum(), (~member).sum()) < 4:
        checks.fail("member", f"{member.sum()} of {len(member)}", "four members and four others")
    signals = {name: checks.real_array(name, signal) for name, signal in signals.items()}
    for name, signal in signals.items():
        if len(signal) != len(member):
            checks.fail(name, f"{len(signal)} records", f"{len(member)}, as member has")
    return signals, member


def halves(member, n_splits, rng):
    """Random halves (n,) bool of the records, members and others each by themselves."""
    groups = np.flatnonzero(member), np.flatnonzero(~member)
    for _ in range(n_splits):
        fitted = np.zeros(len(member), bool)
        for group in groups:
            fitted[rng.permutation(group)[: len(group) // 2]] = True
        yield fitted
