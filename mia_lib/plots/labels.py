"""Names at the lines themselves, where a legend would send the eye away."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from mia_lib import checks

LEADING = 1.3  # a line of text, in font sizes
APART = 0.04  # of the axes' width, between where the data end and the names
EARLY = 0.85  # of the axes' width: a line that ends before has its name within the axes


def label_lines(ax, *, fontsize=9):
    """Write the name of every line beside its right end, in its colour, in place of a legend.

    Parameters
    ----------
    ax : matplotlib axes
        With its lines and its limits; what has a label (`plot`, `errorbar`) is named. A label may
        have several lines.
    fontsize : float
        In points.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        No line with a label and a finite point, more names than fit beside the axes.

    Notes
    -----
    A name stands at the height of the rightmost finite point of its line, beside the axes; of a
    line that ends early beside that point. Where names beside the axes would lie on each other they
    move apart, in the order of the ends and as little as possible in the least-squares sense
    (isotonic regression), and a thin line leads from the end to the name. Taught in
    book/class_aware.ipynb.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> lines = ax.plot([0, 1], [0, 1], label="up") + ax.plot([0, 1], [0, 0.98], label="nearly")
    >>> [text.get_text() for text in label_lines(ax).texts]
    ['nearly', 'up']
    """
    ends = _right_ends(ax)
    if not ends:
        checks.fail("ax", "no line with a label", "at least one")
    ax.figure.draw_without_rendering()  # the layout decides how high the axes are
    inches = ax.get_window_extent().height / ax.figure.dpi
    on_screen = np.array([line.get_transform().transform(end) for end, _, line in ends])
    points = ax.transAxes.inverted().transform(on_screen)
    beside = points[:, 0] > EARLY
    height = LEADING * fontsize / 72 / inches
    rows = np.array([name.count("\n") + 1 for _, name, _ in ends])
    places = points[:, 1].copy()
    some = np.flatnonzero(beside)[np.argsort(points[beside, 1], kind="stable")]
    places[some] = _apart(points[some, 1], height * rows[some])
    far = np.abs(places - points[:, 1]) > 0.01
    right = points[:, 0].max(initial=1.0, where=beside) + APART * (0.5 + far.any())
    for i in np.argsort(places, kind="stable"):
        color = ends[i][2].get_color()
        lead = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
        ax.annotate(
            ends[i][1],
            points[i],
            (right if beside[i] else points[i, 0] + APART / 2, places[i]),
            "axes fraction",
            arrowprops=lead if far[i] else None,
            color=color,
            fontsize=fontsize,
            va="center",
            annotation_clip=False,
        )
    return ax


def _right_ends(ax):
    """The rightmost finite point, the name and the line of everything that has a label."""
    found = []
    for handle, name in zip(*ax.get_legend_handles_labels()):
        line = getattr(handle, "lines", [handle])[0]  # of error bars the line of the values
        if line is None or not hasattr(line, "get_xydata"):
            continue
        data = np.asarray(line.get_xydata(), float)
        data = data[np.isfinite(data).all(axis=1)]
        if len(data):
            found.append((data[np.argmax(data[:, 0])], name, line))
    return found


def _apart(wanted, heights):
    """Rising places of names as high as `heights`, next to each other at the closest."""
    if not len(wanted):
        return wanted
    total = heights.sum()
    if total > 1.5:
        given = f"{len(heights)} names, {total:.1f} times as high as the axes"
        checks.fail("ax", given, "names that fit beside it")
    between = np.append(0, np.cumsum((heights[1:] + heights[:-1]) / 2))
    free = IsotonicRegression().fit_transform(np.arange(len(wanted)), wanted - between)
    room = 1 - total + (heights[0] + heights[-1]) / 2
    return free.clip(min(0.0, room / 2), max(room, room / 2)) + between
