"""The metric family against its definitions, and its thresholds against optima found by search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.stats import norm

from mia_lib.metrics import family
from mia_lib.metrics.family import Metric

fraction = st.floats(1e-3, 1)
F1 = Metric(0, 2, 0, 0, 0, 0, 2, 1, 1, 0)


@given(fraction, fraction, fraction, fraction)
@settings(deadline=None)
def test_members_of_the_family_are_the_textbook_ratios(a, b, c, d):
    total = a + b + c + d
    tp, fp, fn, tn = a / total, b / total, c / total, d / total
    prior = tp + fn
    expected = {
        family.accuracy(): (tp + tn) / (tp + fp + fn + tn),
        family.ppv(): tp / (tp + fp),
        family.tpr(): tp / (tp + fn),
        family.tnr(): tn / (tn + fp),
        family.weighted_accuracy(2, 3, 5, 7): (2 * tp + 3 * tn)
        / (2 * tp + 3 * tn + 5 * fp + 7 * fn),
        F1: 2 * tp / (2 * tp + fp + fn),
    }
    for metric, value in expected.items():
        assert metric.value(tp, fp, fn, tn) == pytest.approx(value, rel=1e-12)
    if prior < 1:
        am = family.am(prior).value(tp, fp, fn, tn)
        assert am == pytest.approx((tp / (tp + fn) + tn / (tn + fp)) / 2, rel=1e-9)


def test_value_broadcasts_and_is_nan_where_undefined():
    value = family.ppv().value([0.2, 0.0], 0.1, [0.2, 0.4], 0.5)
    np.testing.assert_allclose(value, [2 / 3, 0.0])
    assert np.isnan(family.ppv().value(0, 0, 0.5, 0.5))


def gaussian_value(metric, cut, prior, shift=1.0):
    """The metric of "member iff x >= cut" for N(shift, 1) against N(0, 1)."""
    tp, fp = prior * norm.sf(cut - shift), (1 - prior) * norm.sf(cut)
    return metric.value(tp, fp, prior - tp, 1 - prior - fp)


def best_gaussian(metric, prior, shift=1.0):
    """The best cut by search, its posterior and its value."""
    cuts = np.linspace(-12, 12, 2001)
    start = cuts[np.argmax(gaussian_value(metric, cuts, prior, shift))]
    found = optimize.minimize_scalar(
        lambda c: -gaussian_value(metric, c, prior, shift),
        bounds=(start - 0.05, start + 0.05),
        method="bounded",
        options={"xatol": 1e-10},
    )
    eta = (
        prior
        * norm.pdf(found.x - shift)
        / (prior * norm.pdf(found.x - shift) + (1 - prior) * norm.pdf(found.x))
    )
    return eta, -found.fun


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.8])
def test_closed_form_thresholds_are_the_gaussian_optima(prior):
    assert best_gaussian(family.accuracy(), prior)[0] == pytest.approx(
        family.accuracy().threshold(), abs=1e-4
    )
    assert best_gaussian(family.am(prior), prior)[0] == pytest.approx(
        family.am(prior).threshold(), abs=1e-4
    )
    assert family.am(prior).threshold() == pytest.approx(prior, rel=1e-12)
    utilities = Metric(0, 3, -1, -2, 0.5, 1, 0.5, 0.5, 0.5, 0.5)
    assert best_gaussian(utilities, prior)[0] == pytest.approx(utilities.threshold(), abs=1e-4)


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("weights", [(2, 2, 1, 1), (1, 1, 1, 3), (1, 2, 5, 1), (4, 1, 1, 1)])
def test_fixed_point_threshold_is_the_gaussian_optimum_where_theorem_1_fails(prior, weights):
    metric = family.weighted_accuracy(*weights)
    assert metric.threshold() is None
    eta, value = best_gaussian(metric, prior)
    assert metric.threshold_at(value) == pytest.approx(eta, abs=1e-4)
    if weights == (2, 2, 1, 1):
        assert eta == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_f1_has_half_its_optimum_as_threshold(prior):
    eta, value = best_gaussian(F1, prior)
    assert eta == pytest.approx(value / 2, abs=1e-4)
    assert F1.threshold_at(value) == pytest.approx(value / 2, rel=1e-12)


def test_degenerate_members():
    assert family.tpr().threshold() == 0 and family.tnr().threshold() == 1
    assert (
        gaussian_value(family.tpr(), -np.inf, 0.3) == 1
        and gaussian_value(family.tnr(), np.inf, 0.3) == 1
    )
    # PPV rises towards sup eta = 1 with the cut and never reaches it.
    values = [gaussian_value(family.ppv(), cut, 0.3) for cut in (0, 2, 4, 6, 8)]
    assert all(a < b < 1 for a, b in zip(values, values[1:])) and values[-1] > 0.99
    assert family.ppv().threshold_at(0.9) == pytest.approx(0.9)


def test_the_inequality_as_printed_minimises():
    # Utilities: "member iff eta >= t" is the best rule and the reversed one the worst.
    eta, mass = np.linspace(0.05, 0.95, 19), np.full(19, 1 / 19)
    for metric in (family.accuracy(), family.am(float(eta.mean()))):
        t = metric.threshold()
        values = {}
        for cut in np.linspace(0, 1, 41):
            for sign in (1, -1):
                called = sign * (eta - cut) >= 0
                values[(sign, round(float(cut), 3))] = metric.value(
                    (mass * eta)[called].sum(),
                    (mass * (1 - eta))[called].sum(),
                    (mass * eta)[~called].sum(),
                    (mass * (1 - eta))[~called].sum(),
                )
        assert values[(1, round(t, 3))] == pytest.approx(max(values.values()), abs=1e-12)
        assert values[(-1, round(t, 3))] <= min(values.values()) + 0.5 / 19


@pytest.mark.parametrize(
    "metric",
    [
        family.ppv(),
        family.weighted_accuracy(2, 2, 1, 1),
        Metric(0, 0, 1, 1, 0, 0, 1, 1, 1, 1),  # the error rate: small posteriors gain
        Metric(0, 1, 1, 1, 1, 1, 0, 0, 0, 0),  # constant
        Metric(0, 1, 0, 0, 1, -1, 0, 0, 0, 0),  # a negative denominator
        Metric(0, 1, 0, 0, 1, 0, 1, -1, 1, -1),  # a denominator whose sign depends on the prior
    ],
)
def test_no_closed_form(metric):
    assert metric.threshold() is None


def test_bad_input():
    with pytest.raises(ValueError, match="a11: given nan"):
        Metric(0, np.nan, 0, 0, 0, 1, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="b0.*expected a denominator"):
        Metric(0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="sum of 100"):
        family.accuracy().value(30, 20, 20, 30)
    with pytest.raises(ValueError, match="fp: given -0.1"):
        family.accuracy().value(0.5, -0.1, 0.3, 0.3)
    with pytest.raises(ValueError, match="shapes"):
        family.accuracy().value([0.5, 0.5], [0.1, 0.1, 0.1], 0.2, 0.2)
    with pytest.raises(ValueError, match="tp: given 1 NaN"):
        family.accuracy().value(np.nan, 0.1, 0.4, 0.4)
    for prior in (0, 1, -0.1, "half"):
        with pytest.raises(ValueError, match="prior"):
            family.am(prior)
        with pytest.raises(ValueError, match="prior"):
            Metric(0, 1, 0, 0, 1, 0, 1, 1, 1, 1, prior=prior)
    for weights in ((-1, 1, 1, 1), (0, 0, 1, 1), (1, 1, 0, 0)):
        with pytest.raises(ValueError, match="w1"):
            family.weighted_accuracy(*weights)


def test_the_advantage_is_what_is_right_less_what_is_wrong():
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    tp, fp, fn, tn = shares.T
    np.testing.assert_allclose(family.advantage().value(tp, fp, fn, tn), tp + tn - fp - fn)
    advantage, accuracy = vars(family.advantage()), vars(family.accuracy())
    assert [advantage[name] for name in ("b0", "b11", "b10", "b01", "b00")] == [0, 1, 1, 1, 1]
    assert family.advantage().threshold() == family.accuracy().threshold() == 0.5
    assert advantage.keys() == accuracy.keys()
