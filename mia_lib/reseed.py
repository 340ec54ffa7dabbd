"""Other seeds for training alone: does a claim hold for one seed, or for the method?

Where the environment variable MIA_RESEED is a number above 0, every model is trained with other
initial weights, another order of the examples and other augmentation. Data, splits and membership
are drawn by generators that training does not use, so they stay what they are. Models that another
library trains, such as scikit-learn's, keep their seeds.

`make reseed` runs every page with it, such as book/lira.ipynb.
"""

import functools
import inspect
import os

import numpy as np

from mia_lib import checks

VARIABLE = "MIA_RESEED"


def shift():
    """The shift that the environment asks for, a whole number of at least 0.

    Raises
    ------
    ValueError
        If MIA_RESEED is anything else.

    Notes
    -----
    0, the default, leaves every seed as it is.

    Examples
    --------
    >>> shift() >= 0
    True
    """
    text = os.environ.get(VARIABLE, "").strip() or "0"
    if not text.isascii() or not text.isdigit():
        checks.fail(VARIABLE, repr(text), "a whole number of at least 0")
    return int(text)


def generator(rng):
    """The generator that a training draws from where it was given `rng`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Returned as it is without a shift. With one, two numbers are drawn from it, whatever the
        shift and however long the training, and decide on the result together with the shift.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> generator(np.random.default_rng(1)).random() == np.random.default_rng(1).random()
    True
    """
    by = shift()
    if by == 0:
        return rng
    return np.random.default_rng([by, *map(int, rng.integers(2**63, size=2))])


def seed(number):
    """The seed that a training is given where it was given `number`, an int of at least 0.

    Examples
    --------
    >>> seed(7)
    7
    """
    by = shift()
    if by == 0:
        return number
    return int(np.random.SeedSequence([by, number]).generate_state(1, np.uint64)[0]) % 2**62


def fit(function):
    """Decorate what trains models: its argument `rngs`, one generator for each model, is shifted.

    Raises
    ------
    ValueError
        When called, for `rngs` that is no sequence.

    Examples
    --------
    >>> fit(lambda rngs: rngs[0].random())([np.random.default_rng(1)]) < 1
    True
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def shifted(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        rngs = given.arguments["rngs"]
        if not hasattr(rngs, "__len__"):
            checks.fail("rngs", type(rngs).__name__, "a sequence of one generator for each model")
        if shift() and all(isinstance(rng, np.random.Generator) for rng in rngs):
            given.arguments["rngs"] = [generator(rng) for rng in rngs]
        return function(*given.args, **given.kwargs)  # it says what is wrong with anything else

    return shifted
