"""A run of a notebook: what its parameters are, what they may be, what is kept and written."""

import json

import numpy as np
import pytest

from mia_lib import experiment, results
from mia_lib.intervals import Estimate

USUAL = {"dataset": "digits", "delta": 0.1, "seed": 3, "n_seeds": 1, "scale": "smoke"}


def begun(**values):
    """A run and the names that its parameters cell has set."""
    space = {"__name__": "__main__", "np": np}
    run = experiment.begin("toy", space)
    space |= USUAL | {"run": run, "_i2": "a text of IPython's", "KINDS": ("a",)} | values
    run._space = space
    return run


def checked(ranges=None, **values):
    run = begun(**values)
    run.check(**(ranges or {}))
    return run


def test_parameters_are_what_came_after_the_beginning():
    run = checked({"n": experiment.whole(1)}, n=5, n_seeds=2)
    assert run.parameters == USUAL | {"n": 5, "n_seeds": 2} and run.seeds == [3, 4]


def test_a_run_without_n_seeds_has_one():
    run = begun()
    del run._space["n_seeds"]
    run.check()
    assert run.seeds == [3]


def test_every_parameter_has_a_range_and_every_range_a_parameter():
    with pytest.raises(ValueError, match="ranges: given none of 'n'"):
        checked(n=5)
    with pytest.raises(ValueError, match="ranges: given one of 'n'"):
        checked({"n": experiment.whole(1)})


@pytest.mark.parametrize(
    "values, message",
    [
        ({"dataset": "mars"}, "dataset: given 'mars', expected one of 'digits'"),
        ({"delta": 1.0}, "delta: given 1.0, expected a number in"),
        ({"n": 0}, "n: given 0, expected a whole number of at least 1"),
    ],
)
def test_a_bad_value_ends_in_one_line(values, message):
    with pytest.raises(ValueError, match=message):
        checked({"n": experiment.whole(1)}, **({"n": 1} | values))


def test_a_range_of_ones_own_comes_before_the_usual_one():
    checked({"dataset": experiment.one_of("markov")}, dataset="markov")


def test_the_recipe_takes_the_parameters_of_its_fields():
    given = {"hidden": [8, 4], "epochs": 3, "device": "cpu", "augment": "none", "n": 1}
    ranges = {"augment": experiment.one_of("none", "weak"), "n": experiment.whole()}
    run = checked(ranges | {"precision": experiment.anything}, **given, precision="float64")
    recipe = run.recipe(n_classes=7, batch_size=5)
    assert (recipe.hidden, recipe.epochs, recipe.dtype) == ((8, 4), 3, "float64")
    assert (recipe.n_classes, recipe.batch_size, recipe.augment) == (7, 5, None)
    assert recipe.scale is None  # of the inputs, and not the name of the record's scale
    with pytest.raises(ValueError, match="hidden"):
        checked(hidden=[0]).recipe()
    with pytest.raises(ValueError, match="learning_rate"):
        checked(learning_rate=-1.0).recipe()


def test_what_is_kept_is_read_and_shown_over_seeds():
    run = checked(n_seeds=3)
    for value in (0.1, 0.2, 0.3):
        run.keep("L1", "a rate", Estimate(value, 0.0, 1.0))
        run.keep("L1", "a number", value, note="how it is made")
    assert run.figure("a rate") == experiment.over_seeds([0.1, 0.2, 0.3], 0.1)
    assert run.shown("a n").loc["a number", "ours"] == f"{run.figure('a number'):.3f}"
    assert list(run.shown().index) == ["a rate", "a number"]
    with pytest.raises(ValueError, match="what: given 'nothing'"):
        run.figure("nothing")


def test_figures_of_many_labels_stand_in_a_grid():
    run = checked()
    run.keep("L1", "AUC, game a, b", 0.5)
    run.keep("L1", "AUC, other", 0.7)
    run.keep("L1", "TPR at 1 %, game a, b", Estimate(0.1, 0.0, 0.2), note="< floor: too few")
    run.keep("L1", "AUC, game c", None)
    found = run.grid("game ", "TPR at 1 %", "AUC")
    assert list(found.index) == ["a, b", "c"] and list(found.columns) == ["TPR at 1 %", "AUC"]
    assert list(found.loc["a, b"]) == ["0.100 [0.000, 0.200] < floor", "0.500"]
    assert list(found.loc["c"]) == ["", "not measured"]
    run.keep("L2", "AUC, game d", 0.9)
    assert list(run.grid("", "AUC", id="L2").index) == ["game d"]
    assert list(run.shown("AUC", id="L2").index) == ["AUC, game d"]


def test_a_figure_that_one_seed_lacks_is_not_measured():
    run = checked(n_seeds=2)
    for found in (0.5, None):
        run.keep("L2", "AUC, game a", found)
    assert run.shown().loc["AUC, game a", "ours"] == "not measured"
    assert run.grid("game ", "AUC").loc["a", "AUC"] == "not measured"
    assert run.rows(10)[0]["value"] is None


def test_the_papers_numbers_may_come_with_the_rows():
    run = checked()
    run.keep("L1", "a rate", 0.1)
    run.keep("L1", "a number", 0.2, paper=0.3, where="Table I")
    rate, number = run.rows(5, paper={"a rate": (0.4, "Table II"), "nothing": (0.5, "Table V")})
    assert (rate["paper"], rate["where"]) == (0.4, "Table II")
    assert (number["paper"], number["where"]) == (0.3, "Table I")


def test_rows_of_one_seed():
    run = checked()
    run.keep("L1", "a rate", Estimate(0.1, 0.0, 1.0), note="a word", paper=0.2, where="Table I")
    run.keep("L1", "a number", 0.5)
    run.keep("L2", "one of its own", 0.5, n=3)
    run.keep("L2", "not measured", None, note="no time")
    first, second, third, last = run.rows(40, "records")
    wanted = {"id": "L1", "value": 0.1, "low": 0.0, "high": 1.0, "n": 40, "paper": 0.2}
    assert first.items() >= (wanted | {"where": "Table I"}).items()
    assert first["note"] == "n: records, bootstrap over them; a word"
    assert (second["low"], second["note"]) == (None, "n: records")
    assert (third["n"], third["note"]) == (3, "")
    assert (last["value"], last["low"], last["note"]) == (None, None, "n: records; no time")


def test_rows_of_several_seeds():
    run = checked(n_seeds=2)
    run.keep("L1", "the same for all", 0.5)
    for value in (0.1, 0.3):
        run.keep("L1", "a rate", value, note="a word")
    same, rate = run.rows(40, "records")
    assert (same["n"], same["low"], same["note"]) == (None, None, "")
    assert (rate["n"], rate["value"]) == (2, pytest.approx(0.2)) and rate["low"] < 0.1
    assert rate["note"] == "n: seeds, t interval of their mean; a word"


def test_the_record_says_what_it_was_made_from(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MIA_RESULTS", str(tmp_path))
    run = checked({"n": experiment.whole(1)}, n=5)
    run.keep("L1", "a rate", Estimate(0.1, 0.0, 1.0))
    x = np.arange(6.0)
    table = run.write(run.rows(6), x, x)
    assert run.written == tmp_path / "toy--digits--smoke.json"
    record = json.loads(run.written.read_text())
    assert record["parameters"] == USUAL | {"n": 5} and record["seed"] == 3
    assert record["hashes"]["data"] == results.hash_arrays(x, x) and record["device"] == "cpu"
    assert 0 <= record["seconds"] < 60
    assert list(table["what"]) == ["a rate"] and "1 rows in toy" in capsys.readouterr().out
    run.write(run.rows(6), data="file")
    assert json.loads(run.written.read_text())["data"] == "file"
