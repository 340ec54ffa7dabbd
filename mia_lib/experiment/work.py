"""Work of an experiment that is kept as soon as it is done, so that a run that was broken off goes
on.
"""

import json
from pathlib import Path

import numpy as np
import scipy
import torch

from mia_lib import checks, clock, disk, shadow
from mia_lib.data.files import BROKEN
from mia_lib.results.today import code_of

SECONDS = "processor seconds"  # what arrays are kept with


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
        A value that JSON does not hold, such as NaN; a kept file that is damaged.

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
        try:
            there = json.loads(file.read_text())
            found, seconds = there["found"], there["processor_seconds"]
        except BROKEN:
            _damaged(file)
        clock.found(file, seconds)
        return found
    elapsed = clock.stopwatch(torch.get_num_threads())
    entry = {"found": work(), "processor_seconds": elapsed()}
    disk.write_json(file, entry, shared=True)
    clock.made(file)
    return json.loads(json.dumps(entry["found"]))


def kept_arrays(folder, name, work):
    """Arrays that a piece of work has made, such as the weights of trained models: read where they
    are there, else made and kept.

    Parameters
    ----------
    folder, name
        As for `kept`; the file is NAME.npz.
    work : callable
        ``work()`` returns a dict of arrays. It must not depend on what was done before it.

    Returns
    -------
    dict of str to array
        The processor seconds are kept beside them.

    Raises
    ------
    ValueError
        A kept file that is damaged.

    Notes
    -----
    Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for value in (3, 4):
    ...     print(kept_arrays(folder, "models", lambda: {"weight": np.full(2, value)}))
    {'weight': array([3, 3])}
    {'weight': array([3, 3])}
    """
    file = Path(folder) / f"{name}.npz"
    if file.is_file():
        try:
            with np.load(file, allow_pickle=False) as there:
                found = {key: there[key] for key in there.files}
            seconds = float(found.pop(SECONDS))
        except BROKEN:
            _damaged(file)
        clock.found(file, seconds)
        return found
    elapsed = clock.stopwatch(torch.get_num_threads())
    found = dict(work())
    disk.write_npz(file, found | {SECONDS: np.array(elapsed())}, shared=True)
    clock.made(file)
    return found


def _damaged(file):
    checks.fail("folder", f"{file}, which is damaged", "no such file: the work is then done again")


def kept_array(folder, name, work):
    """What a piece of work has found, where that is one array, as `kept_arrays` keeps several.

    Parameters
    ----------
    folder, name
        As for `kept_arrays`.
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
    return kept_arrays(folder, name, lambda: {"found": np.asarray(work())})["found"]


def kept_fit(folder, name, fit, x, y, members, rngs, *, at_once=None, read=None):
    """Models that are trained and kept, so that a run that was broken off trains the others alone.

    Parameters
    ----------
    folder, name
        As for `kept`; the files are NAME-0.npz and so on.
    fit : callable
        A recipe such as `train.Classifier`: ``fit(x, y, members, rngs)`` returns weights.
    x, y, members, rngs
        What it takes; members (k, n), one generator for each model.
    at_once : int, optional
        Models that are trained together and kept in one file. None: all, as for a stack of MLPs.
    read : callable, optional
        ``read(fit, weights, x)`` returns what is kept of some models, a dict of arrays that have
        one entry for each model. None: their outputs, ``{"logits": fit.logits(weights, x)}``.

    Returns
    -------
    dict of str to array (k, ...)

    Notes
    -----
    Used in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> import tempfile
    >>> from mia_lib import train
    >>> fit, folder, x = train.Classifier(hidden=(4,), epochs=1), tempfile.mkdtemp(), np.eye(6)
    >>> rngs = [np.random.default_rng(s) for s in range(3)]
    >>> given = np.arange(6) % 2, np.ones((3, 6), bool), rngs
    >>> kept_fit(folder, "targets", fit, x, *given, at_once=2)["logits"].shape
    (3, 6, 2)
    """
    read = read or (lambda fit, weights, x: {"logits": fit.logits(weights, x)})
    at_once, found = at_once or len(members), []
    for first in range(0, len(members), at_once):
        some = slice(first, first + at_once)

        def work(some=some):
            return read(fit, fit(x, y, members[some], rngs[some]), x)

        found.append(kept_arrays(folder, f"{name}-{first}", work))
    return {key: np.concatenate([one[key] for one in found]) for key in found[0]}
