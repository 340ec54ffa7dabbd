"""Values with their intervals, below one another or over what they depend on."""

import numpy as np
from matplotlib import ticker

from mia_lib import checks
from mia_lib.plots.figures import COLORS, LINES, MARKERS, REFERENCE, new_axes


def estimates(named, ax=None, *, mark=None, inner=None, colors=None):
    """Values with their intervals, a line for each name, the first at the top.

    Parameters
    ----------
    named : dict of str to (float, float, float)
        (value, low, high) of each name; `intervals.Estimate` is one.
    ax : matplotlib axes, optional
        None makes a new one.
    mark : float, optional
        Where a dotted vertical line stands, such as what guessing reaches.
    inner : dict of str to (float, float, float), optional
        Of some of the names a second interval, which is drawn thick over the thin one.
    colors : dict of str to colour, optional
        Of some of the names; all others have the first colour.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        No name, an entry that is not three numbers, an inner one without an outer one.

    Notes
    -----
    Taught in book/audit.ipynb.

    Examples
    --------
    >>> ax = estimates({"LOSS": (0.52, 0.49, 0.55), "LiRA": (0.61, 0.58, 0.64)}, mark=0.5)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['LOSS', 'LiRA']
    """
    if not named:
        checks.fail("named", "none", "at least one value with its limits")
    inner, colors = inner or {}, colors or {}
    for name in inner:
        if name not in named:
            checks.fail("inner", repr(name), "names that `named` has")
    ax = new_axes(ax)
    for place, (name, three) in enumerate(named.items()):
        value, low, high = checks.real_array(name, three, shape=(3,))
        color = colors.get(name, COLORS[0])
        ax.hlines(place, low, high, color=color, linewidth=1.2)
        if name in inner:
            _, low, high = checks.real_array(name, inner[name], shape=(3,))
            ax.hlines(place, low, high, color=color, linewidth=3.6)
        ax.plot(value, place, "o", color=color, markersize=4.5)
    if mark is not None:
        ax.axvline(mark, color=REFERENCE, linestyle=":", linewidth=1.2)
    ax.set_yticks(range(len(named)), list(named), fontsize=9)
    ax.set_ylim(len(named) - 0.5, -0.5)
    return ax


def estimates_over(x, named, ax=None, *, percent=False, log=False, level=None):
    """Estimates with their intervals against what they depend on: a line for each name, told apart
    by marker and by line style as well.

    Parameters
    ----------
    x : sequence of k floats
        Above 0 where `log`.
    named : dict of str to sequence of k (float, float, float)
        (value, low, high) at each place, such as `intervals.Estimate`; at most eleven names. An
        interval that leaves its estimate out on one side has no bar there.
    ax : matplotlib axes, optional
        None makes a new one.
    percent : bool
        Whether the vertical axis writes 0.05 as 5%.
    log : bool
        Whether x is logarithmic, with a tick at each place.
    level : float, optional
        Where a dotted horizontal line stands, such as the level of a test.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        No place, more names than markers, lines that do not have k estimates with intervals.

    Notes
    -----
    The lines stand 0.8 % of the axis's range apart, so that no interval hides another.
    Taught in book/one_family.ipynb.

    Examples
    --------
    >>> found = [(0.1, 0.05, 0.2), (0.3, 0.2, 0.4)]
    >>> estimates_over([1, 2], {"LiRA": found}, percent=True).get_legend_handles_labels()[1]
    ['LiRA']
    """
    if len(named) > len(MARKERS):
        checks.fail("named", f"{len(named)} names", f"at most {len(MARKERS)}")
    x = checks.real_array("x", x, 1)
    places, ax = np.log(x) if log else x, new_axes(ax)
    for number, (name, line) in enumerate(named.items()):
        value, low, high = checks.real_array(name, [tuple(e) for e in line], shape=(x.size, 3)).T
        moved = places + 0.008 * np.ptp(places) * (number - (len(named) - 1) / 2)
        ax.errorbar(
            np.exp(moved) if log else moved,
            value,
            np.maximum(0, (value - low, high - value)),
            marker=MARKERS[number],
            linestyle=LINES[number % len(LINES)],
            capsize=2,
            label=name,
        )
    if level is not None:
        ax.axhline(level, color=REFERENCE, linestyle=":", linewidth=1.2)
    if log:
        ax.set_xscale("log", base=2)
        ax.set_xticks(x, [f"{at:g}" for at in x])
    if percent:
        ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=None))
    return ax
