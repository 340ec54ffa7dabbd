"""Stored generators: what a file holds comes back, and a file that does not fit is named."""

import json

import numpy as np
import pytest

from mia_lib import data

KINDS = {"wgan_gp": "WGAN-GP", "js_gan": "JS-GAN", "priv_gan": "privGAN"}


def arrays(network="js_gan", n_members=30, n_others=60, epochs=(0, 5, 9), shift=2.0, seed=0):
    """The arrays of a network whose score tells members by `shift` at the end."""
    rng, n = np.random.default_rng([seed, 5]), n_members + n_others
    pairs, member = 2 if network == "priv_gan" else 1, np.arange(n) < n_members
    grow = np.arange(len(epochs))[:, None, None] / (len(epochs) - 1)
    score = rng.normal(size=(len(epochs), pairs, n)) + shift * grow * member
    near = -np.sort(rng.gamma(5, size=(len(epochs), 3, n)), axis=1)
    marked = np.zeros(n, bool)
    if network.endswith("-marked"):
        marked[: n_members // 10 + 1] = marked[n_members::2] = True
    about = {"kind": KINDS[network.partition("-")[0]], "recipe": {"epochs": epochs[-1]}}
    shares = np.full((len(epochs), 10), 0.1)
    return {
        "epochs": np.array(epochs),
        "score": score.astype(np.float16),
        "reference_score": rng.normal(size=(len(epochs), pairs, 40)).astype(np.float16),
        "nearest": near.astype(np.float16),
        "embedded": -rng.gamma(5, size=(len(epochs), n)).astype(np.float16),
        "sizes": np.array([10, 100]),
        "by_size": -rng.gamma(5, size=(2, n)).astype(np.float16),
        "rows": rng.permutation(70_000)[:n],
        "labels": np.where(rng.random(n) < 0.8, 0, 6),
        "n_members": np.array(n_members),
        "marked": marked,
        "sureness": np.linspace(0.3, 0.9, len(epochs)),
        "shares": shares,
        "real_sureness": np.array(0.9),
        "real_shares": shares[0],
        "samples": np.zeros((3, 28, 28), np.uint8),
        "provenance": np.array(json.dumps(about | {"seed": seed})),
    }


def write(folder, network="js_gan", seed=0, **changes):
    folder.mkdir(exist_ok=True)
    found = arrays(network, seed=seed) | changes
    np.savez_compressed(folder / f"mnist--{network}--{seed}.npz", **found)
    return found


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "gans"


def test_what_was_written_comes_back_by_seed(folder):
    given = [write(folder, "priv_gan", seed) for seed in (10, 2)]
    write(folder, "wgan_gp-rare", 0)
    assert data.generator_names("mnist", folder) == {"priv_gan": [2, 10], "wgan_gp-rare": [0]}
    found = data.generators("mnist", "priv_gan", folder)
    assert [gan.provenance["seed"] for gan in found] == [2, 10]
    for key in ("score", "nearest", "embedded", "rows", "labels", "epochs", "marked", "samples"):
        np.testing.assert_array_equal(getattr(found[1], key), given[0][key])
    assert found[0].member.sum() == 30 and found[0].member[:30].all()
    assert found[0].real_sureness == 0.9 and found[0].provenance["kind"] == "privGAN"


def test_no_files_say_where_to_get_them(folder):
    with pytest.raises(data.DataError, match="scripts/gans.py"):
        data.generators("mnist", "js_gan", folder)
    with pytest.raises(data.DataError, match="no generators of 'cifar10'"):
        data.generator_names("cifar10", folder)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"score": np.zeros((3, 1, 89), np.float16)}, "score of shape"),
        ({"score": np.zeros((3, 90), np.float16)}, "score of shape"),
        ({"nearest": np.zeros((3, 2, 90), np.float16)}, "nearest of shape"),
        ({"labels": np.zeros(5, int)}, "labels of shape"),
        ({"sureness": np.zeros(2)}, "sureness of shape"),
    ],
)
def test_arrays_that_do_not_fit_are_named(folder, changes, said):
    write(folder, **changes)
    with pytest.raises(ValueError, match=said):
        data.generators("mnist", "js_gan", folder)


def test_a_damaged_file_and_an_unknown_network_are_named(folder):
    write(folder)
    with pytest.raises(ValueError, match="network: given 'wgan', expected one of 'js_gan'"):
        data.generators("mnist", "wgan", folder)
    (folder / "mnist--js_gan--0.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match="damaged"):
        data.generators("mnist", "js_gan", folder)
    found = arrays()
    found.pop("by_size")
    np.savez(folder / "mnist--js_gan--0.npz", **found)
    with pytest.raises(ValueError, match="without by_size"):
        data.generators("mnist", "js_gan", folder)


def test_every_stored_generator_is_whole():
    """The files of the clone: no record twice, checkpoints that rise, distances in order."""
    for dataset in ("mnist", "skin-lesions", "cifar10", "cifar10-50000"):
        for network in data.generator_names(dataset):
            for gan in data.generators(dataset, network):
                assert len(np.unique(gan.rows)) == len(gan.rows)
                assert gan.epochs[0] == 0 and (np.diff(gan.epochs) > 0).all()
                assert np.isfinite(gan.score.astype(float)).all() and (gan.nearest <= 0).all()
                assert (np.diff(gan.nearest.astype(float), axis=1) <= 0).all()
                assert (np.diff(gan.by_size.astype(float), axis=0) >= 0).all()
                np.testing.assert_array_equal(gan.by_size[-1], gan.nearest[-1][0])
                assert gan.shares.sum(1) == pytest.approx(1)


@pytest.mark.parametrize("network", ["js_gan", "wgan_gp"])
def test_outputs_are_those_of_the_papers(folder, network):
    """A sigmoid where the network has one; members and others apart."""
    written = write(folder, network)["score"].astype(float)
    (gan,) = data.generators("mnist", network, folder)
    for t in range(3):
        expected = 1 / (1 + np.exp(-written[t])) if network == "js_gan" else written[t]
        np.testing.assert_allclose(gan.output(t), expected, rtol=1e-12)
    inside, outside = gan.sides(gan.output(2)[0])
    np.testing.assert_array_equal(inside, gan.output(2)[0][:30])
    np.testing.assert_array_equal(outside, gan.output(2)[0][30:])
