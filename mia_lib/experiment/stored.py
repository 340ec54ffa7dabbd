"""Networks whose signals lie in the repository, where they were trained."""

from mia_lib import checks, data, shadow, train
from mia_lib.data import stored_signals

SAME = ("masks", "seed", "x", "y")  # of a manifest, beside the recipe: what makes it that network


def stored_network(name, s):
    """Recipe and weights of a network of `data.signals`, for what its signals do not say.

    Parameters
    ----------
    name : {"cifar10", "cifar100"}
    s : int
        Which one, from 0 on.

    Returns
    -------
    recipe : train.Classifier
    state : dict of arrays (1, ...)
        What its ``logits(state, x)`` and ``features(state, x)`` take.

    Raises
    ------
    ValueError
        For an unknown name or a network whose signals are not stored; if the folder that MIA_RUNS
        names does not hold it, holds another one in its place, or one that is damaged.
        scripts/signals.py leaves the networks on the machine where it trains them.

    Notes
    -----
    A network that was trained again, with the same recipe, members and seed, stands for the stored
    one: another processor rounds otherwise, so its answers are not those of `data.signals`.
    Used in notebooks/set_layers.ipynb and notebooks/lira_stored.ipynb.
    """
    checks.choice("name", name, stored_signals.NAMES)
    s = checks.integer("s", s, 0)
    said = data.signals(name, s + 1).provenance[s]["manifest"]
    block, model = divmod(s, stored_signals.BLOCK)
    home = shadow.folder("signals").parent / f"signals--{name}"
    path = home / f"block-{block:02d}" / f"model-{model:02d}"
    expected = f"network {s} of {name}, which scripts/signals.py leaves where it trains it"
    if not (path / "manifest.json").exists():
        checks.fail("MIA_RUNS", f"a folder without {path.relative_to(home.parent)}", expected)
    store = shadow.load(path)  # which names the file that is missing or damaged
    there = store.manifest
    same = all(there.get(part) == said[part] for part in SAME)
    # one that was trained again on another kind of processor is the same but for rounding
    own = (there.get("fit") or {}) | {"device": None}
    if not same or own != said["fit"] | {"device": None}:
        checks.fail("MIA_RUNS", f"{path} with another network", expected)
    state = {key: array[None] for key, array in store.weights(0).items()}
    fit = {k: v for k, v in said["fit"].items() if k != "class"}
    return train.Classifier(**fit | {"device": "auto"}), state  # wherever it was trained
