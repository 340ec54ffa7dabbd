"""What an attack was asked for: which models it reads, and how their signals are fitted."""

from typing import NamedTuple

from mia_lib import checks

# The smallest variance of a fitted Gaussian: this share of the global one, and never below the
# second number. The largest that a prior may have.
FLOOR, TINY, LARGEST = 1e-12, 1e-60, 1e200
# What each option may be, the default first. Only the offline attack has a tail.
CHOICES = {
    "variance": ("per-example", "global", "bayesian"),
    "center": ("mean", "median"),
    "covariance": ("spherical", "diagonal"),
    "tail": ("one-sided", "density"),
}
ONLINE, OFFLINE = ("IN", "OUT"), ("OUT",)  # the models that each attack reads


class Choices(NamedTuple):
    """One value of each option.

    Parameters
    ----------
    sides : tuple of str
        `ONLINE` or `OFFLINE`: the shadow models whose signals are fitted.
    variance, center, covariance : str
    tail : str, optional
        How a signal is compared with the OUT models alone; None where there are IN models too.
    """

    sides: tuple
    variance: str
    center: str
    covariance: str
    tail: str | None = None

    @property
    def shares_spread(self):
        """Whether all queries of a side have one spread."""
        return self.covariance == "spherical"


def checked(sides, **options):
    """The options of an attack, each one of its values; what is not given is the default."""
    names = names_of(sides)
    values = {name: options.get(name, CHOICES[name][0]) for name in names}
    for name in names:
        checks.choice(name, values[name], CHOICES[name])
    if values["variance"] == "bayesian" and values["center"] == "median":
        checks.fail("center", "'median' with variance='bayesian'", "'mean', which its model has")
    return Choices(sides, **values)


def names_of(sides):
    """The options that an attack on these models has."""
    return tuple(CHOICES) if sides == OFFLINE else tuple(CHOICES)[:-1]
