"""Blind baselines: classifiers that see the records but never the model.

An attack that does no better shows that the groups differ, not that the model leaks (Das, Zhang and Tramer 2024).
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import metrics

MOST = 20_000  # records that a blind classifier is fitted and tried on
WIDEST = 50  # principal components, where there are more inputs than that
MANY = 20  # values from which on a column of texts or whole numbers is no category


def baselines(observations, rng):
    """Every blind classifier that the observations permit.

    Each is fitted on a random half of the records, members and non-members apart, and tried on the other half.

    Parameters
    ----------
    observations : Observations
    rng : numpy.random.Generator

    Returns
    -------
    list of (str, metrics.Roc)
        What it saw with its kind, and its ROC on the half that it was not fitted on.
    """
    seen = {}
    inputs = [] if observations.features is None else [observations.features]
    known = "the inputs, the label" if inputs else "the label"
    if observations.columns:
        known += " and the columns"
    picked = _subset(observations.member, rng)
    table = [array[picked].reshape(picked.size, -1).astype(np.float64) for array in inputs]
    table += [_one_hot(observations.labels[picked])]
    table += [_encoded(array[picked]) for array in observations.columns.values()]
    table = np.concatenate(table, axis=1)
    if not np.isfinite(table).all():
        from mia_lib import checks

        checks.fail("features", f"{(~np.isfinite(table)).sum()} entries that are not finite", "finite numbers")
    seen[known] = table
    member = observations.member[picked]
    found = []
    for what, x in seen.items():
        first = _half(member, rng)
        for kind, model in _classifiers(x.shape[1], rng):
            model.fit(x[first], member[first])
            score = model.predict_proba(x[~first])[:, 1]
            found.append((f"{what} ({kind})", metrics.roc(score, member[~first])))
    if observations.shadow_member is not None and observations.shadow_labels is None:
        # A target that is one of a set of half masks leaves its mark in the others: fewer of them hold its members.
        count = observations.shadow_member.sum(axis=0).astype(np.float64)
        if np.ptp(count):
            rare = metrics.roc(-count, observations.member)
            found.append(("how many shadow models hold the record", rare))
    return found


def _classifiers(width, rng):
    seed = int(rng.integers(2**31))
    reduce = [PCA(WIDEST, svd_solver="randomized", random_state=seed)] if width > WIDEST else []
    return [
        ("logistic regression", make_pipeline(StandardScaler(), *reduce, LogisticRegression(max_iter=1000))),
        ("random forest", make_pipeline(*reduce, RandomForestClassifier(100, min_samples_leaf=3, random_state=seed))),
    ]


def _subset(member, rng):
    if member.size <= MOST:
        return np.arange(member.size)
    # Both groups keep their share, and each keeps enough.
    keep = [rng.choice(group, max(min(group.size, MOST // 4), int(MOST * group.size / member.size)), replace=False)
            for group in (np.flatnonzero(member), np.flatnonzero(~member))]  # fmt: skip
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
