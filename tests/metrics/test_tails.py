"""Student's t far out, against integrals of its density."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from mia_lib.metrics import tails


def test_the_logarithm_far_out():
    for freedom in (2.0, 3.5, 40.0, 1e4):
        z = -np.geomspace(1, 1e40, 9)
        # An integral of the density beyond |z|, over the logarithm of how far beyond
        at = np.concatenate([[0.0], np.geomspace(1e-9, 200, 4001)])
        far = np.log(-z)[:, None]
        logs = [stats.t.logpdf(y, freedom) for y in (np.exp(far + at), np.exp(far))]
        want = integrate.trapezoid(np.exp(logs[0] - logs[1] + at), at, axis=1)
        want = np.log(want) + far[:, 0] + logs[1][:, 0]
        got = tails.log_tail(z, np.full(z.shape, freedom))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        small = got > -650
        exact = stats.t.logcdf(z[small], freedom)
        np.testing.assert_allclose(got[small], exact, rtol=1e-10)
        above = tails.log_tail(-z[:1], np.array([freedom]))
        np.testing.assert_allclose(above, np.log1p(-stats.t.cdf(z[:1], freedom)))


@pytest.mark.parametrize(
    ("freedom", "odds"), [(700, 5.5), (1200, 2.5), (4000, 0.5), (20_000, 0.08)]
)
def test_the_logarithm_where_even_a_normal_law_would_underflow(freedom, odds):
    """By the power series of the incomplete beta function, all of whose terms are positive."""
    a, x = freedom / 2, 1 / (1 + odds)
    term, total = 1.0, 1.0
    for n in range(20_000):
        term *= (a + 0.5 + n) / (a + 1 + n) * x
        total += term
    beta = math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    want = a * math.log(x) + 0.5 * math.log1p(-x) - math.log(2 * a) - beta + math.log(total)
    assert want < math.log(tails.SMALLEST)
    got = tails.log_tail(np.array([-math.sqrt(odds * freedom)]), np.array([float(freedom)]))
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-14 * freedom)


def test_the_normal_score_is_as_far_out():
    t = np.array([-30.0, -2.0, -0.1, 0.0, 0.5, 3.0])
    for freedom in (1.0, 4.0, 300.0):
        got = tails.normal_score(t, np.full(t.shape, freedom))
        want = stats.norm.ppf(stats.t.cdf(t, freedom))
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-12)
        far = tails.normal_score(np.array([1e6, 1e30]), np.full(2, freedom))
        assert np.isfinite(far).all() and far[0] < far[1]
    np.testing.assert_array_equal(tails.normal_score(t, np.full(t.shape, np.inf)).round(9), t)
