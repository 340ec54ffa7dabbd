"""The copies of an example that a model is asked about: the example, its mirror image, small
shifts.
"""

from dataclasses import dataclass

import numpy as np

from mia_lib import checks


@dataclass(frozen=True)
class Augmentation:
    """One deterministic change of all images: moved by (down, right) pixels with reflected border,
    then mirrored.

    Taught in book/lira.ipynb.

    Parameters
    ----------
    mirror : bool
        Left and right exchanged.
    down, right : int
        Pixels, negative for up and left.

    Examples
    --------
    >>> Augmentation(mirror=True)(np.array([[[1, 2, 3]]]))
    array([[[3, 2, 1]]])
    """

    mirror: bool = False
    down: int = 0
    right: int = 0

    @property
    def name(self):
        """Such as "identity" or "mirror, down 1, right -1"."""
        moves = [
            f"{word} {pixels}"
            for word, pixels in (("down", self.down), ("right", self.right))
            if pixels
        ]
        return ", ".join((["mirror"] if self.mirror else []) + moves) or "identity"

    def __call__(self, x):
        """Apply to images (n, height, width) or (n, height, width, channels); the type stays."""
        x = np.asarray(x)
        if self == Augmentation():
            return x
        if x.ndim not in (3, 4):
            checks.fail(
                "x",
                f"shape {x.shape}",
                f"(n, height, width[, channels]) for the query {self.name!r}",
            )
        if max(abs(self.down), abs(self.right)) >= min(x.shape[1:3]):
            checks.fail(
                "x", f"shape {x.shape}", f"images larger than the shift of the query {self.name!r}"
            )
        if self.down:
            x = x[:, _source(x.shape[1], self.down)]
        columns = _source(x.shape[2], self.right)
        return x[:, :, columns[::-1] if self.mirror else columns]


def _source(size, shift):
    position = np.abs(np.arange(size) - shift)
    return np.where(position >= size, 2 * (size - 1) - position, position)


def augmentations(mirror=True, shift=0):
    """The full set of queries of Carlini et al. 2022, section VI-C: mirrored or not, times every
    shift.

    Parameters
    ----------
    mirror : bool
        Whether mirror images are asked about too.
    shift : int
        Largest shift, in pixels, in each of the four directions.

    Returns
    -------
    tuple of Augmentation
        (2 if mirror else 1) x (2 shift + 1)^2 of them, the identity first.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> [query.name for query in augmentations()]
    ['identity', 'mirror']
    >>> len(augmentations(shift=1)), len(augmentations(shift=4))
    (18, 162)
    """
    if not isinstance(mirror, (bool, np.bool_)):
        checks.fail("mirror", repr(mirror), "True or False")
    shift = checks.integer("shift", shift, 0)
    moves = sorted(
        ((down, right) for down in range(-shift, shift + 1) for right in range(-shift, shift + 1)),
        key=lambda move: (max(map(abs, move)), move),
    )
    return tuple(
        Augmentation(flip, *move)
        for move in moves
        for flip in ((False, True) if mirror else (False,))
    )
