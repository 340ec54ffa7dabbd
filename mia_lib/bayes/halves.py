"""Adversaries fitted on one half of the records and judged on the other, in cells of equal mass.

Taught in book/mace_replicated.ipynb.
"""

import numpy as np
from scipy import stats

from mia_lib import checks, metrics
from mia_lib.bayes import samples
from mia_lib.bayes.cells import equal_mass
from mia_lib.bayes.generalized import at_rates, fitted_posterior, heuristic_advantage
from mia_lib.bayes.histogram import Histogram
from mia_lib.bayes.individual import check_metric
from mia_lib.intervals import Estimate


def half_advantages(
    signals, member, prior=0.5, *, metric=None, bins=10, n_splits=100, score=None, rng=None
):
    """The advantage of several adversaries, fitted to one half of the records and judged on the
    other, over the same random halves.

    Parameters
    ----------
    signals : dict of str to (n,) or (n, d) array
        The queries, of the same records. Of each the adversary is the Bayes-optimal one in cells of
        equal mass, cut on the half that it is fitted to.
    member : (n,) boolean array
        At least four members and four others.
    prior : float
        p = Pr(member), in (0, 1).
    metric : metrics.Metric, optional
        What the adversaries are after and judged by, one whose best threshold on the posterior is
        known, as for accuracy and AM. None: the advantage 2 accuracy - 1.
    bins : int
        Cells an axis, at least 2; fewer where values tie.
    n_splits : int
        Random splits, at least 2. Each halves members and others by themselves.
    score : (n,) array, optional
        Larger for members. It adds two adversaries that need no cells: "threshold" calls everything
        members from the value on that is best on the fitted half, "heuristic" the highest of the
        judged half, a share p of the population.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    dict of str to (n_splits,) float64 array
        The metric on the half that was not fitted; TPR - FPR by default. `half_interval` takes one
        of them, or the difference of two.

    Raises
    ------
    ValueError
        NaN or infinite entries, a query of another length, a group that is too small, fewer than
        two bins or splits, a metric for another prior or without a known threshold; no query and no
        score, beside a score a query of the name of an adversary that it adds.

    Notes
    -----
    The outer cells are open, so that a score above all that were fitted counts with the highest;
    `held_out_advantages` has cells of one width and calls nobody a member there. A record in a cell
    that the fitted half left empty has the prior for its posterior. `heuristic_advantage` is the
    "heuristic" one's value. MACE v1 Algorithms 1 and 2, Theorem 1. Taught in
    book/mace_replicated.ipynb.

    Examples
    --------
    >>> rng, member = np.random.default_rng(0), np.arange(600) < 200
    >>> leak = rng.normal(size=600) + 2 * member
    >>> found = half_advantages({"cells": leak}, member, n_splits=20, score=leak, rng=rng)
    >>> {name: round(float(values.mean()), 1) for name, values in found.items()}
    {'cells': 0.7, 'threshold': 0.7, 'heuristic': 0.7}
    """
    p, rng = checks.prior(prior), checks.generator(rng)
    metric = metrics.advantage() if metric is None else metric
    check_metric(metric, p)
    if metric.threshold() is None:
        checks.fail("metric", repr(metric), "one whose best threshold on the posterior is known")
    checks.integer("n_splits", n_splits, 2)
    checks.integer("bins", bins, 2)
    added = "threshold", "heuristic"
    named, member, score = samples.of_records(signals, member, score, added)
    found = {}
    for fitted in samples.halves(member, n_splits, rng):
        judged, gains = member[~fitted], {}
        for name, signal in named.items():
            called = _in_cells(signal, member, fitted, bins, p, metric)
            gains[name] = _value(metric, called, judged, p)
        if score is not None:
            own = score[~fitted]
            called = own >= _best(score[fitted], member[fitted], metric, p)
            gains["threshold"] = _value(metric, called, judged, p)
            gains["heuristic"] = heuristic_advantage(metric, own[judged], own[~judged], prior=p)
        for name, gain in gains.items():
            found.setdefault(name, []).append(gain)
    return {name: np.array(values) for name, values in found.items()}


def _in_cells(signal, member, fitted, bins, prior, metric):
    """Whom the Bayes-optimal adversary in cells of equal mass calls members, of the judged half."""
    own = signal[fitted]
    columns = own[None] if own.ndim == 1 else own.T
    edges = [equal_mass(column, bins) for column in columns]
    query = Histogram(own[member[fitted]], own[~member[fitted]], prior, edges)
    return fitted_posterior(query, signal[~fitted]) > metric.threshold()


def _value(metric, called, member, prior):
    """The metric of an adversary that calls these members."""
    return at_rates(metric, called[member].mean(), called[~member].mean(), prior)


def _best(score, member, metric, prior):
    """The threshold from which on everything is best called a member; infinity is a choice."""
    sides = [np.sort(score[side]) for side in (member, ~member)]
    at = np.append(np.unique(score), np.inf)
    rates = (1 - np.searchsorted(side, at) / len(side) for side in sides)
    return at[np.nanargmax(at_rates(metric, *rates, prior))]


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
    0.92 where 0.95 is asked at p = 1/2, those of a difference 0.95 and more at p = 0.2 too
    (tests/bayes/test_halves_coverage.py). Where an adversary is right to accuse hardly anybody, its
    accuracy alone at a small p is the exception, with 0.83. They take the records of one trained
    model as a sample and say nothing of another model. Taught in book/mace_replicated.ipynb.

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
