"""The experiment notebook more_data writes every row that its record has, trains every size for the
same number of steps on exact halves, finds the slope of worlds whose slope is known and nothing
where there is nothing, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values
from scipy import stats

from mia_lib import claims, compare, results
from mia_lib.train import batches

TINY = {"sizes": [4, 6, 8], "n_draws": 2, "n_models": 16, "steps": 2, "scale": "smoke"}


def checked(**given):
    """The notebook up to its checks."""
    return begin("more_data", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    small = {"n_draws": 2, "n_models": 16, "steps": 2, "n_seeds": 1}
    folder = here / "MIA_RESULTS"
    assert missing_rows("more_data", "digits", "paper", folder, **small) == []


@pytest.mark.parametrize("data_set", ["digits", "mnist", "synthetic-purchase"])
def test_five_sizes_and_a_verdict_on_each_data_set(data_set):
    record = results.read(NOTEBOOKS / "results" / f"more_data--{data_set}--paper.json")
    assert len(record["parameters"]["sizes"]) >= 5
    (claim,) = [one for one in claims.load() if one["id"] == "power-law"]
    assert claims.measured(claim, record).low is not None
    # the verdict rests on no floor
    (floored,) = [row for row in record["rows"] if row["what"].startswith("sizes that entered")]
    assert floored["value"] == 0


def test_every_size_trains_for_the_same_steps_on_the_same_number_of_each_class(here):
    space = begin("more_data", 10, **TINY | {"steps": 7})
    made, own = [], space["run"].recipe

    def spied(**changes):
        made.append(own(**changes))
        return made[-1]

    space["run"].recipe = spied
    for place, size in enumerate((4, 6, 8)):
        found = space["trained"](space["source"](0), size, 0, 0)
        member, y = found["member"], found["y"]
        assert found["phi"].shape == member.shape == (16, 2 * size * 10)
        for k in range(10):
            assert (member[:, y == k].sum(axis=1) == size).all()
        assert batches.step_count(made[place], 10 * size) == 7


def test_halves_have_both_margins_and_do_not_depend_on_the_class():
    space = begin("more_data", 9, **TINY)
    rng, y = np.random.default_rng(0), np.repeat(np.arange(10), 12)
    member = space["masks"](y, rng)
    assert (member[:8].sum(axis=0) == 4).all() and (member[8:].sum(axis=0) == 4).all()
    assert (member.reshape(16, 10, 12).sum(axis=2) == 6).all()
    often = np.mean([space["exact_halves"](8, y, rng) for _ in range(300)], axis=0)
    assert often == pytest.approx(np.full(often.shape, 0.5), abs=0.17)  # five spreads and more


def test_fresh_records_suffice_for_each_class(here):
    space = begin("more_data", 8, **TINY | {"dataset": "synthetic-purchase"})
    rng = np.random.default_rng(1)
    taken = space["source"](0)
    x, y = space["evenly_drawn"](taken, 10, rng)
    assert (np.bincount(y) == 10).all() and len(x) == 300
    again, _ = space["evenly_drawn"](taken, 10, rng)
    assert not (x == again).all()


def test_the_gain_against_a_loop():
    space, rng = begin("more_data", 6, **TINY), np.random.default_rng(2)
    inside, outside = rng.normal(1, 1, 300), rng.normal(size=450)
    passed = [cut for cut in outside if np.mean(outside > cut) <= 0.01]
    expected = np.mean(inside > min(passed)) - np.mean(outside > min(passed))
    assert space["gain"](inside, outside) == pytest.approx(expected)


@pytest.mark.simulation
def test_the_toy_is_that_of_means_of_records():
    space, rng, n = begin("more_data", 6, **TINY), np.random.default_rng(3), 16
    others = rng.normal(size=(200_000, n))
    inside = (others[:, 1:].sum(axis=1) + space["RECORD"]) / n
    found = [
        space["gain"](*pair)
        for pair in ((inside, others.mean(axis=1)), space["answers_of_means"](n, rng))
    ]
    assert found == pytest.approx([space["in_closed_form"](n)] * 2, abs=0.006)


@pytest.mark.simulation
def test_worlds_with_a_known_slope_and_with_nothing(here):
    """Signals whose distance is 3 / sqrt(size), in place of trained models."""
    sizes = [4, 8, 16]
    space = begin("more_data", 13, **TINY | {"sizes": sizes, "n_models": 32})
    rng, y = np.random.default_rng(4), np.repeat(np.arange(10), 80)
    for size in sizes:
        for draw in range(2):
            member = space["masks"](y, rng)
            phi = rng.normal(size=member.shape) + rng.normal(size=len(y))
            phi += 3 / np.sqrt(size) * member
            space["FOUND"][0, size, draw] = {"phi": phi, "member": member, "y": y}
    by = [space["at_size"](0, size) for size in sizes]
    law = compare.power_law(sizes, [one["distance"] for one in by], 1e-3)
    assert law.slope.value == pytest.approx(-0.5, abs=0.03)
    z = stats.norm.isf(0.01)
    for size, one in zip(sizes, by):  # 32 models know a distance less well than whoever is told it
        known = stats.norm.cdf(3 / np.sqrt(size) - z) - 0.01
        assert 0.6 * known < one[""].mean() < 1.1 * known
    assert max(abs(one["shuffled membership"].mean()) for one in by) < 0.005


@pytest.mark.parametrize(("data_set", "scale"), cases("more_data"))
def test_every_choice_of_parameters_passes_the_checks(data_set, scale):
    checked(**values("more_data", data_set, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "location30"),
        ("sizes", [1, 2, 3]),
        ("sizes", [5, 10, 88]),
        ("sizes", [10, 5, 20]),
        ("n_draws", 1),
        ("n_models", 18),
        ("steps", 0),
        ("batch_size", 51),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        checked(**{name: value})
