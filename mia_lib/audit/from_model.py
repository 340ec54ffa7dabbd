"""Observations of a model at hand: an estimator of scikit-learn, a torch network, or any function
that predicts.

`records` takes what the model is asked about, `answers` what it says, `structure` looks at the
model itself. Shadow models are kept in a store of `mia_lib.shadow`, one after the other, so that a
call that was broken off goes on where it stopped.
"""

import contextlib
import dataclasses
import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from mia_lib import checks, disk, shadow
from mia_lib.audit import answers, conduct, records, regression, structure
from mia_lib.audit.observations import Observations

# Noise of the copies that label-only attacks ask about, in standard deviations of each column.
NOISE = (0.125, 0.25, 0.5, 1.0)
COPIES = 4  # of each record at each noise


def observe(
    predict,
    x,
    y,
    member,
    *,
    fit=None,
    n_shadow=16,
    columns=None,
    assignment="given",
    rng=None,
    queries=None,
    store=None,
):
    """Ask a model about records, and, if a way to train is given, shadow models too.

    Parameters
    ----------
    predict : estimator, torch.nn.Module or callable
        An estimator is asked for `predict_proba`, else for `decision_function`, else for `predict`;
        a network for its outputs in evaluation mode, on the device where it is, of a dictionary the
        entry "logits", of a tuple the first table; a callable for an array. Rows (n, K) that are
        nonnegative and sum to 1 are taken for probabilities, all others for logits. One number a
        record is a probability or a score of the second of two classes, or, of a regressor and
        where labels are other numbers than 0 and 1, a prediction. Whole numbers or texts, one a
        record, are labels alone.
    x : array (n, ...), tensor, pandas.DataFrame, sparse matrix, list of str, dict, or DataLoader
        Records as the model takes them; a pandas.Series of texts stays one, a dict of arrays is
        handed to a network by name, a tuple of arrays (n, ...) by place. Whole numbers stay whole
        for a network with an embedding. A loader must not shuffle, and gives a label at last or
        under "labels".
    y : array (n,)
        Right classes: 0 ... K - 1, or any that an estimator knows (its `classes_`) or that are
        answered; right numbers for a regression. None with a loader that has them.
    member : bool array (n,)
        True where the record trained the model.
    fit : callable, optional
        ``fit(x, y)`` trains one model anew, in the way in which the target was trained, and returns
        it. With it `n_shadow` shadow models are trained on random halves of the records.
    n_shadow : int
        Even, at least 4.
    columns : dict of str to array (n,), optional
        As for `Observations`.
    assignment : {"given", "random", "coins"}
        How records came to be members; as for `Observations`.
    rng : numpy.random.Generator, optional
        Draws the halves; None means fresh entropy.
    queries : sequence of callables, optional
        Functions x -> x', whose results the model is asked about too. None: none, but of a model
        that answers with labels alone 16 noisy copies of records that are numbers.
    store : path-like, optional
        A folder for the outputs of the shadow models. None: one in the place that MIA_RUNS names,
        so that the same call finds its models again; without `rng`, which makes every call
        another one, nothing is kept. Outputs have the scale of a regression's target, so that a
        folder that is named serves one such target.

    Returns
    -------
    Observations
        With the records as `features`: texts as 0/1 columns or counts of hashed words, missing
        numbers marked. What the model's structure says by itself is in `structure`.

    Raises
    ------
    ValueError
        Predictions of a wrong shape, a label that the model does not know; as for `Observations`.
        All arguments are checked before the first shadow model is trained, and so are the target's
        outputs and the records, as by `permits`.

    Warns
    -----
    UserWarning
        Where the first shadow model is of another type or has other settings than the target: the
        attacks then rest on models that are not like it. Estimators, networks and other objects
        that predict are compared, also where the models are found in a store; a function does not
        say what is behind it.

    Notes
    -----
    A regression is audited by minus the squared error over its mean, see `Observations`. The same
    fit, records, halves and library find stored shadow models; settings that `fit` reads from
    elsewhere than its own text, arguments and closure are not seen to change.
    Taught in book/audit_sklearn.ipynb.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> x, y, member = rng.normal(size=(80, 3)), np.arange(80) % 2, np.arange(80) < 40
    >>> seen = observe(LogisticRegression().fit(x[:40], y[:40]), x, y, member,
    ...     fit=lambda x, y: LogisticRegression().fit(x, y), n_shadow=4)
    >>> seen.shadow_logits.shape
    (4, 80, 2)
    """
    x, y = records.taken(x, y)
    asked = _Asked(predict, x, y)
    queries = _queries(queries, x, asked.labels_alone)
    seen = asked.observations(queries, np.asarray(records.array(member)), columns, assignment)
    if fit is None:
        return seen
    if not callable(fit):
        checks.fail("fit", type(fit).__name__, "a function fit(x, y) that returns a trained model")
    n_shadow = checks.integer("n_shadow", n_shadow, 4)
    if n_shadow % 2:
        checks.fail("n_shadow", str(n_shadow), "an even number")
    conduct.permits(seen)
    keep = store is not None or rng is not None
    masks = shadow.half_masks(n_shadow, seen.n, checks.generator(rng))
    trained = _Shadows(fit, records.digest(x, y), asked.read_by, asked, queries)
    with contextlib.ExitStack() as ended:
        place = store if keep else ended.enter_context(tempfile.TemporaryDirectory())
        found = shadow.train(
            trained,
            np.arange(seen.n)[:, None],
            np.zeros(seen.n, np.int64),
            masks,
            place if place is None else Path(place),
            queries=tuple(_Query(number, query) for number, query in enumerate(queries)),
            chunk=1,
        )
        logits = found.logits()
        logits = logits if keep else np.array(logits)
        trained.remember(found.path / "recipe.json")
    logits = logits[:, 0] if len(queries) == 1 else logits
    return dataclasses.replace(seen, shadow_logits=logits, shadow_member=masks)


@dataclasses.dataclass(frozen=True)
class Noise:
    """A copy of records with Gaussian noise, always the same.

    Examples
    --------
    >>> Noise(0.5, 0)(np.eye(3)).shape
    (3, 3)
    """

    scale: float
    seed: int

    def __call__(self, x):
        if isinstance(x, pd.DataFrame):
            return pd.DataFrame(self(x.to_numpy()), index=x.index, columns=x.columns)
        spread = x.std(axis=0, dtype=np.float64)
        drawn = np.random.default_rng(self.seed).normal(size=x.shape)
        return (x + self.scale * spread * drawn).astype(np.result_type(x.dtype, np.float32))


class _Asked:
    """The target, the records, and how answers about them are read."""

    def __init__(self, predict, x, y):
        self.predict, self.x, self.y = predict, x, y
        self.first = answers.ask("predict", predict, x)
        self.task = answers.task(predict, self.first, y)
        self.labels_alone = self.task != answers.REGRESSION and answers.labels_alone(self.first)
        self.classes = self.scale = None
        if self.task == answers.REGRESSION:
            predictions = _one("predict", self.first, len(y))
            self.targets = checks.real_array("y", y, 1)
            _, self.scale = regression.outputs(predictions, self.targets)
            self.labels = np.zeros(len(y), np.int64)
            return
        self.labels = y
        if hasattr(predict, "classes_"):
            self.classes = np.asarray(predict.classes_)
        elif self.labels_alone:
            self.classes = _all_labels(y, self.first)
        elif y.dtype.kind not in "iuf":
            expected = "whole numbers 0 ... K - 1: the model does not say what its classes are"
            checks.fail("y", f"labels of dtype {y.dtype}", expected)
        elif self.first.ndim == 1 or self.first.shape[1] == 1:
            self.classes = np.arange(2)
        if self.classes is not None:
            unknown = [label for label in dict.fromkeys(y.tolist()) if label not in self.classes]
            if unknown:
                known = ", ".join(map(str, self.classes))
                expected = f"one of the model's classes_, {known}"
                checks.fail("y", f"the label {unknown[0]!r}", expected)
            self.labels = answers.places(self.classes, y)

    @property
    def read_by(self):
        """What decides, beside the records, how the answers of a shadow model are read."""
        return self.scale if self.classes is None else self.classes.tolist()

    def read(self, name, model, found):
        """Answers as logits (n, K)."""
        if self.task == answers.REGRESSION:
            predictions = _one(name, found, len(self.y))
            return regression.outputs(predictions, self.targets, self.scale)[0]
        classes = self.classes
        if classes is None and name != "predict":
            classes = np.arange(self.first.shape[1])
        scores = not hasattr(model, "predict_proba") and hasattr(model, "decision_function")
        own = getattr(model, "classes_", None)
        return answers.logits(name, found, classes, own, scores)

    def observations(self, queries, member, columns, assignment):
        """What the target says, without shadow models; everything about it is checked here."""
        found = [self.read("predict", self.predict, self.first)]
        for query in queries[1:]:
            found.append(self.read("predict", self.predict, self._again(query)))
        if self.task == answers.REGRESSION:
            columns = {} if columns is None else columns
            if isinstance(columns, dict):  # what drifts with the right number is no leak
                columns = {"target": self.targets} | columns
        return Observations(
            found[0] if len(found) == 1 else np.stack(found),
            self.labels,
            member,
            features=records.numbers(self.x),
            columns=columns,
            assignment=assignment,
            task=self.task,
            structure=structure.warnings_of(self.predict, int(np.count_nonzero(member))),
        )

    def _again(self, query):
        copies = query(self.x)
        if records.count(copies) != len(self.y):
            given = f"a query that returns {records.count(copies)} records"
            checks.fail("queries", given, f"functions that return all {len(self.y)}")
        return answers.ask("predict", self.predict, copies)


@dataclasses.dataclass(frozen=True)
class _Query:
    """Row numbers with the number of the query that is meant; its fields name it in a store."""

    number: int
    query: object

    def __call__(self, x):
        return np.column_stack([x[:, 0], np.full(len(x), self.number)])


@dataclasses.dataclass(frozen=True)
class _Shadows:
    """A fit for `shadow.train` on row numbers; a store knows it by its fit, its data and how
    answers are read.
    """

    fit: object
    data: str
    read_by: object
    asked: dataclasses.InitVar
    queries: dataclasses.InitVar

    def __post_init__(self, asked, queries):
        object.__setattr__(self, "_asked", asked)
        object.__setattr__(self, "_queries", queries)
        object.__setattr__(self, "_recipe", None)

    def __call__(self, x, y, members, rngs):
        asked = self._asked
        made = [self.fit(records.rows(asked.x, row), asked.y[row]) for row in members]
        if self._recipe is None:  # at the first model, before hours go into the others
            object.__setattr__(self, "_recipe", _recipe(made[0]))
            _compare(_recipe(asked.predict), self._recipe)
        return made

    def remember(self, file):
        """Keep with the outputs what was trained; compare what another call trained."""
        if self._recipe is not None:
            disk.write_json(file, self._recipe)
        elif file.exists():
            _compare(_recipe(self._asked.predict), json.loads(file.read_text()))

    def logits(self, state, x):
        asked, query = self._asked, self._queries[int(x[0, 1])]
        copies = asked.x if query is None else query(asked.x)
        found = [(model, answers.ask("fit", model, copies)) for model in state]
        return np.stack([asked.read("fit", model, answer) for model, answer in found])


def _queries(queries, x, labels_alone):
    """None, which stands for the records themselves, and the functions that make copies."""
    if queries is None:
        noisy = labels_alone and _numeric(x)
        made = [Noise(s, k) for s in NOISE for k in range(COPIES)] if noisy else []
        return [None, *made]
    try:
        queries = list(queries)
    except TypeError:
        checks.fail("queries", type(queries).__name__, "a sequence of functions x -> x'")
    if not all(map(callable, queries)):
        checks.fail("queries", "an entry that is no function", "functions x -> x'")
    return [None, *queries]


def _numeric(x):
    """Whether records are an array or a frame of numbers, to which noise can be added."""
    if isinstance(x, pd.DataFrame):
        return all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in x.dtypes)
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiu"


def _one(name, found, n):
    """One number a record."""
    if found.shape not in ((n,), (n, 1)):
        checks.fail(name, f"predictions of shape {found.shape}", f"({n},), one number a record")
    return found.reshape(-1)


def _all_labels(y, answered):
    """Classes of a model that answers with labels and names none."""
    both = np.concatenate([np.asarray(part).reshape(-1) for part in (y, answered)])
    try:
        return np.unique(both) if y.dtype.kind == answered.dtype.kind else np.unique(y)
    except TypeError:
        checks.fail("y", "labels of several types", "labels of one type, as the model answers")


def _recipe(model):
    """How a model is made, so far as it says: its type and its settings; None of a function."""
    library = records.torch()
    if library is not None and isinstance(model, library.nn.Module):
        settings = {"their layers": model}
    elif hasattr(model, "get_params"):
        settings = {k: v for k, v in model.get_params().items() if k != "random_state"}
    elif any(hasattr(model, name) for name in ("predict_proba", "decision_function", "predict")):
        settings = {}
    else:
        return None
    # without addresses, which are others in every process
    said = {k: re.sub(r" at 0x[0-9a-fA-F]+", "", repr(v)) for k, v in settings.items()}
    return {"type": type(model).__name__, "settings": said}


def _compare(target, made):
    """Warn where a shadow model was not made like the target."""
    if target is None or made is None:
        return
    if target["type"] != made["type"]:
        warnings.warn(
            f"the target is a {target['type']}, the shadow models are {made['type']}s", stacklevel=3
        )
        return
    settings = made["settings"]
    other = sorted(k for k, v in target["settings"].items() if v != settings.get(k))
    if other:
        warnings.warn(f"target and shadow models differ in {', '.join(other)}", stacklevel=3)
