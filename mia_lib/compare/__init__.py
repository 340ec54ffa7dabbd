"""Attacks under one protocol: the same targets, the same figures, an interval on each.

Scores of S targets on n examples are pooled. What was drawn independently is the example, so a
bootstrap draws examples, all targets of one kept together, scores fixed. Models are never redrawn:
a model drawn twice would be among its own shadow models. Intervals of a TPR and of a ratio of two
are stretched by what models differ in instead (`metrics.pooled.spread`). No bootstrap is behind the
interval of an AUC (`metrics.Roc.auc_interval`), of the TPR of one target (`metrics.Roc.tpr_at`) or
of a power law, whose draws are independent.

Taught in book/lira.ipynb.
"""

from mia_lib.compare.agreement import rank_correlation, top_overlap
from mia_lib.compare.choices import scored, shadow_models, two_choices
from mia_lib.compare.laws import PowerLaw, jackknife, power_law
from mia_lib.compare.protocol import (
    RATES,
    accuracy_interval,
    name_of,
    not_resolved,
    percent,
    show,
    table,
)
from mia_lib.compare.ratio import tpr_ratio
from mia_lib.compare.verdicts import verdict

__all__ = [
    "PowerLaw",
    "RATES",
    "accuracy_interval",
    "jackknife",
    "name_of",
    "not_resolved",
    "percent",
    "power_law",
    "rank_correlation",
    "scored",
    "shadow_models",
    "show",
    "table",
    "top_overlap",
    "tpr_ratio",
    "two_choices",
    "verdict",
]
