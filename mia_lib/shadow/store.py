"""A folder that holds the shadow models: masks, weights and outputs, each chunk with its checksum.

```
manifest.json       everything that the numbers depend on, and the machine that began the store
masks.npy           (S, n) bool
logits.npy          (S, Q, n, K) float32
models/NNNN.npz     state of one chunk, named after its first model
done/NNNN.json      checksums, machine, processor seconds, written last: without it nothing counts
```

A file is written under a temporary name and moved into place, so at every moment each is either
whole or absent; only the rows of logits.npy are written in place, and a chunk's checksum vouches
for them.
"""

import json
import os
import tokenize
import warnings
import zipfile
from pathlib import Path

import numpy as np

from mia_lib import checks, clock, disk, machine, reseed

# what numpy raises for a file that does not hold one whole array, or that holds several
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    AttributeError,
    IndexError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
)


class Store:
    """Trained shadow models on disk.

    `shadow.train` makes one, `shadow.load` opens one.

    Attributes
    ----------
    path : pathlib.Path
    masks : (S, n) boolean array
        True where example i trained model s.
    seeds : list of S numpy.random.SeedSequence
        What each model's generator was made from.
    manifest : dict
        Everything that the numbers depend on.

    Notes
    -----
    Taught in book/lira.ipynb.
    """

    def __init__(self, path, manifest, masks, *, x=None, y=None):
        self.path, self.manifest, self.masks = Path(path), manifest, masks
        self._x, self._y = x, y

    def __repr__(self):
        models, examples = self.masks.shape
        return f"Store({str(self.path)!r}: {models} models, {examples} examples)"

    @property
    def seeds(self):
        """One SeedSequence per model, whatever the chunks."""
        return [model_seed(self.manifest["seed"], s) for s in range(len(self.masks))]

    @property
    def seconds_per_model(self):
        """Processor seconds that training a model and asking it all queries took on average, over
        all runs that trained into the store; NaN where none kept them.
        """
        done = [json.loads(done_file(self.path, chunk).read_text()) for chunk in self._chunks()]
        spent = [
            (one["processor_seconds"], one["models"]) for one in done if "processor_seconds" in one
        ]
        models = sum(stop - start for _, (start, stop) in spent)
        return sum(seconds for seconds, _ in spent) / models if models else float("nan")

    def logits(self):
        """Outputs of every model for every query and example.

        Returns
        -------
        (S, Q, n, K) float32 memory map, read-only
        """
        return np.load(self.path / "logits.npy", mmap_mode="r", allow_pickle=False)

    def weights(self, s):
        """State of one model, a dict of arrays.

        Parameters
        ----------
        s : int
            Which model, 0 ... S - 1.
        """
        s = checks.integer("s", s, 0, high=len(self.masks) - 1)
        chunk = next(chunk for chunk in self._chunks() if s in chunk)
        return {name: array[s - chunk.start] for name, array in self._state(chunk).items()}

    def apply(self, function):
        """A further signal of the stored models, without training again.

        Parameters
        ----------
        function : callable
            ``function(state, x, y)`` with the state of k models, leading axis k; returns an array
            (k, ...).

        Returns
        -------
        (S, ...) array

        Raises
        ------
        ValueError
            If the weights are not stored, the data are not at hand, or the result has the wrong
            length.
        """
        if self._x is None:
            checks.fail("x", "a store that was loaded without data", "shadow.load(path, x, y)")
        parts = []
        for chunk in self._chunks():
            part = np.asarray(function(self._state(chunk), self._x, self._y))
            if part.ndim == 0 or len(part) != len(chunk):
                checks.fail(
                    "function",
                    f"a result of shape {part.shape}",
                    f"leading axis {len(chunk)}, one for each model",
                )
            parts.append(part)
        return np.concatenate(parts)

    def _chunks(self):
        return chunks(len(self.masks), self.manifest["chunk"])

    def _state(self, chunk):
        file = weights_file(self.path, chunk)
        if not file.exists():
            checks.fail(
                "store",
                f"no weights in {self.path}: the fit's state is not arrays",
                "a fit with a dict of arrays",
            )
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)


def load(path, x=None, y=None):
    """Open a finished store, whatever versions it was made with.

    All that is stored is read once and held against its checksums. Run in notebooks/defenses.ipynb.

    Parameters
    ----------
    path : path-like
    x, y : arrays, optional
        The data it was trained on, needed by `Store.apply` alone.

    Returns
    -------
    Store

    Raises
    ------
    ValueError
        If the folder holds no store, the store is unfinished or damaged, or the data are others.
    """
    path = Path(path)
    if not (path / "manifest.json").exists():
        checks.fail("path", str(path), "a folder that shadow.train has written")
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        whole = manifest["chunk"] >= 1 and {"masks", "seed", "x", "y"} <= manifest.keys()
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        checks.fail("path", f"{path}, where manifest.json is damaged", "another folder")
    mended = "a whole store; shadow.train with the same arguments mends it"
    try:
        masks = np.load(path / "masks.npy", allow_pickle=False)
        whole = disk.hash_array(masks) == manifest["masks"]
    except UNREADABLE:
        whole = False
    if not whole:
        checks.fail("path", f"{path}, where masks.npy is missing or damaged", mended)
    all_chunks = chunks(len(masks), manifest["chunk"])
    for chunk in all_chunks:
        if not done_file(path, chunk).exists():
            checks.fail(
                "path",
                f"{path}, where models {chunk.start} to {chunk.stop - 1} are missing",
                "a finished store",
            )
    if (x is None) != (y is None):
        checks.fail("x, y", "one of them", "both or none")
    if x is not None:
        x, y = np.asarray(x), np.asarray(y).astype(np.int64)
        for name, array in (("x", x), ("y", y)):
            if disk.hash_array(array) != manifest[name]:
                checks.fail(name, "other data", "the data that the models were trained on")
    outputs = _outputs(path, masks.shape)
    if outputs is None:
        checks.fail("path", f"{path}, where logits.npy is missing or damaged", mended)
    for chunk in all_chunks:
        try:
            fault = _fault(path, chunk, outputs)
        except OSError as error:
            fault = f"{error.filename} cannot be read"
        if fault:
            checks.fail("path", f"{path}, where {fault}", mended)
    count_cost(path, all_chunks)
    return Store(path, manifest, masks, x=x, y=y)


def model_seed(seed, s):
    """What model s's generator is made from; it depends on the seed and s alone."""
    return np.random.SeedSequence(seed, spawn_key=(s,))


def chunks(n_models, size):
    """Models that train together, as ranges."""
    return [range(start, min(start + size, n_models)) for start in range(0, n_models, size)]


def weights_file(path, chunk):
    return path / "models" / f"{chunk.start:04d}.npz"


def done_file(path, chunk):
    return path / "done" / f"{chunk.start:04d}.json"


def begin(path, manifest, masks):
    """Write the manifest of a new store, or compare it with the one that is there.

    What `mia_lib.machine` says is added to `manifest`, and a shift of the seeds where there is one.
    Another machine is no reason to refuse a store: `finished_elsewhere` says so in one line.

    Raises
    ------
    ValueError
        If anything that the numbers depend on differs; nothing is touched.
    """
    file = path / "manifest.json"
    if reseed.shift():
        manifest["reseed"] = reseed.shift()
    manifest["machine"] = machine.instructions()
    there = disk.begun(file, manifest, "store", aside=("machine",))
    if there is None:
        if (path / "logits.npy").exists() or any((path / "done").glob("*.json")):
            checks.fail(
                "store", f"{path}, which holds models but no manifest.json", "another folder"
            )
        disk.write_npy(path / "masks.npy", masks)
        disk.write_json(file, manifest, sort_keys=True)
        return
    manifest["machine"] = there.get("machine")  # a store of an older version names none
    masks_file = path / "masks.npy"
    try:
        intact = disk.hash_array(np.load(masks_file, allow_pickle=False)) == manifest["masks"]
    except UNREADABLE:
        intact = False
    if not intact:
        warnings.warn(f"{masks_file} is missing or damaged and is written again", stacklevel=4)
        disk.write_npy(masks_file, masks)


def finish(path, chunk, state, logits, shape, cost):
    """Write one chunk: weights, outputs, and last the checksums that make it count.

    Raises
    ------
    ValueError
        If its models answer with another number of columns than those that are there.
    """
    outputs = disk.writable_npy(path / "logits.npy", shape)
    if outputs.shape[3] != logits.shape[3]:
        checks.fail(
            "fit.logits",
            f"{logits.shape[3]} columns from models {chunk.start} to {chunk.stop - 1}",
            f"{outputs.shape[3]}, as many as the other models have given",
        )
    made_by, seconds = cost
    record = {
        "models": [chunk.start, chunk.stop],
        "logits": disk.hash_array(logits),
        "weights": None,
        "processor_seconds": seconds,
        "machine": machine.instructions(),
    }
    if state is not None:
        file = weights_file(path, chunk)
        disk.write_npz(file, state)
        record["weights"] = disk.hash_file(file)
    outputs[chunk.start : chunk.stop] = logits
    outputs.flush()
    disk.write_json(done_file(path, chunk), record, sort_keys=True)
    clock.made(done_file(path, chunk), 0.0 if made_by == clock.here() else seconds)


def count_cost(path, finished):
    """Tell the clock what finished chunks have cost; stores of old versions do not say it."""
    for chunk in finished:
        file = done_file(path, chunk)
        clock.found(file, json.loads(file.read_text()).get("processor_seconds"))


def missing(path, all_chunks, n_models, n_queries, n_examples):
    """Chunks that are still to be trained; damaged ones are named in a warning and belong to
    them.
    """
    finished = [chunk for chunk in all_chunks if done_file(path, chunk).exists()]
    outputs = None
    if (path / "logits.npy").exists():
        outputs = _outputs(path, (n_models, n_examples))
        if outputs is None or outputs.shape[1] != n_queries:
            outputs = None
            warnings.warn(
                f"{path / 'logits.npy'} is damaged; all its models are trained again", stacklevel=3
            )
            os.replace(path / "logits.npy", path / "logits.npy.damaged")
    todo = [chunk for chunk in all_chunks if chunk not in finished]
    for chunk in finished:
        fault = _fault(path, chunk, outputs)
        if fault:
            names = f"models {chunk.start} to {chunk.stop - 1}"
            warnings.warn(f"{fault}; {names} are trained again", stacklevel=3)
            done_file(path, chunk).unlink()
            todo.append(chunk)
    if outputs is not None and finished and len(todo) == len(all_chunks):
        # nothing in it counts any more, its number of classes neither
        os.replace(path / "logits.npy", path / "logits.npy.damaged")
    elsewhere = finished_elsewhere(path, [chunk for chunk in finished if chunk not in todo])
    if elsewhere:
        warnings.warn(f"{path}: {elsewhere}", stacklevel=3)
    return sorted(todo, key=lambda chunk: chunk.start)


def finished_elsewhere(path, finished):
    """Which finished models another machine has trained, and what differs there, in words; empty
    where none or nothing is known.
    """
    found = {}
    for chunk in finished:
        there = json.loads(done_file(path, chunk).read_text()).get("machine")
        found.setdefault(machine.differences(there), []).append(chunk)
    return "; ".join(
        f"{sum(map(len, some))} models were trained with other instructions ({what}), and their "
        f"numbers are not those of this processor to the last bit"
        for what, some in found.items()
        if what
    )


def _outputs(path, shape):
    """What the models said of the examples, a memory map; None where it cannot be that."""
    try:
        outputs = np.load(path / "logits.npy", mmap_mode="r", allow_pickle=False)
        fits = (outputs.shape[0], outputs.shape[2]) == shape and outputs.ndim == 4
    except UNREADABLE:
        return None
    return outputs if fits and outputs.dtype == np.float32 else None


def _fault(path, chunk, outputs):
    """What is wrong with a finished chunk, in words, or None."""
    file = done_file(path, chunk)
    try:
        record = json.loads(file.read_text())
        expected_weights, expected_logits = record["weights"], record["logits"]
    except (ValueError, KeyError, TypeError):
        return f"{file} is damaged"
    if expected_weights is not None:
        file = weights_file(path, chunk)
        if not file.exists():
            return f"{file} is missing"
        if disk.hash_file(file) != expected_weights:
            return f"{file} is truncated or altered"
    if outputs is None:
        return f"{path / 'logits.npy'} is missing"
    if disk.hash_array(outputs[chunk.start : chunk.stop]) != expected_logits:
        return f"{path / 'logits.npy'} is altered"
    return None
