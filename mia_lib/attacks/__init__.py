"""Attacks on single examples: signals in, one score per example out, larger means more likely a member."""

from mia_lib.attacks.thresholds import class_thresholds, loss

__all__ = ["class_thresholds", "loss"]
