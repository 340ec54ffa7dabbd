"""Lower confidence bounds of epsilon, from many trainings or from one.

`delta` is the probability that a bound fails, as in every interval; that of differential privacy is
called `dp_delta` here. Taught in book/attacking_dp.ipynb.
"""

import numpy as np
from scipy import special

from mia_lib import checks, intervals


def epsilon_lower_bound(
    true_positives, positives, false_positives, negatives, *, dp_delta=0.0, delta=0.05
):
    """A lower confidence bound of epsilon from many trained models.

    Parameters
    ----------
    true_positives, positives : int
        Of `positives` models trained with the canary, so many were called "in".
    false_positives, negatives : int
        Of `negatives` models trained without it, so many were called "in".
    dp_delta : float
        The delta of differential privacy, in [0, 1).
    delta : float
        Probability, at most, that the bound lies above the true epsilon; half for each rate.

    Returns
    -------
    float
        max(0, log((TPR_low - dp_delta) / FPR_high)), one-sided Clopper-Pearson limits at delta / 2.

    Raises
    ------
    ValueError
        Counts that are not whole or exceed their trials, deltas out of range.

    Notes
    -----
    Jagielski, Ullman and Oprea 2020. One trial is one trained model: rows of a pooled ROC are not
    trials. The threshold has to be fixed on other data. With 1,000 models on each side the bound
    cannot exceed 5.6. For the other direction, "out" against "in", exchange the roles, and halve
    delta if the better of both is to be reported. Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> round(epsilon_lower_bound(1000, 1000, 0, 1000), 2), epsilon_lower_bound(60, 100, 40, 100)
    (5.6, 0.0)
    """
    positives, negatives = (
        checks.integer("positives", positives, 1),
        checks.integer("negatives", negatives, 1),
    )
    true_positives = checks.integer("true_positives", true_positives, 0, high=positives)
    false_positives = checks.integer("false_positives", false_positives, 0, high=negatives)
    dp_delta = checks.number("dp_delta", dp_delta, 0, high=1, open_high=True)
    delta = checks.delta(delta)
    reached = (
        float(intervals.clopper_pearson_lower(true_positives, positives, delta / 2)) - dp_delta
    )
    alarm = float(intervals.clopper_pearson_upper(false_positives, negatives, delta / 2))
    return max(0.0, float(np.log(reached / alarm))) if reached > 0 else 0.0


def epsilon_lower_bound_one_run(correct, guesses, delta=0.05):
    """A lower confidence bound of epsilon from one training with randomised membership, by its
    right guesses.

    Parameters
    ----------
    correct, guesses : int
        r memberships were guessed (others left out), so many of them rightly.
    delta : float
        Probability, at most, that the bound lies above the true epsilon.

    Returns
    -------
    float
        max(0, log(a / (1 - a))), a the one-sided Clopper-Pearson lower limit of the share of right
        guesses.

    Raises
    ------
    ValueError
        Counts that are not whole, more right guesses than guesses, delta outside (0, 1).

    Notes
    -----
    Steinke, Nasr and Jagielski 2023, for pure differential privacy: the number of right guesses is
    stochastically at most binomial with probability e^epsilon / (1 + e^epsilon). Membership bits
    have to be independent fair coins: where exactly half the models or examples are in, the last
    bits are determined by the others. 1,000 guesses cannot give more than 5.8. Taught in
    book/attacking_dp.ipynb.

    Examples
    --------
    >>> round(epsilon_lower_bound_one_run(1000, 1000), 2), epsilon_lower_bound_one_run(520, 1000)
    (5.81, 0.0)
    """
    guesses = checks.integer("guesses", guesses, 1)
    correct = checks.integer("correct", correct, 0, high=guesses)
    share = float(intervals.clopper_pearson_lower(correct, guesses, checks.delta(delta)))
    return max(0.0, float(special.logit(share)))
