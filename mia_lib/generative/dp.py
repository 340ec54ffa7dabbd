"""DP-cGAN (Torkzadehmahani et al. 2019): a conditional GAN whose discriminator is trained with
differential privacy.

Run in notebooks/gan.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from mia_lib import checks, disk, privacy, train
from mia_lib.generative.js import cross_entropy
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.recipe import GanRecipe, check_kind, check_real_label
from mia_lib.generative.training import Run, descend, steps


@dataclass(frozen=True, kw_only=True)
class DpCganRecipe(GanRecipe):
    """How a DP-cGAN is trained.

    Parameters
    ----------
    n_classes : int, optional
        K. Default: the largest label and one, which the guarantee then takes to be public.
    noise_multiplier : float
        sigma, at least 0: the noise on the sum of the clipped gradients has standard deviation
        sigma x max_norm.
    max_norm : float
        C, above 0: the gradient of one record, real or generated, is shortened to this length.
    delta : float
        Of the differential privacy that `Gan.epsilon` is computed for.
    real_label : float
        In (0.5, 1].
    **options
        As for `GanRecipe`, with networks that do not normalise over a batch, which has no gradient
        of one record, and in float32. batch_size is B, from 1 to n: real records a step on average
        (each is drawn by itself with probability B/n), and generated ones.

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Run in notebooks/gan.ipynb.
    """

    n_classes: int | None = None
    noise_multiplier: float = 5.1
    max_norm: float = 1.1
    delta: float = 1e-5
    real_label: float = 1.0

    NOT_STORED = (*GanRecipe.NOT_STORED, "n_classes", "delta")  # delta only reads off the guarantee

    def __post_init__(self):
        super().__post_init__()
        checks.choice("precision", self.precision, ("float32",))
        if self.n_classes is not None:
            checks.integer("n_classes", self.n_classes, 1)
        checks.number("noise_multiplier", self.noise_multiplier, 0)
        checks.number("max_norm", self.max_norm, 0, open_low=True)
        checks.delta(self.delta)
        check_real_label(self.real_label)

    def guarantee(self, n_members, epochs):
        """What so many epochs on `n_members` records guarantee, at every epsilon, for one record
        added or left out; see `privacy.subsampled_gaussian`. Without noise they promise nothing.

        The rate B / n_members and the number of steps are those of this number with the record and
        without it: `n_members` is taken to be public.
        """
        n_members = checks.integer("n_members", n_members, self.batch_size)
        checks.integer("epochs", epochs, 1)
        if self.noise_multiplier == 0:
            return privacy.approximate(np.inf, 0.0)
        sampling = _sampling(self, n_members, epochs)
        return privacy.subsampled_gaussian(self.noise_multiplier, *sampling)


def dp_cgan(x, labels, recipe=DpCganRecipe(), *, checkpoints=None, folder=None, rng=None):
    """Train a DP-cGAN.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    labels : (n,) array of int
        Their classes, 0 ... K - 1.
    recipe : DpCganRecipe
    checkpoints, folder, rng
        As for `js_gan`.

    Returns
    -------
    dict of int to Gan
        One for each checkpoint, conditional, with the epsilon that it has spent.

    Raises
    ------
    ValueError
        As `js_gan`; for labels of another length.

    Notes
    -----
    Clipping, noise and accounting are Opacus's. Only the discriminator sees members. One of them
    changes the clipped sum by at most C: generated records take part in the sum but depend on
    members only through earlier noisy steps, and their classes are drawn evenly, not from the
    members. So the generator costs nothing (post-processing). n, which the sampling rate and the
    number of steps come from, is taken to be public. The sum is divided by B, not by the
    number drawn. `Gan.losses` is not private. The noise is for experiments that can be repeated: do
    not deploy it where an adversary may know the seed. MACE v1 appendix A.4: sigma 5.1, C 1.1.
    Torkzadehmahani et al. clip the mean gradients of the real and of the generated batch; ours are
    clipped record by record, as DP-SGD asks. Run in notebooks/gan.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((20, 8, 8))
    >>> gan = dp_cgan(x, np.arange(20) % 2, DpCganRecipe(epochs=2, batch_size=5))[2]
    >>> gan.generate(3, labels=[0, 1, 0]).shape, f"{gan.epsilon:.2f}"
    ((3, 8, 8), '0.60')
    """
    # only here: every other GAN does without
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    check_kind(recipe, DpCganRecipe)
    n = len(checks.real_array("x", x, dtype=None))
    labels = checks.labels("labels", labels, n, n_classes=recipe.n_classes)
    batch_size = checks.integer("batch_size", recipe.batch_size, 1, high=n)
    n_classes = int(labels.max()) + 1 if recipe.n_classes is None else recipe.n_classes
    of_labels = {"labels": disk.hash_arrays(labels)}
    run = Run("DP-cGAN", x, recipe, folder=folder, rng=rng, n_classes=n_classes, stored=of_labels)
    classes = torch.from_numpy(labels).to(run.device)
    generator, of_generator = run.add("generator", lambda: Generator(run.of, n_classes))
    discriminator, plain = run.add("discriminator", lambda: Discriminator(run.of, n_classes))
    of_discriminator = DPOptimizerFastGradientClipping(
        plain,
        noise_multiplier=recipe.noise_multiplier,
        max_grad_norm=recipe.max_norm,
        expected_batch_size=batch_size,
        generator=run.draws,
    )
    # no gradient of one record is ever held: its length follows from a layer's input and output
    # gradient, and a second pass weights each record's loss by what shortens it
    per_example = GradSampleModuleFastGradientClipping(
        discriminator, loss_reduction="sum", max_grad_norm=recipe.max_norm
    )

    def step(epoch):
        drawn = torch.rand(n, generator=run.draws, device=run.device) < batch_size / n
        asked = torch.randint(n_classes, (batch_size,), generator=run.draws, device=run.device)
        fake = generator(run.noise(batch_size), asked)
        both = torch.cat([run.x[drawn], fake.detach()]).requires_grad_(
            True
        )  # a full backward hook warns without
        target = torch.zeros(len(both), device=run.device)
        target[: len(both) - batch_size] = recipe.real_label
        per_example.enable_hooks()
        logits = per_example(both, torch.cat([classes[drawn], asked]))[:, 0]
        judged = binary_cross_entropy_with_logits(logits, target, reduction="none")
        clipped = DPTensorFastGradientClipping(per_example, of_discriminator, judged, "sum")
        descend(of_discriminator, clipped)
        per_example.disable_hooks()
        discriminator.requires_grad_(False)
        fooled = cross_entropy(discriminator(fake, asked)[:, 0], 1.0)
        descend(of_generator, fooled)
        discriminator.requires_grad_(True)
        return {"discriminator": judged.mean(), "generator": fooled}

    return run.train(
        step, steps(n, batch_size), checkpoints, epsilon=lambda epoch: _spent(recipe, n, epoch)
    )


def epochs_within(epsilon, n, recipe=DpCganRecipe()):
    """How long a DP-cGAN may be trained for a privacy budget.

    Parameters
    ----------
    epsilon : float
        The budget, above 0, at the recipe's delta.
    n : int
        Members.
    recipe : DpCganRecipe
        Its epochs are the most that are looked at.

    Returns
    -------
    int or None
        The last epoch, from 1 on, after which at most epsilon is spent. None where the first spends
        more, or where the last of the recipe leaves enough for another one.

    Raises
    ------
    ValueError
        An epsilon that is not above 0, fewer members than fill a batch.

    Notes
    -----
    At a fixed noise the budget is spent step by step, so that a budget is an epoch. Used in
    notebooks/gan.ipynb.

    Examples
    --------
    >>> recipe = DpCganRecipe(epochs=10, batch_size=5)
    >>> epochs_within(0.7, 20, recipe), epochs_within(9.0, 20, recipe)
    (2, None)
    """
    checks.number("epsilon", epsilon, 0, open_low=True)
    checks.integer("n", n, recipe.batch_size)
    low, high = 0, recipe.epochs + 1  # spent(low) <= epsilon < spent(high), if that is so
    if _spent(recipe, n, high) <= epsilon:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _spent(recipe, n, middle) <= epsilon else (low, middle)
    return low or None


def _spent(recipe, n, epoch):
    """The epsilon of so many epochs on n members."""
    if not epoch:
        return 0.0
    return train.epsilon(recipe.noise_multiplier, *_sampling(recipe, n, epoch), delta=recipe.delta)


def _sampling(recipe, n, epochs):
    """The sampling rate, and the number of steps of so many epochs."""
    return recipe.batch_size / n, steps(n, recipe.batch_size) * epochs
