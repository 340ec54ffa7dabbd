"""Work of an experiment that is kept as soon as it is done, so that a run that was broken off goes
on.
"""

import json
from pathlib import Path

import numpy as np
import scipy
import torch

from mia_lib import clock, disk, shadow
from mia_lib.results.record import code_of


def work_folder(run, *settings):
    """The folder of what one run keeps.

    Parameters
    ----------
    run : Run
        Its parameters are checked. The name of the scale decides nothing.
    *settings : values
        What the work depends on beside the parameters, such as the outputs of models.

    Returns
    -------
    pathlib.Path
        As `shadow.folder` names it. Other parameters, other code of the notebook or of what it can
        reach, or other versions of the libraries make it another one.

    Notes
    -----
    Used in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> from mia_lib.experiment import begin
    >>> run = begin("toy", {})
    >>> work_folder(run, 0) == work_folder(run, 0) != work_folder(run, 1)
    True
    """
    given = {name: value for name, value in run.parameters.items() if name != "scale"}
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "torch": torch.__version__}
    return shadow.folder(run.notebook, given, code_of(run.notebook), versions, *settings)


def kept(folder, name, work):
    """What a piece of work has found: read where it is there, else done and kept.

    Parameters
    ----------
    folder : path
        From `work_folder`.
    name : str
        Of this piece; the file is NAME.json.
    work : callable
        ``work()`` returns numbers, texts, lists or dicts of them, as JSON holds them. It must not
        depend on what was done before it: a generator of its own.

    Returns
    -------
    what ``work()`` returned, as JSON gives it back
        The processor seconds that it took are kept beside it, for the record of a run that goes on.

    Raises
    ------
    ValueError
        A value that JSON does not hold, such as NaN.

    Notes
    -----
    A file is whole or absent, so a run may be broken off at any moment. Used in
    notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> kept(folder, "count", lambda: 3), kept(folder, "count", lambda: 4)
    (3, 3)
    """
    file = Path(folder) / f"{name}.json"
    if file.is_file():
        there = json.loads(file.read_text())
        clock.found(file, there["processor_seconds"])
        return there["found"]
    elapsed = clock.stopwatch(torch.get_num_threads())
    entry = {"found": work(), "processor_seconds": elapsed()}
    disk.write_json(file, entry, shared=True)
    clock.made(file)
    return json.loads(json.dumps(entry["found"]))


def kept_array(folder, name, work):
    """What a piece of work has found, where that is an array, as `kept` keeps numbers.

    Parameters
    ----------
    folder : path
        From `work_folder`.
    name : str
        Of this piece; the file is NAME.npz.
    work : callable
        ``work()`` returns an array. It must not depend on what was done before it.

    Returns
    -------
    array

    Notes
    -----
    Used in notebooks/defenses.ipynb, for training runs that are followed along their epochs.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> [kept_array(folder, "curve", lambda: np.arange(n)) for n in (2, 3)]
    [array([0, 1]), array([0, 1])]
    """
    file = Path(folder) / f"{name}.npz"
    if file.is_file():
        with np.load(file, allow_pickle=False) as there:
            clock.found(file, float(there["processor_seconds"]))
            return there["found"]
    elapsed = clock.stopwatch(torch.get_num_threads())
    found = np.asarray(work())
    disk.write_npz(file, {"found": found, "processor_seconds": elapsed()}, shared=True)
    clock.made(file)
    return found
