"""Recipes that an experiment compares with its own."""

import dataclasses

from mia_lib import checks


def with_layers(recipe, activation, width, depth):
    """The recipe with other hidden layers.

    Parameters
    ----------
    recipe : train.Classifier
        Of an "mlp".
    activation : str
        "tanh", "relu" or "sigmoid".
    width : float
        What the widths are multiplied by, above 0.
    depth : int
        How many layers: the last ones are left out, or ones of twice the first width are put
        before.

    Returns
    -------
    train.Classifier

    Raises
    ------
    ValueError
        A value out of range.

    Notes
    -----
    Used in notebooks/risk_scores.ipynb and notebooks/defenses.ipynb.

    Examples
    --------
    >>> from mia_lib import train
    >>> with_layers(train.Classifier(hidden=(8, 4)), "relu", 0.5, 3).hidden
    (8, 4, 2)
    """
    width = checks.number("width", width, 0, open_low=True)
    depth = checks.integer("depth", depth, 1)
    layers = [max(1, round(width * units)) for units in recipe.hidden][:depth]
    while len(layers) < depth:
        layers = [2 * layers[0], *layers]
    return dataclasses.replace(recipe, hidden=tuple(layers), activation=activation)
