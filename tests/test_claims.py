"""The claims are well formed and honest, and what is said of them follows from the records."""

import datetime
import json
import math
import re
import subprocess

import numpy as np
import pytest
import yaml

from mia_lib import claims, results
from mia_lib.intervals import Estimate

CLAIMS = claims.load()
RECORDS = results.find()
MEASURED = [claim for claim in CLAIMS if claim["what"] != claims.NOT_MEASURED]
ROOT = claims.FILE.parents[1]
# Claims that name data sets or a scale, and where the same is asked of the others.
ASKED_THERE = {
    "sm-calibrated": ["sm-calibrated-one-seed"],
    "sm-calibrated-one-seed": ["sm-calibrated"],
    "sm-uncalibrated": ["sm-uncalibrated-one-seed"],
    "sm-uncalibrated-one-seed": ["sm-uncalibrated"],
    "sm-calibration-order": ["sm-calibration-order-one-seed"],
    "sm-calibration-order-one-seed": ["sm-calibration-order"],
    "mace1-sixes-seeds": ["mace1-sixes-mnist"],  # of several trainings, of one
    "mace1-sixes-mnist": ["mace1-sixes-seeds"],
    "power-law-larger": ["power-law"],  # larger sizes of one of them
    "power-law-line-larger": ["power-law-line"],
}
# The paper's number is of this data set.
OF_ONE_SET = {
    f"sm-location-{metric}"
    for metric in ("correctness", "confidence", "entropy", "modified-entropy")
} | {
    "mace2-cifar-grows",
    # the paper prints other numbers, or the other order, for other data sets
    "lira-both-logit",
    "lira-both-logit-elsewhere",
    "lira-out-logit",
    "lira-out-logit-purchase",
    "lira-gain-midpoint",
    "lira-gain-midpoint-purchase",
    "lira-gain-midpoint-texas",
}


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


def test_the_section_before_a_figure_is_that_of_the_figure():
    """As the transcribed tables and figures of the papers have it; a place of its own stands after
    a semicolon.
    """
    seen = 0
    for claim in CLAIMS:
        file = ROOT / f"book/papers/{claim['paper']}.yaml"
        if not file.is_file():
            continue
        paper = yaml.safe_load(file.read_text(encoding="utf-8"))
        there = paper.get("tables", {}) | paper.get("figures", {})
        named = r"(?:section|appendix) ([A-Z\d][\w.-]*), ((?:Figure|Table) (?:\d+|[IVXL]+))"
        for section, what in re.findall(named, claim["place"]):
            if what in there:
                own = there[what]["section"].split()[0]
                assert own == section or own.startswith(f"{section}."), (claim["id"], what, own)
                seen += 1
    assert seen > 5


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_a_record_decides_it(claim):
    deciding = [
        record
        for record in RECORDS
        if record["notebook"] in listed(claim["notebook"])
        and claims.measured(claim, record) is not None
    ]
    assert deciding, "or the claim says that it is not measured"
    assert set(listed(claim["notebook"])) == {record["notebook"] for record in deciding}
    if claim["data"] != "every":
        assert set(claim["data"]) <= {record["data"] for record in deciding}
    keys = ("what", "minus", "over", "needs")
    names = [name for key in keys for name in listed(claim.get(key, []))]
    known = {
        row["what"]
        for record in RECORDS
        if record["notebook"] in listed(claim["notebook"])
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
        if record["notebook"] not in listed(claim.get("notebook", [])) or claim["seen_before"]:
            continue
        if claims.measured(claim, record) is not None:
            made = datetime.datetime.fromisoformat(record["date"])
            assert since < (made if exact else made.date())


def listed(names):
    return [names] if isinstance(names, str) else names


def asked_of(claim):
    """The data sets that the claim, or one that asks the same of others, has a line for."""
    ids = [claim["id"], *ASKED_THERE.get(claim["id"], [])]
    same = [other for other in MEASURED if other["id"] in ids]
    return {line["data"] for line in claims.evaluate(same, RECORDS).to_dict("records")}


def rows_of(claim):
    """The names of the rows that a claim is judged by, a set for each of them."""
    return [set(listed(claim[key])) for key in ("what", "minus", "over") if key in claim]


def without_sizes(name):
    """A row's name without the numbers by which data sets differ: of records, of epochs."""
    return re.sub(r"(n = |after |sets of |release of )\d+", r"\1#", name)


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_no_data_set_that_has_a_record_is_left_out(claim):
    """Neither by a list of sets, nor by the size in a row's name, nor by an unresolved rate."""
    if claim["id"] in OF_ONE_SET:
        assert claim["data"] != "every"
        return
    asked = asked_of(claim)
    kinds = [set(map(without_sizes, names)) for names in rows_of(claim)]
    for record in RECORDS:
        if record["notebook"] in listed(claim["notebook"]):
            there = {row["what"] for row in record["rows"] if row["value"] is not None}
            alike = set(map(without_sizes, there))
            if all(kind & alike for kind in kinds) or set(claim.get("needs", ["?"])) <= there:
                assert record["data"] in asked


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_no_notebook_that_has_the_same_rows_is_left_out(claim):
    """What is asked of every data set is asked of all records in which its rows stand, by this
    claim or by one that is judged by the same rows.
    """
    if claim["data"] != "every":
        return
    rows = rows_of(claim)
    alike = [other for other in MEASURED if len(rows_of(other)) == len(rows)]
    alike = [other for other in alike if all(a & b for a, b in zip(rows, rows_of(other)))]
    asked = {name for other in alike for name in listed(other["notebook"])}
    for record in RECORDS:
        there = {row["what"] for row in record["rows"] if row["value"] is not None}
        if all(names & there for names in rows):
            assert record["notebook"] in asked, record["data"]


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_the_largest_scale_is_not_passed_over_for_a_size_in_a_name(claim):
    """A record of a larger scale whose row has another size is the one that is asked."""
    if claim["scale"] != "largest":
        return
    kinds = [set(map(without_sizes, names)) for names in rows_of(claim)]
    lines = claims.evaluate([claim], RECORDS)
    scale = {(line.notebook, line.data): line.scale for line in lines.itertuples()}
    order = claims.SCALES.index
    for record in RECORDS:
        place = record["notebook"], record["data"]
        if place in scale:
            alike = {without_sizes(r["what"]) for r in record["rows"] if r["value"] is not None}
            if all(kind & alike for kind in kinds):
                assert order(record["scale"]) <= order(scale[place])


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim["id"])
def test_the_rows_of_a_difference_are_of_one_size(claim):
    other = [listed(claim[key]) for key in ("minus", "over") if key in claim]
    if not other or len(listed(claim["what"])) == len(other[0]) == 1:
        return  # one row each, which the claim names
    for record in RECORDS:
        if record["notebook"] in listed(claim["notebook"]):
            there = [row["what"] for row in record["rows"] if row["value"] is not None]
            first, second = (
                next((name for name in names if name in there), None)
                for names in (listed(claim["what"]), *other)
            )
            if first and second:
                sizes = [re.findall(r"n = (\d+)|after (\d+)", name) for name in (first, second)]
                assert sizes[0] == sizes[1] or "after 0" in second  # the untrained network


@pytest.fixture(scope="module")
def git():
    """What git prints, where the whole history is at hand."""

    def ask(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout

    if ask("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("needs the history")
    return ask


def versions(git, path):
    """(instant of the author, text) of each committed version of a file."""
    lines = git("log", "--full-history", "--format=%H %aI", "--", path).split("\n")
    for commit, date in (line.split() for line in lines if line):
        yield datetime.datetime.fromisoformat(date), git("show", f"{commit}:{path}")


def regions(text):
    """The region of each claim as it is written, without the seconds that a parser takes."""
    entry = r"^- id: (\S+)$(?:(?!^- id:).)*?^  region: (.*?)$"
    return dict(re.findall(entry, text, re.MULTILINE | re.DOTALL))


def day(since):
    return since.date() if isinstance(since, datetime.datetime) else since


def test_a_region_that_was_changed_has_the_day_of_the_change(git):
    now = regions(claims.FILE.read_text(encoding="utf-8"))
    since = {claim["id"]: day(claim["region_since"]) for claim in CLAIMS}
    assert set(now) == set(since)
    for date, text in versions(git, "book/claims.yaml"):
        for name, region in regions(text).items():
            if region != now.get(name, region):
                assert since[name] >= date.date(), name


def test_a_claim_that_had_seen_nothing_is_older_than_the_first_of_its_records(git):
    """A record that is made again has a new date; its earlier versions have the first."""
    first = {}
    blind = [claim for claim in MEASURED if not claim["seen_before"]]
    for name in {name for claim in blind for name in listed(claim["notebook"])}:
        named = f"notebooks/results/{name}--*.json"
        for path in set(git("log", "--format=", "--name-only", "--", named).split()):
            for _, text in versions(git, path):
                made = json.loads(text) if text else {"rows": []}
                for claim in blind:
                    if name in listed(claim["notebook"]) and made["rows"]:
                        if claims.measured(claim, made) is not None:
                            first.setdefault(claim["id"], []).append(made["date"])
    for claim in blind:
        since = claim["region_since"]
        exact = isinstance(since, datetime.datetime)
        for date in map(datetime.datetime.fromisoformat, first.get(claim["id"], [])):
            assert since < (date if exact else date.date()), claim["id"]


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


def test_a_claim_of_two_notebooks_has_a_line_for_the_records_of_each():
    """Of one data set too, in the order of the data and of the claim's list."""
    there = [
        record([("a", 3.0, 2.5, 3.5)], data="cifar10", notebook="lira_stored"),
        record(ROWS, scale="default", notebook="lira_stored"),
        record(ROWS),
        record([("a", 3.0, 2.5, 3.5)], scale="default"),
        record([("a", 0.5, 0.4, 0.6)], data="mnist", notebook="other"),
    ]
    expected = [
        ("cifar10", "lira_stored", "paper", "refuted"),
        ("digits", "lira", "paper", "confirmed"),
        ("digits", "lira_stored", "default", "confirmed"),
    ]
    for records in (there, there[::-1]):
        lines = claims.evaluate([claim(notebook=["lira", "lira_stored"])], records)
        found = lines[["data", "notebook", "scale", "verdict"]]
        assert [*found.itertuples(index=False, name=None)] == expected
    (nothing,) = claims.evaluate([claim(notebook=["lira", "b"], what="z")], there).itertuples()
    assert (nothing.notebook, nothing.data, nothing.verdict) == ("lira", "", "not measured")


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


def test_a_row_that_was_not_made_because_a_rate_is_not_resolved_leaves_the_claim_undecided():
    made = record([("b", 0.5, 0.0, 0.6), ("c", 0.7, 0.6, 0.8)])
    ratio = claim(what="b over c", needs=["b", "c"])
    assert claims.measured(ratio, made) is None  # both are resolved, and nobody made the ratio
    made["rows"][0]["note"] = "n: examples; not resolved"
    assert math.isnan(claims.measured(ratio, made).value)
    assert claims.measured(claim(what="b over c"), made) is None
    (line,) = claims.evaluate([ratio], [made]).itertuples()
    assert (line.data, line.verdict) == ("digits", "undecided")
    made["rows"].append(dict(zip(("what", "value", "low", "high"), ("b over c", 1.5, 1.2, 1.8))))
    assert claims.measured(ratio, made) == Estimate(1.5, 1.2, 1.8)


def test_what_a_row_cannot_tell_is_undecided_and_says_why():
    """Whichever side of the region the row lies on; on other data sets nothing changes."""
    why = {"digits": "the network learned nothing"}
    records = [record([("a", 5.0, 4.9, 5.1)], data=name) for name in ("digits", "mnist")]
    for region, elsewhere in (((4, 6), "confirmed"), ((0, 1), "refuted")):
        asked = claim(region=region, cannot_say=why)
        found = claims.evaluate([asked], records).set_index("data")
        assert found.verdict.to_dict() == {"digits": "undecided", "mnist": elsewhere}
        assert found.left_open.to_dict() == why | {"mnist": ""}


def test_a_data_set_that_cannot_tell_is_one_that_is_asked():
    for claim in MEASURED:
        for name, why in claim.get("cannot_say", {}).items():
            assert name in asked_of(claim), (claim["id"], name)
            assert len(why) > 20 and not why.endswith(".")


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


MEASURED_BY = {"what": "AUC", "notebook": "lira", "data": "every", "scale": "largest"}


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
        ({"cannot_say": {"digits": ""}}, "cannot_say.digits.: given '', expected a reason"),
        (MEASURED_BY | {"notebook": []}, r"notebook: given \[\], expected a name"),
        (MEASURED_BY | {"notebook": [1]}, r"notebook: given \[1\], expected a name"),
        (MEASURED_BY | {"notebook": ["lira", "lira"]}, "expected .*a list of different names"),
        (MEASURED_BY | {"what": ["a", ["b"]]}, "what: given .*, expected a name"),
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


def test_a_ratio_of_what_may_be_below_zero_holds_all_that_both_allow():
    rows = [
        {"what": "a", "value": 0.1, "low": -0.5, "high": 0.7},
        {"what": "b", "value": 1.0, "low": 0.5, "high": 1.5},
        {"what": "c", "value": -2.95, "low": -3.0, "high": -2.9},
    ]
    found = claims.measured({"what": "a", "over": "b"}, {"rows": rows})
    assert np.allclose(found, [0.1, -1, 1.4])
    found = claims.measured({"what": "c", "over": "b"}, {"rows": rows})
    assert np.allclose(found, [-2.95, -6, -2.9 / 1.5])


def test_the_first_of_two_rows_of_one_name_counts():
    rows = [{"what": "a", "value": v, "low": v, "high": v} for v in (1.0, 2.0)]
    assert claims.measured({"what": "a"}, {"rows": rows}).value == 1


@pytest.mark.parametrize(
    "change, message",
    [
        ({"scale": "papr"}, "scale: given 'papr', expected largest"),
        ({"data": "cifar100"}, "data: given 'cifar100', expected every"),
        ({"computed": True, "minus": "b"}, "computed with minus or over"),
    ],
)
def test_what_would_decide_nothing_or_the_wrong_thing_is_refused(change, message):
    entry = dict(CLAIMS[0]) | {"region": [0, 1]} | change
    entry.pop("number", None)
    with pytest.raises(ValueError, match=message):
        claims._check("claims[a]", entry)


def test_a_tenth_is_attacked_where_the_claims_on_long_et_al_are_asked():
    """An attack on a share v alone has a balanced accuracy of 1/2 + v/2 at most."""
    name, most = "comparison: balanced accuracy, Long et al.", {}
    for record in RECORDS:
        if record["notebook"] in ("lira", "lira_stored"):
            (row,) = [row for row in record["rows"] if row["what"].startswith(name)]
            most[record["data"], record["scale"]] = row["value"]
    assert len(most) == 10
    assert 0.5 < min(most.values()) and max(most.values()) <= 0.55
