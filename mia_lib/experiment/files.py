"""Features that a user has made elsewhere and brings in a file."""

from pathlib import Path

import numpy as np

from mia_lib import checks, data
from mia_lib.data.files import BROKEN

WANTED = ("features", "member", "names")
FILE = "an .npz with features (n, d), larger for members, member (n,) and names (d,)"


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
        No such file, or none that can be read; an array that is missing, of a wrong shape or not
        finite; members or others alone; two features of one name. The message names the file.

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
        checks.fail(name, f"{path!r}, which is not at {file}", FILE)
    arrays = _read(name, file)
    for one in WANTED:
        if one not in arrays:
            checks.fail(name, f"a file without {one!r}", "features, member and names")
    features = checks.real_array(f"{path}: features", arrays["features"], 2)
    member = checks.boolean_array(f"{path}: member", arrays["member"], shape=(len(features),))
    checks.both_groups(f"{path}: member", member)
    names = arrays["names"]
    if names.shape != features.shape[1:]:
        expected = f"({features.shape[1]},), one for each feature"
        checks.fail(f"{path}: names", f"shape {names.shape}", expected)
    names = [str(one) for one in names]
    twice = [one for one in names if names.count(one) > 1]
    if twice:  # a feature is asked for by its name
        checks.fail(f"{path}: names", f"{twice[0]!r} twice", "each once")
    return features, member, names


def _read(name, file):
    """The arrays that are wanted and there, by name."""
    try:
        with np.load(file, allow_pickle=False) as there:
            return {one: there[one] for one in WANTED if one in there}
    except (*BROKEN, RuntimeError, TypeError) as error:  # encrypted; one array and no archive
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        checks.fail(name, f"{file}, which cannot be read ({first})", FILE)
