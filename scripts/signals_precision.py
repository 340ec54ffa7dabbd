"""What it costs that the stored signals are float16: attacks on them beside attacks on float32.

    python scripts/signals_precision.py cifar10

The store in MIA_RUNS holds the models' outputs in float32, which do not travel with the book. For
every model that is there and in notebooks/signals, this scores some attacks with both and writes
notebooks/signals/NAME-precision.json, which book/signals_benchmark.ipynb shows.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pooch

from mia_lib import attacks, data, disk, metrics, shadow, signals
from mia_lib.data import stored_signals

ROOT = Path(__file__).resolve().parent.parent
ATTACKS = ("LOSS", "Difficulty calibration", "MALT", "Midpoint", "RMIA, offline")
RATES = (0.001, 0.0001)


def exact_phi(name, n_models, labels, runs):
    """Logit-scaled confidences (S, n) from the float32 outputs of the store, in float64."""
    found = []
    for s in range(n_models):
        block, model = divmod(s, stored_signals.BLOCK)
        path = runs / f"signals--{name}" / f"block-{block:02d}" / f"model-{model:02d}"
        logits = shadow.load(path).logits()[0, 0, : len(labels)]
        found.append(signals.logit_confidence(np.asarray(logits, np.float64), labels))
    return np.stack(found)


def scores(phi, member):
    """{name: (S, n)}: every model in turn the target of each attack."""
    found = {}
    for name in ATTACKS:
        attack = attacks.named(name)
        signal = phi if attack.signal is signals.logit_confidence else -np.logaddexp(0, -phi)
        found[name] = attack.every_target(signal, member, **attack.options)
    return found


def compared(exact, rounded, member):
    """A row for each attack: TPR at `RATES`, pooled over targets, and AUC, with both precisions."""
    rows = []
    both = [scores(phi.astype(np.float64), member) for phi in (exact, rounded)]
    for name in ATTACKS:
        curves = [metrics.roc(found[name], member) for found in both]
        row = {"attack": name}
        for kind, curve in zip(("float32", "float16"), curves):
            tpr = [float(curve.tpr[curve.fpr <= rate].max()) for rate in RATES]
            row[kind] = {"tpr": tpr, "auc": float(curve.auc)}
        rows.append(row)
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=("cifar10", "cifar100"))
    parser.add_argument("--n-models", type=int)
    parser.add_argument("--folder", type=Path, default=ROOT / "notebooks" / "signals")
    given = parser.parse_args(arguments)
    runs = Path(os.environ.get("MIA_RUNS") or Path(pooch.os_cache("mia_lib")) / "runs")
    stored = data.signals(given.name, given.n_models, given.folder)
    # scored alike with and without the image: see book/signals_benchmark.ipynb
    half = stored.member.sum(axis=0) == len(stored.phi) // 2
    exact = exact_phi(given.name, len(stored.phi), stored.labels, runs)
    result = {
        "n_models": len(stored.phi),
        "n_images": int(half.sum()),
        "rates": RATES,
        "largest_difference": float(np.abs(exact - stored.phi).max()),
        "largest_phi": float(np.abs(exact).max()),
        "distinct": [int(np.unique(phi).size) for phi in stored.phi],
        "rows": compared(exact[:, half], stored.phi[:, half], stored.member[:, half]),
    }
    disk.write_json(given.folder / f"{given.name}-precision.json", result)


if __name__ == "__main__":
    sys.exit(main())
