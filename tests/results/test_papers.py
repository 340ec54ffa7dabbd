"""The papers' numbers: the files are well formed, and what is read is what the papers print."""

import hashlib
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


# Typed anew from the texts of MACE and HR-MMD, per cent as fractions: of the cells of their tables,
# and of the numbers of their figures and texts, the ten each whose hash with the seed is smallest.
# Another cell in a file changes this draw rarely, and then by one.
SEED_OF_MACE_AND_HR_MMD = 18
DRAWN_OF_MACE_AND_HR_MMD = {
    ("hr-mmd", "Table 2", "SVHN, Perturbed non-training set", "Entropy-b"): 1.0,
    ("mace-v2", "Table 1", "Jayaraman et. al. [17]", "Works on discriminative models"): 1,
    ("hr-mmd", "Table 3", "100", "Test Power (%), HR-T"): 0.022,
    ("hr-mmd", "Table 3", "200", "Type I Error Rate (%), HR-T"): 0.005,
    ("hr-mmd", "Table 3", "100", "Test Power (%), HR-MMD"): 0.187,
    ("hr-mmd", "Table 2", "CIFAR-100, Perturbed non-training set", "LiRA-b"): 1.0,
    ("mace-v2", "Table 1", "Hayes et. al. [14]", "Works on discriminative models"): 0,
    ("mace-v2", "Table 1", "Jayaraman et. al. [17]", "General framework"): 0,
    ("mace-v2", "Table 1", "Hilprecht et. al. [15]", "White-box"): 0,
    ("mace-v2", "Table 1", "Hayes et. al. [14]", "Black-box"): 1,
    ("hr-mmd", "text", "training members in a set, largest", "value"): 1.0,
    ("mace-v1", "Figure 5", "(b) CIFAR-10", "training samples"): 6000,
    ("mace-v1", "text", "DP-cGAN, epsilon, low", "value"): 0.3,
    ("hr-mmd", "text", "learning rate of the tests", "value"): 0.02,
    ("hr-mmd", "text", "tests on one S_Y", "value"): 100,
    ("hr-mmd", "Figure 3", "power to exceed", "level"): 0.05,
    ("hr-mmd", "text", "size of S_non", "value"): 5000,
    ("mace-v2", "Figure 6", "(c)", "epsilon"): 10,
    ("hr-mmd", "Figure 13", "(g)", "alpha"): 0.05,
    ("hr-mmd", "Figure 13", "(c)", "set size"): 300,
}


def printed_numbers(names):
    """Every (paper, table, row, column) that holds a number, tables first."""
    of_tables, others = [], []
    for name in names:
        document = strict(papers.FOLDER / f"{name}.yaml")
        for kind in ("tables", "figures"):
            for table, body in document.get(kind, {}).items():
                (of_tables if kind == "tables" else others).extend(
                    (name, table, row, column)
                    for row, cells in body["rows"].items()
                    for column, cell in zip(body["columns"], cells)
                    if cell is not None
                )
        others.extend((name, "text", row, "value") for row in document.get("text", {}))
    return of_tables, others


def test_drawn_cells_of_mace_and_hr_mmd_are_what_the_papers_print():
    def rank(cell):
        return hashlib.sha256(repr((SEED_OF_MACE_AND_HR_MMD, *cell)).encode()).hexdigest()

    of_tables, others = printed_numbers(("mace-v1", "mace-v2", "hr-mmd"))
    drawn = [cell for cells in (of_tables, others) for cell in sorted(cells, key=rank)[:10]]
    assert set(drawn) == set(DRAWN_OF_MACE_AND_HR_MMD)
    assert {cell: results.paper(*cell) for cell in drawn} == DRAWN_OF_MACE_AND_HR_MMD
