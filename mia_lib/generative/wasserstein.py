"""The Wasserstein GAN with gradient penalty (Gulrajani et al. 2017).

Taught in book/generative.ipynb.
"""

from dataclasses import dataclass

import torch

from mia_lib import checks
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.recipe import GanRecipe, check_kind
from mia_lib.generative.training import Run, descend, steps


@dataclass(frozen=True, kw_only=True)
class WganGpRecipe(GanRecipe):
    """How a WGAN-GP is trained; the defaults are those of Gulrajani et al. 2017.

    Parameters
    ----------
    penalty : float
        lambda, at least 0: the weight of the gradient penalty.
    critic_steps : int
        Steps of the critic before each step of the generator, at least 1.
    **options
        As for `GanRecipe`. An epoch has as many generator steps as the records fill batches. A
        batch is drawn with replacement, anew for every critic step.

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Taught in book/generative.ipynb.
    """

    learning_rate: float = 1e-4
    betas: tuple = (0.0, 0.9)
    penalty: float = 10.0
    critic_steps: int = 5

    def __post_init__(self):
        super().__post_init__()
        checks.number("penalty", self.penalty, 0)
        checks.integer("critic_steps", self.critic_steps, 1)


def wgan_gp(x, recipe=WganGpRecipe(), *, checkpoints=None, folder=None, rng=None):
    """Train a WGAN-GP.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    recipe : WganGpRecipe
    checkpoints, folder, rng
        As for `js_gan`.

    Returns
    -------
    dict of int to Gan
        One for each checkpoint; its ``scores`` are the critic's.

    Raises
    ------
    ValueError
        As `js_gan`.

    Notes
    -----
    An epoch shows the critic `critic_steps` times as many records as there are. Gradients are taken
    where the networks work, in [-1, 1]. Taught in book/generative.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((20, 8, 8))
    >>> recipe = WganGpRecipe(epochs=2, batch_size=10)
    >>> gan = wgan_gp(x, recipe)[2]
    >>> gan.kind, gan.epoch, gan.losses["critic"].shape
    ('WGAN-GP', 2, (2,))
    """
    check_kind(recipe, WganGpRecipe)
    run = Run("WGAN-GP", x, recipe, folder=folder, rng=rng)
    generator, of_generator = run.add("generator", lambda: Generator(run.of))
    critic, of_critic = run.add("discriminator", lambda: Discriminator(run.of))
    batch_size, critic_steps = recipe.batch_size, recipe.critic_steps

    def step(epoch):
        critic_loss = 0
        for _ in range(critic_steps):
            real = run.batch(batch_size)
            with torch.no_grad():
                fake = generator(run.noise(batch_size))
            scores = critic(torch.cat([real, fake]))[:, 0]
            mix = torch.rand(batch_size, generator=run.draws, device=run.device)
            loss = scores[batch_size:].mean() - scores[:batch_size].mean()
            loss = loss + recipe.penalty * gradient_penalty(critic, real, fake, mix)
            descend(of_critic, loss)
            critic_loss = critic_loss + loss.detach() / critic_steps
        critic.requires_grad_(False)
        generator_loss = -critic(generator(run.noise(batch_size))).mean()
        descend(of_generator, generator_loss)
        critic.requires_grad_(True)
        return {"critic": critic_loss, "generator": generator_loss}

    return run.train(step, steps(len(run.x), batch_size), checkpoints)


def gradient_penalty(critic, real, fake, mix):
    """How far the critic's slope is from 1 between real and generated records.

    Parameters
    ----------
    critic : callable
        (n, ...) tensor to (n, 1).
    real, fake : (n, ...) tensor
    mix : (n,) tensor
        In [0, 1]: the share of the real record in each point between.

    Returns
    -------
    scalar tensor
        Mean of (norm of d critic / d point - 1)^2, at least 0; it can be differentiated by the
        critic's weights.

    Notes
    -----
    Gulrajani et al. 2017, equation 3.

    Examples
    --------
    >>> slope = torch.tensor([3.0, 4.0])  # of length 5 everywhere
    >>> float(gradient_penalty(lambda x: x @ slope[:, None], torch.ones(7, 2), torch.zeros(7, 2),
    ...     torch.rand(7)))
    16.0
    """
    share = mix.reshape(-1, *[1] * (real.ndim - 1))
    between = (share * real + (1 - share) * fake).detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
