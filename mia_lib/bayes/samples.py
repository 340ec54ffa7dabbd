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


def of_records(signals, member, score=None, taken=()):
    """Several queries of the same records, and a score or None, finite and as many as `member`,
    which is checked too. No query beside a score may have a name that is taken.
    """
    member = checks.boolean_array("member", member, ndim=1)
    if min(member.sum(), (~member).sum()) < 4:
        checks.fail("member", f"{member.sum()} of {len(member)}", "four members and four others")
    if not isinstance(signals, dict):
        checks.fail("signals", type(signals).__name__, "a dict of name to query")
    if score is None and not signals:
        checks.fail("signals", "no query and no score", "one of them at least")
    if score is not None and signals.keys() & set(taken):
        checks.fail("signals", f"a query named {' or '.join(taken)} beside a score", "another name")
    signals = {name: checks.real_array(name, signal, (1, 2)) for name, signal in signals.items()}
    score = None if score is None else checks.real_array("score", score, 1)
    for name, signal in [*signals.items(), ("score", score)]:
        if signal is not None and len(signal) != len(member):
            checks.fail(name, f"{len(signal)} records", f"{len(member)}, as member has")
    return signals, member, score


def halves(member, n_splits, rng):
    """Random halves (n,) bool of the records, members and others each by themselves."""
    groups = np.flatnonzero(member), np.flatnonzero(~member)
    for _ in range(n_splits):
        fitted = np.zeros(len(member), bool)
        for group in groups:
            fitted[rng.permutation(group)[: len(group) // 2]] = True
        yield fitted
