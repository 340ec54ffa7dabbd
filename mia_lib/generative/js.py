"""The GAN of Goodfellow et al. 2014, which minimises a Jensen-Shannon divergence.

Taught in book/generative.ipynb.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from mia_lib import checks
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.recipe import GanRecipe, check_kind, check_real_label
from mia_lib.generative.training import Run, descend, steps


@dataclass(frozen=True, kw_only=True)
class JsGanRecipe(GanRecipe):
    """How a JS-GAN is trained.

    Parameters
    ----------
    real_label : float
        In (0.5, 1]: what the discriminator is told of real records; 1 without label smoothing.
    penalty : float
        gamma, at least 0: the weight of R1 (`slope_penalty`) against collapse.
    **options
        As for `GanRecipe`. A batch is drawn with replacement.

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Taught in book/generative.ipynb.
    """

    real_label: float = 0.9
    penalty: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        check_real_label(self.real_label)
        checks.number("penalty", self.penalty, 0)


def js_gan(x, recipe=JsGanRecipe(), *, checkpoints=None, folder=None, rng=None):
    """Train a JS-GAN, one discriminator step for one generator step.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    recipe : JsGanRecipe
        Networks, epochs, batch size and whatever else is chosen.
    checkpoints : sequence of int, optional
        Epochs after which the GAN is kept; 0 is the untrained one. Default: the last.
    folder : path, optional
        Where training is stored, about once a minute and at checkpoints. A call with the same
        arguments goes on from there; a checkpoint that is past and was not asked for makes it start
        again.
    rng : numpy.random.Generator, optional

    Returns
    -------
    dict of int to Gan
        One for each checkpoint.

    Raises
    ------
    ValueError
        For records outside [0, 1] or of another shape than the networks', another kind of recipe, a
        folder of another training or with a damaged file, and a loss that is not finite, with the
        epoch.

    Notes
    -----
    The generator maximises log D(G(w)) (Goodfellow et al. 2014, section 3). MACE v1 section 2.2.
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((20, 8, 8))
    >>> recipe = JsGanRecipe(epochs=2, batch_size=10)
    >>> gans = js_gan(x, recipe, checkpoints=[1, 2])
    >>> sorted(gans), sorted(gans[2].losses)
    ([1, 2], ['discriminator', 'generator'])
    """
    check_kind(recipe, JsGanRecipe)
    run = Run("JS-GAN", x, recipe, folder=folder, rng=rng)
    generator, of_generator = run.add("generator", lambda: Generator(run.of))
    discriminator, of_discriminator = run.add("discriminator", lambda: Discriminator(run.of))

    def step(epoch):
        fake = generator(run.noise(recipe.batch_size))
        judged = discriminator_step(
            discriminator,
            of_discriminator,
            run.batch(recipe.batch_size),
            fake.detach(),
            recipe.real_label,
            recipe.penalty,
        )
        discriminator.requires_grad_(False)
        fooled = cross_entropy(discriminator(fake)[:, 0], 1.0)
        descend(of_generator, fooled)
        discriminator.requires_grad_(True)
        return {"discriminator": judged, "generator": fooled}

    return run.train(step, steps(len(run.x), recipe.batch_size), checkpoints)


def discriminator_step(discriminator, optimizer, real, fake, told, penalty=0.0):
    """One step of a discriminator on real and generated records, half of the loss each, and
    `penalty` times the `slope_penalty`; the loss before it, without the penalty.
    """
    logits = discriminator(torch.cat([real, fake]))[:, 0]
    loss = (cross_entropy(logits[: len(real)], told) + cross_entropy(logits[len(real) :], 0.0)) / 2
    descend(optimizer, loss + penalty * slope_penalty(discriminator, real) if penalty else loss)
    return loss


def slope_penalty(discriminator, real):
    """How steep a discriminator is at real records.

    Parameters
    ----------
    discriminator : callable
        (n, ...) tensor to (n, 1) logits.
    real : (n, ...) tensor

    Returns
    -------
    scalar tensor
        Half of the mean squared norm of d logit / d record, at least 0; it can be differentiated by
        the discriminator's weights.

    Notes
    -----
    R1 of Mescheder, Geiger and Nowozin 2018, equation 9, without gamma. Where a discriminator parts
    real from generated records with a cliff, the generator has no slope to follow and ends in a few
    shapes.

    Examples
    --------
    >>> slope = torch.tensor([3.0, 4.0])  # of length 5 everywhere
    >>> float(slope_penalty(lambda x: x @ slope[:, None], torch.ones(7, 2)))
    12.5
    """
    at = real.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(discriminator(at).sum(), at, create_graph=True)
    return (slope.flatten(1) ** 2).sum(1).mean() / 2


def cross_entropy(logits, target):
    """Mean cross-entropy between sigmoid(logits) and one target for all."""
    return binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))
