"""Blind baselines: classifiers that see the records, or what shadow models say of them, but never
the target.

An attack that does no better shows that the groups differ, not that the model leaks (Das, Zhang and
Tramer 2024). Each is fitted on one half of the records and judged on the other, both ways: pooled
scores of both ways depend on each other, and intervals that ignore it are too short. Copies of a
record stay in one half and count once, because they would separate anything.

A drift of one column that is just large enough for an attack to see is too small for half of the
records to find it among many columns. So every column is looked at by itself too, on all records.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import bayes, checks, metrics
from mia_lib.audit import copies

MOST = 20_000  # records that a blind classifier is fitted and judged on
NUMBERS = 2**24  # numbers that it is shown in all (64 MiB): fewer records where each has many
WIDE = 4_096  # inputs of a record from which on a random choice of that many stands for all
WIDEST = 50  # principal components, where there are more inputs than that
MANY = 20  # values from which on a column of texts or whole numbers is no category
# Magnitudes from which on sums of squares would overflow, in single and in double precision.
FAR = {np.float32: 1e15, np.float64: 1e100}
SHRINK = 1.5  # standard errors by which a difference of means is shrunk
TREES = {"max_iter": 30, "max_leaf_nodes": 8, "early_stopping": False}
WAYS = 2  # fitted on the first half and judged on the second, and the reverse


@dataclass(frozen=True, eq=False)
class Baseline:
    """One blind classifier, judged, or the column that tells most by itself.

    Parameters
    ----------
    saw : str
        What it was shown.
    curves : list of metrics.Roc
        One for each way, on the half that it was not fitted on, copies of a record once; of a
        column one, on all records.
    limits : list of Estimate
        The AUC of each curve. The limits of all ways of all classifiers and of all columns hold
        together.
    columns : int
        Of how many columns this one was chosen; 0 for a classifier.
    """

    saw: str
    curves: list
    limits: list
    columns: int = 0

    @property
    def separates(self):
        """Whether a lower limit of its AUC is above one half."""
        return any(limit.low > 0.5 for limit in self.limits)

    def ceiling(self, level, rates):
        """Upper limits of the AUC, of TPR - FPR and of the TPR at each rate, the larger of both
        ways.

        Returns
        -------
        list of float
            AUC, advantage, then a TPR for each rate, each limit at `level` by itself.
        """
        ways = [
            [
                curve.auc_interval(level).high,
                bayes.threshold_advantage(
                    curve.member_scores, curve.nonmember_scores, delta=level
                ).high,
                *(curve.tpr_at(rate, level).high for rate in rates),
            ]
            for curve in self.curves
        ]
        return [max(both) for both in zip(*ways)]


def baselines(observations, view, group, delta, rng):
    """Both blind classifiers, so far as the observations permit them, and last the column of the
    records that tells most by itself.

    Parameters
    ----------
    observations : Observations
    view : View
        For the shadow models' mean OUT output.
    group : int array (n,)
        The record that each row is a copy of; see `copies.groups`.
    delta : float
        Probability, at most, that one of all limits of the AUC misses.
    rng : numpy.random.Generator

    Returns
    -------
    list of Baseline
        Empty where there is nothing to see: no features, and one class.
    """
    o = observations
    width = 1 if o.features is None else min(o.features[0].size, WIDE)
    rows = _subset(o.member, min(MOST, NUMBERS // width), rng)
    tables = [(_known(o), _records(o, rows, rng))]
    if view.same_records:
        tables.append(("the shadow models' mean OUT output", view.mean_out(rows)))
    tables = [(saw, table) for saw, table in tables if table.size and np.ptp(table, axis=0).any()]
    by_record = [table for saw, table in tables if saw == _known(o)]
    level = delta / max(1, WAYS * len(tables) + len(by_record))
    found = []
    for saw, table in tables:
        curves = judge(table, o.member[rows], group[rows], rng)
        found.append(Baseline(saw, curves, [curve.auc_interval(level) for curve in curves]))
    for table in by_record:
        found.append(alone(table, _names(o, rows), o.member[rows], group[rows], level))
    return found


def alone(table, names, member, group, level):
    """The column that tells most by itself, in either direction.

    Parameters
    ----------
    table : array (m, d)
        At least one column has two values.
    names : list of str, d
    member : bool array (m,)
    group : int array (m,)
        The record that each row is a copy of; copies count once.
    level : float
        Probability, at most, that a limit of any column's AUC misses: each of d columns has
        ``level / (2 d)``, where 2 is for its direction.

    Returns
    -------
    Baseline
        One curve, larger for members, and the limits of its AUC.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) < 200
    >>> table = rng.normal(size=(400, 9)) - member[:, None] * (np.arange(9) == 4)
    >>> alone(table, list("abcdefghi"), member, np.arange(400), 0.05).saw
    'e'
    """
    rows = copies.once(group, member, least=2)
    table, member = table[rows], member[rows]
    distance = np.zeros(table.shape[1])
    for place in np.flatnonzero(np.ptp(table, axis=0)):
        column = table[:, place]
        test = stats.mannwhitneyu(column[member], column[~member], method="asymptotic")
        side = np.sign(test.statistic - member.sum() * (~member).sum() / 2)
        distance[place] = side * stats.norm.isf(test.pvalue / 2)
    best = int(np.abs(distance).argmax())
    # The larger values are those of the members, whichever way the column points.
    curve = metrics.roc(table[:, best].astype(float) * (1 if distance[best] >= 0 else -1), member)
    limit = curve.auc_interval(level / (2 * table.shape[1]))
    return Baseline(names[best], [curve], [limit], table.shape[1])


def judge(table, member, group, rng):
    """Fit on one half, judge on the other, both ways.

    Parameters
    ----------
    table : array (m, d)
        What the classifier sees of each record.
    member : bool array (m,)
    group : int array (m,)
        The record that each row is a copy of.
    rng : numpy.random.Generator

    Returns
    -------
    list of metrics.Roc
        Two, each on one half with copies of a record once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) < 200
    >>> table = rng.normal(size=(400, 2)) + member[:, None]
    >>> [curve.auc > 0.7 for curve in judge(table, member, np.arange(400), rng)]
    [True, True]
    """
    first, seed = copies.halves(group, member, rng), int(rng.integers(2**31))
    curves = []
    for fitted in (first, ~first):
        judged = np.flatnonzero(~fitted)
        judged = judged[copies.once(group[judged], member[judged], least=2)]
        score = _scores(table[fitted], member[fitted], table[judged], seed)
        curves.append(metrics.roc(score, member[judged]))
    return curves


def inputs(features, rows, rng):
    """The raw inputs of some records as rows of a table, read from a memory map row by row; of
    many, a random choice.

    Parameters
    ----------
    features : array (n, ...)
        Raw inputs, possibly memory-mapped.
    rows : int array (m,)
        Which records.
    rng : numpy.random.Generator
        Chooses `WIDE` inputs where there are more.

    Returns
    -------
    float array (m, d)
        float32 for integers of one or two bytes and for float32, else float64.

    Raises
    ------
    ValueError
        An entry that is not finite.

    Examples
    --------
    >>> inputs(np.arange(12).reshape(3, 2, 2), [2, 0], np.random.default_rng(0))
    array([[ 8.,  9., 10., 11.],
           [ 0.,  1.,  2.,  3.]])
    """
    width = features[0].size
    chosen = np.sort(rng.choice(width, WIDE, replace=False)) if width > WIDE else slice(None)
    small = (
        features.dtype.kind in "iub"
        and features.dtype.itemsize <= 2
        or features.dtype.name in ("float16", "float32")
    )
    table = np.empty((len(rows), min(width, WIDE)), np.float32 if small else np.float64)
    for place, row in enumerate(rows):
        table[place] = np.asarray(features[row]).reshape(-1)[chosen]
    bad = sum(int(np.count_nonzero(~np.isfinite(part))) for part in table)
    if bad:
        checks.fail("features", f"{bad} entries that are not finite", "finite numbers")
    return table


def _known(o):
    known = [] if o.features is None else ["the inputs"]
    known += ["the label"] if o.task == "classification" else []
    known += ["the columns"] if o.columns else []
    return ", ".join(known) if len(known) < 2 else ", ".join(known[:-1]) + " and " + known[-1]


def _names(o, rows):
    """What the columns of `_records` are called."""
    width = 0 if o.features is None else o.features[0].size
    names = [f"input number {place + 1}" for place in range(width)]
    names = ["one of the inputs"] * WIDE if width > WIDE else names
    names += [f"label {value}" for value in np.unique(o.labels[rows])]
    for name, array in o.columns.items():
        names += [f"column {name!r}"] * _encoded(array[rows]).shape[1]
    return names


def _records(o, rows, rng):
    """What is known of the records without any model."""
    table = [] if o.features is None else [inputs(o.features, rows, rng)]
    table += [_one_hot(o.labels[rows]), *(_encoded(array[rows]) for array in o.columns.values())]
    # Half the memory where there is much of it; whole numbers of a few columns keep all their
    # digits.
    wide = sum(part.shape[1] for part in table) > WIDEST
    kind = np.float32 if wide else np.float64
    table = [_near(part, FAR[kind]) for part in table]
    return np.concatenate(table, axis=1, dtype=kind, casting="same_kind")


def _near(table, far):
    """A table whose columns with a number beyond `far` are divided by a power of two, which leaves
    their order and their digits as they are.
    """
    largest = np.maximum(table.max(axis=0), -table.min(axis=0))
    power = np.where(largest > far, np.frexp(largest)[1], 0)
    return np.ldexp(table, -power) if power.any() else table


def _scores(table, member, others, seed):
    """A classifier's scores of other rows: a weighted mean of the ranks by three. Shrunken
    centroids see a drift of few columns, a line one of many, boosted trees a corner.
    """
    parts = min(WIDEST, len(table) - 1)
    reduce = (
        [PCA(parts, svd_solver="randomized", random_state=seed)] if table.shape[1] > WIDEST else []
    )
    leaf = max(3, len(table) // 200)
    boosted = HistGradientBoostingClassifier(min_samples_leaf=leaf, random_state=seed, **TREES)
    line = make_pipeline(StandardScaler(), *reduce, LogisticRegression(max_iter=1000))
    trees = make_pipeline(*reduce, boosted)
    ranks = [stats.rankdata(_centroids(table, member, others))]
    for model in (line, trees):
        found = model.fit(table, member).predict_proba(others)[:, 1]
        ranks.append(stats.rankdata(found) / 2)
    return sum(ranks)


def _centroids(table, member, others):
    """Tibshirani et al. 2002 for two groups: every column by itself, its standardised difference
    of means shrunk towards 0, so that columns without a drift are left out.
    """
    spread = table.std(axis=0)
    weight = np.zeros(len(spread))
    np.divide(1.0, spread, out=weight, where=spread > 0)
    gap = (table[member].mean(axis=0) - table[~member].mean(axis=0)) * weight
    gap = gap / np.sqrt(1 / member.sum() + 1 / (~member).sum())
    shrunk = np.sign(gap) * np.maximum(np.abs(gap) - SHRINK, 0)
    return (others - table.mean(axis=0)) @ (weight * shrunk)


def _subset(member, most, rng):
    if member.size <= most:
        return np.arange(member.size)
    # Both groups keep their share, and each keeps enough.
    keep = [
        rng.choice(
            side, max(min(side.size, most // 4), int(most * side.size / member.size)), replace=False
        )
        for side in (np.flatnonzero(member), np.flatnonzero(~member))
    ]
    return np.sort(np.concatenate(keep))


def _one_hot(values):
    return (values[:, None] == np.unique(values)).astype(np.float64)


def _encoded(column):
    values, place = np.unique(column, return_inverse=True)
    if column.dtype.kind == "U" and values.size > MANY:
        return place[:, None].astype(np.float64)
    return _one_hot(place) if values.size <= MANY else column[:, None].astype(np.float64)
