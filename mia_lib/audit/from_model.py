"""Observations of a model at hand: a scikit-learn estimator, a torch network, or any function that
predicts.
"""

import warnings

import numpy as np
import pandas as pd
import torch

from mia_lib import checks, progress, shadow
from mia_lib.audit.observations import Observations

BATCH = 4096


def observe(
    predict, x, y, member, *, fit=None, n_shadow=16, columns=None, assignment="given", rng=None
):
    """Ask a model about records, and, if a way to train is given, shadow models too.

    Parameters
    ----------
    predict : estimator, torch.nn.Module or callable
        An estimator is asked for `predict_proba`, a network for its outputs in evaluation mode, a
        callable for an array (n, K): rows that are nonnegative and sum to 1 are taken for
        probabilities, all else for logits.
    x : array (n, ...) or pandas.DataFrame
        Records as the model takes them.
    y : array (n,)
        Right classes: 0 ... K - 1, or, for an estimator, any of its `classes_`.
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

    Returns
    -------
    Observations
        With the records as `features`; of a frame or an array of objects, texts as 0/1 columns and
        missing numbers marked.

    Raises
    ------
    ValueError
        Predictions of a wrong shape, a label that the model does not know; as for `Observations`.

    Warns
    -----
    UserWarning
        Where a shadow model is of another type or has other settings than the target: the attacks
        then rest on models that are not like it.

    Notes
    -----
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
    x, y = x if hasattr(x, "iloc") else np.asarray(x), np.asarray(y)
    classes = getattr(predict, "classes_", None)
    labels = y
    if classes is not None:
        unknown = sorted(set(y.tolist()) - set(np.asarray(classes).tolist()))
        if unknown:
            checks.fail(
                "y",
                f"the label {unknown[0]!r}",
                "one of the model's classes_, " + ", ".join(map(str, classes)),
            )
        labels = np.searchsorted(classes, y)  # an estimator's classes_ are sorted
    logits = _answers("predict", predict, x, None if classes is None else len(classes), classes)
    shadow_logits = masks = None
    if fit is not None:
        n_shadow = checks.integer("n_shadow", n_shadow, 4)
        if n_shadow % 2:
            checks.fail("n_shadow", str(n_shadow), "an even number")
        masks = shadow.half_masks(n_shadow, len(x), checks.generator(rng))
        shadow_logits = np.empty((n_shadow, *logits.shape), np.float32)
        for s in progress.bar(range(n_shadow), "shadow models"):
            model = fit(x.iloc[masks[s]] if hasattr(x, "iloc") else x[masks[s]], y[masks[s]])
            if s == 0:
                _compare(predict, model)
            shadow_logits[s] = _answers("fit", model, x, logits.shape[1], classes)
    return Observations(
        logits,
        labels,
        member,
        shadow_logits,
        masks,
        features=_numbers(x),
        columns=columns,
        assignment=assignment,
    )


def _numbers(x):
    """Records as numbers, for the blind baseline."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        return x
    table = pd.get_dummies(pd.DataFrame(x).infer_objects(), dtype=np.float64)
    missing = table.isna()
    return np.concatenate(
        [table.fillna(0.0), missing.loc[:, missing.any()]], axis=1, dtype=np.float64
    )


def _answers(name, model, x, n_classes, classes):
    """Logits or log-probabilities (n, K); columns of an estimator that lacks a class are filled
    with probability 0.
    """
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(x))
        own = getattr(model, "classes_", classes)
        if classes is not None and len(own) != len(classes):
            full = np.zeros((len(x), len(classes)))
            full[:, np.searchsorted(classes, own)] = found
            found = full
    elif isinstance(model, torch.nn.Module):
        mode = model.training
        like = next(model.parameters(), torch.empty(0))
        model.eval()
        with torch.no_grad():
            parts = [
                model(torch.as_tensor(x[i : i + BATCH]).to(like.device, like.dtype))
                for i in range(0, len(x), BATCH)
            ]
        model.train(mode)
        found = torch.cat(parts).float().cpu().numpy()
    elif callable(model):
        found = np.asarray(model(x))
    else:
        checks.fail(
            name,
            type(model).__name__,
            "an estimator with predict_proba, a torch network or a function",
        )
    if (
        found.ndim != 2
        or len(found) != len(x)
        or (n_classes is not None and found.shape[1] != n_classes)
    ):
        checks.fail(name, f"predictions of shape {found.shape}", f"({len(x)}, {n_classes or 'K'})")
    if found.dtype.kind != "f":
        checks.fail(
            name,
            f"predictions of dtype {found.dtype}",
            "probabilities or logits; labels alone are too little",
        )
    if (found >= 0).all() and np.allclose(found.sum(axis=1), 1, atol=1e-3):
        with np.errstate(divide="ignore"):
            return np.log(found)
    return found


def _compare(target, model):
    """Warn where a shadow model was not made like the target."""
    if type(target) is not type(model):
        if callable(target) and not hasattr(target, "predict_proba"):
            return  # a function does not say what is behind it
        warnings.warn(
            f"the target is a {type(target).__name__}, the shadow models are "
            f"{type(model).__name__}s",
            stacklevel=3,
        )
        return
    settings = [
        one.get_params() if hasattr(one, "get_params") else repr(one) for one in (target, model)
    ]
    if isinstance(settings[0], dict):
        settings = [
            {k: repr(v) for k, v in each.items() if k != "random_state"} for each in settings
        ]
        other = sorted(k for k in settings[0] if settings[0][k] != settings[1].get(k))
        if other:
            warnings.warn(f"target and shadow models differ in {', '.join(other)}", stacklevel=3)
    elif settings[0] != settings[1]:
        warnings.warn("target and shadow models differ in their layers", stacklevel=3)
