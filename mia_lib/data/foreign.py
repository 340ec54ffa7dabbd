"""Records that do not belong: what an experiment inserts into a data set to see whether it is
noticed.
"""

import numpy as np

from mia_lib import checks

KINDS = ("ordinary", "perturbed", "inverted", "mislabelled", "noise")


def foreign(kind, x, y, n_classes, *, rng=None, share=0.1):
    """Turn ordinary records into out-of-distribution ones (after Carlini et al. 2022, section
    VII-B).

    Parameters
    ----------
    kind : str
        "ordinary": as they are. "perturbed": a share of the features is taken from other records,
        the label stays. "inverted": large values become small ones and the reverse, the label
        stays. "mislabelled": a random wrong label. "noise": every feature is a value drawn from all
        values of these records, and the label is random.
    x : array (n, ...)
        Records of numbers, at least two.
    y : int array (n,)
        Labels 0 ... K - 1.
    n_classes : int
        K, at least 2.
    rng : numpy.random.Generator, optional
        None means fresh entropy.
    share : float
        Of "perturbed": the probability with which a feature is replaced, in (0, 1].

    Returns
    -------
    x : array of the shape and type of x
    y : int64 array (n,)

    Raises
    ------
    ValueError
        An unknown kind, fewer than two records or classes, labels that do not fit, a share outside
        (0, 1].

    Notes
    -----
    Taught in book/who_is_exposed.ipynb.

    Examples
    --------
    >>> x, y = foreign("inverted", np.array([[0, 1, 1], [0, 0, 1]]), np.array([0, 1]), 2)
    >>> x.tolist(), y.tolist()
    ([[1, 0, 0], [1, 1, 0]], [0, 1])
    """
    checks.choice("kind", kind, KINDS)
    x = np.asarray(x)
    if x.dtype.kind not in "fiu" or x.ndim < 2 or len(x) < 2:
        checks.fail(
            "x",
            f"an array of dtype {x.dtype} and shape {x.shape}",
            "at least two records of numbers",
        )
    n_classes = checks.integer("n_classes", n_classes, 2)
    y = checks.labels("y", y, len(x), n_classes=n_classes)
    share = checks.number("share", share, 0, high=1, open_low=True)
    rng = checks.generator(rng)
    if kind == "perturbed":
        own = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))
        donor = rng.integers(len(x) - 1, size=x.shape)
        other = np.take_along_axis(x, donor + (donor >= own), axis=0)
        x = np.where(rng.random(x.shape) < share, other, x)
    elif kind == "inverted":
        x = x.min() + (x.max() - x)
    elif kind == "mislabelled":
        y = (y + rng.integers(1, n_classes, size=len(y))) % n_classes
    elif kind == "noise":
        x = rng.choice(x.ravel(), size=x.shape)
        y = rng.integers(n_classes, size=len(y))
    return x, y
