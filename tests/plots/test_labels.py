"""Names at the lines stand in their order, apart from each other, and say whose they are."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import optimize

from mia_lib import plots
from mia_lib.plots import labels


def lines(ends):
    ax = plt.subplots(figsize=(5, 3), layout="constrained")[1]
    for number, end in enumerate(ends):
        ax.plot([0, 1], [0, end], label=f"line {number}", color=plots.COLORS[number])
    ax.set_ylim(0, 1)
    return ax


def heights(ax):
    """Lower and upper edges of the names, by their places."""
    ax.figure.canvas.draw()
    extent = matplotlib.text.Text.get_window_extent  # without the line that leads there
    return sorted((b.y0, b.y1) for b in map(extent, ax.texts))


def test_a_name_stands_at_the_end_of_its_line_in_its_colour():
    ax = plots.label_lines(lines([0.1, 0.5, 0.9]))
    assert [text.get_text() for text in ax.texts] == ["line 0", "line 1", "line 2"]
    assert [text.get_color() for text in ax.texts] == list(plots.COLORS[:3])
    ax.figure.canvas.draw()
    for text, end in zip(ax.texts, (0.1, 0.5, 0.9)):
        box = text.get_window_extent()
        x, y = ax.transData.transform((1, end))
        assert abs((box.y0 + box.y1) / 2 - y) < 3 and x < box.x0
        assert text.arrow_patch is None
    assert ax.get_legend() is None


def test_names_of_lines_that_meet_move_apart_in_their_order():
    ax = plots.label_lines(lines([0.5, 0.502, 0.501, 0.1]))
    assert [text.get_text() for text in ax.texts] == ["line 3", "line 0", "line 2", "line 1"]
    edges = heights(ax)
    assert all(above[0] >= below[1] - 1 for below, above in zip(edges, edges[1:]))
    assert [text.arrow_patch is not None for text in ax.texts] == [False, True, False, True]


def test_names_stay_beside_the_axes():
    ax = plots.label_lines(lines([0.99, 1.0, 0.995, 1.0]))
    box, edges = ax.get_window_extent(), heights(ax)
    assert edges[-1][1] <= box.y1 + 8 and edges[0][0] >= box.y0
    assert ax.figure.get_tightbbox().x1 <= ax.figure.get_size_inches()[0] + 0.1


@pytest.mark.parametrize("seed", range(5))
def test_places_are_the_nearest_that_are_apart(seed):
    rng = np.random.default_rng(seed)
    wanted = np.sort(rng.uniform(0.3, 0.7, 5))
    tall = rng.uniform(0.02, 0.08, 5)
    least = (tall[1:] + tall[:-1]) / 2
    limits = {"type": "ineq", "fun": lambda place: np.diff(place) - least}
    start = 0.5 + np.append(0, np.cumsum(least))
    best = optimize.minimize(
        lambda place: ((place - wanted) ** 2).sum(), start, constraints=limits, tol=1e-12
    )
    np.testing.assert_allclose(labels._apart(wanted, tall), best.x, atol=1e-4)


def test_error_bars_and_names_of_two_lines_and_lines_without_a_name():
    ax = plt.subplots()[1]
    ax.errorbar([0, 1], [0.2, 0.4], [0.1, 0.1], label="long\nname")
    ax.plot([0, 1, 2], [0.1, 0.9, np.nan], label="ends early")
    ax.axhline(0.05)
    ax.axhline(0.1, label="level")
    ax.set(xlim=(0, 2), ylim=(0, 1))
    plots.label_lines(ax)
    assert [text.get_text() for text in ax.texts] == ["level", "long\nname", "ends early"]
    ends = [(1, 0.1), (0.5, 0.4), (0.5, 0.9)]  # of the axes, the second and third of their width
    np.testing.assert_allclose([text.xy for text in ax.texts], ends)
    # lines that end early have their names within the axes
    assert [text.xyann[0] > 1 for text in ax.texts] == [True, False, False]


def test_what_cannot_be_labelled():
    with pytest.raises(ValueError, match="ax: given no line with a label, expected at least one"):
        plots.label_lines(plt.subplots()[1])
    with pytest.raises(ValueError, match="ax: given 7 names, .* expected names that fit"):
        plots.label_lines(lines(np.linspace(0, 1, 7)), fontsize=60)
