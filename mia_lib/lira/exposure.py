"""How far a record's own models give it away: distance and influence, from shadow models alone."""

import numpy as np

from mia_lib import checks, model_checks
from mia_lib.lira import gaussian


def separation(signals, member):
    """Distance between a record's IN and OUT models, in their own spreads (Carlini et al. 2022,
    section VII-B).

    ``d = |mean_in - mean_out| / (sd_in + sd_out)``, the paper's privacy score of a record. Where
    both are normal, the threshold with equal errors on this record has balanced accuracy Phi(d); no
    threshold has more if the spreads agree.

    Parameters
    ----------
    signals : array (S, n)
        One signal for each model and record, best one that is close to normal, such as
        `signals.logit_confidence`.
    member : bool array (S, n)
        True where record i trained model s.

    Returns
    -------
    float64 array (n,)
        At least 0, larger means more exposed. Standard deviations have ddof 0, and a floor of 1e-6
        of the root mean square of all, so that a record on which all models agree has a finite d.
        Biased upward: with equal laws the mean is near sqrt((1 / S_in + 1 / S_out) / (2 pi)), not
        0.

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, a record with fewer than two IN or OUT models.

    Notes
    -----
    Taught in book/who_is_exposed.ipynb.

    Examples
    --------
    >>> member = np.array([[True], [True], [False], [False]])
    >>> separation(np.array([[3.0], [5.0], [0.0], [2.0]]), member)
    array([1.5])
    """
    values, member = _checked(signals, member, 2)
    means, variances = zip(*(_moments(values, side) for side in (member, ~member)))
    spreads = [np.sqrt(gaussian.floored(variance, variance.mean())) for variance in variances]
    return np.abs(means[0] - means[1]) / (spreads[0] + spreads[1])


def influence(values, member):
    """What training on a record does to a model's answer on that record: mean over IN models minus
    mean over OUT.

    With values that are 1 where a model predicts the record's label and 0 elsewhere, this is the
    memorization of Feldman and Zhang (2020, eq. 1), estimated from models on random subsets. It is
    then also the advantage, on this record, of the adversary who says "member" when the prediction
    is right, and its mean over records is the gap between training and test accuracy.

    Parameters
    ----------
    values : array (S, n)
        One value for each model and record.
    member : bool array (S, n)
        True where record i trained model s.

    Returns
    -------
    float64 array (n,)
        In the unit of the values; in [-1, 1] for values in [0, 1]. Unbiased.

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, a record without an IN or an OUT model.

    Notes
    -----
    Taught in book/who_is_exposed.ipynb.

    Examples
    --------
    >>> influence(np.array([[1], [1], [0], [1]]), np.array([[True], [True], [False], [False]]))
    array([0.5])
    """
    values, member = _checked(values, member, 1)
    return _moments(values, member)[0] - _moments(values, ~member)[0]


def _checked(values, member, least):
    name = "signals" if least == 2 else "values"
    values = model_checks.signals(name, values, (2,)).astype(np.float64)
    model_checks.bounded(name, values)
    member = checks.boolean_array("member", member, shape=values.shape)
    model_checks.counts(
        "member", member, least, ("IN", "OUT"), "two models" if least == 2 else "one model"
    )
    return values, member


def _moments(values, side):
    """Mean and variance (ddof 0) over the models of one side, (n,) each."""
    return values.mean(axis=0, where=side), values.var(axis=0, where=side)
