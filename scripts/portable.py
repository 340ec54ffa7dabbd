"""Execute the chapters and notebooks as other processors would, and compare their outputs.

    python scripts/portable.py [NOTEBOOK ...]          with the instructions AVX2, then with SSE
    python scripts/portable.py --one [NOTEBOOK ...]    with one of them, by the commit's hash
    python scripts/portable.py --one --share 4         a quarter of them, by the commit's hash too
    python scripts/portable.py --only sse [NOTEBOOK ...]

Without names all chapters and notebooks are executed. Each run starts with an empty home: no cache,
no stored models. It prints what torch, oneDNN, numpy and the BLAS report, and stops before the
notebooks where they report what they would report anyway. Instructions beyond which the processor
has none are left out with one line: `make test` runs with them. More options of pytest stand after
`--`.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mia_lib import machine  # noqa: E402  (this tree's, wherever the script is called from)

# The variables of each library by which it takes fewer instructions than the processor has. numpy's
# loops are switched off by name, so the names are asked for where the run is.
ENVIRONMENTS = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
    "sse": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Prescott",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    },
}
LEVELS = ("DEFAULT", "AVX2", "AVX512")  # of x86, as torch names them, from the fewest instructions
TORCH = {"avx2": "AVX2", "sse": "DEFAULT"}  # what it reports with each set of variables
NUMPY_BEYOND = {"avx2": ("X86_V4", "AVX512"), "sse": ("",)}  # how the names of its features begin
REPORTS = ("torch", "oneDNN", "numpy", "BLAS")  # MKL names no instructions on some processors
EMPTY = ("HOME", "XDG_CACHE_HOME", "MIA_RUNS", "MIA_RESULTS", "TMPDIR")


def environment(name, features):
    """The variables of one instruction set.

    Parameters
    ----------
    name : str
        "avx2" or "sse".
    features : sequence of str
        What numpy uses here beyond its baseline.

    Returns
    -------
    dict of str
    """
    off = [feature for feature in features if feature.startswith(NUMPY_BEYOND[name])]
    return ENVIRONMENTS[name] | ({"NPY_DISABLE_CPU_FEATURES": " ".join(off)} if off else {})


def unchanged(there, here):
    """Which of the libraries report under the variables what they report without."""
    return [name for name in REPORTS if there[name] == here[name]]


def fewer(here):
    """The instruction sets that are fewer than this processor's, which torch reports."""
    level = LEVELS.index(here["torch"]) if here["torch"] in LEVELS else len(LEVELS)
    return [name for name in ENVIRONMENTS if LEVELS.index(TORCH[name]) < level]


def chosen(commit, names):
    """The instruction set of a commit: by its hash, so that commits take turns and one commit has
    always the same on one processor.
    """
    return sorted(names)[int(commit, 16) % len(names)]


def shared(commit, notebooks, parts, turns):
    """One part of the notebooks: by the commit's hash, so that commits take turns.

    Parameters
    ----------
    commit : str
    notebooks : list of path
    parts : int
        At least 1; more than there are notebooks are as many as there are.
    turns : int
        How many values `chosen` has, so that every part meets each of them.

    Returns
    -------
    list of path
        In the order given.
    """
    parts = min(parts, len(notebooks))
    return notebooks[int(commit, 16) // turns % parts :: parts]


def run(name, notebooks, options, here):
    """One run over the notebooks; returns pytest's exit code."""
    variables = environment(name, here["numpy"].split())
    print(f"==> {name}: {' '.join(f'{k}={v!r}' for k, v in variables.items())}", flush=True)
    there = machine.report(variables)
    for library, what in there.items():
        print(f"    {library + ':':<11}{what}", flush=True)
    same = unchanged(there, here)
    if len(same) == len(REPORTS):
        print(f"==> stopped: {name} changes nothing on {here['processor']}", file=sys.stderr)
        return 1
    if same:
        print(f"    as without the variables: {', '.join(same)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folders = {variable: Path(scratch, variable) for variable in EMPTY}
        for folder in folders.values():
            folder.mkdir()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("MIA_")}
        inherited |= {"OMP_NUM_THREADS": "1", "MIA_PROGRESS": "off"} | variables
        inherited |= {variable: str(folder) for variable, folder in folders.items()}
        inherited["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        )
        command = [sys.executable, "-m", "pytest", "-rs", "--durations=10"]
        command += ["--nbval", "--nbval-cell-timeout=600", "--dist", "loadfile"]
        return subprocess.run(
            [*command, *options, *map(str, notebooks)], cwd=ROOT, env=inherited
        ).returncode


def main(argv=None):
    """Run as from the command line; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    argv, options = (
        (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    )
    parser = argparse.ArgumentParser(
        prog="portable", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all of them")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--one", action="store_true", help="one, by the commit's hash")
    which.add_argument("--only", choices=sorted(ENVIRONMENTS), help="this one")
    parser.add_argument(
        "--share", type=int, default=1, metavar="N", help="with --one: one notebook of N"
    )
    given = parser.parse_args(argv)
    if given.share < 1 or (given.share > 1 and not given.one):
        sys.exit(f"--share: given {given.share}, expected 1 or more, and with --one")
    if platform.machine().lower() not in ("x86_64", "amd64"):
        print(f"==> {platform.machine()}: the instruction sets are those of x86, nothing to run")
        return 0
    here = machine.report()
    names, why = fewer(here), ""
    for name in [given.only] if given.only else ENVIRONMENTS:
        if name not in names:
            print(f"==> {name}: {here['processor']} has no more by itself, see make test")
    if given.only not in (None, *names) or not names:
        return 0
    everything = sorted([*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")])
    notebooks = [Path(name).resolve() for name in given.notebooks] or everything
    missing = [str(path) for path in notebooks if not path.is_file()]
    if missing:
        sys.exit(f"NOTEBOOK: given {', '.join(missing)}, expected a notebook")
    if given.one:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
        notebooks = shared(commit, notebooks, given.share, len(names))
        names, why = [chosen(commit, names)], f", of commit {commit[:12]}"
    elif given.only:
        names = [given.only]
    print(f"==> {len(notebooks)} notebooks with {' and '.join(names)}{why}", flush=True)
    codes = {}
    for name in names:
        codes[name] = run(name, notebooks, options, here)
    said = ", ".join(f"{name} {'failed' if code else 'passed'}" for name, code in codes.items())
    print(f"==> {said}", flush=True)
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main())
