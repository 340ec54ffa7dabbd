"""One picture of an experiment: what the paper says beside what we measured, on every data set."""

import re
import textwrap

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import ticker

from mia_lib import checks, plots
from mia_lib.results.record import largest

MOST_ROWS = 60  # more cannot be read
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
NUMBER = r"([-+]?\d+(?:\.\d+)?)"


def picture(notebook, ids=None, what=None, *, with_paper=True, folder=None):
    """Draw the rows of an experiment's records: the paper's value, and ours with its interval.

    Parameters
    ----------
    notebook : str
        The experiment; of every data set the record of the largest scale is drawn.
    ids : list of str, optional
        Only rows with these ids.
    what : str, optional
        Only rows whose `what` holds this regular expression.
    with_paper : bool
        Only rows for which the paper states something. False: every row with a value.
    folder : path, optional
        Default: notebooks/results of the project.

    Returns
    -------
    matplotlib figure
        A panel for each quantity (what stands before the first comma of `what`), a line for each
        row, a colour and a marker for each data set. An upright bar is the paper's number, a
        shaded band its range ("0.1 to 0.2", "above 0"); what else it says stands beside the name
        of the row. Rows that were not measured are left out.

    Raises
    ------
    ValueError
        No such record or row, more than 60 rows, more than seven data sets.

    Notes
    -----
    Every experiment notebook begins with this picture, such as notebooks/lira.ipynb. `picture_alt`
    gives the text for those who do not see it.

    Examples
    --------
    >>> picture("lira", folder="no such folder")
    Traceback (most recent call last):
    ...
    ValueError: notebook: given 'lira' without a record, expected an experiment that was recorded
    """
    panels, names = _panels(notebook, ids, what, with_paper, folder)
    plots.figures.draw_vectors()  # the first cell of a notebook draws before any style is set
    labels = {
        quantity: [_label(key, rows[key], quantity) for key in rows]
        for quantity, rows in panels.items()
    }
    heights = [
        0.2 + _row_height(labels[quantity], names) * len(labels[quantity]) for quantity in panels
    ]
    figure, axes = plt.subplots(
        len(panels),
        figsize=(7.5, 0.4 + sum(heights) + 0.4 * len(panels)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for ax, (quantity, rows) in zip(axes[:, 0], panels.items()):
        for place, entries in enumerate(rows.values()):
            _draw_row(ax, place, entries, names)
        ax.set_yticks(range(len(rows)), labels[quantity])
        ax.set(xlabel=textwrap.fill(quantity, 55), ylim=(len(rows) - 0.4, -0.6))
        ax.tick_params(labelsize=9)
        ax.xaxis.set_major_locator(ticker.MaxNLocator(6))
        ax.grid(axis="y", visible=False)
        _fill_bands(ax, rows, names)
    figure.legend(**_legend(panels, names), loc="outside upper center", ncols=5, fontsize=9)
    return figure


def picture_alt(notebook, ids=None, what=None, *, with_paper=True, folder=None):
    """The alt text of `picture`: what is drawn, and how often our interval holds the paper's value.

    Parameters
    ----------
    notebook, ids, what, with_paper, folder
        As in `picture`.

    Returns
    -------
    str
        For the cell's metadata, `mystnb: {image: {alt: ...}}`.

    Examples
    --------
    >>> picture_alt("lira", folder="no such folder")
    Traceback (most recent call last):
    ...
    ValueError: notebook: given 'lira' without a record, expected an experiment that was recorded
    """
    panels, names = _panels(notebook, ids, what, with_paper, folder)
    entries = [entry for rows in panels.values() for row in rows.values() for entry in row.values()]
    compared = [e for e in entries if _states(e["paper"]) and e["low"] is not None]
    held = sum(_overlap(_states(e["paper"]), (e["low"], e["high"])) for e in compared)
    quantities = ", ".join(panels)
    text = (
        f"One line for each of {sum(map(len, panels.values()))} rows, in panels by quantity: "
        f"{quantities}. Markers with intervals are our values on {', '.join(names)}."
    )
    if compared:
        text += (
            f" Upright bars and shaded bands are the paper's. Of {len(compared)} intervals, "
            f"{held} reach the paper's value."
        )
    return text


def _panels(notebook, ids, what, with_paper, folder):
    """{quantity: {(id, what): {data set: row}}} in the order of the records, and the data sets."""
    records = largest(notebook, folder)
    if not records:
        checks.fail("notebook", f"{notebook!r} without a record", "an experiment that was recorded")
    panels, known = {}, set()
    for name, record in records.items():
        for row in record["rows"]:
            if row["value"] is None or (with_paper and row["paper"] is None):
                continue
            known.add(row["id"])
            if ids is not None and row["id"] not in ids:
                continue
            if what is None or re.search(what, row["what"]):
                rows = panels.setdefault(row["what"].partition(", ")[0], {})
                rows.setdefault((row["id"], row["what"]), {})[name] = row
    for wanted in ids or ():
        if wanted not in known:
            checks.fail("ids", repr(wanted), "one of " + ", ".join(map(repr, sorted(known))))
    names = [
        name
        for name in records
        if any(name in row for rows in panels.values() for row in rows.values())
    ]
    total = sum(map(len, panels.values()))
    if not 1 <= total <= MOST_ROWS:
        counts = [f"{len(rows)} of {quantity!r}" for quantity, rows in panels.items()]
        checks.fail(
            "ids, what",
            f"a choice of {total} rows ({', '.join(counts) or 'none'})",
            f"1 to {MOST_ROWS} rows",
        )
    if len(names) > len(MARKERS):
        checks.fail("notebook", f"{len(names)} data sets", f"at most {len(MARKERS)}")
    return panels, names


def _states(paper):
    """The range (low, high) that a paper's number or words stand for, or None."""
    if not isinstance(paper, str):
        return None if paper is None else (paper, paper)
    spread = re.match(rf"{NUMBER} to {NUMBER}\b", paper)
    if spread:
        return float(spread[1]), float(spread[2])
    side = re.fullmatch(rf"(above|below) {NUMBER}", paper)
    if side:
        return (float(side[2]), np.inf) if side[1] == "above" else (-np.inf, float(side[2]))
    return None


def _overlap(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


def _label(key, entries, quantity):
    """What a row is, after its quantity, and what the paper says in words."""
    _, what = key
    label = what.removeprefix(quantity).removeprefix(", ")
    said = {e["paper"] for e in entries.values() if isinstance(e["paper"], str)}
    words = sorted(text for text in said if _states(text) is None)
    label += f" (paper: {'; '.join(words)})" if words else ""
    return textwrap.fill(label, 44)


def _row_height(labels, names):
    """Inches for a row: as many lines as its label has, and a place for each data set."""
    lines = max(label.count("\n") + 1 for label in labels)
    return max(0.12 + 0.035 * len(names), 0.19 * lines)


def _offset(name, names):
    return 0.0 if len(names) == 1 else 0.7 * (names.index(name) / (len(names) - 1) - 0.5)


def _draw_row(ax, place, entries, names):
    for name, entry in entries.items():
        y = place + _offset(name, names)
        color, marker = _look(name, names)
        if entry["low"] is not None:
            ax.hlines(y, entry["low"], entry["high"], color=color, linewidth=1.4)
        ax.plot(entry["value"], y, marker, color=color, markersize=4.5)
        stated = _states(entry["paper"])
        if stated and stated[0] == stated[1]:
            half = 0.45 / max(1, len(names) - 1) if len(names) > 1 else 0.35
            ax.vlines(stated[0], y - half, y + half, color="black", linewidth=2.2, zorder=3)


def _fill_bands(ax, rows, names):
    """The paper's ranges, once the limits of the axis are known; an open end goes to the edge."""
    left, right = ax.get_xlim()
    stated = [_states(e["paper"]) for entries in rows.values() for e in entries.values()]
    ends = [end for pair in stated if pair for end in pair if np.isfinite(end)]
    margin = 0.05 * (max([right, *ends]) - min([left, *ends]))
    left, right = (
        min([left, *(e - margin for e in ends)]),
        max([right, *(e + margin for e in ends)]),
    )
    for place, entries in enumerate(rows.values()):
        for low, high in {s for s in (_states(e["paper"]) for e in entries.values()) if s}:
            if low < high:
                ends = np.clip([low, high], left, right)
                ax.fill_betweenx([place - 0.45, place + 0.45], *ends, color="#DDDDDD", zorder=0)
    ax.set_xlim(left, right)


def _look(name, names):
    place = names.index(name)
    return plots.COLORS[:6][place % 6], MARKERS[place]


def _legend(panels, names):
    """Handles and labels: the paper where it is drawn, and every data set."""
    handles, labels = [], []
    stated = [
        _states(e["paper"])
        for rows in panels.values()
        for row in rows.values()
        for e in row.values()
    ]
    if any(pair and pair[0] == pair[1] for pair in stated):
        handles.append(
            plt.Line2D([], [], color="black", marker="|", linestyle="", markeredgewidth=2)
        )
        labels.append("paper")
    if any(pair and pair[0] < pair[1] for pair in stated):
        handles.append(plt.Rectangle((0, 0), 1, 1, color="#DDDDDD"))
        labels.append("paper's range")
    for name in names:
        color, marker = _look(name, names)
        handles.append(plt.Line2D([], [], color=color, marker=marker, markersize=4.5))
        labels.append(name)
    return {"handles": handles, "labels": labels}
