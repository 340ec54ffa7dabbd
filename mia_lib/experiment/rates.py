"""What is read off models and curves in every experiment: accuracies, signals, sentences about
rates.
"""

import numpy as np
from scipy import stats

from mia_lib import checks, intervals, progress, signals


def percent(rate):
    """A rate as rows of records name it.

    Parameters
    ----------
    rate : float

    Returns
    -------
    str

    Notes
    -----
    Used in notebooks/lira.ipynb.

    Examples
    --------
    >>> percent(1e-5), percent(0.01)
    ('0.001 %', '1 %')
    """
    return f"{100 * rate:.12g} %"


def rate(count, n, delta=0.05):
    """The share of independent trials that came out so, with its Clopper-Pearson interval.

    Parameters
    ----------
    count, n : int
        How many of how many, at least one.
    delta : float
        Probability, at most, that the interval misses the truth.

    Returns
    -------
    Estimate
        In [0, 1].

    Raises
    ------
    ValueError
        As for `intervals.clopper_pearson`.

    Notes
    -----
    Used in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> print(rate(5, 100))
    0.050 [0.016, 0.113]
    """
    low, high = (float(limit) for limit in intervals.clopper_pearson(count, n, delta))
    return intervals.Estimate(count / n, low, high)


def rate_of_groups(hits, delta=0.05):
    """The share of trials that came out so, where the trials of a group depend on each other, such
    as tests of sets from one model's training set.

    Parameters
    ----------
    hits : (groups, trials) boolean array
        Which did.
    delta : float
        Probability, at most, that the interval misses the truth.

    Returns
    -------
    Estimate
        In [0, 1]. Clopper-Pearson's interval for as many independent trials as the groups are
        worth: one for each where each has one trial or all agree.

    Raises
    ------
    ValueError
        No group, no trial; as for `intervals.clopper_pearson`.

    Notes
    -----
    With several trials a group their number is the share's p (1 - p) over the variance of the mean
    of the groups, at most all, times the square of the ratio of t quantiles with all trials and
    with the groups: the interval of Korn and Graubard, Survey Methodology 24 (1998), 193-201, with
    the cap taken before the ratio, which is wider. A bootstrap over two or three groups is their
    range, and misses half or a quarter of the time. This one misses more often than delta where few
    groups differ much from all others: in half of our simulations of ten groups of 30 trials with a
    chance of 0.02 or, one in twenty, of 0.9. Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> print(rate_of_groups([[True], [False], [True], [True]]))
    0.750 [0.194, 0.994]
    >>> print(rate_of_groups([[True, False], [True, True], [False, False]]))
    0.500 [0.001, 0.999]
    """
    hits = np.asarray(hits)
    if hits.ndim != 2 or not hits.size:
        checks.fail("hits", f"shape {hits.shape}", "(groups, trials), at least one of both")
    delta, shares = checks.delta(delta), hits.mean(1)
    value = float(shares.mean())
    if hits.shape[1] == 1 or np.ptp(shares) == 0:
        return rate(round(value * len(shares)), len(shares), delta)._replace(value=value)
    n = min(hits.size, value * (1 - value) / (shares.var(ddof=1) / len(shares)))
    of_all, of_groups = stats.t.ppf(1 - delta / 2, [hits.size - 1, len(shares) - 1])
    n *= (of_all / of_groups) ** 2
    low = stats.beta.ppf(delta / 2, value * n, (1 - value) * n + 1)
    high = stats.beta.ppf(1 - delta / 2, value * n + 1, (1 - value) * n)
    return intervals.Estimate(value, float(low), float(high))


def loss_gap(logits, y, masks):
    """How much larger each model's loss is on the records that did not train it.

    Parameters
    ----------
    logits : (S, n, K) array
    y : (n,) int array
    masks : (S, n) boolean array
        True where record i trained model s.

    Returns
    -------
    (S,) array
        Mean cross-entropy on the others minus that on members, in nat.

    Raises
    ------
    ValueError
        Shapes that do not fit.

    Notes
    -----
    Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> logits, masks = np.eye(2)[[[0, 1, 1]]], np.array([[True, True, False]])
    >>> loss_gap(logits, np.array([0, 1, 0]), masks)
    array([1.])
    """
    on_members, on_others = _on_both(lambda one: signals.cross_entropy(one, y), logits, masks)
    return on_others - on_members


def carried(curve, fpr, delta=0.05):
    """What has to be known about a true-positive rate that few non-members can show.

    Parameters
    ----------
    curve : metrics.Roc
    fpr : float
        The false-positive rate at which it is read.
    delta : float
        1 minus the level of its interval.

    Returns
    -------
    str
        On how many records the false positives lie, and whether they are too few.

    Notes
    -----
    Used in notebooks/lira.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics
    >>> curve = metrics.roc(np.arange(40.0), np.arange(40) >= 20)
    >>> carried(curve, 0.01)
    'below the floor 5.0e-02: not resolvable'
    >>> carried(curve, 0.1)
    'false positives on 2 examples, too few to be sure that it is above 0'
    """
    if fpr < curve.fpr_floor:
        return f"below the floor {curve.fpr_floor:.1e}: not resolvable"
    sure = "" if curve.resolvable(fpr, delta) else ", too few to be sure that it is above 0"
    return f"false positives on {curve.distinct_false_positives(fpr):,} examples{sure}"


def accuracies(logits, y, masks):
    """How often each model is right, on the records that trained it and on the others.

    Parameters
    ----------
    logits : (S, n, K) array
        May be a memory map: one model is read at a time.
    y : (n,) int array
    masks : (S, n) boolean array
        True where record i trained model s.

    Returns
    -------
    on_members, on_others : (S,) arrays
        In [0, 1].

    Raises
    ------
    ValueError
        Shapes that do not fit, NaN.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> logits = np.eye(2)[[[0, 0, 1, 1]]]
    >>> accuracies(logits, np.array([0, 1, 1, 1]), np.array([[True, True, False, False]]))
    (array([0.5]), array([1.]))
    """
    return _on_both(lambda one: _right(one, y), logits, masks)


def _right(logits, y):
    if np.isnan(logits).any():  # argmax would take the first NaN for the answer
        checks.fail("logits", "NaN outputs of a model", "a training that does not diverge")
    return logits.argmax(-1) == y


def _on_both(figure, logits, masks):
    """The means of ``figure(logits of one model) -> (n,)`` on its members and on the others, (S,)
    each; one model is read at a time.
    """
    if masks.shape != logits.shape[:2]:
        checks.fail("masks", f"shape {masks.shape}", f"shape {logits.shape[:2]}")
    rows = (figure(one) for one in logits)
    both = [(row[mask].mean(), row[~mask].mean()) for row, mask in zip(rows, masks)]
    on_members, on_others = np.array(both).T
    return on_members, on_others


def signal(store, function, y, *, every_query=False):
    """One signal of all models, from the outputs that a store holds.

    Parameters
    ----------
    store : shadow.Store
    function : callable
        ``function(logits (..., n, K), y) -> (..., n)``, such as `signals.logit_confidence`.
    y : (n,) int array
    every_query : bool
        Whether for every query, not for the first one alone.

    Returns
    -------
    (S, n) array, or (S, n, Q) for every query
        One model is read at a time.

    Notes
    -----
    Used in notebooks/lira.ipynb.
    """
    rows = progress.bar(store.logits(), "models read")
    if every_query:
        return np.stack([np.moveaxis(function(row, y), 0, -1) for row in rows])
    return np.stack([function(row[0], y) for row in rows])
