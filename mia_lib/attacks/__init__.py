"""Attacks on single examples: signals in, one score per example out, larger means more likely a member."""

from mia_lib.attacks.gradient import gradient_attack, gradient_features
from mia_lib.attacks.learned import label_network, per_class_networks
from mia_lib.attacks.metric import (
    balanced_accuracy,
    correctness_accuracy,
    log_probabilities,
    metric_attacks,
    metric_scores,
    threshold_attack,
)
from mia_lib.attacks.thresholds import best_threshold, class_thresholds, loss

__all__ = [
    "balanced_accuracy",
    "best_threshold",
    "class_thresholds",
    "correctness_accuracy",
    "gradient_attack",
    "gradient_features",
    "label_network",
    "log_probabilities",
    "loss",
    "metric_attacks",
    "metric_scores",
    "per_class_networks",
    "threshold_attack",
]
