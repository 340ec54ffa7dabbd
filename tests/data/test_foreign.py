"""Out-of-distribution records: each kind changes what it says and nothing else."""

import numpy as np
import pytest

from mia_lib import data


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(400, 6, 5)).astype(np.uint8), rng.integers(4, size=400)


def test_ordinary_and_inverted(records):
    x, y = records
    same, labels = data.foreign("ordinary", x, y, 4)
    assert np.array_equal(same, x) and np.array_equal(labels, y)
    other, labels = data.foreign("inverted", x, y, 4)
    assert other.dtype == x.dtype and np.array_equal(labels, y)
    assert np.array_equal(other.astype(int), int(x.max()) + int(x.min()) - x.astype(int))
    assert np.array_equal(data.foreign("inverted", other, y, 4)[0], x)


def test_mislabelled_are_all_wrong_and_every_wrong_label_is_as_likely(records):
    x, y = records
    rng = np.random.default_rng(1)
    counts = np.zeros((4, 4))
    for _ in range(50):
        same, labels = data.foreign("mislabelled", x, y, 4, rng=rng)
        assert np.array_equal(same, x)
        np.add.at(counts, (y, labels), 1)
    assert (np.diag(counts) == 0).all()
    wrong = counts[~np.eye(4, dtype=bool)].reshape(4, 3)
    assert np.allclose(wrong / wrong.sum(1, keepdims=True), 1 / 3, atol=0.03)


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_perturbed_takes_features_of_other_records(share):
    x = np.arange(300)[:, None] * np.ones(40)  # every value names the record that it comes from
    made, labels = data.foreign(
        "perturbed", x, np.zeros(300, int), 2, rng=np.random.default_rng(2), share=share
    )
    changed = made != x
    assert changed.mean() == pytest.approx(share, abs=0.01)
    assert labels.sum() == 0 and np.isin(made, x).all()


def test_perturbed_keeps_each_feature_in_its_place():
    x = np.arange(40) + 1000 * np.arange(50)[:, None]
    made, _ = data.foreign(
        "perturbed", x, np.zeros(50, int), 2, rng=np.random.default_rng(3), share=0.5
    )
    assert np.array_equal(made % 1000, x % 1000)


def test_noise_has_the_values_and_no_structure(records):
    x, y = records
    x = np.sort(x.reshape(400, -1), axis=1)  # features that go together
    made, labels = data.foreign("noise", x, y, 4, rng=np.random.default_rng(4))
    assert made.shape == x.shape and made.dtype == x.dtype
    assert made.mean() == pytest.approx(x.mean(), abs=3)
    assert (
        abs(np.diff(made.astype(float), axis=1).mean())
        < 1
        < np.diff(x.astype(float), axis=1).mean()
    )
    assert (labels == y).mean() == pytest.approx(0.25, abs=0.08)


def test_the_generator_decides(records):
    x, y = records
    for kind in ("perturbed", "mislabelled", "noise"):
        a, b, c = (
            data.foreign(kind, x, y, 4, rng=np.random.default_rng(seed)) for seed in (5, 5, 6)
        )
        assert all(np.array_equal(*pair) for pair in zip(a, b))
        assert not all(np.array_equal(*pair) for pair in zip(a, c))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kind": "alien"}, "kind: given 'alien'"),
        ({"x": np.zeros((1, 2)), "y": np.zeros(1, int)}, "x: given"),
        ({"x": ["a", "b"], "y": np.zeros(2, int)}, "x: given"),
        ({"y": np.full(400, 4)}, "y: given"),
        ({"n_classes": 1}, "n_classes: given 1"),
        ({"share": 0.0}, "share: given 0"),
    ],
)
def test_bad_input(records, change, message):
    x, y = records
    with pytest.raises(ValueError, match=message):
        data.foreign(**{"kind": "noise", "x": x, "y": y, "n_classes": 4} | change)
