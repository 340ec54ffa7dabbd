"""What attacks with shadow models read, checked, and what is left of the models when each is the
target in turn.
"""

import numpy as np

from mia_lib import checks, model_checks
from mia_lib.signals import LOG_ZERO


def one_target(target, shadow, shadow_member, sides):
    """Target (n,), shadow (S, n) and shadow_member (S, n); every example has a model on each of the
    sides.
    """
    target = checks.real_array("target", target, 1)
    model_checks.bounded("target", target)
    shadow = checks.real_array("shadow", shadow, shape=(None, len(target)))
    model_checks.bounded("shadow", shadow)
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape)
    model_checks.counts("shadow_member", member, 1, sides, "one model")
    rows = np.arange(len(shadow))
    model_checks.refuse_copy("shadow", target[:, None], shadow[..., None], rows, "the target's")
    return target, shadow, member


def one_query(signals):
    """Signals (S, n) in float64; these attacks read one query of each example."""
    if signals.ndim != 2:
        checks.fail("signals", f"shape {signals.shape}", "shape (S, n), one query of each example")
    model_checks.bounded("signals", signals)
    return signals.astype(np.float64)


def log_probabilities(name, values):
    """Logarithms of probabilities, none below that of the smallest probability."""
    if values.max() > 0:
        checks.fail(
            name, f"a largest value of {values.max():g}", "logarithms of probabilities, at most 0"
        )
    return np.maximum(values, LOG_ZERO)


def means(signals, member):
    """IN and OUT means (n,) of signals (S, n); NaN for a side without models."""
    with np.errstate(invalid="ignore"):
        return [
            np.where(side, signals, 0.0).sum(axis=0) / side.sum(axis=0)
            for side in (member, ~member)
        ]


def means_without_each(signals, member):
    """IN and OUT means (S, n) of what each target leaves.

    The target's own group loses the target, the other one its lowest-numbered model, so that all
    targets of an example are compared with equally many models.
    """
    columns = np.arange(signals.shape[1])
    # Where signals tie their sums must too, on whichever side the target is: differences from the
    # middle one are 0 then, which no order of summation rounds.
    middle = np.median(signals, axis=0)
    signals = signals - middle
    found = []
    for side in (member, ~member):
        values = np.where(side, signals, 0.0)
        # Sums of what lies before and after: subtracting a target from the total would lose digits
        # to a large one.
        rest = np.zeros_like(values)
        np.cumsum(values[:-1], axis=0, out=rest[1:])
        rest[:-1] += np.cumsum(values[:0:-1], axis=0)[::-1]
        rest = np.where(side, rest, rest[side.argmax(axis=0), columns])
        with np.errstate(invalid="ignore"):  # of a side that is not read one model may be all
            found.append(rest / (side.sum(axis=0) - 1) + middle)
    return found


def each_example(signals, member):
    """Yield for each example its column's IN and OUT models, in rising order."""
    for i in range(signals.shape[1]):
        yield i, np.flatnonzero(member[:, i]), np.flatnonzero(~member[:, i])
