"""Whether generated records look like real ones, as a classifier sees them.

Taught in book/generative.ipynb.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks, signals


class Looks(NamedTuple):
    """What `looks` finds.

    Attributes
    ----------
    confidence : float
        Mean probability of the class that the classifier finds, in [1/K, 1].
    distance : float
        Of the shares of the classes from those of real records: 0 the same, 1 nothing in common.
    """

    confidence: float
    distance: float


def looks(logits, real):
    """How generated records look to a classifier, beside real ones.

    Parameters
    ----------
    logits : (n, K) array
        What a classifier that the GAN has not met says of generated records.
    real : (m, K) array
        The same of real records, such as the members.

    Returns
    -------
    Looks

    Raises
    ------
    ValueError
        Logits of another number of classes, NaN.

    Notes
    -----
    A network that makes noise, or one class only, leaks little, and nobody would release it. The
    distance is the total variation of the classes found. Taught in book/generative.ipynb.

    Examples
    --------
    >>> found = looks(np.log([[0.9, 0.1], [0.7, 0.3]]), np.log([[0.6, 0.4], [0.2, 0.8]]))
    >>> f"{found.confidence:.2f}, {found.distance:.2f}"
    '0.80, 0.50'
    """
    logits = checks.real_array("logits", logits, 2)
    real = checks.real_array("real", real, shape=(None, logits.shape[1]))
    found = [
        np.bincount(one.argmax(1), minlength=one.shape[1]) / len(one) for one in (logits, real)
    ]
    sure = signals.confidence(logits, logits.argmax(1)).mean()
    return Looks(float(sure), float(np.abs(found[0] - found[1]).sum() / 2))
