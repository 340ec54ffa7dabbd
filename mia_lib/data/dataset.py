"""What a data set is to the rest of the library: arrays with a name."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Dataset:
    """n records with their labels.

    Parameters
    ----------
    x : ndarray (n, ...) or list of str
        The records: uint8 images (n, height, width) or (n, height, width, 3), binary uint8 records
        (n, d), float32 for ``digits``, and one string per review for ``imdb``, per paragraph for
        ``wikitext103``.
    y : ndarray (n,) of int64
        Labels 0 ... K - 1.
    name : str
        The name that `load` knows it by.
    extra : dict
        What else comes with the data, by name. `load` says what there is.

    Notes
    -----
    Taught in book/membership_game.ipynb.

    Examples
    --------
    >>> len(Dataset(np.zeros((3, 2)), np.array([0, 1, 1]), "toy"))
    3
    """

    x: np.ndarray | list
    y: np.ndarray
    name: str
    extra: dict = field(default_factory=dict)

    def __len__(self):
        return len(self.y)
