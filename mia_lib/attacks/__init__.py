"""Attacks on single examples: signals in, one score per example out, larger means more likely a member."""

from mia_lib.attacks.calibrated import difficulty_calibration, midpoint, reference_quantile
from mia_lib.attacks.perturbed import merlin
from mia_lib.attacks.quantile import quantile_regression
from mia_lib.attacks.rmia import rmia
from mia_lib.attacks.tail import neighbours, outlier_tail
from mia_lib.attacks.thresholds import class_calibrated, class_thresholds, loss

__all__ = [
    "class_calibrated",
    "class_thresholds",
    "difficulty_calibration",
    "loss",
    "merlin",
    "midpoint",
    "neighbours",
    "outlier_tail",
    "quantile_regression",
    "reference_quantile",
    "rmia",
]
