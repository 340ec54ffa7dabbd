"""Cells of equal mass whose edges are records that the cells do not judge, and a score in several
dimensions.
"""

import numpy as np

from mia_lib import checks

SHARE_OF_EDGES = 0.25  # of a query of one number; a score takes half, since it is fitted


def split(member, nonmember, share, rng):
    """A random share of the rows of each group, and the rest: two pairs of arrays."""
    kept, judged = [], []
    for name, group in (("member_signal", member), ("nonmember_signal", nonmember)):
        n = max(1, int(share * len(group)))
        if len(group) - n < 3:  # what the sign split needs of each group
            checks.fail(
                name, f"{len(group)} examples", "at least 5, since some of them become the cells"
            )
        order = rng.permutation(len(group))
        kept.append(group[order[:n]])
        judged.append(group[order[n:]])
    return kept, judged


def equal_mass(values, bins):
    """Edges between at most `bins` cells that share the m values evenly, but for ties.

    Every inner edge is one of the values, so that an increasing map of the signal moves the edges
    along with it; a point between two values would not move along. A smallest value that ties is no
    edge: nothing may ever lie below it, and an empty cell makes every limit wider.
    """
    values = np.sort(values, axis=None)
    ranks = np.round((values.size + 1) * np.arange(1, bins) / bins).astype(int) - 1
    inner = np.unique(values[np.clip(ranks, 0, values.size - 1)])
    if np.count_nonzero(values == values[0]) > 1:
        inner = inner[inner > values[0]]
    return np.concatenate([[-np.inf], inner, [np.inf]])


def score(member, nonmember, rng):
    """A function from rows (m, d) to numbers that grow with the likelihood ratio, as far as trees
    find it.

    The trees see the ranks of an entry among the fitted ones and nothing else of it, so that an
    increasing map of any axis changes nothing.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    rows = np.concatenate([member, nonmember])
    columns = np.sort(rows, axis=0)

    def ranks(rows):
        return np.stack(
            [
                np.searchsorted(column, entry, "left") + np.searchsorted(column, entry, "right")
                for column, entry in zip(columns.T, rows.T)
            ],
            axis=1,
        )

    model = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=15, early_stopping=False, random_state=int(rng.integers(2**31))
    ).fit(ranks(rows), np.arange(len(rows)) < len(member))
    return lambda rows: model.decision_function(ranks(rows))
