"""The syllabus covers the book, and its estimates follow the rule that it states."""

import importlib.util
import json
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PLAN = yaml.safe_load((BOOK / "course" / "plan.yaml").read_text(encoding="utf-8"))

spec = importlib.util.spec_from_file_location("syllabus", BOOK / "_ext" / "syllabus.py")
syllabus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(syllabus)


def notebook(path, *cells):
    cells = [{"cell_type": kind, "source": [text]} for kind, text in cells]
    path.write_text(json.dumps({"cells": cells}))
    return path


def test_twelve_weeks_hold_every_chapter_once():
    """A chapter is what the table of contents numbers, experiments apart."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [part for part in toc["parts"] if part["caption"] not in ("Experiments", "Reference")]
    entries = [entry for part in parts for entry in part["chapters"]]
    entries += [section for entry in entries for section in entry.get("sections", [])]
    chapters = {entry["file"].removeprefix("book/") for entry in entries} | {"intro"}
    planned = [name for week in PLAN["weeks"] for name in week["pages"]]
    assert len(PLAN["weeks"]) == 12 and len(PLAN["days"]) == 3
    assert sorted(planned) == sorted(chapters)


def test_weeks_follow_the_order_of_the_book():
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    places = [toc.index(f"book/{week['pages'][-1]}\n") for week in PLAN["weeks"]]
    assert places == sorted(places)


def test_papers_are_in_the_bibliography():
    references = (BOOK / "references.bib").read_text(encoding="utf-8")
    for row in PLAN["weeks"] + PLAN["days"]:
        assert all(f"{{{key}," in references for key in row["papers"])


def test_words_lines_and_exercises_are_counted(tmp_path):
    text = "Two words, 3 $+$ 4\n\n```{exercise}\nmore\n```"
    cells = ("markdown", text), ("code", "a = 1\n\nb = 2"), ("code", "c = 3"), ("markdown", "end")
    assert syllabus.counted(notebook(tmp_path / "a.ipynb", *cells)) == (5, 3, 1)
    (tmp_path / "b.md").write_text("# One\n\ntwo three")
    assert syllabus.counted(tmp_path / "b.md") == (3, 0, 0)


@pytest.mark.parametrize(
    "words, lines, exercises, wanted",
    [
        (3600, 0, 0, (0.5, 0)),
        (3601, 0, 0, (1.0, 0)),
        (0, 150, 0, (0.5, 0)),
        (3600, 150, 3, (1, 1.5)),
    ],
)
def test_hours_follow_the_rule(tmp_path, words, lines, exercises, wanted):
    """120 words or 5 lines a minute, 25 minutes an exercise, up to the next half hour."""
    text = " ".join(["w"] * (words - exercises) + ["{exercise}"] * exercises)
    cells = [("code", "x = 1\n" * lines), ("markdown", text)]
    assert syllabus.hours([notebook(tmp_path / "a.ipynb", *cells)]) == wanted
    assert all(str(number) in syllabus.RULE for number in (120, 5, 25))


def test_a_table_has_a_row_for_each_week_and_no_more_than_six_columns():
    lines = syllabus.table(BOOK, PLAN["weeks"], "week")
    assert len(lines) == 14 and {line.count("|") for line in lines} == {7}
