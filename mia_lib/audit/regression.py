"""Models that predict a number: one signal, and the attacks that carry over."""

import numpy as np

from mia_lib import checks

# They read a class or all classes, and a predicted number has none.
OF_CLASSES = (
    "Modified entropy, class thresholds",
    "Learned network",
    "Modified entropy",
    "Entropy",
    "Hinge",
    "Correctness",
)
SAID = (
    "The model predicts a number. Its signal is minus the squared error, divided by the target's "
    "mean squared error over all records: LOSS and every attack that compares this signal with "
    "that of shadow models carry over (LiRA's Gaussians fit a squared error less well than a "
    "confidence). Attacks that read classes do not, nor do privacy risk scores."
)


def outputs(predictions, targets, scale=None):
    """Outputs of two classes whose logit-scaled confidence is minus the scaled squared error.

    Parameters
    ----------
    predictions : array (..., n)
        In the unit of the targets.
    targets : array (n,)
        The right numbers.
    scale : float, optional
        What squared errors are divided by. None: their mean.

    Returns
    -------
    logits : float64 array (..., n, 2)
        -(error^2 / scale) and 0; the label of every record is 0.
    scale : float

    Raises
    ------
    ValueError
        Wrong shapes, numbers that are not finite.

    Notes
    -----
    One scale, the target's, serves the shadow models too, so that a model that errs more is seen
    to. Taught in book/audit_sklearn.ipynb.

    Examples
    --------
    >>> outputs(np.array([1.0, 4.0]), np.array([1.0, 2.0]))[0].tolist()
    [[-0.0, 0.0], [-2.0, 0.0]]
    """
    targets = checks.real_array("targets", targets, 1)
    predictions = checks.real_array("predictions", predictions)
    if predictions.shape[-1:] != targets.shape:
        checks.fail("predictions", f"shape {predictions.shape}", f"shape (..., {len(targets)})")
    with np.errstate(over="ignore"):
        squares = (predictions - targets) ** 2
        if not np.isfinite(squares.sum()):
            largest = np.abs(predictions - targets).max()
            checks.fail(
                "predictions", f"an error of {largest:g}", "errors whose squares are finite"
            )
    if scale is None:
        scale = float(squares.mean()) or 1.0
    return np.stack([-squares / scale, np.zeros_like(squares)], axis=-1), scale
