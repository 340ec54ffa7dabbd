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
        ({"member": np.zeros(4, bool)}, "member: given 0 members"),
        ({"names": np.array(["a"])}, r"names: given shape \(1,\), expected \(2,\)"),
        ({"features": np.full((4, 2), np.nan)}, "features: given 8 NaN"),
    ],
)
def test_a_file_that_cannot_be_meant(tmp_path, changes, message):
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError, match=message):
        experiment.read_features("file", str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="file: given 'no.npz', which is not at"):
        experiment.read_features("file", "no.npz")
