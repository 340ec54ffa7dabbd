"""Which code a record was made by, and whether it is the code of today."""

import os
from pathlib import Path

from mia_lib.results.code import hash_code
from mia_lib.results.places import recorded


def code_of(notebook):
    """Hash of the notebook's code and of what it can reach, as it was when the run began.

    `scripts/run.py` takes it before it starts and hands it on in MIA_CODE, since files may change
    during a long run.

    Parameters
    ----------
    notebook : str
        Its name.

    Returns
    -------
    str or None
        As `hash_code` makes it; None where no such notebook is in the project.

    Notes
    -----
    `write` puts it into the record.

    Examples
    --------
    >>> code_of("no such notebook") is None
    True
    """
    name, _, begun = os.environ.get("MIA_CODE", "").partition(" ")
    if name == notebook and begun:
        return begun
    page = recorded().parent / f"{notebook}.ipynb"
    return hash_code(page) if page.is_file() else None


def as_of_today(records, notebooks=None):
    """Which records were made by the code as it is now.

    Parameters
    ----------
    records : list of dict
    notebooks : path, optional
        The folder of the experiment notebooks. Default: notebooks of the project.

    Returns
    -------
    list of bool
        False where the hash of the notebook's code and of what it can reach has changed, where
        there is no such notebook, and for records whose hash is of an older kind.

    Examples
    --------
    >>> as_of_today([{"notebook": "gone", "hashes": {"code": "0"}}])
    [False]
    """
    folder = recorded().parent if notebooks is None else Path(notebooks)
    names = {record["notebook"] for record in records}
    pages = {name: folder / f"{name}.ipynb" for name in names}
    today = {name: hash_code(page) for name, page in pages.items() if page.is_file()}
    return [today.get(record["notebook"], 0) == record["hashes"]["code"] for record in records]
