"""The white-box attack: what training on a record does to the gradient of its loss.

Nasr, Shokri and Houmansadr 2019 read the gradient of the loss with respect to the weights. A model
that was trained on a record has little left to learn from it, so its gradient is small. The
attacker holds the target's weights and knows some of its members and non-members; those teach the
attack, and others are asked about.
"""

import numpy as np
from scipy import special

from mia_lib import checks, extras

torch = extras.module("torch")
train = extras.module("mia_lib.train")

CHUNK = 64  # records whose gradients are held at a time


def gradient_features(recipe, state, x, y):
    """What a white-box attacker reads off the gradient of each record's loss.

    Parameters
    ----------
    recipe : train.Classifier
        How the target was trained; it says what the network is.
    state : dict of arrays (1, ...)
        The weights of one model, as the recipe's call returned them.
    x : array (n, ...)
        Records.
    y : array (n,)
        Their labels, 0 ... K - 1.

    Returns
    -------
    float64 array (n, P + 2 K + width)
        The logarithm of the gradient's norm, tensor by tensor (P tensors of weights); the gradient
        with respect to the K outputs, which is p - one-hot(y); the row of the last layer's weight
        gradient that belongs to the right class (width numbers); the label, one-hot. No unit.

    Raises
    ------
    ValueError
        Wrong shapes, labels out of range, the weights of more than one model.

    Notes
    -----
    Nasr et al. 2019, section III, with norms in place of their convolutions over whole gradients: a
    norm does not change when hidden units change places. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> recipe = train.Classifier(hidden=(4,), epochs=1)
    >>> x, y = np.eye(6), np.arange(6) % 3
    >>> state = recipe(x, y, np.ones((1, 6), bool), [np.random.default_rng(0)])
    >>> gradient_features(recipe, state, x, y).shape        # 4 tensors, 3 classes, 4 hidden units
    (6, 14)
    """
    if any(len(array) != 1 for array in state.values()):
        checks.fail(
            "state", f"the weights of {len(next(iter(state.values())))} models", "those of one"
        )
    n_classes = state["head.weight"].shape[1]
    x = np.asarray(x)
    x = x[..., None] if x.ndim == 3 else x  # grey images, as the recipe reads them
    y = torch.from_numpy(checks.labels("y", y, len(x), n_classes=n_classes))
    net = _network(recipe, state, x.shape[1:], n_classes)
    weights = {name: tensor.detach() for name, tensor in net.named_parameters()}
    buffers = dict(net.named_buffers())

    def loss(weights, image, label):
        logits = torch.func.functional_call(net, (weights, buffers), (image[None],))
        return torch.nn.functional.cross_entropy(logits, label[None])

    one_by_one = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    parts = []
    for start in range(0, len(x), CHUNK):
        images = recipe.as_read(torch.from_numpy(np.ascontiguousarray(x[start : start + CHUNK])))
        labels = y[start : start + CHUNK]
        gradients = one_by_one(weights, images.double(), labels)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()], 1)
        of_label = gradients["head.weight"][torch.arange(len(labels)), labels]
        one_hot = torch.nn.functional.one_hot(labels, n_classes).double()
        # 1e-30 keeps the logarithm finite where a record has no gradient left
        parts.append(
            torch.cat([(norms + 1e-30).log(), gradients["head.bias"], of_label, one_hot], 1)
        )
    return torch.cat(parts).numpy()


def gradient_attack(
    target_features, known_features, known_member, *, prior=0.5, hidden=(64,), epochs=50, rng=None
):
    """A network on white-box features, taught by records of the target whose membership is known.

    Parameters
    ----------
    target_features : array (n, d)
        Of the records in question, from `gradient_features`.
    known_features : array (m, d)
        Of the records that the attacker knows to be members or not; none of them among the records
        in question.
    known_member : bool array (m,)
    prior : float
        Pr(member) that the output is for.
    hidden : tuple of int
        Widths of the hidden layers.
    epochs : float
        Passes over the known records.
    rng : numpy.random.Generator, optional
        Of weights and batches. None means fresh entropy.

    Returns
    -------
    float64 array (n,)
        In [0, 1], the network's estimate of Pr(member | features). Larger means more likely a
        member.

    Raises
    ------
    ValueError
        Wrong shapes, members only or non-members only, a record in question among the known ones.

    Notes
    -----
    Nasr et al. 2019; the comparison of Song and Mittal, section 3.3.4 and Table 5. The known
    records make this attacker stronger than one with shadow models only. Taught in
    book/metric_attacks.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> known, member = rng.normal(size=(40, 3)), np.arange(40) < 20
    >>> gradient_attack(rng.normal(size=(5, 3)), known, member, epochs=5, rng=rng).shape
    (5,)
    """
    prior, rng = checks.prior(prior), checks.generator(rng)
    target = checks.real_array("target_features", target_features, 2)
    known = checks.real_array("known_features", known_features, shape=(None, target.shape[1]))
    known_member = checks.boolean_array("known_member", known_member, shape=known.shape[:1])
    checks.both_groups("known_member", known_member)
    both = {row.tobytes() for row in known} & {row.tobytes() for row in target}
    if both:
        checks.fail(
            "target_features", f"{len(both)} records that are among the known ones", "other records"
        )
    center, spread = known.mean(0), known.std(0)
    spread[np.ptp(known, axis=0) == 0] = 1  # the deviation of equal numbers may round to more
    recipe = train.Classifier(
        hidden=hidden,
        activation="relu",
        n_classes=2,
        epochs=epochs,
        batch_size=64,
        optimizer="adam",
        learning_rate=1e-3,
        weight_decay=1e-3,
    )
    everybody = np.ones((1, len(known)), dtype=bool)
    state = recipe((known - center) / spread, known_member.astype(np.int64), everybody, [rng])
    logits = recipe.logits(state, (target - center) / spread)[0].astype(np.float64)
    seen = known_member.sum() / (~known_member).sum()
    return special.expit(logits[:, 1] - logits[:, 0] - np.log(seen) + special.logit(prior))


def _network(recipe, state, shape, n_classes):
    """The model in evaluation mode and float64, where small gradients keep their digits."""
    net = recipe.network(tuple(shape), n_classes)
    net.load_state_dict(
        {name: torch.from_numpy(np.asarray(array[0])) for name, array in state.items()}
    )
    return net.double().eval()
