"""The house style. Every function draws into `ax`, or into a new one, and returns it; no figure has
a title.

Colours are those of Okabe and Ito, which colour-blind readers tell apart, and each comes with a
line style of its own. Backgrounds are white; the site and the slides put a drawing on a dark
ground where the reader's screen is dark.
"""

from mia_lib.plots.figures import (
    COLORS,
    LINES,
    MARKERS,
    MEMBER,
    N_POINTS,
    NONMEMBER,
    REFERENCE,
    gaussian_pair,
    histogram_pair,
    pictures,
    rates,
    roc,
    style,
)
from mia_lib.plots.labels import label_lines
from mia_lib.plots.sandwich import sandwich
from mia_lib.plots.with_intervals import estimates, estimates_over

__all__ = [
    "COLORS",
    "LINES",
    "MARKERS",
    "MEMBER",
    "NONMEMBER",
    "N_POINTS",
    "REFERENCE",
    "estimates",
    "estimates_over",
    "gaussian_pair",
    "histogram_pair",
    "label_lines",
    "pictures",
    "rates",
    "roc",
    "sandwich",
    "style",
]
