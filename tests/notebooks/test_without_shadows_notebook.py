"""The experiment notebook without_shadows writes every row that its record has, computes its
predictors and rankings as defined, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, call, cases, values

from mia_lib import results

TINY = {"n_examples": 100, "n_models": 8, "n_targets": 2, "n_draws": 20}
TINY |= {"trace_examples": 200, "trace_epochs": 4, "trace_models": 8}

QUICK = TINY | {"widths": [4], "lengths": [1, 2], "decays": [0.0], "scale": "smoke"}


def checked(**given):
    """The notebook up to its checks."""
    return begin("without_shadows", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    """On the data sets that need no download; those of the others have the same names."""
    record = results.read(NOTEBOOKS / "results" / "without_shadows--all--paper.json")
    grid = {name: record["parameters"][name] for name in ("widths", "decays", "smoothings")}
    lengths = dict(zip((1, 2, 3), record["parameters"]["lengths"]))
    assert call("without_shadows", "embedded", "smoke", **TINY | grid | {"lengths": [1, 2, 3]}) == 0
    made = results.read(here / "MIA_RESULTS" / "without_shadows--embedded--smoke.json")
    names = {row["what"] for row in made["rows"]}
    for short, long in lengths.items():
        names = {name.replace(f" {short} epochs", f" {long} epochs") for name in names}
    wanted = {row["what"] for row in record["rows"]}
    wanted = {what for what in wanted if "location30" not in what and "mnist" not in what}
    # an order needs settings that differ, which so small a run may not have
    assert {what for what in wanted - names if "rank correlation" not in what} == set()


def test_the_tail_of_the_loss_against_a_loop():
    space = begin("without_shadows", 6)
    rng = np.random.default_rng(0)
    log_p, member = -rng.exponential(size=700), rng.random(700) < 0.4
    inside, outside = sorted(log_p[member]), log_p[~member]
    passed = [cut for cut in inside if np.mean(log_p[member] >= cut) >= 0.99]
    expected = np.mean([value < max(passed) for value in outside])
    assert space["loss_tnr"](log_p, member) == pytest.approx(expected)


def test_the_top_is_of_members_and_of_the_right_size(here):
    space = begin("without_shadows", 18, **QUICK)
    rng = np.random.default_rng(1)
    inside, score = rng.random((3, 400)) < 0.5, rng.normal(size=(3, 400))
    top = space["on_top"](score, inside, 0.05)
    for s in range(3):
        order = sorted(np.flatnonzero(inside[s]), key=lambda i: -score[s, i])
        assert set(np.flatnonzero(top[s])) == set(order[: round(0.05 * inside[s].sum())])


def test_a_prediction_is_made_from_the_other_data_sets(here):
    space = begin("without_shadows", 11, **QUICK)
    x = np.exp(np.random.default_rng(2).uniform(-4, -1, (20, 3)).mean(axis=1, keepdims=True))
    y = 3 * x[:, 0] ** 0.5
    rest = np.arange(20) < 12
    assert space["factors"](np.repeat(x, 3, 1), y, rest) == pytest.approx(np.ones((8, 3)))
    twice = np.where(rest, y, 2 * y)
    assert space["factors"](np.repeat(x, 3, 1), twice, rest) == pytest.approx(np.full((8, 3), 2))


def test_there_are_sixty_settings_of_sixty_four_models():
    record = results.read(NOTEBOOKS / "results" / "without_shadows--all--paper.json")
    settings = [row for row in record["rows"] if row["what"].startswith("TPR at 1 %, LiRA, ")]
    assert len(settings) >= 60 and record["parameters"]["n_models"] == 64


@pytest.mark.parametrize(("data", "scale"), cases("without_shadows"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("without_shadows", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_examples", 99),
        ("widths", [0]),
        ("lengths", [3, 2]),
        ("decays", [-1.0]),
        ("smoothings", [1.0]),
        ("n_models", 9),
        ("n_targets", 17),
        ("trace_examples", 100),
        ("trace_epochs", 3),
        ("trace_models", 10),
        ("changed", 1.0),
        ("n_draws", 19),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        checked(**{name: value})
