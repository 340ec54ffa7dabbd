"""Queries of a released discriminator: one score or several, and a score together with a distance.

White box: they are given the trained network. Taught in book/generative.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.generative.density import domias
from mia_lib.generative.nearest import ball_radius, monte_carlo, nearest_distance, nearest_distances


def discriminator_score(gan, x, labels=None):
    """How real the only discriminator finds each example.

    Parameters
    ----------
    gan : Gan
        A trained network with one discriminator: anything with ``scores(x, labels)``, (n, pairs).
    x : array (n, ...)
    labels : array (n,), optional
        Of a conditional network.

    Returns
    -------
    float64 array (n,)
        D(x) before any sigmoid; larger means more likely a member.

    Raises
    ------
    ValueError
        Several discriminators, scores that are not finite.

    Notes
    -----
    Hayes et al. 2019; MACE v1 eq. 3, v2 eq. 20. A sigmoid would keep the order and let large scores
    tie at 1. Taught in book/generative.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x.sum(axis=1, keepdims=True)
    >>> discriminator_score(Toy(), np.eye(2) * [1, 3])
    array([1., 3.])
    """
    scores = all_scores(gan, x, labels)
    if scores.shape[1] != 1:
        checks.fail(
            "gan", f"{scores.shape[1]} discriminators", "one; max_score and all_scores take several"
        )
    return scores[:, 0]


def max_score(gan, x, labels=None):
    """The largest of several discriminators' scores.

    Parameters
    ----------
    gan : Gan
    x : array (n, ...)
    labels : array (n,), optional

    Returns
    -------
    float64 array (n,)
        max_i D_i(x); larger means more likely a member.

    Raises
    ------
    ValueError
        As for `all_scores`.

    Notes
    -----
    Mukherjee et al. 2021; MACE v1 eq. 4, v2 eq. 22. Taught in book/generative.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x
    >>> max_score(Toy(), np.array([[1.0, 3.0], [2.0, 0.0]]))
    array([3., 2.])
    """
    return all_scores(gan, x, labels).max(axis=1)


def mean_score(gan, x, labels=None):
    """The mean of several discriminators' scores, the other one-dimensional query of privGAN's
    authors.

    Parameters
    ----------
    gan : Gan
    x : array (n, ...)
    labels : array (n,), optional

    Returns
    -------
    float64 array (n,)
        Larger means more likely a member.

    Raises
    ------
    ValueError
        As for `all_scores`.

    Notes
    -----
    Mukherjee et al. 2021. Taught in book/generative.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x
    >>> mean_score(Toy(), np.array([[1.0, 3.0], [2.0, 0.0]]))
    array([2., 1.])
    """
    return all_scores(gan, x, labels).mean(axis=1)


def all_scores(gan, x, labels=None):
    """The scores of all discriminators, as a vector.

    Parameters
    ----------
    gan : Gan
        Anything with ``scores(x, labels)``, (n, pairs).
    x : array (n, ...)
    labels : array (n,), optional
        Of a conditional network.

    Returns
    -------
    float64 array (n, pairs)
        (D_1(x), ..., D_N(x)), each larger for an example that is more likely a member.

    Raises
    ------
    ValueError
        Scores of another shape, NaN or infinite ones (a network that diverged).

    Notes
    -----
    MACE v1 eq. 5, v2 eq. 23. Taught in book/generative.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x
    >>> all_scores(Toy(), np.array([[1.0, 3.0], [2.0, 0.0]])).shape
    (2, 2)
    """
    if not callable(getattr(gan, "scores", None)):
        checks.fail(
            "gan", repr(type(gan).__name__), "a trained network with a method scores(x, labels)"
        )
    return checks.real_array("gan.scores(x)", gan.scores(x, labels), shape=(len(x), None))


def hybrid(gan, synthetic, x, *, labels=None, k=1, embedding=None):
    """The discriminator's score and the distance to a synthetic set, as a vector of two.

    Parameters
    ----------
    gan : Gan
        With one discriminator.
    synthetic : array (m, ...)
        What its generator made.
    x : array (n, ...)
    labels : array (n,), optional
        Of a conditional network.
    k : int
        Neighbours that are averaged.
    embedding : callable, optional
        As for `nearest_distances`.

    Returns
    -------
    float64 array (n, 2)
        (D(x), minus the distance), each larger for an example that is more likely a member.

    Raises
    ------
    ValueError
        As for `discriminator_score` and `nearest_distance`.

    Notes
    -----
    MACE v2 eq. 21. Taught in book/generative.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x.sum(axis=1, keepdims=True)
    >>> hybrid(Toy(), np.zeros((4, 2)), np.array([[3.0, 4.0]]))
    array([[ 7., -5.]])
    """
    score = discriminator_score(gan, x, labels)
    return np.stack([score, nearest_distance(synthetic, x, k, embedding=embedding)], axis=1)


def named_queries(names, gan, synthetic, x, *, labels=None, reference=None, embedding=None):
    """Several queries of one GAN and its release, by their names.

    Parameters
    ----------
    names : sequence of str
        Of "score" (the largest of several), "all scores", "nearest", "average of 3", "vector of 3",
        "monte carlo" (with `ball_radius`), "domias", "hybrid" and "embedded".
    gan : Gan
    synthetic : array (m, ...)
        What it released.
    x : array (n, ...)
    labels : array (n,), optional
        Of a conditional network.
    reference : array (r, ...), optional
        Other real examples; "domias" needs them.
    embedding : callable, optional
        As for `nearest_distances`; "embedded", the distance in its space, needs it.

    Returns
    -------
    dict of str to float64 array (n,) or (n, d)
        In the order of the names; larger means more likely a member.

    Raises
    ------
    ValueError
        An unknown name, something that a query needs and that is missing; as for the queries.

    Notes
    -----
    Used in notebooks/gan.ipynb.

    Examples
    --------
    >>> class Toy:
    ...     def scores(self, x, labels=None):
    ...         return x.sum(axis=1, keepdims=True)
    >>> found = named_queries(["score", "hybrid"], Toy(), np.zeros((4, 2)), np.array([[3.0, 4.0]]))
    >>> found["score"], found["hybrid"]
    (array([7.]), array([[ 7., -5.]]))
    """
    made = {
        "score": lambda: max_score(gan, x, labels),
        "all scores": lambda: all_scores(gan, x, labels),
        "nearest": lambda: nearest_distance(synthetic, x),
        "average of 3": lambda: nearest_distance(synthetic, x, k=3),
        "vector of 3": lambda: nearest_distances(synthetic, x, k=3),
        "monte carlo": lambda: monte_carlo(synthetic, x, ball_radius(synthetic, x)),
        "domias": lambda: domias(synthetic, reference, x),
        "hybrid": lambda: np.stack(
            [max_score(gan, x, labels), nearest_distance(synthetic, x)], axis=1
        ),
        "embedded": lambda: nearest_distance(synthetic, x, embedding=embedding),
    }
    names = [checks.choice("names", name, made) for name in names]
    for needed, given in (("domias", reference), ("embedded", embedding)):
        if needed in names and given is None:
            argument = "reference" if needed == "domias" else "embedding"
            checks.fail(argument, "None", f"what the query {needed!r} needs")
    return {name: made[name]() for name in names}
