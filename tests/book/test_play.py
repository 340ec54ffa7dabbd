"""The numbers of the playable pages are what the library and the records say today."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mia_lib import data, lira, metrics, privacy, shadow

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("game", "records", "epsilon", "how_many")
AGAIN = "run `make play` and commit book/play"


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


play = _load(ROOT / "scripts" / "play.py")
playable = _load(ROOT / "book" / "_ext" / "playable.py")


def text(name):
    return (ROOT / "book" / "play" / f"{name}.json").read_text(encoding="utf-8")


def stored(name):
    return json.loads(text(name))


def masks(part=None):
    """Of the digits, or of another part of the explorer's file."""
    rows = stored("records") if part is None else stored("records")[part]
    return np.array([[bit == "1" for bit in row] for row in rows["member"]])


@pytest.fixture
def as_stored(monkeypatch):
    """The networks' answers as they are stored, in place of a training."""
    x, y, _, _, _ = play.trained()
    phi, game = np.array(stored("records")["phi"]), stored("game")
    second = np.zeros(phi.shape, int)
    second[np.repeat(np.arange(64, 74), 20), game["index"]] = game["second"]
    monkeypatch.setattr(play, "trained", lambda: (x, y, phi, masks(), second))


@pytest.mark.parametrize("name", PAGES)
def test_a_file_is_small_and_its_table_as_wide_as_its_head(name):
    assert len(text(name)) < 300_000
    still = stored(name)["still"]
    assert 1 <= len(still["rows"]) <= 12 and len(still["head"]) <= 6
    assert {len(row) for row in still["rows"]} == {len(still["head"])}


def test_the_networks_are_trained_as_stored():
    """Another processor rounds otherwise, so that signals agree closely and masks exactly."""
    x, y, phi, member, second = play.trained()
    records, game = stored("records"), stored("game")
    assert records["label"] == y.tolist() and (masks() == member).all()
    assert np.corrcoef(phi.ravel(), np.ravel(records["phi"]))[0, 1] > 0.99
    at = np.repeat(np.arange(64, 74), 20), np.array(game["index"])
    assert np.mean(second[at] == game["second"]) > 0.9
    assert (second[at] != y[at[1]]).all()


def test_every_prefix_of_the_shadow_models_holds_each_record_half_of_the_time():
    for n in stored("records")["models"]:
        assert (masks()[:n].sum(0) == n // 2).all()
    assert (masks()[64:].sum(0) == 5).all()


def test_every_prefix_of_the_stored_networks_holds_each_image_half_of_the_time():
    there, member = stored("records")["cifar10"], masks("cifar10")
    for n in there["models"]:
        assert (member[:n].sum(0) == n // 2).all()
    assert there["models"][-1] == there["n_shadow"] < len(member) == len(there["phi"])
    assert (2 * member[there["n_shadow"] :].sum(0) == len(member) - there["n_shadow"]).all()


def test_the_images_of_the_explorer_are_those_of_the_stored_signals():
    """By a loop over the images, from what the library reads."""
    there, found = stored("records")["cifar10"], data.signals("cifar10", masks("cifar10").shape[0])
    assert len(set(there["index"])) == len(there["index"]) == 500
    assert np.bincount(there["label"]).tolist() == [50] * 10
    for place, image in enumerate(there["index"]):
        assert there["label"][place] == found.labels[image]
        assert not found.approximate[image] and found.duplicate_of[image] == -1
        seen = [row[place] for row in there["phi"]]
        np.testing.assert_allclose(seen, found.phi[:, image], atol=0.006)
        assert (masks("cifar10")[:, place] == found.member[:, image]).all()


def test_the_stored_networks_leak_and_memberships_of_other_images_show_nothing():
    there, member = stored("records")["cifar10"], masks("cifar10")
    phi, n = np.array(there["phi"]), there["n_shadow"]
    scores = np.array([lira.online(one, phi[:n], member[:n], "global") for one in phi[n:]])
    assert metrics.roc(scores, member[n:]).auc_interval().low > 0.5
    order = np.random.default_rng(0).permutation(scores.shape[1])
    stranger = metrics.roc(scores, member[n:][:, order]).auc_interval(delta=0.001)
    assert stranger.low < 0.5 < stranger.high


def test_pictures_are_the_digits():
    digits, records = data.load("digits"), stored("records")
    drawn = np.random.default_rng([26, 1]).permutation(len(digits.y))[:300]
    levels = [[int(level, 17) for level in one] for one in records["pixels"]]
    assert np.array_equal(levels, np.rint(16 * digits.x[drawn]).reshape(300, -1))
    assert records["label"] == digits.y[drawn].tolist()
    game = stored("game")
    assert game["pixels"] == [records["pixels"][i] for i in game["index"]]


@pytest.mark.parametrize("name", ["game", "records"])
def test_what_is_derived_follows_from_the_stored_signals(as_stored, name):
    assert play.text_of(play.MAKERS[name]()) == text(name), AGAIN


def test_the_game_is_drawn_by_coins_without_a_record_twice():
    game, member = stored("game"), masks()
    coins = np.array([bit == "1" for bit in game["member"]])
    assert len(set(game["index"])) == len(coins) == 200
    rounds = np.repeat(np.arange(64, 74), game["round"])
    assert (member[rounds, game["index"]] == coins).all()
    assert stats.binomtest(int(coins.sum()), 200).pvalue > 0.01


def test_the_threshold_of_loss_is_the_best_among_the_shadow_models():
    """By trying every threshold."""
    phi, member = np.array(stored("records")["phi"])[:64].ravel(), masks()[:64].ravel()

    def gain(threshold):
        called = phi >= threshold
        return called[member].mean() - called[~member].mean()

    found = stored("game")["threshold"]
    assert gain(found) == max(gain(one) for one in np.unique(phi))


def test_the_page_s_likelihood_ratio_is_the_library_s():
    game, phi = stored("game"), np.array(stored("records")["phi"])
    for k in range(10):
        some = slice(20 * k, 20 * k + 20)
        score = lira.online(phi[64 + k], phi[:64], masks()[:64])[game["index"][some]]
        np.testing.assert_allclose(game["lira"][some], score, rtol=1e-5)


def test_the_masks_come_from_the_library():
    rng = np.random.default_rng([26, 1])
    rng.permutation(1797)
    parts = [shadow.half_masks(part, 300, rng) for part in [4] * 16 + [10]]
    assert (np.concatenate(parts) == masks()).all()


@pytest.mark.parametrize("place", np.random.default_rng(26).choice(288, 5, replace=False).tolist())
def test_the_grid_is_the_library_s(place):
    made = stored("epsilon")
    wanted = privacy.subsampled_gaussian(*play.grid()[place])
    assert len(made["tpr"]) == len(play.grid()) == 288
    np.testing.assert_allclose(made["tpr"][place], wanted.tpr_at(np.logspace(-4, 0, 25)), rtol=1e-4)
    np.testing.assert_allclose(made["advantage"][place], wanted.advantage(), rtol=1e-4)
    epsilons = wanted.epsilon(np.array(made["deltas"]))
    np.testing.assert_allclose(made["epsilon"][place], epsilons, rtol=1e-4)


def test_a_limit_grows_with_the_steps_and_the_rate_and_falls_with_the_noise():
    tpr = np.array(stored("epsilon")["tpr"]).reshape(8, 6, 6, 25)
    assert (np.diff(tpr, axis=0) <= 1e-9).all()
    assert (np.diff(tpr, axis=1) >= -1e-9).all() and (np.diff(tpr, axis=2) >= -1e-9).all()


def test_the_measured_attacks_are_those_of_the_records(monkeypatch):
    nothing = {"epsilon": [1.0, 1.0, 1.0], "advantage": 0.0, "tpr": [0.0] * 25}
    monkeypatch.setattr(play, "readings", lambda guarantee: nothing)
    keys = ("name", "mechanism", "points")
    now, then = play.measured(), stored("epsilon")["ours"]
    assert [[one[key] for key in keys] for one in now] == [
        [one[key] for key in keys] for one in then
    ], AGAIN
    assert {len(one["points"]) for one in then} == {2, 3}


@pytest.mark.slow
def test_what_was_promised_of_the_attacked_trainings_is_the_library_s():
    made = stored("epsilon")
    for now, then in zip(play.measured(), made["ours"], strict=True):
        for key in ("epsilon", "advantage", "tpr"):
            np.testing.assert_allclose(then[key], now[key], rtol=1e-4)
    assert play.epsilon_still(made["ours"]) == made["still"], AGAIN


def test_no_measured_attack_is_shown_above_its_limit():
    """By more than the half-width of its interval."""
    made = stored("epsilon")
    for one in made["ours"]:
        for _, fpr, value, low, _ in one["points"]:
            assert low <= np.interp(fpr, made["fprs"], one["tpr"]), (one["name"], value)


def test_the_ladders_are_those_of_the_records():
    assert play.text_of(play.how_many()) == text("how_many"), AGAIN


def test_the_still_table_is_escaped_html():
    said = playable.still({"caption": "a < b", "head": ["x", "y"], "rows": [["1 & 2", "3"]]})
    assert "a &lt; b" in said and "<th scope=row>1 &amp; 2</th><td>3</td>" in said
