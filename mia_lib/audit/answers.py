"""What a model answers, whatever it is: probabilities, scores, labels alone, or a number."""

import itertools
from collections.abc import Hashable, Mapping

import numpy as np
from sklearn.base import is_regressor

from mia_lib import checks
from mia_lib.audit import records

BATCH = 4096  # records that a network is asked about at a time
CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")


def ask(name, model, x):
    """A model's answers, as it gives them.

    Parameters
    ----------
    name : str
        Of the argument, for errors.
    model : estimator, torch.nn.Module or callable
        Asked in this order for `predict_proba`, `decision_function`, `predict`, its outputs in
        evaluation mode, its value.
    x : records, as `records.taken` returns them

    Returns
    -------
    array (n, ...)

    Raises
    ------
    ValueError
        Nothing that predicts; answers that are no array of n rows.

    Examples
    --------
    >>> ask("predict", lambda x: x[:, :1] > 0, np.eye(3))[:, 0].tolist()
    [True, False, False]
    """
    library = records.torch()
    if library is not None and isinstance(model, library.nn.Module):
        found = _network(name, model, x, library)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(x)
        if isinstance(found, list):
            checks.fail(name, f"answers to {len(found)} questions at once", "a model of one label")
    elif hasattr(model, "decision_function"):
        found = model.decision_function(x)
        if np.ndim(found) == 2 and _by_pairs(model):
            expected = 'one for each class, by decision_function_shape="ovr"'
            checks.fail(name, "a score for each pair of classes", expected)
    elif hasattr(model, "predict"):
        found = model.predict(x)
    elif callable(model):
        found = _tensor(model(x))
    else:
        checks.fail(
            name,
            type(model).__name__,
            "an estimator with predict_proba, decision_function or predict, a torch network, or a "
            "function",
        )
    try:
        found = np.asarray(records.array(found))
    except (ValueError, TypeError):
        checks.fail(name, f"answers of type {type(found).__name__}", "an array")
    if found.dtype.hasobject:
        strange = next((one for one in found.ravel() if not isinstance(one, Hashable)), None)
        if strange is not None:
            given = f"answers of type {type(strange).__name__}"
            checks.fail(name, given, "one label a record, or rows of probabilities or logits")
    if found.ndim == 0 or len(found) != records.count(x):
        checks.fail(name, f"predictions of shape {found.shape}", f"({records.count(x)}, K)")
    return found


def task(model, found, y):
    """What a model is for: "classification" or "regression".

    A regression is what scikit-learn calls a regressor, and what answers with one number where the
    labels are no whole numbers or more than 0 and 1.

    Examples
    --------
    >>> task(None, np.zeros((4, 1)), np.array([0.5, 1.5, 2, 3]))
    'regression'
    >>> task(None, np.zeros((4, 1)), np.array([0, 1, 1, 0])), task(None, np.zeros((4, 2)), 0)
    ('classification', 'classification')
    """
    if hasattr(model, "classes_"):
        return CLASSIFICATION
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        return REGRESSION
    if not _one_number(found) or found.dtype.kind != "f" or np.asarray(y).dtype.kind not in "fiu":
        return CLASSIFICATION
    return CLASSIFICATION if np.isin(y, (0, 1)).all() else REGRESSION


def labels_alone(found):
    """Whether answers are classes and say nothing of how sure the model is.

    Examples
    --------
    >>> labels_alone(np.array(["cat", "dog"])), labels_alone(np.zeros((2, 3)))
    (True, False)
    """
    return _one_number(found) and found.dtype.kind in "iubUO"


def logits(name, found, classes, own=None, scores=False):
    """Answers as logits or log-probabilities (n, K).

    Parameters
    ----------
    name : str
    found : array from `ask`
    classes : array (K,)
        In the order of the columns that are returned; None where nobody names them.
    own : array, optional
        The classes that this model knows, in the order of its columns: the others get probability
        0.
    scores : bool
        Whether single numbers are scores of the second class, whatever their range.

    Returns
    -------
    float array (n, K)

    Raises
    ------
    ValueError
        A shape that does not belong to the classes.

    Notes
    -----
    Rows that are nonnegative and sum to 1 are taken for probabilities, all else for logits; a
    single number, of the second of two classes, for a probability where all lie in [0, 1].

    Examples
    --------
    >>> logits("predict", np.array([2.0, -1.0]), np.array(["no", "yes"])).tolist()
    [[0.0, 2.0], [0.0, -1.0]]
    >>> logits("predict", np.array(["b", "a"]), np.array(["a", "b"])).tolist()
    [[-inf, 0.0], [0.0, -inf]]
    """
    if labels_alone(found):
        answered = found.reshape(-1)
        unknown = set(answered.tolist()) - set(classes.tolist())
        if unknown:
            known = ", ".join(map(str, classes[:10]))
            checks.fail(name, f"the answer {sorted(map(str, unknown))[0]!r}", f"one of {known}")
        return np.where(answered[:, None] == classes, 0.0, -np.inf)
    if found.dtype.kind != "f":
        expected = "probabilities or logits (n, K), or one label a record"
        checks.fail(name, f"predictions of dtype {found.dtype}, shape {found.shape}", expected)
    known = classes if own is None else own
    table_of_one = found.ndim == 2 and known is not None and len(known) == 1
    if _one_number(found) and not table_of_one:
        one = found.reshape(-1).astype(np.float64)
        if known is not None and len(known) != 2:
            checks.fail(name, f"one number for {len(known)} classes", "one for each class")
        if scores or not ((one >= 0) & (one <= 1)).all():
            return _in_order(np.stack([np.zeros_like(one), one], axis=1), classes, own, -np.inf)
        found = np.stack([1 - one, one], axis=1)
    probable = found.ndim == 2 and found.size and looks_like_probabilities(found, 1e-3)
    found = _in_order(found, classes, own, 0.0 if probable else -np.inf)
    if found.ndim != 2 or (classes is not None and found.shape[1] != len(classes)):
        expected = f"({len(found)}, {'K' if classes is None else len(classes)})"
        checks.fail(name, f"predictions of shape {found.shape}", expected)
    if probable:
        with np.errstate(divide="ignore"):
            return np.log(found)
    return found


def places(classes, labels):
    """Where labels stand among classes, which may be in any order.

    Examples
    --------
    >>> places(np.array(["dog", "cat"]), np.array(["cat", "cat", "dog"]))
    array([1, 1, 0])
    """
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in labels.tolist()], dtype=np.int64)


def looks_like_probabilities(rows, tolerance):
    """Whether no entry is negative and every row sums to 1, within a tolerance.

    Examples
    --------
    >>> looks_like_probabilities(np.full((2, 4), 0.25), 1e-3)
    True
    >>> looks_like_probabilities(np.array([[0.2, 0.8], [-0.5, 1.5]]), 1e-3)
    False
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((rows >= 0).all() and (np.abs(rows.sum(axis=-1) - 1) <= tolerance).all())


def _one_number(found):
    return found.ndim == 1 or (found.ndim == 2 and found.shape[1] == 1)


def _by_pairs(model):
    """Whether a model, or the last step of one, scores pairs of classes, as SVC can ("ovo")."""
    inner = getattr(model, "best_estimator_", getattr(model, "_final_estimator", None))
    if inner is not None:
        return _by_pairs(inner)
    return getattr(model, "decision_function_shape", None) == "ovo"


def _in_order(found, classes, own, absent):
    """Columns of the classes that a model knows, in the order of all classes."""
    if own is None or classes is None or found.ndim != 2 or found.shape[1] != len(own):
        return found
    own = np.asarray(own)
    if not set(own.tolist()) <= set(classes.tolist()):
        return found  # it calls them otherwise, such as by numbers
    full = np.full((len(found), len(classes)), absent, dtype=found.dtype)
    full[:, places(classes, own)] = found
    return full


def _network(name, model, x, library):
    """Outputs of a network in evaluation mode, a batch at a time, where its weights are."""
    weights = itertools.chain(model.parameters(), model.buffers())
    like = next((one for one in weights if one.is_floating_point()), library.empty(0))
    modes = {part: part.training for part in model.modules()}
    embedding = library.nn.Embedding, library.nn.EmbeddingBag
    tokens = any(isinstance(part, embedding) for part in modes)
    inputs = x.to_numpy() if hasattr(x, "iloc") else x
    several = records.parts(inputs)
    parts = [inputs] if several is None else several
    if any(not isinstance(part, np.ndarray) or part.dtype.kind not in "fiub" for part in parts):
        checks.fail(name, "a network and records that are no numbers", "x as the network takes it")

    def tensor(part, rows):
        part = library.as_tensor(np.ascontiguousarray(part[rows]))
        kind = like.dtype
        if not part.is_floating_point() and (tokens or several is not None):
            kind = library.bool if part.dtype == library.bool else library.int64
        return part.to(like.device, kind)

    model.eval()
    try:
        found = []
        with library.no_grad():
            for start in range(0, records.count(x), BATCH):
                rows = slice(start, start + BATCH)
                if isinstance(inputs, Mapping):
                    answer = model(**{key: tensor(part, rows) for key, part in inputs.items()})
                else:
                    answer = model(*(tensor(part, rows) for part in parts))
                found.append(records.array(_tensor(answer)))
        return np.concatenate(found)
    except Exception as error:  # whatever the network's own code raises
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        given = ", ".join(f"{part.dtype} of shape {part.shape}" for part in parts)
        checks.fail(name, f"a network that fails ({first}) on {given}", "x as the network takes it")
    finally:
        for part, mode in modes.items():
            part.training = mode


def _tensor(answer):
    """The outputs among what a network returns: its "logits", or the first table of a tuple."""
    if isinstance(answer, Mapping) or hasattr(answer, "logits"):
        if hasattr(answer, "logits"):
            return answer.logits
        if "logits" in answer:
            return answer["logits"]
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)) and any(hasattr(part, "ndim") for part in answer):
        tables = [part for part in answer if getattr(part, "ndim", 0) == 2]
        return (tables or [part for part in answer if hasattr(part, "ndim")])[0]
    return answer
