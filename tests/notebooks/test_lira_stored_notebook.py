"""The experiment notebook lira_stored writes every row that its records have, reads images that are
in exactly half of the networks, stands the paper's numbers where they belong, and refuses bad
values.
"""

import re

import numpy as np
import pytest
from notebook_runs import NOTEBOOKS, begin, cases, missing_rows, values

from mia_lib import lira, results

CHECKED, READ, TABLES = 3, 6, 11  # cells until the checks, the frames, the numbers of the paper


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    """But for those of the attacks that need the images and the networks themselves."""
    small = {"n_examples": 300, "images": False, "networks": False}
    missing = missing_rows("lira_stored", "cifar10", "paper", here / "MIA_RESULTS", **small)
    apart = ("quantile regression, stored outputs", "MERLIN, stored outputs")
    assert [what for _, what in missing if not what.endswith(apart)] == []


@pytest.fixture(scope="module")
def space():
    return begin("lira_stored", TABLES, n_shadow=6, sizes=[6], n_examples=500)


def test_every_image_is_in_exactly_half_of_the_networks(space):
    for frame, count in ((space["frame"], 500), (space["kept"], len(space["fits"]))):
        assert frame.member.shape == frame.phi.shape == (6, count)
        assert (frame.member.sum(axis=0) == 3).all()
        np.testing.assert_allclose(frame.log_p, -np.log1p(np.exp(-frame.phi)), atol=1e-12)
    kept = space["kept"]
    right = np.take_along_axis(kept.logits, kept.y[None, :, None], -1)[..., 0]
    others = np.where(np.arange(10) == kept.y[:, None], -np.inf, kept.logits)
    largest = others.max(-1)
    of_others = largest + np.log(np.exp(others - largest[..., None]).sum(-1))
    np.testing.assert_allclose(kept.phi, right - of_others, atol=0.05)  # both are float16


def test_offline_with_one_spread_ranks_as_calibrated_confidence_does(space):
    """So no rungs of the ladder have been exchanged: one spread for all changes no order."""
    frame, attack = space["frame"], space["attacks"].difficulty_calibration
    scores = lira.leave_one_out(frame.phi, frame.member, lira.offline, variance="global")
    plain = lira.leave_one_out(frame.phi, frame.member, attack)
    for one, other in zip(scores, plain):
        order = np.argsort(other, kind="stable")
        assert (np.diff(one[order]) >= -1e-9).all() and np.ptp(one) > 1


def test_numbers_of_the_paper_by_literals(space):
    said = {
        ("LOSS", "TPR at 0.1 %"): (0.0, "Table I"),
        ("Sablayrolles et al.", "TPR at 0.1 %"): (0.017, "Table I"),
        ("Watson et al.", "balanced accuracy"): (0.591, "Table I"),
        ("Long et al.", "TPR at 0.1 %"): (0.022, "Table I"),
        ("LiRA online", "TPR at 0.1 %"): (0.056, "Table III, one query"),
        ("LiRA online", "balanced accuracy"): (0.638, "Table I, 18 queries"),
        ("LiRA online", "TPR at 0.001 %"): (0.01, "Table III, one query"),
        ("Watson et al.", "TPR at 0.001 %"): (0.001, "Table I"),
    }
    for (name, column), (value, where) in said.items():
        assert space["in_paper"](name, column) == {"paper": pytest.approx(value), "where": where}
    for name, column in (("RMIA", "TPR at 0.1 %"), ("LOSS", "TPR at 1 %"), ("LOSS", "AUC")):
        assert space["in_paper"](name, column) == {}
    assert space["in_paper"]("Ye et al.", "TPR at 0.1 %") == {}  # the paper has a dash


def test_the_record_holds_both_data_sets_and_its_control():
    for name in ("cifar10", "cifar100"):
        record = results.read(NOTEBOOKS / "results" / f"lira_stored--{name}--paper.json")
        rows = {row["what"]: row for row in record["rows"]}
        nobody = rows["AUC, LiRA online, membership of another image"]
        assert nobody["low"] - 0.005 < 0.5 < nobody["high"] + 0.005
        assert rows["comparison: AUC, RMIA"]["low"] > 0.6


@pytest.mark.parametrize(("dataset", "scale"), cases("lira_stored"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("lira_stored", CHECKED, **values("lira_stored", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_shadow", 7),
        ("n_shadow", 4),
        ("n_examples", 199),
        ("compared_at", [0.01, 0.001]),
        ("compared_at", [0.0]),
        ("sizes", [18]),
        ("sizes", [7]),
        ("sizes", [16, 8]),
        ("images", 1),
        ("networks", "yes"),
        ("merlin_targets", 1),
        ("merlin_copies", 0),
        ("delta", 0.0),
        ("seed", -1),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("lira_stored", CHECKED, **{name: value})


def test_more_networks_than_are_stored_are_refused():
    with pytest.raises(ValueError, match="n_models: given 1000, expected"):
        begin("lira_stored", READ, n_shadow=1000, sizes=[8])


def test_below_64_networks_one_spread_is_nowhere_seen_behind():
    """What *What the attack needs* tells an auditor, in every record of either notebook."""
    form = r"(TPR at FPR .* %, LiRA .*), global variance, (\d+) models"
    asked, behind = set(), set()
    for run in [*results.find(notebook="lira"), *results.find(notebook="lira_stored")]:
        rows = {row["what"]: row for row in run["rows"]}
        for what, row in rows.items():
            found = re.fullmatch(form, what)
            each = found and rows[f"{found[1]}, per-example variance, {found[2]} models"]
            if found and None not in (row["high"], each["low"]):
                asked.add(int(found[2]))
                behind |= {int(found[2])} if row["high"] < each["low"] else set()
    assert {8, 16, 32, 64} <= asked and min(behind) == 64
