"""Where records lie: those that pages read, and those of one's own runs."""

import os
from pathlib import Path


def recorded():
    """The folder of the records that pages read: notebooks/results of the project.

    Returns
    -------
    pathlib.Path
        Under the closest folder with a pyproject.toml, from the working folder upwards; else under
        the working folder.

    Examples
    --------
    >>> recorded().parts[-2:]
    ('notebooks', 'results')
    """
    return _project() / "notebooks" / "results"


def written():
    chosen = os.environ.get("MIA_RESULTS")
    return Path(chosen) if chosen else _project() / "_build" / "results"


def _project():
    here = Path.cwd()
    return next(
        (folder for folder in (here, *here.parents) if (folder / "pyproject.toml").is_file()), here
    )
