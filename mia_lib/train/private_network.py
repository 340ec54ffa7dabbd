"""A small convolutional network for private training, and its gradients example by example.

The gradient of one example at a convolution is a product of two matrices: the slopes of the loss at
its outputs, and the patches that it reads. One pass forwards, one backwards and a batched product a
layer therefore give all per-example gradients, without a loop over examples and without `vmap`.

Run in notebooks/lira_dp.ipynb.
"""

import torch
from torch import nn
from torch.nn import functional

from mia_lib import checks, models


def network(input_shape, n_classes, widths=(32, 64, 64), *, groups=8, rng=None):
    """A convolutional network without BatchNorm, which would mix the examples of a batch.

    For each width a 3x3 convolution, GroupNorm, 2x2 max pooling and tanh, then a linear layer.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, height, width), at least 2^len(widths) pixels a side.
    n_classes : int
        K, at least 2.
    widths : sequence of int
        Channels of each convolution, multiples of `groups`.
    groups : int
        Groups of channels that are normalised together.
    rng : numpy.random.Generator, optional
        The only source of the initial weights, which are drawn as `models.build` draws them. None
        means fresh entropy.

    Returns
    -------
    torch.nn.Sequential
        float32, on the CPU, in training mode.

    Raises
    ------
    ValueError
        For images that are too small.

    Notes
    -----
    Run in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> sum(p.numel() for p in network((3, 32, 32), 10).parameters())
    66730
    """
    channels, height, width = input_shape
    least = 2 ** len(widths)
    if min(height, width) < least:
        given = f"images of {height} x {width}"
        checks.fail("input_shape", given, f"at least {least} pixels a side")
    rng = checks.generator(rng)
    with torch.device("meta"):  # shapes only: nothing is drawn from torch's global generator
        net = nn.Sequential()
        for i, out in enumerate(widths):
            # Without a bias: the normalisation has one.
            net.add_module(f"conv{i}", nn.Conv2d(channels, out, 3, padding=1, bias=False))
            net.add_module(f"norm{i}", nn.GroupNorm(groups, out))
            # Before tanh, which rises: the same function as after it, on a quarter of the entries.
            net.add_module(f"pool{i}", nn.MaxPool2d(2))
            # Bounded activations keep gradients short, so that clipping bends them less (Papernot
            # et al. 2021).
            net.add_module(f"tanh{i}", nn.Tanh())
            channels, height, width = out, height // 2, width // 2
        net.add_module("flatten", nn.Flatten())
        net.add_module("head", nn.Linear(channels * height * width, n_classes))
    net = net.to_empty(device="cpu")
    with torch.no_grad():
        for module in net:
            models._initialise(module, rng, "fan-in")
            if isinstance(module, nn.GroupNorm):
                module.reset_parameters()
    return net


def clipped_sum(gradients, max_norm, used):
    """The sum of the gradients of the used examples, each shortened to `max_norm`.

    Parameters
    ----------
    gradients : (B, P) tensor
    max_norm : float
    used : (B,) bool tensor

    Returns
    -------
    (P,) tensor

    Examples
    --------
    >>> clipped_sum(torch.tensor([[3.0, 4.0], [0.1, 0.0]]), 1.0, torch.tensor([True, True]))
    tensor([0.7000, 0.8000])
    """
    norms = torch.linalg.vector_norm(gradients, dim=1)
    return (used * (max_norm / norms.clamp_min(1e-30)).clamp_max(1)) @ gradients


def per_example(net, images, labels):
    """The gradient of every example's cross-entropy.

    Parameters
    ----------
    net : torch.nn.Sequential
        Of `network`, its parameters without gradient: what they get is computed here.
    images : (B, channels, height, width) tensor
    labels : (B,) int64 tensor

    Returns
    -------
    (B, P) tensor
        Flattened in the order of ``net.parameters()``.

    Examples
    --------
    >>> net = network((1, 4, 4), 2, (8,)).requires_grad_(False)
    >>> per_example(net, torch.zeros(3, 1, 4, 4), torch.tensor([0, 1, 0])).shape
    torch.Size([3, 154])
    """
    seen, values = [], images
    with torch.enable_grad():
        for module in net:
            read = values
            if isinstance(module, nn.GroupNorm):
                read = functional.group_norm(values, module.num_groups, eps=module.eps)
                values = read * module.weight[:, None, None] + module.bias[:, None, None]
            else:
                values = module(values)
            if isinstance(module, (nn.Conv2d, nn.GroupNorm, nn.Linear)):
                if not values.requires_grad:  # the first layer's
                    values.requires_grad_()
                seen.append((module, read.detach(), values))
        loss = functional.cross_entropy(values, labels, reduction="sum")
        slopes = torch.autograd.grad(loss, [value for *_, value in seen])
    parts = []
    for (module, read, _), slope in zip(seen, slopes):
        if isinstance(module, nn.Conv2d):
            parts.append(torch.bmm(slope.flatten(2), _patches(read).mT).flatten(1))
        elif isinstance(module, nn.GroupNorm):
            parts += [(slope * read).sum((2, 3)), slope.sum((2, 3))]
        else:
            parts += [(slope[:, :, None] * read[:, None]).flatten(1), slope]
    return torch.cat(parts, 1)


def _patches(values):
    """What a padded 3x3 convolution reads, (B, 9 channels, pixels). Not `functional.unfold`, which
    on a GPU is one launch for each example.
    """
    windows = functional.pad(values, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    return windows.permute(0, 1, 4, 5, 2, 3).flatten(1, 3).flatten(2)
