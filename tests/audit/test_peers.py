"""The records of other tools: their shape, that counts add up, and what is ours in them."""

import datetime
import json
from pathlib import Path

import numpy as np
import pytest
from simulations import peers, verdicts

from mia_lib import attacks, lira
from mia_lib.privacy import epsilon_lower_bound_f_dp, gaussian

COMPARED = json.loads(
    (Path(__file__).parents[2] / "book" / "comparison.json").read_text(encoding="utf-8")
)
GUARD = COMPARED["PrivacyGuard"]
SAID = json.loads(peers.RECORD.read_text(encoding="utf-8"))


def test_every_tool_has_read_every_file_of_the_bench():
    for world in COMPARED["worlds"]:
        names = [tool["tool"].rsplit(" ", 1)[0] for tool in world["tools"]]
        assert names == ["mia_lib", "SACRO-ML", "ART", "PrivacyGuard"]
        for tool in world["tools"]:
            assert tool["memory"] > 0 and tool["wall"] > 0
            assert all(0 <= seconds for seconds in tool["seconds"].values())


def test_the_small_case():
    """By loops, by the library, by PrivacyGuard: what is one thing is one number."""
    own, others, sides = map(np.array, GUARD["case"]["given"].values())
    ours = {
        "LiRA": lira.online(np.log(own / (1 - own)), np.log(others / (1 - others)), sides),
        "RMIA": attacks.rmia(np.log(own), np.log(others), sides),
    }
    for name, score in ours.items():
        assert score == pytest.approx(GUARD["case"]["by hand"][name])
        assert GUARD["case"]["mia_lib"][name] == pytest.approx(score)
    theirs = GUARD["case"]["PrivacyGuard"]
    # PrivacyGuard adds 1e-8 to each standard deviation, and lets a record count among its rivals.
    assert theirs["LiRA"] == pytest.approx(ours["LiRA"], rel=1e-5)
    assert theirs["RMIA"] == pytest.approx(ours["RMIA"] * 5 / 6)
    assert theirs["RMIA by default"] != pytest.approx(theirs["RMIA"])  # half of the references


def test_the_bounds_of_one_training():
    """PrivacyGuard tries noises from 0.001 to 9.991 in steps of 0.01 and ends at the last."""
    least = gaussian(1 / 9.991).epsilon(GUARD["delta"])
    for counts, ours, theirs in zip(
        GUARD["counts"], GUARD["mia_lib"]["f-DP"], GUARD["theirs"]["f-DP"], strict=True
    ):
        again = epsilon_lower_bound_f_dp(*counts, dp_delta=GUARD["delta"], delta=GUARD["level"])
        assert ours == pytest.approx(again, rel=1e-3, abs=1e-3)
        noise = [_noise(epsilon, GUARD["delta"]) for epsilon in (max(ours, least), theirs)]
        assert 0 <= noise[1] - noise[0] + 1e-2 <= 0.021  # one step, and a thousandth of epsilon


def _noise(epsilon, delta):
    """Of the Gaussian guarantee with this epsilon."""
    low, high = 1e-3, 20.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if gaussian(1 / middle).epsilon(delta) > epsilon else (low, middle)
        )
    return low


def test_the_draws_of_a_membership_that_means_nothing():
    for side in ("mia_lib", "theirs"):
        assert len(GUARD[side]["draws"]) == 11  # the true membership first
    for line in GUARD["mia_lib"]["draws"]:
        assert (line["epsilon"] is None) == (line["no epsilon because"] is not None)
    for line in GUARD["theirs"]["draws"]:
        assert line["eps_lb"] <= line["eps"] and line["auc_ci"][0] < line["auc_ci"][1]


def test_the_record_is_of_worlds_of_the_battery():
    names = peers.picked(verdicts.WORLDS)
    assert len(set(names)) == SAID["worlds"]["picked"] == peers.N_WORLDS
    assert SAID["worlds"]["of"] == len(verdicts.WORLDS) and SAID["worlds"]["seed"] == peers.SEED
    draws = range(peers.FIRST, peers.FIRST + SAID["draws"])
    assert [(row["draw"], row["world"]) for row in SAID["rows"]] == [
        (draw, name) for draw in draws for name in names
    ]
    for row in SAID["rows"]:
        assert row["group"] == peers.group(verdicts.WORLDS[row["world"]])
    recorded = json.loads(verdicts.RECORD.read_text(encoding="utf-8"))["rows"]
    assert set(names) <= {row["world"] for row in recorded}
    assert peers.FIRST >= max(row["draws"] for row in recorded)  # other draws than those


def test_the_counts_of_the_record_add_up():
    tools = list(peers.BY)
    assert SAID["totals"] == peers.totals(SAID["rows"], tools)
    for tool in tools:
        lines = SAID["totals"][tool].values()
        assert sum(line["files"] for line in lines) == len(SAID["rows"])
        for line in lines:
            assert max(line["accused"], line["accused strictly"]) <= line["files"] - line["failed"]
        answers = [row["tools"][tool] for row in SAID["rows"]]
        assert SAID["seconds"][tool] == pytest.approx(sum(one["seconds"] for one in answers))
        for one in answers:
            assert bool(one["failed"]) if "failed" in one else one["said"] and "accuses" in one
    assert SAID["accuses"] == peers.ACCUSES and SAID["strictly"] == peers.STRICTLY
    assert set(SAID["versions"]) == {*tools, "python"}
    assert list(SAID["dates"]) == tools
    for day in SAID["dates"].values():
        datetime.date.fromisoformat(day)
