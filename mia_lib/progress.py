"""One progress helper: a bar on a terminal, one updating line in a notebook, silent where
MIA_PROGRESS=off.

Used by whatever takes long, such as the training in book/lira.ipynb.
"""

import os
import sys
import time

import numpy as np
from tqdm.std import tqdm

from mia_lib import checks

REFRESH = 0.25  # seconds between two states of a notebook's line


def bar(iterable_or_total, description, total=None):
    """Show how far a long piece of work has come.

    Parameters
    ----------
    iterable_or_total : iterable or int
        What to run through, or how many steps there are.
    description : str
        What is being counted, in a word or two.
    total : int, optional
        The number of steps, where the iterable has no length.

    Returns
    -------
    iterator and context manager
        Iterating counts each item; ``update(k)`` counts k steps by hand; ``set_postfix_str(text)``
        shows some words behind the count while it runs. Closed at the end of the iteration or of
        the ``with`` block.

    Raises
    ------
    ValueError
        A negative total, something that is neither iterable nor a whole number.

    Notes
    -----
    On a terminal: a bar on stderr with rate and time left. In a notebook: one line that is replaced
    in place, and that is stored as "description: 64 of 64", the same in every run. With the
    environment variable MIA_PROGRESS=off: nothing.

    Examples
    --------
    >>> [i * i for i in bar(range(4), "squares")]
    [0, 1, 4, 9]
    >>> with bar(10, "models") as models:
    ...     models.update(5)
    """
    if isinstance(iterable_or_total, (int, np.integer)) and not isinstance(iterable_or_total, bool):
        iterable = range(checks.integer("total", iterable_or_total, 0))
    elif hasattr(iterable_or_total, "__iter__"):
        iterable = iterable_or_total
    else:
        checks.fail("iterable_or_total", repr(iterable_or_total), "an iterable or a whole number")
    if total is not None:
        total = checks.integer("total", total, 0)
    elif hasattr(iterable, "__len__"):
        total = len(iterable)
    if os.environ.get("MIA_PROGRESS", "").lower() == "off":
        return _Line(iterable, description, total, show=None)
    if _in_notebook():
        return _Line(iterable, description, total, show=_display())
    # A log file keeps every state of the bar: write few.
    interval = 0.1 if sys.stderr.isatty() else 10
    return tqdm(
        iterable,
        desc=description,
        total=total,
        file=sys.stderr,
        mininterval=interval,
        dynamic_ncols=True,
    )


class _Line:
    """Counting with one line of text; silent without `show`."""

    def __init__(self, iterable, description, total, show):
        self.iterable, self.description, self.total, self.show = iterable, description, total, show
        self.n, self.start, self.shown, self.closed, self.postfix = (
            0,
            time.monotonic(),
            -np.inf,
            False,
            "",
        )
        self._refresh()

    def __iter__(self):
        with self:
            for item in self.iterable:
                yield item
                self.update()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def update(self, k=1):
        self.n += k
        self._refresh()

    def set_postfix_str(self, text):
        """Show some words behind the count, as tqdm does; they are not stored, so that every run
        stores the same line.
        """
        self.postfix = text

    def close(self):
        if self.show and not self.closed:
            self.show(self._count())
        self.closed = True

    def _count(self):
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.description}: {self.n:,}{of}"

    def _refresh(self):
        now = time.monotonic()
        if self.show is None or now - self.shown < REFRESH:
            return
        self.shown = now
        text, elapsed = self._count(), now - self.start
        if self.n and elapsed > 0:
            rate = self.n / elapsed
            text += f", {rate:.3g} per s" if rate >= 1 else f", {1 / rate:.3g} s each"
            if self.total is not None:
                text += f", {_duration((self.total - self.n) / rate)} left"
        text += f", {self.postfix}" if self.postfix else ""
        self.show(text)


def _duration(seconds):
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min"
        if hours
        else f"{minutes} min {seconds:02d} s"
        if minutes
        else f"{seconds} s"
    )


def _in_notebook():
    """Whether an IPython kernel runs us, which a notebook does and a terminal does not."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _display():
    """A function that replaces one line of the running cell's output."""
    from IPython.display import display

    handle = None

    def show(text):
        nonlocal handle
        data = {"text/plain": text}
        if handle is None:
            handle = display(data, raw=True, display_id=True)
        else:
            handle.update(data, raw=True)

    return show
