"""Values with their intervals stand where they belong."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from mia_lib import plots


def draw(ax):
    ax.figure.canvas.draw()
    return ax


def test_estimates_stand_below_one_another_with_their_limits():
    named = {"LOSS": (0.5, 0.4, 0.7), "LiRA": (0.6, 0.5, 0.8)}
    inner = {"LiRA": (0.6, 0.55, 0.7)}
    ax = plots.estimates(named, mark=0.5, inner=inner, colors={"LiRA": "black"})
    wide, other, inner = (lines.get_segments()[0].tolist() for lines in ax.collections)
    assert wide == [[0.4, 0], [0.7, 0]] and other == [[0.5, 1], [0.8, 1]]
    assert inner == [[0.55, 1], [0.7, 1]]
    assert ax.collections[2].get_linewidth()[0] > 2 * ax.collections[1].get_linewidth()[0]
    *markers, chance = ax.get_lines()
    assert [line.get_color() for line in markers] == [plots.COLORS[0], "black"]
    assert [line.get_xydata().tolist() for line in markers] == [[[0.5, 0]], [[0.6, 1]]]
    assert set(chance.get_xdata()) == {0.5} and ax.get_ylim() == (1.5, -0.5)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["LOSS", "LiRA"]
    assert len(plots.estimates(named).get_lines()) == 2


def test_estimates_over_something_have_their_intervals_and_stand_apart():
    lira, loss = [(0.2, 0.1, 0.4), (0.5, 0.6, 0.7)], [(0.1, 0.1, 0.1)] * 2
    named = {"LiRA": lira, "LOSS": loss}
    ax = draw(plots.estimates_over([2, 8], named, log=True, percent=True))
    first, second = ax.containers
    assert [c.get_label() for c in ax.containers] == ["LiRA", "LOSS"]
    bars = [bar[:, 1] for bar in first.lines[2][0].get_segments()]
    np.testing.assert_allclose(bars, [(0.1, 0.4), (0.5, 0.7)])
    at = [one.lines[0].get_xdata() for one in (first, second)]
    np.testing.assert_allclose(at[1] / at[0], 4**0.008)
    np.testing.assert_allclose(np.sqrt(at[0] * at[1]), [2, 8])
    assert first.lines[0].get_marker() != second.lines[0].get_marker()
    assert first.lines[0].get_linestyle() != second.lines[0].get_linestyle()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "8"]
    assert all(text.get_text().endswith("%") for text in ax.get_yticklabels())
    plain = draw(plots.estimates_over([2, 8], {"LOSS": loss}, level=0.05))
    assert plain.get_xscale() == "linear" and "%" not in plain.get_yticklabels()[0].get_text()
    assert set(plain.get_lines()[-1].get_ydata()) == {0.05}
    # an end that rounds past its value is drawn, and so is nothing at all
    plots.estimates_over([1.0], {"all": [(1.0, 0.9, 1 - 1e-16)]})
    own = plt.subplots()[1]
    assert plots.estimates_over([1.0], {}, own) is own and not own.get_lines()


def test_estimates_over_something_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="LiRA"):
        plots.estimates_over([2, 8], {"LiRA": [(0.2, 0.1, 0.4)]})
    with pytest.raises(ValueError, match="named: given 12 names, expected at most 11"):
        plots.estimates_over([1], {str(i): [(0.2, 0.1, 0.4)] for i in range(12)})
    with pytest.raises(ValueError, match="x: given"):
        plots.estimates_over([], {})


def test_estimates_that_are_none_are_refused():
    for call, said in (
        (lambda: plots.estimates({}), "^named: given none"),
        (lambda: plots.estimates({"a": (0, 1)}), "^a: given shape"),
        (lambda: plots.estimates({"a": (0, 0, 1)}, inner={"b": (0, 0, 1)}), "^inner: given 'b'"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
