"""Defences that live in the training: each is a fit like `Classifier`, made from one.

L2 is ``Classifier(weight_decay=...)``, dropout ``dropout=...``, label smoothing
``label_smoothing=...``, early stopping ``stop=...``; `epoch_logits` gives the curve that early
stopping is read from.

Taught in book/defenses.ipynb.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from mia_lib import checks, models, reseed
from mia_lib.train import batches, looped, products
from mia_lib.train.recipe import Classifier


@dataclass(frozen=True)
class AdversarialRegularization:
    """Min-max training against a membership network (Nasr et al. 2018; Song and Mittal 2021,
    section 2.3.1).

    At each step the membership network I first learns to tell a batch of members from a batch of
    reference records by the classifier's current outputs (eq. 2); then the classifier takes a step
    down the cross-entropy plus penalty x log I(F(x), y) of its own batch (eq. 3).

    Parameters
    ----------
    recipe : Classifier
        How the classifier is trained.
    penalty : float
        lambda, at least 0. With 0 the result is that of the recipe alone, but for a recipe with
        dropout, of which other activations are dropped.
    reference : (n,) boolean array
        Rows of x that nobody trains on: the non-members that I learns from. The defended classifier
        has looked at them, so they must not serve as non-members of an evaluation.
    attack_hidden : tuple of int
        Widths of I, a ReLU network that reads the probabilities and the one-hot label.
    attack_learning_rate : float
        Of I, trained with Adam.
    attack_steps : int
        Steps of I for each step of the classifier.

    Raises
    ------
    ValueError
        For a choice outside its range; when called, for a reference of the wrong length or one that
        has members.

    Notes
    -----
    I and its batches draw from a child of each model's generator. Networks train one after the
    other. Taught in book/defenses.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = AdversarialRegularization(Classifier(hidden=(4,), epochs=2), 1.0, np.arange(12) >= 8)
    >>> fit.logits(fit(x, y, np.arange(12)[None] < 8, [np.random.default_rng(0)]), x).shape
    (1, 12, 2)
    """

    recipe: Classifier
    penalty: float
    reference: np.ndarray
    attack_hidden: tuple = (64, 64)
    attack_learning_rate: float = 0.001
    attack_steps: int = 1

    def __post_init__(self):
        _checked_recipe(self.recipe)
        checks.number("penalty", self.penalty, 0)
        object.__setattr__(self, "reference", _some_rows("reference", self.reference))
        widths = checks.widths("attack_hidden", self.attack_hidden)
        object.__setattr__(self, "attack_hidden", widths)
        checks.number("attack_learning_rate", self.attack_learning_rate, 0, open_low=True)
        checks.integer("attack_steps", self.attack_steps, 1)

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k models; arguments and result as for `Classifier`."""
        prepared = self.recipe.prepared(x, y, members, rngs)
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.train(
                self.recipe, *prepared[:3], rngs, prepared[3], self._objectives(*prepared)
            )

    def _objectives(self, data, labels, ids, n_classes):
        reference = _outside("reference", self.reference, ids, len(data))

        def objective(k, net, own, rng):
            return self._objective(net, data, labels, own, reference, rng.spawn(1)[0], n_classes)

        return objective

    def _objective(self, net, data, labels, own, reference, rng, n_classes):
        attack = models.build(
            "mlp", (2 * n_classes,), 2, rng=rng, hidden=self.attack_hidden, activation="relu"
        )
        attack = attack.to(data.device, self.recipe.torch_dtype)
        optimizer = torch.optim.Adam(attack.parameters(), lr=self.attack_learning_rate)
        insiders, outsiders = batches.Stream(own, rng), batches.Stream(reference, rng)
        size = batches.batch_size(self.recipe, len(own))
        truth = torch.arange(2 * size, device=data.device) < size  # members first

        def log_membership(logits, index):
            """log I(F(x), y) in the second column, log (1 - I) in the first."""
            label = torch.nn.functional.one_hot(labels[index], n_classes)
            return torch.log_softmax(
                attack(torch.cat([torch.softmax(logits, 1), label.to(logits.dtype)], 1)), 1
            )

        def loss(outputs, index):
            for _ in range(self.attack_steps):
                rows = np.concatenate([insiders.take(size), outsiders.take(size)])
                rows = torch.from_numpy(rows).to(data.device)
                # What an attacker sees: the deployed network, members and reference records alike.
                seen = looped.current_logits(self.recipe, net, data[rows])
                optimizer.zero_grad(set_to_none=True)
                torch.nn.functional.nll_loss(log_membership(seen, rows), truth.long()).backward()
                optimizer.step()
            plain = torch.nn.functional.cross_entropy(
                outputs, labels[index], label_smoothing=self.recipe.label_smoothing
            )
            return plain + self.penalty * log_membership(outputs, index)[:, 1].mean()

        return loss

    def logits(self, state, x):
        """As `Classifier.logits`."""
        return self.recipe.logits(state, x)

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)


@dataclass(frozen=True)
class Distillation:
    """Knowledge distillation: a teacher learns the members' labels, the student learns the
    teacher's outputs.

    The student minimises T^2 times the cross-entropy of its softmax at temperature T from the
    teacher's (Hinton et al. 2015). With `transfer` it never sees a member: distillation for
    membership privacy (Shejwalkar and Houmansadr 2021).

    Parameters
    ----------
    recipe : Classifier
        How teacher and student are trained; label smoothing concerns the teacher alone.
    temperature : float
        T, above 0.
    transfer : (n,) boolean array, optional
        Rows of x that the student learns from, whose labels nobody needs. They must not be members,
        and must not serve as non-members of an evaluation. None: the members themselves.

    Raises
    ------
    ValueError
        For a choice outside its range; when called, for transfer rows of the wrong length or with
        members among them.

    Notes
    -----
    The teacher draws from a child of each model's generator and is thrown away.
    Taught in book/defenses.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = Distillation(Classifier(hidden=(4,), epochs=2), temperature=2.0)
    >>> fit.logits(fit(x, y, np.ones((1, 12), bool), [np.random.default_rng(0)]), x).shape
    (1, 12, 2)
    """

    recipe: Classifier
    temperature: float = 1.0
    transfer: np.ndarray | None = None

    def __post_init__(self):
        _checked_recipe(self.recipe)
        checks.number("temperature", self.temperature, 0, open_low=True)
        if self.transfer is not None:
            object.__setattr__(self, "transfer", _some_rows("transfer", self.transfer))

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k students; arguments and result as for `Classifier`."""
        data, labels, ids, n_classes = self.recipe.prepared(x, y, members, rngs)
        if self.transfer is None:
            lessons = ids
        else:
            lessons = [_outside("transfer", self.transfer, ids, len(data))] * len(ids)
        teachers = replace(self.recipe, n_classes=n_classes)(
            x, y, members, [rng.spawn(1)[0] for rng in rngs]
        )
        taught = torch.from_numpy(self.recipe.logits(teachers, x)).to(data.device)
        temperature = self.temperature

        def objective(k, net, own, rng):
            targets = torch.softmax(taught[k] / temperature, 1)
            return lambda outputs, index: (
                temperature**2
                * torch.nn.functional.cross_entropy(
                    outputs / temperature, targets[index].to(outputs.dtype)
                )
            )

        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.train(self.recipe, data, labels, lessons, rngs, n_classes, objective)

    def logits(self, state, x):
        """As `Classifier.logits`."""
        return self.recipe.logits(state, x)

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)


@reseed.fit
@products.at_full_speed
def epoch_logits(fit, x, y, members, rngs, epochs):
    """Outputs after each of several epochs of one training run: what early stopping chooses from.

    Parameters
    ----------
    fit : Classifier or AdversarialRegularization
    x, y, members, rngs
        As for calling the fit; k models.
    epochs : sequence of float
        Increasing, each above 0 and at most the recipe's ``epochs``.

    Returns
    -------
    (E, k, n, K) float32 array
        Row e: what the fit with ``stop=epochs[e]`` in its recipe answers, up to rounding.

    Raises
    ------
    ValueError
        As the fit, and for epochs that do not increase or are out of range.

    Notes
    -----
    Song and Mittal 2021, section 3.2.1 and Figure 2. Networks train one after the other. Taught in
    book/worst_off.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> recipe = Classifier(hidden=(4,), epochs=3)
    >>> epoch_logits(recipe, x, y, np.ones((1, 12), bool), [np.random.default_rng(0)],
    ...     [1, 2, 3]).shape
    (3, 1, 12, 2)
    """
    regularized = isinstance(fit, AdversarialRegularization)
    recipe = fit.recipe if regularized else fit
    if not isinstance(recipe, Classifier):
        checks.fail(
            "fit", type(fit).__name__, "a train.Classifier or a train.AdversarialRegularization"
        )
    epochs = checks.real_array("epochs", epochs, 1)
    last = recipe.epochs if recipe.stop is None else min(recipe.epochs, recipe.stop)
    if epochs[0] <= 0 or (np.diff(epochs) <= 0).any() or epochs[-1] > last:
        checks.fail(
            "epochs", str(epochs.tolist()), f"increasing numbers above 0 and at most {last:g}"
        )
    data, labels, ids, n_classes = recipe.prepared(x, y, members, rngs)
    objective = fit._objectives(data, labels, ids, n_classes) if regularized else None
    found = np.empty((len(epochs), len(ids), len(data), n_classes), np.float32)
    due = [
        [batches.steps_made(replace(recipe, stop=float(e)), len(own)) for e in epochs]
        for own in ids
    ]

    def watch(k, net, step):
        for e in np.flatnonzero(np.equal(due[k], step)):
            found[e, k] = looped.current_logits(recipe, net, data).float().cpu().numpy()

    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        looped.train(recipe, data, labels, ids, rngs, n_classes, objective, watch)
    return found


def _checked_recipe(recipe):
    if not isinstance(recipe, Classifier):
        checks.fail("recipe", type(recipe).__name__, "a train.Classifier")


def _some_rows(name, rows):
    rows = checks.boolean_array(name, rows, ndim=1)
    if not rows.any():
        checks.fail(name, "no row", "at least one")
    return rows


def _outside(name, rows, members, n):
    """The rows' indices, which no model has among its members."""
    if len(rows) != n:
        checks.fail(name, f"shape {rows.shape}", f"shape ({n},)")
    inside = sum(int(rows[ids].sum()) for ids in members)
    if inside:
        checks.fail(
            name, f"{inside} rows that a model is trained on", "rows outside every training set"
        )
    return np.flatnonzero(rows)
