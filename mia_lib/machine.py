"""What the machine is, as far as the last bits of a number depend on it.

Sums are rounded differently by the instructions of different processors, so trained weights differ
in their last bits between machines whose libraries choose other instructions. torch, oneDNN (with
which torch convolves, and multiplies where mia_lib.train.products lets it), numpy and the BLAS each
choose their own.

    python -m mia_lib.machine      # one line for each of them

Used in notebooks/defenses.ipynb.
"""

import functools
import json
import os
import platform
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import scipy.linalg  # noqa: F401  (with it scipy's BLAS is there to be asked)
import threadpoolctl

from mia_lib import extras

# Without torch it has no loops of its own.
_NONE = types.SimpleNamespace(cpu=types.SimpleNamespace(get_cpu_capability=lambda: "not installed"))
torch = extras.module("torch", backends=_NONE)

# What the two libraries without a question for it say of themselves when they are used.
_PROBE = """
import json, torch
from mia_lib import machine
a = torch.zeros(64, 64)
a @ a
torch.nn.functional.conv2d(torch.zeros(8, 8, 16, 16), torch.zeros(8, 8, 3, 3))
print()
print(json.dumps(machine._own_words()), flush=True)
"""


@functools.cache
def processor():
    """The processor's name, such as "AMD EPYC 9004"; the architecture where the system does not
    say it.

    Used in notebooks/defenses.ipynb.

    Examples
    --------
    >>> isinstance(processor(), str) and len(processor()) > 0
    True
    """
    return _of_cpuinfo("model name") or platform.processor() or platform.machine()


@functools.cache
def vendor():
    """Who made the processor, such as "AuthenticAMD" or "GenuineIntel"; empty where the system does
    not say it.

    Used by mia_lib.train.products.

    Examples
    --------
    >>> isinstance(vendor(), str)
    True
    """
    return _of_cpuinfo("vendor_id")


def _of_cpuinfo(field):
    """What Linux says of the first processor; empty where it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^{field}[ \t]*:[ \t]*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else ""


@functools.cache
def instructions():
    """The instruction sets that the numerical libraries of this process use.

    Returns
    -------
    dict of str
        "processor"; "torch", of its own loops; "oneDNN", the limit that the environment sets, since
        it does not say what it uses before it is used; "numpy", of its own loops; "BLAS", that of
        numpy and scipy. As JSON, so that a store of models can name what made it.

    Notes
    -----
    Used in notebooks/defenses.ipynb.

    Examples
    --------
    >>> sorted(instructions())
    ['BLAS', 'numpy', 'oneDNN', 'processor', 'torch']
    """
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA")
    return {
        "processor": processor(),
        "torch": torch.backends.cpu.get_cpu_capability(),
        "oneDNN": f"at most {limit}" if limit else "no limit",
        "numpy": " ".join(numpy_features() or ["baseline"]),
        "BLAS": " ".join(sorted(_blas())),
    }


def numpy_features():
    """Names of the features beyond numpy's baseline that its loops use here, smallest first.

    They are the names that NPY_DISABLE_CPU_FEATURES takes.

    Examples
    --------
    >>> all(isinstance(name, str) for name in numpy_features())
    True
    """
    return list(np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", []))


def _blas():
    """Library and kernel of every BLAS that is loaded."""
    return {
        f"{one['internal_api']} {one.get('architecture', 'unknown')}"
        for one in threadpoolctl.threadpool_info()
        if one["user_api"] == "blas"
    }


def report(environment=None):
    """What `instructions` says in a process of its own, and what oneDNN and the MKL inside torch
    say of themselves when they are used.

    Parameters
    ----------
    environment : dict of str, optional
        Variables that the process is started with, beside those of this one.

    Returns
    -------
    dict of str
        "says nothing" where a library is absent or silent; beside the libraries "threads" and
        "versions".
    """
    verbose = {"ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"}
    said = subprocess.run(
        [sys.executable, "-c", _PROBE],
        env=os.environ | (environment or {}) | verbose,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(said.splitlines()[-1]) | {
        "oneDNN": _said(r"onednn_verbose,.*,cpu,isa:(.+)", said),
        "MKL": _said(r"MKL_VERBOSE .*architecture (.+?) processors", said),
    }


def _own_words():
    threads = os.environ.get("OMP_NUM_THREADS", "not limited")
    return instructions() | {
        "MKL": "",
        "threads": f"OMP_NUM_THREADS {threads}, torch {torch.get_num_threads()}",
        "versions": f"python {platform.python_version()}, torch {torch.__version__}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}",
    }


def _said(pattern, text):
    found = re.search(pattern, text)
    return found.group(1).strip() if found else "says nothing"


def differences(there, here=None):
    """What differs between two machines, in words.

    Parameters
    ----------
    there : dict or None
        What `instructions` gave there; None where nothing is known.
    here : dict, optional
        Default: this process.

    Returns
    -------
    str
        Empty where nothing differs or nothing is known.

    Examples
    --------
    >>> differences({"torch": "AVX2", "BLAS": "Haswell"}, {"torch": "AVX512", "BLAS": "Haswell"})
    'torch AVX2, here AVX512'
    """
    here = instructions() if here is None else here
    return "; ".join(
        f"{name} {there[name]}, here {here[name]}"
        for name in here
        if there and name in there and there[name] != here[name]
    )


def main():
    """Print the report, one line for each library."""
    for name, what in report().items():
        print(f"    {name + ':':<11}{what}")


if __name__ == "__main__":
    main()
