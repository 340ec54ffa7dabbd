"""privGAN (Mukherjee et al. 2021): several pairs on slices of the data, and a discriminator that
must not tell them apart.

Taught in book/generative.ipynb.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy as categorical

from mia_lib import checks
from mia_lib.generative.js import cross_entropy, discriminator_step
from mia_lib.generative.networks import Discriminator, Generator
from mia_lib.generative.recipe import GanRecipe, check_kind, check_real_label
from mia_lib.generative.training import Run, descend, steps


@dataclass(frozen=True, kw_only=True)
class PrivGanRecipe(GanRecipe):
    """How a privGAN is trained.

    Parameters
    ----------
    n_pairs : int
        K, at least 2. Pair j sees slice j alone.
    privacy : float
        lambda, at least 0: the weight of the privacy loss.
    real_label : float
        In (0.5, 1]: what the discriminators are told of real records.
    penalty : float
        Of each discriminator, as for `JsGanRecipe`.
    privacy_epochs : int
        First warm-up: passes of the privacy discriminator over the members, which learns their
        slices before all else.
    privacy_delay : int
        Second warm-up: the privacy discriminator learns from generated records from this epoch on,
        the first being 1.
    **options
        As for `GanRecipe`. The privacy discriminator has the discriminators' layers with K outputs.
        An epoch has as many steps as the smallest slice fills batches; a batch is one pair's.

    Raises
    ------
    ValueError
        For a choice outside its range, such as fewer than two pairs.

    Notes
    -----
    Taught in book/generative.ipynb.
    """

    n_pairs: int = 2
    privacy: float = 1.0
    real_label: float = 0.95
    penalty: float = 0.0
    privacy_epochs: int = 50
    privacy_delay: int = 100

    def __post_init__(self):
        super().__post_init__()
        checks.integer("n_pairs", self.n_pairs, 2)
        checks.number("privacy", self.privacy, 0)
        check_real_label(self.real_label)
        checks.number("penalty", self.penalty, 0)
        checks.integer("privacy_epochs", self.privacy_epochs, 0)
        checks.integer("privacy_delay", self.privacy_delay, 1)


def priv_gan(x, recipe=PrivGanRecipe(), *, checkpoints=None, folder=None, rng=None):
    """Train a privGAN.

    Parameters
    ----------
    x : (n, ...) array
        The members, in [0, 1]. They are shuffled and cut into as many slices as there are pairs, of
        equal size or sizes that differ by one.
    recipe : PrivGanRecipe
    checkpoints, folder, rng
        As for `js_gan`.

    Returns
    -------
    dict of int to Gan
        One for each checkpoint, with K generators and K discriminators.

    Raises
    ------
    ValueError
        As `js_gan`; for more slices than records.

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
    >>> recipe = PrivGanRecipe(epochs=2, batch_size=5, privacy_epochs=1, privacy_delay=2)
    >>> gan = priv_gan(x, recipe)[2]
    >>> gan.scores(x).shape, sorted(gan.losses)
    ((20, 2), ['discriminators', 'generators', 'privacy'])
    """
    check_kind(recipe, PrivGanRecipe)
    n_pairs, batch_size = recipe.n_pairs, recipe.batch_size
    run = Run("privGAN", x, recipe, folder=folder, rng=rng)
    if n_pairs > len(run.x):
        checks.fail(
            "n_pairs",
            f"{n_pairs} slices of {len(run.x)} records",
            "at most one slice for each record",
        )
    # Drawn before training, from the seed alone: a resumed run cuts the same slices.
    own = slices(len(run.x), n_pairs, run.draws)
    pairs = [
        run.add(f"generator{j}", lambda: Generator(run.of))
        + run.add(f"discriminator{j}", lambda: Discriminator(run.of))
        for j in range(n_pairs)
    ]
    spy, of_spy = run.add("privacy", lambda: Discriminator(run.of, n_outputs=n_pairs))

    def learn_slices():
        of_record = torch.empty(len(run.x), dtype=torch.int64, device=run.device)
        for j, rows in enumerate(own):
            of_record[rows] = j
        for _ in range(recipe.privacy_epochs):
            order = torch.randperm(len(run.x), generator=run.draws, device=run.device)
            for rows in order.split(batch_size):
                descend(of_spy, categorical(spy(run.x[rows]), of_record[rows]))

    def step(epoch):
        noise = run.noise(batch_size)
        fakes = [generator(noise) for generator, *_ in pairs]
        judged = 0
        for (_, _, discriminator, optimizer), fake, rows in zip(pairs, fakes, own):
            given = run.batch(batch_size, rows), fake.detach(), recipe.real_label, recipe.penalty
            loss = discriminator_step(discriminator, optimizer, *given)
            judged = judged + loss.detach() / n_pairs
        origin = torch.arange(n_pairs, device=run.device).repeat_interleave(batch_size)
        told = categorical(spy(torch.cat(fakes).detach()), origin)
        if epoch >= recipe.privacy_delay:
            descend(of_spy, told)
        frozen = [discriminator for _, _, discriminator, _ in pairs] + [spy]
        for network in frozen:
            network.requires_grad_(False)
        shift = torch.randint(1, n_pairs, (len(origin),), generator=run.draws, device=run.device)
        scores = [discriminator(fake)[:, 0] for (_, _, discriminator, _), fake in zip(pairs, fakes)]
        others = (origin + shift) % n_pairs
        loss = generators_loss(scores, spy(torch.cat(fakes)), others, recipe.privacy)
        for _, optimizer, *_ in pairs:
            optimizer.zero_grad()
        loss.backward()
        for _, optimizer, *_ in pairs:
            optimizer.step()
        for network in frozen:
            network.requires_grad_(True)
        return {"discriminators": judged, "privacy": told, "generators": loss}

    return run.train(
        step, steps(len(run.x) // n_pairs, batch_size), checkpoints, prepare=learn_slices
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
