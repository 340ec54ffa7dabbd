"""Use cases: (alpha, p)-membership privacy, a certificate for a query, several side by side, the
most exposed examples.

Taught in book/bayes.ipynb.
"""

import warnings
from typing import NamedTuple

import numpy as np

from mia_lib import checks, intervals
from mia_lib.bayes import cells, risk, samples
from mia_lib.bayes.estimators import permutation_p_value, sign_split_advantage
from mia_lib.bayes.histogram import Histogram
from mia_lib.bayes.kernel_density import KernelDensity
from mia_lib.bayes.threshold import threshold_advantage
from mia_lib.intervals import Estimate

FEW = 100  # examples of a group, with fewer of which a density's far limits are no limits


def membership_privacy(query, delta=0.05):
    """The smallest alpha for which a binned query is (alpha, p)-membership private, with limits.

    Parameters
    ----------
    query : Histogram
    delta : float
        Probability, at most, that the limits miss.

    Returns
    -------
    Estimate
        max of abs(f_p) over the cells that hold an example, with limits from intervals that hold
        for all k cells together (Bonferroni, delta / k each). The upper limit is 1 as soon as a
        cell is empty.

    Raises
    ------
    ValueError
        Anything but a `Histogram` (a kernel density's f_p tends to 1 or -1 far out: its alpha is 1
        and says nothing); delta outside (0, 1).

    Notes
    -----
    MACE Definition 8 (v1 Definition 3): abs(f_p(z)) <= alpha for every z. By Lemma 9 (v1 Lemma 4)
    the advantage is at most alpha; it can be far smaller. The plug-in is 1 when any cell was hit by
    one group only. Taught in book/generative.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> print(membership_privacy(Histogram(rng.random(5000), rng.random(5000) ** 2, bins=4)))
    0.321 [0.273, 0.391]
    """
    if not isinstance(query, Histogram):
        checks.fail("query", type(query).__name__, "a Histogram")
    # 100^d cells may make delta / k underflow; the smallest normal float only widens the interval's
    # rivals.
    each = max(checks.delta(delta) / min(query.n_cells, 10**300), 1e-300)
    p = query.prior
    value = np.abs(
        risk.risk(query.member_count / query.n_member, query.nonmember_count / query.n_nonmember, p)
    ).max()
    box = (
        *intervals.clopper_pearson(query.member_count, query.n_member, each / 2),
        *intervals.clopper_pearson(query.nonmember_count, query.n_nonmember, each / 2),
    )
    low, high = risk.risk_bounds(*box, p)
    least = max(np.maximum(low, -high).max(), risk.trivial_advantage(p))
    most = np.maximum(-low, high).max() if query.member_count.size == query.n_cells else 1.0
    return Estimate(float(value), float(least), float(most))


class Certificate(NamedTuple):
    """What can be said about one query of one model on one sample; see `certificate`.

    Taught in book/bayes.ipynb.

    Parameters
    ----------
    advantage : Estimate
        W_N with limits of the binned query's optimal advantage.
    sign_split : Estimate
        The estimate without upward bias; its lower limit is usually the better one.
    p_value : float
        Permutation test at prior 1/2 of "nothing leaks through the binned query".
    privacy : Estimate
        alpha of (alpha, p)-membership privacy.
    trivial : float
        abs(2 p - 1), what guessing has.
    threshold : Estimate or None
        `threshold_advantage`: the best threshold on the signal, or on the score where the query has
        several numbers. None for given edges in several dimensions, where there is no score.
    """

    advantage: Estimate
    sign_split: Estimate
    p_value: float
    privacy: Estimate
    trivial: float
    threshold: Estimate | None


def certificate(
    member_signal,
    nonmember_signal,
    prior=0.5,
    *,
    bins=100,
    delta=0.05,
    n_permutations=999,
    rng=None,
):
    """All that this package can say about a binned query.

    Parameters
    ----------
    member_signal, nonmember_signal : array_like (N1,) or (N1, d), (N2,) or (N2, d)
        N1, N2 >= 5, or 3 with edges.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int or edges
        A number k of bins: at most k cells of equal mass but for ties, whose edges are values of a
        random quarter of the records, and the other records are judged. For d > 1 a score is fitted
        on a random half, which also gives the edges, and the other half is judged by it. Or edges
        as for `Histogram`, chosen without these examples: all records are judged.
    delta : float
        For each of the four intervals by itself.
    n_permutations : int
        For the p-value.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        As for `Histogram`; too few examples; for d > 1 a list with a number among its entries.

    Notes
    -----
    MACE v1 section 8, v2 section 10. It certifies this model, this query, these bins and examples
    like these. It bounds no other query, no finer bins, and says nothing of an adversary that sees
    the unbinned signal; `threshold` alone needs no bins, and bounds every adversary that compares
    the signal with one threshold. For d > 1 every upper limit is one of this score, not of every
    adversary: another score may find more. With a number of bins the certificate depends on the
    order of the values alone and is unchanged under maps that keep distinct values distinct and in
    order. So cross-entropy and logit confidence, one ranking on two scales, cannot contradict each
    other as they do in bins of equal width. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> paper = certificate(rng.random(5000) ** 2, rng.random(5000), bins=20, rng=rng)
    >>> print(paper.sign_split, paper.p_value, paper.threshold)
    0.241 [0.190, 0.284] 0.001 0.257 [0.221, 0.284]
    """
    rng = checks.generator(rng)
    groups = samples.two_groups(member_signal, nonmember_signal)
    dimension = groups[0].shape[1]
    ordered = groups if dimension == 1 else None  # what a threshold can be laid on
    if not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0:
        count = checks.integer("bins", bins, 1)
        share = cells.SHARE_OF_EDGES if dimension == 1 else 0.5
        kept, groups = cells.split(*groups, share, rng)
        if dimension > 1:
            score = cells.score(*kept, rng)
            kept, groups = ([score(group) for group in pair] for pair in (kept, groups))
            ordered = groups
        bins = cells.equal_mass(np.concatenate(kept), count)
    elif dimension > 1 and any(np.ndim(entry) == 0 for entry in bins):
        checks.fail("bins", "a number of bins for an axis", "one number, or edges for every axis")
    query = Histogram(*groups, prior, bins)
    return Certificate(
        query.advantage(delta),
        sign_split_advantage(*groups, prior, bins, delta, rng),
        permutation_p_value(*groups, 0.5, bins=bins, n_permutations=n_permutations, rng=rng),
        membership_privacy(query, delta),
        risk.trivial_advantage(query.prior),
        None if ordered is None else threshold_advantage(*ordered, prior, delta),
    )


def compare_queries(signals, prior=0.5, bins=100, *, delta=0.05, n_permutations=999, rng=None):
    """Certificates of several queries, or of one query to several models, whose intervals hold
    together.

    Parameters
    ----------
    signals : dict of str to (member_signal, nonmember_signal)
        m entries. The examples may be the same or others.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int, edges, or dict of str to one of these
        As for `certificate`; the same for all, or by name.
    delta : float
        Probability, at most, that the limits of one kind (`advantage`, say) miss for any entry:
        each gets delta / m.
    n_permutations : int
        For the p-values, which are not adjusted.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    dict of str to Certificate
        In the order given. Where the `advantage` limits of two entries do not overlap, their order
        is established.

    Raises
    ------
    ValueError
        No entry, an entry that is not a pair, a query without bins; as for `Histogram`.

    Notes
    -----
    MACE v1 section 8, v2 section 10. Advantages compare only at one prior and with equally fine
    bins: finer ones see more and have more bias. The records that become edges are the same for
    all entries of equal sizes, so that one query read on two increasing scales gets one
    certificate. Run in notebooks/bayes.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, leak = rng.random((2, 2000)), (rng.random(2000) ** 2, rng.random(2000))
    >>> found = compare_queries({"noise": noise, "leak": leak}, bins=10, rng=rng)
    >>> found["noise"].advantage.high < found["leak"].advantage.low
    True
    """
    if (
        not isinstance(signals, dict)
        or not signals
        or any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in signals.values())
    ):
        checks.fail(
            "signals",
            repr(type(signals).__name__),
            "a dict of name to (member_signal, nonmember_signal)",
        )
    lacking = [name for name in signals if name not in bins] if isinstance(bins, dict) else []
    if lacking:
        checks.fail("bins", f"a dict without {lacking[0]!r}", "an entry for every query")
    seed = int(checks.generator(rng).integers(2**63))
    each = checks.delta(delta) / len(signals)
    return {
        name: certificate(
            *pair,
            prior,
            bins=bins[name] if isinstance(bins, dict) else bins,
            delta=each,
            n_permutations=n_permutations,
            rng=np.random.default_rng(seed),
        )
        for name, pair in signals.items()
    }


def most_exposed(query, signal, delta=0.05):
    """Examples in the order in which their membership shows, surest first.

    Parameters
    ----------
    query : Histogram or KernelDensity
    signal : array_like (n,) or (n, d)
        Of members whose exposure is to be ranked.
    delta : float
        For each interval of f_p.

    Returns
    -------
    int64 array (n,)
        Indices by falling lower limit of f_p, then by falling f_p: an example is not ranked first
        because its cell holds a single member. Examples outside the support come last.

    Raises
    ------
    ValueError
        As for `query.risk_interval`.

    Notes
    -----
    MACE v2 section 10, "training set samples that are particularly vulnerable". Run in
    notebooks/bayes.ipynb.

    Examples
    --------
    >>> query = Histogram([0.1] + [0.5] * 40 + [0.9] * 9, [0.5] * 5 + [0.9] * 40,
    ...     bins=[0, 0.2, 0.6, 1])
    >>> query.risk([0.1, 0.5, 0.9])
    array([ 1.        ,  0.75609756, -0.66320166])
    >>> most_exposed(query, [0.1, 0.5, 0.9])
    array([1, 2, 0])
    """
    low, _ = query.risk_interval(signal, delta)
    return np.lexsort((-np.nan_to_num(query.risk(signal), nan=-2.0), -low))


def sure_risk(query, signal, delta=0.05):
    """How large abs(f_p) of each example is at least, for all of them at once.

    Parameters
    ----------
    query : Histogram or KernelDensity
    signal : array_like (n,) or (n, d)
        Of members or non-members.
    delta : float
        Probability, at most, that any of the n statements is false. That is so for a `Histogram`;
        for a `KernelDensity` it is nominal, see the notes.

    Returns
    -------
    float64 array (n,)
        In [0, 1]; 0 where nothing is sure. Compare it with `dp_ceiling`.

    Raises
    ------
    ValueError
        As for `query.risk_interval`.

    Warns
    -----
    UserWarning
        A `KernelDensity` with fewer than 100 examples in a group.

    Notes
    -----
    Each interval of f_p is given delta / n (Bonferroni). Those of a `KernelDensity` are asymptotic,
    and at delta / n it is their far tail that is asked for. In one dimension, with Scott's
    bandwidth and signals of one law for both groups, some statement about a member was false in at
    most 8 % of simulated samples with 100 non-members (2,000 members, delta 0.05), and in up to 75
    % with 20, where a fifth of the samples had an abs(f_p) of "at least 0.99". So a warning is
    given where a group has fewer than 100 examples. In three dimensions it was 15 % with 100
    non-members, and in ten every sample, even with 1,000 in both groups. Used in
    notebooks/gan.ipynb.

    Examples
    --------
    >>> query = Histogram([0.1] * 2 + [0.9] * 200, [0.1] * 3 + [0.5] * 200, bins=[0, 0.3, 0.7, 1])
    >>> sure_risk(query, [0.1, 0.5, 0.9]).round(2)
    array([0.  , 0.94, 0.95])
    """
    signal = checks.real_array("signal", signal, ndim=(1, 2), empty=True)
    fewest = min(query.n_member, query.n_nonmember)
    if isinstance(query, KernelDensity) and fewest < FEW:
        told = f"a kernel density with {fewest} examples in a group: delta is nominal only"
        warnings.warn(told, stacklevel=2)
    low, high = query.risk_interval(signal, checks.delta(delta) / max(len(signal), 1))
    return np.maximum(np.maximum(low, -high), 0.0)
