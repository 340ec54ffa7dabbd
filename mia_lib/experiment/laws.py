"""The law of a release's size, as the rows of a record."""

import numpy as np


def keep_law(run, id, law, wanted, of, **about):
    """Keep a fitted law, and how many synthetic records it allows until an advantage.

    Parameters
    ----------
    run : Run
    id : str
        The row of the inventory.
    law : generative.ReleaseLaw or None
        None: there is no advantage to fit one to; the rows are kept as not measured.
    wanted : sequence of float
        Advantages in (0, 1). What the law, or too many of its resamples, never reach is kept as not
        measured.
    of : str
        Whose release it is, with which the names of the rows end.
    **about
        ``note`` and ``n`` of `Run.keep`.

    Notes
    -----
    Used in notebooks/gan_stored.ipynb, notebooks/gan_one_record.ipynb and
    notebooks/synthesiser.ipynb.

    Examples
    --------
    >>> import types
    >>> found = {}
    >>> keep = lambda id, what, value, **about: found.update({what: value})
    >>> run = types.SimpleNamespace(keep=keep)
    >>> keep_law(run, "X14", None, [0.1], "toy")
    >>> sorted(found)
    ['ceiling of the law, toy', 'rate of the law, toy', 'records until advantage 0.1, toy']
    """
    from mia_lib import generative  # takes half a second, and few notebooks need it

    for part in ("rate", "ceiling"):
        run.keep(id, f"{part} of the law, {of}", getattr(law, part, None), **about)
    for one in wanted:
        size = None
        if law is not None and one < law.ceiling.value:
            size = generative.release_size(law, one)
            size = size if np.isfinite(size).all() else None
        run.keep(id, f"records until advantage {one}, {of}", size, **about)
