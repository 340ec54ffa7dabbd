"""The options of the attack: what each may be, the default first."""

from mia_lib import checks

CHOICES = {
    "variance": ("per-example", "global"),
    "center": ("mean", "median"),
    "covariance": ("spherical", "diagonal"),
    "tail": ("one-sided", "density"),
}


def checked(**options):
    """The options, each one of its values."""
    return {name: checks.choice(name, value, CHOICES[name]) for name, value in options.items()}
