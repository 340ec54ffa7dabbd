"""The notebook language_model on a file of features, on texts, and with values that cannot be
meant.
"""

import dataclasses
from functools import partial

import notebook_runs
import numpy as np
import pytest
from data_archives import md5, zipped
from notebook_runs import cases, last_line

from mia_lib import results
from mia_lib.data import originals

TINY = {
    "n_known": 40,
    "set_sizes": [20],
    "feature_sizes": [20, 100],
    "n_targets": 2,
    "subsets": 3,
    "level_draws": 10,
    "n_steps": 3,
    "n_permutations": 19,
}
call = partial(notebook_runs.call, "language_model")


def write_features(here, shift, **changes):
    """300 members and 300 others; a shift of the members in two of four features; a constant that
    must not matter.
    """
    rng = np.random.default_rng(0)
    member = np.arange(600) < 300
    features = rng.normal(size=(600, 4)) + shift * np.outer(member, [1.0, 0.0, 1.0, 0.0])
    arrays = {"features": np.column_stack([features, np.ones(600)]), "member": member}
    arrays["names"] = np.array(["loss", "min 20 %", "zlib ratio", "perplexity", "constant"])
    arrays |= changes
    np.savez(
        here / "MIA_DATA" / "own.npz",
        **{name: array for name, array in arrays.items() if array is not None},
    )


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_file_of_features_from_end_to_end(here, shift):
    write_features(here, shift)
    assert call("pile", "paper", features_file="own.npz", **TINY) == 0
    rows = {
        row["what"]: row
        for row in results.read(here / "MIA_RESULTS" / "language_model--pile--paper.json")["rows"]
    }
    assert {row["id"] for row in rows.values()} == {"H9"}
    for test in ("HR-T", "HR-MMD-G", "HR-MMD"):
        for what in ("all features", "zlib ratio"):
            power = rows[f"power, {test}, {what}, sets of 20"]["value"]
            assert power > 0.8 if shift else power < 0.6
            error = rows[f"type I error, {test}, {what}, sets of 20"]
            assert (
                error["n"] == 20 and error["value"] <= 0.3
            )  # one valid test in 10,000 has more than 6 of 20
    of_paper = rows["power, HR-MMD, zlib ratio, sets of 100"]
    assert (of_paper["paper"], of_paper["where"]) == (0.056, "Table 4")
    # 300 others: the power at 100 needs 200 of them, the level 400
    assert (
        of_paper["value"] is not None
        and "type I error, HR-MMD, zlib ratio, sets of 100" not in rows
    )


def test_sets_that_the_texts_do_not_suffice_for_are_reported_as_not_measured(here):
    write_features(here, 1.0)
    assert (
        call(
            "pile",
            "smoke",
            features_file=str(here / "MIA_DATA" / "own.npz"),
            **{**TINY, "feature_sizes": [200]},
        )
        == 0
    )
    rows = {
        row["what"]: row
        for row in results.read(here / "MIA_RESULTS" / "language_model--pile--smoke.json")["rows"]
    }
    row = rows["power, HR-T, zlib ratio, sets of 200"]
    assert row["value"] is None and "not measured" in row["note"] and row["paper"] == 0.007


def test_texts_from_end_to_end(here):
    assert call("markov", "smoke", level_draws=2) == 0
    record = results.read(here / "MIA_RESULTS" / "language_model--markov--smoke.json")
    rows = {row["what"]: row for row in record["rows"]}
    assert {"L16", "H9"} == {row["id"] for row in record["rows"]}
    assert rows["loss, members, seed 0"]["value"] < rows["loss, others, seed 0"]["value"]
    ours = rows["TPR at 0.1 %, LiRA online, global variance"]
    assert (ours["paper"], ours["where"]) == (0.014, "Table I, WikiText-103")
    assert (
        rows["TPR at 0.1 %, LiRA online"]["paper"] is None
    )  # the paper's number stands beside one attack alone
    assert rows["AUC, LiRA online, global variance"]["value"] > 0.5
    assert rows["control: zlib length"]["n"] == 8
    assert list((here / "MIA_RUNS").iterdir())


def test_every_row_of_a_record_has_its_place(here):
    """The records are of reviews, which have to be downloaded; texts made here have the same rows
    and one control more.
    """
    folder = notebook_runs.NOTEBOOKS / "results"
    before = results.read(folder / "language_model--imdb--default.json")
    small = {"dataset": "markov", "scale": "smoke", "n_reference": 10, "length": 4, "epochs": 1}
    small |= {"vocabulary": 30, "embedding": 4, "hidden": [4], "n_shadow": 8, "batch_size": 64}
    small |= {"n_targets": 2, "subsets": 1, "level_draws": 1, "n_steps": 1, "n_permutations": 19}
    assert call("markov", "smoke", **before["parameters"] | small) == 0
    after = results.read(here / "MIA_RESULTS" / "language_model--markov--smoke.json")
    names = [{(row["id"], row["what"]) for row in record["rows"]} for record in (before, after)]
    assert names[0] - names[1] == set()
    stated = [
        {row["what"]: (row["paper"], row["where"]) for row in record["rows"]}
        for record in (before, after)
    ]
    assert {what: stated[1][what] for what in stated[0]} == stated[0]


def put_wikitext(here, monkeypatch, n_articles):
    """WikiText-103 in its official format, by hand: ten paragraphs an article, four of them too
    short for the smoke run.
    """
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bdfgkm" for b in ("ala", "elo", "ira", "ono", "uma")]
    lines = [""]
    for article in range(n_articles):
        lines += [f" = Article {article} = ", ""]
        for paragraph in range(10):
            if paragraph == 5:
                lines += ["", " = = Section = = ", ""]
            drawn = rng.choice(words, 12 if paragraph % 3 else 5)
            lines.append(f" {' '.join(drawn)} , <unk> . ")
        lines.append("")
    content = zipped([("wikitext-103/wiki.train.tokens", "\n".join(lines))])
    (here / "MIA_DATA" / "downloads").mkdir()
    (here / "MIA_DATA" / "downloads" / "wikitext-103-v1.zip").write_bytes(content)
    source = dataclasses.replace(originals._SOURCES["wikitext103"][0], digest=md5(content))
    monkeypatch.setitem(originals._SOURCES, "wikitext103", [source])


def test_paragraphs_of_wikitext_from_end_to_end(here, monkeypatch):
    put_wikitext(here, monkeypatch, 60)
    assert call("wikitext103", "smoke") == 0
    record = results.read(here / "MIA_RESULTS" / "language_model--wikitext103--smoke.json")
    rows = {row["what"]: row for row in record["rows"]}
    assert record["parameters"]["dataset"] == "wikitext103" and {"L16", "H9"} == {
        row["id"] for row in record["rows"]
    }
    assert (
        rows["loss, members, seed 0"]["value"] < rows["loss, others, seed 0"]["value"] < np.log(200)
    )
    assert rows["TPR at 0.1 %, LiRA online, global variance"]["paper"] == 0.014
    # words are drawn independently: what no model has read tells nobody
    assert rows["control: loss under the reference model"]["value"] < 5
    assert list((here / "MIA_RUNS").iterdir())


def test_more_paragraphs_than_there_are(here, monkeypatch, capsys):
    put_wikitext(here, monkeypatch, 5)
    assert call("wikitext103", "smoke") == 1
    assert "n_texts, n_reference: given 120 and 20" in last_line(capsys)


def test_there_are_values_for_every_data_set_and_scale():
    assert len(cases("language_model")) == 4 * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": None}, "features_file: given a file without 'names'"),
        ({"member": np.ones(600, bool)}, "member: given 600 members and 0 non-members"),
        ({"member": np.ones(5, bool)}, "member: given shape (5,)"),
        ({"names": np.array(["a"])}, "names: given shape (1,)"),
        ({"features": np.full((600, 5), np.nan)}, "features: given 3000 NaN"),
        (
            {"names": np.array(list("abcde"))},
            "feature: given 'zlib ratio', expected one of 'a', 'b'",
        ),
    ],
)
def test_a_file_that_cannot_be_meant(here, capsys, changes, message):
    write_features(here, 1.0, **changes)
    assert call("pile", "smoke", features_file="own.npz", **TINY) == 1
    assert message in last_line(capsys)
    assert not list((here / "MIA_RESULTS").iterdir())


def test_a_file_that_is_not_there(here, capsys):
    assert call("pile", "paper") == 1
    line = last_line(capsys)
    assert (
        "features_file: given 'pile-pythia-410m.npz', which is not at" in line
        and "expected an .npz with features" in line
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "wikitext"},
        {"features_file": "own.npz"},
        {"n_texts": 39},
        {"n_shadow": 9},
        {"n_targets": 1},
        {"n_targets": 17},
        {"set_sizes": []},
        {"feature_sizes": [7]},
        {"hidden": []},
        {"vocabulary": 3},
        {"n_known": 400},
        {"alpha": 1.0},
        {"delta": 0.0},
        {"epoch": 3},
    ],
    ids=str,
)
def test_values_that_cannot_be_meant_end_with_one_line(here, capsys, changes):
    assert call("markov", "smoke", **changes) == 1
    assert next(iter(changes)) in last_line(capsys)
    assert not list((here / "MIA_RESULTS").iterdir())
