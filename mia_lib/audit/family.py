"""The figures that a verdict may rest on: fixed before any score is set beside membership, and
corrected for their number.

For every attack that the observations permit: its AUC, its TPR at low false-positive rates that the
non-members resolve, its largest TPR - FPR over all thresholds, and, where coins decided, a lower
bound of epsilon. Attacks that put the records in the same order are one attack. Which they are, and
which rates, is read off the scores and the number of records alone, never off membership.
"""

import numpy as np
from scipy import stats

from mia_lib import bayes, metrics
from mia_lib.intervals import Estimate

FPRS = (0.1, 0.01, 0.001)  # at which true-positive rates are read off, where they are resolved
GUESSED = 0.2  # share of the records that the one-run bound guesses
AUC, TPR, ADVANTAGE, EPSILON = "AUC", "TPR", "TPR - FPR", "epsilon"
CHANCE = {AUC: 0.5, ADVANTAGE: 0.0, EPSILON: 0.0}


def merged(scores):
    """Attacks that put the records in the same order, together.

    Parameters
    ----------
    scores : dict of str to array (n,)

    Returns
    -------
    dict of str to list of str
        The first name of each order, and all names that share it.

    Examples
    --------
    >>> merged({"a": np.array([1.0, 2, 2]), "b": np.array([0, 8.0, 8]), "c": np.array([1.0, 2, 3])})
    {'a': ['a', 'b'], 'c': ['c']}
    """
    found = {}
    for name, score in scores.items():
        # What differs in the last digits alone is a tie.
        mantissa, exponent = np.frexp(score)
        rounded = np.ldexp(np.round(mantissa, 12), exponent)
        order = stats.rankdata(rounded, "dense").tobytes()
        found.setdefault(order, []).append(name)
    return {names[0]: names for names in found.values()}


def size(n_attacks, coins):
    """How many figures a family has at most: what the level is divided by.

    Examples
    --------
    >>> size(5, coins=False), size(5, coins=True)
    (30, 35)
    """
    return n_attacks * (2 + len(FPRS) + 1 + bool(coins))


def rates(n_nonmembers, level):
    """The low false-positive rates that so many non-members resolve, the smallest possible last.

    Parameters
    ----------
    n_nonmembers : int
    level : float
        Of one figure.

    Returns
    -------
    list of float
        Those of 10 %, 1 % and 0.1 % at which a lower limit of the TPR exists, and the smallest rate
        at which one does, if that is below one half.

    Examples
    --------
    >>> [round(rate, 4) for rate in rates(5000, 0.001)]
    [0.1, 0.01, 0.0017]
    """
    smallest = float(-np.expm1(np.log(level / 4) / n_nonmembers) * (1 + 1e-12))
    found = [rate for rate in FPRS if rate >= smallest]
    return found + ([smallest] if smallest < 0.5 else [])


def figures(scores, member, delta, coins, rng):
    """Every figure of the family with limits that hold together.

    Parameters
    ----------
    scores : dict of str to array (n,)
        Of records that are no copies of each other.
    member : bool array (n,)
    delta : float
        Probability, at most, that any limit of the family misses, half of it for each side.
    coins : bool
        Whether a fair coin decided for each record: then epsilon is bounded.
    rng : numpy.random.Generator
        Breaks ties of guesses.

    Returns
    -------
    list of dict
        "attack" (names that coincide), "what" (a key of `CHANCE`, or `TPR`), "rate" (None but for
        a TPR), "estimate" (`Estimate`), "chance" (what an attack reaches that knows nothing).

    Notes
    -----
    The level of one figure is delta / `size`. The limits of a TPR and of TPR - FPR hold at every
    number of records, those of the AUC are DeLong's on the scale of log-odds with Student's
    quantile, the bound of epsilon is that of Steinke et al. 2023, of the surest fifth of guesses.
    """
    attacks = merged(scores)
    level = delta / size(len(attacks), coins)
    low_rates = rates(int(np.count_nonzero(~member)), level)
    found = []
    for name, names in attacks.items():
        curve = metrics.roc(scores[name], member)
        sides = scores[name][member], scores[name][~member]
        found.append((names, AUC, None, curve.auc_interval(level)))
        found += [(names, TPR, rate, curve.tpr_at(rate, level)) for rate in low_rates]
        found.append((names, ADVANTAGE, None, bayes.threshold_advantage(*sides, delta=level)))
        if coins:
            found.append((names, EPSILON, None, _epsilon(scores[name], member, level, rng)))
    return [
        {
            "attack": names,
            "what": what,
            "rate": rate,
            "estimate": estimate,
            "chance": CHANCE.get(what, rate),
        }
        for names, what, rate, estimate in found
    ]


def guesses(score, member, rng):
    """How many of the surest fifth of guesses about membership are right, and how many they are.

    Ties are broken by chance: in the order of a file, which may be sorted by membership, every
    guess among ties would be right.

    Examples
    --------
    >>> guesses(np.arange(10.0), np.arange(10) >= 5, np.random.default_rng(0))
    (2, 2)
    """
    half = max(1, int(len(score) * GUESSED / 2))
    shuffled = rng.permutation(len(score))
    order = shuffled[np.argsort(score[shuffled], kind="stable")]
    return int((~member[order[:half]]).sum() + member[order[-half:]].sum()), 2 * half


def _epsilon(score, member, level, rng):
    """A lower bound, and what the bound would be if all guesses were right."""
    correct, made = guesses(score, member, rng)
    low = bayes.epsilon_lower_bound_one_run(correct, made, level / 2)
    return Estimate(low, low, bayes.epsilon_lower_bound_one_run(made, made, level / 2))
