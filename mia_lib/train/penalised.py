"""Training with an L1 penalty, a defence that pushes weights to zero.

Run in notebooks/hr_mmd.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch

from mia_lib import checks, models, reseed
from mia_lib.train import products, stacked
from mia_lib.train.recipe import Classifier
from mia_lib.train.relaxed import unsmoothed


@dataclass(frozen=True)
class L1Penalty:
    """MLPs side by side that minimise cross-entropy plus weight x sum of the absolute weights.

    Parameters
    ----------
    recipe : Classifier
        An MLP without augmentation, dropout, weight decay and label smoothing, trained by SGD with
        a cosine schedule.
    weight : float
        Of the penalty, at least 0; weights and biases count.

    Raises
    ------
    ValueError
        For a choice outside its range; when called, for training sets of different size.

    Notes
    -----
    Networks of one call start apart and have training sets of their own, but the places in them
    that a batch is drawn from, with replacement, are the same for all. So one generator serves
    them, and what a network becomes depends on how many are trained with it. HR-MMD App. J.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = L1Penalty(Classifier(hidden=(4,), epochs=2), 0.01)
    >>> fit.logits(fit(x, y, np.ones((3, 12), bool), np.random.default_rng(0)), x).shape
    (3, 12, 2)
    """

    recipe: Classifier
    weight: float

    def __post_init__(self):
        unsmoothed(self.recipe)
        checks.number("weight", self.weight, 0)
        plain = self.recipe.stackable and self.recipe.optimizer == "sgd"
        plain &= self.recipe.schedule == "cosine" and not self.recipe.warmup
        plain &= self.recipe.stop is None and not self.recipe.nesterov
        plain &= self.recipe.init == "fan-in"
        if not plain or self.recipe.weight_decay:
            expected = "an MLP, SGD without Nesterov, a cosine schedule, the start fan-in, no stop,"
            expected += " augmentation or decay"
            checks.fail("recipe", repr(self.recipe), expected)

    @products.at_full_speed
    def __call__(self, x, y, members, rng=None):
        """Train k networks.

        Parameters
        ----------
        x, y, members : arrays
            As for `Classifier`; every training set has as many records.
        rng : numpy.random.Generator, optional
            None means fresh entropy.

        Returns
        -------
        dict of arrays with leading axis k
        """
        rng = reseed.generator(checks.generator(rng))
        data, labels, ids, n_classes = self.recipe.prepared(x, y, members, [rng] * len(members))
        if len({len(own) for own in ids}) > 1:
            given = f"training sets of {sorted(len(own) for own in ids)} records"
            checks.fail("members", given, "one size for all")
        own = torch.from_numpy(np.array(ids)).to(data.device)
        inputs = self.recipe.normalised(data).flatten(1)
        sizes = [inputs.shape[1], *self.recipe.hidden, n_classes]
        layers = self._start(len(own), sizes, rng, inputs)
        self._descend(layers, inputs[own], labels[own], rng)
        weights = [weight.detach().transpose(1, 2) for weight, _ in layers]
        return stacked.named(weights, [bias.detach() for _, bias in layers])

    def logits(self, state, x):
        """As `Classifier.logits`."""
        return self.recipe.logits(state, x)

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)

    def _start(self, count, sizes, rng, like):
        """(weights (k, before, after), biases (k, 1, after)) of each layer, all uniform."""

        def drawn(rows, before, after):
            values = rng.uniform(-1, 1, (count, rows, after)) / np.sqrt(before)
            return torch.from_numpy(values).to(like.device, like.dtype).requires_grad_()

        pairs = zip(sizes, sizes[1:])
        return [(drawn(before, before, after), drawn(1, before, after)) for before, after in pairs]

    def _descend(self, layers, inputs, labels, rng):
        """Train on inputs (k, m, d) with labels (k, m)."""
        recipe, parts = self.recipe, [part for layer in layers for part in layer]
        activation = models.ACTIVATIONS[recipe.activation]()
        solver = torch.optim.SGD(parts, lr=recipe.learning_rate, momentum=recipe.momentum)
        n_steps = max(1, int(recipe.epochs * inputs.shape[1] // recipe.batch_size))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(solver, n_steps)
        for _ in range(n_steps):
            batch = rng.integers(inputs.shape[1], size=recipe.batch_size)
            batch = torch.from_numpy(batch).to(inputs.device)
            out = inputs[:, batch]
            for weight, bias in layers[:-1]:
                out = activation(out @ weight + bias)
            out = (out @ layers[-1][0] + layers[-1][1]).log_softmax(-1)
            loss = -out.gather(-1, labels[:, batch, None]).squeeze(-1).mean(1).sum()
            loss = loss + self.weight * sum(part.abs().sum() for part in parts)
            solver.zero_grad()
            loss.backward()
            solver.step()
            schedule.step()
