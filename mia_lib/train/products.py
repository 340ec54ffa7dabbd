"""Float32 matrix products on processors whose full speed torch does not use by itself.

On a CPU torch multiplies float32 matrices with MKL, which on AMD processors with AVX-512 reaches
half of the speed of the core in large products. oneDNN, which torch has beside it, reaches nearly
all of it, and torch hands a product over to it where it may be rounded to bfloat16 on the way.
oneDNN makes use of that permission where a processor has tile units (AMX), which no AMD processor
has: there the product stays one of float32. That is not taken on trust: the permission is given
only where a product that any rounding would change comes out exactly.

A small product takes longer through oneDNN, whose calls cost more. So records decide, of which wide
ones make for large products.

Used by the fits of mia_lib.train.
"""

import contextlib
import functools
import inspect
import math
import os
import threading

import torch

from mia_lib import machine

WIDE = 400  # values of a record: 446-128-30 in batches of 64 loses nothing alone, stacks of it gain

_lock = threading.Lock()
_inside = []  # the setting that each one inside has found; the caller's is that of the first


def at_full_speed(function):
    """Decorate what trains networks or asks them: while it runs, float32 products are those of the
    library that is faster here for records as wide as those of its argument `x`.

    All fits and their answers are decorated, so that networks which several threads train on the
    same records have the same bits whichever thread is the first.

    Notes
    -----
    torch's setting is one of the whole process. Other threads' products of float32 go to oneDNN
    too meanwhile, and ``torch.get_float32_matmul_precision`` refuses to answer. Afterwards the
    setting is what it was, unless somebody else has changed it.
    """
    place = list(inspect.signature(function).parameters).index("x")

    @functools.wraps(function)
    def faster(*args, **kwargs):
        x = args[place] if place < len(args) else kwargs.get("x")
        if wide(x) and helps():
            with _through_onednn():
                return function(*args, **kwargs)
        return function(*args, **kwargs)  # which says what is wrong with anything else

    return faster


def wide(x):
    """Whether the records of an array (n, ...) have `WIDE` values or more.

    Examples
    --------
    >>> wide(torch.zeros(3, 28, 28)), wide(torch.zeros(3, 64)), wide("no array")
    (True, False, False)
    """
    shape = getattr(x, "shape", ())
    return len(shape) > 1 and math.prod(shape[1:]) >= WIDE


@functools.cache
def helps():
    """Whether large products of float32 are faster through oneDNN here, and are of float32 there.

    Returns
    -------
    bool
        True on AMD processors with AVX-512 (on Linux, which says who made the processor) in whose
        products float32 is seen to be kept.
    """
    slow = machine.vendor() == "AuthenticAMD"
    slow = slow and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return slow and keeps_float32()


def keeps_float32():
    """Whether oneDNN rounds nothing on the way: (1 + 2**-12)(1 + 2**-11), in which all 24 digits of
    a float32 number count, comes out to the last one.
    """
    kind = {"dtype": torch.float32, "device": "cpu"}
    one, other = 1 + 2.0**-12, 1 + 2.0**-11
    left, right = one * torch.eye(64, 600, **kind), torch.full((600, 256), other, **kind)
    with _through_onednn(), torch.autocast("cpu", enabled=False):
        found = torch.bmm(left[None], right[None])
    return bool((found == one * other).all())


@contextlib.contextmanager
def _through_onednn():
    """The setting that hands float32 products to oneDNN, for all threads that ask for it at once:
    the last one to leave gives back what the first one found.
    """
    setting = torch.backends.mkldnn.matmul
    with _lock:
        _inside.append(setting.fp32_precision)
        if len(_inside) == 1:
            setting.fp32_precision = "bf16"
    try:
        yield
    finally:
        with _lock:
            before = _inside.pop()
            if not _inside:
                _give_back(before)


def _give_back(before):
    setting = torch.backends.mkldnn.matmul
    if setting.fp32_precision != "bf16":  # somebody else has set it meanwhile
        return
    setting.fp32_precision = "none"
    # What a wider setting says need not be said here, where it would outlive that setting. Whether
    # it had been said here too, torch does not tell.
    if setting.fp32_precision != before:
        setting.fp32_precision = before


def _begin_anew():
    """In a process that was forked while a thread was inside: that thread is not in it."""
    global _lock
    _lock = threading.Lock()
    if _inside:
        _give_back(_inside[0])
        _inside.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
