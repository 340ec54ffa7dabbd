"""A feature space for distances: what the last layer of a classifier reads, trained here.

Taught in book/generative.ipynb.
"""

import numpy as np

from mia_lib import checks, train


def classifier_embedding(x, y, recipe=None, *, rng=None):
    """Train a classifier and return the function from examples to its last hidden layer.

    Parameters
    ----------
    x : array (n, ...)
        Examples that are neither members nor non-members of the attack: a feature space that was
        fitted to the members is closer to them, and the query leaks by the embedding instead of by
        the model.
    y : array (n,)
        Their labels.
    recipe : train.Classifier, optional
        None: one hidden layer of 128 units.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    callable
        ``embedding(x)`` gives float32 features (n, width), for the argument `embedding` of the
        distance queries.

    Raises
    ------
    ValueError
        As for `train.Classifier`.

    Notes
    -----
    MACE v1 section 7.2.2 takes the distance between features of a network that was trained on other
    images. Any function from examples to rows of numbers may take the place of this one. Taught in
    book/generative.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.random((40, 8, 8)), np.arange(40) % 4
    >>> classifier_embedding(x, y, rng=rng)(x[:3]).shape
    (3, 128)
    """
    recipe = train.Classifier() if recipe is None else recipe
    state = recipe(x, y, np.ones((1, len(y)), bool), [checks.generator(rng)])

    def embedding(examples):
        return recipe.features(state, examples)[0]

    return embedding
