"""Networks that differ from a recipe's in their hidden layers alone."""

import dataclasses

import pytest

from mia_lib import experiment, train

RECIPE = train.Classifier(hidden=(100, 30), activation="tanh", epochs=7)


@pytest.mark.parametrize(
    "width, depth, hidden",
    [
        (1, 2, (100, 30)),
        (0.5, 2, (50, 15)),
        (2.0, 1, (200,)),
        (1, 4, (400, 200, 100, 30)),
        (0.001, 2, (1, 1)),
    ],
)
def test_other_layers(width, depth, hidden):
    other = experiment.with_layers(RECIPE, "relu", width, depth)
    assert other.hidden == hidden and other.activation == "relu"
    assert dataclasses.replace(other, hidden=RECIPE.hidden, activation="tanh") == RECIPE


@pytest.mark.parametrize(
    "changes, message",
    [
        (("gelu", 1, 2), "activation: given"),
        (("relu", 0, 2), "width: given 0"),
        (("relu", 1, 0), "depth: given 0"),
    ],
)
def test_bad_layers_are_named(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        experiment.with_layers(RECIPE, *changes)
