"""The ROC and what is read off it; the generalized metric family and its thresholds."""

from mia_lib.metrics.curve import Roc
from mia_lib.metrics.family import Metric, accuracy, advantage, am, ppv, tnr, tpr, weighted_accuracy
from mia_lib.metrics.paired import auc_change
from mia_lib.metrics.records import record_calibrated, record_rates
from mia_lib.metrics.resolution import n_members_needed, n_nonmembers_needed
from mia_lib.metrics.roc import roc
from mia_lib.metrics.ties import tie_limited

__all__ = [
    "Metric",
    "Roc",
    "accuracy",
    "advantage",
    "am",
    "auc_change",
    "n_members_needed",
    "n_nonmembers_needed",
    "ppv",
    "record_calibrated",
    "record_rates",
    "roc",
    "tie_limited",
    "tnr",
    "tpr",
    "weighted_accuracy",
]
