"""The layer lists of MACE's generators and discriminators (v1 appendix A, v2 appendix E), and small
ones for the digits.

Every generator ends in a tanh, every discriminator in a linear layer without sigmoid: its output is
the logit of a JS-GAN and the critic's score of a WGAN. Images keep the layout that they have as
data, (h, w) or (h, w, channels).

Taught in book/generative.ipynb.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from mia_lib import checks


@dataclass(frozen=True)
class Networks:
    """How the networks of a GAN are made.

    Parameters
    ----------
    shape : tuple of int
        Shape of one record.
    latent : int
        Length of the generator's input w.
    generator : callable
        ``generator(n_inputs)`` makes the layers from (n, n_inputs) to (n, ...) in [-1, 1].
    discriminator : callable
        ``discriminator(n_classes, n_outputs)`` makes the layers to (n, n_outputs). They take (n,
        ...) in [-1, 1] where n_classes is 0; otherwise n_classes one-hot numbers are appended to
        the last axis.
    flat : bool
        Whether the discriminator's layers take flat records, (n, numbers).

    Notes
    -----
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> of = NETWORKS["digits"]
    >>> of.generator(of.latent)(torch.zeros(3, of.latent)).shape
    torch.Size([3, 8, 8])
    """

    shape: tuple
    latent: int
    generator: Callable
    discriminator: Callable
    flat: bool


class Generator(nn.Module):
    """Layers from noise to records; a conditional one appends the class, one-hot, to the noise.

    Parameters
    ----------
    of : Networks
    n_classes : int
        0: not conditional.

    Notes
    -----
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> net = Generator(NETWORKS["digits"], n_classes=10)
    >>> net(torch.zeros(3, 32), torch.tensor([0, 5, 9])).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, of, n_classes=0):
        super().__init__()
        self.n_classes, self.bfloat16 = n_classes, False
        self.layers = of.generator(of.latent + n_classes)

    def forward(self, w, labels=None):
        if self.n_classes:
            w = torch.cat([w, nn.functional.one_hot(labels, self.n_classes).to(w.dtype)], 1)
        return _in_precision(self.layers, w, self.bfloat16)


class Discriminator(nn.Module):
    """Layers from records to scores; a conditional one sees the class, one-hot, beside the record.

    Parameters
    ----------
    of : Networks
    n_classes : int
        0: not conditional.
    n_outputs : int
        1, or the number of pairs for the privacy discriminator of a privGAN.

    Notes
    -----
    To flat records the class is appended; to images as constant planes, one a class. Taught in
    book/generative.ipynb.

    Examples
    --------
    >>> Discriminator(NETWORKS["digits"], n_outputs=2)(torch.zeros(3, 8, 8)).shape
    torch.Size([3, 2])
    """

    def __init__(self, of, n_classes=0, n_outputs=1):
        super().__init__()
        self.n_classes, self.flat, self.bfloat16 = n_classes, of.flat, False
        self.layers = of.discriminator(n_classes, n_outputs)

    def forward(self, x, labels=None):
        x = x.flatten(1) if self.flat else x
        if self.n_classes:
            classes = nn.functional.one_hot(labels, self.n_classes).to(x.dtype)
            classes = classes.reshape(len(x), *[1] * (x.ndim - 2), -1).expand(*x.shape[:-1], -1)
            x = torch.cat([x, classes], -1)
        return _in_precision(self.layers, x, self.bfloat16)


def _in_precision(layers, x, bfloat16):
    if not bfloat16:
        return layers(x)
    with torch.autocast(x.device.type, torch.bfloat16):
        return layers(x).to(x.dtype)


def dense(shape, latent, generator_hidden, discriminator_hidden):
    """Fully connected networks with LeakyReLU of slope 0.2.

    Parameters
    ----------
    shape : tuple of int
        Shape of one record.
    latent : int
        Length of the generator's input.
    generator_hidden, discriminator_hidden : sequence of int
        Widths of the hidden layers.

    Returns
    -------
    Networks

    Raises
    ------
    ValueError
        For a size below 1.

    Notes
    -----
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> dense((2,), 4, (8,), (8, 8)).generator(4)(torch.zeros(5, 4)).shape
    torch.Size([5, 2])
    """
    shape = tuple(checks.integer("shape", size, 1) for size in shape)
    latent = checks.integer("latent", latent, 1)
    generator_hidden = checks.widths("generator_hidden", generator_hidden)
    discriminator_hidden = checks.widths("discriminator_hidden", discriminator_hidden)
    n_numbers = torch.Size(shape).numel()

    def generator(n_inputs):
        return nn.Sequential(
            *_dense(n_inputs, generator_hidden, n_numbers), nn.Tanh(), nn.Unflatten(1, shape)
        )

    def discriminator(n_classes, n_outputs):
        return nn.Sequential(*_dense(n_numbers + n_classes, discriminator_hidden, n_outputs))

    return Networks(shape, latent, generator, discriminator, flat=True)


def upsampling(shape, latent, hidden=200, *, channels=(16, 8), discriminator_hidden=(128,)):
    """A generator that draws small and smooth, then twice doubles the side.

    Parameters
    ----------
    shape : (int, int)
        Height and width of a record, multiples of 4.
    latent : int
        Length of the generator's input.
    hidden : int
        Units of the layer before the small pictures.
    channels : (int, int)
        Of the small pictures, and of those of twice the side.
    discriminator_hidden : sequence of int
        Widths of the hidden layers of the discriminator, which is that of `dense`.

    Returns
    -------
    Networks

    Raises
    ------
    ValueError
        A side that is no multiple of 4, a size below 1.

    Notes
    -----
    As in Harder, Adamczewski and Park 2021; it normalises over the batch in training. Used in
    notebooks/gan_private.ipynb.

    Examples
    --------
    >>> of = upsampling((8, 8), latent=4)
    >>> of.generator(4)(torch.zeros(3, 4)).shape
    torch.Size([3, 8, 8])
    """
    of = dense(shape, latent, (checks.integer("hidden", hidden, 1),), discriminator_hidden)
    if len(of.shape) != 2 or of.shape[0] % 4 or of.shape[1] % 4:
        checks.fail("shape", str(tuple(shape)), "a height and a width that are multiples of 4")
    first, second = (checks.integer("channels", size, 1) for size in channels)
    height, width = (side // 4 for side in of.shape)

    def doubled(before, after):
        return [
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(before, after, 5, padding=2),
        ]

    def generator(n_inputs):
        small = first * height * width
        return nn.Sequential(
            *(nn.Linear(n_inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU()),
            *(nn.Linear(hidden, small), nn.BatchNorm1d(small), nn.ReLU()),
            nn.Unflatten(1, (first, height, width)),
            *doubled(first, second),
            nn.ReLU(),
            *doubled(second, 1),
            nn.Tanh(),
            nn.Flatten(1),
            nn.Unflatten(1, of.shape),
        )

    return Networks(of.shape, of.latent, generator, of.discriminator, flat=True)


def _dense(n_inputs, hidden, n_outputs):
    layers, before = [], n_inputs
    for width in hidden:
        layers += [nn.Linear(before, width), nn.LeakyReLU(0.2)]
        before = width
    return [*layers, nn.Linear(before, n_outputs)]


class _ToChannels(nn.Module):
    """(n, h, w, channels) to (n, channels, h, w): a view, which torch knows as its faster
    layout.
    """

    def forward(self, x):
        return x.permute(0, 3, 1, 2)


class _FromChannels(nn.Module):
    def forward(self, x):
        return x.permute(0, 2, 3, 1)


def _cifar10_generator(n_inputs):
    def up(before, after):  # twice the height and width
        return nn.ConvTranspose2d(before, after, 4, stride=2, padding=1)

    # The list gives the first transposed convolution stride 1 and no padding: 2, 5, 10, 20, 40
    # pixels. With the stride and padding of the other three: 2, 4, 8, 16, 32.
    return nn.Sequential(
        nn.Linear(n_inputs, 2 * 2 * 512),
        nn.Unflatten(1, (512, 2, 2)),
        up(512, 128),
        nn.ReLU(),
        up(128, 64),
        nn.ReLU(),
        up(64, 32),
        nn.ReLU(),
        up(32, 3),
        nn.Tanh(),
        _FromChannels(),
    )


def _skin_generator(n_inputs):
    def up(before, after):  # twice the height and width, Keras' padding "same"
        return nn.ConvTranspose2d(before, after, 5, stride=2, padding=2, output_padding=1)

    return nn.Sequential(
        nn.Linear(n_inputs, 4 * 4 * 512),
        nn.Unflatten(1, (512, 4, 4)),
        up(512, 256),
        nn.ReLU(),
        up(256, 128),
        nn.ReLU(),
        up(128, 64),
        nn.ReLU(),
        up(64, 3),
        nn.Tanh(),
        _FromChannels(),
    )


def _colour_discriminator(side):
    def discriminator(n_classes, n_outputs):
        def down(
            before, after
        ):  # half the height and width; without padding the fourth would find fewer than 5 pixels
            return nn.Conv2d(before, after, 5, stride=2, padding=2)

        # The list has no activation between the first two convolutions; neither have we.
        return nn.Sequential(
            _ToChannels(),
            down(3 + n_classes, 64),
            down(64, 128),
            nn.LeakyReLU(0.2),
            down(128, 128),
            nn.LeakyReLU(0.2),
            down(128, 256),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(256 * (side // 16) ** 2, n_outputs),
        )

    return discriminator


NETWORKS = {
    "digits": dense((8, 8), 32, (128, 256), (256, 256)),
    "mnist": dense((28, 28), 100, (512, 512, 1024), (2048, 512, 256)),
    "cifar10": Networks(
        (32, 32, 3), 100, _cifar10_generator, _colour_discriminator(32), flat=False
    ),
    "skin-lesions": Networks(
        (64, 64, 3), 100, _skin_generator, _colour_discriminator(64), flat=False
    ),
}
