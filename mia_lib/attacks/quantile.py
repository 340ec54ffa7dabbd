"""Quantile regression: how confident may a model be on an example like this one, if it never saw
it?
"""

import numpy as np

from mia_lib import checks, extras, model_checks, reseed

torch = extras.module("torch")

RATE, BATCH = 0.01, 256  # of Adam, per step
# Share of the known non-members that says when to stop, and after how many steps it is asked.
HELD_OUT, EVERY = 0.25, 20


def quantile_regression(
    signals, member, features, *, level=0.99, hidden=32, n_steps=500, folds=2, rng=None
):
    """Signal minus the predicted quantile of non-members with such features.

    Bertran et al. 2023: no shadow models. For each target a regressor learns, from examples that
    the adversary knows not to be members, the quantile of the target's signal given the example
    itself. Where it is right, a share of 1 - level of the non-members score above 0. Assumes known
    non-members from the same distribution, and features that predict how hard an example is.

    Parameters
    ----------
    signals : array (S, n)
        Each row one target's signal, larger for members (logit-scaled confidence, or hinge);
        finite.
    member : bool array (S, n)
        True where example i trained target s. The adversary knows the non-members of all folds but
        the one that is scored.
    features : array (n, d)
        What the regressors see of an example, such as its pixels and its class as 0/1 columns;
        finite.
    level : float
        Of the quantile, in (0, 1): 1 minus the false-positive rate that the attack is built for.
    hidden : int
        Width of the regressors' hidden layer; 0: linear.
    n_steps : int
        Steps of training, at most.
    folds : int
        The examples are split at random into so many parts, at least 2; nobody is scored by a
        regressor that saw it.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    float64 array (S, n)
        In the signal's unit. Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, options out of range, a target without four known
        non-members in some fold.

    Notes
    -----
    The pinball loss is minimised by Adam from a constant, the quantile of the known non-members; of
    the regressors on the way the one is kept that is best on a quarter of them which is held out. A
    quantile near 1 of few examples overfits otherwise. The regressors of all targets train as one
    stack of batched products. Run in notebooks/lira.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 40)) < 0.5
    >>> quantile_regression(rng.normal(size=(4, 40)), member, rng.normal(size=(40, 2)), n_steps=10,
    ...     rng=rng).shape
    (4, 40)
    """
    signals = checks.real_array("signals", signals, 2)
    model_checks.bounded("signals", signals)
    member = checks.boolean_array("member", member, shape=signals.shape)
    features = checks.real_array("features", features, shape=(signals.shape[1], None))
    level = checks.number("level", level, 0, high=1, open_low=True, open_high=True)
    hidden, n_steps = checks.integer("hidden", hidden, 0), checks.integer("n_steps", n_steps, 1)
    folds = checks.integer("folds", folds, 2, high=signals.shape[1])
    rng = checks.generator(rng)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    fold = rng.permutation(signals.shape[1]) % folds
    scores = np.empty(signals.shape)
    for part in range(folds):
        scored = fold == part
        known = ~member & ~scored
        if known.sum(axis=1).min() < 4:
            checks.fail(
                "member",
                "a target with fewer than four known non-members outside a fold",
                "at least four",
            )
        predicted = _predicted(signals, known, features, scored, level, hidden, n_steps, rng)
        scores[:, scored] = signals[:, scored] - predicted
    return scores


def _predicted(signals, known, features, scored, level, hidden, n_steps, rng):
    """Quantiles (S, scored) from regressors that are trained on each target's known non-members."""
    rows, taught, count = _shuffled(known, rng)
    center, spread = _moments(signals, known)
    scaled = (signals - center[:, None]) / spread[:, None]
    start = np.array([np.quantile(row[who], level) for row, who in zip(scaled, known)])

    rng = reseed.generator(rng)  # who teaches is drawn already
    width = features.shape[1]
    sizes = [width, hidden, 1] if hidden else [width, 1]
    layers = _layers(len(signals), sizes, start, rng)
    inputs = torch.from_numpy(features.astype(np.float32))
    targets = torch.from_numpy(scaled.astype(np.float32))

    def pinball(picked):
        """Losses (S, k) on the examples (S, k), each target's own."""
        over = torch.gather(targets, 1, picked) - _answer(layers, inputs[picked])
        return torch.maximum(level * over, (level - 1) * over)

    kept = _trained(layers, pinball, rows, taught, count, n_steps, rng)
    new = inputs[torch.from_numpy(np.flatnonzero(scored))]
    found = torch.stack(
        [_answer([(w[s], b[s]) for w, b in kept], new) for s in range(len(signals))]
    )
    return found.double().numpy() * spread[:, None] + center[:, None]


def _shuffled(known, rng):
    """In each row the known in random order, of which the first `taught` teach and the rest up to
    `count` say when to stop, then all others: (S, n), (S,), (S,).
    """
    rows = np.argsort(np.where(known, rng.random(known.shape), 1.0), axis=1)
    count = known.sum(axis=1)
    return rows, count - np.maximum(1, (HELD_OUT * count).astype(int)), count


def _moments(signals, known):
    """Mean and standard deviation (S,) of each target's known; 1 in place of 0."""
    count = known.sum(axis=1)
    center = np.where(known, signals, 0.0).sum(axis=1) / count
    squares = np.where(known, signals - center[:, None], 0.0) ** 2
    spread = np.sqrt(squares.sum(axis=1) / count)
    return center, np.where(spread > 0, spread, 1.0)


def _trained(layers, pinball, rows, taught, count, n_steps, rng):
    """The layers at each regressor's best moment, by its loss on the examples that do not teach."""
    place = np.arange(int(taught.min()), int(count.max()))
    held_out = torch.from_numpy(rows[:, place])
    own = (place >= taught[:, None]) & (place < count[:, None])
    own = torch.from_numpy(own.astype(np.float32))

    parameters = [tensor for layer in layers for tensor in layer]
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    best = torch.full((len(rows),), torch.inf)
    kept = [tensor.detach().clone() for tensor in parameters]
    for step in range(n_steps + 1):
        if step % EVERY == 0 or step == n_steps:
            with torch.no_grad():
                error = (pinball(held_out) * own).sum(dim=1) / own.sum(dim=1)
                better = error < best
                best = torch.where(better, error, best)
                for keep, tensor in zip(kept, parameters):
                    keep[better] = tensor[better]
        if step < n_steps:
            batch = rng.integers(0, taught[:, None], (len(rows), min(BATCH, int(taught.max()))))
            picked = torch.from_numpy(np.take_along_axis(rows, batch, axis=1))
            optimizer.zero_grad()
            pinball(picked).mean(dim=1).sum().backward()
            optimizer.step()
            schedule.step()
    return list(zip(kept[::2], kept[1::2]))


def _layers(n_models, sizes, start, rng):
    """Weights and biases of each layer; the last one begins as the constant `start`."""
    layers = []
    for before, after in zip(sizes[:-2], sizes[1:-1]):
        weight = rng.standard_normal((n_models, before, after), dtype=np.float32) / np.float32(
            np.sqrt(before)
        )
        layers.append((torch.from_numpy(weight), torch.zeros(n_models, 1, after)))
    constant = torch.from_numpy(start.astype(np.float32))[:, None, None]
    layers.append((torch.zeros(n_models, sizes[-2], 1), constant))
    return [(weight.requires_grad_(), bias.requires_grad_()) for weight, bias in layers]


def _answer(layers, x):
    for weight, bias in layers[:-1]:
        x = torch.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return (x @ weight + bias)[..., 0]
