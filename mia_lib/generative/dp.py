"""DP-cGAN (Torkzadehmahani et al. 2019): a conditional GAN whose discriminator is trained with
differential privacy.

Taught in book/generative.ipynb.
"""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from mia_lib import checks, results, train
from mia_lib.generative.js import cross_entropy
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.training import Run, common, descend, steps


def dp_cgan(
    x,
    labels,
    *,
    networks="digits",
    n_classes=None,
    epochs=100,
    batch_size=64,
    learning_rate=2e-4,
    betas=(0.5, 0.999),
    noise_multiplier=5.1,
    max_norm=1.1,
    delta=1e-5,
    real_label=1.0,
    checkpoints=None,
    folder=None,
    rng=None,
    device="cpu",
):
    """Train a DP-cGAN.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1].
    labels : (n,) array of int
        Their classes, 0 ... K - 1.
    networks : str or Networks
        As for `js_gan`; without normalisation over a batch, which has no gradient of one record.
    n_classes : int, optional
        K. Default: the largest label and one, which the guarantee then takes to be public.
    epochs : int
        Each has as many steps as x fills batches, at least one.
    batch_size : int
        B, from 1 to n: real records a step on average (each is drawn by itself with probability
        B/n), and generated ones.
    learning_rate, betas
        Of both Adams.
    noise_multiplier : float
        sigma, at least 0: the noise on the sum of the clipped gradients has standard deviation
        sigma x max_norm.
    max_norm : float
        C, above 0: the gradient of one record, real or generated, is shortened to this length.
    delta : float
        Of the differential privacy that `Gan.epsilon` is computed for.
    real_label : float
        In (0.5, 1].
    checkpoints, folder, rng, device
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
    members. So the generator costs nothing (post-processing). The sum is divided by B, not by the
    number drawn. `Gan.losses` is not private. The noise is for experiments that can be repeated: do
    not deploy it where an adversary may know the seed. MACE v1 appendix A.4: sigma 5.1, C 1.1.
    Torkzadehmahani et al. clip the mean gradients of the real and of the generated batch; ours are
    clipped record by record, as DP-SGD asks. Taught in book/generative.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((20, 8, 8))
    >>> gan = dp_cgan(x, np.arange(20) % 2, epochs=2, batch_size=5)[2]
    >>> gan.generate(3, labels=[0, 1, 0]).shape, f"{gan.epsilon:.2f}"
    ((3, 8, 8), '0.60')
    """
    from opacus import GradSampleModule  # only here: every other GAN does without
    from opacus.optimizers import DPOptimizer

    settings = common(batch_size, learning_rate, betas, "float32")
    checks.number("noise_multiplier", noise_multiplier, 0)
    checks.number("max_norm", max_norm, 0, open_low=True)
    checks.delta(delta)
    checks.number("real_label", real_label, 0.5, high=1, open_low=True)
    n = len(checks.real_array("x", x, dtype=None))
    labels = checks.labels("labels", labels, n, n_classes=n_classes)
    checks.integer("batch_size", batch_size, 1, high=n)
    n_classes = (
        int(labels.max()) + 1 if n_classes is None else checks.integer("n_classes", n_classes, 1)
    )
    settings |= {
        "noise_multiplier": noise_multiplier,
        "max_norm": max_norm,
        "real_label": real_label,
    }
    settings["labels"] = results.hash_arrays(labels)
    run = Run("DP-cGAN", x, networks, settings, folder, rng, device, n_classes)
    classes = torch.from_numpy(labels).to(run.device)
    generator, of_generator = run.add(
        "generator", lambda: Generator(run.of, n_classes), learning_rate, betas
    )
    discriminator, plain = run.add(
        "discriminator", lambda: Discriminator(run.of, n_classes), learning_rate, betas
    )
    of_discriminator = DPOptimizer(
        plain,
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_norm,
        expected_batch_size=batch_size,
        generator=run.draws,
    )
    per_example = GradSampleModule(discriminator, loss_reduction="sum")

    def step(epoch):
        drawn = torch.rand(n, generator=run.draws, device=run.device) < batch_size / n
        asked = torch.randint(n_classes, (batch_size,), generator=run.draws, device=run.device)
        fake = generator(run.noise(batch_size), asked)
        both = torch.cat([run.x[drawn], fake.detach()]).requires_grad_(
            True
        )  # a full backward hook warns without
        target = torch.zeros(len(both), device=run.device)
        target[: len(both) - batch_size] = real_label
        per_example.enable_hooks()
        logits = per_example(both, torch.cat([classes[drawn], asked]))[:, 0]
        judged = binary_cross_entropy_with_logits(logits, target, reduction="none")
        descend(of_discriminator, judged.sum())
        per_example.disable_hooks()
        discriminator.requires_grad_(False)
        fooled = cross_entropy(discriminator(fake, asked)[:, 0], 1.0)
        descend(of_generator, fooled)
        discriminator.requires_grad_(True)
        return {"discriminator": judged.mean(), "generator": fooled}

    n_steps = steps(n, batch_size)

    def spent(epoch):
        return (
            train.epsilon(noise_multiplier, batch_size / n, n_steps * epoch, delta=delta)
            if epoch
            else 0.0
        )

    return run.train(step, n_steps, epochs, checkpoints, epsilon=spent)
