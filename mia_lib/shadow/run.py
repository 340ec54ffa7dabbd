"""Training all shadow models: here or on an executor, from the start or from where it was broken
off.
"""

import collections.abc
import concurrent.futures
import dataclasses
from pathlib import Path

import numpy as np

import mia_lib
from mia_lib import checks, clock, disk, extras, progress, reseed
from mia_lib.shadow import identity, place
from mia_lib.shadow import store as stores
from mia_lib.shadow.queries import Augmentation

# Without torch there are no threads of it to set, and any other learner can still be run.
torch = extras.module(
    "torch", get_num_threads=lambda: 1, set_num_threads=lambda n: None, __version__="not installed"
)

CHUNK_BYTES = 256 * 2**20  # outputs of one chunk, the largest thing a task returns
CHUNK_MODELS = 32


@dataclasses.dataclass(frozen=True)
class Each:
    """Any learner as a fit for `train`, one model at a time; made by `each`.

    Taught in book/lira.ipynb.
    """

    train_one: object
    predict: object

    @reseed.fit
    def __call__(self, x, y, members, rngs):
        return [self.train_one(x[row], y[row], rng) for row, rng in zip(members, rngs)]

    def logits(self, state, x):
        return np.stack([np.asarray(self.predict(model, x)) for model in state])


def each(train_one, predict):
    """A fit for `train` from a function that trains one model, such as one of scikit-learn.

    Parameters
    ----------
    train_one : callable
        ``train_one(x, y, rng) -> model``, given the members alone.
    predict : callable
        ``predict(model, x) -> (n, K)`` logits or log-probabilities.

    Returns
    -------
    Each
        The models themselves are not stored: outputs are, and `Store.apply` raises a ValueError.

    Notes
    -----
    Functions that run on other processes must be defined at the top of a module.
    """
    for name, function in (("train_one", train_one), ("predict", predict)):
        if not callable(function):
            checks.fail(name, repr(function), "a function")
    return Each(train_one, predict)


def train(
    fit, x, y, masks, store=None, queries=None, executor=None, seed=0, *, chunk=None, window=None
):
    """Train S shadow models, or those of them that the store does not hold yet.

    Parameters
    ----------
    fit : callable
        ``fit(x, y, members, rngs)`` trains one model per row of `members` (k, n) and returns their
        state; ``fit.logits(state, x)`` gives (k, n, K). A `train.Classifier`, what `each` makes, or
        your own object. A state that is a dict of arrays with leading axis k is stored. Everything
        that the fit's numbers depend on must be in its attributes or its source, because that is
        what a later call compares.
    x : (n, ...) array
    y : (n,) int array
        Labels 0 ... K - 1.
    masks : (S, n) boolean array
        Row s: the training set of model s. From `half_masks` or `bernoulli_masks`.
    store : path-like, optional
        A folder: a new one, or one that the same call has begun. None: `folder` of the manifest, so
        that the same call finds its models again and another call other models.
    queries : sequence of callables, optional
        Q functions x -> x' of the same shape; see `augmentations`. None: the examples as they are,
        Q = 1.
    executor : concurrent.futures.Executor, optional
        Where chunks are trained; None: here. Processes, threads, Dask's ``client.get_executor()``
        and the like.
    seed : int
        Model s draws from ``SeedSequence(seed, spawn_key=(s,))``, whatever the chunks.
    chunk : int, optional
        Models that train together. None: at most 32, at most 256 MB of outputs, at least four
        chunks where S allows.
    window : int, optional
        Chunks handed to the executor at a time. None: twice its workers where it tells their
        number, else 8.

    Returns
    -------
    Store

    Raises
    ------
    ValueError
        For bad input; if the store was begun with another recipe, data set, mask, seed, chunk,
        thread count or library version (each is named); if another run is writing to it; if models
        answer with different numbers of columns.

    Warns
    -----
    UserWarning
        If a stored file is missing, truncated or altered: it is named, and its models are trained
        again.

    Notes
    -----
    Numbers are bit-identical for the same chunk and thread count on the same kind of processor,
    whatever the executor and however often the run was killed. Memory holds the data and `window`
    chunks, whatever S. Taught in book/lira.ipynb.

    Examples
    --------
    >>> import tempfile
    >>> from mia_lib import shadow
    >>> from mia_lib.train import Classifier
    >>> x, y = np.eye(3)[[0, 1, 2] * 5], np.array([0, 1, 2] * 5)
    >>> masks = shadow.half_masks(4, 15, np.random.default_rng(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shadow.train(Classifier(hidden=(4,), epochs=1), x, y, masks, folder).logits().shape
    (4, 1, 15, 3)
    """
    if not callable(fit) or not callable(getattr(fit, "logits", None)):
        checks.fail(
            "fit",
            repr(fit),
            "a callable with a method logits(state, x), such as train.Classifier or shadow.each",
        )
    x = _checked_inputs(x)
    y = checks.labels("y", y, len(x), n_classes=getattr(fit, "n_classes", None))
    masks = checks.boolean_array("masks", masks, ndim=2).copy()  # the store's, not the caller's
    if masks.shape[1] != len(x) or len(masks) == 0:
        checks.fail("masks", f"shape {masks.shape}", f"shape (S, {len(x)}) with S of at least 1")
    empty = np.flatnonzero(~masks.any(1))
    if len(empty):
        checks.fail(
            "masks",
            f"model {', '.join(map(str, empty))} without members",
            "at least one for each model",
        )
    queries = _checked_queries(queries)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        checks.fail("executor", repr(executor), "a concurrent.futures.Executor or None")
    seed = checks.integer("seed", seed, 0)
    size = (
        _default_chunk(len(masks), len(queries), y)
        if chunk is None
        else checks.integer("chunk", chunk, 1)
    )
    window = _default_window(executor) if window is None else checks.integer("window", window, 1)
    threads = torch.get_num_threads()

    manifest = {
        "format": 1,
        "fit": identity.describe(fit),
        "queries": [_named(query) for query in queries],
        "seed": seed,
        "chunk": size,
        "threads": threads,
        "x": disk.hash_array(x),
        "y": disk.hash_array(y),
        "masks": disk.hash_array(masks),
        "device": str(getattr(fit, "torch_device", "the fit's own")),
        "versions": {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "mia_lib": mia_lib.__version__,
        },
        "code": identity.code_hash(),
    }
    path = place.folder("shadow", manifest) if store is None else _checked_folder(store)
    with disk.locked(path, "store"):
        stores.begin(path, manifest, masks)
        all_chunks = stores.chunks(len(masks), size)
        todo = stores.missing(path, all_chunks, len(masks), len(queries), len(x))
        stores.count_cost(path, [c for c in all_chunks if c not in todo])
        tasks = (
            (c, (fit, x, y, masks[c.start : c.stop], seed, c.start, queries, threads)) for c in todo
        )
        done = len(masks) - sum(map(len, todo))
        with progress.bar(len(masks), "shadow models") as bar:
            if done:
                bar.update(done)
            for c, (state, logits, cost) in _results(tasks, executor, window):
                stores.finish(path, c, state, logits, (len(masks), *logits.shape[1:]), cost)
                bar.update(len(c))
    return stores.Store(path, manifest, masks, x=x, y=y)


def _checked_inputs(x):
    x = np.asarray(x)
    if x.ndim == 0 or x.size == 0:
        checks.fail("x", f"shape {x.shape}", "n examples, at least one")
    if x.dtype.kind == "f":
        checks.real_array("x", x, dtype=None)
    elif x.dtype.kind not in "iub":
        checks.fail("x", f"an array of dtype {x.dtype}", "a numeric array")
    return x


def _checked_queries(queries):
    if queries is None:
        return (Augmentation(),)
    found = tuple(queries) if isinstance(queries, collections.abc.Iterable) else ()
    if not found or not all(callable(query) for query in found):
        checks.fail("queries", repr(queries), "functions x -> x', at least one, or None")
    return found


def _checked_folder(store):
    try:
        Path(store).mkdir(parents=True, exist_ok=True)
    except (TypeError, FileExistsError, NotADirectoryError):
        checks.fail("store", repr(store), "a folder, which need not be there, or None")
    return Path(store)


def _named(query):
    """What the manifest says of a query: another callable may have a name that others have too."""
    return query.name if isinstance(query, Augmentation) else identity.describe(query)


def _default_chunk(n_models, n_queries, y):
    outputs = 4 * n_queries * len(y) * (int(y.max()) + 1)
    return int(np.clip(min(CHUNK_BYTES // outputs, -(-n_models // 4)), 1, CHUNK_MODELS))


def _default_window(executor):
    workers = getattr(
        executor, "_max_workers", None
    )  # not public, but all of the standard library's have it
    return 2 * workers if isinstance(workers, int) else 8


def _results(tasks, executor, window):
    """(chunk, result) in order of arrival, with at most `window` chunks handed out and not yet
    written.
    """
    if executor is None:
        for chunk, task in tasks:
            yield chunk, train_chunk(*task)
        return
    pending = {}
    try:
        while True:
            while len(pending) < window and (entry := next(tasks, None)) is not None:
                pending[executor.submit(train_chunk, *entry[1])] = entry[0]
            if not pending:
                return
            finished = _wait(pending)
            for future in finished:
                chunk = pending.pop(future)
                yield chunk, future.result()
    finally:
        for future in pending:
            future.cancel()


def _wait(pending):
    """Futures that have finished, at least one."""
    return concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED).done


def train_chunk(fit, x, y, members, seed, first, queries, threads):
    """Train models first, first + 1, ... and ask them all queries: the task that an executor runs.

    Returns
    -------
    state : dict of arrays, or None where the fit's state is something else
    logits : (k, Q, n, K) float32 array
    cost : tuple of str and float
        The process that ran it and the processor seconds that it took.
    """
    elapsed = clock.stopwatch(threads)
    before = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    try:
        rngs = [
            np.random.default_rng(stores.model_seed(seed, first + k)) for k in range(len(members))
        ]
        state = fit(x, y, members, rngs)
        logits = None
        for q, query in enumerate(queries):
            answer = np.asarray(fit.logits(state, query(x)))
            if (
                answer.ndim != 3
                or answer.shape[:2] != members.shape
                or (q and answer.shape[2] != logits.shape[3])
            ):
                checks.fail(
                    "fit.logits",
                    f"a result of shape {answer.shape}",
                    f"shape ({len(members)}, {len(x)}, K)",
                )
            if logits is None:
                logits = np.empty((len(members), len(queries), len(x), answer.shape[2]), np.float32)
            logits[:, q] = answer
        if np.isnan(logits).any():
            bad = first + np.flatnonzero(np.isnan(logits).any((1, 2, 3)))
            names = ", ".join(map(str, bad))
            checks.fail(
                "fit",
                f"NaN outputs of model {names}",
                "a training that does not diverge (a lower learning rate)",
            )
        cost = (clock.here(), elapsed())
        return (state if _storable(state, len(members)) else None), logits, cost
    finally:
        if before != threads:
            torch.set_num_threads(before)


def _storable(state, n_models):
    return isinstance(state, dict) and all(
        isinstance(array, np.ndarray)
        and array.dtype.kind in "fiub"
        and array.ndim
        and len(array) == n_models
        for array in state.values()
    )
