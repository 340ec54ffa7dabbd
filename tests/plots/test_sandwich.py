"""The guarantee above, what is certified below, the attacks between them."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

from mia_lib import metrics, plots, privacy

RATES = [0.3, 0.05, 0.1]


def attack(seed, mu=1.0, m=1000):
    """Readings of coins under noise: the best attack on a Gaussian mechanism."""
    rng = np.random.default_rng(seed)
    coin = rng.random(m) < 0.5
    return metrics.roc(mu * coin + rng.normal(size=m), coin)


def drawn(ax):
    ax.figure.canvas.draw()
    return {line.get_label(): line for line in ax.get_lines()}


def test_curves_stand_where_the_closed_forms_put_them():
    curves = {"outputs": attack(0, 0.2), "every step": attack(1)}
    ax = plots.sandwich(
        curves, privacy.gaussian(1.0), {"every step": privacy.gaussian(0.7)}, rates=RATES
    )
    lines = drawn(ax)
    for name, mu in (("any attack: the guarantee", 1.0), ("certified, every step", 0.7)):
        fpr, tpr = lines[name].get_data()
        np.testing.assert_allclose(tpr, stats.norm.cdf(stats.norm.ppf(fpr) + mu), atol=1e-12)
        assert fpr[0] == ax.get_xlim()[0] and fpr[-1] == 1
    assert "certified, outputs" not in lines
    assert lines["certified, every step"].get_color() == lines["attack, every step"].get_color()
    assert lines["attack, every step"].get_color() != lines["attack, outputs"].get_color()
    styles = {lines[name].get_linestyle() for name in list(lines)[-2:]}
    assert styles == {"--", ":"} and ax.get_ylim() == (ax.get_xlim()[0], 1.1)
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(said) == set(lines) and said[0] == "attack, outputs"


def test_the_band_s_rates_share_delta():
    one = attack(0)
    ax = plots.sandwich({"a": one}, privacy.gaussian(1.0), rates=RATES, delta=0.06)
    corners = ax.collections[0].get_paths()[0].vertices
    for rate in RATES:
        heights = corners[np.isclose(corners[:, 0], rate), 1]
        expected = one.tpr_at(rate, delta=0.02)
        assert (heights.min(), heights.max()) == pytest.approx(expected[1:])


def test_a_pooled_curve_is_resampled_by_the_given_generator():
    rng = np.random.default_rng(2)
    coins = rng.random((8, 100)) < 0.5
    curve = {"a": metrics.roc(rng.normal(size=coins.shape) + coins, coins)}
    bands = [
        plots.sandwich(curve, privacy.gaussian(1.0), rates=[0.1, 0.3], rng=np.random.default_rng(3))
        .collections[0]
        .get_paths()[0]
        .vertices
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*bands)


def test_a_training_that_promises_nothing_has_its_line_at_the_top():
    ax = plots.sandwich({"a": attack(0)}, privacy.approximate(np.inf, 0.0), rates=RATES)
    assert set(drawn(ax)["any attack: the guarantee"].get_ydata()) == {1.0}


def test_draws_into_the_given_axes_beside_what_is_there():
    own = plt.subplots()[1]
    own.plot([0, 1], [0, 1], color="red", label="before")
    given = {"a": attack(0)}, privacy.gaussian(1.0), {"a": privacy.gaussian(0.5)}
    assert plots.sandwich(*given, ax=own, rates=RATES) is own
    lines = drawn(own)
    assert lines["certified, a"].get_color() == lines["attack, a"].get_color() != "red"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda one: plots.sandwich({}, privacy.gaussian(1.0)), "^curves: given none"),
        (lambda one: plots.sandwich(one, 3.0), "^guarantee: given 'float', expected one of 'Guar"),
        (lambda one: plots.sandwich(one, privacy.gaussian(1.0), {"a": 3.0}), "^a: given 'float'"),
        (
            lambda one: plots.sandwich(one, privacy.gaussian(1.0), {"b": privacy.gaussian(1.0)}),
            "^certified: given 'b', expected one of 'a'",
        ),
        (lambda one: plots.sandwich(one, privacy.gaussian(1.0), rates=[2.0]), "^rates: given 2.0"),
        (lambda one: plots.sandwich(one, privacy.gaussian(1.0), rates=[]), "^rates: given an emp"),
        (lambda one: plots.sandwich(one, privacy.gaussian(1.0), delta=1.0), "^delta: given 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call({"a": attack(0)})
