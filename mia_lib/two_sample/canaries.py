"""Canaries: records that were made to be recognised, of which chance decided which to publish.

Taught in book/set_evidence.ipynb.
"""

from itertools import combinations
from math import comb

import numpy as np

from mia_lib import checks, privacy
from mia_lib.two_sample.permutation import TIE, TestResult, not_too_large


def canary_test(published, kept, *, paired=True, n_permutations=9999, rng=None):
    """Do the published canaries score higher than those that were kept back?

    Parameters
    ----------
    published : array (m,)
        Scores of the canaries that were published, larger meaning more likely a member.
    kept : array (m,), or (k,) where not paired
        Of those that were not.
    paired : bool
        True: canaries were made in pairs, kept[i] is the twin of published[i], and a fair coin for
        each pair decided. False: m of the m + k canaries were drawn.
    n_permutations : int
        Where chance had no more ways than these, all of them are looked at; else as many are
        drawn.
    rng : numpy.random.Generator, optional
        Draws them; None means fresh entropy.

    Returns
    -------
    TestResult
        Mean over the published minus mean over the others, and its one-sided p-value: the share of
        the 2^m signs (paired), or of the (m + k choose m) choices, with at least this difference.
        Where they are drawn, (1 + #) / (B + 1).

    Raises
    ------
    ValueError
        NaN, magnitudes above 1e300, pairs of different number, no canary; paired that is neither
        True nor False.

    Notes
    -----
    The level rests on the coins alone: not on the model, the data or how the scores depend on each
    other. p is at least 2^-m in pairs, so that four pairs never reject at 0.05, and 1 / (2 m choose
    m) where half of 2 m canaries were drawn. Taught in book/set_evidence.ipynb.

    Examples
    --------
    >>> canary_test([3.0, 4.0, 6.0, 5.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    TestResult(statistic=2.0, p_value=0.03125)
    """
    if not isinstance(paired, (bool, np.bool_)):
        checks.fail("paired", repr(paired), "True or False")
    published, kept = (
        checks.real_array("published", published, 1),
        checks.real_array("kept", kept, 1),
    )
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    for name, scores in (("published", published), ("kept", kept)):
        not_too_large(name, scores)
    m, k = len(published), len(kept)
    if paired and m != k:
        checks.fail("kept", f"{k} canaries", f"{m} twins, one of each published canary")
    exact = (2**m if paired else comb(m + k, m)) <= n_permutations
    if paired:
        gains = published - kept
        signs = _all_signs(m) if exact else rng.choice([-1.0, 1.0], (n_permutations, m))
        sums, observed = signs @ gains, gains.sum()
    else:
        gains = np.append(published, kept)
        gains = gains - gains.mean()
        z = _all_choices(m + k, m) if exact else _choices(m + k, m, n_permutations, rng)
        sums, observed = z @ gains, gains[:m].sum()
    reached = np.sum(~(sums < observed - TIE * (m + k) * max(np.abs(gains).max(), 1e-300)))
    p_value = reached / len(sums) if exact else (1 + reached) / (n_permutations + 1)
    return TestResult(float(published.mean() - kept.mean()), float(p_value))


def canary_power(mu, n_canaries, *, repetitions=1, alpha=0.05, paired=True):
    """The power of a test of canaries in a training by a Gaussian mechanism.

    Parameters
    ----------
    mu : float
        What the training guarantees for one record, as Gaussian differential privacy; above 0.
    n_canaries : int array_like
        Published canaries m, at least 1; as many are kept back.
    repetitions : int
        How often each published canary is in the training data, at least 1.
    alpha : float
        Level, in (0, 1).
    paired : bool
        A coin for each pair, or m of the 2 m canaries drawn.

    Returns
    -------
    float64 array, shaped as n_canaries
        Phi(Phi^-1(alpha) + repetitions mu sqrt(m / 2)); 0 where no p-value is as small as alpha.

    Raises
    ------
    ValueError
        Values out of range.

    Notes
    -----
    Exact for the best test of the mean difference where every canary has a direction of its own in
    what the mechanism releases, so that its score is N(repetitions mu, 1) if it was published and
    N(0, 1) if it was kept back, both moved by an unknown number that twins (or all canaries, where
    not paired) have in common. `canary_test` comes near it from about ten pairs on, where its
    2^m signs are many. An auditor who knows what a canary scores unpublished needs no twins, and
    half as many canaries: sqrt(m) instead of sqrt(m / 2). Dong, Roth and Su 2022. Taught in
    book/set_evidence.ipynb.

    Examples
    --------
    >>> print(canary_power(0.5, [4, 10, 50]).round(3))
    [0.    0.299 0.804]
    """
    mu = checks.number("mu", mu, 0, open_low=True)
    m = checks.real_array("n_canaries", n_canaries)
    wrong = (m < 1) | (m != np.round(m))
    if wrong.any():
        checks.fail("n_canaries", f"{m[wrong].flat[0]:g}", "whole numbers from 1 on")
    shift = mu * checks.integer("repetitions", repetitions, 1)
    alpha = checks.delta(alpha, "alpha")
    smallest = np.array([2.0**-n if paired else 1 / comb(2 * int(n), int(n)) for n in m.flat])
    power = [privacy.gaussian(shift * np.sqrt(n / 2)).tpr_at(alpha) for n in m.flat]
    return np.where(smallest <= alpha, power, 0.0).reshape(m.shape)[()]


def _all_signs(m):
    return 1.0 - 2.0 * ((np.arange(2**m)[:, None] >> np.arange(m)) & 1)


def _all_choices(n, m):
    rows = np.array(list(combinations(range(n), m)))
    found = np.zeros((len(rows), n))
    np.put_along_axis(found, rows, 1.0, axis=1)
    return found


def _choices(n, m, count, rng):
    return rng.permuted(np.broadcast_to(np.arange(n) < m, (count, n)), axis=1).astype(float)
