"""The picture of an experiment shows the numbers that its records hold, and nothing else."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

from mia_lib import results
from mia_lib.results.picture import _states as states


def write(data, rows, folder, scale="paper"):
    provenance = results.Provenance("lira", data, scale, {}, 0)
    results.write(provenance, rows, 1.0, folder=folder)


@pytest.fixture
def folder(tmp_path):
    """Records of one experiment on two data sets; figures are closed afterwards."""
    rows = {
        "digits": [
            results.row("L1", "AUC, LOSS", 0.6, low=0.5, high=0.7, paper=0.65),
            results.row("L1", "AUC, LiRA", 0.8, low=0.75, high=0.85, paper=0.9),
            results.row("L2", "gain", 3.0, low=2.0, high=4.0, paper="above 1"),
            results.row("L2", "distance, mean", 0.3, paper="near 0"),
            results.row("L3", "AUC, absent", None, paper=0.5),
            results.row("L4", "seconds", 12.0),
        ],
        "mnist": [
            results.row("L1", "AUC, LOSS", 0.55, low=0.5, high=0.6, paper="0.57 to 0.61"),
            results.row("L1", "AUC, LiRA", 0.7, paper=0.9),
        ],
    }
    for data, some in rows.items():
        write(data, some, tmp_path)
    write("digits", [results.row("L1", "AUC", 0.1, paper=0.1)], tmp_path, "smoke")
    yield tmp_path
    plt.close("all")


def segments(ax, black):
    """((x, y), (x, y)) of the intervals, or of the paper's bars."""
    found = [c for c in ax.collections if isinstance(c, LineCollection)]
    chosen = [c for c in found if (c.get_color()[0][:3].max() == 0) == black]
    return [tuple(map(tuple, segment)) for c in chosen for segment in c.get_segments()]


def test_every_value_interval_and_paper_value_is_drawn(folder):
    figure = results.picture("lira", folder=folder)
    panels = {ax.get_xlabel(): ax for ax in figure.axes}
    assert list(panels) == ["AUC", "gain", "distance"]
    auc = panels["AUC"]
    assert [text.get_text() for text in auc.get_yticklabels()] == ["LOSS", "LiRA"]
    points = [tuple(np.round(line.get_xydata()[0], 2)) for line in auc.get_lines()]
    assert points == [(0.6, -0.35), (0.55, 0.35), (0.8, 0.65), (0.7, 1.35)]
    assert {line.get_marker() for line in auc.get_lines()} == {"o", "s"}
    assert [(a[0], b[0]) for a, b in segments(auc, black=False)] == [
        (0.5, 0.7),
        (0.5, 0.6),
        (0.75, 0.85),
    ]
    assert [a[0] for a, _ in segments(auc, black=True)] == [0.65, 0.9, 0.9]
    assert all(b[1] > a[1] for a, b in segments(auc, black=True))
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["paper", "paper's range", "digits", "mnist"]
    assert panels["distance"].get_yticklabels()[0].get_text() == "mean (paper: near 0)"


def bands(ax):
    boxes = [c for c in ax.collections if not isinstance(c, LineCollection)]
    return [
        tuple(
            np.round(
                [b.get_paths()[0].vertices[:, 0].min(), b.get_paths()[0].vertices[:, 0].max()], 6
            )
        )
        for b in boxes
    ]


def test_ranges_are_bands_and_open_ones_reach_the_edge(folder):
    auc, gain, distance = results.picture("lira", folder=folder).axes
    assert bands(auc) == [(0.57, 0.61)]
    assert bands(gain) == [(1.0, round(gain.get_xlim()[1], 6))]
    assert gain.get_xlim()[0] < 1 and gain.get_xlim()[1] > 4
    assert bands(distance) == []


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        (0.5, (0.5, 0.5)),
        (3, (3, 3)),
        ("0.68 to 0.72", (0.68, 0.72)),
        ("+0.6 to +3.6 (Texas100)", (0.6, 3.6)),
        ("-1 to 2", (-1, 2)),
        ("above 0", (0, np.inf)),
        ("below 0.10", (-np.inf, 0.1)),
        ("above 0 on JS-GAN", None),
        ("near 0", None),
        ("2.2 %", None),
        (None, None),
    ],
)
def test_what_the_papers_words_stand_for(paper, expected):
    assert states(paper) == expected


def test_a_choice_of_rows(folder):
    assert [ax.get_xlabel() for ax in results.picture("lira", ["L2"], folder=folder).axes] == [
        "gain",
        "distance",
    ]
    (ax,) = results.picture("lira", what="LiRA$", folder=folder).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["LiRA"]
    every = results.picture("lira", with_paper=False, folder=folder)
    assert [ax.get_xlabel() for ax in every.axes] == ["AUC", "gain", "distance", "seconds"]


def test_alt_text_counts_what_agrees(folder):
    text = results.picture_alt("lira", folder=folder)
    assert "One line for each of 4 rows, in panels by quantity: AUC, gain, distance." in text
    assert "our values on digits, mnist." in text
    # 0.65 in [0.5, 0.7]; 0.9 not in [0.75, 0.85]; [2, 4] above 1; [0.5, 0.6] meets 0.57 to 0.61
    assert "Of 4 intervals, 3 reach the paper's value." in text
    assert "paper" not in results.picture_alt("lira", what="distance", folder=folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": ["L9"]}, "ids: given 'L9', expected one of 'L1', 'L2'$"),
        (
            {"what": "nothing"},
            r"ids, what: given a choice of 0 rows \(none\), expected 1 to 60 rows",
        ),
    ],
)
def test_a_choice_of_nothing_is_refused(folder, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        results.picture("lira", folder=folder, **options)


@pytest.mark.parametrize("count", [3, 60, 61])
def test_rows_that_can_be_read(tmp_path, count):
    rows = [results.row("L1", f"AUC, attack number {i}", i / 100, paper=0.5) for i in range(count)]
    write("digits", rows, tmp_path)
    if count > 60:
        with pytest.raises(
            ValueError, match=r"^ids, what: given a choice of 61 rows \(61 of 'AUC'"
        ):
            results.picture("lira", folder=tmp_path)
        return
    figure = results.picture("lira", folder=tmp_path)
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert len(boxes) == count
    assert all(above.y0 >= below.y1 - 1 for above, below in zip(boxes, boxes[1:]))  # no overlap
    assert min(box.x0 for box in boxes) >= 0
    plt.close(figure)


def test_more_data_sets_than_markers(tmp_path):
    for i in range(8):
        row = results.row("L1", "AUC", 0.5, paper=0.5)
        write(f"set{i}", [row], tmp_path)
    with pytest.raises(ValueError, match="^notebook: given 8 data sets, expected at most 7"):
        results.picture("lira", folder=tmp_path)


def test_labels_of_several_lines_do_not_cover_each_other(folder):
    said = "much smaller than that of the score, at every checkpoint that is drawn"
    rows = [results.row("L1", f"AUC, attack {k}", 0.5, paper=said) for k in range(5)]
    write("digits", rows, folder)
    figure = results.picture("lira", folder=folder)
    figure.canvas.draw()
    ax = next(ax for ax in figure.axes if ax.get_xlabel() == "AUC")
    texts = [text for text in ax.get_yticklabels() if "attack" in text.get_text()]
    assert all(text.get_text().count("\n") >= 2 for text in texts) and len(texts) == 5
    boxes = [text.get_window_extent() for text in texts]
    assert all(upper.y0 > lower.y1 for upper, lower in zip(boxes, boxes[1:]))
