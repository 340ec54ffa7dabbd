"""What a model's structure says about its records before anybody attacks it.

Some models keep records word for word, some have places where few records lie alone, some have
more numbers than they were given. None of this is a leak by itself; all of it is known to whoever
holds the model, and none of it shows in its answers alone.
"""

import numpy as np

from mia_lib.audit import records

# Modules of what any estimator is made from, and of what only holds other models.
FRAMES = (
    "sklearn.base",
    "sklearn.utils",
    "sklearn.pipeline",
    "sklearn.model_selection",
    "sklearn.calibration",
)
FEW = 5  # records of a leaf below which they are nearly alone in it
DEEP = 4  # models within models that are looked into

# Classes of scikit-learn by what they keep; subclasses count, so names are those of bases too.
NEIGHBOURS = ("NeighborsBase", "BaseLabelPropagation")
KERNELS = ("BaseLibSVM", "GaussianProcessClassifier", "GaussianProcessRegressor", "KernelRidge")


def warnings_of(model, n_members):
    """What to know about a model from its structure, one sentence each.

    Parameters
    ----------
    model : object
        An estimator, with all that lies within it (steps, the members of an ensemble), or a
        network. Anything else is not looked into.
    n_members : int
        Records that it was trained on.

    Returns
    -------
    tuple of str, or None
        Empty where nothing was found; None where the model is a function, or of a kind that is not
        known, so that nothing could be looked at: nothing was found, and no part of it that
        predicts is a class of scikit-learn.

    Notes
    -----
    Three things are looked for: records that are stored in the model (nearest neighbours, kernel
    machines), leaves of trees with fewer than 5 records, and more trained numbers than records.
    Taught in book/audit_sklearn.ipynb.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> x = np.arange(20.0)[:, None]
    >>> print(warnings_of(KNeighborsClassifier().fit(x, x[:, 0] > 9), 20)[0][:58])
    The model (KNeighborsClassifier) stores records themselves
    """
    library = records.torch()
    if library is not None and isinstance(model, library.nn.Module):
        count = sum(part.numel() for part in model.parameters())
        return tuple(_more_numbers(type(model).__name__, count, n_members))
    if not hasattr(model, "get_params"):
        return None
    parts = list(_parts(model))
    found = []
    for part in parts:
        found += _stored(part)
    found += _leaves(parts)
    count = sum(map(_trained_numbers, parts))
    found += _more_numbers(type(model).__name__, count, n_members)
    return tuple(dict.fromkeys(found)) if found or any(map(_known, parts)) else None


def _parts(model, depth=0):
    """A model and all fitted models within it."""
    yield model
    if depth == DEEP:
        return
    inner = []
    for name in ("best_estimator_", "estimator_", "_final_estimator", "final_estimator_"):
        inner.append(getattr(model, name, None))
    for name in ("estimators_", "calibrated_classifiers_"):
        inner += list(np.ravel(np.array(getattr(model, name, []), dtype=object)))
    inner += [pair[1] for pair in getattr(model, "steps", [])[:-1]]
    if "Calibrated" in type(model).__name__:
        inner.append(getattr(model, "estimator", None))
    for part in inner:
        if hasattr(part, "get_params") or hasattr(part, "estimator"):
            yield from _parts(part, depth + 1)


def _known(part):
    """Whether a part predicts by itself and is a class of scikit-learn, or made from one."""
    modules = [base.__module__ for base in type(part).__mro__]
    nearest = next((name for name in modules if name.startswith("sklearn.")), FRAMES[0])
    return hasattr(part, "predict") and not nearest.startswith(FRAMES)


def _stored(part):
    bases = {base.__name__ for base in type(part).__mro__}
    name = type(part).__name__
    if bases & set(NEIGHBOURS):
        kept = getattr(part, "n_samples_fit_", None) or len(getattr(part, "X_", ()))
        kind = f"stores records themselves, {kept:,} of them"
    elif bases & set(KERNELS):
        rows = [getattr(part, own, None) for own in ("support_", "X_train_", "X_fit_")]
        kept = next((len(row) for row in rows if row is not None), 0)
        kind = f"is a kernel machine that stores {kept:,} of its records"
    else:
        return []
    return [
        f"The model ({name}) {kind}: whoever holds the model holds them, whatever its answers "
        f"give away. This audit sees its answers alone."
    ]


def _leaves(parts):
    """Trees with leaves of few records, all of a forest in one sentence."""
    counts, name = [], None
    for part in parts:
        if hasattr(part, "tree_"):
            tree = part.tree_
            counts.append(tree.n_node_samples[tree.children_left == -1])
            name = name or type(part).__name__
        elif hasattr(part, "_predictors"):
            for tree in np.ravel(np.array(part._predictors, dtype=object)):
                counts.append(tree.nodes["count"][tree.nodes["is_leaf"].astype(bool)])
            name = name or type(part).__name__
    if not counts:
        return []
    sizes = np.concatenate(counts)
    few = int(np.count_nonzero(sizes < FEW))
    if not few:
        return []
    return [
        f"{few:,} of {len(sizes):,} leaves ({name}) hold fewer than {FEW} training records, the "
        f"smallest {int(sizes.min())}: what the model answers there is what those few records "
        f"said. A larger min_samples_leaf would put more records into each."
    ]


def _trained_numbers(part):
    """Weights that were fitted, of linear models and networks."""
    count = 0
    for name in ("coef_", "intercept_"):
        value = getattr(part, name, None) if not hasattr(part, "support_") else None
        count += int(np.size(value.toarray() if hasattr(value, "toarray") else value)) * (
            value is not None
        )
    for name in ("coefs_", "intercepts_"):
        count += sum(int(np.size(value)) for value in getattr(part, name, []))
    return count


def _more_numbers(name, count, n_members):
    if count <= n_members:
        return []
    return [
        f"The model ({name}) has {count:,} trained numbers for {n_members:,} training records: "
        f"enough to fit each record by itself, unless regularisation prevents it."
    ]
