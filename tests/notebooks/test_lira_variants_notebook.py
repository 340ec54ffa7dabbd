"""The experiment notebook lira_variants writes every row that its record has, attacks a target with
references of other numbers, as many on either side, stands the paper's numbers where they belong,
and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values

from mia_lib import claims, lira, metrics, results

CHECKED, ATTACKED = 3, 7  # code cells until the checks, the attack


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    given = "lira_variants", "cifar10", "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, n_examples=1000) == []


@pytest.fixture(scope="module")
def space():
    return begin("lira_variants", ATTACKED, n_examples=600)


def test_all_recipes_have_the_same_networks_and_images(space):
    member, rows, stored = space["member"], space["rows"], space["stored"]
    assert member.shape == (16, 600) and space["EACH"] == 7 and (member.sum(axis=0) == 8).all()
    files = {"half width": "half", "Adam": "adam", "no momentum": "sgd", "cutout": "cutout"}
    for recipe, file in files.items():
        expected = stored[file].phi[:, -1, rows].astype(float)
        np.testing.assert_array_equal(space["phi"](recipe), expected)
        np.testing.assert_array_equal(stored[file].member[:, rows], member)
    early = space["phi"]("3 epochs")[0]
    np.testing.assert_array_equal(early, stored["base"].phi[0, 0, rows].astype(float))


def test_references_are_of_the_guess_without_the_target_s_number(space):
    """By hand for one target: the guess's networks but its own and the first of the other side,
    seven a side, and the target's own signal.
    """
    member, s = space["member"], 4
    found = space["guessed"]("stored recipe", "half width")[s]
    target, shadow = space["phi"]("stored recipe")[s], space["phi"]("half width")
    own = {True: [], False: []}
    for i in range(len(target)):
        for side in own:
            rows = np.flatnonzero(member[:, i] == side).tolist()
            rows.remove(s) if member[s, i] == side else rows.pop(0)
            own[side].append(rows[:7])
    rows = np.concatenate([np.array(own[side]).T for side in (True, False)])
    kept = np.take_along_axis(shadow, rows, axis=0)
    inside = np.repeat([True, False], 7)[:, None] & np.ones(len(target), bool)
    expected = lira.online(target, kept, inside, variance="global")
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_right_guess_finds_more_than_chance_and_the_number_of_references_nothing(space):
    member = space["member"]
    found = space["guessed"]("no augmentation", "no augmentation")
    assert metrics.roc(found, member).auc > 0.75
    order = np.random.default_rng(0).permutation(len(space["rows"]))
    inside = member[:, order]
    nobody = space["guessed"]("no augmentation", "no augmentation", inside)
    assert abs(metrics.roc(nobody, inside).auc - 0.5) < 0.05


POOLS = 20  # code cells until the scores by pools


@pytest.mark.slow
def test_references_of_pools_have_never_seen_the_image():
    space = begin("lira_variants", POOLS, n_examples=500)
    there, pools = space["there"], space["pools"]
    for kind in space["KINDS"]:
        mine = pools[kind].member[:, there]
        for i in (0, 77, 499):
            first = np.flatnonzero(~mine[:, i])[:8]
            expected = pools[kind].phi[first, 0, there[i]].astype(float)
            np.testing.assert_array_equal(space["references"](kind)[:, i], expected)
    mean = space["references"]("disjoint").mean(axis=0)
    spread = (space["references"]("disjoint") - mean).std()
    found = space["by_pool"]("disjoint")[2]
    above = (space["targets"][2] - mean) / spread
    assert np.corrcoef(found.argsort().argsort(), above.argsort().argsort())[0, 1] > 1 - 1e-9


def test_the_record_has_the_paper_s_numbers_and_what_the_claims_ask():
    record = results.read(NOTEBOOKS / "results" / "lira_variants--cifar10--paper.json")
    rows = {row["what"]: row for row in record["rows"]}
    said = {what: row["paper"] for what, row in rows.items() if row["paper"] is not None}
    name = "TPR at FPR 0.1 %, queries {}, online, per-example variance"
    assert said == {name.format(q): p for q, p in ((1, 0.056), (2, 0.075), (18, 0.084))}
    asked = [claim for claim in claims.load() if claim.get("notebook") == "lira_variants"]
    assert len(asked) == 35
    assert all(rows[claim["what"]]["low"] is not None for claim in asked)


@pytest.mark.parametrize(("dataset", "scale"), cases("lira_variants"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("lira_variants", CHECKED, **values("lira_variants", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "cifar100"),
        ("n_examples", 499),
        ("n_examples", 10_001),
        ("delta", 0.0),
        ("seed", -1),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("lira_variants", CHECKED, **{name: value})
