"""Checks of arguments: every error names the argument, what was given and what was expected."""

import numpy as np


def fail(name, given, expected):
    """Raise the one form of error that the library uses for bad input.

    Parameters
    ----------
    name : str
        The argument as the caller knows it.
    given, expected : str
        What came in and what would have been right.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(f"{name}: given {given}, expected {expected}")


def number(name, value, low=-np.inf, *, high=np.inf, open_low=False, open_high=False):
    """A finite real number in [low, high] (or the open interval), as a float.

    Examples
    --------
    >>> number("prior", 0.5, 0, high=1, open_low=True, open_high=True)
    0.5
    """
    left, right = "(" if open_low else "[", ")" if open_high else "]"
    expected = f"a number in {left}{low:g}, {high:g}{right}"
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    )
    if not is_number or not np.isfinite(value):
        fail(name, repr(value), expected)
    if value < low or value > high or (open_low and value == low) or (open_high and value == high):
        fail(name, repr(value), expected)
    return float(value)


def integer(name, value, low=None, *, high=None):
    """A whole number in [low, high], as an int.

    Examples
    --------
    >>> integer("bins", 5, 1)
    5
    """
    bounds = f" of at least {low}" if high is None and low is not None else ""
    bounds = f" from {low} to {high}" if low is not None and high is not None else bounds
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not is_whole or (low is not None and value < low) or (high is not None and value > high):
        fail(name, repr(value), f"a whole number{bounds}")
    return int(value)


def widths(name, value):
    """A sequence of whole numbers of at least 1 as a tuple."""
    try:
        return tuple(integer(name, width, 1) for width in value)
    except TypeError:
        fail(name, repr(value), "a sequence of widths, such as (128,)")


def prior(value, name="prior"):
    """Pr(member), strictly between 0 and 1."""
    return number(name, value, 0, high=1, open_low=True, open_high=True)


def delta(value, name="delta"):
    """An error probability, strictly between 0 and 1."""
    return number(name, value, 0, high=1, open_low=True, open_high=True)


def choice(name, value, options):
    """One of a few words.

    Examples
    --------
    >>> choice("center", "mean", ("mean", "median"))
    'mean'
    """
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        fail(name, repr(value), "one of " + ", ".join(repr(option) for option in options))
    return value


def _array(name, value, expected):
    """As numpy reads it; a mask would be lost without a word."""
    if np.ma.is_masked(value):
        fail(name, f"{int(np.ma.count_masked(value))} masked entries", f"{expected}, none masked")
    try:
        return np.asarray(value)
    except ValueError:
        fail(name, "a ragged sequence", expected)


def real_array(name, value, ndim=None, *, shape=None, finite=True, empty=False, dtype=np.float64):
    """A numeric array, converted to `dtype`, without NaN (and without infinities unless
    ``finite=False``).

    Parameters
    ----------
    ndim : int or tuple of int, optional
        How many axes are allowed.
    shape : tuple, optional
        The exact shape; None in a place stands for any length.
    dtype : numpy dtype or None
        None keeps the floating type that came in (whole numbers become float64).
    """
    array = _array(name, value, "a numeric array")
    if array.dtype.kind not in "fiub":
        fail(name, f"an array of dtype {array.dtype}", "a numeric array")
    if dtype is None:
        dtype = array.dtype if array.dtype.kind == "f" else np.float64
    if ndim is not None:
        allowed = (ndim,) if isinstance(ndim, int) else tuple(ndim)
        if array.ndim not in allowed:
            fail(name, f"shape {array.shape}", f"{' or '.join(map(str, allowed))} axes")
    if shape is not None:
        fits = len(shape) == array.ndim and all(
            want in (None, got) for want, got in zip(shape, array.shape)
        )
        if not fits:
            wanted = (
                "("
                + ", ".join("any" if s is None else str(s) for s in shape)
                + ("," if len(shape) == 1 else "")
                + ")"
            )
            fail(name, f"shape {array.shape}", f"shape {wanted}")
    if not empty and array.size == 0:
        fail(name, f"an empty array of shape {array.shape}", "at least one entry")
    array = array.astype(dtype, copy=False)
    if np.isnan(array).any():
        fail(name, f"{int(np.isnan(array).sum())} NaN among {array.size} entries", "no NaN")
    if finite and not np.isfinite(array).all():
        fail(
            name,
            f"{int((~np.isfinite(array)).sum())} infinite among {array.size} entries",
            "finite entries",
        )
    return array


def boolean_array(name, value, *, shape=None, ndim=None):
    """A boolean array; 0 and 1 are taken as False and True."""
    array = _array(name, value, "a boolean array (True = member)")
    if array.dtype != np.bool_:
        if array.dtype.kind not in "fiu" or not np.isin(array, (0, 1)).all():
            fail(name, f"an array of dtype {array.dtype}", "a boolean array (True = member)")
        array = array.astype(bool)
    if ndim is not None and array.ndim != ndim:
        fail(name, f"shape {array.shape}", f"{ndim} axes")
    if shape is not None and array.shape != tuple(shape):
        fail(name, f"shape {array.shape}", f"shape {tuple(shape)}")
    return array


def distributions(name, p, *, tolerance=1e-3, expected=None):
    """Probabilities (..., K): none negative, every row's sum 1 within the tolerance.

    Examples
    --------
    >>> distributions("p", np.array([0.5, 0.5]))
    array([0.5, 0.5])
    """
    if not (p >= 0).all():
        fail(name, f"a smallest entry of {p.min():g}", expected or "entries of at least 0")
    total = p.sum(axis=-1)
    off = np.abs(total - 1)
    if off.max() > tolerance:
        worst = total.flat[off.argmax()]
        expected = expected or f"rows that sum to 1 within {tolerance:g}"
        fail(name, f"a row that sums to {worst:g}", expected)
    return p


def labels(name, value, n, *, n_classes=None):
    """Class labels, whole numbers 0 ... n_classes - 1, shape (n,), as int64."""
    array = _array(name, value, "whole numbers")
    if array.shape != (n,):
        fail(name, f"shape {array.shape}", f"shape ({n},)")
    if array.dtype.kind not in "iu":
        if (
            array.dtype.kind != "f"
            or not np.isfinite(array).all()
            or (array != np.round(array)).any()
        ):
            fail(name, f"an array of dtype {array.dtype}", "whole numbers")
    array = array.astype(np.int64)
    if array.size and array.min() < 0:
        fail(name, f"smallest label {array.min()}", "labels from 0 on")
    if n_classes is not None and array.size and array.max() >= n_classes:
        fail(
            name, f"largest label {array.max()}", f"labels below {n_classes}, the number of classes"
        )
    return array


def both_groups(name, member):
    """Raise unless `member` holds at least one member and one non-member."""
    count = int(np.count_nonzero(member))
    if count == 0 or count == member.size:
        fail(name, f"{count} members and {member.size - count} non-members", "at least one of each")


def generator(rng, name="rng"):
    """A `numpy.random.Generator`; None means fresh entropy."""
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        fail(name, type(rng).__name__, "a numpy.random.Generator or None")
    return rng


def no_class_lacks(name, lacking):
    """Fail where classes lack members or non-members, naming the first five of them.

    Examples
    --------
    >>> no_class_lacks("member", np.array([], int))
    """
    if len(lacking):
        names = ", ".join(map(str, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
        fail(
            name, f"only members or only non-members in class {names}", "both groups in every class"
        )
