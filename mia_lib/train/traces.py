"""The loss of every record along a training, which says without further models who was hard to
learn.
"""

from dataclasses import replace

import numpy as np
import torch

from mia_lib import checks, reseed, signals
from mia_lib.train import batches, looped, products
from mia_lib.train.recipe import Classifier


def epoch_losses(fit, x, y, members, rngs):
    """Loss of every record after every whole epoch of one training run: its loss trace.

    Parameters
    ----------
    fit : Classifier
        Of at least one epoch; one that is to `stop` is followed until then.
    x, y, members, rngs
        As for calling the fit; k models of n examples.

    Returns
    -------
    (E, k, n) float32 array
        Cross-entropy -log p_y in nats, at least 0, of members and others alike: row e - 1 is that
        of the fit with ``stop=e`` in its recipe, up to rounding.

    Raises
    ------
    ValueError
        As the fit, and for a fit that is no `Classifier` or makes no whole epoch.

    Notes
    -----
    The trace whose interquartile range Pollock et al. 2024 take for the exposure of a record. One
    number a record and epoch is kept, so that many classes cost no memory; `epoch_logits` keeps all
    outputs. Networks train one after the other. Taught in book/without_shadows.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> recipe = Classifier(hidden=(4,), epochs=3)
    >>> epoch_losses(recipe, x, y, np.ones((1, 12), bool), [np.random.default_rng(0)]).shape
    (3, 1, 12)
    """
    return reseed.fit(_epoch_losses)(fit, x, y, members, rngs)


@products.at_full_speed
def _epoch_losses(fit, x, y, members, rngs):
    if not isinstance(fit, Classifier):
        checks.fail("fit", type(fit).__name__, "a train.Classifier")
    n_epochs = int(fit.epochs if fit.stop is None else fit.stop)
    if n_epochs < 1:
        checks.fail("fit", f"training of {fit.stop or fit.epochs:g} epochs", "at least one epoch")
    data, labels, ids, n_classes = fit.prepared(x, y, members, rngs)
    right = labels.cpu().numpy()
    found = np.empty((n_epochs, len(ids), len(data)), np.float32)
    due = [
        [batches.steps_made(replace(fit, stop=float(e)), len(own)) for e in range(1, n_epochs + 1)]
        for own in ids
    ]

    def watch(k, net, step):
        for e in np.flatnonzero(np.equal(due[k], step)):
            logits = looped.current_logits(fit, net, data).float().cpu().numpy()
            found[e, k] = signals.cross_entropy(logits, right)

    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        looped.train(fit, data, labels, ids, rngs, n_classes, None, watch)
    return found
