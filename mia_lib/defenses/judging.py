"""What judging a defence honestly needs: early stopping at equal accuracy, a claim of equality that
can fail, and records that stand for the worst off.

Taught in book/defenses.ipynb.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from mia_lib import checks


def early_stopping_epoch(accuracy, target):
    """Where on its curve an undefended model is as accurate as a defended one.

    Parameters
    ----------
    accuracy : array (E,)
        Of the undefended model after each epoch, on records that are neither members nor the
        evaluation's non-members.
    target : float
        The defended model's accuracy on the same records.

    Returns
    -------
    int
        The index of the accuracy nearest to the target; of equals the first, the least trained.

    Raises
    ------
    ValueError
        For NaN or an accuracy outside [0, 1].

    Notes
    -----
    Song and Mittal 2021, section 3.2.1. Run in notebooks/defenses.ipynb.

    Examples
    --------
    >>> early_stopping_epoch([0.2, 0.5, 0.6, 0.5], 0.52)
    1
    """
    accuracy = checks.real_array("accuracy", accuracy, 1)
    checks.number("target", target, 0, high=1)
    if accuracy.min() < 0 or accuracy.max() > 1:
        checks.fail(
            "accuracy", f"values from {accuracy.min():g} to {accuracy.max():g}", "values in [0, 1]"
        )
    return int(np.argmin(np.abs(accuracy - target)))


def mislabel(labels, rows, n_classes, *, rng=None):
    """Canaries: the same labels, with those of some rows replaced by a wrong one.

    A mislabelled record is learnt by heart or not at all, so it stands for the worst-off records of
    a training set (Aerni et al. 2024).

    Parameters
    ----------
    labels : array (n,)
        Whole numbers 0 ... n_classes - 1.
    rows : array of int
        Which rows become canaries, each at most once.
    n_classes : int
        K, at least 2.
    rng : numpy.random.Generator, optional

    Returns
    -------
    (n,) int64 array
        Each canary's label uniform over the wrong ones.

    Raises
    ------
    ValueError
        For labels out of range, a row out of range or named twice.

    Notes
    -----
    Taught in book/worst_off.ipynb.

    Examples
    --------
    >>> mislabel([0, 1, 1, 0], [1, 3], 2)
    array([0, 0, 1, 1])
    """
    checks.integer("n_classes", n_classes, 2)
    labels = checks.labels("labels", labels, len(labels), n_classes=n_classes).copy()
    rows = checks.labels("rows", rows, len(rows), n_classes=len(labels))
    if len(np.unique(rows)) < len(rows):
        checks.fail("rows", "a row named twice", "each row at most once")
    shift = checks.generator(rng).integers(1, n_classes, len(rows))
    labels[rows] = (labels[rows] + shift) % n_classes
    return labels


class Equality(NamedTuple):
    """What two one-sided tests say of paired differences, from `equality`.

    Parameters
    ----------
    p_value : float or None
        Of "apart by the margin or more"; None where nothing could be tested.
    words : str
        The finding, for a reader.

    Notes
    -----
    Run in notebooks/defenses.ipynb.
    """

    p_value: float | None
    words: str


def equality(differences, margin, delta=0.05):
    """Whether a defence and early stopping are equal within a margin: two one-sided t-tests (TOST).

    Parameters
    ----------
    differences : (m,) array_like
        The attack's accuracy on the defended model minus that on the stopped one, one for each
        seed, so that negative values speak for the defence.
    margin : float
        Differences up to it count as none, above 0; fixed beforehand.
    delta : float
        Probability, at most, that equality is declared where the mean lies at the margin.

    Returns
    -------
    Equality
        "equal within ..." where both "worse by the margin" and "better by the margin" are rejected
        at delta; "no better by more than ..." where only the second is; "not decided or different"
        else. Not tested: one seed, or the same difference in every seed.

    Raises
    ------
    ValueError
        No difference, NaN, a margin that is not above 0.

    Notes
    -----
    Schuirmann 1987. A t-test that finds no difference proves nothing; this one shows equality where
    it declares it. Run in notebooks/defenses.ipynb.

    Examples
    --------
    >>> equality([0.001, 0.002, -0.001, 0.0], 0.01).words
    'equal within 1%'
    >>> equality([0.001], 0.01)
    Equality(p_value=None, words='not tested: one seed')
    """
    differences = checks.real_array("differences", differences, 1)
    margin = checks.number("margin", margin, 0, open_low=True)
    delta = checks.delta(delta)
    if len(differences) < 2:
        return Equality(None, "not tested: one seed")
    if np.ptp(differences) == 0:
        return Equality(None, "not tested: the same difference in every seed")
    better, worse = (
        float(stats.ttest_1samp(differences, end, alternative=side).pvalue)
        for end, side in ((-margin, "greater"), (margin, "less"))
    )
    p_value = max(better, worse)
    if p_value < delta:
        return Equality(p_value, f"equal within {100 * margin:.3g}%")
    if better < delta:
        return Equality(p_value, f"no better by more than {100 * margin:.3g}%")
    return Equality(p_value, "not decided or different")
