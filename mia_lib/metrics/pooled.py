"""What pooled scores tell: how many of them are independent, and how far examples and models move a
rate.

The scores of S targets on n examples are S n entries but not S n trials. The entries of one hard
example rise together in all models, and a model that is confident everywhere lifts all its
examples. So the false positives at a low rate are counted by who carries them, and a rate varies
with the examples and with the models that happened to be drawn.

Taught in book/rare_rates.ipynb.
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

# A pooled rate needs so many times as many independent false positives as that of one target. With
# fewer, an interval that is estimated from the carriers themselves leaves out the truth too often:
# see notebooks/results/rates--simulation.json.
MARGIN = 5
# The variance between models is estimated from S of them only. It may be so many times that between
# examples; beyond, twice as many independent models are asked for as carriers.
MODELS_OVER_EXAMPLES = 4


class Spread(NamedTuple):
    """How far a statistic moves with the examples and with the models that are drawn.

    Parameters
    ----------
    examples : float
        Variance, to first order, over draws of examples.
    models : float
        What models add to it: 0 where they are unknown, or where entries of one model have no more
        in common than chance gives them.
    models_high : float
        The same with one standard error on top.

    Notes
    -----
    Taught in book/rare_rates.ipynb.
    """

    examples: float
    models: float
    models_high: float

    @property
    def stretch(self):
        """By how much an interval that draws examples alone has to be longer, at least 1."""
        if not (self.models_high and self.examples):
            return 1.0
        return float(np.sqrt(1 + self.models_high / self.examples))


def independent(group):
    """How many equally large groups would hold these entries as unevenly as theirs do.

    Parameters
    ----------
    group : int array (m,)
        The group of each entry.

    Returns
    -------
    float
        (sum k)^2 / sum k^2 for groups of k entries (Kish 1965): m where all differ, 1 where all are
        one group's, 0 without entries.

    Notes
    -----
    Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> independent([7, 7, 7, 7]), independent([1, 2, 3, 4])
    (1.0, 4.0)
    """
    sizes = np.unique(group, return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum()) if sizes.size else 0.0


def independent_of_first(group, n_groups):
    """`independent` of the first 1, 2, ..., m entries.

    Parameters
    ----------
    group : int array (m,)
        The group of each entry, in 0 ... n_groups - 1.
    n_groups : int

    Returns
    -------
    float64 array (m,)

    Notes
    -----
    The k-th entry of a group raises its square from (k - 1)^2 to k^2. Taught in
    book/rare_rates.ipynb.

    Examples
    --------
    >>> independent_of_first(np.array([0, 0, 1]), 2)
    array([1. , 1. , 1.8])
    """
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(np.bincount(group, minlength=n_groups)) - np.bincount(
        group, minlength=n_groups
    )
    place = np.empty(group.size, dtype=np.int64)  # how many of its group came before
    place[order] = np.arange(group.size) - starts[group[order]]
    return np.arange(1, group.size + 1) ** 2 / np.cumsum(2 * place + 1)


def spread(influence, groups, n_groups, n_models):
    """The variance of a statistic from what each entry adds to it.

    Parameters
    ----------
    influence : float64 array (m,)
        The first-order change that each entry makes, sum 0.
    groups : int array (m,)
        The example of each entry.
    n_groups : int
    n_models : int
        Entries are sorted by model, each model having m / n_models of them. 1: models are unknown.

    Returns
    -------
    Spread

    Notes
    -----
    Entries share an example or a model, so the variance is that of the sums over examples plus that
    of the sums over models less that of single entries, which both contain (Cameron, Gelbach and
    Miller 2011). There are few models, so that the standard error of their sum of squares,
    sqrt(2 / (S - 1)) of it, matters. Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> both = np.array([1.0, -1.0, 1.0, -1.0])  # two models that agree on two examples
    >>> spread(both, np.array([0, 1, 0, 1]), 2, 2)
    Spread(examples=8.0, models=0.0, models_high=0.0)
    """
    examples = float((np.bincount(groups, influence, n_groups) ** 2).sum())
    if n_models < 2:
        return Spread(examples, 0.0, 0.0)
    single = float((influence**2).sum())
    models = float((influence.reshape(n_models, -1).sum(axis=1) ** 2).sum())
    error = models * np.sqrt(2 / (n_models - 1)) if examples else 0.0
    added = models - single
    return Spread(examples, max(0.0, added), max(0.0, float(added + error)))


def skewness(count, delta):
    """How much further a count's true value may lie above what was seen than a normal law says.

    Parameters
    ----------
    count : float
        Independent events that were seen, above 0.
    delta : float

    Returns
    -------
    float
        The exact upper delta / 2 limit of a Poisson mean (Garwood 1936), as a distance from the
        count, over the normal one z sqrt(count). At least 1, towards 1 for many.

    Notes
    -----
    A sample that lacks the rare hard example looks better than it is and does not know it. Taught
    in book/rare_rates.ipynb.

    Examples
    --------
    >>> round(skewness(20, 0.05), 2), round(skewness(1000, 0.05), 2)
    (1.24, 1.03)
    """
    limit = special.gammaincinv(count + 1, 1 - delta / 2)
    return float(max(1.0, (limit - count) / (stats.norm.isf(delta / 2) * np.sqrt(count))))


def enough(delta):
    """How many independent false positives a pooled rate needs: `MARGIN` times those of one target,
    whose (1 - a)^n = delta / 4 is n a = log(4 / delta) at a low rate a.

    Parameters
    ----------
    delta : float
        The level of the interval.

    Returns
    -------
    float

    Notes
    -----
    Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> round(enough(0.05), 1)
    21.9
    """
    return MARGIN * float(np.log(4 / delta))


def freedom(between, carriers, models):
    """How many independent parts the variance of a rate is known from.

    Parameters
    ----------
    between : Spread
        Of the rate.
    carriers, models : float
        How many independent examples, and models, the false positives belong to.

    Returns
    -------
    float
        Not more than there are carriers.

    Notes
    -----
    A variance that is known from k parts has about k degrees of freedom, and a sum of two has those
    of Satterthwaite: (v + w)^2 / (v^2 / k + w^2 / l). Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> freedom(Spread(1.0, 0.0, 0.0), 99.0, 20.0)
    99.0
    >>> round(freedom(Spread(1.0, 3.0, 3.0), 99.0, 20.0), 1)
    34.8
    """
    if between.models == 0:
        return carriers
    total = between.examples + between.models
    parts = between.examples**2 / carriers + between.models**2 / models
    return float(min(carriers, total**2 / parts))


def rarest(between, carriers, models):
    """The count that makes a rate skewed: of carriers, or of models where they add to the variance
    and are fewer.

    Parameters
    ----------
    between : Spread
        Of the rate.
    carriers, models : float
        How many independent examples, and models, the false positives belong to.

    Returns
    -------
    float
        For `skewness`.

    Notes
    -----
    Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> rarest(Spread(1.0, 0.0, 0.1), 99.0, 20.0), rarest(Spread(1.0, 0.5, 0.6), 99.0, 20.0)
    (99.0, 20.0)
    """
    return min(carriers, models) if between.models else carriers


def suffices(between, carriers, models, delta):
    """Whether carriers and models are enough to know how far a rate may be off.

    Parameters
    ----------
    between : Spread
        Of the rate.
    carriers, models : float
        How many independent examples, and models, the false positives belong to.
    delta : float

    Returns
    -------
    bool

    Notes
    -----
    The parts from which the variance is known (`freedom`) have to be `enough`. Where models
    outweigh examples by far there have to be twice as many of them, since a sample that lacks the
    most extreme models understates their variance as well. Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> alike, apart = Spread(1.0, 0.0, 0.2), Spread(1.0, 9.0, 9.2)
    >>> suffices(alike, 30.0, 2.0, 0.05), suffices(alike, 20.0, 60.0, 0.05)
    (True, False)
    >>> suffices(apart, 99.0, 30.0, 0.05), suffices(apart, 99.0, 60.0, 0.05)
    (False, True)
    """
    needed = enough(delta)
    if carriers < needed or freedom(between, carriers, models) < needed:
        return False
    outweighed = between.models > MODELS_OVER_EXAMPLES * between.examples
    return bool(not outweighed or models >= 2 * needed)


def members_called(weights, nonmember_group, n0, above, fpr, n_members):
    """How many members, from the top, each resample's threshold calls at a weighted FPR of at most
    fpr.

    Parameters
    ----------
    weights : int array (b, groups)
        How often each group was drawn.
    nonmember_group : int array (non-members,)
        In descending order of the scores.
    n0 : int array (b,)
        Weighted number of non-members.
    above : callable
        Places of non-members in, how many members score higher out.
    fpr : float
    n_members : int

    Returns
    -------
    int array (b,)

    Notes
    -----
    Only the top of the ranking matters at a low rate, so a prefix of the non-members is summed, and
    a longer one where some resample has not passed fpr within it. Taught in book/rare_rates.ipynb.

    Examples
    --------
    >>> drawn, above = np.array([[1, 1], [2, 0]]), np.array([1, 2, 3])
    >>> members_called(drawn, np.array([0, 1, 1]), np.array([3, 2]), above.take, 0.4, 3)
    array([2, 1])
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
    return np.where(passed, above(exceeds.argmax(axis=1)), n_members)


def members_found(weights, member_group, called, n_groups):
    """The weighted number of members among the first of the ranking.

    Parameters
    ----------
    weights : int array (b, groups)
        How often each group was drawn.
    member_group : int array (members,)
        In descending order of the scores.
    called : int array (b,)
        How many members each resample calls, from `members_called`.
    n_groups : int

    Returns
    -------
    int array (b,)

    Notes
    -----
    What all resamples call is one product; the rest is summed one resample at a time. Taught in
    book/rare_rates.ipynb.

    Examples
    --------
    >>> members_found(np.array([[2, 1], [0, 3]]), np.array([0, 1, 1]), np.array([2, 3]), 2)
    array([3, 6])
    """
    fewest = int(called.min(initial=member_group.size))
    common = weights @ np.bincount(member_group[:fewest], minlength=n_groups)
    rest = [w.take(member_group[fewest:k]).sum() for w, k in zip(weights, called)]
    return common + np.array(rest, dtype=common.dtype)
