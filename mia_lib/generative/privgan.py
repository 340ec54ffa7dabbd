"""privGAN (Mukherjee et al. 2021): several pairs on slices of the data, and a discriminator that
must not tell them apart.

Taught in book/generative.ipynb.
"""

import torch
from torch.nn.functional import cross_entropy as categorical

from mia_lib import checks
from mia_lib.generative.js import cross_entropy, discriminator_step
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.training import Run, common, descend, steps


def priv_gan(
    x,
    n_pairs=2,
    *,
    networks="digits",
    epochs=100,
    batch_size=64,
    learning_rate=2e-4,
    betas=(0.5, 0.999),
    privacy=1.0,
    real_label=0.95,
    privacy_epochs=50,
    privacy_delay=100,
    checkpoints=None,
    folder=None,
    rng=None,
    device="cpu",
    precision="float32",
):
    """Train a privGAN.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1]. They are shuffled and cut into `n_pairs` slices of equal size, or
        sizes that differ by one.
    n_pairs : int
        K, from 2 to n. Pair j sees slice j alone.
    networks : str or Networks
        As for `js_gan`. The privacy discriminator has the discriminators' layers with K outputs.
    epochs : int
        Each has as many steps as the smallest slice fills batches, at least one.
    batch_size : int
        Real records a step and pair.
    learning_rate, betas
        Of every Adam.
    privacy : float
        lambda, at least 0: the weight of the privacy loss.
    real_label : float
        In (0.5, 1]: what the discriminators are told of real records.
    privacy_epochs : int
        First warm-up: passes of the privacy discriminator over the members, which learns their
        slices before all else.
    privacy_delay : int
        Second warm-up: the privacy discriminator learns from generated records from this epoch on,
        the first being 1.
    checkpoints, folder, rng, device, precision
        As for `js_gan`.

    Returns
    -------
    dict of int to Gan
        One for each checkpoint, with K generators and K discriminators.

    Raises
    ------
    ValueError
        As `js_gan`; for fewer than two pairs, and for more slices than records.

    Notes
    -----
    All generators get the same noise. Each is told by its discriminator to look real, and by the
    privacy discriminator to look like another pair's, drawn at random for each record. The authors'
    code cuts the slices without shuffling; where the data are sorted by class, the privacy
    discriminator then learns classes. We shuffle. MACE v1 section 3.1, equations 4 and 5. Taught in
    book/generative.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((20, 8, 8))
    >>> gan = priv_gan(x, 2, epochs=2, batch_size=5, privacy_epochs=1, privacy_delay=2)[2]
    >>> gan.scores(x).shape, sorted(gan.losses)
    ((20, 2), ['discriminators', 'generators', 'privacy'])
    """
    checks.integer("n_pairs", n_pairs, 2)
    checks.number("privacy", privacy, 0)
    checks.number("real_label", real_label, 0.5, high=1, open_low=True)
    checks.integer("privacy_epochs", privacy_epochs, 0)
    checks.integer("privacy_delay", privacy_delay, 1)
    settings = common(batch_size, learning_rate, betas, precision) | {
        "n_pairs": n_pairs,
        "privacy": privacy,
        "real_label": real_label,
        "privacy_epochs": privacy_epochs,
        "privacy_delay": privacy_delay,
    }
    run = Run("privGAN", x, networks, settings, folder, rng, device)
    if n_pairs > len(run.x):
        checks.fail(
            "n_pairs",
            f"{n_pairs} slices of {len(run.x)} records",
            "at most one slice for each record",
        )
    # Drawn before training, from the seed alone: a resumed run cuts the same slices.
    own = slices(len(run.x), n_pairs, run.draws)
    pairs = [
        run.add(f"generator{j}", lambda: Generator(run.of), learning_rate, betas)
        + run.add(f"discriminator{j}", lambda: Discriminator(run.of), learning_rate, betas)
        for j in range(n_pairs)
    ]
    spy, of_spy = run.add(
        "privacy", lambda: Discriminator(run.of, n_outputs=n_pairs), learning_rate, betas
    )

    def learn_slices():
        of_record = torch.empty(len(run.x), dtype=torch.int64, device=run.device)
        for j, rows in enumerate(own):
            of_record[rows] = j
        for _ in range(privacy_epochs):
            order = torch.randperm(len(run.x), generator=run.draws, device=run.device)
            for rows in order.split(batch_size):
                descend(of_spy, categorical(spy(run.x[rows]), of_record[rows]))

    def step(epoch):
        noise = run.noise(batch_size)
        fakes = [generator(noise) for generator, *_ in pairs]
        judged = 0
        for (_, _, discriminator, optimizer), fake, rows in zip(pairs, fakes, own):
            real = run.batch(batch_size, rows)
            judged = (
                judged
                + discriminator_step(
                    discriminator, optimizer, real, fake.detach(), real_label
                ).detach()
                / n_pairs
            )
        origin = torch.arange(n_pairs, device=run.device).repeat_interleave(batch_size)
        told = categorical(spy(torch.cat(fakes).detach()), origin)
        if epoch >= privacy_delay:
            descend(of_spy, told)
        frozen = [discriminator for _, _, discriminator, _ in pairs] + [spy]
        for network in frozen:
            network.requires_grad_(False)
        shift = torch.randint(1, n_pairs, (len(origin),), generator=run.draws, device=run.device)
        scores = [discriminator(fake)[:, 0] for (_, _, discriminator, _), fake in zip(pairs, fakes)]
        loss = generators_loss(scores, spy(torch.cat(fakes)), (origin + shift) % n_pairs, privacy)
        for _, optimizer, *_ in pairs:
            optimizer.zero_grad()
        loss.backward()
        for _, optimizer, *_ in pairs:
            optimizer.step()
        for network in frozen:
            network.requires_grad_(True)
        return {"discriminators": judged, "privacy": told, "generators": loss}

    return run.train(
        step, steps(len(run.x) // n_pairs, batch_size), epochs, checkpoints, prepare=learn_slices
    )


def slices(n, n_pairs, draws):
    """Row numbers of each pair: a random permutation of n, cut into sizes that differ by at most
    one.

    Examples
    --------
    >>> parts = slices(7, 3, torch.Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted(torch.cat(parts).tolist())
    ([3, 2, 2], [0, 1, 2, 3, 4, 5, 6])
    """
    return torch.randperm(n, generator=draws, device=draws.device).tensor_split(n_pairs)


def generators_loss(scores, privacy_logits, others, privacy):
    """What all generators minimise together.

    Parameters
    ----------
    scores : list of K (B,) tensors
        Each discriminator's logits of its own generator's records.
    privacy_logits : (K B, K) tensor
        The privacy discriminator's, of all records, pair after pair.
    others : (K B,) int64 tensor
        For each record another pair than its own.
    privacy : float
        lambda.

    Returns
    -------
    scalar tensor
        Sum over pairs of mean cross-entropies: for being judged real, and lambda times for being
        taken for another pair's.

    Notes
    -----
    Mukherjee et al. 2021, the generators' part of their objective. Taught in book/generative.ipynb.

    Examples
    --------
    >>> zero = torch.zeros(3)
    >>> loss = generators_loss([zero, zero], torch.zeros(6, 2), torch.tensor([1, 1, 1, 0, 0, 0]),
    ...     privacy=1.0)
    >>> f"{float(loss):.4f}"  # 4 log 2
    '2.7726'
    """
    return sum(cross_entropy(own, 1.0) for own in scores) + privacy * len(scores) * categorical(
        privacy_logits, others
    )
