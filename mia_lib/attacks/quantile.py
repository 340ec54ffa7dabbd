"""Quantile regression: how confident may a model be on an example like this one, if it never saw it?"""

import numpy as np
import torch

from mia_lib import checks, model_checks

RATE, BATCH = 0.01, 256  # of Adam, per step


def quantile_regression(signals, member, features, level=0.99, hidden=32, steps=500, folds=2, rng=None):
    """Signal minus the predicted quantile of non-members with such features.

    Bertran et al. 2023: no shadow models. For each target a regressor learns, from examples that the adversary knows not to
    be members, the quantile of the target's signal given the example itself. Where it is right, a share of 1 - level of the
    non-members score above 0. Assumes known non-members from the same distribution, and features that predict how hard
    an example is.

    Parameters
    ----------
    signals : array (S, n)
        Each row one target's signal, larger for members (logit-scaled confidence, or hinge); finite.
    member : bool array (S, n)
        True where example i trained target s. The adversary knows the non-members of all folds but the one that is scored.
    features : array (n, d)
        What the regressors see of an example, such as its pixels and its class as 0/1 columns; finite.
    level : float
        Of the quantile, in (0, 1): 1 minus the false-positive rate that the attack is built for.
    hidden : int
        Width of the regressors' hidden layer; 0: linear.
    steps : int
        Steps of training.
    folds : int
        The examples are split at random into so many parts, at least 2; nobody is scored by a regressor that saw it.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    float64 array (S, n)
        In the signal's unit. Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, options out of range, a target without two known non-members in some fold.

    Notes
    -----
    The pinball loss is minimised by Adam; the regressors of all targets train as one stack of batched products.
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 40)) < 0.5
    >>> quantile_regression(rng.normal(size=(4, 40)), member, rng.normal(size=(40, 2)), steps=10, rng=rng).shape
    (4, 40)
    """
    signals = checks.real_array("signals", signals, 2)
    model_checks.bounded("signals", signals)
    member = checks.boolean_array("member", member, shape=signals.shape)
    features = checks.real_array("features", features, shape=(signals.shape[1], None))
    level = checks.number("level", level, 0, 1, open_low=True, open_high=True)
    hidden, steps = checks.integer("hidden", hidden, 0), checks.integer("steps", steps, 1)
    folds = checks.integer("folds", folds, 2, signals.shape[1])
    rng = checks.generator(rng)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    fold = rng.permutation(signals.shape[1]) % folds
    scores = np.empty(signals.shape)
    for part in range(folds):
        scored = fold == part
        known = ~member & ~scored
        if known.sum(axis=1).min() < 2:
            checks.fail("member", "a target with fewer than two known non-members outside a fold", "at least two")
        predicted = _predicted(signals, known, features, scored, level, hidden, steps, rng)
        scores[:, scored] = signals[:, scored] - predicted
    return scores


def _predicted(signals, known, features, scored, level, hidden, steps, rng):
    """Quantiles (S, scored) from regressors that are trained on each target's known non-members."""
    n_models, width = len(signals), features.shape[1]
    count = known.sum(axis=1)
    rows = np.argsort(~known, axis=1, kind="stable")  # the known first
    values = np.where(known, signals, 0.0)
    center = values.sum(axis=1) / count
    spread = np.sqrt((np.where(known, signals - center[:, None], 0.0) ** 2).sum(axis=1) / count)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = torch.from_numpy(((signals - center[:, None]) / spread[:, None]).astype(np.float32))
    inputs = torch.from_numpy(features.astype(np.float32))
    sizes = [width, hidden, 1] if hidden else [width, 1]
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        weight = rng.standard_normal((n_models, before, after), dtype=np.float32) / np.float32(np.sqrt(before))
        layers.append((torch.from_numpy(weight).requires_grad_(), torch.zeros(n_models, 1, after, requires_grad=True)))
    parameters = [tensor for layer in layers for tensor in layer]
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    batch = min(BATCH, int(count.max()))
    for _ in range(steps):
        picked = np.take_along_axis(rows, rng.integers(0, count[:, None], (n_models, batch)), axis=1)
        picked = torch.from_numpy(picked)
        over = torch.gather(scaled, 1, picked) - _answer(layers, inputs[picked])
        loss = torch.maximum(level * over, (level - 1) * over).mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        new = inputs[torch.from_numpy(np.flatnonzero(scored))]
        found = torch.stack([_answer([(w[s], b[s]) for w, b in layers], new) for s in range(n_models)])
    return found.double().numpy() * spread[:, None] + center[:, None]


def _answer(layers, x):
    for weight, bias in layers[:-1]:
        x = torch.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return (x @ weight + bias)[..., 0]
