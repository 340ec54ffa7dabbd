"""Networks whose signals lie in the repository, where they were trained."""

from mia_lib import shadow, train
from mia_lib.data import stored_signals


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
        If MIA_RUNS does not hold the network, which scripts/signals.py leaves on the machine where
        it is trained.

    Notes
    -----
    Used in notebooks/lira_stored.ipynb.
    """
    block, model = divmod(s, stored_signals.BLOCK)
    home = shadow.folder("signals").parent / f"signals--{name}"
    store = shadow.load(home / f"block-{block:02d}" / f"model-{model:02d}")
    fields = {key: value for key, value in store.manifest["fit"].items() if key != "class"}
    recipe = train.Classifier(**fields | {"hidden": tuple(fields["hidden"])})
    return recipe, {key: array[None] for key, array in store.weights(0).items()}
