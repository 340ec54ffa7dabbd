"""What a parameter may be, as data: each range is a function ``(name, value)`` that returns the
value or raises one clear ValueError.

Used in notebooks/lira_dp.ipynb.
"""

import re

import numpy as np

from mia_lib import checks, data


def whole(low=None, high=None, *, multiple_of=1, or_zero=False):
    """A whole number from low to high.

    Parameters
    ----------
    low, high : int, optional
        The smallest and the largest.
    multiple_of : int
        2 for an even number.
    or_zero : bool
        Whether 0 is allowed too, for "all of them" or "none".

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> whole(50, or_zero=True)("n_examples", 0)
    0
    >>> whole(6, multiple_of=2)("n_models", 7)
    Traceback (most recent call last):
    ...
    ValueError: n_models: given 7, expected a whole number of at least 6 and a multiple of 2
    """

    def check(name, value):
        if or_zero and isinstance(value, int) and not isinstance(value, bool) and value == 0:
            return value
        zero = "0 or " if or_zero else ""
        bounds = "" if low is None else f" of at least {low}"
        bounds = bounds if high is None else f" from {low} to {high}"
        parts = f" and a multiple of {multiple_of}" if multiple_of > 1 else ""
        try:
            fits = checks.integer(name, value, low, high=high) % multiple_of == 0
        except ValueError:
            fits = False
        if not fits:
            checks.fail(name, repr(value), f"{zero}a whole number{bounds}{parts}")
        return value

    return check


def number(interval):
    """A finite number in an interval.

    Parameters
    ----------
    interval : str
        As it is written: ``"(0, 1)"`` without its ends, ``"[0, inf)"`` with the lower one.

    Raises
    ------
    ValueError
        A text that is no interval.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> number("(0, 0.25]")("layer", 0.3)
    Traceback (most recent call last):
    ...
    ValueError: layer: given 0.3, expected a number in (0, 0.25]
    """
    found = re.fullmatch(r"([\[(])\s*(\S+),\s*(\S+?)\s*([\])])", interval)
    if found is None:
        checks.fail("interval", repr(interval), "an interval such as '(0, 1]'")
    left, low, high, right = found.groups()
    low, high = float(low), float(high)
    opened = {"open_low": left == "(", "open_high": right == ")" and np.isfinite(high)}

    def check(name, value):
        checks.number(name, value, low, high=high, **opened)
        return value

    return check


def one_of(*options):
    """One of a few words or numbers.

    Parameters
    ----------
    *options : str or int
        All that are allowed.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> one_of(1, 2, 18)("queries", 3)
    Traceback (most recent call last):
    ...
    ValueError: queries: given 3, expected one of 1, 2, 18
    """

    def check(name, value):
        if not any(value == option and type(value) is type(option) for option in options):
            checks.fail(name, repr(value), "one of " + ", ".join(map(repr, options)))
        return value

    return check


def several(each, least=1):
    """A list of values of one range.

    Parameters
    ----------
    each : callable
        The range of an entry.
    least : int
        How many entries at least.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> several(number("(0, 1)"))("fprs", [0.1, 2])
    Traceback (most recent call last):
    ...
    ValueError: fprs: given 2, expected a number in (0, 1)
    """

    def check(name, value):
        if not isinstance(value, (list, tuple)):
            checks.fail(name, repr(value), "a list")
        if len(value) < least:
            entries = "entry" if least == 1 else "entries"
            checks.fail(
                name, repr(value) if value else "an empty list", f"at least {least} {entries}"
            )
        for entry in value:
            each(name, entry)
        return value

    return check


def rising(each):
    """A list, not empty, whose values grow from one to the next.

    Parameters
    ----------
    each : callable
        The range of an entry.

    Notes
    -----
    Used in notebooks/gan.ipynb.

    Examples
    --------
    >>> rising(whole(0))("checkpoints", [3, 1])
    Traceback (most recent call last):
    ...
    ValueError: checkpoints: given [3, 1], expected rising numbers
    """

    def check(name, value):
        several(each)(name, value)
        if sorted(set(value)) != list(value):
            checks.fail(name, repr(value), "rising numbers")
        return value

    return check


def share(name, value):
    """A number strictly between 0 and 1, such as a rate, a prior or an error probability.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> share("delta", 0.05)
    0.05
    """
    checks.number(name, value, 0, high=1, open_low=True, open_high=True)
    return value


def flag(name, value):
    """True or False.

    Notes
    -----
    Used in notebooks/lira.ipynb.

    Examples
    --------
    >>> flag("ladder", 1)
    Traceback (most recent call last):
    ...
    ValueError: ladder: given 1, expected true or false
    """
    if not isinstance(value, bool):
        checks.fail(name, repr(value), "true or false")
    return value


def word(name, value):
    """Any text.

    Notes
    -----
    Used in notebooks/language_model.ipynb.

    Examples
    --------
    >>> word("scale", "paper")
    'paper'
    """
    if not isinstance(value, str):
        checks.fail(name, repr(value), "a text")
    return value


def anything(name, value):
    """Whatever it is: the function that is given the value checks it.

    Notes
    -----
    Used in notebooks/risk_scores.ipynb.

    Examples
    --------
    >>> anything("executor", "none")
    'none'
    """
    return value


# What the parameters that most notebooks have may be; a notebook names its own range where it
# differs. Those in the second part are fields of the recipe, which checks them all.
USUAL = {
    "dataset": one_of(*data.names(texts=False)),
    "n_examples": whole(50, or_zero=True),
    "alpha": share,
    "delta": share,
    "dp_delta": share,
    "prior": share,
    "device": one_of("cpu", "cuda"),
    "epochs": whole(1),
    "n_permutations": whole(19),
    "n_seeds": whole(1),
    "seed": whole(0),
    "scale": word,
} | dict.fromkeys(
    (
        "activation",
        "batch_size",
        "hidden",
        "init",
        "label_smoothing",
        "learning_rate",
        "model",
        "momentum",
        "nesterov",
        "optimizer",
        "precision",
        "schedule",
        "shift_rate",
        "warmup",
        "weight_decay",
    ),
    anything,
)
