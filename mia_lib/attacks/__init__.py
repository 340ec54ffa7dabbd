"""Attacks on single examples: signals in, one score per example out, larger means more likely a
member. `CATALOGUE` lists every one of them, with its authors, its settings and what it needs.
"""

from mia_lib.attacks.adaptive import AdaptiveAttack, adaptive_attack, shrunk_thresholds
from mia_lib.attacks.calibrated import (
    class_calibrated,
    difficulty_calibration,
    midpoint,
    reference_quantile,
)
from mia_lib.attacks.catalogue import CATALOGUE, named
from mia_lib.attacks.entry import Attack
from mia_lib.attacks.gradient import gradient_attack, gradient_features
from mia_lib.attacks.learned import label_network, per_class_networks
from mia_lib.attacks.metric_based import (
    accuracy_difference,
    correctness_accuracy,
    decision_accuracy,
    log_probabilities,
    metric_attacks,
    metric_scores,
    threshold_attack,
)
from mia_lib.attacks.normalised import base
from mia_lib.attacks.perturbed import merlin
from mia_lib.attacks.quantile import quantile_regression
from mia_lib.attacks.rmia import rmia
from mia_lib.attacks.shadow_fit import ShadowFit, shadow_fit
from mia_lib.attacks.suite import adaptive_suite, averaged_answers
from mia_lib.attacks.tail import most_isolated, neighbours, outlier_tail
from mia_lib.attacks.thresholds import best_threshold, class_thresholds, correctness, loss

__all__ = [
    "CATALOGUE",
    "AdaptiveAttack",
    "Attack",
    "ShadowFit",
    "accuracy_difference",
    "adaptive_attack",
    "adaptive_suite",
    "averaged_answers",
    "base",
    "best_threshold",
    "class_calibrated",
    "class_thresholds",
    "correctness",
    "correctness_accuracy",
    "decision_accuracy",
    "difficulty_calibration",
    "gradient_attack",
    "gradient_features",
    "label_network",
    "log_probabilities",
    "loss",
    "merlin",
    "metric_attacks",
    "metric_scores",
    "midpoint",
    "most_isolated",
    "named",
    "neighbours",
    "outlier_tail",
    "per_class_networks",
    "quantile_regression",
    "reference_quantile",
    "rmia",
    "shadow_fit",
    "shrunk_thresholds",
    "threshold_attack",
]
