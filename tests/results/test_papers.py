"""The papers' numbers: the files are well formed, and what is read is what the papers print."""

import math
import random
import re

import pytest
import yaml

from mia_lib import results
from mia_lib.results import papers

FILES = sorted(papers.FOLDER.glob("*.yaml"))


class Strict(yaml.SafeLoader):
    """YAML in which a name that comes twice is an error instead of the last one that wins."""

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{node.start_mark}: twice: {twice}"
        return super().construct_mapping(node, deep)


def strict(path):
    return yaml.load(path.read_text(encoding="utf-8"), Strict)


def number_or_dash(value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value is None or (number and math.isfinite(value))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_has_the_form_that_the_readme_states(path):
    document = strict(path)
    assert {"title", "source", "tables"} <= set(document)
    assert set(document) <= {"title", "source", "tables", "figures", "text"}
    for kind in ("tables", "figures"):
        for name, table in document.get(kind, {}).items():
            at = f"{path.stem}, {name}"
            assert name.startswith({"tables": "Table ", "figures": "Figure "}[kind]), at
            assert set(table) - {"units"} == {"section", "caption", "unit", "columns", "rows"}, at
            assert table["section"] and table["caption"], at
            columns, units = table["columns"], table.get("units", {})
            assert len(set(columns)) == len(columns) and all(isinstance(c, str) for c in columns)
            assert set(units) <= set(columns), at
            assert {table["unit"], *units.values()} <= {"%", None}, at
            for row, cells in table["rows"].items():
                assert isinstance(row, str), f"{at}: {row!r} wants quotation marks"
                assert len(cells) == len(columns), f"{at}, {row}"
                assert all(map(number_or_dash, cells)), f"{at}, {row}"
    for name, entry in document.get("text", {}).items():
        assert set(entry) == {"section", "value", "unit"}, name
        assert isinstance(name, str) and entry["section"], name
        assert number_or_dash(entry["value"]) and entry["unit"] in ("%", None), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_printed_cell_can_be_read(path):
    document = strict(path)
    for name, table in (document["tables"] | document.get("figures", {})).items():
        for row, cells in table["rows"].items():
            for column, cell in zip(table["columns"], cells):
                read = results.paper(path.stem, name, row, column)
                unit = table.get("units", {}).get(column, table["unit"])
                if cell is None:
                    assert read is None
                else:
                    assert read == pytest.approx(cell / (100 if unit == "%" else 1), rel=1e-15)
    for name in document.get("text", {}):
        assert results.paper(path.stem, "text", name, "value") is not None


ATTACK = "Membership Inference Attacks, attack acc"
# Typed anew from the two papers' texts: 20 of the cells of their tables, drawn with the seed below.
TYPED = {
    ("lira", "Table I", "Ye et al. [69]", "Balanced Accuracy, C-100"): 0.769,
    ("lira", "Table I", "Shokri et al. [60]", "example hardness"): 0,
    ("song-mittal", "Table 6", "Purchase100, no defense", "0.7, precision"): 0.634,
    ("song-mittal", "Table 2", "Texas100, no", f"{ATTACK} (I_entr)"): 0.602,
    ("lira", "Table VII", "block 1, LOSS attack [70]", "TPR @ 0.1% FPR"): 0.001,
    (
        "lira",
        "Table II",
        "block 2, + Multiple queries (our offline attack)",
        "TPR @ 0.1% FPR",
    ): 0.071,
    ("lira", "Table I", "Ye et al. [69]", "example hardness"): 1,
    ("song-mittal", "Table 3", "I_conf (class-independent)", "early stopping"): 0.558,
    ("song-mittal", "Table 6", "Purchase100, AdvReg [31]", "1, recall"): 0.002,
    ("song-mittal", "Table 3", "I_entr (class-dependent)", "AdvReg [31]"): 0.535,
    ("lira", "Table I", "Ye et al. [69]", "Balanced Accuracy, WT103"): 0.655,
    ("song-mittal", "Table 3", "I_Mentr (class-independent)", "no defense"): 0.648,
    ("lira", "Table V", "block 2, + Logit scaling", "TPR @ 0.1% FPR"): 0.147,
    ("song-mittal", "Table 2", "Texas100, yes", f"{ATTACK} (I_conf)"): 0.586,
    ("lira", "Table III", "18 (mirror + shifts)", "0.1%"): 0.084,
    ("lira", "Table I", "Ye et al. [69]", "class hardness"): 1,
    ("lira", "Table II", "block 3, LOSS attack [70]", "TPR @ 0.1% FPR"): 0,
    ("song-mittal", "Table 6", "Texas100, MemGuard [20]", "0.9, precision"): 0.845,
    ("lira", "Table I", "Shokri et al. [60]", "TPR @ 0.1% FPR, WT103"): None,
    ("lira", "Table VI", "block 3, + Gaussian Likelihood (our attack)", "TPR @ 0.1% FPR"): 0.014,
}


def test_the_typed_cells_are_the_drawn_ones():
    cells = sorted(
        (name, table, row, column)
        for name in ("lira", "song-mittal")
        for table, body in strict(papers.FOLDER / f"{name}.yaml")["tables"].items()
        for row in body["rows"]
        for column in body["columns"]
    )
    assert set(random.Random(18).sample(cells, 20)) == set(TYPED)


@pytest.mark.parametrize("cell", TYPED, ids=" | ".join)
def test_a_drawn_cell_is_what_the_paper_prints(cell):
    assert results.paper(*cell) == TYPED[cell]


def made(tmp_path, monkeypatch):
    """A folder with a paper that has every kind of entry."""
    (tmp_path / "toy.yaml").write_text(
        """
title: "Toy"
source: "nowhere"
tables:
  "Table 1":
    section: "1"
    caption: "toy"
    unit: "%"
    units: {"loss": null}
    columns: ["TPR, A", "loss", "TPR, B"]
    rows:
      "no": [8.4, 8.4, 2.2]
      "1": [0, null, null]
figures:
  "Figure 2": {section: "2", caption: "toy", unit: null, columns: ["value"], rows: {"r": [0.94]}}
text:
  "accuracy": {section: "3", value: 1.3, unit: "%"}
  "models": {section: "3", value: 256, unit: null}
"""
    )
    monkeypatch.setattr(papers, "FOLDER", tmp_path)


def test_per_cent_is_a_fraction_to_the_last_digit_and_a_dash_is_none(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch)
    cells = {
        (row, column): results.paper("toy", "Table 1", row, column)
        for row in ("no", "1")
        for column in ("TPR, A", "loss", "TPR, B")
    }
    # 2.2 / 100 and 1.3 / 100 are not the floats 0.022 and 0.013
    assert list(cells.values()) == [0.084, 8.4, 0.022, 0.0, None, None]
    assert results.paper("toy", "Figure 2", "r", "value") == 0.94
    assert results.paper("toy", "text", "accuracy", "value") == 0.013
    assert results.paper("toy", "text", "models", "value") == 256.0
    kinds = {type(cell) for cell in cells.values()}
    assert kinds == {float, type(None)}


@pytest.mark.parametrize(
    "place, wrong, nearest",
    [
        (0, "toyy", "toy"),
        (1, "Table I", "Table 1"),
        (1, "txt", "text"),
        (2, "No", "no"),
        (2, None, "no"),
        (3, "TPR A", "TPR, A"),
        (3, ["loss"], "loss"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_ones(
    tmp_path, monkeypatch, place, wrong, nearest
):
    made(tmp_path, monkeypatch)
    asked = ["toy", "Table 1", "no", "loss"]
    asked[place] = wrong
    name = ("paper", "table", "row", "column")[place]
    with pytest.raises(ValueError, match=f"^{name}: given {re.escape(repr(wrong))}") as refused:
        results.paper(*asked)
    assert repr(nearest) in str(refused.value)


def test_an_installation_without_the_files_says_so_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "FOLDER", tmp_path / "book" / "papers")
    with pytest.raises(ValueError, match="^paper: given an installation without.*a clone") as found:
        results.paper("lira", "Table I", "Ours", "Balanced Accuracy, C-10")
    assert "\n" not in str(found.value)


def test_a_name_that_comes_twice_in_a_file_would_be_noticed(tmp_path):
    (tmp_path / "twice.yaml").write_text("rows: {a: 1, a: 2}\n")
    with pytest.raises(AssertionError, match="twice"):
        strict(tmp_path / "twice.yaml")
