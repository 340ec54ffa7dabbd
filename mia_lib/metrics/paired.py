"""Two curves of the same records: how far apart their areas are."""

import numpy as np
from scipy import stats

from mia_lib import checks
from mia_lib.intervals import Estimate
from mia_lib.metrics import ranking


def auc_change(before, after, delta=0.05):
    """Change of the area from one attack, or model, to another on the same records.

    Parameters
    ----------
    before, after : Roc
        Made by `roc` from scores of the same records in the same order.
    delta : float
        Nominal probability that the interval misses.

    Returns
    -------
    Estimate
        AUC of `after` minus that of `before`, in [-1, 1].

    Raises
    ------
    ValueError
        Curves of different records or members, or pooled over several targets.

    Notes
    -----
    DeLong, DeLong and Clarke-Pearson 1988 for two curves of the same records, with Satterthwaite's
    degrees of freedom: shorter than what two separate intervals allow, because a record that is
    easy for one is easy for the other. Near 1 it misses more often than it should, about one time
    in ten for AUCs of 0.998 and 0.9998 with 100 of each group. Where one of the two is 0 or 1 it
    reaches from the lower limit of the one minus the upper limit of the other to the reverse. Used
    in notebooks/gan_stored.ipynb, and by `audit.compare`.

    Examples
    --------
    >>> from mia_lib.metrics import roc
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) < 200
    >>> easy = rng.normal(size=400) + member
    >>> print(auc_change(roc(easy + rng.normal(size=400), member), roc(easy, member)))
    0.077 [0.041, 0.113]
    """
    delta = checks.delta(delta)
    for name, curve in (("before", before), ("after", after)):
        if len(curve.shape) > 1:
            checks.fail(name, f"a curve of {curve.shape[0]} targets", "a curve of one")
    members = [np.sort(curve.member_entries) for curve in (before, after)]
    if before.shape != after.shape or not np.array_equal(*members):
        checks.fail(
            "after",
            f"{after.n_members} members among {after.shape[0]} records",
            f"those of before, {before.n_members} among {before.shape[0]}",
        )
    change = after.auc - before.auc
    if not 0 < min(before.auc, after.auc) <= max(before.auc, after.auc) < 1:
        one, other = (curve.auc_interval(delta / 2) for curve in (before, after))
        return Estimate(change, other.low - one.high, other.high - one.low)
    differences = [b - a for a, b in zip(_placements(before), _placements(after))]
    variances = [part.var(ddof=1) / part.size for part in differences]
    total = sum(variances)
    if total == 0:
        return Estimate(change, change, change)
    freedom = total**2 / sum(v**2 / (p.size - 1) for v, p in zip(variances, differences))
    half = stats.t.isf(delta / 2, freedom) * np.sqrt(total)
    return Estimate(change, float(max(-1.0, change - half)), float(min(1.0, change + half)))


def _placements(curve):
    """Those of the members, then of the non-members, in the order of the records."""
    found = np.empty(curve.n_members + curve.n_nonmembers)
    sides = curve.member_entries, curve.nonmember_entries
    for entries, shares in zip(sides, ranking.placements(curve)):
        found[entries] = shares
    return [found[np.sort(entries)] for entries in sides]
