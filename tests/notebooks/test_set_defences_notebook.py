"""The experiment notebook set_defences writes every row that its records have, chooses strengths on
networks that are not tested, gives every defence the same sets, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import results

CHECKED, DRAWN, TESTED = 3, 4, 24  # code cells until the checks, the records, the sets

SMALL = {"n_shadow": 6, "n_targets": 2, "n_pilots": 2, "epochs": 1, "hidden": [4]}
SMALL |= {"temperatures": [1.0], "l1_weights": [0.001], "stops": [0.5], "guard_steps": 1}
SMALL |= {"private_epochs": 1, "private_rates": [1.0], "draws": 1, "level_draws": 1}
SMALL |= {"n_steps": 1, "n_permutations": 19, "scale": "smoke"}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    # with all accuracy to lose, an epsilon is found among these networks that learn nothing
    given = SMALL | {"within": 0.99}
    given.pop("scale")
    missing = missing_rows("set_defences", "digits", "paper", here / "MIA_RESULTS", **given)
    assert missing == []


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIA_RUNS", str(tmp_path_factory.mktemp("runs")))
        small = SMALL | {"n_examples": 400, "n_reference": 40, "set_size": 30}
        yield begin("set_defences", TESTED, **small)


def test_training_sets_have_one_size_and_leave_out_the_owners_records(space):
    masks, pilots = space["MASKS"], space["PILOTS"]
    for some in (masks, pilots):
        assert (some.sum(1) == space["SIZE"]).all()
        assert not some[:, space["reference"]].any()
    assert not any((one == other).all() for one in masks for other in pilots)


def test_the_budget_of_dp_sgd_is_what_is_asked_for(space):
    fit = space["private"](2.0, 1.0)
    assert fit.public_size == space["SIZE"]
    assert fit.epsilon(12345, space["dp_delta"]) == pytest.approx(2.0, rel=1e-3)
    assert fit.guarantee(12345).epsilon(space["dp_delta"]) < 2.0


def test_memguard_keeps_labels_and_moves_nothing_of_the_owners(space):
    before, after = (space["made"][name]["logits"] for name in ("none", "memguard"))
    assert (before.argmax(-1) == after.argmax(-1)).all()
    own = space["reference"]
    said = before[:, own] - np.logaddexp.reduce(before[:, own].astype(float), -1, keepdims=True)
    np.testing.assert_allclose(after[:, own], said, atol=1e-5)
    assert "second-to-last" not in space["seen"]["memguard"][0]


def test_sets_are_of_the_sides_that_they_are_said_to_be(space):
    mask, own = space["MASKS"][1], space["reference"]
    for part, count in ((0.0, 0), (0.4, 12), (1.0, 30)):
        a, b = space["pair"](1, part, np.random.default_rng(0))
        assert len(a) == len(b) == len(set(b)) == 30 and not set(a) & set(b)
        assert not mask[a].any() and mask[b].sum() == count
        assert not own[a].any() and not own[b].any()


def test_every_defence_is_asked_about_the_same_sets(space):
    drawn = {"none": [], "l1": []}
    for name, rows in drawn.items():

        def spy(one, a, b, rng, rows=rows):
            rows.append((a.tolist(), b.tolist()))
            return {"one": rng.random()}

        space["asked"](spy, name, 0.4, 2, 0)
    assert drawn["none"] == drawn["l1"] and len(drawn["l1"]) == 2


@pytest.mark.parametrize(("dataset", "scale"), cases("set_defences"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("set_defences", CHECKED, **values("set_defences", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 100),
        ("n_reference", 19),
        ("n_shadow", 7),
        ("n_targets", 7),
        ("n_pilots", 1),
        ("within", 0.0),
        ("temperatures", []),
        ("l1_weights", [-1.0]),
        ("stops", [1.0]),
        ("budget", 2.1),
        ("epsilon", 0.0),
        ("epsilons", [3.0, 2.0]),
        ("private_rates", [0.0]),
        ("shares", [1.0]),
        ("set_size", 19),
        ("level_draws", 0),
        ("alpha", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("set_defences", CHECKED, **{name: value})


def test_sets_that_the_records_do_not_fill_are_refused():
    with pytest.raises(ValueError, match="n_examples: given 300 records, expected at least 500"):
        begin("set_defences", DRAWN, n_examples=300, n_reference=200, set_size=50)


def test_what_the_page_says_of_hr_mmd():
    """The sentences about records: where each HR-MMD is above its level, and that it is ahead of
    the means nowhere.
    """
    finds = {"none", "distillation", "memguard"}
    for name in ("digits", "mnist"):
        (record,) = results.find(notebook="set_defences", data=name, scale="paper")
        rows = {row["what"]: row for row in record["rows"]}
        for what, row in rows.items():
            if not what.startswith("power, HR-MMD, "):
                continue
            view, defence = what.removeprefix("power, HR-MMD, ").split(", ", 1)
            seen = name == "mnist" and view == "loss" and defence in finds
            assert (row["low"] > 0.05) == seen, (name, what)
            assert row["value"] > 0.5 or not seen, (name, what)
        for defence in ("none", "l1"):
            for part in (40, 50, 60, 70, 80, 90):
                form = f"TPR at FPR 10 %, {{}}, {part} % members, {defence}"
                means = [rows[form.format(f"mean, {one}")] for one in ("loss", "LiRA")]
                for view in ("confidences", "loss", "second-to-last"):
                    ours = rows[form.format(f"HR-MMD, {view}")]
                    assert all(ours["low"] <= mean["high"] for mean in means), (name, part, view)
            assert rows[form.format("HR-MMD, confidences")]["high"] < means[1]["low"], (
                name,
                defence,
            )
