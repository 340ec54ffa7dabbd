"""Features that a user has made elsewhere and brings in a file."""

from pathlib import Path

import numpy as np

from mia_lib import checks, data


def read_features(name, path):
    """Features of members and of others, made by a model that is not trained here.

    Parameters
    ----------
    name : str
        Of the parameter that names the file, for messages.
    path : str
        An .npz: absolute, or relative to MIA_DATA.

    Returns
    -------
    features : (n, d) array
        Larger speaks for a member.
    member : (n,) bool array
    names : list of d str

    Raises
    ------
    ValueError
        No such file; an array that is missing, of a wrong shape or not finite; members or others
        alone.

    Notes
    -----
    Used in notebooks/language_model.ipynb.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "own.npz")
    >>> np.savez(file, features=[[0.5], [1.5]], member=[False, True], names=["loss"])
    >>> read_features("features_file", str(file))[2]
    ['loss']
    """
    file = data.folder() / Path(path).expanduser()  # an absolute path stays what it is
    if not file.is_file():
        expected = "an .npz with features (n, d), larger for members, member (n,) and names (d,)"
        checks.fail(name, f"{path!r}, which is not at {file}", expected)
    wanted = ("features", "member", "names")
    with np.load(file, allow_pickle=False) as arrays:
        for one in wanted:
            if one not in arrays:
                checks.fail(name, f"a file without {one!r}", "features, member and names")
        features, member, names = (arrays[one] for one in wanted)
    features = checks.real_array("features", features, 2)
    member = checks.boolean_array("member", member, shape=(len(features),))
    checks.both_groups("member", member)
    if names.shape != features.shape[1:]:
        checks.fail(
            "names", f"shape {names.shape}", f"({features.shape[1]},), one for each feature"
        )
    return features, member, [str(one) for one in names]
