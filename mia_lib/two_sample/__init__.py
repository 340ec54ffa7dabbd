"""Tests on sets of records: do two sets have one law?

Taught in book/two_sample.ipynb.
"""

from mia_lib.two_sample.hr_mmd import HrMmd, repeat_test
from mia_lib.two_sample.kernels import deep_kernel, gaussian_kernel, median_bandwidth
from mia_lib.two_sample.mmd import mmd2, mmd2_variance, power_criterion, predicted_power
from mia_lib.two_sample.permutation import TestResult, permutation_test

__all__ = [
    "HrMmd",
    "TestResult",
    "deep_kernel",
    "gaussian_kernel",
    "median_bandwidth",
    "mmd2",
    "mmd2_variance",
    "permutation_test",
    "power_criterion",
    "predicted_power",
    "repeat_test",
]
