"""Other estimates of the advantage: v1's split, the sign-split without upward bias, and calibration
by permutation.

Taught in book/bayes.ipynb.
"""

import numpy as np

from mia_lib import checks, metrics
from mia_lib.bayes import samples
from mia_lib.bayes.generalized import fitted_posterior, generalized_advantage, heuristic_advantage
from mia_lib.bayes.histogram import Histogram, bin_edges
from mia_lib.intervals import Estimate

DRAWS = 1 << 21  # permuted counts held at a time


def split_advantage(member_signal, nonmember_signal, prior=0.5, bins=100, delta=0.05, rng=None):
    """v1's Algorithm 1: f_p fitted on one half, its absolute value averaged over the other. Kept to
    be looked at.

    Parameters
    ----------
    member_signal, nonmember_signal : array_like (N1,) or (N1, d), (N2,) or (N2, d)
        N1, N2 >= 3; N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1): the weight of members in the average.
    bins : int or edges
        As for `Histogram`.
    delta : float
        Probability, at most, that the limits miss the mean of abs(f) over fresh examples.
    rng : numpy.random.Generator, optional
        Splits the sample; None means fresh entropy.

    Returns
    -------
    Estimate
        The average, with Hoeffding's limits about it. They do **not** belong to the advantage.

    Raises
    ------
    ValueError
        As for `Histogram`.

    Notes
    -----
    MACE v1 Algorithm 1, with the absolute value that section 5.1 has and its step 5 has lost (the
    average of f itself estimates 2 p - 1 whatever leaks). While bins are filled its upward bias
    exceeds that of W_N, because only half the examples make the f_p whose absolute value is
    averaged. An example in a cell that the first half left empty counts as abs(2 p - 1). Taught in
    book/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> # the truth is 0
    >>> print(split_advantage(rng.normal(size=500), rng.normal(size=500), rng=rng))
    0.244 [0.183, 0.304]
    """
    p, delta, rng = checks.prior(prior), checks.delta(delta), checks.generator(rng)
    groups = samples.two_groups(member_signal, nonmember_signal, least=3)
    edges = bin_edges(np.concatenate(groups), bins)
    halves = [np.array_split(rng.permutation(group), 2) for group in groups]
    fitted = Histogram(halves[0][0], halves[1][0], p, edges)
    value, variance = 0.0, 0.0
    for (_, fresh), weight in zip(halves, (p, 1 - p)):
        value += weight * np.abs(2 * fitted_posterior(fitted, fresh) - 1).mean()
        variance += weight**2 / len(fresh)
    half = np.sqrt(np.log(2 / delta) * variance / 2)
    return Estimate(float(value), float(max(value - half, 0.0)), float(min(value + half, 1.0)))


def sign_split_advantage(
    member_signal, nonmember_signal, prior=0.5, bins=100, delta=0.05, rng=None
):
    """sign(f_p) fitted on one half, 2 accuracy - 1 on the other: an estimate without upward bias.

    Parameters
    ----------
    member_signal, nonmember_signal : array_like (N1,) or (N1, d), (N2,) or (N2, d)
        N1, N2 >= 3; N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int or edges
        As for `Histogram`.
    delta : float
        Probability, at most, that the limits miss.
    rng : numpy.random.Generator, optional
        Splits the sample; None means fresh entropy.

    Returns
    -------
    Estimate
        In [-1, 1]; its mean is at most the binned query's optimal advantage. The limits hold for
        the advantage of the fitted adversary and for the optimal one: Clopper-Pearson below, W_N +
        t above, delta / 2 each.

    Raises
    ------
    ValueError
        As for `Histogram`.

    Notes
    -----
    `generalized_advantage` for 2 ACC - 1, whose threshold is 1/2. A cell that the first half left
    empty is judged by the prior. Not cut at abs(2 p - 1), which any adversary has by guessing,
    since that would bring the bias back. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> # the truth is 0
    >>> print(sign_split_advantage(rng.normal(size=500), rng.normal(size=500), rng=rng))
    0.060 [-0.084, 0.292]
    """
    return generalized_advantage(
        metrics.advantage(), member_signal, nonmember_signal, prior, bins, delta, rng
    )


def held_out_advantages(signals, member, prior=0.5, *, bins=100, n_splits=20, score=None, rng=None):
    """Several queries, each fitted on one half and judged on the other, over the same halves.

    Parameters
    ----------
    signals : dict of str to (n,) or (n, d) array
        The queries, of the same records.
    member : (n,) boolean array
        At least four members and four others.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int
        Cells an axis, cut anew on each half that is fitted to.
    n_splits : int
        Random splits that are averaged over, at least 1. Each halves the groups by themselves.
    score : (n,) array, optional
        Further scores, larger for members, for the entry "heuristic": the adversary that calls the
        highest of the half that is judged members and knows what share they are.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    dict of str to float
        2 accuracy - 1 of each query's adversary, in [-1, 1], without upward bias.

    Raises
    ------
    ValueError
        As for `Histogram`; a query of another length, a group that is too small; no query and no
        score, a query named "heuristic" beside a score.

    Notes
    -----
    As `sign_split_advantage`, so that the halves cancel in the difference of two entries. A record
    in a cell that the first half left empty is called a member where p > 1/2, and nobody
    is where that half has no cell: `half_advantages` has cells of equal mass and loses less.
    Taught in book/mace_replicated.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(400) < 100
    >>> signals = {"leak": rng.normal(size=400) + 2 * member, "noise": rng.normal(size=400)}
    >>> found = held_out_advantages(signals, member, bins=10, rng=rng)
    >>> found["leak"] > 0.5 > 0.1 > abs(found["noise"])
    True
    """
    p, rng = checks.prior(prior), checks.generator(rng)
    checks.integer("n_splits", n_splits, 1)
    named, member, score = samples.of_records(signals, member, score, ("heuristic",))
    if score is not None:
        named = named | {"heuristic": score}
    found = {name: [] for name in named}
    for fit in samples.halves(member, n_splits, rng):
        for name, signal in named.items():
            judged = signal[member & ~fit], signal[~member & ~fit]
            if name == "heuristic" and score is not None:
                gain = heuristic_advantage(metrics.advantage(), *judged, prior=p)
            else:
                query = Histogram(signal[member & fit], signal[~member & fit], p, bins)
                called = [np.nan_to_num(query.risk(part), nan=2 * p - 1) > 0 for part in judged]
                gain = 2 * (p * called[0].mean() + (1 - p) * (1 - called[1].mean())) - 1
            found[name].append(gain)
    return {name: float(np.mean(gains)) for name, gains in found.items()}


def permutation_p_value(
    member_signal, nonmember_signal, prior=0.5, *, bins=100, n_permutations=999, rng=None
):
    """Permutation test of "the binned query is distributed alike for members and non-members" by
    W_N.

    Parameters
    ----------
    member_signal, nonmember_signal : array_like (N1,) or (N1, d), (N2,) or (N2, d)
    prior : float
        p = Pr(member), in (0, 1). Away from N1 : N2 = p : 1 - p it weighs the groups unequally, and
        where one outweighs the other in every cell W_N is abs(2 p - 1) whatever the labels: test
        with prior = 0.5.
    bins : int or edges
        As for `Histogram`; a count of bins is fine here.
    n_permutations : int
        B >= 1; the smallest p-value is 1 / (B + 1).
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    float
        (1 + number of permuted W_N that reach the observed one) / (B + 1).

    Raises
    ------
    ValueError
        As for `Histogram`; n_permutations below 1.

    Notes
    -----
    Exact at any sample size and any number of bins if the examples of both groups are exchangeable
    when nothing leaks. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> permutation_p_value(rng.normal(size=500) + 1, rng.normal(size=500), rng=rng)
    0.001
    """
    n_permutations = checks.integer("n_permutations", n_permutations, 1)
    rng = checks.generator(rng)
    query = Histogram(member_signal, nonmember_signal, prior, bins)
    observed = _w(query.member_count, query)
    reached = (_permuted(query, n_permutations, rng) >= observed - 1e-12).sum()
    return float((1 + reached) / (n_permutations + 1))


def _w(member_count, query):
    """W_N for member counts (..., cells) that share the pooled counts of `query`."""
    nonmember_count = query.member_count + query.nonmember_count - member_count
    gap = (
        query.prior * member_count / query.n_member
        - (1 - query.prior) * nonmember_count / query.n_nonmember
    )
    return np.abs(gap).sum(axis=-1)


def _permuted(query, n_permutations, rng):
    pooled = query.member_count + query.nonmember_count
    values = np.empty(n_permutations)
    block = max(1, DRAWS // pooled.size)
    for start in range(0, n_permutations, block):
        size = min(block, n_permutations - start)
        drawn = rng.multivariate_hypergeometric(
            pooled, query.n_member, size=size, method="marginals"
        )
        values[start : start + size] = _w(drawn, query)
    return values
