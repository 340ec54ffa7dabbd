"""Any network, one model after the other, with autograd. For MLPs it is the oracle of the stacked
version.
"""

import functools

import numpy as np
import torch

from mia_lib import checks, models
from mia_lib.train import batches

PAD = 4  # pixels of reflected border that the weak augmentation crops from
WHITENING_IMAGES = 5000


def train(recipe, x, y, members, rngs, n_classes, objective=None, watch=None):
    """Train one network per row.

    Parameters
    ----------
    recipe : Classifier
    x : (n, d) or (n, height, width, channels) tensor, as stored
    y : (n,) int64 tensor on the same device
    members : list of k int arrays, each model's examples
    rngs : list of k numpy.random.Generator
    n_classes : int
    objective : callable, optional
        ``objective(k, net, ids, rng)`` is called once for network k and returns ``loss(outputs,
        index)``, the loss of the outputs on rows `index` of x. None: the cross-entropy.
    watch : callable, optional
        ``watch(k, net, step)`` is called after every step, `step` counted from 1.

    Returns
    -------
    dict of numpy arrays with leading axis k, the networks' state
    """

    def cross_entropy(k, net, ids, rng):
        return lambda outputs, index: torch.nn.functional.cross_entropy(
            outputs, y[index], label_smoothing=recipe.label_smoothing
        )

    objective = objective or cross_entropy
    states = []
    for k, (ids, rng) in enumerate(zip(members, rngs)):
        net = _network(recipe, x, n_classes, rng)
        loss = objective(k, net, ids, rng)
        states.append(
            _train_one(
                recipe,
                net,
                x,
                ids,
                rng,
                loss,
                None if watch is None else functools.partial(watch, k),
            )
        )
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def logits(recipe, state, x):
    """Outputs of each network in evaluation mode, (k, n, K) float32."""
    return _evaluated(recipe, state, x, lambda net, images: net(images))


def features(recipe, state, x):
    """What each network's last layer reads, in evaluation mode, (k, n, width) float32."""
    seen = []

    def inputs_of_head(net, images):
        handle = net.head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        net(images)
        handle.remove()
        return seen.pop()

    return _evaluated(recipe, state, x, inputs_of_head)


def _evaluated(recipe, state, x, outputs):
    """`outputs(network, images)` of every network for all of x, stacked as float32."""
    n_models, n_classes = state["head.weight"].shape[:2]
    net, found = _network(recipe, x, n_classes, None).eval(), []
    for name, tensor in net.state_dict().items():
        if np.shape(state.get(name))[1:] != tuple(tensor.shape):
            given = f"shape {tuple(x.shape)}"
            checks.fail("x", given, f"examples that fit {name} of the trained models")
    for k in range(n_models):
        net.load_state_dict(
            {name: torch.from_numpy(np.asarray(array[k])) for name, array in state.items()}
        )
        with torch.no_grad(), _mixed(recipe, x.device):
            parts = [
                outputs(net, recipe.as_read(x[start : start + 4096]))
                for start in range(0, len(x), 4096)
            ]
        found.append(torch.cat(parts).float().cpu().numpy())
    return np.stack(found)


def _network(recipe, x, n_classes, rng):
    net = recipe.network(tuple(x.shape[1:]), n_classes, rng)
    return net.to(x.device, recipe.torch_dtype, memory_format=torch.channels_last)


def _mixed(recipe, device):
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=recipe.dtype == "bfloat16")


def current_logits(recipe, net, x):
    """Outputs of a network in the midst of its training, in evaluation mode and without gradient,
    (n, K).

    Parameters
    ----------
    recipe : Classifier
    net : torch.nn.Module
        Left in training mode.
    x : (n, ...) tensor, as stored
    """
    net.eval()
    with torch.no_grad(), _mixed(recipe, x.device):
        parts = [net(recipe.as_read(x[start : start + 4096])) for start in range(0, len(x), 4096)]
    net.train()
    return torch.cat(parts)


def _train_one(recipe, net, x, ids, rng, objective, watch):
    net.train()
    for module in net.modules():
        if isinstance(
            module, models.Dropout
        ):  # a child's draws: the order of the examples stays what it is without
            seed = int(rng.spawn(1)[0].integers(2**63))
            module.generator = torch.Generator(x.device).manual_seed(seed)
    if hasattr(net, "whiten"):
        first = torch.from_numpy(ids[:WHITENING_IMAGES]).to(x.device)
        net.whiten(recipe.as_read(x[first]))
    optimizer = _optimizer(recipe, net)
    batch, total = batches.batch_size(recipe, len(ids)), batches.steps_made(recipe, len(ids))
    stream, block = batches.Stream(ids, rng), batches.block_steps(batch)
    rates = batches.learning_rates(recipe, np.arange(total), batches.step_count(recipe, len(ids)))
    for start in range(0, total, block):
        count = min(block, total - start)
        plan = torch.from_numpy(stream.take(count * batch).reshape(count, batch)).to(x.device)
        crops = _crops(rng, x, count, batch) if recipe.augment else [None] * count
        for step in range(count):
            index = plan[step]
            images = x[index] if crops[step] is None else _augmented(x, index, crops[step])
            with _mixed(recipe, x.device):
                loss = objective(net(recipe.as_read(images)), index)
            for group in optimizer.param_groups:
                group["lr"] = float(rates[start + step]) * group["factor"]
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if watch is not None:
                watch(net, start + step + 1)
    return {name: tensor.cpu().numpy() for name, tensor in net.state_dict().items()}


def _optimizer(recipe, net):
    """Weights with weight decay; biases and normalisation without; the shifts of normalisation at
    their own rate.
    """
    shifts = {id(m.bias) for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)}
    trained = [p for p in net.parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for p in trained if p.ndim > 1],
            "weight_decay": recipe.weight_decay,
            "factor": 1.0,
        },
        {"params": [p for p in trained if p.ndim == 1 and id(p) not in shifts], "factor": 1.0},
        {"params": [p for p in trained if id(p) in shifts], "factor": recipe.shift_rate},
    ]
    groups = [group for group in groups if group["params"]]
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=recipe.learning_rate)
    return torch.optim.SGD(
        groups, lr=recipe.learning_rate, momentum=recipe.momentum, nesterov=recipe.nesterov
    )


def _crops(rng, x, count, batch):
    """Row shift, column shift and mirror of each example of each step, (count, batch, 3), on the
    data's device.
    """
    draws = np.concatenate(
        [rng.integers(0, 2 * PAD + 1, (count, batch, 2)), rng.integers(0, 2, (count, batch, 1))], 2
    )
    return torch.from_numpy(draws).to(x.device)


def _augmented(x, index, crop):
    """Images reflected at the border by PAD pixels, cropped back to their size, mirrored or not:
    one gather.
    """
    height, width = x.shape[1:3]
    rows = _reflected(torch.arange(height, device=x.device) + crop[:, :1] - PAD, height)
    columns = torch.arange(width, device=x.device)
    columns = torch.where(crop[:, 2:] == 1, width - 1 - columns, columns)
    columns = _reflected(columns + crop[:, 1:2] - PAD, width)
    return x[index[:, None, None], rows[:, :, None], columns[:, None, :]]


def _reflected(position, size):
    """Positions outside 0 ... size - 1 mirrored at the first and last pixel, which are not
    repeated.
    """
    position = position.abs()
    return torch.where(position >= size, 2 * (size - 1) - position, position)
