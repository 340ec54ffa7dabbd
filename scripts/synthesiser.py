"""Let a published tabular synthesiser release tables, each trained on a random half of the records.

    python scripts/synthesiser.py synthetic-purchase arf

arfpy fits an adversarial random forest (MIT licence) in an environment of its own, because it needs
an older numpy than the book; the first run makes that environment in MIA_RUNS (a minute). Releases
of `synthetic-purchase` are written to notebooks/tables. Those of `location30` stay in MIA_RUNS:
they may hold near copies of real people's records. Every table is kept there as soon as it is made,
so a stop costs at most one; other members, settings or another worker are other tables.
"""

import argparse
import datetime
import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np

from mia_lib import data, disk, progress, shadow

ROOT = Path(__file__).resolve().parent.parent
WORKER = ROOT / "scripts" / "arf_worker.py"
SEED = 20_261_127
# arfpy's default settings, and leaves of ten times as many records
KINDS = {"arf": {"min_node_size": 5}, "arf-50": {"min_node_size": 50}}
FOREST = {"trees": 30, "max_iters": 10}
PURCHASES = {"n_features": 100, "n_classes": 10}  # with 600 and 100 arfpy's tables teach no class
SIZES = {  # records that are asked about, reference records, tables
    "synthetic-purchase": {"n": 4_000, "n_reference": 4_000, "tables": 16},
    "location30": {"n": 2_000, "n_reference": 2_000, "tables": 16},
}
N_RELEASE, N_FORGE = 10_000, 200


def population(name):
    """Records (n, d) of 0 and 1, their labels, and in which order they are dealt."""
    if name == "synthetic-purchase":
        drawn = data.synthetic_purchase(20_000, np.random.default_rng(100), **PURCHASES)
    else:
        drawn = data.load(name)
    order = np.random.default_rng([SEED, 0]).permutation(len(drawn))
    return np.asarray(drawn.x, np.uint8), np.asarray(drawn.y), order


def interpreter(runs):
    """Python of the synthesiser's environment, which is made where it is not there yet."""
    wanted = WORKER.with_suffix(".txt").read_text()
    folder = runs / "environments" / "arf"
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists() or done.read_text() != wanted:
        print(f"making an environment for arfpy in {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]
        subprocess.run([*pip, WORKER.with_suffix(".txt")], check=True)
        done.write_text(wanted)
    return python


def table(folder, s, given, python):
    """What the worker found for one table, kept in a folder."""
    file = folder / f"{s:02d}.npz"
    if not file.exists():
        asked, found = (folder / f"{s:02d}.{part}.npz" for part in ("given", "found"))
        np.savez(asked, **given)
        subprocess.run([python, WORKER, asked, found], check=True)
        asked.unlink()
        found.rename(file)
    with np.load(file) as found:
        return dict(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=sorted(SIZES))
    parser.add_argument("kind", choices=sorted(KINDS))
    asked = parser.parse_args(arguments)
    runs = shadow.folder("tables").parent
    public = asked.name == "synthetic-purchase"
    home = (ROOT / "notebooks" if public else runs) / "tables"
    file = home / f"{asked.name}--{asked.kind}.npz"
    if file.exists():
        return
    sizes = SIZES[asked.name]
    settings = FOREST | KINDS[asked.kind]
    x, y, order = population(asked.name)
    rows, reference = np.split(order, [sizes["n"]])
    reference = reference[: sizes["n_reference"]]
    labelled = np.c_[x, y].astype(np.uint8)
    # both kinds have the same members
    masks = shadow.half_masks(sizes["tables"], sizes["n"], np.random.default_rng([SEED, 1]))
    how = [file.read_text() for file in (WORKER, WORKER.with_suffix(".txt"))]
    given = labelled[rows], masks, settings, sizes, SEED, N_RELEASE, N_FORGE, *how
    folder = shadow.folder(f"tables--{asked.name}--{asked.kind}", *given)
    folder.mkdir(parents=True, exist_ok=True)
    python, found = interpreter(runs), []
    for s, member in enumerate(progress.bar(masks, "tables")):
        given = {"members": labelled[rows[member]], "asked": labelled[rows], "seed": SEED + s}
        given |= settings | {"n_release": N_RELEASE, "n_forge": N_FORGE}
        found.append(table(folder, s, given, python))
        last = found[-1]
        rounds = np.round(last["accuracy"], 3).tolist()
        print(f"table {s}: forests' accuracy {rounds}, {last['leaves']} leaves", flush=True)
    about = {"synthesiser": "adversarial random forest", "versions": str(found[0]["versions"])}
    about |= {"settings": settings, "seed": SEED, "population": asked.name}
    about |= {"purchases": PURCHASES} if asked.name == "synthetic-purchase" else {}
    about |= {key: [one[key].tolist() for one in found] for key in ("accuracy", "leaves")}
    about["forge_gap"] = [float(one["forge_gap"]) for one in found]
    about["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    release = np.stack([one["release"] for one in found])
    arrays = {
        "x": np.packbits(x[rows], axis=1),
        "labels": y[rows].astype(np.uint8),
        "rows": rows,
        "reference": np.packbits(x[reference], axis=1),
        "reference_labels": y[reference].astype(np.uint8),
        "release": np.packbits(release[..., :-1], axis=2),
        "release_labels": release[..., -1],
        "log_density": np.stack([one["log_density"] for one in found]).astype(np.float32),
        "member": np.packbits(masks, axis=1),
        "columns": np.array(x.shape[1]),
        "provenance": np.array(json.dumps(about)),
    }
    home.mkdir(parents=True, exist_ok=True)
    disk.write(file, lambda stream: np.savez_compressed(stream, **arrays))


if __name__ == "__main__":
    sys.exit(main())
