"""Fit an adversarial random forest to a table and say what it releases. Runs in an environment of
its own (scripts/arf_worker.txt), which scripts/synthesiser.py makes; knows nothing of mia_lib.

    python scripts/arf_worker.py GIVEN.npz FOUND.npz

GIVEN has `members` (n, d) of small whole numbers, one category each, `asked` (q, d), `n_release`,
`n_forge`, `trees`, `min_node_size`, `max_iters` and `seed`. FOUND has `release` (n_release, d),
`log_density` (q,) of the asked rows, -inf where no leaf allows them, the out-of-bag `accuracy` of
every forest that was grown, `leaves`, `forge_gap` and `versions`.

arfpy grows a first forest, which tells the records from shuffled ones, and in each round another
one, which tells them from draws of the last. It stops where the accuracy is at most one half or has
risen, and then releases the forest before the last, so that one accuracy or two mean the first.
"""

import importlib.metadata
import json
import sys
import warnings

import numpy as np
import pandas as pd
from arfpy import arf
from pandas.core.groupby import DataFrameGroupBy

PACKAGES = ("arfpy", "numpy", "pandas", "scikit-learn", "scipy")


def remember_groups():
    """arfpy asks for the same group of records again for every column, which took most of its time:
    the last answer is kept. No draw changes.
    """
    ask, last = DataFrameGroupBy.get_group, {}

    def get_group(groups, name, *more, **options):
        if last.get("of") is not groups or last["name"] != name:
            last.update(of=groups, name=name, found=ask(groups, name, *more, **options))
        return last["found"]

    DataFrameGroupBy.get_group = get_group


def leaves_of(model, levels):
    """Coverage (L,) of all leaves and, for each column, the probability of every level in every
    leaf, (L, levels): the mixture that arfpy estimated.
    """
    listed = model.bnds[["tree", "nodeid", "cvg"]].drop_duplicates()
    places = pd.MultiIndex.from_frame(listed[["tree", "nodeid"]])
    found = []
    for column, part in model.class_probs.groupby("variable", sort=False):
        at = places.get_indexer(pd.MultiIndex.from_frame(part[["tree", "nodeid"]]))
        assert (at >= 0).all()
        table = np.zeros((len(listed), levels[column]))
        table[at, part["value"].astype(int)] = part["prob"]
        found.append((column, table))
    columns = dict(found)
    weights = listed["cvg"].to_numpy() / model.num_trees
    return weights / weights.sum(), [columns[name] for name in levels]


def drawn(weights, tables, n, rng):
    """n rows of the mixture: a leaf, then every column by itself."""
    leaf = rng.choice(len(weights), size=n, p=weights)
    u = rng.random((n, len(tables)))
    rows = [
        (u[:, j, None] >= np.cumsum(table, axis=1)[leaf, :-1]).sum(axis=1)
        for j, table in enumerate(tables)
    ]
    return np.array(rows, dtype=np.uint8).T


def log_density(weights, tables, rows):
    """Natural logarithm of the mixture's probability of each row."""
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in tables]
        start = np.log(weights)
    found = np.empty(len(rows))
    for i, row in enumerate(rows):
        each = start + sum(log[:, value] for log, value in zip(logs, row))
        found[i] = np.logaddexp.reduce(each)
    return found


def main(given_path, found_path):
    warnings.filterwarnings("ignore")
    remember_groups()
    given = np.load(given_path)
    members, rng = given["members"], np.random.default_rng(int(given["seed"]))
    np.random.seed(rng.integers(2**32))  # noqa: NPY002  (arfpy draws from numpy's own state)
    names = [f"column {j}" for j in range(members.shape[1])]
    # a level that no member has cannot be drawn, and the worker needs no name for it
    frame = pd.DataFrame(members, columns=names).astype("category")
    known = [frame[name].cat.categories.to_numpy() for name in names]
    model = arf.arf(
        frame,
        num_trees=int(given["trees"]),
        min_node_size=int(given["min_node_size"]),
        max_iters=int(given["max_iters"]),
        verbose=False,
        random_state=int(rng.integers(2**31)),
    )
    model.forde()
    weights, tables = leaves_of(model, {name: len(one) for name, one in zip(names, known)})
    codes = drawn(weights, tables, int(given["n_release"]), rng)
    # a row with a level that no member has gets the probability 0
    asked = given["asked"]
    code = [np.searchsorted(one, asked[:, j]) for j, one in enumerate(known)]
    seen = [np.isin(asked[:, j], one) for j, one in enumerate(known)]
    possible = np.all(seen, axis=0)
    densities = np.full(len(asked), -np.inf)
    densities[possible] = log_density(weights, tables, np.array(code).T[possible])
    # arfpy's own draw is of the same law, and a hundred times as slow: how far the mean logarithms
    # of the density of the two samples are apart, in standard errors
    own = model.forge(int(given["n_forge"]))
    own = np.array([own[name].cat.codes.to_numpy() for name in names]).T
    pair = [log_density(weights, tables, sample) for sample in (own, codes[: len(own)])]
    error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in pair))
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    np.savez_compressed(
        found_path,
        release=np.stack([one[codes[:, j]] for j, one in enumerate(known)], axis=1),
        log_density=densities,
        accuracy=np.array(model.acc),
        leaves=np.array(len(weights)),
        forge_gap=np.array((pair[0].mean() - pair[1].mean()) / error),
        versions=np.array(json.dumps(versions)),
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
