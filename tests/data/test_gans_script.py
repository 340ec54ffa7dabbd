"""scripts/gans.py: roles that share no record and no group, squares where they belong, a file that
`data.generators` reads.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mia_lib import data
from mia_lib.data import stored_generators

FILE = Path(__file__).parents[2] / "scripts" / "gans.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("gans", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(script, monkeypatch, tmp_path):
    """The digits in place of MNIST, and recipes of a few steps."""
    digits = data.load("digits")
    digits = replace(digits, x=np.uint8(np.round(255 * digits.x)))
    monkeypatch.setattr(script.data, "load", lambda name: digits)
    monkeypatch.setattr(stored_generators, "FOLDER", tmp_path / "gans")
    monkeypatch.setenv("MIA_RUNS", str(tmp_path / "runs"))
    sizes = {"members": 200, "reference": 150, "others": 400}
    monkeypatch.setitem(script.ROLES, "mnist", sizes)
    monkeypatch.setattr(script, "RELEASES", [10, 60])
    monkeypatch.setattr(script, "RARE", ((0, 6), (150, 50)))
    for name, recipe in script.RECIPES["mnist"].items():
        made = replace(recipe, networks="digits", epochs=2, batch_size=32, precision="float32")
        monkeypatch.setitem(script.RECIPES["mnist"], name, made)
        monkeypatch.setitem(script.CHECKPOINTS["mnist"], name, [0, 2])
    return digits, tmp_path / "gans"


def test_groups_have_one_role(script):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 300, 1_000)
    roles = {"members": 100, "reference": 50, "others": 200}
    rows = script.grouped_rows(groups, roles, np.random.default_rng(1))
    assert {role: len(part) for role, part in rows.items()} == roles
    seen = [set(groups[part]) for part in rows.values()]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
    again = script.grouped_rows(groups, roles, np.random.default_rng(2))
    assert set(again["members"]) != set(rows["members"])


def test_a_square_is_white_and_in_the_middle_of_some(script):
    x = np.zeros((3, 8, 8, 3), np.float32)
    found = script.painted(x, np.array([True, False, True]))
    assert (x == 0).all() and (found[1] == 0).all()
    assert (found[0, 3:5, 3:5] == 1).all() and found[0].sum() == 4 * 3
    np.testing.assert_array_equal(found[0], found[2])


NETWORKS = "js_gan", "priv_gan", "priv_gan-unpenalised", "wgan_gp", "wgan_gp-rare", "dp_cgan"


@pytest.mark.parametrize("network", NETWORKS)
def test_a_file_is_written_that_the_library_reads(script, small, network):
    digits, folder = small
    assert script.main(["mnist", network, "3"]) is None
    (gan,) = data.generators("mnist", network, folder)
    pairs = 2 if network.startswith("priv_gan") else 1
    n = 200 if network.endswith("rare") else 600
    assert gan.score.shape == (2, pairs, n) and gan.epochs.tolist() == [0, 2]
    np.testing.assert_array_equal(gan.labels, digits.y[gan.rows])
    inside = set(gan.rows[gan.member])
    assert not inside & set(gan.rows[~gan.member]) and gan.provenance["seed"] == 3
    if network.endswith("rare"):
        assert np.bincount(gan.labels[gan.member])[[0, 6]].tolist() == [15, 5]
    else:
        assert len(inside) == 200
    # what is stored is what the network says: by hand for the last one
    epoch = {2: None}
    kind = network.partition("-")[0]
    x = script.pixels(digits, gan.rows)
    recipe = script.RECIPES["mnist"][network]
    rng = np.random.default_rng([3, 2])
    labels = gan.labels if kind == "dp_cgan" else None
    given = (x[gan.member], *([] if labels is None else [labels[gan.member]]), recipe)
    trained = script.TRAINERS[kind](*given, checkpoints=list(epoch), rng=rng)[2]
    np.testing.assert_allclose(gan.score[-1].T, trained.scores(x, labels), atol=0.02, rtol=2e-3)
    release = script.generative.release(trained, 60, np.random.default_rng([3, 3, 2])).x
    flat, made = x.reshape(n, -1)[:20], release.reshape(60, -1)
    near = np.sort(np.sqrt(((flat[:, None] - made) ** 2).sum(-1)), axis=1)[:, :3]
    np.testing.assert_allclose(-gan.nearest[-1].T[:20], near, atol=0.01)
    np.testing.assert_array_equal(gan.samples[0], np.uint8(np.round(255 * release[0])))


def test_checkpoints_of_the_private_network_are_those_of_the_papers_budgets(script):
    recipe, n = script.RECIPES["mnist"]["dp_cgan"], script.ROLES["mnist"]["members"]
    assert (recipe.noise_multiplier, recipe.max_norm, recipe.delta) == (5.1, 1.1, 1e-5)
    within = [script.generative.epochs_within(e, n, recipe) for e in (0.3, 1, 2, 5, 10)]
    assert script.CHECKPOINTS["mnist"]["dp_cgan"] == [0, *within]


def test_a_file_that_is_there_is_never_written_again(script, small):
    (small[1] / "mnist--js_gan--0.npz").parent.mkdir()
    (small[1] / "mnist--js_gan--0.npz").write_bytes(b"kept")
    script.main(["mnist", "js_gan", "0"])
    assert (small[1] / "mnist--js_gan--0.npz").read_bytes() == b"kept"


def test_squares_are_in_a_tenth_of_the_members_and_half_of_the_others(script, small, monkeypatch):
    monkeypatch.setitem(script.RECIPES["mnist"], "js_gan-marked", script.RECIPES["mnist"]["js_gan"])
    monkeypatch.setitem(script.CHECKPOINTS["mnist"], "js_gan-marked", [0, 2])
    script.made("mnist", "js_gan-marked", 0)
    (gan,) = data.generators("mnist", "js_gan-marked", small[1])
    assert gan.marked[gan.member].sum() == 20 and gan.marked[~gan.member].mean() == 0.5


def test_the_distances_of_a_gpu_are_those_of_the_library(script):
    """Also that of a copy, and of records far from the origin, where expanding a square costs."""
    rng = np.random.default_rng(0)
    for offset in (0, 30):
        release = np.float32(offset + rng.random((500, 6, 6, 3)))
        x = np.float32(offset + rng.random((300, 6, 6, 3)))
        x[0] = release[3]
        found = script.nearest_on("cpu", release, x, 3, block=64)
        np.testing.assert_allclose(found, script.nearest(release, x, 3, "cpu"), atol=2e-5)
        assert found[0, 0] == 0


def test_all_training_images_of_cifar_are_members_and_no_others(script, monkeypatch):
    monkeypatch.setattr(script, "TRAINING_IMAGES", 60)
    monkeypatch.setitem(
        script.ROLES, "cifar10-50000", {"members": 60, "reference": 10, "others": 25}
    )
    rows = script.dealt("cifar10-50000", "", np.zeros(100), 0)
    np.testing.assert_array_equal(rows["members"], np.arange(60))
    assert len(rows["reference"]) == 10 and len(rows["others"]) == 25
    rest = np.concatenate([rows["reference"], rows["others"]])
    assert len(set(rest)) == 35 and rest.min() >= 60


@pytest.mark.parametrize("dataset", ["skin-lesions", "cifar10", "cifar10-50000"])
def test_every_recipe_makes_pictures_of_its_data_set(script, dataset):
    side = {"skin-lesions": 64}.get(dataset, 32)
    for network, recipe in script.RECIPES[dataset].items():
        assert recipe.made().shape == (side, side, 3), network
        assert script.CHECKPOINTS[dataset][network][-1] == recipe.epochs


def test_an_unknown_network_is_named(script):
    with pytest.raises(ValueError, match="network: given 'gan', expected one of"):
        script.main(["mnist", "gan", "0"])
