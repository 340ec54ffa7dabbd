"""Which records are exposed, tested record by record over the models, with false discoveries
controlled.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mia_lib import checks, metrics, model_checks

EXACT = 64  # models, up to which ties are counted out


class Exposed(NamedTuple):
    """What `exposed_records` finds, one entry a record.

    Attributes
    ----------
    auc : (n,) float64 array
        Chance that an IN model's signal is larger than an OUT model's, ties counted half.
    low, high : (n,) float64 arrays
        Its interval, single and not joint.
    p_value : (n,) float64 array
        Of the hypothesis that training on the record does not move its signal.
    adjusted : (n,) float64 array
        Of Benjamini and Hochberg: the smallest share of false discoveries at which the record is
        called.
    exposed : (n,) bool array
        `adjusted` at most the share that was asked for.
    """

    auc: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    adjusted: np.ndarray
    exposed: np.ndarray


def exposed_records(signals, member, share=0.1, *, delta=0.05):
    """Test every record over its models, and call as many exposed as a share of false ones allows.

    Parameters
    ----------
    signals : array (S, n)
        One signal for each model and record, larger for members; no scores of `leave_one_out`,
        which compare the models of a record with each other.
    member : bool array (S, n)
        True where record i trained model s; drawn at random, as by `shadow.half_masks`.
    share : float
        In (0, 1): bound on the expected share of false ones among the records called.
    delta : float
        Of the interval of each AUC.

    Returns
    -------
    Exposed

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, a record without two IN and two OUT models.

    Notes
    -----
    The p-value is that of the Wilcoxon-Mann-Whitney test, one-sided. Where a record's signals do
    not tie it is exact, and valid however the models depend on each other: for a record that
    changes nothing all assignments to the models are equally likely, whatever the signals are.
    With ties it is exact for up to 64 networks, and beyond the normal approximation, corrected for
    ties, which for few distinct values is up to three times too small. The assignments of records
    that change nothing are independent of each other, so Benjamini and Hochberg's bound holds
    (1995, theorem 1). Intervals are DeLong's, as for `Roc.auc_interval`. Taught in
    book/generators_one_record.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.permuted(np.arange(32)[:, None] < np.full(50, 16), axis=0)
    >>> signals = rng.normal(size=(32, 50)) + 3 * member * (np.arange(50) < 5)
    >>> np.flatnonzero(exposed_records(signals, member, 0.01).exposed)
    array([0, 1, 2, 3, 4])
    """
    values = model_checks.signals("signals", signals, (2,))
    member = checks.boolean_array("member", np.asarray(member), shape=values.shape)
    share = checks.prior(share, "share")
    delta = checks.delta(delta)
    model_checks.bounded("signals", values)
    model_checks.counts("member", member, 2, ("IN", "OUT"), "two models")
    p_value = np.array([_p_value(v, row) for v, row in zip(values.T, member.T)])
    adjusted = stats.false_discovery_control(p_value)
    found = [metrics.roc(v, row).auc_interval(delta) for v, row in zip(values.T, member.T)]
    auc, low, high = np.array(found).T
    return Exposed(auc, low, high, p_value, adjusted, adjusted <= share)


def _exact(values, member):
    """The share of all choices of as many models with at least this sum of mid-ranks."""
    ranks = np.rint(2 * stats.rankdata(values)).astype(int)
    k, observed = int(member.sum()), int(ranks[member].sum())
    ways = np.zeros((k + 1, int(np.sort(ranks)[-k:].sum()) + 1))  # by how many, and by their sum
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return float(ways[k, observed:].sum() / ways[k].sum())


def _p_value(values, member):
    tied = len(np.unique(values)) < len(values)
    if tied and len(values) <= EXACT:
        return _exact(values, member)
    method = "asymptotic" if tied else "exact"
    test = stats.mannwhitneyu(values[member], values[~member], alternative="greater", method=method)
    return float(test.pvalue)
