"""Records in order of their class, and shuffles that leave every class as it is."""

import warnings
from typing import NamedTuple

import numpy as np

from mia_lib import checks


class Strata(NamedTuple):
    """Two sets pooled and sorted by class, without the classes that only one of them has.

    Parameters
    ----------
    order : int array (n,)
        Places in the pool, the first set's records before those of the second.
    first : bool array (n,)
        Which records, in that order, are of the first set.
    group : int array (n,)
        Their classes, numbered anew from 0.
    starts : int array (C,)
        Where each class begins.
    labels : int array (C,)
        What the classes are called.
    n_x, n_y : int array (C,)
        Records of each class in the two sets, at least 1.
    """

    order: np.ndarray
    first: np.ndarray
    group: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    n_x: np.ndarray
    n_y: np.ndarray


def by_class(y_x, y_y, names=("y_x", "y_y")):
    """The strata of two sets with these labels.

    Parameters
    ----------
    y_x, y_y : int array (n_x,), (n_y,)
        Classes, checked by the caller.
    names : pair of str
        What errors call them.

    Returns
    -------
    Strata

    Raises
    ------
    ValueError
        Fewer than two records in a set, before or after a class of one side only is dropped (with a
        warning); no common class.
    """
    for name, y in zip(names, (y_x, y_y)):
        _two_records(name, len(y), "records")
    common = np.intersect1d(y_x, y_y)
    alone = np.setxor1d(y_x, y_y)
    if not len(common):
        checks.fail(names[1], f"no class that {names[0]} has", "at least one common class")
    if len(alone):
        shown = ", ".join(map(str, alone[:5])) + (", ..." if len(alone) > 5 else "")
        warnings.warn(
            f"{len(alone)} classes are in one set only and dropped: {shown}", stacklevel=3
        )
    pooled = np.concatenate([y_x, y_y])
    order = np.argsort(pooled, kind="stable")
    order = order[np.isin(pooled[order], common)]
    labels, starts, group, counts = np.unique(
        pooled[order], return_index=True, return_inverse=True, return_counts=True
    )
    first = order < len(y_x)
    n_x = np.bincount(group[first], minlength=len(labels))
    for name, left in zip(names, (n_x.sum(), len(order) - n_x.sum())):
        _two_records(name, left, "records of common classes")
    return Strata(order, first, group, starts, labels, n_x, counts - n_x)


def shuffled(strata, count, rng, dtype=np.float64):
    """Who is in the first set, after shuffles within the classes.

    Parameters
    ----------
    strata : Strata
    count : int
        B.
    rng : numpy.random.Generator
    dtype : numpy dtype

    Returns
    -------
    array (B, n)
        Zeros and ones, in the strata's order.
    """
    found = np.empty((count, len(strata.order)), dtype)
    first = strata.first.astype(dtype)
    for part in np.split(np.arange(len(first)), strata.starts[1:]):
        inside = slice(part[0], part[-1] + 1)
        found[:, inside] = rng.permuted(np.broadcast_to(first[inside], (count, len(part))), axis=1)
    return found


def _two_records(name, count, what):
    if count < 2:
        checks.fail(name, f"{count} {what}", "at least 2")
