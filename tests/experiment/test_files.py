"""A file of features as a user brings it."""

import numpy as np
import pytest

from mia_lib import experiment


def written(folder, **changes):
    arrays = {"features": np.arange(8.0).reshape(4, 2), "member": np.arange(4) < 1}
    arrays |= {"names": np.array(["loss", "zlib ratio"])} | changes
    given = {name: array for name, array in arrays.items() if array is not None}
    np.savez(folder / "own.npz", **given)
    return folder / "own.npz"


def test_what_is_in_the_file_comes_back_from_either_kind_of_path(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_DATA", str(tmp_path))
    for path in (str(written(tmp_path)), "own.npz"):
        features, member, names = experiment.read_features("file", path)
        assert (features == [[0, 1], [2, 3], [4, 5], [6, 7]]).all()
        assert member.tolist() == [True, False, False, False] and names == ["loss", "zlib ratio"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member": None}, "file: given a file without 'member'"),
        ({"member": np.zeros(4, bool)}, "own.npz: member: given 0 members"),
        ({"member": np.arange(3) < 1}, r"own.npz: member: given shape \(3,\)"),
        ({"names": np.array(["a"])}, r"own.npz: names: given shape \(1,\), expected \(2,\)"),
        ({"names": np.array(["a", "a"])}, "own.npz: names: given 'a' twice, expected"),
        ({"features": np.full((4, 2), np.nan)}, "own.npz: features: given 8 NaN"),
        ({"features": np.zeros((0, 2))}, "own.npz: features: given an empty array"),
        ({"names": np.array(["a", None])}, "file: given .*own.npz, which cannot be read"),
    ],
)
def test_a_file_that_cannot_be_meant(tmp_path, changes, message):
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError, match=message):
        experiment.read_features("file", str(path))


def half(content):
    return content[: len(content) // 2]


def spoiled(content):
    """One bit of an array is another, which its checksum notices."""
    place = content.index(b"NUMPY") + 130
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "change",
    [half, spoiled, lambda content: b"", lambda content: b"loss,zlib\n1,2\n"],
    ids=["half", "spoiled", "empty", "a table"],
)
def test_a_file_that_cannot_be_read(tmp_path, change):
    path = written(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match="^file: given .*own.npz, which cannot be read") as raised:
        experiment.read_features("file", str(path))
    assert ", expected an .npz with features" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_array_under_the_name_of_an_archive(tmp_path):
    with open(tmp_path / "own.npz", "wb") as file:
        np.save(file, np.zeros((4, 2)))
    with pytest.raises(ValueError, match="^file: given .*own.npz, which cannot be read"):
        experiment.read_features("file", str(tmp_path / "own.npz"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="file: given 'no.npz', which is not at"):
        experiment.read_features("file", "no.npz")
