"""The ROC of an attack, what is read off it, and how sure that is.

One target model gives scores (n,), and its entries are independent. Several targets that were
trained on parts of the same examples give scores (S, n) that are pooled into one ROC: entries of
one example then depend on each other, and intervals come from a bootstrap that draws whole
examples.

Taught in book/membership_game.ipynb.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from mia_lib import checks, intervals
from mia_lib.intervals import Estimate
from mia_lib.metrics.resolution import fewest_false_positives, most_false_positives

N_RESAMPLES = 1000
BLOCK = 1 << 20  # entries times resamples that the bootstrap holds at a time


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
            Probability that the interval misses the truth: at most (one target), about (pooled).
        groups : array_like, shape of the scores or (n,), optional
            Names the example of each entry. Default: the column.
        rng : numpy.random.Generator, optional
            For the bootstrap. None means fresh entropy.

        Returns
        -------
        Estimate
            In [0, 1]. The value is read off the curve, without interpolation.

        Raises
        ------
        ValueError
            fpr outside [0, 1], delta outside (0, 1), groups of another shape.

        Notes
        -----
        Where every group has one entry, the interval holds for any distribution of the scores.
        Binomial limits say how many false positives the threshold of the true ROC(fpr) may have,
        delta / 4 each, and Clopper-Pearson limits the TPR at these two thresholds, delta / 4 each.
        The lower end is 0 where fpr is not `resolvable`. Otherwise a percentile bootstrap of 1,000
        resamples draws whole groups, scores fixed.

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
        block = max(1, BLOCK // groups.size)
        return intervals.bootstrap(
            statistic, n_groups, delta, n_resamples=N_RESAMPLES, rng=rng, block=block
        )

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
        above = self._members_above()
        member_group, nonmember_group = groups[self.member_entries], groups[self.nonmember_entries]

        def statistic(weights):
            weights = weights.astype(np.int32)  # half the memory to read
            n0 = _total(weights, nonmember_group, n_groups)
            n1 = _total(weights, member_group, n_groups)
            k = _members_called(weights, nonmember_group, n0, above, fpr, self.n_members)
            tp = np.array([weights[b].take(member_group[: k[b]]).sum() for b in range(len(k))])
            return np.divide(tp, n1, out=np.full(len(k), np.nan), where=(n1 > 0) & (n0 > 0))

        return statistic

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
        first = self._first_above(fpr)
        if first is None:
            called = self.nonmember_entries
        else:
            called = self.nonmember_entries[self.nonmember_scores > self.nonmember_scores[first]]
        return int(np.unique(groups[called]).size)

    def smallest_resolvable(self, delta=0.05):
        """The smallest false-positive rate that is `resolvable`.

        Parameters
        ----------
        delta : float
            The level of the interval that `tpr_at` would give.

        Returns
        -------
        float
            The rate a with (1 - a)^(non-members) = delta / 4.

        Raises
        ------
        ValueError
            delta outside (0, 1).

        Notes
        -----
        Taught in book/membership_game.ipynb.

        Examples
        --------
        >>> curve = roc(np.arange(4480), np.arange(4480) < 100)
        >>> f"{curve.smallest_resolvable():.3%}"
        '0.100%'
        """
        return float(-np.expm1(np.log(checks.delta(delta) / 4) / self.n_nonmembers))

    def resolvable(self, fpr, delta=0.05):
        """Whether there are enough non-members to bound ROC(fpr) away from 0.

        Parameters
        ----------
        fpr : float
            A false-positive rate in [0, 1].
        delta : float
            The level of the interval that `tpr_at` would give.

        Returns
        -------
        bool
            True from ``n_nonmembers_needed(fpr, delta, "interval")`` non-member entries on.

        Raises
        ------
        ValueError
            fpr outside [0, 1], delta outside (0, 1).

        Notes
        -----
        Entries are counted. For pooled targets they are not independent, so there it is necessary
        and not sufficient: look at `distinct_false_positives` too. Taught in
        book/membership_game.ipynb.

        Examples
        --------
        >>> roc([1.0, 0.0], [True, False]).resolvable(0.001)
        False
        """
        fpr, delta = checks.number("fpr", fpr, 0, high=1), checks.delta(delta)
        return fewest_false_positives(self.n_nonmembers, fpr, delta) is not None

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

    def _first_above(self, fpr):
        """Place of the first non-member that makes the false-positive rate exceed fpr; None if none
        does.
        """
        exceeding = np.flatnonzero(np.arange(1, self.n_nonmembers + 1) / self.n_nonmembers > fpr)
        return int(exceeding[0]) if exceeding.size else None

    def _exact_tpr_at(self, fpr, delta):
        above = np.append(
            self._members_above(), self.n_members
        )  # the last: every non-member is called
        first = self._first_above(fpr)
        value = above[self.n_nonmembers if first is None else first] / self.n_members
        few = fewest_false_positives(self.n_nonmembers, fpr, delta)
        many = most_false_positives(self.n_nonmembers, fpr, delta)
        low = (
            0.0
            if few is None
            else intervals.clopper_pearson_lower(above[few], self.n_members, delta / 4)
        )
        high = intervals.clopper_pearson_upper(above[many], self.n_members, delta / 4)
        # At fpr = 1 everything is called, which is certain and not an estimate.
        return Estimate(float(value), 1.0 if fpr == 1 else float(low), float(high))

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


def _members_called(weights, nonmember_group, n0, above, fpr, n_members):
    """How many members, from the top, each resample's threshold calls at a weighted FPR of at most
    fpr.

    Only the top of the ranking matters at a low rate, so a prefix of the non-members is summed, and
    a longer one where some resample has not passed fpr within it.
    """
    n = nonmember_group.size
    length = min(n, int(1.5 * fpr * n) + 64)
    while True:
        false_positives = np.cumsum(
            weights.take(nonmember_group[:length], axis=1), axis=1, dtype=np.int64
        )
        exceeds = false_positives / np.maximum(n0, 1)[:, None] > fpr
        passed = exceeds[:, -1]
        if passed.all() or length == n:
            break
        length = min(n, 2 * length)
    return np.where(passed, above[exceeds.argmax(axis=1)], n_members)
