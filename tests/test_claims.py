"""The claims are well formed and honest, and what is said of them follows from the records."""

import datetime
import math

import numpy as np
import pytest
import yaml

from mia_lib import claims, results
from mia_lib.intervals import Estimate

CLAIMS = claims.load()
RECORDS = results.find()
MEASURED = [claim for claim in CLAIMS if claim["what"] != claims.NOT_MEASURED]


def test_there_are_enough_claims_of_every_paper():
    assert len(CLAIMS) >= 60 and len(CLAIMS) - len(MEASURED) < len(CLAIMS) / 10
    papers = [claim["paper"] for claim in CLAIMS]
    five = {"lira", "song-mittal", "mace-v1", "mace-v2", "hr-mmd"}
    assert set(papers) == five | set(claims.LATER)
    assert min(papers.count(name) for name in five) >= 10
    assert sum(papers.count(name) for name in claims.LATER) >= 12


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_a_claim_says_where_it_is_and_why_its_region_is_that(claim):
    assert claim["claim"].endswith(".") and claim["place"] and len(claim["reason"]) > 10
    assert np.isfinite(claim["region"]).any()  # else it is true of everything
    if "number" in claim:
        assert results.paper(claim["paper"], *claim["number"]) is not None


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_a_record_decides_it(claim):
    deciding = [
        record
        for record in RECORDS
        if record["notebook"] == claim["notebook"] and claims.measured(claim, record) is not None
    ]
    assert deciding, "or the claim says that it is not measured"
    if claim["data"] != "every":
        assert set(claim["data"]) <= {record["data"] for record in deciding}
    names = [name for key in ("what", "minus", "over") for name in listed(claim.get(key, []))]
    known = {
        row["what"]
        for record in RECORDS
        if record["notebook"] == claim["notebook"]
        for row in record["rows"]
    }
    assert set(names) <= known  # each of the alternatives is a row of some record


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_a_region_is_older_than_what_decides_it_unless_the_claim_says_otherwise(claim):
    since = claim["region_since"]
    exact = isinstance(since, datetime.datetime)  # with its time zone
    now = datetime.datetime.now(datetime.UTC) if exact else datetime.date.today()
    assert since <= now
    for record in RECORDS:
        if record["notebook"] != claim.get("notebook") or claim["seen_before"]:
            continue
        if claims.measured(claim, record) is not None:
            made = datetime.datetime.fromisoformat(record["date"])
            assert since < (made if exact else made.date())


def listed(names):
    return [names] if isinstance(names, str) else names


def record(rows, data="digits", scale="paper", notebook="lira"):
    made = [dict(zip(("what", "value", "low", "high"), row)) for row in rows]
    return {"notebook": notebook, "data": data, "scale": scale, "date": "2026-01-02", "rows": made}


def claim(**entries):
    return {
        "id": "a",
        "paper": "lira",
        "claim": "It leaks.",
        "place": "here",
        "notebook": "lira",
        "what": "a",
        "region": (1.0, 2.0),
        "reason": "none",
        "data": "every",
        "scale": "largest",
    } | entries


ROWS = [("a", 1.5, 1.2, 1.8), ("b", 0.5, 0.4, 0.6), ("c", 3.0, None, None), ("d", None, None, None)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({}, (1.5, 1.2, 1.8)),
        ({"what": ["missing", "b"]}, (0.5, 0.4, 0.6)),
        ({"minus": "b"}, (1.0, 0.6, 1.4)),
        ({"over": "b"}, (3.0, 2.0, 4.5)),
        ({"what": "c"}, (3.0, None, None)),
        ({"what": "c", "minus": "b"}, (2.5, None, None)),
        ({"what": "c", "computed": True}, (3.0, 3.0, 3.0)),
    ],
)
def test_quantities_by_literals(entries, expected):
    found = claims.measured(claim(**entries), record(ROWS))
    assert [None if part is None else pytest.approx(part) for part in expected] == [*found]


def test_rows_that_are_missing_or_not_measured_decide_nothing():
    for entries in ({"what": "d"}, {"what": "e"}, {"over": "d"}, {"what": ["e", "d"]}):
        assert claims.measured(claim(**entries), record(ROWS)) is None
    zero = record([("a", 1.0, 0.5, 2.0), ("b", 0.0, 0.0, 0.0)])
    assert claims.measured(claim(over="b"), zero) == Estimate(np.inf, np.inf, np.inf)
    assert math.isnan(claims.measured(claim(what="b", over="b"), zero).value)


@pytest.mark.parametrize(
    "note",
    [
        "n: examples; false positives on 3 examples, too few to be sure that it is above 0",
        "below the floor 2.5e-05: not resolvable",
        "n: examples; not resolved",
        "n: texts, bootstrap over them; < floor: without a false positive",
    ],
)
def test_nothing_is_judged_by_a_rate_that_is_not_resolved(note):
    """Neither by its lower end, which is 0, nor by its upper one; another row may serve instead."""
    made = record([("a", 1.5, 1.2, 1.8), ("b", 1.5, 1.3, 1.7)])
    made["rows"][0]["note"] = note
    for entries in ({}, {"minus": "b"}, {"what": "b", "over": "a"}):
        (line,) = claims.evaluate([claim(**entries)], [made]).itertuples()
        assert line.verdict == "undecided" and math.isnan(line.ours.value)
    assert claims.measured(claim(what=["a", "b"]), made) == Estimate(1.5, 1.3, 1.7)


def test_an_interval_of_no_width_is_none_unless_the_row_is_computed():
    made = record([("a", 1.5, 1.5, 1.5), ("b", 0.0, 0.0, 0.0)])
    for entries in ({}, {"over": "b"}, {"minus": "b"}):
        assert list(claims.evaluate([claim(**entries)], [made]).verdict) == ["undecided"]
    (line,) = claims.evaluate([claim(computed=True)], [made]).itertuples()
    assert line.verdict == "confirmed" and line.ours == (1.5, 1.5, 1.5)


def test_every_data_set_is_asked_at_its_largest_scale():
    records = [
        record([("a", 1.5, 1.2, 1.8)], "digits", "default"),
        record([("a", 5.0, 4.0, 6.0)], "digits", "paper"),
        record([("a", 1.5, 0.5, 2.5)], "mnist", "smoke"),
        record([("b", 1.5, 0.5, 2.5)], "mnist", "paper"),  # has no such row
        record([("a", 1.5, 1.2, 1.8)], "location30", "seeds"),
        record([("a", 1.5, 1.2, 1.8)], "cifar10", "paper", notebook="gan"),
    ]
    found = claims.evaluate([claim()], records)
    said = {row.data: (row.scale, row.verdict, row.stays) for row in found.itertuples()}
    assert said == {
        "digits": ("paper", "refuted", True),  # [3, 7] when doubled
        "location30": ("seeds", "confirmed", False),  # [0.9, 2.1]
        "mnist": ("smoke", "undecided", True),
    }
    one = claims.evaluate([claim(data=["digits"], scale="default")], records)
    assert list(one.verdict) == ["confirmed"]
    none = claims.evaluate([claim(what=claims.NOT_MEASURED)], records)
    assert list(none.verdict) == [claims.NOT_MEASURED] and math.isnan(none.ours[0].value)


ENTRY = {
    "id": "a",
    "paper": "lira",
    "claim": "It leaks.",
    "place": "here",
    "what": "not measured",
    "region": "above 0",
    "reason": "an order",
    "region_since": datetime.date(2026, 11, 22),
    "seen_before": False,
}


def written(path, *entries):
    path.write_text(yaml.safe_dump([dict(entry) for entry in entries]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    ["above 0", "above 1", "below 0", "below 1", "at least 0.8", "at least 10", "at most 0.002"],
)
def test_regions_are_said_as_they_are_written(tmp_path, text):
    bound = float(text.split()[-1])
    bounds = {"at least": [bound, np.inf], "at most": [-np.inf, bound]}
    entry = ENTRY | {"region": bounds.get(text[: text.rindex(" ")], text)}
    (read,) = claims.load(written(tmp_path / "claims.yaml", entry))
    assert claims.in_words(read["region"]) == text


def test_regions_in_words_leave_their_bound_out(tmp_path):
    path = written(tmp_path / "claims.yaml", ENTRY, ENTRY | {"id": "b", "region": "below 1"})
    above, below = (entry["region"] for entry in claims.load(path))
    assert above == (5e-324, np.inf) and below[0] == -np.inf and 1 - 1e-15 < below[1] < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"region": [2, 1]}, "region: given"),
        ({"region": "about 1"}, "region: given"),
        ({"colour": "red"}, "colour: given an unknown entry"),
        ({"seen_before": "no"}, "seen_before: given 'no'"),
        ({"what": "AUC"}, "notebook: given nothing"),
        ({"number": ["Table I", "Ours", "nothing"]}, "column: given 'nothing'"),
        ({"minus": "a", "over": "b"}, "minus and over"),
    ],
)
def test_a_claim_that_is_not_well_formed_is_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        claims.load(written(tmp_path / "claims.yaml", ENTRY | change))


def test_ids_are_single_and_files_exist(tmp_path):
    with pytest.raises(ValueError, match="one that came before"):
        claims.load(written(tmp_path / "claims.yaml", ENTRY, ENTRY))
    with pytest.raises(ValueError, match="path: given"):
        claims.load(tmp_path / "none.yaml")


def test_a_rate_that_is_not_resolved_leaves_the_claim_undecided_and_not_unasked():
    """A data set whose record has the row must not drop out of the verdicts."""
    found = record([("a", None, None, None)])
    assert claims.measured(claim(), found) is None  # not measured
    found["rows"][0]["note"] = "n: examples; not resolved"
    assert np.isnan(claims.measured(claim(), found).value)
    line = claims.evaluate([claim()], [found]).iloc[0]
    assert (line["data"], line["verdict"]) == ("digits", "undecided")
