"""Binned queries in any dimension: plug-in f_p, Clopper-Pearson limits, and the advantage W_N.

Only occupied cells are stored, so 100^d bins cost what the examples cost.

Taught in book/bayes.ipynb.
"""

import math

import numpy as np

from mia_lib import checks, intervals
from mia_lib.bayes import risk, samples
from mia_lib.intervals import Estimate


def bin_edges(signal, bins):
    """The edges of every axis: equal bins between smallest and largest value, or the edges that
    were given.

    Parameters
    ----------
    signal : array_like (n,) or (n, d)
        Both groups together, so that the edges know nothing about membership.
    bins : int, or edges; for d > 1 one int, or d entries each of which is an int or edges
        A count of equal bins from the smallest to the largest value, or increasing edges, of which
        the first may be -inf and the last inf.

    Returns
    -------
    list of d float64 arrays (bins + 1,)

    Raises
    ------
    ValueError
        A count below 1, a constant signal with a count, edges that do not increase or number fewer
        than two.

    Examples
    --------
    >>> bin_edges([0.0, 1.0, 4.0], 2)
    [array([0., 2., 4.])]
    """
    signal = checks.real_array("signal", signal, ndim=(1, 2))
    signal = signal[:, None] if signal.ndim == 1 else signal
    dimension = signal.shape[1]
    if not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0:
        bins = [bins] * dimension
    elif dimension == 1 and len(bins) != 1:
        bins = [bins]
    if len(bins) != dimension:
        checks.fail("bins", f"{len(bins)} entries", f"one for each of the {dimension} axes")
    edges = []
    for axis, entry in enumerate(bins):
        where = "" if dimension == 1 else f" on axis {axis}"
        if np.ndim(entry) == 0:
            count = checks.integer("bins", entry, 1)
            low, high = signal[:, axis].min(), signal[:, axis].max()
            # Halves first: the range of float64 values may exceed the largest float64.
            edge = 2 * np.linspace(low / 2, high / 2, count + 1)
            edge[0], edge[-1] = low, high
            if (np.diff(edge / 2) <= 0).any():
                checks.fail(
                    "member_signal, nonmember_signal",
                    f"a constant signal{where}, {low:g} to {high:g}",
                    f"values far enough apart for {count} bins, or the edges in `bins`",
                )
        else:
            edge = checks.real_array("bins", entry, ndim=1, finite=False).copy()
            if edge.size < 2 or (edge[1:] <= edge[:-1]).any():
                checks.fail("bins", f"edges {edge}{where}", "at least two edges that increase")
        edges.append(edge)
    return edges


def _positions(signal, edges):
    """The bin of every entry of one axis: [e_i, e_{i+1}), the last one closed, -1 outside."""
    position = np.searchsorted(edges, signal, side="right") - 1
    last = edges.size - 2
    position[signal == edges[-1]] = last
    position[position > last] = -1
    return position


class Histogram:
    """The Bayes-optimal adversary against a binned query.

    Parameters
    ----------
    member_signal : array_like (N1,) or (N1, d)
        The signal of members, N1 >= 2.
    nonmember_signal : array_like (N2,) or (N2, d)
        The signal of non-members, N2 >= 2. N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1).
    bins : int, or edges; for d > 1 one int, or d entries each of which is an int or edges
        A count gives equal bins from the smallest to the largest signal of both groups. Of given
        edges the first may be -inf and the last inf. Bins are closed on the left, the last on both
        sides.

    Attributes
    ----------
    edges : list of d arrays
    n_cells : int
        k, the product of the bin counts, occupied or not.
    member_count, nonmember_count : int64 arrays (cells that hold an example,)
    n_member, n_nonmember : int
    prior : float

    Raises
    ------
    ValueError
        NaN, fewer than two examples in a group, different dimensions, a constant signal with a
        count of bins, a count below 1, bad edges, examples outside given edges, a prior outside (0,
        1).

    Notes
    -----
    MACE v1 section 5.1.1, v2 section 4.1.1. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> query = Histogram([0.1, 0.2, 0.9, 0.8], [0.1, 0.2, 0.3, 0.9], bins=[0, 0.5, 1])
    >>> query.risk([0.4, 0.6, 2.0])
    array([-0.2       ,  0.33333333,         nan])
    """

    def __init__(self, member_signal, nonmember_signal, prior=0.5, bins=100):
        member, nonmember = samples.two_groups(member_signal, nonmember_signal)
        self.prior = checks.prior(prior)
        self.n_member, self.n_nonmember = len(member), len(nonmember)
        pooled = np.concatenate([member, nonmember])
        self.edges = bin_edges(pooled, bins)
        self.n_cells = math.prod(edge.size - 1 for edge in self.edges)

        # Cell numbers are made axis by axis and renumbered after each, so that 100^d never
        # overflows: after an axis there are at most N of them. `_keys` keeps every renumbering for
        # the queries to follow.
        self._keys = []
        cell = np.zeros(len(pooled), dtype=np.int64)
        for axis, edge in enumerate(self.edges):
            position = _positions(pooled[:, axis], edge)
            if (position < 0).any():
                checks.fail(
                    "member_signal, nonmember_signal",
                    f"{(position < 0).sum()} of {len(pooled)} examples "
                    f"outside [{edge[0]:g}, {edge[-1]:g}]",
                    "edges that hold all (-inf and inf are allowed)",
                )
            keys, cell = np.unique(cell * (edge.size - 1) + position, return_inverse=True)
            self._keys.append(keys)
        occupied = self._keys[-1].size
        self.member_count = np.bincount(cell[: self.n_member], minlength=occupied)
        self.nonmember_count = np.bincount(cell[self.n_member :], minlength=occupied)

    def cells(self, signal):
        """The occupied cell that each signal falls into.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)

        Returns
        -------
        int64 array (m,)
            Index into `member_count`; -1 where neither group has a count, or outside the edges.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension.

        Examples
        --------
        >>> Histogram([0.0, 1.0], [0.0, 2.0], bins=2).cells([0.5, 1.5, 3.0])
        array([ 0,  1, -1])
        """
        signal = samples.queries(signal, len(self.edges))
        cell = np.zeros(len(signal), dtype=np.int64)
        for axis, (edge, keys) in enumerate(zip(self.edges, self._keys)):
            position = _positions(signal[:, axis], edge)
            key = np.where((cell < 0) | (position < 0), -1, cell * (edge.size - 1) + position)
            place = np.minimum(np.searchsorted(keys, key), keys.size - 1)
            cell = np.where(keys[place] == key, place, -1)
        return cell

    def likelihoods(self, signal):
        """P(signal's cell | member) and P(signal's cell | non-member), as observed.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)

        Returns
        -------
        member, nonmember : float64 arrays (m,)
            Fractions c / N1 and c / N2.

        Examples
        --------
        >>> Histogram([0.0, 1.0], [0.0, 2.0], bins=[0, 1, 2]).likelihoods([0.5])
        (array([0.5]), array([0.5]))
        """
        member, nonmember = self._counts(signal)
        return member / self.n_member, nonmember / self.n_nonmember

    def likelihood_box(self, signal, delta=0.05):
        """Limits of both likelihoods that hold together with probability 1 - delta at each signal.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)
        delta : float
            Half of it goes to each likelihood.

        Returns
        -------
        member_low, member_high, nonmember_low, nonmember_high : float64 arrays (m,)
            Two-sided Clopper-Pearson limits at delta / 2. Where no example fell, [0, the limit for
            no success].

        Notes
        -----
        The box that MACE's Lemma 7 (v1 Lemma 9) asks for. Taught in book/generalized_metrics.ipynb.

        Examples
        --------
        >>> box = Histogram([0.0, 1.0], [0.0, 2.0], bins=2).likelihood_box([0.5])
        >>> [f"{limit[0]:.3f}" for limit in box]
        ['0.006', '0.994', '0.006', '0.994']
        """
        delta = checks.delta(delta)
        cell = self.cells(signal)
        limits = []
        for count, total in (
            (self.member_count, self.n_member),
            (self.nonmember_count, self.n_nonmember),
        ):
            # One evaluation per distinct count: signals share cells, and cells share counts. The 0
            # is for empty cells.
            distinct, back = np.unique(np.append(count, 0), return_inverse=True)
            for side in intervals.clopper_pearson(distinct, total, delta / 2):
                limits.append(side[back][cell])  # cell -1 is the appended 0
        return tuple(limits)

    def risk(self, signal):
        """f_p: the Bayes-optimal adversary's conviction that a signal is a member's.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)

        Returns
        -------
        float64 array (m,)
            (p P - (1 - p) Q) / (p P + (1 - p) Q) in [-1, 1]; positive: more likely a member; (1 +
            f_p) / 2 is the posterior. NaN where neither group has a count, and outside the edges.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension.

        Notes
        -----
        MACE v1 eq. 10, v2 eq. 8. The individual privacy risk is its absolute value. A cell that
        only one group hits gives 1 or -1, however few the counts: look at `risk_interval`. Taught
        in book/bayes.ipynb.

        Examples
        --------
        >>> Histogram([0.0, 0.1, 1.0], [0.0, 0.9, 1.0], bins=2).risk([0.2, 0.8])
        array([ 0.33333333, -0.33333333])
        """
        return risk.risk(*self.likelihoods(signal), self.prior)

    def risk_interval(self, signal, delta=0.05):
        """Interval of f_p at each signal.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)
        delta : float
            Probability, at most, that the interval of one given signal misses f_p of its cell.

        Returns
        -------
        low, high : float64 arrays (m,)
            (-1, 1) where the risk is NaN.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension, delta outside (0, 1).

        Notes
        -----
        MACE v1 Lemma 6, v2 Lemma 5, with "delta/2-CP" read as a two-sided interval at delta / 2 for
        each of p_j and q_j, so that the union bound gives 1 - delta. Very conservative: it misses
        only where one of two limits fails on its own side, and by enough. Valid cell by cell, not
        for all cells at once (see `membership_privacy`). Taught in book/bayes.ipynb.

        Examples
        --------
        >>> Histogram([0.0, 1.0], [0.0, 1.0], bins=2).risk_interval([5.0])
        (array([-1.]), array([1.]))
        """
        return risk.risk_bounds(*self.likelihood_box(signal, delta), self.prior)

    def advantage(self, delta=0.05):
        """W_N, and limits of the binned query's optimal advantage.

        Parameters
        ----------
        delta : float
            Probability, at most, that the limits miss.

        Returns
        -------
        Estimate
            W_N = sum over cells of abs(p P - (1 - p) Q), in [abs(2 p - 1), 1], with
            [W_N - t - sqrt((k - 1) v), W_N + t], cut to the same range, where v = p^2 / N1 + (1 -
            p)^2 / N2 and t = sqrt(2 v log(2 / delta)).

        Raises
        ------
        ValueError
            delta outside (0, 1).

        Notes
        -----
        MACE v2 Theorem 2. W_N is biased upwards (Jensen), by up to sqrt((k - 1) v), and McDiarmid's
        t bounds its distance from its own mean: W_N + t is an upper limit, W_N - t is none, which
        is why the lower limit is lowered by the largest possible bias. The formula printed in the
        paper holds for N1 = N p only; this one for any N1, N2.

        What is claimed. The target is the advantage of the optimal adversary that sees the cell and
        nothing else, for fresh examples of both populations; an adversary that sees the unbinned
        signal can do better. Examples are independent draws (draws from a finite set without
        replacement only make the limits safer). k counts all cells, empty ones too, and they have
        to be fixed before the data are seen: the limits are exact for given edges. With a count of
        bins the outer edges are the extremes of the pooled sample. The limits then hold given these
        two examples, for the other N - 2, and so up to terms of order 1 / N. Values beyond the
        edges belong to no cell: with given finite edges the claim is about signals inside. Taught
        in book/bayes.ipynb.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> print(Histogram(rng.random(5000), rng.random(5000) ** 2, bins=20).advantage())
        0.244 [0.173, 0.271]
        """
        t = intervals.mcdiarmid(self.n_member, self.n_nonmember, self.prior, delta=delta)
        p = self.prior
        value = np.abs(
            p * self.member_count / self.n_member
            - (1 - p) * self.nonmember_count / self.n_nonmember
        ).sum()
        v = p**2 / self.n_member + (1 - p) ** 2 / self.n_nonmember
        # From 1 / v cells on the bias bound exceeds 1, and k itself may exceed the largest float.
        bias = math.sqrt((self.n_cells - 1) * v) if self.n_cells < 1 + 1 / v else 1.0
        least = risk.trivial_advantage(p)
        value = min(max(float(value), least), 1.0)
        return Estimate(value, max(value - t - bias, least), min(value + t, 1.0))

    def _counts(self, signal):
        """Counts of both groups in each signal's cell, (m,) each."""
        cell = self.cells(signal)
        return tuple(
            np.append(count, 0)[cell] for count in (self.member_count, self.nonmember_count)
        )
