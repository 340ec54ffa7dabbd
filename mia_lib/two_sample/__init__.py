"""Tests on sets of records: do two sets have one law?

Taught in book/two_sample.ipynb.
"""

from mia_lib.two_sample.aggregated import aggregate
from mia_lib.two_sample.canaries import canary_power, canary_test
from mia_lib.two_sample.class_aware import (
    class_aware_test,
    within_class_test,
    within_class_variance,
)
from mia_lib.two_sample.class_means import class_mean_test
from mia_lib.two_sample.e_values import e_process
from mia_lib.two_sample.feature_tests import characteristic_function_test, mean_embedding_test
from mia_lib.two_sample.fitted import Fitted, fit_bandwidth, fit_classifier, fit_deep_features
from mia_lib.two_sample.fitting import DeepFeatures
from mia_lib.two_sample.halves import on_halves
from mia_lib.two_sample.hr_mmd import HrMmd, repeat_test
from mia_lib.two_sample.kernel_tests import (
    deep_feature_test,
    median_kernel_test,
    optimized_kernel_test,
)
from mia_lib.two_sample.kernels import deep_kernel, gaussian_kernel, median_bandwidth
from mia_lib.two_sample.mmd import mmd2, mmd2_variance, predicted_power
from mia_lib.two_sample.permutation import TestResult, permutation_test
from mia_lib.two_sample.power import fitted_kernel, median_kernel, power_curve
from mia_lib.two_sample.representations import layer_outputs, representations
from mia_lib.two_sample.score_tests import classifier_test, mean_test, t_test
from mia_lib.two_sample.sensitivity import sensitivity_odds, sensitivity_p_value
from mia_lib.two_sample.sets import set_threshold
from mia_lib.two_sample.shares import (
    member_share,
    share_by_rejections,
    share_by_subsets,
    share_lower_limit,
)
from mia_lib.two_sample.two_steps import TwoSteps, two_step_test

__all__ = [
    "DeepFeatures",
    "Fitted",
    "HrMmd",
    "TestResult",
    "TwoSteps",
    "aggregate",
    "canary_power",
    "canary_test",
    "characteristic_function_test",
    "class_aware_test",
    "class_mean_test",
    "classifier_test",
    "deep_feature_test",
    "deep_kernel",
    "e_process",
    "fit_bandwidth",
    "fit_classifier",
    "fit_deep_features",
    "fitted_kernel",
    "gaussian_kernel",
    "layer_outputs",
    "mean_embedding_test",
    "mean_test",
    "median_bandwidth",
    "median_kernel",
    "median_kernel_test",
    "member_share",
    "mmd2",
    "mmd2_variance",
    "on_halves",
    "optimized_kernel_test",
    "permutation_test",
    "power_curve",
    "predicted_power",
    "repeat_test",
    "representations",
    "sensitivity_odds",
    "sensitivity_p_value",
    "set_threshold",
    "share_by_rejections",
    "share_by_subsets",
    "share_lower_limit",
    "t_test",
    "two_step_test",
    "within_class_test",
    "within_class_variance",
]
