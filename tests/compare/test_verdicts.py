"""Verdicts against a table written by hand."""

import numpy as np
import pytest

from mia_lib import compare, intervals

INF = np.inf


class TestVerdict:
    @pytest.mark.parametrize(
        ("interval", "region", "expected"),
        [
            ((0.5, 0.4, 0.6), (0.3, 0.7), "confirmed"),
            ((0.5, 0.4, 0.6), (0.4, 0.6), "confirmed"),  # both ends belong to the region
            ((0.5, 0.4, 0.6), (0.41, 0.6), "undecided"),
            ((0.5, 0.4, 0.6), (0.6, 0.9), "undecided"),  # one point in common
            ((0.5, 0.4, 0.6), (0.61, 0.9), "refuted"),
            ((0.5, 0.4, 0.6), (0.1, 0.39), "refuted"),
            ((0.5, 0.4, 0.6), (0.45, 0.55), "undecided"),  # holds the whole region
            ((0.5, 0.4, 0.6), (-INF, INF), "confirmed"),
            ((3.0, 2.0, INF), (1.0, INF), "confirmed"),
            ((3.0, 2.0, INF), (1.0, 9.0), "undecided"),
            ((0.0, 0.0, 0.0), (np.nextafter(0, 1), INF), "refuted"),  # an order wants more than 0
            ((5e-324, 5e-324, 5e-324), (np.nextafter(0, 1), INF), "confirmed"),
            ((2.0, 2.0, 2.0), (2.0, 2.0), "confirmed"),
            ((np.nan, 0.4, 0.6), (0.0, 1.0), "undecided"),
            ((0.5, np.nan, 0.6), (0.0, 1.0), "undecided"),
            ((0.5, 0.4, np.nan), (2.0, 3.0), "undecided"),
            ((0.5, None, None), (0.0, 1.0), "undecided"),
        ],
    )
    def test_literals(self, interval, region, expected):
        assert compare.verdict(intervals.Estimate(*interval), region) == expected

    @pytest.mark.parametrize("region", [(1, 0), (np.nan, 1), (0, np.nan)])
    def test_a_region_has_its_smaller_end_first(self, region):
        with pytest.raises(ValueError, match="region: given"):
            compare.verdict((0.5, 0.4, 0.6), region)

    def test_so_has_an_interval(self):
        with pytest.raises(ValueError, match="estimate: given"):
            compare.verdict((0.5, 0.6, 0.4), (0, 1))
