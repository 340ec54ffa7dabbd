"""Queries of a released model: discriminator scores, reconstruction by the generator, and a score with a distance.

White box: they are given the trained network. Taught in book/generative.ipynb.
"""

import numpy as np
import torch

from mia_lib import checks
from mia_lib.generative import inputs
from mia_lib.generative.nearest import nearest_distance, searcher

ROWS = 4096  # images that the generator makes at a time


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
    Hayes et al. 2019; MACE v1 eq. 3, v2 eq. 20. A sigmoid would keep the order and let large scores tie at 1. Taught in
    book/generative.ipynb.

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
        checks.fail("gan", f"{scores.shape[1]} discriminators", "one; max_score and all_scores take several")
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
    """The mean of several discriminators' scores, the other one-dimensional query of privGAN's authors.

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
        checks.fail("gan", repr(type(gan).__name__), "a trained network with a method scores(x, labels)")
    return checks.real_array("gan.scores(x)", gan.scores(x, labels), shape=(len(x), None))


def hybrid(gan, synthetic, x, labels=None, k=1, embedding=None):
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
    return np.stack([score, nearest_distance(synthetic, x, k, embedding)], axis=1)


def reconstruction(generator, latent, x, steps=200, restarts=3, candidates=1000, learning_rate=0.05, rng=None, batch=256):
    """Minus the distance from each example to the closest image that the generator can make.

    Parameters
    ----------
    generator : torch.nn.Module or callable
        From latent points (b, latent) to images (b, ...) in the range of x; must let gradients through to its argument.
    latent : int
        Dimension of the latent space.
    x : array (n, ...)
    steps : int
        Gradient steps from every start.
    restarts : int
        R starts for each example; the best point of all is kept.
    candidates : int
        The starts of an example are the latent points of its R nearest among so many random images, at least R.
    learning_rate : float
        Of Adam at the first step, in units of the latent space; it falls to 0 as a cosine.
    rng : numpy.random.Generator, optional
        Draws the candidates, N(0, I); None means fresh entropy.
    batch : int
        Examples at a time.

    Returns
    -------
    float64 array (n,)
        Minus the smallest Euclidean distance found, at most 0; larger means more likely a member. Never below minus the
        distance to the nearest candidate.

    Raises
    ------
    ValueError
        Images of another size than x, fewer candidates than restarts, a generator that gives NaN.

    Notes
    -----
    Chen et al. 2020 (GAN-Leaks), min over w of L2(x, G(w)); MACE v1 section 3.2, v2 section 8.1. The minimum of a
    function that is not convex is found from above only. The examples of a batch do not influence each other, because
    Adam works entry by entry. Taught in book/generative.ipynb.

    Examples
    --------
    >>> line = torch.tensor([[1.0, 0.0, 0.0]])
    >>> found = reconstruction(lambda w: w @ line, 1, [[0.3, 3.0, 4.0]], rng=np.random.default_rng(0))
    >>> found.round(3)
    array([-5.])
    """
    latent, steps = checks.integer("latent", latent, 1), checks.integer("steps", steps, 0)
    restarts = checks.integer("restarts", restarts, 1)
    candidates = checks.integer("candidates", candidates, restarts)
    checks.number("learning_rate", learning_rate, 0, open_low=True)
    batch, rng = checks.integer("batch", batch, 1), checks.generator(rng)
    rows = inputs.rows("x", x)
    module = isinstance(generator, torch.nn.Module)
    device = next((p.device for p in generator.parameters()), "cpu") if module else "cpu"
    training = module and generator.training
    if module:
        generator.eval()
    try:
        points = torch.tensor(rng.standard_normal((candidates, latent)), dtype=torch.float32, device=device)
        with torch.no_grad():
            images = torch.cat([generator(some).flatten(1) for some in points.split(ROWS)]).cpu().numpy()
        if images.shape[1] != rows.shape[1]:
            checks.fail("x", f"{rows.shape[1]} entries an example", f"{images.shape[1]} as the generator makes them")
        search = searcher(checks.real_array("generator(w)", images, dtype=None), rows, restarts)
        found = []
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            nearest = search(some)
            target = torch.tensor(some, dtype=torch.float32, device=device).repeat_interleave(restarts, 0)
            squared = _descend(generator, points[torch.as_tensor(nearest.ravel())], target, steps, learning_rate)
            found.append(squared.reshape(-1, restarts).min(axis=1))
    finally:
        if module:
            generator.train(training)
    return 0.0 - np.sqrt(np.concatenate(found))


def _descend(generator, start, target, steps, learning_rate):
    """The smallest squared distance on each path, float64 (b,)."""
    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    best = np.full(len(target), np.inf)
    for step in range(steps + 1):
        squared = ((generator(w).flatten(1) - target).double() ** 2).sum(dim=1)
        best = np.minimum(best, squared.detach().cpu().numpy())
        if step < steps:
            (w.grad,) = torch.autograd.grad(squared.sum(), [w])
            optimizer.step()
            schedule.step()
    if not np.isfinite(best).all():
        checks.fail("generator(w)", f"{int((~np.isfinite(best)).sum())} distances that are not finite", "finite images")
    return best
