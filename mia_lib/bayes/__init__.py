"""The Bayes-optimal adversary: estimates of f_p, the membership advantage and its limits,
generalized metrics.

Taught in book/bayes.ipynb and book/generalized_metrics.ipynb.
"""

from mia_lib.bayes.ceilings import dp_advantage_ceiling, dp_ceiling, dp_epsilon
from mia_lib.bayes.certificate import (
    Certificate,
    certificate,
    compare_queries,
    membership_privacy,
    most_exposed,
    sure_risk,
)
from mia_lib.bayes.estimators import (
    held_out_advantages,
    permutation_p_value,
    sign_split_advantage,
    split_advantage,
)
from mia_lib.bayes.generalized import generalized_advantage, heuristic_advantage
from mia_lib.bayes.halves import half_advantages, half_interval
from mia_lib.bayes.histogram import Histogram
from mia_lib.bayes.individual import (
    average_risk_interval,
    generalized_risk,
    generalized_risk_interval,
)
from mia_lib.bayes.kernel_density import KernelDensity
from mia_lib.bayes.probe import membership_probe
from mia_lib.bayes.threshold import threshold_advantage
from mia_lib.privacy import epsilon_lower_bound, epsilon_lower_bound_one_run

__all__ = [
    "Certificate",
    "Histogram",
    "KernelDensity",
    "average_risk_interval",
    "certificate",
    "compare_queries",
    "dp_advantage_ceiling",
    "dp_ceiling",
    "dp_epsilon",
    "epsilon_lower_bound",
    "epsilon_lower_bound_one_run",
    "generalized_advantage",
    "generalized_risk",
    "generalized_risk_interval",
    "half_advantages",
    "half_interval",
    "held_out_advantages",
    "heuristic_advantage",
    "membership_privacy",
    "membership_probe",
    "most_exposed",
    "permutation_p_value",
    "sign_split_advantage",
    "split_advantage",
    "sure_risk",
    "threshold_advantage",
]
