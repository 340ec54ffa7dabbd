"""Who sees which example at which step, and at which learning rate."""

import numpy as np

from mia_lib import checks

BLOCK = (
    2**14
)  # examples drawn at a time: few numpy calls, and a plan that stays small beside the data


def training_sets(members, rngs, n):
    """The members of each model, checked beside the generators of their training.

    Parameters
    ----------
    members : (k, n) boolean array
    rngs : sequence of k numpy.random.Generator
    n : int
        Examples.

    Returns
    -------
    list of k int arrays

    Raises
    ------
    ValueError
        For another shape, not one generator for each model, a model without members.
    """
    members = checks.boolean_array("members", members, ndim=2)
    if members.shape[1] != n:
        checks.fail("members", f"shape {members.shape}", f"shape (k, {n})")
    if len(rngs) != len(members) or not len(members):
        checks.fail(
            "rngs",
            f"{len(rngs)} generators for {len(members)} models",
            "one for each, at least one",
        )
    for s, rng in enumerate(rngs):
        if not isinstance(rng, np.random.Generator):
            checks.fail(f"rngs[{s}]", type(rng).__name__, "a numpy.random.Generator")
    empty = np.flatnonzero(~members.any(1))
    if len(empty):
        checks.fail(
            "members",
            f"model {', '.join(map(str, empty))} without members",
            "at least one for each model",
        )
    return [np.flatnonzero(row) for row in members]


class Stream:
    """Endless shuffled passes over one model's members, one after the other without gaps.

    Parameters
    ----------
    ids : (m,) int array
        The members.
    rng : numpy.random.Generator
    """

    def __init__(self, ids, rng):
        self.ids, self.rng, self.left = ids, rng, ids[:0]

    def take(self, count):
        """The next `count` indices, (count,) int64."""
        parts, have = [self.left], len(self.left)
        while have < count:
            parts.append(self.rng.permutation(self.ids))
            have += len(self.ids)
        joined = np.concatenate(parts)
        self.left = joined[count:]
        return joined[:count]


def batch_size(recipe, n_members):
    """B = min(batch_size, members): every batch of a model is full."""
    return int(min(recipe.batch_size, n_members))


def _steps(epochs, recipe, n_members):
    passes = epochs * n_members / batch_size(recipe, n_members)
    return max(1, int(np.ceil(round(passes, 9))))  # a whole number may be rounded upwards


def step_count(recipe, n_members):
    """T = ceil(epochs x members / B), at least 1."""
    return _steps(recipe.epochs, recipe, n_members)


def steps_made(recipe, n_members):
    """Steps until training stops: all of them, or those of ``recipe.stop`` passes."""
    total = step_count(recipe, n_members)
    if recipe.stop is None:
        return total
    return min(total, _steps(recipe.stop, recipe, n_members))


def block_steps(batch):
    """Steps planned at a time; it depends on the batch size alone, so that a model's draws do not
    depend on its stack.
    """
    return max(1, BLOCK // batch)


def learning_rates(recipe, step, n_steps):
    """Learning rate at `step` of `n_steps`, broadcast; 0 once a model has made all its steps.

    Parameters
    ----------
    recipe : Classifier
    step : int array
    n_steps : int array

    Returns
    -------
    float64 array

    Examples
    --------
    >>> from mia_lib.train import Classifier
    >>> learning_rates(Classifier(schedule="linear", learning_rate=1.0), np.arange(5), 4)
    array([1.  , 0.75, 0.5 , 0.25, 0.  ])
    """
    progress = np.asarray(step) / np.asarray(n_steps)
    rate = np.full(progress.shape, recipe.learning_rate)
    if recipe.schedule == "cosine":
        rate = rate * (0.5 + 0.5 * np.cos(np.pi * progress))
    elif recipe.schedule == "linear":
        rate = rate * (1 - progress)
    if recipe.warmup:
        warm_steps = np.maximum(recipe.warmup * np.asarray(n_steps), 1)
        rate = rate * np.minimum(1, (np.asarray(step) + 1) / warm_steps)
    return np.where(progress < 1, rate, 0.0)
