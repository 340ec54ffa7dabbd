"""Who is in which shadow model's training set.

Below `data`, whose stored signals draw the masks of their models again, and below `shadow`, which
trains with them and offers both functions.
"""

import numpy as np

from mia_lib import checks

__all__ = []  # `shadow` is where they are asked for


def half_masks(n_models, n_examples, rng=None):
    """Training sets such that every example is in exactly half of the models (Carlini et al. 2022,
    section V-A).

    Parameters
    ----------
    n_models : int
        S, even.
    n_examples : int
        n.
    rng : numpy.random.Generator, optional

    Returns
    -------
    (S, n) boolean array
        True where example i trains model s. The columns are independent and uniform over all sets
        of S/2 models; a model's own number of examples varies.

    Raises
    ------
    ValueError
        If S is odd.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> half_masks(4, 3, np.random.default_rng(0)).sum(0)
    array([2, 2, 2])
    """
    n_models, n_examples = (
        checks.integer("n_models", n_models, 2),
        checks.integer("n_examples", n_examples, 1),
    )
    if n_models % 2:
        checks.fail(
            "n_models",
            str(n_models),
            "an even number, so that every example can be in exactly half",
        )
    column = (np.arange(n_models) < n_models // 2)[:, None]
    return checks.generator(rng).permuted(np.broadcast_to(column, (n_models, n_examples)), axis=0)


def bernoulli_masks(n_models, n_examples, rng=None, *, probability=0.5):
    """Training sets in which every example is in every model independently with one probability.

    Parameters
    ----------
    n_models, n_examples : int
        S and n.
    rng : numpy.random.Generator, optional
    probability : float
        In (0, 1).

    Returns
    -------
    (S, n) boolean array

    Notes
    -----
    Taught in book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> bernoulli_masks(4, 3, np.random.default_rng(0)).shape
    (4, 3)
    """
    n_models, n_examples = (
        checks.integer("n_models", n_models, 1),
        checks.integer("n_examples", n_examples, 1),
    )
    probability = checks.prior(probability, "probability")
    return checks.generator(rng).random((n_models, n_examples)) < probability
