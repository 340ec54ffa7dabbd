"""Measure what executing each chapter and notebook costs: `make costs`, or `python scripts/costs.py
[NOTEBOOK ...]`, default all.

Writes processor time, memory and disk to book/costs.json, which every page and book/records.ipynb
show. A time by the clock is not kept: other work on the machine makes it several times as long,
and the processor time hardly longer. Entries of notebooks that are not named stay as they are.
One notebook at a time, on one thread, at the default scale, with an empty store.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "book/costs.json"
EXECUTE = """
import resource, sys, nbformat
from nbclient import NotebookClient
path = sys.argv[1]
resources = {"metadata": {"path": sys.argv[2]}}
NotebookClient(nbformat.read(path, 4), timeout=600, resources=resources).execute()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def size(folder):
    """Bytes in a folder, or what is left of it while it is being deleted."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            pass
    return total


def measure(notebook):
    """Processor seconds, peak memory of the largest process and peak disk of one notebook."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: Path(scratch, name) for name in ("TMPDIR", "MIA_RUNS", "MIA_RESULTS")}
        for folder in folders.values():
            folder.mkdir()
        environment = os.environ | {name: str(folder) for name, folder in folders.items()}
        environment |= {"OMP_NUM_THREADS": "1", "MIA_PROGRESS": "off", "PYTHONPATH": str(ROOT)}
        largest, done = 0, threading.Event()

        def watch():
            nonlocal largest
            while not done.wait(0.5):
                largest = max(largest, size(Path(scratch)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            command = [sys.executable, "-c", EXECUTE, str(notebook), str(notebook.parent)]
            output = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            ).stdout
        finally:
            done.set()
            watcher.join()
        processor, memory = map(float, output.split()[-2:])
        return {
            "processor_seconds": round(processor, 1),
            "memory_mb": round(memory * (1 if platform.system() == "Darwin" else 1024) / 1e6),
            "disk_mb": round(largest / 1e6, 1),
        }


def main(names):
    everything = sorted([*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")])
    chosen = [ROOT / name for name in names] or everything
    missing = [str(path) for path in chosen if path not in everything]
    if missing:
        sys.exit(f"NOTEBOOK: given {', '.join(missing)}, expected pages of book/ or notebooks/")
    costs = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    for path in chosen:
        name = path.relative_to(ROOT).as_posix()
        costs[name] = measure(path)
        print(f"{name}: {costs[name]}", flush=True)
        there = {path.relative_to(ROOT).as_posix() for path in everything}
        kept = {name: costs[name] for name in sorted(costs) if name in there}
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
