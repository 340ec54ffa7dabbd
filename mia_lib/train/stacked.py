"""Many MLPs at once: batched matrix products, a hand-written backward pass, and buffers that are
used again.

The K models of a stack keep their weights as one (K, outputs, inputs) tensor a layer. A step is one
`baddbmm` a layer forwards, two backwards. What made it fast, measured on one core:

- hidden activations are batch-major (K, B, width), logits class-major (K, classes, B): the softmax
  then runs along memory (20 times faster for 10 classes) and the products of the narrow last layer
  are four times faster;
- tanh is computed as 2 sigmoid(2 a) - 1, the factor 2 hidden in the matrix product: 5 times faster
  than `torch.tanh`, and its absolute error is the type's own rounding;
- with plain momentum the velocity is the accumulator of the weight gradient's product, so gradients
  are never stored.
"""

import numpy as np
import torch

from mia_lib import models
from mia_lib.train import batches

CACHE_BYTES = (
    8 * 2**20
)  # weights, velocity, gradient and activations of a stack should stay in a core's share of cache
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual constants, torch's defaults


def stack_size(recipe, sizes, batch, device):
    """How many models to train at once: what fits into the cache, 1 to 128; on a GPU 1,024.

    Parameters
    ----------
    recipe : Classifier
    sizes : list of int
        Inputs, hidden widths, classes.
    batch : int
    device : torch.device

    Returns
    -------
    int
    """
    if device.type != "cpu":
        return 1024
    parameters = sum(before * after for before, after in zip(sizes, sizes[1:]))
    activations = batch * (sizes[0] + 3 * sum(sizes[1:]))
    item = 8 if recipe.dtype == "float64" else 4
    return int(np.clip(CACHE_BYTES // (item * (3 * parameters + activations)), 1, 128))


def train(recipe, x, y, members, rngs, n_classes):
    """Train MLPs in stacks of the best size.

    Parameters
    ----------
    recipe : Classifier
    x : (n, d) tensor
    y : (n,) int64 tensor on the same device
    members : list of k int arrays, each model's examples
    rngs : list of k numpy.random.Generator
    n_classes : int

    Returns
    -------
    dict of numpy arrays with leading axis k, named like the parameters of `models.mlp`
    """
    sizes = [x.shape[1], *recipe.hidden, n_classes]
    sizes_of_batches = np.array([batches.batch_size(recipe, len(ids)) for ids in members])
    state = None
    for batch in np.unique(sizes_of_batches):  # a stack needs rectangular batches
        group = np.flatnonzero(sizes_of_batches == batch)
        width = stack_size(recipe, sizes, int(batch), x.device)
        for part in np.array_split(group, -(-len(group) // width)):
            ids, generators = [members[s] for s in part], [rngs[s] for s in part]
            weights, biases = _train_stack(recipe, x, y, ids, generators, sizes, int(batch))
            arrays = named(weights, biases)
            if state is None:
                state = {
                    name: np.empty((len(members), *a.shape[1:]), a.dtype)
                    for name, a in arrays.items()
                }
            for name, array in arrays.items():
                state[name][part] = array
    return state


def named(weights, biases):
    names = [f"layer{i}" for i in range(len(weights) - 1)] + ["head"]
    arrays = {}
    for name, weight, bias in zip(names, weights, biases):
        arrays[f"{name}.weight"] = weight.cpu().numpy()
        arrays[f"{name}.bias"] = bias.reshape(bias.shape[0], -1).cpu().numpy()
    return arrays


def initial(recipe, sizes, rngs, like):
    """Weights (K, outputs, inputs) of each layer; biases (K, 1, width) of hidden layers, (K,
    classes, 1) of the last.
    """
    weights = [like.new_empty(len(rngs), after, before) for before, after in zip(sizes, sizes[1:])]
    biases = [like.new_empty(len(rngs), after) for after in sizes[1:]]
    for k, rng in enumerate(rngs):
        for weight, bias in zip(weights, biases):
            w, b = models.linear_weights(weight.shape[2], weight.shape[1], rng, init=recipe.init)
            weight[k].copy_(torch.from_numpy(w))
            bias[k].copy_(torch.from_numpy(b))
    return weights, [bias[:, None, :] for bias in biases[:-1]] + [biases[-1][:, :, None]]


def _blocks(recipe, members, rngs, batch, like):
    """For each step the indices (K B,), and minus the learning rates (K, 1, 1)."""
    streams = [batches.Stream(ids, rng) for ids, rng in zip(members, rngs)]
    n_steps = np.array([batches.step_count(recipe, len(ids)) for ids in members])
    made = np.array([batches.steps_made(recipe, len(ids)) for ids in members])
    total, block = int(made.max()), batches.block_steps(batch)
    for start in range(0, total, block):
        count = min(block, total - start)
        plan = np.stack(
            [stream.take(count * batch).reshape(count, batch) for stream in streams], axis=1
        )
        plan = torch.from_numpy(plan.reshape(count, -1)).to(like.device)
        steps = np.arange(start, start + count)[:, None]
        rates = np.where(steps < made, batches.learning_rates(recipe, steps, n_steps), 0.0)
        rates = torch.from_numpy(-rates).to(like.device, like.dtype)[:, :, None, None]
        yield from zip(plan, rates)


@torch.no_grad()
def _train_stack(recipe, x, y, members, rngs, sizes, batch):
    n_models, n_layers, n_classes = len(members), len(sizes) - 1, sizes[-1]
    tanh, sigmoid = recipe.activation == "tanh", recipe.activation == "sigmoid"
    weights, biases = initial(recipe, sizes, rngs, x)
    update = (
        _adam(recipe, weights, biases)
        if recipe.optimizer == "adam"
        else _sgd(recipe, weights, biases)
    )

    inputs = x.new_empty(n_models * batch, sizes[0])
    hidden = [x.new_empty(n_models, batch, width) for width in sizes[1:-1]]
    slopes = [torch.empty_like(activation) for activation in hidden]
    logits = x.new_empty(n_models, n_classes, batch)
    logit_slope = torch.empty_like(logits)
    labels = y.new_empty(n_models * batch)
    activations = [inputs.view(n_models, batch, -1), *hidden]
    # of the cross-entropy's mean over the batch: softmax minus smoothed one-hot, over B
    on_label = x.new_full((n_models, 1, batch), -(1 - recipe.label_smoothing) / batch)
    off_label = -recipe.label_smoothing / n_classes / batch
    minus_one = x.new_full((), -1.0)
    factor = 2 if tanh else 1

    for step, (index, rates) in enumerate(_blocks(recipe, members, rngs, batch, x)):
        torch.index_select(x, 0, index, out=inputs)
        torch.index_select(y, 0, index, out=labels)
        for i, out in enumerate(hidden):
            torch.baddbmm(
                biases[i], activations[i], weights[i].mT, beta=factor, alpha=factor, out=out
            )
            if tanh:
                torch.add(minus_one, torch.sigmoid(out, out=out), alpha=2, out=out)
            elif sigmoid:
                torch.sigmoid(out, out=out)
            else:
                out.clamp_min_(0)
        torch.baddbmm(biases[-1], weights[-1], activations[-1].mT, out=logits)
        torch.softmax(logits, 1, out=logit_slope)
        logit_slope.mul_(1 / batch)
        if off_label:
            logit_slope.add_(off_label)
        logit_slope.scatter_add_(1, labels.view(n_models, 1, batch), on_label)
        # outward: d loss / d the outputs of layer i, seen as (K, outputs, B)
        outward, bias_gradient = logit_slope, logit_slope.sum(2, keepdim=True)
        for i in reversed(range(n_layers)):
            if i:  # before the weights change
                below, out = slopes[i - 1], hidden[i - 1]
                torch.bmm(outward.mT, weights[i], out=below)
                if tanh:
                    torch.ops.aten.tanh_backward.grad_input(below, out, grad_input=below)
                elif sigmoid:
                    torch.ops.aten.sigmoid_backward.grad_input(below, out, grad_input=below)
                else:
                    torch.ops.aten.threshold_backward.grad_input(below, out, 0, grad_input=below)
            update(i, outward, activations[i], bias_gradient, rates, step)
            if i:
                outward, bias_gradient = below.mT, below.sum(1, keepdim=True)
    return weights, biases


def _sgd(recipe, weights, biases):
    """torch.optim.SGD's rule; weight decay on weights, not on biases."""
    velocities = [torch.zeros_like(weight) for weight in weights]
    bias_velocities = [torch.zeros_like(bias) for bias in biases]
    momentum, decay, nesterov = recipe.momentum, recipe.weight_decay, recipe.nesterov
    gradients = [torch.empty_like(weight) for weight in weights] if nesterov else None

    def update(i, outward, inward, bias_gradient, rates, step):
        weight, velocity, bias, bias_velocity = (
            weights[i],
            velocities[i],
            biases[i],
            bias_velocities[i],
        )
        bias_velocity.mul_(momentum).add_(bias_gradient)
        if nesterov:
            gradient = torch.bmm(outward, inward, out=gradients[i])
            gradient.add_(weight, alpha=decay)
            velocity.mul_(momentum).add_(gradient)
            weight.addcmul_(gradient.add_(velocity, alpha=momentum), rates)
            bias.addcmul_(bias_gradient.add_(bias_velocity, alpha=momentum), rates)
            return
        torch.baddbmm(velocity, outward, inward, beta=momentum, out=velocity)
        if decay:
            velocity.add_(weight, alpha=decay)
        weight.addcmul_(velocity, rates)
        bias.addcmul_(bias_velocity, rates)

    return update


def _adam(recipe, weights, biases):
    """torch.optim.Adam's rule; weight decay is added to the gradient of weights, not of biases."""
    gradients = [torch.empty_like(weight) for weight in weights]
    means = [torch.zeros_like(p) for p in [*weights, *biases]]
    squares = [torch.zeros_like(p) for p in [*weights, *biases]]
    roots = [torch.empty_like(p) for p in [*weights, *biases]]

    def apply(parameter, gradient, mean, square, root, rates, step):
        mean.lerp_(gradient, 1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        torch.sqrt(square, out=root)
        root.div_((1 - BETA2 ** (step + 1)) ** 0.5).add_(EPSILON)
        torch.div(mean, root, out=root)
        parameter.addcmul_(root, rates, value=1 / (1 - BETA1 ** (step + 1)))

    def update(i, outward, inward, bias_gradient, rates, step):
        gradient = torch.bmm(outward, inward, out=gradients[i])
        if recipe.weight_decay:
            gradient.add_(weights[i], alpha=recipe.weight_decay)
        j = len(weights) + i
        apply(weights[i], gradient, means[i], squares[i], roots[i], rates, step)
        apply(biases[i], bias_gradient, means[j], squares[j], roots[j], rates, step)

    return update
