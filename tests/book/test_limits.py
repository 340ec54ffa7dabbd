"""No chapter grows beyond its limits, and those that are beyond one today do not grow further."""

import json

import limits
import pytest

CHAPTERS = limits.chapters()


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_within_its_limits(name):
    entries = limits.known().get(name, {})
    assert not list(limits.wrong(name, limits.measure(name), entries))


def test_what_is_known_is_about_chapters_and_limits():
    for name, entries in limits.known().items():
        assert name in CHAPTERS and entries and set(entries) <= set(limits.LIMITS)
        assert all(figure > limits.LIMITS[what] for what, figure in entries.items()), name


def test_a_figure_over_its_limit_or_its_entry_is_noticed():
    def said(figure, **entries):
        return list(limits.wrong("book/one", {"words": figure}, entries))

    assert not said(2200) and not said(2500, words=2500) and not said(2300, words=2500)
    assert said(2201) == ["book/one: words is 2201, at most 2200"]
    assert said(2501, words=2500) == ["book/one: words is 2501, at most 2200, known as 2500"]
    assert said(2200, words=2500) == ["book/one: words is 2200 and within 2200: take its entry out"]


def test_what_is_measured(tmp_path):
    frame = (
        "<table><thead><tr><th></th><th>a</th><th>b</th></tr></thead><tbody>"
        + "<tr><th>0</th><td>1</td><td>2</td></tr>" * 13
        + "</tbody></table>"
    )
    sortable = "<table><tr>" + "<td>1</td>" * 20 + "</tr></table><script>aria-sort</script>"
    table = "Two words.\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n"
    cells = [
        {"cell_type": "markdown", "source": [table]},
        {"cell_type": "code", "source": "a = 1\n\nb = 2", "outputs": []},
        {
            "cell_type": "code",
            "source": "shown",
            "outputs": [{"data": {"text/html": [one]}} for one in (frame, sortable)],
        },
    ]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    found = limits.measured(cells, path)
    assert found == {"words": 5, "cells": 2, "median_lines": 1.5, "rows": 13, "columns": 2 + 1 - 1}
    assert list(limits.stored_tables(cells)) == [(1, 2), (13, 2)]
    assert limits.over(found | {"height": 14_001}) == {"rows": 13, "height": 14_100}
