"""What an adversary sees of an example: one number per example from a classifier's outputs.

Every function takes logits (..., n, K) of n examples and K >= 2 classes; leading axes, such as S
models and Q queries, are kept. Natural logarithms. A row of logits z stands for the probabilities
p_c = exp(z_c) / sum_j exp(z_j), so with probabilities only, pass ``np.log(probabilities)``. A logit
of -inf stands for probability 0 and counts as 1e-45, which keeps every signal finite. Finite logits
are never clipped; beyond 1e300, where their differences would overflow, they are refused.
Everything is float64 and stays in logarithms where a probability would round to 0 or 1. Input is
read in blocks, so a memory-mapped array is never held whole.
"""

import math

import numpy as np
from scipy import special

from mia_lib import checks

LOG_ZERO = math.log(1e-45)
LARGEST = 1e300  # of a logit: sums of a few differences stay finite
BLOCK = (
    1 << 18
)  # logits that are held as float64 at a time (2 MiB), small enough for the processor's cache


def confidence(logits, labels):
    """Probability p_y that the model gives to the right class.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        In [0, 1], without unit. Larger speaks for a member.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes, labels that do not fit.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> confidence(np.log([[0.25, 0.75]]), [1]).round(6)
    array([0.75])
    """
    return _per_block(logits, labels, lambda z, y: special.expit(_log_odds(z, y)))


def cross_entropy(logits, labels):
    """Cross-entropy loss -log p_y.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        In nats, from 0 on. *Smaller* speaks for a member: the score of the LOSS attack is its
        negative. Losses far below 1e-16 keep their digits.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes, labels that do not fit.

    Notes
    -----
    The loss of Carlini et al. 2022, section II-A. Taught in book/lira.ipynb.

    Examples
    --------
    >>> cross_entropy([[0.0, 0.0], [100.0, 0.0]], [0, 0])
    array([6.93147181e-01, 3.72007598e-44])
    """
    return _per_block(logits, labels, lambda z, y: np.logaddexp(0, -_log_odds(z, y)))


def logit_confidence(logits, labels):
    """Logit-scaled confidence log p_y - log sum_{c != y} p_c.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        Log odds in nats, any real number. Larger speaks for a member. Exact where p_y rounds to 0
        or 1.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes, labels that do not fit.

    Notes
    -----
    phi(p) = log(p / (1 - p)) of Carlini et al. 2022, section IV-C, with 1 - p_y taken as the sum
    over the other classes (their section VI-A): z_y minus the log-sum-exp of the other logits.
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> logit_confidence([[1e4, 0.0], [0.0, 1e4]], [0, 0])
    array([ 10000., -10000.])
    """
    return _per_block(logits, labels, _log_odds)


def hinge(logits, labels):
    """Margin z_y - max_{c != y} z_c between the right logit and the largest other one.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        In nats, any real number, positive where the model is right. Larger speaks for a member.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes, labels that do not fit.

    Notes
    -----
    The hinge statistic of Carlini et al. 2022, section VI-A. Within log(K - 1) above
    `logit_confidence`, and equal to it for K = 2. Taught in book/lira.ipynb.

    Examples
    --------
    >>> hinge([[3.0, 1.0, 2.5]], [0])
    array([0.5])
    """
    return _per_block(logits, labels, _margin)


def entropy(logits):
    """Entropy -sum_c p_c log p_c of the predicted distribution.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.

    Returns
    -------
    float64 array (..., n)
        In nats, in [0, log K]. *Smaller* speaks for a member. The label plays no part.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes.

    Notes
    -----
    The conventional signal that Song and Mittal, section 3.1, start from. Taught in
    book/metric_attacks.ipynb.

    Examples
    --------
    >>> entropy([[0.0, 0.0]])
    array([0.69314718])
    """
    return _per_block(logits, None, _entropy)


def modified_entropy(logits, labels):
    """Modified prediction entropy: entropy that knows the right label.

    Parameters
    ----------
    logits : array_like (..., n, K)
        Outputs before the softmax, or log-probabilities.
    labels : array_like (n,)
        The right class of each example, 0 ... K - 1.

    Returns
    -------
    float64 array (..., n)
        In nats, from 0 (right and certain) upwards (wrong and certain). *Smaller* speaks for a
        member.

    Raises
    ------
    ValueError
        NaN, +inf, a row without a finite logit, fewer than two classes, labels that do not fit.

    Notes
    -----
    -(1 - p_y) log p_y - sum_{c != y} p_c log(1 - p_c), Song and Mittal, eq. 8. For K = 2 it is -2
    (1 - p_y) log p_y, so the same attack as `confidence`. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> modified_entropy(np.log([[0.5, 0.4, 0.1], [0.5, 0.25, 0.25]]), [0, 0]).round(3)
    array([0.561, 0.49 ])
    """
    return _per_block(logits, labels, _modified_entropy)


def _blocks(shape):
    """Indices that cut an array (..., n, K) into pieces of about `BLOCK` entries, whole rows
    each.
    """
    below = math.prod(shape[1:])
    if len(shape) == 2 or below <= BLOCK:
        step = max(1, BLOCK // below)
        for start in range(0, shape[0], step):
            yield (slice(start, start + step),)
    else:
        for i in range(shape[0]):
            for rest in _blocks(shape[1:]):
                yield (i, *rest)


def _per_block(logits, labels, formula):
    """Apply ``formula(z (m, K), y (m,))`` to checked float64 blocks."""
    try:
        logits = np.asarray(logits)
    except ValueError:
        checks.fail("logits", "a ragged sequence", "an array (..., n, K)")
    if logits.dtype.kind not in "fiu":
        checks.fail("logits", f"an array of dtype {logits.dtype}", "a numeric array")
    if logits.ndim < 2 or logits.size == 0 or logits.shape[-1] < 2:
        checks.fail(
            "logits",
            f"shape {logits.shape}",
            "shape (..., n, K) with K >= 2 classes and no empty axis",
        )
    n, n_classes = logits.shape[-2:]
    if labels is not None:
        labels = np.broadcast_to(
            checks.labels("labels", labels, n, n_classes=n_classes), logits.shape[:-1]
        )
    signal = np.empty(logits.shape[:-1])
    for block in _blocks(logits.shape):
        z = _finite(logits[block].astype(np.float64).reshape(-1, n_classes))
        y = None if labels is None else labels[block].reshape(-1, 1)
        signal[block] = formula(z, y).reshape(signal[block].shape)
    return signal


def _finite(z):
    """The block with -inf replaced by the logit of probability 1e-45; its input is overwritten."""
    if z.max() <= LARGEST and z.min() >= -LARGEST:  # NaN is neither
        return z
    if np.isnan(z).any():
        checks.fail("logits", f"{np.isnan(z).sum()} NaN", "no NaN")
    if np.isposinf(z).any():
        checks.fail(
            "logits", f"{np.isposinf(z).sum()} of +inf", "finite logits, or -inf for probability 0"
        )
    beyond = np.isfinite(z) & (np.abs(z) > LARGEST)
    if beyond.any():
        checks.fail("logits", f"a logit of {z[beyond][0]:g}", f"at most {LARGEST:g} in magnitude")
    largest = z.max(axis=1, keepdims=True)
    if np.isneginf(largest).any():
        checks.fail(
            "logits",
            f"{np.isneginf(largest).sum()} rows of nothing but -inf",
            "a finite logit in every row",
        )
    zero = np.isneginf(z)
    total = largest + np.log(np.exp(z - largest).sum(axis=1, keepdims=True))
    z[zero] = np.broadcast_to(total + LOG_ZERO, z.shape)[zero]
    return z


def _without(z, column):
    """The block with one logit per row taken out of every sum and maximum."""
    rest = z.copy()
    np.put_along_axis(rest, column, -np.inf, axis=1)
    return rest


def _log_odds(z, y):
    rest = _without(z, y)
    largest = rest.max(axis=1, keepdims=True)
    others = largest[:, 0] + np.log(np.exp(rest - largest).sum(axis=1))
    return np.take_along_axis(z, y, axis=1)[:, 0] - others


def _margin(z, y):
    return np.take_along_axis(z, y, axis=1)[:, 0] - _without(z, y).max(axis=1)


def _log_probabilities(z):
    """log p_c, precise where p_c is next to 1, and the likeliest class of each row."""
    top = z.argmax(axis=1)[:, None]
    z = z - np.take_along_axis(z, top, axis=1)
    return z - np.log1p(np.exp(_without(z, top)).sum(axis=1, keepdims=True)), top


def _entropy(z, _):
    log_p, _ = _log_probabilities(z)
    return -(np.exp(log_p) * log_p).sum(axis=1)


def _modified_entropy(z, y):
    log_p, top = _log_probabilities(z)
    p = np.exp(log_p)
    # Only the likeliest class can have a p that rounds to 1. Its 1 - p is the sum of the others,
    # taken in logarithms.
    log_rest = np.log1p(-np.minimum(p, 0.5))
    np.put_along_axis(log_rest, top, -np.logaddexp(0, _log_odds(z, top))[:, None], axis=1)
    terms = -p * log_rest
    right = -np.exp(np.take_along_axis(log_rest, y, axis=1)) * np.take_along_axis(log_p, y, axis=1)
    np.put_along_axis(terms, y, right, axis=1)
    return terms.sum(axis=1)
