"""Which records an experiment uses, what part each of them plays, and labels that are wrong on
purpose.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks, data


class Drawn(NamedTuple):
    """Records that were drawn from a data set.

    Parameters
    ----------
    x : (n, ...) array, or list of n str
        The records.
    y : (n,) int array
        Their labels.
    n_classes : int
        Classes of the whole data set; a small draw may miss the last one.
    rows : (n,) int array
        Which rows of the data set, or of its official training part, they are; rising.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.
    """

    x: object
    y: np.ndarray
    n_classes: int
    rows: np.ndarray


def draw(dataset, n_examples, seed, *, split="train"):
    """Draw records of a data set at random.

    Parameters
    ----------
    dataset : str
        A name that `data.load` knows.
    n_examples : int
        How many, at most as many as there are; 0 for all.
    seed : int
        The draw depends on it alone.
    split : str or None
        An official part to draw from, where the data set has it; None draws from all records.

    Returns
    -------
    Drawn

    Raises
    ------
    ValueError
        An unknown data set, more records than it has, records of one class alone.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> x, y, n_classes, rows = draw("digits", 100, seed=0)
    >>> x.shape, n_classes
    ((100, 8, 8), 10)
    """
    full = data.load(dataset, split if split in data.splits(dataset) else None)
    checks.integer("n_examples", n_examples, 0, high=len(full.y))
    order = np.random.default_rng(seed).permutation(len(full.y))
    rows = np.sort(order[: n_examples or len(order)])
    texts = not isinstance(full.x, np.ndarray)
    x, y = [full.x[i] for i in rows] if texts else full.x[rows], full.y[rows]
    if len(np.unique(y)) < 2:
        checks.fail("n_examples", str(n_examples), "enough records to hold two classes")
    return Drawn(x, y, int(full.y.max()) + 1, rows)


def deal(n, sizes, rng):
    """Deal records to roles at random, none to two.

    Parameters
    ----------
    n : int
        How many records there are.
    sizes : dict of str to int
        How many each role is given.
    rng : numpy.random.Generator

    Returns
    -------
    dict of str to int array
        The rows of each role, in the order in which they were drawn.

    Raises
    ------
    ValueError
        More than there are; the message names the roles.

    Notes
    -----
    Used in notebooks/defenses.ipynb.

    Examples
    --------
    >>> {role: len(rows) for role, rows in
    ...     deal(100, {"members": 60, "others": 30}, np.random.default_rng(0)).items()}
    {'members': 60, 'others': 30}
    """
    needed = sum(sizes.values())
    if needed > n:
        given = ", ".join(str(size) for size in sizes.values())
        checks.fail(", ".join(sizes), given, f"at most {n} together")
    parts = np.split(rng.permutation(n)[:needed], np.cumsum(list(sizes.values()))[:-1])
    return dict(zip(sizes, parts))


def evenly(y, rng):
    """A random order of records along which every class is spread evenly.

    Parameters
    ----------
    y : (n,) int array
        Labels.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int array
        Row numbers. Of any stretch of them, each class holds its share of the records but for
        rounding, so that roles that are dealt from stretches have the same classes.

    Notes
    -----
    The k-th of the m records of a class has its place at (k + u) / m, with one u in [0, 1) for the
    class. Used in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> y = np.repeat([0, 1], [20, 10])
    >>> np.bincount(y[evenly(y, np.random.default_rng(0))[:15]])
    array([10,  5])
    """
    order, place = rng.permutation(len(y)), np.empty(len(y))
    for label in np.unique(y):
        of_class = order[y[order] == label]
        place[of_class] = (np.arange(len(of_class)) + rng.random()) / len(of_class)
    return order[np.argsort(place[order], kind="stable")]


def subsets(count, size, pool, n, rng):
    """Training sets of one size, each drawn from a pool of records.

    Parameters
    ----------
    count : int
        How many sets, S.
    size : int
        Records in each.
    pool : int array
        The rows that are drawn from.
    n : int
        How many records there are in all.
    rng : numpy.random.Generator

    Returns
    -------
    (S, n) boolean array

    Raises
    ------
    ValueError
        A size above that of the pool.

    Notes
    -----
    Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> subsets(3, 2, np.arange(4), 5, np.random.default_rng(0)).sum(axis=1)
    array([2, 2, 2])
    """
    checks.integer("size", size, 1, high=len(pool))
    masks = np.zeros((count, n), bool)
    for mask in masks:
        mask[rng.choice(pool, size, replace=False)] = True
    return masks


def noisy_labels(y, share, n_classes, rng):
    """Labels of which a share is wrong.

    Parameters
    ----------
    y : (n,) int array
        Labels 0 ... K - 1.
    share : float
        Probability that a label is replaced by one of the other classes, in [0, 1].
    n_classes : int
        K, at least 2.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int array

    Notes
    -----
    Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> noisy_labels(np.zeros(4, int), 1.0, 2, np.random.default_rng(0))
    array([1, 1, 1, 1])
    """
    checks.number("share", share, 0, high=1)
    checks.integer("n_classes", n_classes, 2)
    wrong = rng.random(len(y)) < share
    return np.where(wrong, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)
