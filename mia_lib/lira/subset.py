"""Fewer shadow models from many, without training any again."""

import numpy as np

from mia_lib import checks, model_checks


def balanced_subset(signals, member, n_models):
    """Keep n_models values for each example, half of them IN and half OUT.

    The success of the attack against the number of shadow models (Carlini et al. 2022, Fig. 9)
    needs sets of every size in which each example is half the time a member. The first rows of half
    masks are no such set, so each example keeps its own lowest-numbered models of either side. A
    row of the result is therefore not one model throughout.

    Parameters
    ----------
    signals : array (S, n) or (S, n, Q)
        One signal for each model and example (and query).
    member : bool array (S, n)
        True where example i trained model s.
    n_models : int
        How many values to keep of each example, even, at least 2.

    Returns
    -------
    signals : array (n_models, n) or (n_models, n, Q)
        The IN values first.
    member : bool array (n_models, n)
        True in the first n_models / 2 rows.

    Raises
    ------
    ValueError
        An odd number, wrong shapes, or an example with too few models on a side.

    Notes
    -----
    Taught in book/lira_needs.ipynb.

    Examples
    --------
    >>> member = np.array([[True, False], [False, True], [True, False], [False, True]])
    >>> few, who = balanced_subset(np.arange(8).reshape(4, 2), member, 2)
    >>> few.tolist(), who.tolist()
    ([[0, 3], [2, 1]], [[True, True], [False, False]])
    """
    signals = model_checks.signals("signals", signals, (2, 3))
    member = checks.boolean_array("member", member, shape=signals.shape[:2])
    n_models = checks.integer("n_models", n_models, 2)
    if n_models % 2:
        checks.fail("n_models", str(n_models), "an even number")
    half = n_models // 2
    model_checks.counts("member", member, half, ("IN", "OUT"), f"{half} models")
    first_in, first_out = (
        np.argsort(~side, axis=0, kind="stable")[:half] for side in (member, ~member)
    )
    rows = np.concatenate([first_in, first_out])
    kept = np.take_along_axis(signals, rows.reshape(*rows.shape, *[1] * (signals.ndim - 2)), axis=0)
    return kept, np.take_along_axis(member, rows, axis=0)
