"""The forms of a report: what stands on the first page, and that each form can be read."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from audit_reports import Page, features_that_differ, observed

from mia_lib import audit, plots
from mia_lib.audit import document, report, sections


@pytest.fixture(scope="module")
def leaking():
    columns = {"site": np.where(np.arange(200) % 2, "A | B", "<b>C</b>\nD")}
    return audit.run(observed(columns=columns), model="the model & co", date="2031-05-06")


def test_the_first_page(leaking):
    titles = [title for title, _ in sections.sections(leaking.content)]
    assert titles[:5] == [
        "Which model",
        "Verdict: leak",
        "How serious it is",
        "What to do next",
        "What this audit cannot say",
    ]
    assert titles[-1] == "Glossary" and len(titles) == len(set(titles))
    text = leaking.to_markdown()
    assert "| model | the model & co |" in text and "| date | 2031-05-06 |" in text
    assert leaking.content["observations"] in text and "numpy" in text
    assert re.search(r"of 1,000 members LOSS finds about \d+ \(\d+ to \d+\)", text)


def test_persons_are_told_whose_rate_it_is(leaking):
    """Beside the sentences on persons, and nowhere else: a report without them says nothing."""
    text = leaking.to_markdown()
    said = text.index("no person's own")
    assert text.index("false accusation") < said < text.index("How likely an accused person")
    apart = audit.run(observed(assignment="given", features=features_that_differ()))
    assert apart.verdict == "groups differ" and "no person's own" not in apart.to_markdown()


def test_the_json_has_a_schema_and_the_whole_content(leaking):
    content = json.loads(leaking.to_json())
    assert content["schema"] == report.SCHEMA == 4
    assert (content["verdict"], content["reasons"]) == (leaking.verdict, leaking.reasons)
    assert content == leaking.content
    assert list(content) == list(report.KEYS)


def test_the_hash_is_of_everything_that_was_given():
    o = observed()
    same = audit.Observations(o.logits, o.labels, o.member, assignment="random")
    moved = audit.Observations(o.logits + 1e-9, o.labels, o.member, assignment="random")
    given = observed(assignment="given")
    column = observed(columns={"a": np.zeros(200)})
    names = [audit.conduct.identity(each) for each in (o, same, moved, given, column)]
    assert names[0] == names[1] and len(set(names)) == 4


def test_the_same_observations_give_the_same_bytes(tmp_path):
    forms = []
    for place in (tmp_path / "a.pdf", tmp_path / "b.pdf"):
        found = audit.run(observed(), model="m")
        found.to_pdf(place)
        forms.append([found.to_html(), found.to_markdown(), found.to_json(), place.read_bytes()])
        plots.style()  # the reader's settings make no difference
    assert forms[0] == forms[1]
    assert "not given" in forms[0][1]


def test_the_page_stands_alone(leaking):
    page = leaking.to_html()
    parsed = Page()
    parsed.feed(page)
    assert parsed.open == [] and parsed.seen.count("h2") == 23 and "svg" in parsed.seen
    assert "<b>C</b>" not in page and "the model &amp; co" in page
    assert not re.search(r"(src|href)=\"(?!#)", page) and "@import" not in page
    for media in ("prefers-color-scheme: dark", "max-width: 40rem", "print"):
        assert f"@media ({media})" in page or f"@media {media}" in page


def test_breaks_and_bars_do_not_break_the_table(leaking):
    lines = leaking.to_markdown().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("| by | value |"))
    table = lines[start : start + 5]
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert len(set(bars)) == 1 and any("<b>C</b> D" in line for line in table)


def test_the_pdf_can_be_read(leaking, tmp_path):
    leaking.to_pdf(tmp_path / "report.pdf")
    data = (tmp_path / "report.pdf").read_bytes()
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    pages = len(re.findall(rb"/Type /Page\b", data))
    assert 2 <= pages <= 12 and b"CreationDate" not in data


def test_tables_of_the_pdf_fit_the_page():
    rows = [["a" * 90, "b" * 90, "1"], ["c d " * 30, "e", "2"]]
    lines = document.typed(["x", "y", "z"], rows)
    assert max(map(len, lines)) <= document.SMALL
    assert "".join(line[:1] for line in lines).count("-") == 1
    assert sum(line.count("a") for line in lines) == 90


class Turned:
    """Counts the pages that were filled."""

    def __init__(self):
        self.pages = 0

    def savefig(self, figure):
        self.pages += 1


@pytest.mark.parametrize("lines, turned", [(2.9, 1), (3.1, 0)])
def test_a_heading_of_the_pdf_does_not_end_a_page(lines, turned):
    """A heading that keeps two lines with it needs room for three above the margin of 0.06."""
    paper = document._Paper(Turned())
    step = document.LINE * 12 / 9
    paper.height = 0.06 + document.LINE * 1.2 + step * lines
    paper.write(["Attacks"], size=12, before=1.2, keep=2)
    assert paper.file.pages == turned


def test_the_roc_has_its_band_and_the_blind_one():
    o = observed(features=np.random.default_rng(1).normal(size=(200, 2)))
    curves = audit.run(o).content["roc"]
    ax = document.draw_roc(curves, document.Figure().add_subplot())
    assert ax.get_xscale() == ax.get_yscale() == "log" and len(ax.collections) == 2
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["LOSS", "blind: the inputs and the label", "guessing"]


def test_records_as_csv(leaking):
    table = pd.read_csv(io.StringIO(leaking.records().to_csv(index=False)))
    assert len(table) == 200 and {"record", "member", "LOSS", "site"} <= set(table)


def test_records_as_parquet(leaking, tmp_path):
    leaking.records().to_parquet(tmp_path / "records.parquet")
    table = pd.read_parquet(tmp_path / "records.parquet")
    pd.testing.assert_frame_equal(table, leaking.records())


def test_a_level_is_printed_as_it_is():
    text = audit.run(observed(), delta=0.001).to_markdown()
    assert "probability of 99.9 %" in text and "probability of 100 %" not in text


def test_severity_is_not_stated_where_it_would_mislead():
    given = audit.run(observed(assignment="given"))
    assert given.verdict == "check the input"
    assert "Not stated, because the input" in given.to_markdown()
    rng = np.random.default_rng(0)
    member = np.arange(400) < 200
    x = rng.normal(size=(400, 2)) + 2 * member[:, None]
    drift = audit.Observations(rng.normal(size=(400, 2)), np.zeros(400, int), member, features=x)
    found = audit.run(drift)
    assert found.verdict == "groups differ" and "may find by the difference" in found.to_markdown()


def test_attacks_that_coincide_share_a_line():
    text = audit.run(observed()).to_markdown()
    line = next(t for t in text.splitlines() if t.startswith("| LOSS, Modified entropy, "))
    assert "Hinge" in line  # of two classes all three put the records in one order
    assert "TPR - FPR of LOSS (the same as Modified entropy, Hinge)" in text


@pytest.mark.parametrize("name", ["model", "date"])
def test_a_name_and_a_date_are_texts(name):
    with pytest.raises(ValueError, match=f"{name}: given int, expected a text"):
        audit.run(observed(), **{name: 3})
