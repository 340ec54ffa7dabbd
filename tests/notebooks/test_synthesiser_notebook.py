"""The experiment notebook synthesiser writes every row that its records have, counts by hand what
its queries say, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values
from sklearn.metrics import roc_auc_score

from mia_lib import data, lira, results, shadow

CHECKED, SIZED = 3, 14  # code cells until the checks and until the sizes
HARDLY, WHOLE = ["DOMIAS of 10 components"], ["DOMIAS of 100 components"]
INSIDE = ("density, ARF", "density, ARF of large leaves")
SMALL = {"n_examples": 200, "sizes": [10, 60], "components": [5]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["synthetic-purchase"])
def test_every_row_of_the_record_has_its_place(here, name):
    sizes = [10, 30, 100, 300, 1_000, 3_000, 10_000]
    given = "synthesiser", name, "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, n_examples=100, sizes=sizes, components=[10, 100]) == []


@pytest.fixture(scope="module")
def space():
    return begin("synthesiser", SIZED, **SMALL)


def test_records_keep_half_of_the_tables_with_them(space):
    for tables in space["stored"].values():
        places, member = space["chosen"](tables, 3)
        assert len(np.unique(places)) == 200 and (member.sum(0) == 8).all()
        np.testing.assert_array_equal(member, tables.member[:, places])


def test_queries_are_what_their_names_say(space):
    """Columns that differ, by a loop over pairs; the density, and the ratio to the truth."""
    for called, tables in space["stored"].items():
        found, member = space["answers"][0, called]
        places, _ = space["chosen"](tables, 0)
        x, release = tables.x[places], tables.releases[3, :60]
        differ = (x[:, None] != release).sum(-1)
        differ += tables.labels[places][:, None] != tables.release_labels[3, :60]
        differ = np.sort(differ, axis=1)
        np.testing.assert_allclose(found["nearest"][3], -differ[:, 0], atol=1e-3)
        np.testing.assert_allclose(found["average of 3"][3], -differ[:, :3].mean(1), atol=1e-3)
        said = tables.log_density[3, places]
        possible = np.isfinite(said)
        np.testing.assert_allclose(found["density"][3][possible], said[possible], rtol=1e-6)
        least = tables.log_density[:, places]
        least = least[np.isfinite(least)].min() - 1
        np.testing.assert_allclose(found["density"][3][~possible], least, rtol=1e-6)
        about = tables.provenance["purchases"]
        mixture = data.synthetic_purchase(5, np.random.default_rng(100), **about).extra["mixture"]
        for i in np.flatnonzero(possible)[::40]:  # the mixture's own law, written out
            y = tables.labels[places[i]]
            each = np.prod(np.where(x[i] == 1, mixture.rates[y], 1 - mixture.rates[y]), axis=1)
            truth = np.log(mixture.class_weights[y] * (mixture.component_weights[y] * each).sum())
            ratio = found["density"][3, i] - truth
            assert found["exact ratio"][3, i] == pytest.approx(ratio, abs=1e-6)
        area = roc_auc_score(member[3], found["nearest"][3])
        assert 0.4 < area < 1


def test_the_nearest_of_a_larger_release_is_no_further(space):
    (tables, *_) = space["stored"].values()
    places = np.arange(50)
    found = space["by_size"](tables, places)
    assert found.shape == (2, 16, 50) and (found[1] >= found[0]).all()
    for j, size in enumerate((10, 60)):
        apart = (tables.x[:50, None] != tables.releases[5, :size]).sum(-1)
        apart += tables.labels[:50, None] != tables.release_labels[5, :size]
        np.testing.assert_allclose(found[j, 5], -np.sqrt(apart.min(1)), atol=1e-5)


def test_an_auc_and_what_a_record_moves_it_by_leaving_it_out(space):
    """The linear part of the change: exact for each group's share of the pairs."""
    rng = np.random.default_rng(4)
    signal, inside = rng.integers(0, 9, 60).astype(float), rng.random(60) < 0.4
    area, moves = space["influence"](signal, inside)
    assert area == pytest.approx(roc_auc_score(inside, signal)) and abs(moves.mean()) < 1e-12
    for i in range(60):
        kept = np.arange(60) != i
        without = roc_auc_score(inside[kept], signal[kept])
        mine = inside.sum() if inside[i] else (~inside).sum()
        share = mine / 60
        assert (area - without) * (mine - 1) / share == pytest.approx(moves[i])


def exposed_otherwise(rng, n):
    """Two signals of sixteen tables: exposed to a different extent, one of them by record."""
    member = shadow.half_masks(16, n, rng)
    base, extent = rng.normal(size=n), rng.exponential(1, n)
    one, two = (base + k * extent * member + rng.normal(size=(16, n)) for k in (2, 0.5))
    return one, two, member


@pytest.mark.slow
def test_the_interval_of_a_lead_covers(space):
    lead, rng = space["lead"], np.random.default_rng(5)
    truth = np.mean([lead(*exposed_otherwise(rng, 20_000)).value for _ in range(4)])
    found = [lead(*exposed_otherwise(rng, 200)) for _ in range(200)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.94
    # two signals that say the same of nobody: neither is ahead
    equal = []
    for _ in range(200):
        member = shadow.half_masks(16, 200, rng)
        equal.append(lead(*rng.normal(size=(2, 16, 200)), member))
    assert np.mean([one.low <= 0 <= one.high for one in equal]) >= 0.94


def test_the_size_of_the_release_decides_whether_records_are_called_exposed():
    """Of the 200 records that the page asks about, by the distance."""
    space = begin("synthesiser", SIZED, **SMALL | {"sizes": [1_000, 10_000]})
    tables = space["stored"]["ARF"]
    places, member = space["chosen"](tables, 0)
    few, many = (
        lira.exposed_records(signal, member, 0.1).exposed.mean()
        for signal in space["by_size"](tables, places)
    )
    assert few == 0 and many > 0.2


def beyond_the_law(rows, more, less):
    """Whether what was measured is above the law at the first sizes and below it at others."""
    rate, ceiling = (rows[f"{part} of the law, ARF"]["value"] for part in ("rate", "ceiling"))
    law = {n: ceiling * (1 - (1 - rate) ** n) for n in (*more, *less)}
    measured = {n: rows[f"advantage of {n} records, ARF"] for n in law}
    above = all(measured[n]["low"] > law[n] for n in more)
    return above and all(measured[n]["high"] < law[n] for n in less)


def test_what_the_pages_say_of_the_record():
    (record,) = results.find(notebook="synthesiser", data="synthetic-purchase", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    released = ["nearest", "average of 3", "ball score", *HARDLY, *WHOLE]
    for called in ("ARF", "ARF of large leaves"):
        inside, best = (rows[f"AUC, {name}, {called}"] for name in ("density", "exact ratio"))
        most = max(rows[f"AUC, {name}, {called}"]["high"] for name in released)
        assert most < inside["low"] and inside["high"] < best["low"]
        assert max(rows[f"AUC, {name}, {called}"]["value"] for name in HARDLY) < 0.51
    assert rows["AUC, exact ratio, ARF"]["low"] > 0.99
    ahead = "AUC of DOMIAS of {} components minus nearest, {}"
    assert rows[ahead.format(10, "ARF")]["high"] < 0 < rows[ahead.format(100, "ARF")]["low"]
    undecided = rows[ahead.format(100, "ARF of large leaves")]
    assert undecided["low"] < 0 < undecided["high"]
    exposed, control = (
        {
            what.removeprefix(start): row["value"]
            for what, row in rows.items()
            if what.startswith(start)
        }
        for start in ("share called exposed, ", "control share called exposed, ")
    )
    assert 0.2 < exposed["nearest, ARF"] < 0.3 and exposed["nearest, ARF of large leaves"] == 0
    assert 0.3 < exposed["DOMIAS of 100 components, ARF"] < 0.4
    assert min(value for name, value in exposed.items() if name in INSIDE) > 0.95
    assert len(control) == 6 and max(control.values()) < 0.005
    assert beyond_the_law(rows, (100, 300), (3_000,))
    assert rows["AUC of LiRA, density, ARF of large leaves"]["low"] > 0.9
    assert rows["AUC, density, ARF of large leaves"]["value"] == pytest.approx(0.57, abs=0.005)
    half = rows["records until advantage 0.1, ARF"]  # of 2,000 members
    assert half["low"] > 700 and half["high"] < 1_050
    for advantage in (0.05, 0.1, 0.2):
        what = f"records until advantage {advantage}, ARF of large leaves"
        assert rows[what]["value"] is None
    taught = {what: row["value"] for what, row in rows.items() if what.startswith("accuracy")}
    small, large = (
        taught[f"accuracy from release of 10000, {called}"]
        for called in ("ARF", "ARF of large leaves")
    )
    assert large < small - 0.15 and small < taught["accuracy from members, ARF"]
    tables = data.synthetic_tables("synthetic-purchase")
    rng = np.random.default_rng([0, 70])  # the records that were asked about, all tables together
    rows_of = np.sort(rng.permutation(4_000)[: record["parameters"]["n_examples"]])
    said = np.maximum(tables.log_density[:, rows_of], -1e9)
    area = roc_auc_score(tables.member[:, rows_of].ravel(), said.ravel())
    assert rows["AUC, density, ARF"]["value"] == pytest.approx(area, abs=1e-6)


def test_what_the_page_says_of_location30():
    (record,) = results.find(notebook="synthesiser", data="location30", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    released = ["nearest", "average of 3", "ball score", *HARDLY, *WHOLE]
    most = max(rows[f"AUC, {name}, ARF"]["high"] for name in released)
    assert most < rows["AUC, density, ARF"]["low"]
    assert rows["AUC, DOMIAS of 10 components, ARF"]["high"] < 0.5
    (other,) = results.find(notebook="synthesiser", data="synthetic-purchase", scale="paper")
    beside = {row["what"]: row for row in other["rows"]}
    what = "AUC of DOMIAS of 100 components minus nearest, ARF"
    assert rows[what]["low"] > beside[what]["high"] > 0
    assert rows["AUC, nearest, ARF"]["high"] < beside["AUC, nearest, ARF"]["low"] < 0.63
    assert 0.88 < rows["share called exposed, nearest, ARF"]["value"] < 0.95
    assert rows["control share called exposed, nearest, ARF"]["value"] < 0.005
    assert 0.55 < rows["share called exposed, DOMIAS of 100 components, ARF"]["value"] < 0.65
    assert beyond_the_law(rows, (30, 100, 300), (3_000,))
    assert rows["advantage of 100 records, ARF"]["low"] < 0.1
    assert rows["advantage of 100 records, ARF"]["high"] > 0.1
    tenth = rows["records until advantage 0.1, ARF"]  # of a thousand members
    assert 200 < tenth["low"] and tenth["high"] < 350
    assert rows["ceiling of the law, ARF"]["high"] < rows["advantage of 10000 records, ARF"]["low"]


def test_tables_that_are_not_there_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    with pytest.raises(data.DataError, match=r"no location30--arf.npz: .*scripts/synthesiser.py"):
        begin("synthesiser", CHECKED + 1, dataset="location30")


@pytest.mark.parametrize(("dataset", "scale"), cases("synthesiser"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("synthesiser", CHECKED, **values("synthesiser", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_examples", 99),
        ("n_reference", 199),
        ("sizes", [9]),
        ("sizes", [100, 30]),
        ("sizes", [10_001]),
        ("components", [0]),
        ("wanted", [1.0]),
        ("share", 0.0),
        ("delta", 1.0),
        ("seed", -1),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("synthesiser", CHECKED, **{name: value})
