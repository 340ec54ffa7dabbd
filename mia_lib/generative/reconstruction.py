"""The query of a released generator: how close to an example can it come?

White box: it is given the trained network and follows its gradients. Taught in
book/generative.ipynb.
"""

import numpy as np
import torch

from mia_lib import checks
from mia_lib.generative import feature_rows
from mia_lib.generative.nearest import searcher


def reconstruction(
    gan,
    x,
    labels=None,
    *,
    n_steps=200,
    restarts=3,
    candidates=1000,
    learning_rate=0.05,
    rng=None,
    batch=256,
):
    """Minus the distance from each example to the closest record that a generator can make.

    Parameters
    ----------
    gan : Gan
        Of several generators the closest record counts.
    x : array (n, ...)
    labels : array (n,), optional
        Of a conditional GAN.
    n_steps : int
        Gradient steps from every start.
    restarts : int
        R starts for each example and generator; the best point of all is kept.
    candidates : int
        The starts of an example are the latent points of its R nearest among so many random
        records, at least R.
    learning_rate : float
        Of Adam at the first step, in units of the latent space; it falls to 0 as a cosine.
    rng : numpy.random.Generator, optional
        Draws the candidates, N(0, I); None means fresh entropy.
    batch : int
        Examples at a time.

    Returns
    -------
    float64 array (n,)
        Minus the smallest Euclidean distance found, at most 0; larger means more likely a member.
        Never below minus the distance to the nearest candidate.

    Raises
    ------
    ValueError
        Records of another size than x, fewer candidates than restarts, a generator that gives NaN,
        labels that are missing.

    Notes
    -----
    Chen et al. 2020 (GAN-Leaks), min over w of L2(x, G(w)); MACE v1 section 3.2, v2 section 8.1.
    The minimum of a function that is not convex is found from above only. The examples of a batch
    do not influence each other, because Adam works entry by entry. Taught in book/generative.ipynb.

    Examples
    --------
    >>> from mia_lib import generative
    >>> rng = np.random.default_rng(0)
    >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=4)
    >>> gan = generative.js_gan(np.zeros((8, 8, 8)), recipe, rng=rng)[1]
    >>> bool((generative.reconstruction(gan, gan.generate(4, rng), rng=rng) > -0.05).all())
    True
    """
    n_steps = checks.integer("n_steps", n_steps, 0)
    restarts = checks.integer("restarts", restarts, 1)
    candidates = checks.integer("candidates", candidates, restarts)
    checks.number("learning_rate", learning_rate, 0, open_low=True)
    batch, rng = checks.integer("batch", batch, 1), checks.generator(rng)
    rows = feature_rows.rows("x", x)
    if not gan.n_classes:
        groups = [(None, np.arange(len(rows)))]
    else:
        labels = checks.labels("labels", labels, len(rows), n_classes=gan.n_classes)
        groups = [(label, np.flatnonzero(labels == label)) for label in np.unique(labels)]
    found = np.full(len(rows), np.inf)
    for pair in range(len(gan.generators)):
        points = torch.tensor(
            rng.standard_normal((candidates, gan.latent)), dtype=torch.float32, device=gan.device
        )
        for label, own in groups:

            def make(w, pair=pair, label=label):
                classes = (
                    None if label is None else torch.full((len(w),), int(label), device=w.device)
                )
                return gan.images(w, classes, pair).flatten(1)

            closest = _closest(make, points, rows[own], n_steps, restarts, learning_rate, batch)
            found[own] = np.minimum(found[own], closest)
    return 0.0 - np.sqrt(found)


def _closest(make, points, rows, n_steps, restarts, learning_rate, batch):
    """The smallest squared distance of each row to make(w), float64 (n,)."""
    with torch.no_grad():
        records = torch.cat([make(some) for some in points.split(batch)]).cpu().numpy()
    if records.shape[1] != rows.shape[1]:
        checks.fail(
            "x",
            f"{rows.shape[1]} entries an example",
            f"{records.shape[1]} as the generator makes them",
        )
    search = searcher(checks.real_array("gan.images(w)", records, dtype=None), rows, restarts)
    found = []
    for start in range(0, len(rows), batch):
        some = rows[start : start + batch]
        starts = points[torch.as_tensor(search(some).ravel(), device=points.device)]
        target = torch.tensor(some, dtype=torch.float32, device=points.device).repeat_interleave(
            restarts, 0
        )
        found.append(
            _descend(make, starts, target, n_steps, learning_rate).reshape(-1, restarts).min(axis=1)
        )
    return np.concatenate(found)


def _descend(make, start, target, n_steps, learning_rate):
    """The smallest squared distance on each path, float64 (b,)."""
    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(n_steps, 1))
    best = np.full(len(target), np.inf)
    for step in range(n_steps + 1):
        squared = ((make(w) - target).double() ** 2).sum(dim=1)
        best = np.minimum(best, squared.detach().cpu().numpy())
        if step < n_steps:
            (w.grad,) = torch.autograd.grad(squared.sum(), [w])
            optimizer.step()
            schedule.step()
    if not np.isfinite(best).all():
        checks.fail(
            "gan.images(w)",
            f"{int((~np.isfinite(best)).sum())} distances that are not finite",
            "finite records",
        )
    return best
