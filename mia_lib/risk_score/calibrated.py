"""Probabilities from scores that are none: a monotone map, learned on other models or records."""

import warnings

import numpy as np
from sklearn.isotonic import IsotonicRegression

from mia_lib import checks
from mia_lib.risk_score import odds


def cross_fitted(score, member, fold, *, prior=0.5):
    """Turn any score into a probability of membership, by a map that the judged entries do not
    take part in.

    Parameters
    ----------
    score : array (S,), (S, n)
        Larger means more likely a member, such as LiRA's.
    member : bool array, same shape
        The truth.
    fold : int array (S,)
        The fold of each row; at least two folds. Rows of one fold are mapped by what the rows of
        all other folds say.
    prior : float
        Pr(member), in (0, 1).

    Returns
    -------
    float64 array, shape of `score`
        In [0, 1], a non-decreasing function of the score within each fold.

    Raises
    ------
    ValueError
        Wrong shapes, scores that are not finite, one fold alone, a fold whose others have one
        group only.

    Notes
    -----
    The map is the isotonic regression of membership on the score (Zadrozny and Elkan 2002), at the
    given prior, with scikit-learn, which takes scores that lie less than 1e-15 apart for equal.
    Where the other folds' scores spread over less than 1/2 they are multiplied by a power of two,
    so that this is 1e-15 to 2e-15 of their spread, whatever their unit. For LiRA let a fold be a
    set of models that were scored with one another as shadow models only: leave-one-out scores of a
    model contain the signals of the others, under their true membership. Taught in
    book/risk_scores.ipynb.

    Examples
    --------
    >>> cross_fitted([0.0, 5.0, 0.0, 5.0], [False, True, True, False], [0, 0, 1, 1])
    array([0.5, 0.5, 0. , 1. ])
    """
    score = checks.real_array("score", score, (1, 2))
    member = checks.boolean_array("member", member, shape=score.shape)
    fold = checks.labels("fold", fold, len(score))
    prior, folds = checks.prior(prior), np.unique(fold)
    if len(folds) < 2:
        checks.fail("fold", f"{len(folds)} fold", "at least two")
    found = np.empty(score.shape)
    for one in folds:
        others, known = score[fold != one].ravel(), member[fold != one].ravel()
        checks.both_groups("member", known)
        weight = np.where(known, prior / known.mean(), (1 - prior) / (1 - known.mean()))
        fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        with np.errstate(over="ignore"):
            up = -np.frexp(min(np.ptp(others), 0.5))[1]  # a power of two changes no digit
        fitted.fit(np.ldexp(others, up), known, sample_weight=weight)
        # Clipped before, since what is judged may lie so far out that it would overflow.
        asked = np.ldexp(np.clip(score[fold == one], others.min(), others.max()), up)
        found[fold == one] = fitted.predict(asked.ravel()).reshape(asked.shape)
    return found


def venn_abers(score, known_score, known_member, *, prior=0.5):
    """Two probabilities for each record, one of which is calibrated: Venn-Abers pairs.

    Parameters
    ----------
    score : array (n,)
        Larger means more likely a member, in any unit.
    known_score : array (m,)
        The same of records whose membership is known, such as the shadow model's.
    known_member : bool array (m,)
        Their membership.
    prior : float
        Pr(member), in (0, 1).

    Returns
    -------
    low, high : float64 arrays (n,)
        The value of the isotonic regression at the record's score, were the record itself a
        non-member or a member.

    Raises
    ------
    ValueError
        Wrong shapes, scores that are not finite, one group without examples.

    Notes
    -----
    Where known and asked records are exchangeable, the entry of the pair that belongs to the truth
    is calibrated in expectation (Vovk and Petej 2014, Theorem 1). How far the two lie apart says
    how much one record moves the map: little data, wide pairs. The pair is no confidence interval
    of the record's true probability, which it may well miss. Computed by the library `venn-abers`
    (Vovk, Petej and Fedorova 2015). Taught in book/risk_scores.ipynb.

    Examples
    --------
    >>> low, high = venn_abers([0.0, 3.0], np.arange(4.0), [False, False, True, True])
    >>> low.round(2), high.round(2)
    (array([0.  , 0.67]), array([0.33, 1.  ]))
    """
    from venn_abers import VennAbers  # only here: nobody else needs it

    score = checks.real_array("score", score, 1)
    known_score = checks.real_array("known_score", known_score, 1)
    known = checks.boolean_array("known_member", known_member, shape=known_score.shape)
    checks.both_groups("known_member", known)
    factor = odds.factor(checks.prior(prior), np.count_nonzero(known), len(known))
    # It reads the second column; ranks stand for scores of any unit.
    values = np.unique(known_score)
    ranks = np.searchsorted(values, known_score).astype(float)
    asked = (np.searchsorted(values, score) + np.searchsorted(values, score, side="right") - 1) / 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All-NaN slice")  # its last point has no slope
        fitted = VennAbers().fit(np.stack([-ranks, ranks], axis=1), known.astype(float))
    _, pairs = fitted.predict_proba(np.stack([-asked, asked], axis=1))
    low, high = np.abs(pairs.T)  # it gives 0 as -0
    return odds.times(low, factor), odds.times(high, factor)
