"""Lower confidence bounds of epsilon: what audits certify, from many trainings and from one."""

import numpy as np
from scipy import special, stats

from mia_lib import checks, intervals
from mia_lib.privacy.closed_forms import gaussian
from mia_lib.privacy.guarantee import Guarantee

SMALLEST = 1e-6  # number of a family that is tried


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
    delta if the better of both is to be reported. Taught in book/epsilon_from_below.ipynb.

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


def right_guesses(scores, member, guesses):
    """How many memberships are guessed rightly where the surest are guessed and no others.

    Parameters
    ----------
    scores : array_like (..., m)
        Of m canaries of a training, or of several; larger means more likely a member.
    member : boolean array (..., m)
        Their coins: True where the canary took part.
    guesses : int
        From 1 to m, fixed before the scores are seen: the half with the lowest scores is guessed
        "out", the half with the highest "in", which has one more where `guesses` is odd.

    Returns
    -------
    int array (...)
        What the bounds from one run ask for as `correct`.

    Raises
    ------
    ValueError
        Coins of another shape, more guesses than canaries, NaN.

    Notes
    -----
    Equal scores are taken in the order that makes the fewest guesses right: the members among them
    first. The coins choose this order, but the count is at most that of any order that they do not
    choose, so the bounds hold. A score may ask the training's outputs, and nothing that
    depends on the coins in another way: not other models whose training sets were drawn together
    with this one's. Steinke, Nasr and Jagielski 2023, algorithm 1. Taught in
    book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> print(right_guesses([0.9, 0.1, 0.5, 0.8], [True, False, True, False], 4))
    2
    """
    scores = np.atleast_1d(checks.real_array("scores", scores, finite=False))
    member = checks.boolean_array("member", member, shape=scores.shape)
    guesses = checks.integer("guesses", guesses, 1, high=scores.shape[-1])
    # Whom a tie guesses "out" are its first, whom it guesses "in" its last: members first is worst.
    ranked = np.take_along_axis(member, np.lexsort((~member, scores), axis=-1), axis=-1)
    out = guesses // 2
    called_in = ranked[..., ranked.shape[-1] - (guesses - out) :]
    return ((~ranked[..., :out]).sum(-1) + called_in.sum(-1))[()]


def epsilon_lower_bound_one_run(correct, guesses, delta=0.05, *, dp_delta=0.0, canaries=None):
    """A lower confidence bound of epsilon from one training with randomised membership, by its
    right guesses.

    Parameters
    ----------
    correct, guesses : int
        r memberships were guessed (others left out), so many of them rightly; r fixed beforehand.
    delta : float
        Probability, at most, that the bound lies above the true epsilon.
    dp_delta : float
        The delta of differential privacy, in [0, 1).
    canaries : int, optional
        m, how many memberships were drawn, guessed or not, at least `guesses`. Asked for where
        `dp_delta` is above 0, because each of them may be given away with probability delta.

    Returns
    -------
    float
        The smallest epsilon >= 0 under which so many right guesses have a probability that may
        exceed `delta`; with `dp_delta` 0 it is max(0, log(a / (1 - a))), a the one-sided
        Clopper-Pearson lower limit of the share of right guesses.

    Raises
    ------
    ValueError
        Counts that are not whole, more right guesses than guesses, more guesses than canaries, no
        `canaries` with a positive `dp_delta`, a delta out of range.

    Notes
    -----
    Steinke, Nasr and Jagielski 2023, their main theorem. With W binomial with r trials of
    probability e^epsilon / (1 + e^epsilon), the probability of v or more right guesses is at most
    Pr(W >= v) + 2 m delta max over i from 1 to v of Pr(v - i <= W < v) / i.

    Membership bits have to be independent fair coins: where exactly half the models or examples are
    in, the last bits are determined by the others. 1,000 guesses cannot give more than 5.8, and
    more canaries hardly help once the surest guesses are nearly all right;
    `epsilon_lower_bound_f_dp` gains more from the same guesses. Taught in
    book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> round(epsilon_lower_bound_one_run(1000, 1000), 2), epsilon_lower_bound_one_run(520, 1000)
    (5.81, 0.0)
    >>> round(epsilon_lower_bound_one_run(90, 100, dp_delta=1e-5, canaries=1000), 3)
    1.626
    """
    correct, guesses, canaries = _guessed(
        correct, guesses, canaries if dp_delta or canaries is not None else guesses
    )
    delta = checks.delta(delta)
    dp_delta = checks.number("dp_delta", dp_delta, 0, high=1, open_high=True)
    share = float(intervals.clopper_pearson_lower(correct, guesses, delta))
    pure = max(0.0, float(special.logit(share)))
    if dp_delta == 0:
        return pure
    below = np.arange(correct - 1, -1, -1)  # v - 1, v - 2, ..., 0 right guesses

    def probable(epsilon):
        chance = stats.binom(guesses, special.expit(epsilon))
        worst = (np.cumsum(chance.pmf(below)) / np.arange(1, correct + 1)).max(initial=0.0)
        return chance.sf(correct - 1) + 2 * canaries * dp_delta * worst >= delta

    return _first(probable, 0.0, pure)


def excluded(guarantee, correct, guesses, *, canaries=None, delta=0.05):
    """Whether so many right guesses about one training contradict a guarantee.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed of the training for every canary.
    correct, guesses : int
        c' memberships were guessed (others left out), c of them rightly; c' fixed beforehand.
    canaries : int, optional
        m, how many memberships were drawn, guessed or not; None for `guesses`.
    delta : float
        Probability, at most, that a guarantee that holds is excluded.

    Returns
    -------
    bool
        True where c or more right guesses have a probability below `delta` under the guarantee.

    Raises
    ------
    ValueError
        Counts that are not whole, more right guesses than guesses, more guesses than canaries, a
        delta outside (0, 1), something else than a guarantee.

    Notes
    -----
    Mahloujifar, Melis and Chaudhuri 2024. Let p_j be the probability of exactly j
    right guesses. Draw a canary. "It is guessed rightly and more than i are right" turns, when its
    coin is turned, into "it is guessed wrongly and at least i are right". So r = sum over j > i of
    j p_j / m and h = sum over j >= i of (c' - j) p_j / m are a TPR and an FPR for one coin: r <=
    ROC(h), with the mean of both directions' curves, because the coin is fair. If c or more right
    guesses had probability `delta`, the smallest sums that this permits for i = c - 1, ..., 0 could
    be computed one after the other, and the sum of both at i = 0 would have to be c' / m. The
    guarantee is excluded where it is larger.

    Coins have to be fair and independent; r and h do not ask how the other canaries are used, so
    canaries of one training may influence each other. Taught in book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> from mia_lib.privacy import gaussian
    >>> excluded(gaussian(1.0), 95, 100), excluded(gaussian(1.0), 65, 100)
    (True, False)
    """
    if not isinstance(guarantee, Guarantee):
        checks.fail("guarantee", type(guarantee).__name__, "a Guarantee")
    counts = _guessed(correct, guesses, guesses if canaries is None else canaries)
    return _excluded(guarantee, *counts, checks.delta(delta))


def _excluded(guarantee, correct, guesses, canaries, delta):
    right, wrong = delta * correct / canaries, delta * (guesses - correct) / canaries
    for i in range(correct - 1, -1, -1):
        needed = max(wrong, float(guarantee._fpr(min(right, 1.0))))
        right += i / (guesses - i) * (needed - wrong)
        wrong = needed
        if right + wrong > guesses / canaries:  # neither ever falls
            return True
    return False


def epsilon_lower_bound_f_dp(
    correct, guesses, canaries=None, *, dp_delta=1e-5, delta=0.05, family=gaussian
):
    """A lower confidence bound of epsilon from one training with randomised membership, by the
    whole curve of a family of guarantees.

    Parameters
    ----------
    correct, guesses : int
        c' memberships were guessed (others left out), c of them rightly; c' fixed beforehand.
    canaries : int, optional
        m, how many memberships were drawn, guessed or not; None for `guesses`.
    dp_delta : float
        The delta at which epsilon is stated, in (0, 1).
    delta : float
        Probability, at most, that the bound lies above the true epsilon.
    family : callable
        A number above 0 in, a `Guarantee` out that is weaker the larger the number; by default mu
        of Gaussian differential privacy. ``lambda s: subsampled_gaussian(1 / s, q, T)`` for DP-SGD
        whose rate and steps are known, ``lambda e: approximate(e, dp_delta)`` for no assumption.

    Returns
    -------
    float
        epsilon(dp_delta) of the strongest guarantee of the family that is not `excluded`, 0 where
        the number 1e-6 is not; inf where all are, up to 10,000.

    Raises
    ------
    ValueError
        As `excluded`; a `dp_delta` outside (0, 1); a family that returns something else than a
        guarantee.

    Notes
    -----
    Mahloujifar, Melis and Chaudhuri 2024. The bound exceeds the epsilon of the strongest guarantee
    of the family that holds for the training with probability at most `delta`. Is the training's
    own guarantee in the family, then this is its epsilon; else it may be larger, and the bound is
    relative to the family. A single pair of epsilon and delta, as in `epsilon_lower_bound_one_run`,
    also allows attacks that no noise of this kind permits; the curve excludes them, so the same
    guesses give a larger bound. Taught in book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> round(epsilon_lower_bound_f_dp(90, 100, 1000), 2), epsilon_lower_bound_f_dp(52, 100)
    (2.46, 0.0)
    """
    counts = _guessed(correct, guesses, guesses if canaries is None else canaries)
    dp_delta, delta = checks.delta(dp_delta, "dp_delta"), checks.delta(delta)

    def compatible(strength):
        claim = family(strength)
        if not isinstance(claim, Guarantee):
            checks.fail("family", f"one that returns {type(claim).__name__}", "a Guarantee from it")
        return not _excluded(claim, *counts, delta)

    low, unit = 1e-3, 1.0
    if compatible(low):
        if compatible(SMALLEST):
            return 0.0
        unit = 0.0  # digits of a small number count from its first
        while compatible(low):
            low /= 2
    while not compatible(2 * low):
        low *= 2
        if low > 1e4:
            return float("inf")
    return float(family(_first(compatible, low, 2 * low, unit)).epsilon(dp_delta))


def _first(compatible, low, high, unit=1.0):
    """The least value that is compatible, from below, to three more digits than are ever printed,
    of what is at least `unit`.

    Guarantees are nested: what is private with a smaller value is with a larger one. So a value
    that is excluded excludes every smaller one, whichever crossing is found.
    """
    if compatible(low):
        return low
    while high - low > 1e-5 * max(unit, high):
        middle = (low + high) / 2
        low, high = (low, middle) if compatible(middle) else (middle, high)
    return low


def _guessed(correct, guesses, canaries):
    guesses = checks.integer("guesses", guesses, 1)
    correct = checks.integer("correct", correct, 0, high=guesses)
    return correct, guesses, checks.integer("canaries", canaries, guesses)
