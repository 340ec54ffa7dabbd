"""The experiment notebook bayes writes every row that its records have and refuses bad values."""

import numpy as np
import pytest
from notebook_runs import begin, call, cases, missing_rows, values

from mia_lib import results

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
