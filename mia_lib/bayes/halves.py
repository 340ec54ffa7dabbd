"""Adversaries fitted on one half of the records and judged on the other, in cells of equal mass.

Taught in book/mace_replicated.ipynb.
"""

import numpy as np
from scipy import stats

from mia_lib import checks
from mia_lib.bayes.cells import equal_mass
from mia_lib.bayes.histogram import Histogram
from mia_lib.intervals import Estimate


def half_advantages(signals, member, *, bins=10, n_splits=100, score=None, rng=None):
    """The advantage at p = 1/2 of several adversaries, over the same random halves.

    Parameters
    ----------
    signals : dict of str to (n,) or (n, d) array
        The queries, of the same records. Of each the adversary is the Bayes-optimal one in cells of
        equal mass, cut on the half that it is fitted to.
    member : (n,) boolean array
        At least four members and four others.
    bins : int
        Cells an axis, at least 2; fewer where values tie.
    n_splits : int
        Random splits, at least 2. Each halves members and others by themselves.
    score : (n,) array, optional
        Larger for members. It adds two adversaries that need no cells: "threshold" calls everything
        members from the value on that is best on the fitted half, "heuristic" the highest of the
        judged half, half of a population of as many members as others.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    dict of str to (n_splits,) float64 array
        TPR - FPR on the half that was not fitted, in [-1, 1]. `half_interval` takes one of them, or
        the difference of two.

    Raises
    ------
    ValueError
        NaN or infinite entries, a query of another length, a group that is too small, fewer than
        two bins or splits.

    Notes
    -----
    The outer cells are open, so that a score above all that were fitted counts with the highest;
    `held_out_advantages` has cells of one width and calls nobody a member there. Taught in
    book/mace_replicated.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(600) < 200
    >>> leak = rng.normal(size=600) + 2 * member
    >>> found = half_advantages({"cells": leak}, member, n_splits=20, score=leak, rng=rng)
    >>> {name: round(float(values.mean()), 1) for name, values in found.items()}
    {'cells': 0.7, 'threshold': 0.7, 'heuristic': 0.7}
    """
    rng = checks.generator(rng)
    checks.integer("n_splits", n_splits, 2)
    checks.integer("bins", bins, 2)
    member = checks.boolean_array("member", member)
    if min(member.sum(), (~member).sum()) < 4:
        checks.fail("member", f"{member.sum()} of {len(member)}", "four members and four others")
    named = {name: checks.real_array(name, signal) for name, signal in signals.items()}
    given = named if score is None else named | {"score": checks.real_array("score", score, 1)}
    for name, signal in given.items():
        if len(signal) != len(member):
            checks.fail(name, f"{len(signal)} records", f"{len(member)}, as member has")
    names = [*named, *(() if score is None else ("threshold", "heuristic"))]
    found, groups = {name: [] for name in names}, (np.flatnonzero(member), np.flatnonzero(~member))
    for _ in range(n_splits):
        fitted = np.zeros(len(member), bool)
        for group in groups:
            fitted[rng.permutation(group)[: len(group) // 2]] = True
        judged = member[~fitted]
        called = {name: _in_cells(signal, member, fitted, bins) for name, signal in named.items()}
        if score is not None:
            called["threshold"] = _best(given["score"], member, fitted)
            called["heuristic"] = _highest(given["score"], member, fitted)
        for name, said in called.items():
            found[name].append(said[judged].mean() - said[~judged].mean())
    return {name: np.array(values) for name, values in found.items()}


def _in_cells(signal, member, fitted, bins):
    """Whom the Bayes-optimal adversary in cells of equal mass calls members, of the judged half."""
    own = signal[fitted]
    columns = own[None] if own.ndim == 1 else own.T
    edges = [equal_mass(column, bins) for column in columns]
    query = Histogram(own[member[fitted]], own[~member[fitted]], 0.5, edges)
    return query.risk(signal[~fitted]) > 0


def _rates(score, member, part):
    """All thresholds, infinity among them, and TPR and FPR from each on, in some records."""
    sides = [np.sort(score[part & side]) for side in (member, ~member)]
    at = np.append(np.unique(np.concatenate(sides)), np.inf)
    return at, *(1 - np.searchsorted(side, at) / len(side) for side in sides)


def _best(score, member, fitted):
    """Whom the best threshold of the fitted half calls members, of the judged one."""
    at, tpr, fpr = _rates(score, member, fitted)
    return score[~fitted] >= at[np.argmax(tpr - fpr)]


def _highest(score, member, fitted):
    """The highest of the judged half, half of a population of as many members as others."""
    at, tpr, fpr = _rates(score, member, ~fitted)
    return score[~fitted] >= at[np.flatnonzero(tpr + fpr <= 1 + 1e-12)[0]]


def half_interval(advantages, delta=0.05):
    """The mean over random halves, with an interval over records.

    Parameters
    ----------
    advantages : (n_splits,) array
        An entry of `half_advantages`, or the difference of two; at least two splits, 30 and more
        for an interval that settles.
    delta : float
        1 minus the level.

    Returns
    -------
    Estimate
        The mean, within t limits whose variance is that over the splits times 1 + 1 / n_splits.

    Raises
    ------
    ValueError
        NaN or infinite entries, fewer than two splits.

    Notes
    -----
    A half that is judged has twice the variance of all records, and a random half of given records
    shows half of its own: what varies over splits is as large as what varies from sample to sample
    (the delete-half jackknife; Nadeau and Bengio 2003 correct in the same way). Where adversaries
    differ little it is larger. By simulation, 900 records at 30 splits, the limits keep at least
    0.92 where 0.95 is asked, those of a difference 0.95 and more. They take the records of one
    trained model as a sample and say nothing of another model. Taught in
    book/mace_replicated.ipynb.

    Examples
    --------
    >>> print(half_interval([0.1, 0.2, 0.3, 0.2]))
    0.200 [-0.091, 0.491]
    """
    advantages = checks.real_array("advantages", advantages, ndim=1)
    n, delta = len(advantages), checks.delta(delta)
    if n < 2:
        checks.fail("advantages", f"{n} splits", "at least two")
    reach = stats.t.isf(delta / 2, n - 1) * advantages.std(ddof=1) * np.sqrt(1 + 1 / n)
    value = float(advantages.mean())
    return Estimate(value, float(value - reach), float(value + reach))
