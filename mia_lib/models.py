"""The papers' architectures, as plain torch modules.

`build` makes any of them by name. Every module ends in a linear layer called `head`, takes images
as (n, channels, height, width) or records as (n, features), and is initialised from a numpy
Generator alone, so that the same seed gives the same bits whatever torch's global state is.

Taught in book/lira.ipynb.
"""

import inspect

import numpy as np
import torch
from torch import nn

from mia_lib import checks

# One module, long as it is: stores of trained models know its text (`shadow.identity`), and would
# not be found again if it were cut.
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "sigmoid": nn.Sigmoid}
DEVICES = ("cpu", "cuda", "auto")


def torch_device(device):
    """The device that a name means.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        "auto": a GPU where torch can use one.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        Another name; "cuda" where there is no GPU.

    Examples
    --------
    >>> torch_device("cpu")
    device(type='cpu')
    """
    checks.choice("device", device, DEVICES)
    if device == "cuda" and not torch.cuda.is_available():
        checks.fail("device", "'cuda' without a GPU that torch can use", "'cpu' or 'auto'")
    return torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")


def mlp(input_shape, n_classes, hidden=(128,), *, activation="tanh", dropout=0.0):
    """Fully connected layers with one activation between each two.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one record; it is flattened.
    n_classes : int
        K, the number of logits.
    hidden : sequence of int
        Width of each hidden layer; empty gives multinomial logistic regression.
    activation : {"tanh", "relu", "sigmoid"}
    dropout : float
        Probability, in [0, 1), with which training sets each hidden activation to zero.

    Returns
    -------
    torch.nn.Module

    Notes
    -----
    Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in mlp((64,), 10, hidden=(128,)).parameters())
    9610
    """
    checks.choice("activation", activation, ACTIVATIONS)
    checks.number("dropout", dropout, 0, high=1, open_high=True)
    sizes = [int(np.prod(input_shape)), *(checks.integer("hidden", width, 1) for width in hidden)]
    net = nn.Sequential(nn.Flatten())
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        net.add_module(f"layer{i}", nn.Linear(before, after))
        net.add_module(f"activation{i}", ACTIVATIONS[activation]())
        if dropout:
            net.add_module(f"dropout{i}", Dropout(dropout))
    net.add_module("head", _Head(sizes[-1], n_classes))
    return net


def cnn(input_shape, n_classes, widths=(16, 32)):
    """A small convolutional network: for each width a 3x3 convolution, 2x2 max pooling and ReLU,
    then a linear layer.

    Pooling before the ReLU is the same function as after it and touches a quarter of the memory.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, height, width).
    n_classes : int
    widths : sequence of int
        Channels of each convolution.

    Returns
    -------
    torch.nn.Module

    Notes
    -----
    Run in notebooks/bayes.ipynb.

    Examples
    --------
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in cnn((1, 28, 28), 10).parameters())
    20490
    """
    channels, height, width = input_shape
    if min(height, width) < 2 ** len(widths):
        checks.fail(
            "input_shape",
            f"images of {height} x {width}",
            f"at least {2 ** len(widths)} pixels a side",
        )
    net = nn.Sequential()
    for i, out in enumerate(widths):
        net.add_module(
            f"conv{i}", nn.Conv2d(channels, checks.integer("widths", out, 1), 3, padding=1)
        )
        net.add_module(f"pool{i}", nn.MaxPool2d(2))
        net.add_module(f"relu{i}", nn.ReLU())
        channels, height, width = out, height // 2, width // 2
    net.add_module("flatten", nn.Flatten())
    net.add_module("head", _Head(channels * height * width, n_classes))
    return net


def resnet18(input_shape, n_classes):
    """ResNet-18 with a 3x3 first convolution and no first pooling, as is usual for 32x32 images (He
    et al. 2016).

    Parameters
    ----------
    input_shape : tuple of int
        (channels, height, width).
    n_classes : int

    Returns
    -------
    torch.nn.Module

    Notes
    -----
    Run in notebooks/bayes.ipynb.

    Examples
    --------
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in resnet18((3, 32, 32), 10).parameters())
    11173962
    """
    layers = [_conv3(input_shape[0], 64), nn.BatchNorm2d(64), nn.ReLU()]
    before = 64
    for width, stride in (
        (64, 1),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
    ):
        layers.append(_BasicBlock(before, width, stride))
        before = width
    return _Pooled(nn.Sequential(*layers), before, n_classes)


def wide_resnet(input_shape, n_classes, depth=28, *, width=2):
    """Wide residual network WRN-depth-width (Zagoruyko and Komodakis 2016), the CIFAR model of
    Carlini et al. 2022.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, height, width).
    n_classes : int
    depth : int
        6 b + 4 for b blocks in each of the three groups.
    width : int
        Factor on the 16, 32 and 64 channels of the groups.

    Returns
    -------
    torch.nn.Module

    Notes
    -----
    Run in notebooks/bayes.ipynb.

    Examples
    --------
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in wide_resnet((3, 32, 32), 10).parameters())
    1467610
    """
    checks.integer("depth", depth, 10)
    checks.integer("width", width, 1)
    if (depth - 4) % 6:
        checks.fail("depth", repr(depth), "6 b + 4, such as 10, 16, 22 or 28")
    before, layers = 16, [_conv3(input_shape[0], 16)]
    for channels, stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
        for block in range((depth - 4) // 6):
            layers.append(_PreActivationBlock(before, channels, stride if block == 0 else 1))
            before = channels
    layers += [nn.BatchNorm2d(before), nn.ReLU()]
    return _Pooled(nn.Sequential(*layers), before, n_classes)


def speednet(input_shape, n_classes, widths=(64, 256, 256)):
    """A small network that learns CIFAR-10 in seconds on a GPU, in the manner of Jordan's airbench
    (arXiv 2404.00498).

    A frozen 2x2 convolution whitens the patches of the training data; three groups of two 3x3
    convolutions, each group pooled once, with BatchNorm (shift only) and GELU; convolutions start
    as the identity on as many channels as fit; a last pooling over the whole image and a linear
    layer whose output is scaled by 1/9.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, height, width), at least 16 pixels a side.
    n_classes : int
    widths : sequence of int
        Channels of the groups.

    Returns
    -------
    torch.nn.Module
        With a method ``whiten(images)``, which sets the first layer from training images.

    Notes
    -----
    Run in notebooks/bayes.ipynb.

    Examples
    --------
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in speednet((3, 32, 32), 10).parameters())
    1972792
    """
    if min(input_shape[1:]) < 16:
        checks.fail(
            "input_shape",
            f"images of {input_shape[1]} x {input_shape[2]}",
            "at least 16 pixels a side",
        )
    return _Speednet(
        input_shape[0], n_classes, tuple(checks.integer("widths", width, 1) for width in widths)
    )


ARCHITECTURES = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet18": resnet18,
    "wide_resnet": wide_resnet,
    "speednet": speednet,
}


def build(name, input_shape, n_classes, *, rng=None, init="fan-in", **options):
    """An initialised network by name.

    Parameters
    ----------
    name : {"mlp", "cnn", "resnet18", "wide_resnet", "speednet"}
    input_shape : tuple of int
        Shape of one example: (features,) or any shape for "mlp", (channels, height, width) for the
        others.
    n_classes : int
        K, at least 2.
    rng : numpy.random.Generator, optional
        The only source of the initial weights. None means fresh entropy.
    init : {"fan-in", "glorot"}
        How linear layers start: see `linear_weights`.
    **options
        The keywords of the architecture's own function.

    Returns
    -------
    torch.nn.Module
        float32, on the CPU, in training mode.

    Raises
    ------
    ValueError
        For an unknown name, an option that the architecture does not have, or a shape that it
        cannot take.

    Notes
    -----
    Linear layers start as `linear_weights` says; convolutions normal with variance
    2/(inputs x kernel area); normalisation layers as the identity.
    Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> net = build("mlp", (64,), 10, rng=np.random.default_rng(0), hidden=(32,))
    >>> net(torch.zeros(5, 64)).shape
    torch.Size([5, 10])
    """
    checks.choice("name", name, ARCHITECTURES)
    checks.integer("n_classes", n_classes, 2)
    rng = checks.generator(rng)
    input_shape = tuple(checks.integer("input_shape", size, 1) for size in input_shape)
    if name != "mlp" and len(input_shape) != 3:
        checks.fail("input_shape", str(input_shape), f"(channels, height, width) for {name!r}")
    known = list(inspect.signature(ARCHITECTURES[name]).parameters)[2:]
    for option in options:
        if option not in known:
            checks.fail(
                "options", repr(option), f"options of {name!r}: {', '.join(known) or 'none'}"
            )
    with torch.device("meta"):  # shapes only: nothing is drawn from torch's global generator
        net = ARCHITECTURES[name](input_shape, n_classes, **options)
    net = net.to_empty(device="cpu")
    with torch.no_grad():
        for module in net.modules():
            _initialise(module, rng, init)
        if isinstance(net, _Speednet):
            net.start_as_identity()
    return net


def linear_weights(n_inputs, n_outputs, rng, *, init="fan-in"):
    """Initial weight and bias of one linear layer, as `build` draws them.

    Parameters
    ----------
    n_inputs, n_outputs : int
    rng : numpy.random.Generator
    init : {"fan-in", "glorot"}
        "fan-in": weight and bias uniform within 1/sqrt(n_inputs), as in torch. "glorot": weight
        uniform within sqrt(6 / (n_inputs + n_outputs)), bias 0, as in Keras; deep ReLU networks
        keep the size of their signals.

    Returns
    -------
    weight : (n_outputs, n_inputs) float32 array
    bias : (n_outputs,) float32 array

    Raises
    ------
    ValueError
        For an unknown start.

    Examples
    --------
    >>> weight, bias = linear_weights(4, 3, np.random.default_rng(0))
    >>> weight.shape, bool(abs(weight).max() <= 0.5)
    ((3, 4), True)
    """
    checks.choice("init", init, ("fan-in", "glorot"))
    if init == "glorot":
        bound = np.float32(np.sqrt(6 / (n_inputs + n_outputs)))
        weight = (2 * rng.random((n_outputs, n_inputs), dtype=np.float32) - 1) * bound
        return weight, np.zeros(n_outputs, np.float32)
    bound = np.float32(1 / np.sqrt(n_inputs))
    weight = (2 * rng.random((n_outputs, n_inputs), dtype=np.float32) - 1) * bound
    bias = (2 * rng.random(n_outputs, dtype=np.float32) - 1) * bound
    return weight, bias


def _initialise(module, rng, init):
    if isinstance(module, nn.Linear):
        weight, bias = linear_weights(module.in_features, module.out_features, rng, init=init)
        module.weight.copy_(torch.from_numpy(weight))
        if module.bias is not None:
            module.bias.copy_(torch.from_numpy(bias))
    elif isinstance(module, nn.Conv2d):
        fan_in = module.weight[0].numel()
        draws = rng.standard_normal(tuple(module.weight.shape), dtype=np.float32)
        module.weight.copy_(torch.from_numpy(draws * np.float32(np.sqrt(2 / fan_in))))
        if module.bias is not None:
            module.bias.zero_()
    elif isinstance(module, nn.BatchNorm2d):
        module.reset_parameters()


def _conv3(before, after, stride=1):
    return nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)


class Dropout(nn.Module):
    """Inverted dropout that draws from a generator of its own, so that torch's global state is
    never touched.

    Parameters
    ----------
    rate : float
        Probability with which training sets an entry to zero; the others are divided by 1 - rate.

    Notes
    -----
    Set ``generator``, a torch.Generator on the network's device, before training. Taught in
    book/defenses.ipynb.

    Examples
    --------
    >>> layer = Dropout(0.5)
    >>> layer.generator = torch.Generator().manual_seed(0)
    >>> sorted(set(layer(torch.ones(100)).tolist())), layer.eval()(torch.ones(2)).tolist()
    ([0.0, 2.0], [1.0, 1.0])
    """

    def __init__(self, rate):
        super().__init__()
        self.rate, self.generator = rate, None

    def forward(self, x):
        if not self.training:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.rate, generator=self.generator)
        return x * kept / (1 - self.rate)


class _Head(nn.Linear):
    """Logits in the weights' own type: bfloat16 keeps 8 bits, too few for the tails that the
    attacks look at.
    """

    def forward(self, features):
        with torch.autocast(features.device.type, enabled=False):
            return super().forward(features.to(self.weight.dtype))


class _Pooled(nn.Module):
    def __init__(self, body, channels, n_classes):
        super().__init__()
        self.body = body
        self.head = _Head(channels, n_classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class _BasicBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.norm1 = _conv3(before, after, stride), nn.BatchNorm2d(after)
        self.conv2, self.norm2 = _conv3(after, after), nn.BatchNorm2d(after)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        out = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(out + self.shortcut(x))


class _PreActivationBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), _conv3(before, after, stride)
        self.norm2, self.conv2 = nn.BatchNorm2d(after), _conv3(after, after)
        same = stride == 1 and before == after
        self.shortcut = None if same else nn.Conv2d(before, after, 1, stride=stride, bias=False)

    def forward(self, x):
        out = torch.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(out)
        return shortcut + self.conv2(torch.relu(self.norm2(self.conv1(out))))


class _Speednet(nn.Module):
    def __init__(self, channels, n_classes, widths):
        super().__init__()
        patch = 4 * channels
        self.whitening = nn.Conv2d(channels, 2 * patch, 2)
        self.whitening.weight.requires_grad_(False)
        groups, before = [], 2 * patch
        for width in widths:
            groups += [_conv3(before, width), nn.MaxPool2d(2), _shift_norm(width), nn.GELU()]
            groups += [_conv3(width, width), _shift_norm(width), nn.GELU()]
            before = width
        self.groups = nn.Sequential(*groups)
        self.pool = nn.AdaptiveMaxPool2d(1)
        self.head = _Head(before, n_classes, bias=False)

    def forward(self, x):
        features = self.pool(self.groups(nn.functional.gelu(self.whitening(x)))).flatten(1)
        return self.head(features) / 9

    def start_as_identity(self):
        for module in self.groups:
            if isinstance(module, nn.Conv2d):
                same = min(module.in_channels, module.out_channels)
                nn.init.dirac_(module.weight[:same])

    @torch.no_grad()
    def whiten(self, images, ridge=5e-4):
        """Set the frozen filters to the principal axes of the images' 2x2 patches, scaled to unit
        variance, both signs.

        images : (n, channels, height, width) tensor, normalised as in training. `ridge` is added
        to each variance.
        """
        channels = images.shape[1]
        patches = (
            images.double()
            .unfold(2, 2, 1)
            .unfold(3, 2, 1)
            .permute(0, 2, 3, 1, 4, 5)
            .reshape(-1, 4 * channels)
        )
        variances, axes = torch.linalg.eigh(patches.T @ patches / len(patches))
        filters = (axes / torch.sqrt(variances + ridge)).T.reshape(-1, channels, 2, 2)
        self.whitening.weight.copy_(torch.cat([filters, -filters]))


def _shift_norm(channels):
    norm = nn.BatchNorm2d(channels, momentum=0.4)
    norm.weight.requires_grad_(False)
    return norm
