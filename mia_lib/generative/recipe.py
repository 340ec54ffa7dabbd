"""What every kind of GAN is trained with."""

import dataclasses
from typing import ClassVar

from mia_lib import checks
from mia_lib.generative.networks import NETWORKS, Networks


@dataclasses.dataclass(frozen=True, kw_only=True)
class GanRecipe:
    """The choices that all kinds of GAN share; each kind adds its own.

    Parameters
    ----------
    networks : str or Networks
        "digits", "mnist", "cifar10" or "skin-lesions", or networks of your own.
    epochs : int
        Each has as many steps as the records fill batches, at least one.
    batch_size : int
        Real records a step, and as many generated ones.
    learning_rate : float
        Of every Adam, above 0.
    betas : (float, float)
        Of every Adam, in [0, 1).
    device : str
        "cpu", "cuda" or "auto".
    precision : {"float32", "bfloat16"}
        Of the matrix products in training, about half the time where the processor has bfloat16.
        What a trained GAN generates and scores is always computed in float32.

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Taught in book/generative.ipynb.
    """

    networks: str | Networks = "digits"
    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 2e-4
    betas: tuple = (0.5, 0.999)
    device: str = "cpu"
    precision: str = "float32"

    # A stored training knows its networks and its device by themselves and may go on for more
    # epochs.
    NOT_STORED: ClassVar = ("networks", "epochs", "device")

    def __post_init__(self):
        if not isinstance(self.networks, Networks):
            checks.choice("networks", self.networks, NETWORKS)
        checks.integer("epochs", self.epochs, 0)
        checks.integer("batch_size", self.batch_size, 1)
        checks.number("learning_rate", self.learning_rate, 0, open_low=True)
        for beta in self.betas:
            checks.number("betas", beta, 0, high=1, open_high=True)
        checks.choice("precision", self.precision, ("float32", "bfloat16"))

    def made(self):
        """The networks themselves, where they were given by name."""
        return self.networks if isinstance(self.networks, Networks) else NETWORKS[self.networks]

    def stored(self):
        """What two trainings must agree in to be one, as JSON holds it."""
        names = [field.name for field in dataclasses.fields(self)]
        found = {name: getattr(self, name) for name in names if name not in self.NOT_STORED}
        return found | {"betas": list(self.betas)}


def check_kind(recipe, kind):
    """Refuse the recipe of another kind of GAN."""
    if not isinstance(recipe, kind):
        checks.fail("recipe", type(recipe).__name__, f"a {kind.__name__}")


def check_real_label(value):
    """What a discriminator is told of real records: in (0.5, 1], 1 without label smoothing."""
    return checks.number("real_label", value, 0.5, high=1, open_low=True)
