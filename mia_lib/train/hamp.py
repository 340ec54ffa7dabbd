"""HAMP, a defence that keeps predictions from being confident, in training and in answers.

Run in notebooks/defense_curves.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import optimize, stats

from mia_lib import checks, reseed
from mia_lib.train import looped, products
from mia_lib.train.recipe import Classifier
from mia_lib.train.relaxed import soft_labels, unsmoothed


@dataclass(frozen=True)
class Hamp:
    """Soft labels of high entropy, a reward for entropy, and answers in which only the order of the
    classes is the record's own (Chen and Pattabiraman 2024).

    Parameters
    ----------
    recipe : Classifier
        How the classifier is trained, without label smoothing.
    entropy : float
        gamma, in [0, 1): the entropy of the soft labels as a share of log K, that of guessing.
    weight : float
        Of the mean entropy of the predictions, which is subtracted from the loss, at least 0.
    values : tuple of float
        What the entries of a random input are drawn from, each value as likely as any other.
    seed : int
        Of the random inputs, one for each row that is asked about.

    Raises
    ------
    ValueError
        For a choice outside its range, or a recipe with label smoothing.

    Notes
    -----
    arXiv:2307.01610. The soft label has p on the record's label and (1 - p) / (K - 1) on all
    others, with the p at which its entropy is gamma log K. The loss is the mean divergence
    of the predictions from it, minus weight times their mean entropy. An answer has the order of
    the network's own and the numbers of its answer to a random input: `logits` returns it, and the
    recipe's `logits` what the network says. Row i of every call has the same random input, whatever
    record stands there and for every network of a recipe, so that an attacker with shadow models
    knows them; in another row a record gets other numbers. Networks train one after the other. Run
    in notebooks/defense_curves.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = Hamp(Classifier(hidden=(4,), epochs=2), entropy=0.5)
    >>> fit.logits(fit(x, y, np.ones((1, 12), bool), [np.random.default_rng(0)]), x).shape
    (1, 12, 2)
    """

    recipe: Classifier
    entropy: float
    weight: float = 0.0
    values: tuple = (0.0, 1.0)
    seed: int = 0

    def __post_init__(self):
        unsmoothed(self.recipe)
        checks.number("entropy", self.entropy, 0, high=1, open_high=True)
        checks.number("weight", self.weight, 0)
        values = checks.real_array("values", self.values, 1)
        object.__setattr__(self, "values", tuple(values.tolist()))
        checks.integer("seed", self.seed, 0)

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k models; arguments and result as for `Classifier`."""
        data, labels, ids, n_classes = self.recipe.prepared(x, y, members, rngs)
        given = {"dtype": self.recipe.torch_dtype, "device": data.device}
        right = torch.full(labels.shape, on_label(self.entropy, n_classes), **given)
        soft = soft_labels(right, labels, n_classes)

        def loss(outputs, index):
            log_p = torch.log_softmax(outputs, 1)
            plain = -(soft[index] * log_p).sum(1).mean()
            return plain + self.weight * (log_p.exp() * log_p).sum(1).mean()

        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.train(
                self.recipe, data, labels, ids, rngs, n_classes, lambda k, net, own, rng: loss
            )

    def logits(self, state, x):
        """The answers that are given, (k, n, K) float32: each row the network's own order of the
        classes and the outputs for a random input.

        Raises
        ------
        ValueError
            As `Classifier.logits`, and for an x whose type cannot hold one of `values`.
        """
        x = np.asarray(x)
        _held(self.values, x.dtype)
        drawn = np.random.default_rng(self.seed).choice(self.values, x.shape).astype(x.dtype)
        own, random = self.recipe.logits(state, x), self.recipe.logits(state, drawn)
        order = np.argsort(-own, axis=-1, kind="stable")  # of equals the first, as argmax has it
        answers = np.empty_like(own)
        np.put_along_axis(answers, order, -np.sort(-random, axis=-1), axis=-1)
        return answers

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)


def _held(values, dtype):
    """Refuse values that become others in a type: fractions in whole numbers, what is too large."""
    given = np.array(values)
    with np.errstate(all="ignore"):
        held = given.astype(dtype)
    lost = given[~np.isfinite(held) if dtype.kind == "f" else held != given]
    if len(lost):
        checks.fail("values", f"{lost[0]:g}", f"numbers that x of type {dtype} can hold")


def on_label(entropy, n_classes):
    """The p at which p on one class and the rest alike on all others has a given entropy.

    Parameters
    ----------
    entropy : float
        As a share of log K, in [0, 1).
    n_classes : int
        K, at least 2.

    Returns
    -------
    float
        In (1 / K, 1].
    """

    def excess(p):
        rest = np.full(n_classes - 1, (1 - p) / (n_classes - 1))
        return stats.entropy([p, *rest]) - entropy * np.log(n_classes)

    return optimize.brentq(excess, 1 / n_classes, 1.0) if entropy else 1.0
