"""The GAN of Goodfellow et al. 2014, which minimises a Jensen-Shannon divergence.

Taught in book/generative.ipynb.
"""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from mia_lib import checks
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.training import Run, common, descend, steps


def js_gan(
    x,
    *,
    networks="digits",
    epochs=100,
    batch_size=64,
    learning_rate=2e-4,
    betas=(0.5, 0.999),
    real_label=0.9,
    checkpoints=None,
    folder=None,
    rng=None,
    device="cpu",
    precision="float32",
):
    """Train a JS-GAN, one discriminator step for one generator step.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    networks : str or Networks
        "digits", "mnist", "cifar10" or "skin-lesions", or networks of your own.
    epochs : int
        Each has as many steps as x fills batches, at least one. A batch is drawn with replacement.
    batch_size : int
        Real records a step, and as many generated ones.
    learning_rate : float
        Of Adam, above 0.
    betas : (float, float)
        Of Adam, in [0, 1).
    real_label : float
        In (0.5, 1]: what the discriminator is told of real records; 1 without label smoothing.
    checkpoints : sequence of int, optional
        Epochs after which the GAN is kept; 0 is the untrained one. Default: the last.
    folder : path, optional
        Where training is stored, about once a minute and at checkpoints. A call with the same
        arguments goes on from there; a checkpoint that is past and was not asked for makes it start
        again.
    rng : numpy.random.Generator, optional
    device : str
        "cpu", "cuda" or "auto".
    precision : {"float32", "bfloat16"}
        Of the matrix products in training, about half the time where the processor has bfloat16.
        What a trained GAN generates and scores is always computed in float32.

    Returns
    -------
    dict of int to Gan
        One for each checkpoint.

    Raises
    ------
    ValueError
        For records outside [0, 1] or of another shape than the networks', a setting outside its
        range, a folder of another training, and a loss that is not finite, with the epoch.

    Notes
    -----
    The generator maximises log D(G(w)) (Goodfellow et al. 2014, section 3). MACE v1 section 2.2.
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> gans = js_gan(np.random.default_rng(0).random((20, 8, 8)), epochs=2, batch_size=10,
    ...     checkpoints=[1, 2])
    >>> sorted(gans), sorted(gans[2].losses)
    ([1, 2], ['discriminator', 'generator'])
    """
    checks.number("real_label", real_label, 0.5, high=1, open_low=True)
    settings = common(batch_size, learning_rate, betas, precision) | {"real_label": real_label}
    run = Run("JS-GAN", x, networks, settings, folder, rng, device)
    generator, of_generator = run.add("generator", lambda: Generator(run.of), learning_rate, betas)
    discriminator, of_discriminator = run.add(
        "discriminator", lambda: Discriminator(run.of), learning_rate, betas
    )

    def step(epoch):
        fake = generator(run.noise(batch_size))
        judged = discriminator_step(
            discriminator, of_discriminator, run.batch(batch_size), fake.detach(), real_label
        )
        discriminator.requires_grad_(False)
        fooled = cross_entropy(discriminator(fake)[:, 0], 1.0)
        descend(of_generator, fooled)
        discriminator.requires_grad_(True)
        return {"discriminator": judged, "generator": fooled}

    return run.train(step, steps(len(run.x), batch_size), epochs, checkpoints)


def discriminator_step(discriminator, optimizer, real, fake, real_label):
    """One step of a discriminator on real and generated records, half of the loss each; the loss
    before it.
    """
    logits = discriminator(torch.cat([real, fake]))[:, 0]
    loss = (
        cross_entropy(logits[: len(real)], real_label) + cross_entropy(logits[len(real) :], 0.0)
    ) / 2
    descend(optimizer, loss)
    return loss


def cross_entropy(logits, target):
    """Mean cross-entropy between sigmoid(logits) and one target for all."""
    return binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))
