"""What the queries of a synthetic set read: examples as rows, in pixels or in a feature space."""

import numpy as np

from mia_lib import checks


def rows(name, x, embedding=None, like=None):
    """Examples (n, ...) as float rows (n, d), after `embedding` where there is one.

    `like` is (name, array): what `x` has to agree with in all axes but the first.
    """
    x = checks.real_array(name, x, dtype=None)
    if x.ndim < 2:
        checks.fail(name, f"shape {x.shape}", "shape (n, d) or (n, height, width, ...)")
    if like is not None and x.shape[1:] != np.shape(like[1])[1:]:
        checks.fail(
            name,
            f"shape {x.shape}",
            f"shape {('n', *np.shape(like[1])[1:])} as {like[0]}".replace("'", ""),
        )
    if embedding is not None:
        if not callable(embedding):
            checks.fail(
                "embedding",
                repr(embedding),
                "a function from examples (n, ...) to features (n, e), or None",
            )
        features = checks.real_array(f"embedding({name})", embedding(x), dtype=None)
        if features.ndim < 2 or len(features) != len(x):
            checks.fail(
                f"embedding({name})", f"shape {features.shape}", f"{len(x)} rows of features"
            )
        x = features
    return np.ascontiguousarray(x.reshape(len(x), -1))
