"""What a result costs: processor seconds of this process, and of the earlier parts of a run that
was broken off.

A run that goes on uses work that was stored before. Whoever stores work keeps the processor seconds
it took beside it, and says here whether the work was `found` or `made`; `results.write` puts the
sum into the record. So the cost of a record is what it would cost to run it again from nothing,
however often the run was broken off; book/records.ipynb shows it.
"""

import os
import platform
import time

_counted = {}  # what was stored -> processor seconds that this process did not spend itself


def found(stored, seconds):
    """Say that work is there from before.

    Parameters
    ----------
    stored : path or str
        Where it lies; each counts once, however often it is opened, and not at all where this
        process has made it.
    seconds : float or None
        The processor seconds that it took. None: nobody measured them, so the sum is unknown.

    Examples
    --------
    >>> found("models/0000.npz", 20.5)
    """
    _counted.setdefault(str(stored), seconds)


def made(stored, seconds=0.0):
    """Say that work has been done now and stored.

    Parameters
    ----------
    stored : path or str
        Where it lies.
    seconds : float
        The processor seconds of other processes that did it; those of this one are known.

    Examples
    --------
    >>> made("models/0001.npz")
    """
    _counted.setdefault(str(stored), seconds)


def processor_seconds():
    """Processor seconds of this process so far, and of all that it found or had made elsewhere.

    Returns
    -------
    float or None
        None where the seconds of something that was found are unknown.

    Examples
    --------
    >>> processor_seconds() > 0
    True
    """
    elsewhere = list(_counted.values())
    return None if None in elsewhere else time.process_time() + sum(elsewhere)


def here():
    """A name of this process that no other one has, also on another machine."""
    return f"{platform.node()} {os.getpid()}"


def stopwatch(threads=1):
    """A function that tells the processor seconds since this call, of the task that calls it.

    Parameters
    ----------
    threads : int
        How many threads the task uses. With one, other tasks in threads of the same process do not
        count; with more, all threads of the process do.

    Examples
    --------
    >>> elapsed = stopwatch()
    >>> elapsed() >= 0
    True
    """
    time_of = time.thread_time if threads == 1 else time.process_time
    begin = time_of()
    return lambda: time_of() - begin
