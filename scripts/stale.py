"""List the records that today's code has not made: `python scripts/stale.py [FOLDER]`.

A record is stale when the code cells of its notebook, or what they can reach in mia_lib, have
changed since (mia_lib/results/code.py says what counts). The cheapest comes first. Its cost is in
processor minutes, those of all parts of a run that was broken off; records that were made before
these were measured show the wall time of their last part instead, which is marked by "wall".
FOLDER: where the records are, default notebooks/results.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mia_lib import results  # noqa: E402  (the folder of scripts is not a package)


def cost(record):
    """(seconds, whether they are measured processor seconds) of a record."""
    measured = record.get("processor_seconds")
    return (record["seconds"], False) if measured is None else (measured, True)


def lines(records, notebooks=ROOT / "notebooks"):
    """What to say about records, a line each, and a last line with the sum."""
    current = results.as_of_today(records, notebooks)
    stale = sorted((r for r, ok in zip(records, current) if not ok), key=lambda r: cost(r)[0])
    for record in stale:
        seconds, measured = cost(record)
        clock = "processor" if measured else "wall, last part"
        command = f"make run NOTEBOOK={record['notebook']} DATA={record['data']}"
        yield f"{seconds / 60:8.1f} min {clock:15}  {command} SCALE={record['scale']} RECORD=1"
    total = sum(cost(record)[0] for record in stale) / 3600
    share = f"{len(stale)} of {len(records)} records"
    yield f"==> {share}: code since changed; {total:.1f} hours in all"


def main(folder=None):
    print("\n".join(lines(results.find(folder=folder or ROOT / "notebooks/results"))))


if __name__ == "__main__":
    main(*sys.argv[1:2])
