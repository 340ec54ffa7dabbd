"""Float32 matrix products on processors whose full speed torch does not use by itself.

On a CPU torch multiplies float32 matrices with MKL. On AMD processors with AVX-512 MKL takes a path
of half the speed of the core, while oneDNN, which torch has beside it, takes one of nearly all of
it. torch hands a float32 product to oneDNN where it is told that the product may be rounded to
bfloat16 on the way. oneDNN uses that leave where tile units (AMX) make it worth while, which no AMD
processor has: there the product stays one of float32. That is not taken on trust: the leave is
given only where a product that rounding would change comes out exactly.

Used by mia_lib.train.stacked.
"""

import contextlib
import functools

import torch

from mia_lib import machine

STEP = 2.0**-12  # of 1, which float32 tells from 1 and bfloat16 does not


@contextlib.contextmanager
def at_full_speed(device):
    """While it lasts, float32 products are those of the library that is the faster one here.

    torch's setting is one of the whole process, which gets back what it had.

    Parameters
    ----------
    device : torch.device
        Where the products are; nothing changes for any but "cpu".
    """
    if device.type != "cpu" or not helps():
        yield
        return
    with _through_onednn():
        yield


@functools.cache
def helps():
    """Whether float32 products are faster through oneDNN on this processor, and are float32 there
    too.

    Returns
    -------
    bool
        True on AMD processors with AVX-512 in whose products float32 is seen to be kept.
    """
    slow = machine.vendor() == "AuthenticAMD"
    slow = slow and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return slow and keeps_float32()


def keeps_float32():
    """Whether oneDNN's products are those of float32: a sum of 600 times 1 + 2**-12, of which every
    part is a float32 number, comes out to the last bit.
    """
    ones = torch.ones(1, 64, 600)
    with _through_onednn():
        found = torch.bmm(ones + STEP, ones.mT)
    return bool((found == 600 * (1 + STEP)).all())


@contextlib.contextmanager
def _through_onednn():
    setting = torch.backends.mkldnn.matmul
    before = setting.fp32_precision
    setting.fp32_precision = "bf16"
    try:
        yield
    finally:
        setting.fp32_precision = before
