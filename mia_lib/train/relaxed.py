"""RelaxLoss, a defence that keeps the members' loss from falling below a level.

Run in notebooks/defense_curves.ipynb.
"""

from dataclasses import dataclass

import torch

from mia_lib import checks, reseed
from mia_lib.train import batches, looped, products
from mia_lib.train.recipe import Classifier


@dataclass(frozen=True)
class RelaxLoss:
    """Training that goes up where a batch's loss is below a level (Chen, Yu and Fritz 2022).

    A batch whose mean cross-entropy L is at least alpha is an ordinary step down L. Below alpha,
    epochs alternate: in the first, third, ... the step goes up L; in the second, fourth, ... it
    flattens the posterior, down the cross-entropy from the soft labels t with t_y = p_y and t_c =
    (1 - p_y) / (K - 1) for all other classes, which are held fixed.

    Parameters
    ----------
    recipe : Classifier
        How the classifier is trained, without label smoothing.
    alpha : float
        The level in nats, at least 0; log K is the loss of guessing. With 0 the result is that of
        the recipe alone.

    Raises
    ------
    ValueError
        For a choice outside its range, or a recipe with label smoothing.

    Notes
    -----
    Algorithm 1 of arXiv:2207.05801, its epochs counted from 0. Flattening leaves p_y where it is
    and makes the wrong classes alike, so that ascent does not cost the right answer. Networks train
    one after the other. Run in notebooks/defense_curves.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = RelaxLoss(Classifier(hidden=(4,), epochs=2), alpha=0.3)
    >>> fit.logits(fit(x, y, np.ones((1, 12), bool), [np.random.default_rng(0)]), x).shape
    (1, 12, 2)
    """

    recipe: Classifier
    alpha: float

    def __post_init__(self):
        unsmoothed(self.recipe)
        checks.number("alpha", self.alpha, 0)

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k models; arguments and result as for `Classifier`."""
        data, labels, ids, n_classes = self.recipe.prepared(x, y, members, rngs)

        def objective(k, net, own, rng):
            return self._loss(labels, len(own))

        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.train(self.recipe, data, labels, ids, rngs, n_classes, objective)

    def _loss(self, labels, n_members):
        size, steps = batches.batch_size(self.recipe, n_members), 0

        def loss(outputs, index):
            nonlocal steps
            epoch = steps * size // n_members  # batches run on from pass to pass without gaps
            steps += 1
            plain = torch.nn.functional.cross_entropy(outputs, labels[index])
            if plain >= self.alpha:
                return plain
            return _flattened(outputs, labels[index]) if epoch % 2 else -plain

        return loss

    def logits(self, state, x):
        """As `Classifier.logits`."""
        return self.recipe.logits(state, x)

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)


def unsmoothed(recipe):
    """Refuse what is no recipe, or one with label smoothing: a loss of its own replaces both."""
    if not isinstance(recipe, Classifier):
        checks.fail("recipe", type(recipe).__name__, "a train.Classifier")
    if recipe.label_smoothing:
        given = f"label_smoothing={recipe.label_smoothing:g}"
        checks.fail("recipe", given, "a recipe without label smoothing")


def soft_labels(right, labels, n_classes):
    """Distributions with probability `right` on the label and the rest alike on all others.

    Parameters
    ----------
    right : (B,) tensor
    labels : (B,) int64 tensor
    n_classes : int

    Returns
    -------
    (B, K) tensor
    """
    rest = (1 - right) / (n_classes - 1)
    return rest[:, None].repeat(1, n_classes).scatter(1, labels[:, None], right[:, None])


def _flattened(outputs, labels):
    with torch.no_grad():
        right = torch.softmax(outputs, 1).gather(1, labels[:, None])[:, 0]
        target = soft_labels(right, labels, outputs.shape[1])
    return torch.nn.functional.cross_entropy(outputs, target)
