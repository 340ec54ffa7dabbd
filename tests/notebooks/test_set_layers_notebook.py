"""The experiment notebook set_layers writes every row that its records have, gives every test the
same sets, has nothing to find in its controls, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import results

CHECKED, DRAWN, TESTED = 3, 4, 10  # code cells until the checks, the records, the sets

SMALL = {"n_shadow": 6, "n_targets": 2, "n_learned": 2, "epochs": 1, "hidden": [4]}
SMALL |= {"draws": 1, "level_draws": 1, "n_steps": 1, "n_permutations": 19}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    given = "set_layers", "synthetic-purchase", "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, **SMALL) == []


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIA_RUNS", str(tmp_path_factory.mktemp("runs")))
        small = SMALL | {"n_examples": 400, "set_sizes": [50], "n_targets": 3}
        yield begin("set_layers", TESTED, **small)


def test_a_representation_is_what_the_network_made_of_the_record(space):
    seen, made = space["seen"][1], space["inside"][1]
    assert [array.shape[0] for array in seen.values()] == [400] * 8
    np.testing.assert_allclose(seen["last"], made["logits"])
    np.testing.assert_allclose(seen["second-to-last"], made["layer"])
    own = np.exp(made["logits"] - made["logits"].max(1, keepdims=True))
    own /= own.sum(1, keepdims=True)
    np.testing.assert_allclose(seen["confidences"], own, atol=1e-6)
    np.testing.assert_allclose(seen["sorted confidences"], np.sort(own, axis=1), atol=1e-6)
    right = own[np.arange(400), space["y"]]
    np.testing.assert_allclose(seen["loss"][:, 0], -np.log(right), atol=1e-4)
    # the last layer reads the one before it: its outputs are an affine function of that
    ones = np.c_[made["layer"], np.ones(400)].astype(float)
    fit, *_ = np.linalg.lstsq(ones, made["logits"].astype(float), rcond=None)
    np.testing.assert_allclose(ones @ fit, made["logits"], atol=1e-4)


def test_sets_are_of_the_sides_that_they_are_said_to_be(space):
    masks = space["masks"]
    a, b = space["pair"](2, 50, np.random.default_rng(0), "members")
    assert not masks[2, a].any() and masks[2, b].all() and len(a) == len(b) == 50
    a, b = space["pair"](2, 50, np.random.default_rng(0), "none")
    assert not masks[2, a].any() and not masks[2, b].any() and not set(a) & set(b)


def test_the_second_control_asks_another_network_which_has_half_of_either_set(space):
    through, drawn = [], []

    def spy(k, a, b, rng):
        through.append(k)
        drawn.append((space["masks"][:, a].mean(1), space["masks"][:, b].mean(1)))
        return {"one": 0.5}

    for k in space["TARGETS"]:
        space["asked"](spy, "another", 50, 1, k)
    assert through == [1, 2, 0]
    for k, other, (outside, inside) in zip(space["TARGETS"], through, drawn):
        assert outside[k] == 0 and inside[k] == 1
        assert outside[other] == inside[other] == 0.5


@pytest.mark.parametrize(("dataset", "scale"), cases("set_layers"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("set_layers", CHECKED, **values("set_layers", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 100),
        ("n_shadow", 5),
        ("n_targets", 17),
        ("n_learned", 9),
        ("first_target", -1),
        ("set_sizes", [50, 40]),
        ("set_sizes", [19]),
        ("n_steps", 0),
        ("draws", 0),
        ("alpha", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^(n_learned, )?{name}.*: given .*, expected "):
        begin("set_layers", CHECKED, **{name: value})


def test_sets_that_the_records_do_not_fill_are_refused():
    with pytest.raises(ValueError, match="n_examples: given 300 records, expected at least 400"):
        begin("set_layers", DRAWN, n_examples=300, set_sizes=[100])


def test_what_the_page_says_of_mnist():
    """The sentences about the recorded networks of MNIST."""
    (record,) = results.find(notebook="set_layers", data="mnist", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    insides = "last", "second-to-last", "confidences"
    for name in insides:
        learned, within = (
            rows[f"power, {name}, {how}, n = 1000"] for how in ("learned", "within classes")
        )
        assert learned["low"] <= 0.05 and 0.1 < within["value"] < 1 / 3
    plain = rows["power, loss, plain, n = 1000"]
    assert plain["low"] > rows["power, loss, within classes, n = 1000"]["high"]
    assert all(
        plain["low"] > rows[f"power, {name}, within classes, n = 1000"]["high"] for name in insides
    )
    assert rows["power, likelihood ratio, plain, n = 1000"]["low"] > 0.9
