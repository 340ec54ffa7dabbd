"""Signals of networks that were trained in another way: written by scripts/signals_gpu.py, read by
`data.variants`.
"""

import json

import numpy as np
import pytest
from scipy import stats

from mia_lib import data, signals
from mia_lib.data import stored_variants

SAID = {"recipe": {"epochs": 4}, "lane": {}, "passes": [2, 4], "networks": [{}] * 3, "commit": "c"}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Arrays of three networks and 12 of 40 images, and a function that writes them."""
    monkeypatch.setattr(stored_variants, "N", 40)
    monkeypatch.setattr(stored_variants, "N_ROWS", 12)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 40)
    for name in ("signals", "variants"):
        (tmp_path / name).mkdir()
    np.savez(tmp_path / "signals" / "cifar10.npz", labels=labels)
    arrays = {
        "models": np.array([0, 2, 15]),
        "phi": rng.normal(size=(3, 2, 12)).astype(np.float16),
        "train_accuracy": rng.random((3, 2)),
        "test_accuracy": rng.random((3, 2)),
        "provenance": np.array(json.dumps(SAID)),
    }
    file = tmp_path / "variants" / "cifar10-half.npz"

    def read(**changes):
        kept = {key: one for key, one in (arrays | changes).items() if one is not None}
        np.savez(file, **kept)
        return data.variants("cifar10", "half", file.parent)

    return arrays, labels, file, read


def test_a_file_is_read_as_it_was_written(made):
    arrays, labels, _, read = made
    found = read()
    for key in ("models", "phi", "train_accuracy", "test_accuracy"):
        np.testing.assert_array_equal(getattr(found, key), arrays[key])
    assert found.name == "half" and found.phi_of_many is None and found.provenance == SAID
    assert found.passes.tolist() == [2, 4] and found.member.shape == (3, 12)
    assert len(set(found.rows)) == 12 and (np.diff(found.rows) > 0).all()
    np.testing.assert_array_equal(found.labels, labels[found.rows])
    many = np.arange(3 * 18 * 12, dtype=np.float16).reshape(3, 18, 12)
    np.testing.assert_array_equal(read(phi_of_many=many).phi_of_many, many)


def test_bad_files_end_in_one_line(made, tmp_path):
    arrays, _, file, read = made
    with pytest.raises(data.DataError, match=r"no variants of cifar10.*scripts/signals_gpu.py"):
        data.variants("cifar10", "half", tmp_path / "nothing")
    read()
    with pytest.raises(ValueError, match="^name: given 'third', expected one of 'half'$"):
        data.variants("cifar10", "third", file.parent)
    with pytest.raises(ValueError, match="half.npz without phi, expected .*signals_gpu.py"):
        read(phi=None)
    with pytest.raises(ValueError, match=r"phi of shape \(3, 2, 11\), expected \(3, 2, 12\)"):
        read(phi=arrays["phi"][..., :-1])
    with pytest.raises(ValueError, match="test_accuracy of shape"):
        read(test_accuracy=arrays["test_accuracy"][:, :1])
    with pytest.raises(ValueError, match="phi_of_many of shape"):
        read(phi_of_many=np.zeros((3, 17, 12)))
    for numbers in ([0, 2, 16], [2, 0, 15], [0, 2, 2]):
        with pytest.raises(ValueError, match="of networks .*, expected rising numbers below 16"):
            read(models=np.array(numbers))
    read()
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="half.npz, which is damaged"):
        data.variants("cifar10", "half", file.parent)


@pytest.fixture(scope="module")
def committed():
    names = [file.stem.partition("-")[2] for file in stored_variants.FOLDER.glob("cifar10-*.npz")]
    return {name: data.variants("cifar10", name) for name in sorted(names)}


def test_the_committed_networks_have_the_members_of_the_stored_ones(committed):
    stored = data.signals("cifar10", 16)
    assert len(committed) >= 13
    for name, found in committed.items():
        assert len(found.provenance["networks"]) == len(found.models) >= 5
        np.testing.assert_array_equal(found.labels, stored.labels[found.rows])
        assert np.isfinite(found.phi).all() and found.passes[-1] == 24
        if name in stored_variants.POOLED:
            continue
        expected = stored.member[found.models][:, found.rows]
        np.testing.assert_array_equal(found.member, expected, name)


def test_the_committed_pools_are_what_their_names_say(committed):
    inside = {name: committed[name].member.sum(axis=1) for name in stored_variants.POOLED}
    assert (inside["targets"] == 12_500).all() and not inside["disjoint"].any()
    assert not inside["shifted"].any() and abs(inside["overlapping"].mean() - 6_250) < 60
    assert (
        committed["shifted"].provenance["coarse"] and not committed["disjoint"].provenance["coarse"]
    )
    assert (committed["shifted"].test_accuracy < committed["disjoint"].test_accuracy.min()).all()


def test_the_committed_layers_give_the_committed_signals(committed):
    found, stored = committed["resnet18"], data.signals("cifar10", 16)
    assert found.layer.shape == (5, 4_000, 512) and found.logits.shape == (5, 4_000, 10)
    phi = signals.logit_confidence(found.logits.astype(float), stored.labels[stored.rows])
    both, mine, asked = np.intersect1d(stored.rows, found.rows, return_indices=True)
    assert len(both) > 500
    # outputs were rounded to half precision before
    apart = np.abs(phi[:, mine] - found.phi[:, 0, asked].astype(float))
    assert np.quantile(apart, 0.99) < 0.05


def test_the_committed_accuracies_fit_the_answers(committed):
    """phi > 0 says that the label is more likely than all other classes together, so such an image
    is classified right; and it is far more often a member's than another's.
    """
    for name, found in committed.items():
        for s in range(len(found.models)):
            inside = found.member[s]
            if name in stored_variants.POOLED and not inside.any():
                continue  # nobody of its members was asked about
            right = found.phi[s, -1] > 0
            for accuracy, side in ((found.train_accuracy, inside), (found.test_accuracy, ~inside)):
                count, of = int(right[side].sum()), int(side.sum())
                # as many or more by chance alone: hardly ever
                assert stats.binom.sf(count - 1, of, accuracy[s, -1]) > 1e-6, (name, s)
                assert count / of > accuracy[s, -1] - 0.1, (name, s)


def test_the_first_of_many_queries_is_the_image(committed):
    base = committed["base"]
    np.testing.assert_array_equal(base.phi_of_many[:, 0], base.phi[:, -1])
    assert base.passes.tolist() == [3, 6, 12, 18, 24]
    mirror = np.corrcoef(base.phi_of_many[0, :2].astype(float))[0, 1]
    assert 0.8 < mirror < 1
