"""MERLIN: is the loss at the example lower than around it?"""

import numpy as np

from mia_lib import checks, signals


def merlin(fit, scale, repeats=100, *, seed=0, continuous=False):
    """A function for `shadow.Store.apply`: share of noisy copies on which a model's loss is larger
    than on the example.

    Jayaraman et al. 2021 (Carlini et al. 2022, section V-C). Assumes queries at points of the
    adversary's choice, no shadow models; and that a trained example sits in a local minimum of the
    loss.

    Parameters
    ----------
    fit : object with ``logits(state, x) -> (k, n, K)``
        What trained the models, such as a `train.Classifier`.
    scale : float
        Standard deviation of the Gaussian noise, in the unit of x, above 0.
    repeats : int
        Noisy copies of each example.
    seed : int
        The copies are the same for every model, so that models differ by their answers alone.
    continuous : bool
        Whether examples of the same share are told apart by how far the loss rises: by its mean
        rise over the sum of that mean's size and the standard deviation of the rises.

    Returns
    -------
    callable
        ``function(state, x, y)`` returns scores (k, n), float64, in [0, 1]; larger means more
        likely a member. They are shares, in steps of 1 / repeats; or, if continuous, in the order
        of the shares and without steps. Images of bytes are rounded and kept within 0 ... 255 after
        the noise.

    Raises
    ------
    ValueError
        A fit without logits, a scale or number of repeats out of range.

    Notes
    -----
    Costs `repeats` passes over the data for each model. A share has repeats + 1 levels, so where
    more non-members share the highest one than a low false-positive rate allows it finds nobody
    there, however well it ranks; `continuous` takes that limit away. Run in notebooks/lira.ipynb.

    Examples
    --------
    >>> class Fit:
    ...     def logits(self, state, x):
    ...         return np.stack([-x**2, x], axis=-1)[None]
    >>> merlin(Fit(), scale=0.5)(None, np.array([0.0]), np.array([0])).shape
    (1, 1)
    """
    if not callable(getattr(fit, "logits", None)):
        checks.fail(
            "fit", repr(fit), "an object with a method logits(state, x), such as train.Classifier"
        )
    scale = checks.number("scale", scale, 0, open_low=True)
    repeats = checks.integer("repeats", repeats, 1)
    seed = checks.integer("seed", seed, 0)

    def share_above(state, x, y):
        at_example = signals.cross_entropy(fit.logits(state, x), y)
        rng = np.random.default_rng(seed)
        count, total, squares = np.zeros((3, *at_example.shape))
        for _ in range(repeats):
            rise = signals.cross_entropy(fit.logits(state, _noisy(x, scale, rng)), y) - at_example
            count += rise > 0
            total += rise
            squares += rise**2
        if not continuous:
            return count / repeats
        return (count + _within(total / repeats, squares / repeats)) / (repeats + 1)

    return share_above


def _within(mean, square):
    """A place in [0, 1] within a level, 1/2 where nothing moves."""
    size = np.abs(mean) + np.sqrt(np.maximum(square - mean**2, 0))
    return (1 + np.divide(mean, size, out=np.zeros_like(mean), where=size > 0)) / 2


def _noisy(x, scale, rng):
    moved = x + scale * rng.standard_normal(x.shape, dtype=np.float32)
    if (
        x.dtype == np.uint8 and x.ndim > 2
    ):  # records of bytes, such as 0/1 features, are read as they are
        return np.clip(np.rint(moved), 0, 255).astype(np.uint8)
    return moved.astype(x.dtype if x.dtype.kind == "f" else np.float32)
