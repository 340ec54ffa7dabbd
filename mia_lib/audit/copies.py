"""Copies of a record: rows with the same inputs and the same label.

A classifier that has met one copy knows the other, and an interval that takes two copies for two
records is too short. So copies stay together where records are split, and count once, whichever
side they lie on: a rule that asked where they lie would, of most members, count more non-members
among records with copies than among others, and a model that answers those otherwise would seem to
leak. Only the cells of a coarse table, in which records agree by coincidence, count row by row, so
that it keeps its power.
"""

import hashlib

import numpy as np

CELL = 50  # a row that more than one in so many share, on both sides, is a cell of a coarse table


def groups(features, labels):
    """The record that each row is a copy of, by the bytes of its inputs and its label.

    Parameters
    ----------
    features : array (n, ...) or None
        Raw inputs, read row by row. Without them every row is a record of its own.
    labels : int array (n,)

    Returns
    -------
    int array (n,)
        0, 1, ... by first occurrence.

    Examples
    --------
    >>> groups(np.array([[1.0], [2.0], [1.0], [1.0]]), np.array([0, 0, 0, 1])).tolist()
    [0, 1, 0, 2]
    """
    if features is None:
        return np.arange(len(labels))
    known, names = {}, np.empty(len(labels), dtype=np.int64)
    for row, label in enumerate(labels):
        content = np.ascontiguousarray(features[row]).tobytes()
        name = hashlib.blake2b(content, digest_size=16).digest(), int(label)
        names[row] = known.setdefault(name, len(known))
    return names


def once(group, member, least):
    """Rows that count: one of all copies of a record, and every row of a coarse table's cells.

    Parameters
    ----------
    group : int array (n,)
    member : bool array (n,)
    least : int
        Members, and non-members, below which all rows count.

    Returns
    -------
    int array
        Ascending.

    Notes
    -----
    Of copies that all lie on one side the first counts. Of copies on both sides one counts that
    chance chooses, always the same, with the membership that it has: where chance decided for each
    row who is a member, it is a member as often as any other row. The first would not be where the
    members come first. More than two copies, and more than one row in 50, that lie on both sides
    are a cell of a coarse table.

    Examples
    --------
    >>> once(np.array([0, 0, 1, 1, 2, 3]), np.array([1, 1, 1, 0, 0, 0], bool), least=1).tolist()
    [0, 3, 4, 5]
    """
    _, first, name = np.unique(group, return_index=True, return_inverse=True)
    mixed, coarse = _both_sides(name, member)
    order = np.random.default_rng(0).permutation(len(group))
    chosen = order[np.unique(group[order], return_index=True)[1]]
    rows = np.where(mixed[first], chosen, first)
    rows = np.unique(np.append(rows, np.flatnonzero(coarse)))
    inside = np.count_nonzero(member[rows])
    return rows if min(inside, len(rows) - inside) >= least else np.arange(len(group))


def halves(group, member, rng):
    """True for one half of the records, copies together, each side split in half.

    Parameters
    ----------
    group : int array (n,)
    member : bool array (n,)
    rng : numpy.random.Generator

    Returns
    -------
    bool array (n,)

    Examples
    --------
    >>> group, member = np.repeat(np.arange(8), 2), np.arange(16) < 8
    >>> first = halves(group, member, np.random.default_rng(0))
    >>> bool((first[::2] == first[1::2]).all()), int(first[:8].sum())
    (True, 4)
    """
    _, name = np.unique(group, return_inverse=True)
    mixed, coarse = _both_sides(name, member)
    # Rows of a coarse table's cell are told apart; copies are one unit.
    unit = np.where(coarse, len(group) + np.arange(len(group)), name)
    _, start, unit = np.unique(unit, return_index=True, return_inverse=True)
    kind = np.where(mixed & ~coarse, 2, member)[start]
    chosen = np.zeros(len(start), dtype=bool)
    for k in range(3):
        same = rng.permutation(np.flatnonzero(kind == k))
        chosen[same[: len(same) // 2]] = True
    return chosen[unit]


def _both_sides(name, member):
    """True for rows whose copies are members and non-members, and, of these, for rows of a cell of
    a coarse table.
    """
    inside, size = np.bincount(name, member), np.bincount(name)
    mixed = (inside > 0) & (inside < size)
    return mixed[name], (mixed & (size > max(2, len(name) // CELL)))[name]
