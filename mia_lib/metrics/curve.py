"""A ROC and what is read off it: rates, the area, their intervals, and what can be resolved.

Taught in book/membership_game.ipynb.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from mia_lib import checks
from mia_lib.metrics import many_targets, one_target, ranking


@dataclass(frozen=True, eq=False)
class Roc:
    """The ROC of an attack; made by `metrics.roc`.

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
    Where every group has one entry, one target being the usual case, the methods ask
    `metrics.one_target`; else `metrics.many_targets`. Taught in book/membership_game.ipynb.
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
        overstates the attack. Where all or none of the members are found, the other end is at least
        as far as the exact limit of so many groups of members.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc(np.arange(2000.0), np.arange(2000) >= 1000)
        >>> print(curve.tpr_at(0.1))
        1.000 [0.996, 1.000]
        """
        fpr, delta = checks.number("fpr", fpr, 0, high=1), checks.delta(delta)
        groups, n_groups = ranking.groups_of(self, groups)
        if ranking.each_alone(self, groups, n_groups):
            return one_target.tpr_at(self, fpr, delta)
        return many_targets.tpr_at(self, fpr, delta, groups, n_groups, rng)

    def auc_interval(self, delta=0.05, groups=None, rng=None):
        """The area under the curve and its interval.

        Parameters
        ----------
        delta : float
            Nominal probability that the interval misses the truth, of infinitely many such examples
            and models.
        groups
            As in `tpr_at`; so are the errors.
        rng
            Not used any more, since nothing is drawn.

        Returns
        -------
        Estimate
            In [0, 1].

        Notes
        -----
        Where every group has one entry: DeLong's variance (DeLong et al. 1988) and a t interval for
        the logit of the AUC, with Satterthwaite's degrees of freedom. In simulations it covers 94
        to 97 % (nominal 95 %) for 30 and more of each group. Where every pair, or no pair, is in
        order the variance is 0, and the limit comes from the largest number of disjoint pairs,
        which are independent trials; so it does where all scores are equal. Where few records of a
        side carry its mean place (scores of two levels, nearly all of them tied; an accurate
        attack on few members) mid-P limits of that side's mean, as of a proportion, are joined with
        those of the other side by their squares (Newcombe 1998). For scores of two levels without
        a leak, and 20 to 900 of the smaller side, either limit is then beyond 1/2 in at most 1.15
        times delta / 2. Pooled, the textbook
        standard error takes the entries of one example for independent and is too small. There
        DeLong's placements are summed over examples (Obuchowski 1997) and over models, as in
        `metrics.pooled.spread`; where a side has fewer than 30 examples, over those of each side by
        themselves. In simulations this covers 93 to 98 % for 16 to 64 models whose
        scores are shifted by up to half of the noise, and 89 to 95 % for 4 of them. For 16 models
        that are shifted by all of the noise it is 91 to 97 %, for 4 only 74 to 79 %; and 85 to 91 %
        for an AUC above 0.9999.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> print(roc([0.9, 0.8, 0.4, 0.7, 0.3, 0.2], [1, 1, 1, 0, 0, 0]).auc_interval())
        0.889 [0.088, 0.998]
        """
        delta = checks.delta(delta)
        if rng is not None:
            checks.generator(rng)
        groups, n_groups = ranking.groups_of(self, groups)
        if ranking.each_alone(self, groups, n_groups):
            return one_target.auc_interval(self, delta)
        return many_targets.auc_interval(self, delta, groups, n_groups)

    def resolvable(self, fpr, delta=0.05, groups=None):
        """Whether the data suffice for an interval of ROC(fpr) that covers.

        Parameters
        ----------
        fpr, delta, groups
            As in `tpr_at`, whose interval is meant; so are the errors.

        Returns
        -------
        bool
            One target: from ``n_nonmembers_needed(fpr, delta, "interval")`` non-members on. Pooled:
            whether the false positives at fpr have `metrics.pooled.MARGIN` times the carriers that
            one target needs, by `effective_nonmembers`, members are of 20 groups at least, and
            models do not differ so much that there are too few of them.

        Notes
        -----
        Carriers and models count, not entries. Where the answer is no, `tpr_at` has a lower end of
        0, and `records_needed` says how many examples it would take. Taught in
        book/rare_rates.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> roc([1.0, 0.0], [True, False]).resolvable(0.001)
        False
        """
        fpr, delta = checks.number("fpr", fpr, 0, high=1), checks.delta(delta)
        groups, n_groups = ranking.groups_of(self, groups)
        if ranking.each_alone(self, groups, n_groups):
            return one_target.resolvable(self, fpr, delta)
        return many_targets.resolvable(self, fpr, delta, groups, n_groups)

    def smallest_resolvable(self, delta=0.05, groups=None):
        """The false-positive rate from which on all are `resolvable`.

        Parameters
        ----------
        delta, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        float
            One target: the rate a with (1 - a)^(non-members) = delta / 4. Pooled: the smallest rate
            whose false positives, and those of all larger rates, have enough carriers. Where there
            are too few models for some rates up to 1/2, the next larger one, in steps of 20 %. 1
            where there is none.

        Notes
        -----
        Taught in book/membership_game.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc(np.arange(4480), np.arange(4480) < 100)
        >>> f"{curve.smallest_resolvable():.3%}"
        '0.100%'
        """
        delta = checks.delta(delta)
        groups, n_groups = ranking.groups_of(self, groups)
        if ranking.each_alone(self, groups, n_groups):
            return one_target.smallest_resolvable(self, delta)
        return many_targets.smallest_resolvable(self, delta, groups, n_groups)

    def records_needed(self, fpr, delta=0.05, groups=None):
        """About how many records it takes to resolve a rate with this attack.

        Parameters
        ----------
        fpr : float
            In (0, 1).
        delta, groups
            As in `tpr_at`; so are the errors.

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
        fewer or more than at the rates that can be seen. Taught in book/rare_rates.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc(np.arange(448), np.arange(448) < 10)
        >>> curve.records_needed(0.001)
        4460
        """
        fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
        smallest, n = self.smallest_resolvable(delta, groups), ranking.groups_of(self, groups)[1]
        if smallest >= 1:
            return math.inf
        needed = math.ceil(n * smallest / fpr)
        # between two of the rates that are asked one may not be resolved
        return needed if needed > n or self.resolvable(fpr, delta, groups) else n + 1

    def distinct_false_positives(self, fpr, groups=None):
        """How many examples carry the false positives at ROC(fpr).

        Parameters
        ----------
        fpr, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        int
            The number of distinct groups among the non-members that the threshold of ROC(fpr) calls
            members.

        Notes
        -----
        Hundreds of pooled false positives may all belong to one hard example.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc([[9, 5, 1, 0], [8, 4, 2, 0]], [[0, 1, 1, 0], [0, 1, 1, 0]])
        >>> curve.distinct_false_positives(0.5)
        1
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        groups, _ = ranking.groups_of(self, groups)
        called = self.nonmember_entries[: ranking.nonmembers_called(self, fpr)]
        return int(np.unique(groups[called]).size)

    def effective_nonmembers(self, fpr, groups=None):
        """How many independent non-members would tell as much about the threshold at this rate.

        Parameters
        ----------
        fpr, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        float
            The number of non-members where every group has one entry. Pooled: the number of
            independent carriers of the false positives, over the rate of these.

        Notes
        -----
        The false positives are the non-members down to the first, with its ties, that no threshold
        with FPR <= fpr calls. Carriers of k of them each count (sum k)^2 / sum k^2, which is their
        number where all hold equally many. What models have in common is not in it: `resolvable`
        looks at that. Taught in book/rare_rates.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> scores = np.array([[9.0, 3.0, 2.0, 1.0], [8.0, 4.0, 2.5, 0.5]])
        >>> curve = roc(scores, [[0, 0, 0, 1], [0, 0, 1, 0]])
        >>> curve.effective_nonmembers(0.2)  # both false positives are example 0's: 1 / (2 / 6)
        3.0
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        groups, n_groups = ranking.groups_of(self, groups)
        if ranking.each_alone(self, groups, n_groups):
            return float(self.n_nonmembers)
        return many_targets.independent(self, fpr, groups)

    def carried_by(self, fpr, groups=None):
        """How many independent examples, and models, the false positives at a rate belong to.

        Parameters
        ----------
        fpr, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        (float, float)
            As `effective_nonmembers` counts them, at a rate of fpr; 1 model where none is named.

        Notes
        -----
        Taught in book/rare_rates.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc([[9.0, 3.0, 2.0, 1.0], [8.0, 4.0, 2.5, 0.5]], [[0, 0, 0, 1], [0, 0, 1, 0]])
        >>> curve.carried_by(0.25)  # both belong to example 0, one to each model
        (0.75, 2.0)
        """
        groups, _ = ranking.groups_of(self, groups)
        return many_targets.carried_by(self, checks.number("fpr", fpr, 0, high=1), groups)

    def influence(self, fpr, groups=None):
        """How much each entry moves ROC(fpr), to first order.

        Parameters
        ----------
        fpr, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        float64 array, shape of the scores
            A member that is called adds 1 - TPR over the members, one that is not takes TPR away. A
            non-member that is called makes the threshold stricter, by the slope of the curve. The
            sum is 0.

        Notes
        -----
        The slope is that of the chord over the rates that two standard errors reach. Taught in
        book/rare_rates.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc([[4, 3, 2, 1]], [[True, False, True, False]])
        >>> curve.influence(0.5)
        array([[ 0.  , -0.25,  0.  ,  0.25]])
        """
        fpr, (groups, _) = checks.number("fpr", fpr, 0, high=1), ranking.groups_of(self, groups)
        return many_targets.influence(self, fpr, groups).reshape(self.shape)

    def weighted_tpr(self, fpr, groups=None):
        """ROC(fpr) as a function of how often each group is drawn: what a bootstrap of several
        curves shares.

        Parameters
        ----------
        fpr, groups
            As in `tpr_at`; so are the errors.

        Returns
        -------
        callable
            Takes weights (b, number of groups), returns b TPR; NaN where no member or no non-member
            was drawn. For `intervals.bootstrap`.

        Notes
        -----
        Taught in book/membership_game.ipynb.

        Examples
        --------
        >>> from mia_lib.metrics import roc
        >>> curve = roc([[3, 2, 1], [3, 1, 2]], [[1, 0, 1], [0, 1, 0]])
        >>> curve.weighted_tpr(0.5)(np.array([[1, 1, 1], [0, 1, 1]]))
        array([0.33333333, 0.        ])
        """
        fpr = checks.number("fpr", fpr, 0, high=1)
        return many_targets.weighted_tpr(self, fpr, *ranking.groups_of(self, groups))
