"""What every network of a stack says of every record: the signals of attacks on single records.

Taught in book/generators_one_record.ipynb.
"""

import numpy as np

from mia_lib import checks, progress
from mia_lib.generative import density
from mia_lib.generative.nearest import nearest_distance

# of the members' variance: a generator that varies less draws one record, which has no density
LEAST_SPREAD = 1e-6


def record_signals(stack, x, n_synthetic=1_000, *, k=1, reference=None, components=5, rng=None):
    """Ask every network of a stack for every record: critic, distance to its release, density.

    Parameters
    ----------
    stack : GanStack
    x : (n, ...) array
        Records under attack, in [0, 1].
    n_synthetic : int
        How many records each network releases, at least k.
    k : int
        The distance is the mean over so many nearest released records.
    reference : (r, ...) array, optional
        Other real records, which no network trained on. Without them there is no density ratio.
    components : int
        Of `domias`.
    rng : numpy.random.Generator, optional
        Draws the releases; None means fresh entropy.

    Returns
    -------
    dict of (S, n) float64 arrays
        "critic score", "distance" (minus the distance, at most 0) and with a reference "density
        ratio". Larger means more likely a member. Finite: see Notes.

    Raises
    ------
    ValueError
        A release smaller than k, records of another shape or range, a stack of broken networks
        alone or, with a reference, of generators without a density, and as for `domias`.

    Notes
    -----
    A network that broke or, where a density is asked for, whose release has none (it draws one
    record only, or does not vary in every component) keeps its place: for each record it answers as
    another network does, drawn at random from those that have the record or from those that have it
    not. A fair coin says from which: the others alone have its members a little less often than its
    non-members, so that an evenly drawn one would tell of them. So it says nothing of its members
    and is counted as what it is. `discriminator_score`, `nearest_distance` and `domias` say what
    each signal is. Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> from mia_lib import generative, shadow
    >>> x, masks = np.random.default_rng(0).random((20, 8, 8)), shadow.half_masks(4, 20)
    >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=5)
    >>> stack = generative.gan_stack(x, masks, recipe)
    >>> {name: found.shape for name, found in record_signals(stack, x, 50).items()}
    {'critic score': (4, 20), 'distance': (4, 20)}
    """
    k = checks.integer("k", k, 1)
    n_synthetic = checks.integer("n_synthetic", n_synthetic, k)
    rng = checks.generator(rng)
    found = {"critic score": stack.scores(x)}
    names = ["distance"] + (["density ratio"] if reference is not None else [])
    found |= {name: np.full_like(found["critic score"], np.nan) for name in names}
    for s in progress.bar(range(len(stack)), "releases"):
        draws = rng.spawn(1)[0]
        if stack.broken[s]:
            continue
        release = stack.gan(s).generate(n_synthetic, draws)
        found["distance"][s] = nearest_distance(release, x, k)
        if reference is not None and stack.spread[s] > LEAST_SPREAD:
            sets = density.on_components(release, reference, x, components)
            if density.varies(sets[0]):
                found["density ratio"][s] = density.log_ratio(*sets)
    return {name: _said_by_others(values, stack.masks, rng) for name, values in found.items()}


def nearest_by_size(stack, x, sizes, *, rng=None):
    """Minus the distance to the nearest record of releases of growing size, for every network.

    Parameters
    ----------
    stack : GanStack
    x : (n, ...) array
        In [0, 1].
    sizes : sequence of J ints
        Increasing, at least 1. A smaller release is the beginning of the larger one.
    rng : numpy.random.Generator, optional

    Returns
    -------
    (J, S, n) float64 array
        At most 0, growing along the first axis. A broken network answers as in `record_signals`.

    Raises
    ------
    ValueError
        Sizes that do not increase, records of another shape or range, a stack of broken networks
        alone.

    Notes
    -----
    Taught in book/generators_one_record.ipynb.

    Examples
    --------
    >>> from mia_lib import generative, shadow
    >>> x, masks = np.random.default_rng(0).random((20, 8, 8)), shadow.half_masks(4, 20)
    >>> recipe = generative.JsGanRecipe(epochs=1, batch_size=5)
    >>> nearest_by_size(generative.gan_stack(x, masks, recipe), x, [10, 30]).shape
    (2, 4, 20)
    """
    sizes = increasing_sizes(sizes)
    rng = checks.generator(rng)
    found = np.full((len(stack), len(x), len(sizes)), np.nan)
    for s in progress.bar(range(len(stack)), "releases"):
        draws = rng.spawn(1)[0]
        if stack.broken[s]:
            continue
        release = stack.gan(s).generate(int(sizes[-1]), draws)
        parts = [nearest_distance(part, x) for part in np.split(release, sizes[:-1])]
        found[s] = np.maximum.accumulate(parts, axis=0).T
    return _said_by_others(found, stack.masks, rng).transpose(2, 0, 1)


def increasing_sizes(sizes):
    """Sizes of releases as an int array (J,), increasing."""
    sizes = np.array([checks.integer("sizes", m, 1) for m in np.ravel(sizes)], dtype=np.int64)
    if sizes.size == 0 or (np.diff(sizes) <= 0).any():
        checks.fail("sizes", f"{sizes.tolist()}", "increasing sizes of a release, at least one")
    return sizes


def _said_by_others(values, masks, rng):
    """Answers (S, n) or (S, n, J) in which a network without any is given, record by record, those
    of another network: of one that has the record or of one that has it not, by a fair coin, since
    of the others fewer have the members of this one.
    """
    there = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if not there.any():
        checks.fail(
            "stack",
            "broken networks alone, or none whose release has a density",
            "at least one whose weights are finite and whose release varies",
        )
    values, sound, n = values.copy(), values[there], values.shape[1]
    # of records other than those of the masks none is a member
    with_it = masks[there] if masks.shape[1] == n else np.zeros(sound.shape[:2], bool)
    for s in np.flatnonzero(~there):
        wanted = with_it == (rng.random(n) < 0.5)
        wanted |= ~wanted.any(axis=0)  # nobody on that side: any
        donor = np.where(wanted, rng.random(wanted.shape), -1.0).argmax(axis=0)
        values[s] = sound[donor, np.arange(n)]
    return values
