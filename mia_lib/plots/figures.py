"""Curves, densities and pictures in the house style."""

import sys

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib import ticker
from scipy import stats

from mia_lib import checks

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = "os^vDPX*<>h"
MEMBER, NONMEMBER, REFERENCE = COLORS[0], COLORS[1], "#666666"
N_POINTS = 1000  # places at which a curve is drawn, however many thresholds it has


def style():
    """Make the house style matplotlib's default for this session, and vector graphics a notebook's.

    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> style()
    >>> mpl.rcParams["figure.facecolor"]
    'white'
    """
    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLORS) + cycler(linestyle=LINES),
            "axes.facecolor": "white",
            "axes.grid": True,
            "axes.labelsize": 11,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "figure.facecolor": "white",
            "figure.figsize": (5.6, 3.8),
            "font.size": 11,
            "grid.alpha": 0.3,
            "legend.fontsize": 10,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "savefig.facecolor": "white",
            "xtick.labelsize": 10,
            "ytick.labelsize": 10,
        }
    )
    draw_vectors()


def draw_vectors():
    """Let a notebook's figures be SVG, the same text for the same figure."""
    mpl.rcParams["svg.hashsalt"] = "mia_lib"
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        from matplotlib_inline.config import InlineBackend

        inline = InlineBackend.instance(parent=shell)
        inline.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None}}
        inline.figure_formats = {"svg"}
        # pyplot would draw each figure once more, as pixels that nobody sees
        plt.switch_backend(plt.get_backend())
        plt.uninstall_repl_displayhook()


def roc(curves, ax=None, log=True, *, band=None, delta=0.05, rng=None):
    """ROC curves with the chance line and the smallest false-positive rate that the data resolve.

    Parameters
    ----------
    curves : metrics.Roc, or dict of str to metrics.Roc
        One curve, or several with their names for the legend.
    ax : matplotlib axes, optional
        None makes a new one.
    log : bool
        Both axes logarithmic, from half the smallest resolvable step on, or both linear.
    band : sequence of float, optional
        False-positive rates at which the interval of `Roc.tpr_at` is computed; between them it is
        filled in. A pooled curve costs a bootstrap for each.
    delta : float
        Level of the intervals, and of the mark.
    rng : numpy.random.Generator, optional
        For the bootstrap.

    Returns
    -------
    matplotlib axes
        The curve at x is ROC(x), the largest TPR with FPR <= x.

    Raises
    ------
    ValueError
        No curve, rates outside [0, 1].

    Notes
    -----
    The dotted vertical line stands at the largest `Roc.smallest_resolvable` of the curves: to its
    left some curve has too few independent non-members (`Roc.effective_nonmembers`), and the
    interval of its ROC(fpr) reaches down to 0. Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> from mia_lib.metrics import roc as make
    >>> roc(make([3, 2, 1, 0], [1, 1, 0, 0])).get_xlabel()
    'false-positive rate'
    """
    named = curves if isinstance(curves, dict) else {None: curves}
    if not named:
        checks.fail("curves", "none", "at least one Roc")
    ax = new_axes(ax)
    most = max(named.values(), key=lambda curve: curve.n_nonmembers)
    left = 0.5 / most.n_nonmembers if log else 0.0
    places = np.geomspace(left, 1, N_POINTS) if log else np.linspace(0, 1, N_POINTS)
    for name, curve in named.items():
        steps = np.unique(curve.fpr[(curve.fpr > left) & (curve.fpr < 1)])
        x = np.union1d(places, steps) if steps.size < N_POINTS else places
        y = curve.tpr[np.searchsorted(curve.fpr, x, side="right") - 1]
        (line,) = ax.plot(x, y, drawstyle="steps-post", label=name)
        if band is not None:
            rates = np.sort(checks.real_array("band", band, ndim=1))
            ends = np.array([curve.tpr_at(rate, delta=delta, rng=rng)[1:] for rate in rates])
            ax.fill_between(
                rates, *np.maximum(ends, left).T, color=line.get_color(), alpha=0.2, linewidth=0
            )
    ax.plot(places, places, color=REFERENCE, linestyle=(0, (1, 2)), linewidth=1, label="chance")
    resolvable = max(curve.smallest_resolvable(delta) for curve in named.values())
    ax.axvline(
        resolvable,
        color=REFERENCE,
        linestyle=":",
        linewidth=1,
        label=f"resolvable from {resolvable:.2g}",
    )
    if log:
        # A TPR of 0 has no place on a logarithmic axis; it leaves the figure at the bottom.
        ax.set(xscale="log", yscale="log", xlim=(left, 1), ylim=(left, 1))
    else:
        ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set(xlabel="false-positive rate", ylabel="true-positive rate")
    ax.legend(loc="lower right")
    return ax


def histogram_pair(
    member_signal, nonmember_signal, ax=None, *, bins=50, signal="signal", unit=None
):
    """Histograms of members and non-members over shared bins.

    Parameters
    ----------
    member_signal, nonmember_signal : array_like
        The signal on each group, any shape.
    ax : matplotlib axes, optional
        None makes a new one.
    bins : int or array_like
        A number of bins over the common range, or the edges.
    signal, unit : str
        For the labels of the axes.

    Returns
    -------
    matplotlib axes
        Densities: each histogram has area 1.

    Raises
    ------
    ValueError
        An empty group, NaN, fewer than one bin.

    Notes
    -----
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> histogram_pair([1.0, 2.0], [0.0, 1.0], signal="loss", unit="nat").get_xlabel()
    'loss (nat)'
    """
    member_signal = checks.real_array("member_signal", member_signal).ravel()
    nonmember_signal = checks.real_array("nonmember_signal", nonmember_signal).ravel()
    ax = new_axes(ax)
    edges = _edges(bins, member_signal, nonmember_signal)
    _histogram(ax, member_signal, edges, MEMBER, "-", "members")
    _histogram(ax, nonmember_signal, edges, NONMEMBER, "--", "non-members")
    _label_density(ax, signal, unit)
    ax.legend()
    return ax


def gaussian_pair(
    in_signal,
    out_signal,
    ax=None,
    *,
    bins=20,
    target=None,
    signal="logit-scaled confidence",
    unit="nat",
):
    """Histograms of an example's IN and OUT signals with the normal densities that are fitted to
    them.

    Parameters
    ----------
    in_signal, out_signal : array_like
        The example's signal in the shadow models that were and were not trained on it.
    ax : matplotlib axes, optional
        None makes a new one.
    bins : int or array_like
        A number of bins over the common range, or the edges.
    target : float, optional
        The target model's signal, marked by a vertical line.
    signal, unit : str
        For the labels of the axes.

    Returns
    -------
    matplotlib axes
        Densities. A fit has the sample's mean and standard deviation (ddof 0); a group without
        spread has none.

    Raises
    ------
    ValueError
        An empty group, NaN, fewer than one bin.

    Notes
    -----
    Carlini et al. 2022, figures 3 and 4. Taught in book/lira.ipynb.

    Examples
    --------
    >>> gaussian_pair([4.0, 5.0, 6.0], [0.0, 1.0, 2.0], target=4.5).get_ylabel()
    'density (per nat)'
    """
    groups = (
        ("IN", checks.real_array("in_signal", in_signal).ravel(), MEMBER, "-"),
        ("OUT", checks.real_array("out_signal", out_signal).ravel(), NONMEMBER, "--"),
    )
    ax = new_axes(ax)
    edges = _edges(bins, groups[0][1], groups[1][1])
    margin = 0.1 * (edges[-1] - edges[0])
    x = np.linspace(edges[0] - margin, edges[-1] + margin, 400)
    for name, values, color, line in groups:
        _histogram(ax, values, edges, color, None, name)
        if values.std() > 0:
            density = stats.norm.pdf(x, values.mean(), values.std())
            ax.plot(x, density, color=color, linestyle=line, label=f"{name}, fitted normal")
    if target is not None:
        ax.axvline(checks.number("target", target), color=COLORS[-1], linestyle=":", label="target")
    _label_density(ax, signal, unit)
    ax.legend()
    return ax


def rates(x, named, ax=None, *, level=None, log=False):
    """Rates against what they depend on: one line for each name, told apart by marker as well.

    Parameters
    ----------
    x : sequence of float
    named : dict of str to sequence of float
        Rates in [0, 1] at the places x, at most eleven names. Without a name or a place no line is
        drawn.
    ax : matplotlib axes, optional
        None makes a new one.
    level : float, optional
        Where a dotted line stands, such as the level of a test.
    log : bool
        Whether x is logarithmic.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        More names than markers, rates that are not one for each x.

    Notes
    -----
    Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> ax = rates([10, 100], {"loss": [0.1, 0.9]}, level=0.05)
    >>> [float(end) for end in ax.get_ylim()]
    [-0.02, 1.02]
    """
    if len(named) > len(MARKERS):
        checks.fail("named", f"{len(named)} names", f"at most {len(MARKERS)}")
    ax = new_axes(ax)
    for marker, (name, values) in zip(MARKERS, named.items()):
        values = checks.real_array(name, values, shape=(len(x),)) if len(x) else []
        ax.plot(x, values, marker=marker, label=name, alpha=0.8)
    if level is not None:
        ax.axhline(level, color="grey", linestyle=":")
    ax.set(ylim=(-0.02, 1.02), xscale="log" if log else "linear")
    if named and len(x):
        ax.legend(fontsize=8)
    return ax


def pictures(rows, *, size=0.8):
    """Small pictures, a row for each group, with the group's name at its left.

    Parameters
    ----------
    rows : dict of str to (k, height, width) or (k, height, width, 3) array
        As many pictures in each row, in [0, 1]; without colours 0 is white.
    size : float
        Inches, of a picture's side.

    Returns
    -------
    (rows, k) array of matplotlib axes

    Raises
    ------
    ValueError
        No row, rows of different lengths.

    Notes
    -----
    Taught in book/generative.ipynb.

    Examples
    --------
    >>> pictures({"members": np.zeros((3, 8, 8)), "made": np.ones((3, 8, 8))}).shape
    (2, 3)
    """
    lengths = {len(images) for images in rows.values()}
    if len(lengths) != 1 or lengths == {0}:
        checks.fail("rows", f"rows of {sorted(lengths)} pictures", "as many pictures in each row")
    (count,) = lengths
    figsize = (size * count, 1.12 * size * len(rows))
    axes = plt.subplots(len(rows), count, figsize=figsize, squeeze=False)[1]
    for line, (name, images) in zip(axes, rows.items()):
        for ax, image in zip(line, images):
            ax.imshow(image, cmap=None if np.ndim(image) == 3 else "gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            ax.grid(False)
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return axes


def new_axes(ax):
    return plt.subplots()[1] if ax is None else ax


def _edges(bins, *groups):
    if np.ndim(bins) == 0:
        return np.histogram_bin_edges(np.concatenate(groups), checks.integer("bins", bins, 1))
    edges = checks.real_array("bins", bins, ndim=1)
    if edges.size < 2 or (np.diff(edges) <= 0).any():
        checks.fail("bins", f"{edges.size} edges", "at least two edges that increase")
    return edges


def _histogram(ax, values, edges, color, line, label):
    """Density over the edges; what lies outside them counts in the total, and so is not hidden by
    the scale.
    """
    height = np.histogram(values, edges)[0] / (values.size * np.diff(edges))
    ax.stairs(height, edges, fill=True, color=color, alpha=0.3, label=label)
    if line is not None:
        ax.stairs(height, edges, color=color, linestyle=line)


def _label_density(ax, signal, unit):
    ax.set_xlabel(f"{signal} ({unit})" if unit else signal)
    ax.set_ylabel(f"density (per {unit})" if unit else "density")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(6))
