"""Blind baselines: classifiers that see the records but never the model.

An attack that does no better shows that the groups differ, not that the model leaks (Das, Zhang and
Tramer 2024).
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import checks, metrics

MOST = 20_000  # records that a blind classifier is fitted and tried on
NUMBERS = 2**24  # numbers that it is shown in all (64 MiB): fewer records where each has many
WIDE = 4_096  # inputs of a record from which on a random choice of that many stands for all
WIDEST = 50  # principal components, where there are more inputs than that
MANY = 20  # values from which on a column of texts or whole numbers is no category


def baselines(observations, rng):
    """Every blind classifier that the observations permit.

    Each is fitted on a random half of the records, members and non-members apart, and tried on the
    other half.

    Parameters
    ----------
    observations : Observations
    rng : numpy.random.Generator

    Returns
    -------
    list of (str, metrics.Roc)
        What it saw with its kind, and its ROC on the half that it was not fitted on.
    """
    o = observations
    known = "the label" if o.features is None else "the inputs, the label"
    if o.columns:
        known += " and the columns"
    width = 1 if o.features is None else min(o.features[0].size, WIDE)
    picked = _subset(o.member, min(MOST, NUMBERS // width), rng)
    table = [] if o.features is None else [inputs(o.features, picked, rng)]
    table += [
        _one_hot(o.labels[picked]),
        *(_encoded(array[picked]) for array in o.columns.values()),
    ]
    # Half the memory where there is much of it; whole numbers of a few columns keep all their
    # digits.
    table = np.concatenate(
        table, axis=1, dtype=np.float32 if width > WIDEST else np.float64, casting="same_kind"
    )
    member, found = o.member[picked], []
    first = _half(member, rng)
    for kind, model in _classifiers(table.shape[1], rng):
        model.fit(table[first], member[first])
        score = model.predict_proba(table[~first])[:, 1]
        found.append((f"{known} ({kind})", metrics.roc(score, member[~first])))
    if observations.shadow_member is not None and observations.shadow_labels is None:
        # A target that is one of a set of half masks leaves its mark in the others: fewer of them
        # hold its members.
        count = observations.shadow_member.sum(axis=0).astype(np.float64)
        if np.ptp(count):
            rare = metrics.roc(-count, observations.member)
            found.append(("how many shadow models hold the record", rare))
    return found


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


def _classifiers(width, rng):
    seed = int(rng.integers(2**31))
    reduce = [PCA(WIDEST, svd_solver="randomized", random_state=seed)] if width > WIDEST else []
    return [
        (
            "logistic regression",
            make_pipeline(StandardScaler(), *reduce, LogisticRegression(max_iter=1000)),
        ),
        (
            "random forest",
            make_pipeline(
                *reduce, RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
            ),
        ),
    ]


def _subset(member, most, rng):
    if member.size <= most:
        return np.arange(member.size)
    # Both groups keep their share, and each keeps enough.
    keep = [
        rng.choice(
            group,
            max(min(group.size, most // 4), int(most * group.size / member.size)),
            replace=False,
        )
        for group in (np.flatnonzero(member), np.flatnonzero(~member))
    ]
    return np.sort(np.concatenate(keep))


def _half(member, rng):
    """True for a random half of the members and a random half of the non-members."""
    first = np.zeros(member.size, dtype=bool)
    for group in (np.flatnonzero(member), np.flatnonzero(~member)):
        first[rng.permutation(group)[: group.size // 2]] = True
    return first


def _one_hot(values):
    return (values[:, None] == np.unique(values)).astype(np.float64)


def _encoded(column):
    values, place = np.unique(column, return_inverse=True)
    if column.dtype.kind == "U" and values.size > MANY:
        return place[:, None].astype(np.float64)
    return _one_hot(place) if values.size <= MANY else column[:, None].astype(np.float64)
