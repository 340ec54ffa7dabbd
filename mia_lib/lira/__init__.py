"""The likelihood-ratio attack: does a signal look more like models that trained on the example, or
like the others?

The method of Carlini et al. 2022 ("Membership inference attacks from first principles"), taught in
book/lira.ipynb.
"""

from mia_lib.lira.discoveries import Exposed, exposed_records
from mia_lib.lira.every_target import leave_one_out
from mia_lib.lira.exposure import influence, separation
from mia_lib.lira.gaussian import fit_priors, offline, online
from mia_lib.lira.posterior import Prior
from mia_lib.lira.subset import balanced_subset

__all__ = [
    "Exposed",
    "Prior",
    "balanced_subset",
    "exposed_records",
    "fit_priors",
    "influence",
    "leave_one_out",
    "offline",
    "online",
    "separation",
]
