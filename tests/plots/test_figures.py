import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt

from mia_lib import metrics, plots


def curve(n=400, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    member = np.arange(n) < n // 2
    return metrics.roc(rng.normal(size=n) + shift * member, member)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def draw(ax):
    ax.figure.canvas.draw()
    return ax


FUNCTIONS = {
    "roc": lambda **o: plots.roc(curve(), **o),
    "histogram_pair": lambda **o: plots.histogram_pair([1.0, 2.0, 2.5], [0.0, 1.0], **o),
    "gaussian_pair": lambda **o: plots.gaussian_pair([1.0, 2.0, 2.5], [0.0, 1.0], **o),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_takes_and_returns_axes_without_title(name):
    _, ax = plt.subplots()
    before = len(plt.get_fignums())
    assert FUNCTIONS[name](ax=ax) is ax
    assert len(plt.get_fignums()) == before
    assert FUNCTIONS[name]() is not ax
    assert ax.get_title() == "" and ax.get_xlabel() != ""
    draw(ax)


def test_style():
    plots.style()
    cycle = plt.rcParams["axes.prop_cycle"].by_key()
    assert (
        len(set(cycle["color"]))
        == len(set(map(str, cycle["linestyle"])))
        == len(cycle["color"])
        == 7
    )
    assert plt.rcParams["figure.facecolor"] == "white"
    # Each colour stands out on white: at least 2 to 1, and 3 to 1 for the two that carry most
    # figures.
    contrasts = [1.05 / (0.05 + luminance(c)) for c in cycle["color"]]
    assert min(contrasts) > 2 and min(contrasts[:2]) > 3


def luminance(color):
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("log", [True, False])
def test_roc_draws_what_tpr_at_says(log):
    one = curve()
    ax = draw(plots.roc(one, log=log))
    x, y = ax.lines[0].get_data()
    for place, height in list(zip(x, y))[::37]:
        assert height == one.tpr_at(place).value
    assert np.isin(one.fpr[1:-1], x).all()
    assert ax.get_xscale() == ax.get_yscale() == ("log" if log else "linear")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false-positive rate", "true-positive rate")
    chance, mark = ax.lines[1], ax.lines[2]
    np.testing.assert_array_equal(*chance.get_data())
    assert chance.get_label() == "chance"
    assert one.resolvable(mark.get_xdata()[0] * 1.0001) and not one.resolvable(
        mark.get_xdata()[0] * 0.9999
    )
    assert labels(ax) == ["chance", f"resolvable from {mark.get_xdata()[0]:.2g}"]


def test_several_roc_curves():
    plots.style()
    ax = draw(plots.roc({"LOSS": curve(shift=0.2), "LiRA": curve(1000, shift=2)}))
    assert len(ax.lines) == 4 and labels(ax)[:2] == ["LOSS", "LiRA"]
    assert ax.lines[0].get_color() != ax.lines[1].get_color()
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    assert ax.get_xlim() == pytest.approx((0.5 / 500, 1))
    with pytest.raises(ValueError, match="^curves: given none"):
        plots.roc({})


def test_roc_marks_the_rate_that_all_curves_resolve():
    """By what is independent: eight copies of one target resolve no more than one does."""
    rng = np.random.default_rng(0)
    member = np.arange(600) < 300
    scores = rng.normal(size=600) + member
    one = metrics.roc(scores, member)
    copies = metrics.roc(np.tile(scores, (8, 1)), np.tile(member, (8, 1)))
    both = {"one": one, "copies": copies}
    mark = draw(plots.roc(both)).lines[-1].get_xdata()[0]
    assert mark == copies.smallest_resolvable() > one.smallest_resolvable()


def test_roc_of_many_thresholds_stays_small():
    ax = plots.roc(curve(200_000))
    assert len(ax.lines[0].get_xdata()) <= 2 * plots.N_POINTS


def test_roc_band():
    one = curve()
    rates = [0.5, 0.05, 0.1]
    ax = draw(plots.roc(one, band=rates, delta=0.1))
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for rate in rates:
        estimate = one.tpr_at(rate, delta=0.1)
        heights = corners[np.isclose(corners[:, 0], rate), 1]
        assert heights.min() == pytest.approx(estimate.low) and heights.max() == pytest.approx(
            estimate.high
        )
    with pytest.raises(ValueError, match="^fpr: given"):
        plots.roc(one, band=[2.0])


def test_histogram_pair():
    members, nonmembers = np.array([1.0, 1.5, 2.0, 3.0]), np.array([0.0, 0.5, 1.0])
    ax = draw(plots.histogram_pair(members, nonmembers, bins=6, signal="loss", unit="nat"))
    filled = [patch for patch in ax.patches if patch.get_fill()]
    assert len(filled) == 2 and labels(ax) == ["members", "non-members"]
    for patch, values in zip(filled, (members, nonmembers)):
        heights, edges, _ = patch.get_data()
        assert (edges[0], edges[-1], len(edges)) == (0, 3, 7)
        assert heights @ np.diff(edges) == pytest.approx(1)
        np.testing.assert_allclose(heights, np.histogram(values, edges, density=True)[0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("loss (nat)", "density (per nat)")
    assert plots.histogram_pair(members, nonmembers).get_ylabel() == "density"


def test_histogram_says_what_lies_outside_its_edges():
    ax = plots.histogram_pair([0.5, 5.0], [0.5, 0.6], bins=[0.0, 1.0])
    first, second = [patch.get_data()[0] for patch in ax.patches if patch.get_fill()]
    assert first[0] == 0.5 and second[0] == 1


def test_gaussian_pair():
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(5, 1, 300), rng.normal(0, 2, 300)
    ax = draw(plots.gaussian_pair(inside, outside, target=4.0))
    assert labels(ax) == ["IN", "IN, fitted normal", "OUT", "OUT, fitted normal", "target"]
    for line, values in zip(ax.lines, (inside, outside)):
        x, y = line.get_data()
        assert x[y.argmax()] == pytest.approx(values.mean(), abs=0.05)
        assert y.max() == pytest.approx(1 / (values.std() * np.sqrt(2 * np.pi)), rel=1e-3)
    assert list(ax.lines[2].get_xdata()) == [4, 4]
    assert (
        ax.get_xlabel() == "logit-scaled confidence (nat)"
        and ax.get_ylabel() == "density (per nat)"
    )


def test_gaussian_pair_without_spread():
    ax = draw(plots.gaussian_pair([1.0, 1.0], [0.0, 1.0]))
    assert len(ax.lines) == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: plots.histogram_pair([], [1.0]), "member_signal"),
        (lambda: plots.histogram_pair([1.0], [np.nan]), "nonmember_signal"),
        (lambda: plots.histogram_pair([1.0], [1.0], bins=0), "bins"),
        (lambda: plots.histogram_pair([1.0], [1.0], bins=[1.0, 0.0]), "bins"),
        (lambda: plots.gaussian_pair([], [1.0]), "in_signal"),
        (lambda: plots.gaussian_pair([1.0], []), "out_signal"),
        (lambda: plots.gaussian_pair([1.0], [1.0], target=np.nan), "target"),
    ],
)
def test_refuses(call, name):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        call()
    assert plt.get_fignums() == [] or name in ("bins", "target", "truth")


def test_rates_have_a_line_and_a_marker_each():
    ax = plots.rates([1, 10], {"loss": [0.2, 0.9], "raw": [0.0, 0.1]}, level=0.05, log=True)
    loss, raw, level = ax.get_lines()
    assert labels(ax) == ["loss", "raw"] and ax.get_xscale() == "log"
    assert list(loss.get_ydata()) == [0.2, 0.9] and list(raw.get_ydata()) == [0.0, 0.1]
    assert loss.get_marker() != raw.get_marker() and set(level.get_ydata()) == {0.05}
    for empty in ({}, {"loss": []}):
        assert plots.rates([], empty).get_legend() is None


def test_rates_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="loss"):
        plots.rates([1, 10], {"loss": [0.2]})
    with pytest.raises(ValueError, match="named: given 12 names, expected at most 11"):
        plots.rates([1], {str(i): [0.5] for i in range(12)})


def test_pictures_stand_in_named_rows_grey_or_in_colour():
    grey, colour = np.random.default_rng(0).random((4, 5, 6)), np.zeros((4, 5, 6, 3))
    axes = plots.pictures({"members": grey, "made": colour}, size=0.5)
    assert axes.shape == (2, 4) and [row[0].get_ylabel() for row in axes] == ["members", "made"]
    assert np.array_equal(axes[0, 3].images[0].get_array(), grey[3])
    assert axes[0, 0].images[0].get_cmap().name == "gray_r"
    assert axes[1, 0].images[0].get_array().shape == (5, 6, 3)
    assert axes[0, 0].images[0].get_clim() == (0, 1)
    assert axes[0, 0].figure.get_size_inches()[0] == 2.0


@pytest.mark.parametrize(
    "rows", [{}, {"a": []}, {"a": np.zeros((2, 3, 3)), "b": np.zeros((1, 3, 3))}]
)
def test_pictures_need_rows_of_one_length(rows):
    with pytest.raises(ValueError, match="^rows: given rows of "):
        plots.pictures(rows)
