"""The experiment notebook lira_variants writes every row that its record has, attacks a target with
references of other numbers, as many on either side, stands the paper's numbers where they belong,
and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values

from mia_lib import claims, lira, metrics, results

CHECKED, ATTACKED = 3, 8  # code cells until the checks, the attack


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    given = "lira_variants", "cifar10", "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, n_examples=1000) == []


@pytest.fixture(scope="module")
def space():
    return begin("lira_variants", ATTACKED, n_examples=600)


def test_recipes_of_a_frame_share_networks_and_images(space):
    most, few, stored = space["most"], space["few"], space["stored"]
    assert most.numbers.tolist() == [*range(5), *range(6, 16)] and most.each == 6
    assert few.numbers.tolist() == [0, 1, 2, 3, 4, 6, 7] and few.each == 2
    assert most.member.shape == (15, 600) and 300 < few.member.shape[1] < 600
    for frame, recipe, file in ((most, "half width", "half"), (few, "Adam", "adam")):
        assert frame.member.sum(axis=0).min() >= 3 and (~frame.member).sum(axis=0).min() >= 3
        for place, number in enumerate(frame.numbers):
            row = stored[file].models.tolist().index(number)
            expected = stored[file].phi[row, -1, frame.rows].astype(float)
            np.testing.assert_array_equal(frame.phi(recipe)[place], expected)
            np.testing.assert_array_equal(frame.member[place], stored[file].member[row, frame.rows])
    early = most.phi("3 epochs")[0]
    np.testing.assert_array_equal(early, stored["base"].phi[0, 0, most.rows].astype(float))


def test_references_are_of_the_guess_without_the_target_s_number(space):
    """By hand for one target: the guess's networks but its own and the first of the other side,
    six a side, and the target's own signal.
    """
    most, s = space["most"], 4
    found = space["guessed"]("stored recipe", "half width")[s]
    target, shadow = most.phi("stored recipe")[s], most.phi("half width")
    own = {True: [], False: []}
    for i in range(len(target)):
        for side in own:
            rows = np.flatnonzero(most.member[:, i] == side).tolist()
            rows.remove(s) if most.member[s, i] == side else rows.pop(0)
            own[side].append(rows[:6])
    rows = np.concatenate([np.array(own[side]).T for side in (True, False)])
    kept = np.take_along_axis(shadow, rows, axis=0)
    inside = np.repeat([True, False], 6)[:, None] & np.ones(len(target), bool)
    expected = lira.online(target, kept, inside, variance="global")
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_right_guess_finds_more_than_chance_and_the_number_of_references_nothing(space):
    most = space["most"]
    found = space["guessed"]("no augmentation", "no augmentation")
    assert metrics.roc(found, most.member).auc > 0.75
    order = np.random.default_rng(0).permutation(len(most.rows))
    inside = most.member[:, order]
    nobody = space["guessed"]("no augmentation", "no augmentation", most, inside)
    assert abs(metrics.roc(nobody, inside).auc - 0.5) < 0.05


def test_the_record_has_the_paper_s_numbers_and_what_the_claims_ask():
    record = results.read(NOTEBOOKS / "results" / "lira_variants--cifar10--paper.json")
    rows = {row["what"]: row for row in record["rows"]}
    said = {what: row["paper"] for what, row in rows.items() if row["paper"] is not None}
    name = "TPR at FPR 0.1 %, queries {}, online, per-example variance"
    assert said == {name.format(q): p for q, p in ((1, 0.056), (2, 0.075), (18, 0.084))}
    asked = [claim for claim in claims.load() if claim.get("notebook") == "lira_variants"]
    assert len(asked) == 21
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
