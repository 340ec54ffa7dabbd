"""The experiment notebook bayes writes every row that its records have and refuses bad values."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from notebook_runs import NOTEBOOKS, begin, call, cases, missing_rows, values
from scipy import special, stats

from mia_lib import bayes, data, intervals, results

SMALL = {"n_examples": 120, "n_models": 2, "epochs": 2, "hidden": [8], "n_permutations": 19}


def checked(**given):
    """The notebook up to its checks."""
    return begin("bayes", 3, **given)


@pytest.mark.parametrize("scale", ["paper", "seeds"])
def test_every_row_of_the_record_has_its_place(here, scale):
    small = SMALL | {"n_seeds": 2 if scale == "seeds" else 1}
    assert missing_rows("bayes", "digits", scale, here / "MIA_RESULTS", **small) == []


def test_two_scales_of_one_ranking_are_certified_alike(here):
    """Cells of equal mass see the order alone, bins of equal width the scale; and a risk file."""
    two = {"queries": ["logit_confidence", "cross_entropy"], "metric": "ppv", "bins": 10}
    assert call("bayes", "digits", "smoke", **SMALL | two | {"n_examples": 300}) == 0
    record = results.read(here / "MIA_RESULTS" / "bayes--digits--smoke.json")
    rows = {row["what"]: row for row in record["rows"]}

    def found(kind):
        both = [rows[f"{kind}, {name}"] for name in two["queries"]]
        return [[row[part] for part in ("value", "low", "high")] for row in both]

    for kind in ("certificate: sign split", "certificate: best threshold"):
        first, second = found(kind)
        assert first == pytest.approx(second, abs=1e-12)
    first, second = found("bins of equal width: sign split")
    assert first != second
    assert {"ppv, optimal, cross_entropy", "ppv, heuristic, cross_entropy"} <= set(rows)
    file = next((here / "MIA_RUNS").glob("bayes--digits--smoke--risk.npz"))
    with np.load(file) as stored:
        assert stored["risk"].shape == stored["member"].shape == (2, 300)
        assert (stored["low"] <= stored["risk"]).all() and (stored["risk"] <= stored["high"]).all()


@pytest.mark.parametrize(("data", "scale"), cases("bayes"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("bayes", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 3),
        ("member_fraction", 1.0),
        ("n_models", 1),
        ("queries", []),
        ("queries", ["outputs"]),
        ("n_components", 0),
        ("bins", 1),
        ("bins_per_axis", 1),
        ("bandwidth", -1.0),
        ("prior", 0.0),
        ("metric", "auc"),
        ("coefficients", ["1"]),
        ("delta", 1.0),
        ("epsilons", [-1.0]),
        ("dp_delta", 1.0),
        ("n_permutations", 18),
        ("seed", -1),
        ("n_seeds", 0),
        ("model", "lstm"),
        ("learning_rate", 0.0),
        ("device", "tpu"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})


@pytest.mark.parametrize(("metric", "count"), [("weighted_accuracy", 4), ("custom", 10)])
def test_a_metric_says_how_many_coefficients_it_has(metric, count):
    with pytest.raises(ValueError, match=f"^coefficients: given 3 numbers, expected {count} "):
        checked(metric=metric, coefficients=[1.0] * 3)
    found = begin("bayes", 4, metric=metric, coefficients=[1.0] * count)
    assert found["judged_by"] is not None


@pytest.fixture(scope="module")
def toys():
    return data.toy_classifiers()


def in_cells(signal, member):
    """W of one number by hand, in a hundred cells of one width."""
    edges = np.linspace(signal.min(), signal.max(), 101)
    shares = [np.histogram(signal[side], edges)[0] / side.sum() for side in (member, ~member)]
    return np.abs(shares[0] - shares[1]).sum() / 2


def test_the_rows_of_the_papers_own_network_are_what_the_file_says(toys):
    """Dead units, accuracy and the plug-in of output, unit and logit by counting."""
    (record,) = results.find(notebook="bayes", data="skin-lesions", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    assert not any(what.startswith("own network") for what in found_elsewhere())
    member = toys.member
    for rate in (1e-3, 1e-4):
        lives = [
            s for s in np.flatnonzero(toys.rates == rate) if (toys.units[s, -1] > 0).any(1).sum()
        ]
        at, leads = f"rate {rate:g}", []
        assert rows[f"own network: no living unit, {at}"]["value"] == 10 - len(lives)
        assert rows[f"own network: one living unit, {at}"]["value"] == len(lives)
        assert rows[f"own network: two living units, {at}"]["value"] == 0
        right = [((toys.logits[s, -1] > 0) == toys.cancerous)[member].mean() for s in lives]
        shown = rows[f"own network: accuracy on members, {at}"]
        assert shown["value"] == pytest.approx(np.mean(right)) and shown["n"] == len(lives)
        for s in lives:
            logit = toys.logits[s, -1].astype(float)
            unit = next(one for one in toys.units[s, -1].astype(float) if one.any())
            falls = np.corrcoef(unit, logit)[0, 1] < 0
            output = in_cells(1 / (1 + np.exp(-logit)), member)
            unit = in_cells(-unit if falls else unit, member)
            leads.append([unit - output, unit - in_cells(logit, member)])
        for what, lead in zip(("output", "logit"), np.mean(leads, axis=0)):
            row = rows[f"own network: plug-in W, units minus {what}, {at}"]
            # an edge may fall on a record, which rounding then puts on either side
            assert row["value"] == pytest.approx(lead, abs=2e-3)
            assert (row["low"] is None) == (len(lives) == 1)
            assert ("not resolved" in row["note"]) == (len(lives) == 1)


def found_elsewhere():
    """The rows of the other records of the notebook."""
    others = (r for r in results.find(notebook="bayes") if r["data"] != "skin-lesions")
    return {row["what"] for record in others for row in record["rows"]}


def section(toys, monkeypatch):
    """The cells of the paper's own network, on networks that are made up."""
    monkeypatch.setattr(data, "toy_classifiers", lambda: toys)
    content = json.loads((NOTEBOOKS / "bayes.ipynb").read_text(encoding="utf-8"))
    kept = {}
    run = SimpleNamespace(keep=lambda id, what, found, **said: kept.__setitem__(what, found))
    space = {"run": run, "np": np, "pd": pd, "special": special, "results": results}
    space |= {"bayes": bayes, "data": data, "intervals": intervals}
    space |= {"dataset": "skin-lesions", "delta": 0.05, "seed": 0}
    for cell in content["cells"]:
        if cell["cell_type"] == "code" and cell["id"].startswith("own-network"):
            exec(compile("".join(cell["source"]), "bayes", "exec"), space)
    return kept


def test_a_leak_of_the_order_is_found_held_out_and_no_unit_leads(monkeypatch):
    """Members have a larger unit in every trained network, by one standard deviation."""
    rng, member = np.random.default_rng(0), np.arange(900) < 300
    units = rng.normal(3, 1, (8, 2, 2, 900))
    units[:, 1, 0] = rng.normal(3 + member, 1, (8, 900))
    units[:, 1, 1] = 0
    units[:2, 1, 0] = 0  # two networks of each rate are silent
    units[4:6, 1, 0] = 0
    units = np.maximum(units, 0)
    logits = 2 * units[:, :, 0] - 1 * units[:, :, 1] - 1
    about = np.array([0, 5]), np.repeat([1e-3, 1e-4], 4), logits, units
    made = data.ToyClassifiers(*about, rng.random(900) < 0.2, member, np.arange(900), {})
    kept = section(made, monkeypatch)
    assert kept["own network: no living unit, rate 0.001"] == 2
    assert kept["own network: one living unit, rate 0.0001"] == 2
    truth = 2 * stats.norm.cdf(0.5) - 1
    for at in ("rate 0.001", "rate 0.0001"):
        for name in ("output", "units"):
            assert kept[f"own network: held out, {name}, {at}"].value == pytest.approx(truth, 0.2)
        lead = kept[f"own network: held out, units minus output, {at}"]
        assert lead.value == pytest.approx(0, abs=0.005)
        scale = kept[f"own network: plug-in W, units minus logit, {at}"]
        assert scale.value == pytest.approx(0, abs=0.005)
    # two units of a network that has learned nothing: more cells, and nothing held out
    assert kept["own network: plug-in W, units minus output, untrained"].low > 0.1
    for at in ("untrained", "no members"):
        for name in ("output", "units"):
            assert abs(kept[f"own network: held out, {name}, {at}"].value) < 0.06
