"""Where runs are kept: a folder of its own for everything that decides the numbers."""

import hashlib
import json
import os
from pathlib import Path

import pooch

from mia_lib import reseed
from mia_lib.shadow import identity


def folder(name, *settings):
    """The folder of one run, in the place that the environment variable MIA_RUNS names.

    Parameters
    ----------
    name : str
        Its first word, for whoever looks through the folders.
    *settings : values
        Everything that the run's numbers depend on: numbers, texts, lists, dicts, recipes,
        functions, arrays. The same settings give the same folder in every process, others another.

    Returns
    -------
    pathlib.Path
        NAME--DIGEST, in the user's cache folder where MIA_RUNS is not set. It is not made.

    Raises
    ------
    ValueError
        For an object of a class of which neither source nor functions can be had, objects nested
        more than 100 deep.

    Notes
    -----
    `train` names its own.

    Examples
    --------
    >>> folder("toy", {"epochs": 3}, 0) == folder("toy", {"epochs": 3}, 0) != folder("toy", 3, 0)
    True
    """
    runs = Path(os.environ.get("MIA_RUNS") or Path(pooch.os_cache("mia_lib")) / "runs").expanduser()
    if reseed.shift():  # other models than without a shift
        settings = (*settings, {reseed.VARIABLE: reseed.shift()})
    text = json.dumps([identity.describe(setting) for setting in settings], sort_keys=True)
    return runs / f"{name}--{hashlib.sha256(text.encode()).hexdigest()[:16]}"
