"""Differential privacy from both sides: what a mechanism guarantees against every attack, and what
an audit certifies about epsilon from below.

Taught in book/attacking_dp.ipynb.
"""

from mia_lib.privacy.closed_forms import approximate, gaussian, gaussian_at
from mia_lib.privacy.composed import subsampled_gaussian
from mia_lib.privacy.guarantee import Guarantee
from mia_lib.privacy.lower_bounds import (
    epsilon_lower_bound,
    epsilon_lower_bound_f_dp,
    epsilon_lower_bound_one_run,
    excluded,
    right_guesses,
)

__all__ = [
    "Guarantee",
    "approximate",
    "epsilon_lower_bound",
    "epsilon_lower_bound_f_dp",
    "epsilon_lower_bound_one_run",
    "excluded",
    "gaussian",
    "gaussian_at",
    "right_guesses",
    "subsampled_gaussian",
]
