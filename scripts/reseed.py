"""Do the assertions on trained models hold over seeds? Every chapter and notebook at its default
scale, trained again with other seeds.

    python scripts/reseed.py [--shifts 20] [NOTEBOOK ...]     run what is missing, write the table
    python scripts/reseed.py --table                          write the table alone
    python scripts/reseed.py --store FOLDER ...               keep the runs there

MIA_RESEED, from 1 to the number of shifts, moves the seeds of training and leaves data and splits
as they are. In the executed copies a failing assertion is noted and the notebook goes on. Outputs
are not compared. What is broken off goes on where it was, on another machine too: each notebook has
a file in notebooks/results/reseed with a line for each shift, which counts as long as the
notebook's cells and the functions of the library that they can reach stay what they were, and which
names its processor. The table,
notebooks/results/reseed.json, holds for each notebook which shifts were run, passed and failed, and
for each comparison that moves with the seeds the mean and standard deviation of its value, and how
many standard deviations lie between it and its limit. A notebook keeps the entry of earlier code
until today's has been run under as many shifts; the entry says so then.

A cell that compares two trainings from one and the same generator, one by hand and one by the
library, is tagged `same-seed` and runs without a shift. A notebook whose cells cannot reach what
shifts seeds trains nothing: it is run under the first shift alone, and its entry says so.
"""

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import assertions
import matplotlib
import nbformat
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import book

sys.path.insert(0, str(book.ROOT))

from mia_lib import machine  # noqa: E402
from mia_lib import reseed as shifting  # noqa: E402
from mia_lib.results.code import hash_code, reached  # noqa: E402  (this tree's)

ROOT = book.ROOT
RUNS = ROOT / "notebooks/results/reseed"
TABLE = ROOT / "notebooks/results/reseed.json"
SHIFTS = 20
TIMEOUT = 3600  # seconds
PLACES = "TMPDIR", "MIA_RUNS", "MIA_RESULTS", "XDG_CACHE_HOME"  # of a run alone
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    "matplotlib.pyplot mia_lib mia_lib.experiment mia_lib.results.display myst_nb pandas "
    "scipy.stats sklearn.linear_model statsmodels torch torchvision".split()
)
TODAYS, CHANGED = "as of today's code", "code since changed"
ENOUGH = 3  # standard deviations between the mean and the limit
START = """import sys as __sys__
__sys__.path.append({scripts!r})
import assertions as __assertions__
get_ipython().events.register("post_run_cell", lambda *_: __assertions__.write({log!r}))"""
UNSHIFTED = """import os as __os__
__shift__ = __os__.environ.pop("MIA_RESEED", "0")
{source}
__os__.environ["MIA_RESEED"] = __shift__"""


def prepared(notebook, log):
    """A copy of a notebook whose assertions write to the file `log`."""
    copy = nbformat.from_dict(notebook)
    for number, cell in enumerate(copy.cells):
        if cell.cell_type == "code":
            cell.source = assertions.instrumented(cell.source, number)
            if "same-seed" in cell.metadata.get("tags", []):
                cell.source = UNSHIFTED.format(source=cell.source)
    start = START.format(scripts=str(Path(__file__).resolve().parent), log=str(log))
    copy.cells.insert(0, nbformat.v4.new_code_cell(start))
    return copy


def execute(path, shift):
    """One notebook under one shift, from an empty store; what its assertions said.

    The cells run as IPython runs them, in a process that has imported everything already and draws
    no figures. One that dies, killed or out of memory, ends the whole run: it says nothing of a
    claim.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        log, said = Path(scratch, "assertions.json"), Path(scratch, "error")
        environment = {name: str(Path(scratch, name)) for name in PLACES}
        for name in environment.values():
            Path(name).mkdir()
        environment |= {"MIA_RESEED": str(shift), "MIA_PROGRESS": "off"}
        notebook = prepared(nbformat.read(path, as_version=4), log)
        process = PROCESSES.Process(
            target=run_cells, args=(notebook, path.parent, environment, said)
        )
        # Read once, by the server of processes, which the first of them starts.
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="1"):
            process.start()
        try:
            process.join(TIMEOUT)
        finally:
            late = process.is_alive()
            process.kill()
            process.join()
        if late:
            error = f"more than {TIMEOUT} seconds"
        elif process.exitcode:
            raise RuntimeError(f"{path.name}: the process ended with {process.exitcode}")
        else:
            error = said.read_text(encoding="utf-8") or None
        noted = json.loads(log.read_text(encoding="utf-8")) if log.is_file() else {}
    return {
        "error": error,
        "failed": sorted(text for text, times in noted.get("failed", {}).items() if times),
        "assertions": len(noted.get("failed", {})),
        "compared": noted.get("compared", {}),
        "seconds": round(time.monotonic() - begin, 1),
    }


def run_cells(notebook, folder, environment, said):
    """Every cell in turn until one raises; `said` gets the error, or nothing."""
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = ["", str(ROOT)]
    matplotlib.use("agg")
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    error = ""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                result = shell.run_cell(cell.source)
                raised = result.error_before_exec or result.error_in_exec
                if raised and "raises-exception" not in cell.metadata.get("tags", []):
                    error = f"{type(raised).__name__}: {raised}".strip()[:300]
                    break
    said.write_text(error, encoding="utf-8")


def key_of(path):
    """What a run counts for: the code that the notebook's cells can reach, with the values of its
    parameters, its tags and its assertions, which that hash leaves out.
    """
    cells = nbformat.read(path, as_version=4).cells
    cells = [cell for cell in cells if cell.cell_type == "code"]
    tags = [cell.metadata.get("tags", []) for cell in cells]
    values = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    claims = [assertions.texts(cell.source) for cell in cells]
    text = json.dumps([hash_code(path), tags, values, claims])
    return hashlib.sha256(text.encode()).hexdigest()


def trains(path):
    """Whether a shift can change anything: the cells of the notebook reach what asks for it."""
    by_hand = shifting.VARIABLE in path.read_text(encoding="utf-8")
    return by_hand or any(name.startswith("mia_lib.reseed.") for name in reached(path))


def shifts_of(path, shifts):
    """The shifts under which a notebook is run: all, or the first where nothing is trained."""
    return range(1, (shifts if trains(path) else 1) + 1)


def run_file(runs, path):
    return runs / f"{path.parent.name}-{path.stem}.jsonl"


def stored(runs, path, key):
    """The runs of a notebook that were made with what is here now, by shift."""
    file = run_file(runs, path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = {}
    for line in lines:
        with contextlib.suppress(ValueError):  # a line that was broken off
            run = json.loads(line)
            if run["key"] == key:
                found[run["shift"]] = run
    return found


def keep(runs, path, run, key):
    """Add a run to the file of its notebook, from which runs of earlier code go."""
    file = run_file(runs, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [*stored(runs, path, key).values(), run]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def summary(runs):
    """What the runs of one notebook say together.

    Parameters
    ----------
    runs : dict of int to dict
        By shift, as `execute` gives them.

    Returns
    -------
    dict
    """
    passed = [shift for shift, run in runs.items() if not run["failed"] and not run["error"]]
    compared = {}
    for text in sorted({text for run in runs.values() for text in run["compared"]}):
        found = [run["compared"][text] for run in runs.values() if text in run["compared"]]
        row = _row(found)
        if row is not None:
            compared[text] = row
    close = [t for t, row in compared.items() if not (row["distance"] or 0) >= ENOUGH]
    return {
        "runs": len(runs),
        "passed": len(passed),
        "failed": {
            str(shift): run["failed"] + ([run["error"]] if run["error"] else [])
            for shift, run in runs.items()
            if shift not in passed
        },
        "assertions": max((run["assertions"] for run in runs.values()), default=0),
        "compared": compared,
        "too close": close,
        "machines": sorted({run["machine"] for run in runs.values()}),
        "seconds": round(sum(run["seconds"] for run in runs.values()), 1),
    }


def _row(found):
    """Mean, standard deviation and distance of one comparison over shifts; None where nothing
    moves.
    """
    margins = [one["margin"] for one in found]
    if len(margins) < 2 or len(set(margins)) == 1:
        return None
    values, limits = [one["value"] for one in found], [one["limit"] for one in found]
    return {
        "n": len(found),
        "value": _short(np.mean(values)),
        "sd": _short(np.std(values, ddof=1)),
        "limit": _short(np.mean(limits)),
        "worst margin": _short(np.min(margins)),
        # of the margin, since the limit may move too
        "distance": _short(np.mean(margins) / np.std(margins, ddof=1)),
    }


def _short(value):
    """Four digits; None for what JSON has no number for."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def named(path):
    """A notebook as the table names it, such as book/lira.ipynb."""
    return path.relative_to(path.parent.parent).as_posix()


def table(store, wanted, keys, before):
    """Everything that has been run so far, as the table that is stored.

    Parameters
    ----------
    store : path
        The folder of the runs.
    wanted : dict of path to range
        The shifts under which each notebook is run.
    keys : dict of path to str
        What a run of each counts for today.
    before : dict
        The entries of the table as it was, {} if there was none.

    Returns
    -------
    dict
    """
    found = {}
    for path, shifts in wanted.items():
        name, key = named(path), keys[path]
        runs = {s: run for s, run in stored(store, path, key).items() if s in shifts}
        old = before.get(name)
        enough = old["runs"] if old and len(shifts) > 1 else 1
        if len(runs) >= max(enough, 1):
            found[name] = {"code": TODAYS, "key": key, "trains": trains(path)} | summary(runs)
        elif old is not None:
            found[name] = old | {"code": TODAYS if old["key"] == key else CHANGED}
    return {"shifts": max(map(len, wanted.values()), default=0), "notebooks": found}


def main(argv=None):
    """Run as from the command line; returns 0 where every assertion held in every run."""
    parser = argparse.ArgumentParser(
        prog="reseed", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all of them")
    parser.add_argument("--shifts", type=int, default=SHIFTS, help=f"default {SHIFTS}")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--store", type=Path, help="folder of the runs")
    given = parser.parse_args(argv)
    if given.shifts < 1:
        parser.error(f"--shifts: given {given.shifts}, expected at least 1")
    everything = [ROOT / path for path in book.notebooks()]
    chosen = [Path(name).resolve() for name in given.notebooks] or (
        [] if given.table else everything
    )
    missing = [str(path) for path in chosen if not path.is_file()]
    if missing:
        parser.error(f"NOTEBOOK: given {', '.join(missing)}, expected a notebook")
    store = given.store or RUNS
    here = ", ".join(machine.instructions().values())
    before = json.loads(TABLE.read_text(encoding="utf-8"))["notebooks"] if TABLE.is_file() else {}
    paths = [  # those of which there is anything to say
        path
        for path in sorted({*everything, *chosen})
        if path in chosen or named(path) in before or run_file(store, path).is_file()
    ]
    keys = {path: key_of(path) for path in paths}
    wanted = {path: shifts_of(path, given.shifts) for path in paths}
    for shift in range(1, given.shifts + 1):
        for path in (path for path in chosen if shift in wanted[path]):
            if shift not in stored(store, path, keys[path]):
                made_with = {"shift": shift, "key": keys[path], "machine": here}
                run = made_with | execute(path, shift)
                keep(store, path, run, keys[path])
                said = "; ".join(run["failed"] + ([run["error"]] if run["error"] else []))
                print(f"    shift {shift:2d}  {path.name}: {said or 'passed'}", flush=True)
    whole = table(store, wanted, keys, before)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, one in whole["notebooks"].items():
        print(
            f"==> {name}: {one['passed']} of {one['runs']} passed, {len(one['compared'])} "
            f"comparisons move, {len(one['too close'])} within {ENOUGH} standard deviations"
        )
    return int(any(one["failed"] for one in whole["notebooks"].values()))


if __name__ == "__main__":
    sys.exit(main())
