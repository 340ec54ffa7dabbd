"""The ROC of an attack, what is read off it, and how sure that is.

One target model gives scores (n,), and its entries are independent. Several targets that were
trained on parts of the same examples give scores (S, n) that are pooled into one ROC: entries of
one example, or of one model, then depend on each other, and intervals come from a bootstrap that
draws whole examples and is stretched for the models.

Taught in book/membership_game.ipynb.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from mia_lib import checks, intervals
from mia_lib.intervals import Estimate
from mia_lib.metrics import pooled, resolution

N_RESAMPLES = 1000
BLOCK = 1 << 20  # weights and false positives that the bootstrap holds at a time


def roc(scores, member):
    """The ROC of scores: one point per distinct score, no interpolation.

    Parameters
    ----------
    scores : array_like (n,) or (S, n)
        The attack's output; larger means more likely a member. -inf is allowed and ranks last.
    member : boolean array_like, same shape
        The truth. (S, n) pools S targets, column i being example i.

    Returns
    -------
    Roc
        The curve, its area, and the methods that give intervals.

    Raises
    ------
    ValueError
        Shapes that differ, NaN or +inf, members only or non-members only.

    Notes
    -----
    An example is called a member where its score is at least the threshold. Carlini et al. 2022,
    section III-B. Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> curve = roc([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    >>> curve.fpr, curve.tpr, curve.auc
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]), 0.875)
    """
    scores = checks.real_array("scores", scores, ndim=(1, 2), finite=False)
    if np.isposinf(scores).any():
        # The first threshold is +inf, above every score, so that the curve starts at (0, 0).
        checks.fail(
            "scores",
            f"{np.isposinf(scores).sum()} of +inf",
            "finite scores, or -inf for the least likely",
        )
    member = checks.boolean_array("member", member, shape=scores.shape)
    checks.both_groups("member", member)

    flat, is_member = scores.ravel(), member.ravel()
    order = np.argsort(-flat, kind="stable")
    flat, is_member = flat[order], is_member[order]
    last_of_tie = np.append(np.flatnonzero(flat[1:] != flat[:-1]), flat.size - 1)
    tp = np.append(0, np.cumsum(is_member)[last_of_tie])
    fp = np.append(0, np.cumsum(~is_member)[last_of_tie])
    n1, n0 = int(tp[-1]), int(fp[-1])
    tpr, fpr = tp / n1, fp / n0
    twice_pairs = int((np.diff(fp) * (tp[1:] + tp[:-1])).sum())
    return Roc(
        fpr=fpr,
        tpr=tpr,
        thresholds=np.append(np.inf, flat[last_of_tie]),
        auc=twice_pairs / (2 * n1 * n0),
        balanced_accuracy=float((1 + tpr - fpr).max() / 2),
        fpr_floor=1 / n0,
        n_members=n1,
        n_nonmembers=n0,
        shape=scores.shape,
        member_scores=flat[is_member],
        nonmember_scores=flat[~is_member],
        member_entries=order[is_member],
        nonmember_entries=order[~is_member],
    )


@dataclass(frozen=True, eq=False)
class Roc:
    """The ROC of an attack; made by `roc`.

    Parameters
    ----------
    fpr, tpr : float64 arrays (m + 1,)
        False- and true-positive rates, from (0, 0) to (1, 1), for m distinct scores.
    thresholds : float64 array (m + 1,)
        Called a member: score >= threshold. The first is +inf.
    auc : float
        Pr(score of a member > score of a non-member), ties counted half (Mann and Whitney).
    balanced_accuracy : float
        The largest (TPR + 1 - FPR) / 2 over all thresholds. The threshold is chosen on the
        evaluated scores themselves, so it flatters the attack.
    fpr_floor : float
        1 / non-members, the smallest false-positive rate above 0 that the data can show.
    n_members, n_nonmembers : int
        How many entries there are of each.
    shape : tuple
        Shape of the scores.
    member_scores, nonmember_scores : float64 arrays
        The scores of each side, descending.
    member_entries, nonmember_entries : int arrays
        Where these lie in the flattened scores.

    Notes
    -----
    Taught in book/membership_game.ipynb.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray
    auc: float
    balanced_accuracy: float
    fpr_floor: float
    n_members: int
    n_nonmembers: int
    shape: tuple
    member_scores: np.ndarray = field(repr=False)
    nonmember_scores: np.ndarray = field(repr=False)
    member_entries: np.ndarray = field(repr=False)
    nonmember_entries: np.ndarray = field(repr=False)

    def tpr_at(self, fpr, delta=0.05, groups=None, rng=None):
        """ROC(fpr): the largest TPR of any threshold with FPR <= fpr, and its interval.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1], for example 0.001 for 0.1 %.
        delta : float
            Probability that the interval misses the truth, of infinitely many such examples and
            models: at most (one target), about (pooled, where `resolvable`).
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column. Scores (S, n) name the model of an
            entry by their row. Flattened scores name none: then models are taken to differ by
            nothing but chance, and the interval is too short where one shifts all its scores.
        rng : numpy.random.Generator, optional
            For the bootstrap. None means fresh entropy.

        Returns
        -------
        Estimate
            In [0, 1]. The value is read off the curve, without interpolation. Where fpr is not
            `resolvable` the lower end is 0, and of pooled scores the upper end is not promised.

        Raises
        ------
        ValueError
            fpr outside [0, 1], delta outside (0, 1), groups of another shape, a single group.

        Notes
        -----
        Where every group has one entry, the interval holds for any distribution of the scores: see
        `metrics.resolution.strict_rank` and `lax_rank`. Otherwise a percentile bootstrap of 1,000
        resamples draws whole groups, scores fixed. Both its sides are stretched by
        sqrt(1 + variance between models / variance between examples), to first order, and the lower
        side by `metrics.pooled.skewness`, because a sample without the rare hard examples
        overstates the attack.

        Examples
        --------
        >>> curve = roc(np.arange(2000.0), np.arange(2000) >= 1000)
        >>> print(curve.tpr_at(0.1))
        1.000 [0.996, 1.000]
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        delta = checks.delta(delta)
        groups, n_groups = self._groups(groups)
        if n_groups == groups.size:
            return self._exact_tpr_at(fpr, delta)
        statistic = self._weighted_tpr(fpr, groups, n_groups)
        held = max(n_groups, int(1.5 * fpr * self.n_nonmembers))
        block = max(1, min(N_RESAMPLES, BLOCK // held))
        value, low, high = intervals.bootstrap(
            statistic, n_groups, delta, n_resamples=N_RESAMPLES, rng=rng, block=block
        )
        spread = self._spread(fpr, groups, n_groups)
        high = min(1.0, value + spread.stretch * max(0.0, high - value))
        if fpr < 1 and not self._resolved(fpr, delta, groups, n_groups):
            return Estimate(value, 0.0, high)
        count = pooled.rarest(spread, *self._carried_by(fpr, groups))
        low = value - spread.stretch * pooled.skewness(count, delta) * max(0.0, value - low)
        return Estimate(value, max(0.0, low), high)

    def weighted_tpr(self, fpr, groups=None):
        """ROC(fpr) as a function of how often each group is drawn: what a bootstrap of several
        curves shares.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        callable
            Takes weights (b, number of groups), returns b TPR; NaN where no member or no non-member
            was drawn. For `intervals.bootstrap`.

        Raises
        ------
        ValueError
            fpr outside [0, 1], groups of another shape.

        Notes
        -----
        Taught in book/membership_game.ipynb.

        Examples
        --------
        >>> curve = roc([[3, 2, 1], [3, 1, 2]], [[1, 0, 1], [0, 1, 0]])
        >>> curve.weighted_tpr(0.5)(np.array([[1, 1, 1], [0, 1, 1]]))
        array([0.33333333, 0.        ])
        """
        groups, n_groups = self._groups(groups)
        return self._weighted_tpr(checks.number("fpr", fpr, 0, high=1), groups, n_groups)

    def _weighted_tpr(self, fpr, groups, n_groups):
        member_group, nonmember_group = groups[self.member_entries], groups[self.nonmember_entries]

        def statistic(weights):
            weights = weights.astype(np.int32)  # half the memory to read
            n0 = _total(weights, nonmember_group, n_groups)
            n1 = _total(weights, member_group, n_groups)
            called = pooled.members_called(
                weights, nonmember_group, n0, self._above, fpr, self.n_members
            )
            tp = pooled.members_found(weights, member_group, called, n_groups)
            return np.divide(tp, n1, out=np.full(len(tp), np.nan), where=(n1 > 0) & (n0 > 0))

        return statistic

    def influence(self, fpr, groups=None):
        """How much each entry moves ROC(fpr), to first order.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        float64 array, shape of the scores
            A member that is called adds 1 - TPR over the members, one that is not takes TPR away. A
            non-member that is called makes the threshold stricter, by the slope of the curve. The
            sum is 0.

        Raises
        ------
        ValueError
            fpr outside [0, 1], groups of another shape.

        Notes
        -----
        The slope is that of the chord over the rates that two standard errors reach. Taught in
        book/lira.ipynb.

        Examples
        --------
        >>> curve = roc([[4, 3, 2, 1]], [[True, False, True, False]])
        >>> curve.influence(0.5)
        array([[ 0.  , -0.25,  0.  ,  0.25]])
        """
        groups, _ = self._groups(groups)
        return self._influence(checks.number("fpr", fpr, 0, high=1), groups).reshape(self.shape)

    def distinct_false_positives(self, fpr, groups=None):
        """How many examples carry the false positives at ROC(fpr).

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        int
            The number of distinct groups among the non-members that the threshold of ROC(fpr) calls
            members.

        Raises
        ------
        ValueError
            fpr outside [0, 1], groups of another shape.

        Notes
        -----
        Hundreds of pooled false positives may all belong to one hard example.

        Examples
        --------
        >>> curve = roc([[9, 5, 1, 0], [8, 4, 2, 0]], [[0, 1, 1, 0], [0, 1, 1, 0]])
        >>> curve.distinct_false_positives(0.5)
        1
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        groups, _ = self._groups(groups)
        called = self.nonmember_entries[: self._called(fpr)]
        return int(np.unique(groups[called]).size)

    def effective_nonmembers(self, fpr, groups=None):
        """How many independent non-members would tell as much about the threshold at this rate.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        float
            The number of non-members where every group has one entry. Pooled: the number of
            independent carriers of the false positives, over the rate of these.

        Raises
        ------
        ValueError
            fpr outside [0, 1], groups of another shape.

        Notes
        -----
        The false positives are the non-members down to the first, with its ties, that no threshold
        with FPR <= fpr calls. Carriers of k of them each count (sum k)^2 / sum k^2, which is their
        number where all hold equally many. What models have in common is not in it: `resolvable`
        looks at that. Taught in book/lira.ipynb.

        Examples
        --------
        >>> scores = np.array([[9.0, 3.0, 2.0, 1.0], [8.0, 4.0, 2.5, 0.5]])
        >>> curve = roc(scores, [[0, 0, 0, 1], [0, 0, 1, 0]])
        >>> curve.effective_nonmembers(0.2)  # both false positives are example 0's: 1 / (2 / 6)
        3.0
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        groups, n_groups = self._groups(groups)
        return (
            float(self.n_nonmembers) if n_groups == groups.size else self._independent(fpr, groups)
        )

    def carried_by(self, fpr, groups=None):
        """How many independent examples, and models, the false positives at a rate belong to.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        (float, float)
            As `effective_nonmembers` counts them, at a rate of fpr; 1 model where none is named.

        Raises
        ------
        ValueError
            fpr outside [0, 1], groups of another shape.

        Notes
        -----
        Taught in book/lira.ipynb.

        Examples
        --------
        >>> curve = roc([[9.0, 3.0, 2.0, 1.0], [8.0, 4.0, 2.5, 0.5]], [[0, 0, 0, 1], [0, 0, 1, 0]])
        >>> curve.carried_by(0.25)  # both belong to example 0, one to each model
        (0.75, 2.0)
        """
        groups, _ = self._groups(groups)
        return self._carried_by(checks.number("fpr", fpr, 0, high=1), groups)

    def auc_interval(self, delta=0.05, groups=None, rng=None):
        """The area under the curve and its interval.

        Parameters
        ----------
        delta : float
            Nominal probability that the interval misses the truth.
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.
        rng : numpy.random.Generator, optional
            For the bootstrap. None means fresh entropy.

        Returns
        -------
        Estimate
            In [0, 1].

        Raises
        ------
        ValueError
            delta outside (0, 1), groups of another shape.

        Notes
        -----
        Where every group has one entry: DeLong's variance (DeLong et al. 1988) and a t interval for
        the logit of the AUC, with Satterthwaite's degrees of freedom. In simulations it covers 94
        to 97 % (nominal 95 %) for 30 and more of each group, and less than 90 % for 20 members with
        an AUC above 0.95. Where every pair, or no pair, is in order the variance is 0, and the
        limit comes from min(members, non-members) disjoint pairs, which are independent trials.
        Scores that are all equal have an AUC of 1/2 for certain. Otherwise a percentile bootstrap
        of 1,000 resamples draws whole groups, scores fixed: the textbook standard error takes the
        entries of one example for independent and is too small.

        Examples
        --------
        >>> print(roc([0.9, 0.8, 0.4, 0.7, 0.3, 0.2], [1, 1, 1, 0, 0, 0]).auc_interval())
        0.889 [0.088, 0.998]
        """
        delta = checks.delta(delta)
        groups, n_groups = self._groups(groups)
        if n_groups == groups.size:
            return self._delong(delta)
        above, not_below = self._members_above(), self._members_above(ties=True)
        member_group, nonmember_group = groups[self.member_entries], groups[self.nonmember_entries]

        def statistic(weights):
            pairs = np.empty(len(weights))
            for b, w in enumerate(weights.astype(np.float64)):
                called = np.concatenate([[0.0], np.cumsum(w.take(member_group))])
                below = w.take(nonmember_group)
                half = below @ called.take(above) + below @ called.take(not_below)
                count = 2 * called[-1] * below.sum()
                pairs[b] = half / count if count else np.nan
            return pairs

        return intervals.bootstrap(statistic, n_groups, delta, n_resamples=N_RESAMPLES, rng=rng)

    def smallest_resolvable(self, delta=0.05, groups=None):
        """The false-positive rate from which on all are `resolvable`.

        Parameters
        ----------
        delta : float
            The level of the interval that `tpr_at` would give.
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        float
            One target: the rate a with (1 - a)^(non-members) = delta / 4. Pooled: the smallest rate
            whose false positives, and those of all larger rates, have enough carriers. Where there
            are too few models for some rates up to 1/2, the next larger one, in steps of 20 %. 1
            where there is none.

        Raises
        ------
        ValueError
            delta outside (0, 1), groups of another shape.

        Notes
        -----
        Taught in book/membership_game.ipynb.

        Examples
        --------
        >>> curve = roc(np.arange(4480), np.arange(4480) < 100)
        >>> f"{curve.smallest_resolvable():.3%}"
        '0.100%'
        """
        delta = checks.delta(delta)
        groups, n_groups = self._groups(groups)
        if n_groups == groups.size:
            return float(-np.expm1(np.log(delta / 4) / self.n_nonmembers))
        count = pooled.independent_of_first(groups[self.nonmember_entries], n_groups)
        last = np.append(np.flatnonzero(np.diff(self.nonmember_scores)), self.n_nonmembers - 1)
        rates = (last + 1) / self.n_nonmembers  # of the blocks of ties, one non-member each at best
        starts = np.append(0.0, rates[:-1])
        enough_from = pooled.enough(delta) * rates / count[last]
        # The last block of ties that is not resolved from its start on.
        last_short = np.flatnonzero(enough_from > starts)[-1]
        rate = min(enough_from[last_short], rates[last_short])
        if self._n_models == 1 or rate >= 0.5:
            return float(rate)
        steps = rate * 1.2 ** np.arange(np.ceil(np.log(0.5 / rate) / np.log(1.2)))
        steps[0] *= 1 + 1e-9  # resolved by its carriers, whatever the rounding
        short = [k for k, a in enumerate(steps) if not self._resolved(a, delta, groups, n_groups)]
        if not short:
            return float(rate)
        return float(steps[short[-1] + 1]) if short[-1] + 1 < steps.size else 1.0

    def resolvable(self, fpr, delta=0.05, groups=None):
        """Whether the data suffice for an interval of ROC(fpr) that covers.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        delta : float
            The level of the interval that `tpr_at` would give.
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        bool
            One target: from ``n_nonmembers_needed(fpr, delta, "interval")`` non-members on. Pooled:
            whether the false positives at fpr have `metrics.pooled.MARGIN` times the carriers that
            one target needs, by `effective_nonmembers`, and models do not differ so much that there
            are too few of them.

        Raises
        ------
        ValueError
            fpr outside [0, 1], delta outside (0, 1), groups of another shape.

        Notes
        -----
        Carriers and models count, not entries. Where the answer is no, `tpr_at` has a lower end of
        0, and `records_needed` says how many examples it would take. Taught in book/lira.ipynb.

        Examples
        --------
        >>> roc([1.0, 0.0], [True, False]).resolvable(0.001)
        False
        """
        fpr, delta = checks.number("fpr", fpr, 0, high=1), checks.delta(delta)
        groups, n_groups = self._groups(groups)
        if n_groups == groups.size:
            return resolution.strict_rank(self.n_nonmembers, 1, fpr, delta) is not None
        return self._resolved(fpr, delta, groups, n_groups)

    def records_needed(self, fpr, delta=0.05, groups=None):
        """About how many records it takes to resolve a rate with this attack.

        Parameters
        ----------
        fpr : float
            A false-positive rate in (0, 1).
        delta : float
            The level of the interval that `tpr_at` would give.
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.

        Returns
        -------
        int
            Members and non-members together, at the same number of models: what there are now,
            times `smallest_resolvable` / fpr. math.inf where no rate is resolvable.

        Raises
        ------
        ValueError
            fpr or delta outside (0, 1), groups of another shape.

        Notes
        -----
        Carriers grow in proportion to the records. An extrapolation: at a lower rate they may be
        fewer or more than at the rates that can be seen. Taught in book/lira.ipynb.

        Examples
        --------
        >>> curve = roc(np.arange(448), np.arange(448) < 10)
        >>> curve.records_needed(0.001)
        4460
        """
        fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
        smallest = self.smallest_resolvable(delta, groups)
        if smallest >= 1:
            return math.inf
        return math.ceil(self._groups(groups)[1] * smallest / fpr)

    def _groups(self, groups):
        """The group of each flattened entry as 0 ... n_groups - 1, and n_groups."""
        if groups is None:
            n = self.shape[-1]
            return np.tile(np.arange(n), self.shape[0] if len(self.shape) == 2 else 1), n
        groups = np.asarray(groups)
        if groups.shape not in (self.shape, self.shape[-1:]):
            checks.fail(
                "groups", f"shape {groups.shape}", f"shape {self.shape} or {self.shape[-1:]}"
            )
        names, index = np.unique(np.broadcast_to(groups, self.shape), return_inverse=True)
        return index.ravel(), names.size

    def _members_above(self, ties=False):
        """For each non-member in descending order: how many members score higher (with ties: at
        least as high).
        """
        side = "left" if ties else "right"
        return self.n_members - np.searchsorted(
            self.member_scores[::-1], self.nonmember_scores, side=side
        )

    def _above(self, place):
        """How many members score higher than the non-members at these places of the ranking."""
        return self.n_members - np.searchsorted(
            self.member_scores[::-1], self.nonmember_scores[place], side="right"
        )

    def _first_above(self, fpr):
        """Place of the first non-member that makes the false-positive rate exceed fpr; the number
        of non-members if none does.
        """
        place = max(0, int(fpr * self.n_nonmembers) - 1)
        while place < self.n_nonmembers and (place + 1) / self.n_nonmembers <= fpr:
            place += 1
        return place

    def _members_called(self, fpr):
        """How many members the threshold of ROC(fpr) calls."""
        first = self._first_above(fpr)
        return self.n_members if first == self.n_nonmembers else int(self._above(first))

    @property
    def _n_models(self):
        return self.shape[0] if len(self.shape) == 2 else 1

    def _called(self, fpr, ties=False):
        """How many non-members the threshold of ROC(fpr) calls; with ties: also those that come
        next, all of one score.
        """
        first = self._first_above(fpr)
        if first == self.n_nonmembers:
            return first
        side = "right" if ties else "left"
        return int(
            np.searchsorted(-self.nonmember_scores, -self.nonmember_scores[first], side=side)
        )

    def _independent(self, fpr, groups):
        """Effective non-members of pooled scores."""
        called = self._called(fpr, ties=True)
        carriers = pooled.independent(groups[self.nonmember_entries[:called]])
        return carriers * self.n_nonmembers / called

    def _influence(self, fpr, groups):
        called, members = self._called(fpr), self._members_called(fpr)
        rate, value = called / self.n_nonmembers, members / self.n_members
        reach = min(0.9, 2 / np.sqrt(max(1.0, self._independent(fpr, groups) * fpr)))
        ends = fpr * (1 - reach), min(1.0, fpr * (1 + reach))
        rise = (self._members_called(ends[1]) - self._members_called(ends[0])) / self.n_members
        run = (self._called(ends[1]) - self._called(ends[0])) / self.n_nonmembers
        slope = rise / run if run else 0.0
        influence = np.empty(groups.size)
        influence[self.member_entries] = -value / self.n_members
        influence[self.member_entries[:members]] += 1 / self.n_members
        influence[self.nonmember_entries] = slope * rate / self.n_nonmembers
        influence[self.nonmember_entries[:called]] -= slope / self.n_nonmembers
        return influence

    def _spread(self, fpr, groups, n_groups):
        return pooled.spread(self._influence(fpr, groups), groups, n_groups, self._n_models)

    def _resolved(self, fpr, delta, groups, n_groups):
        carriers, models = self._carried_by(fpr, groups)
        if carriers < pooled.enough(delta):
            return False  # the influence need not be computed
        return pooled.suffices(self._spread(fpr, groups, n_groups), carriers, models, delta)

    def _carried_by(self, fpr, groups):
        """How many independent examples, and models, the false positives at a rate belong to."""
        models = self.nonmember_entries[: self._called(fpr, ties=True)] // self.shape[-1]
        return self._independent(fpr, groups) * fpr, pooled.independent(models)

    def _exact_tpr_at(self, fpr, delta):
        value, n0, n1 = (
            self._members_called(fpr) / self.n_members,
            self.n_nonmembers,
            self.n_members,
        )
        if fpr == 1:  # everything is called, which is certain and not an estimate
            return Estimate(1.0, 1.0, 1.0)
        strict = resolution.strict_rank(n0, n1, fpr, delta)
        low = 0.0
        if strict is not None:
            low = intervals.clopper_pearson_lower(self._above(strict[0]), n1, strict[1])
        place, level = resolution.lax_rank(n0, n1, fpr, delta)
        found = n1 if place == n0 else self._above(place)
        high = intervals.clopper_pearson_upper(found, n1, level)
        return Estimate(float(value), float(low), float(high))

    def _delong(self, delta):
        n1, n0 = self.n_members, self.n_nonmembers
        if self.auc in (0, 1):
            limit = intervals.clopper_pearson_lower(min(n1, n0), min(n1, n0), delta / 2)
            return (
                Estimate(self.auc, float(limit), 1.0)
                if self.auc == 1
                else Estimate(0.0, 0.0, float(1 - limit))
            )
        beaten_by = (self._members_above() + self._members_above(ties=True)) / (2 * n1)
        below = [
            np.searchsorted(self.nonmember_scores[::-1], self.member_scores, side)
            for side in ("left", "right")
        ]
        beats = sum(below) / (2 * n0)
        # One value has no variance to estimate: auc (1 - auc) is the largest that values in [0, 1]
        # can have.
        bound = self.auc * (1 - self.auc)
        parts = [
            part.var(ddof=1) / part.size if part.size > 1 else bound for part in (beaten_by, beats)
        ]
        variance = sum(parts)
        if variance == 0:
            return Estimate(self.auc, self.auc, self.auc)
        freedom = variance**2 / sum(v**2 / max(n - 1, 1) for v, n in zip(parts, (n0, n1)))
        spread = stats.t.isf(delta / 2, freedom) * np.sqrt(variance) / bound
        logit = np.log(self.auc / (1 - self.auc))
        low, high = 1 / (1 + np.exp(-(logit + spread * np.array([-1, 1]))))
        return Estimate(self.auc, float(low), float(high))


def _total(weights, group, n_groups):
    """Weighted number of entries (b,) of weights (b, n_groups)."""
    return weights @ np.bincount(group, minlength=n_groups)
