"""The records that a model is asked about, in whatever form the model takes them."""

import hashlib
import pickle
import sys
from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from mia_lib import checks, disk

BATCH = 4096  # records of one batch, where a loader is made here
CATEGORIES = 50  # distinct texts of a column from which on it is no category but free text
WORDS = 256  # columns that the words of free texts are hashed into, for the blind baseline
DENSE = 2**26  # numbers of a sparse table up to which all of it is shown to the blind baseline
ANSWERS = ("labels", "label")  # entries of a batch that are no input


def torch():
    """The library, where it is imported: only then can an argument come from it."""
    return sys.modules.get("torch")


def taken(x, y=None):
    """Records and labels in forms that can be cut into rows.

    Parameters
    ----------
    x : array, tensor, pandas.DataFrame, sparse matrix, list of str, dict of arrays, or DataLoader
        A pandas.Series of texts stays one, any other becomes a frame of one column. Several inputs
        are a dict by name, or a tuple of arrays by place. A loader gives inputs, or inputs and at
        last the label, always in the same order.
    y : array (n,) or tensor, optional
        None: those of the loader.

    Returns
    -------
    records
        A frame, a series of texts, a sparse table, an array, or a dict or tuple of arrays.
    labels : array

    Raises
    ------
    ValueError
        A loader that shuffles or whose batches have other lengths, no labels, records and labels
        that are not equally many.

    Examples
    --------
    >>> taken(["a text", "another"], [0, 1])[0].shape
    (2,)
    """
    library = torch()
    if library is not None and isinstance(x, library.utils.data.Dataset):
        x = library.utils.data.DataLoader(x, batch_size=BATCH)
    if library is not None and isinstance(x, library.utils.data.DataLoader):
        x, own = _collected(x, library, y is not None)
        y = own if y is None else y
    if y is None:
        checks.fail("y", "None", "the right label of each record, or a DataLoader that has them")
    y = np.asarray(array(y))
    x = _form(x, len(y) if y.ndim else 0)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (count(x),):
        checks.fail("y", f"shape {y.shape}", f"shape ({count(x)},), one label for each record")
    return x, y


def array(value):
    """A tensor of any device as an array; anything else as it is.

    Examples
    --------
    >>> array([1, 2])
    [1, 2]
    """
    library = torch()
    if library is not None and isinstance(value, library.Tensor):
        value = value.detach().cpu()
        if value.dtype in (library.bfloat16, library.float16):
            value = value.float()
        return value.numpy()
    return value


def parts(x):
    """Several inputs as a list, by name or by place; None where the records are one input.

    Examples
    --------
    >>> parts((np.zeros((3, 8)), np.ones((3, 8))))[1].shape, parts(np.eye(3))
    ((3, 8), None)
    """
    if isinstance(x, Mapping):
        return list(x.values())
    return list(x) if isinstance(x, tuple) else None


def count(x):
    """How many records there are.

    Examples
    --------
    >>> count({"tokens": np.zeros((3, 8)), "mask": np.ones((3, 8))})
    3
    """
    several = parts(x)
    return len(several[0]) if several else x.shape[0]


def rows(x, chosen):
    """Some of the records, in the form in which they came.

    Examples
    --------
    >>> rows({"tokens": np.arange(3)}, np.array([True, False, True]))
    {'tokens': array([0, 2])}
    """
    if isinstance(x, Mapping):
        return {name: part[chosen] for name, part in x.items()}
    if isinstance(x, tuple):
        return tuple(part[chosen] for part in x)
    return x.iloc[chosen] if hasattr(x, "iloc") else x[chosen]


def numbers(x):
    """Records as numbers, for the blind baseline: texts as 0/1 columns or counts of hashed words,
    times and spans as seconds, cells of other kinds as the texts that they print, missing numbers
    marked.

    Examples
    --------
    >>> numbers(np.array([[1.0], [np.nan]]))
    array([[1., 0.],
           [0., 1.]])
    """
    if parts(x) is not None:
        return np.concatenate([numbers(part).reshape(count(x), -1) for part in parts(x)], axis=1)
    if sparse.issparse(x):
        return _dense(x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        x = x[:, None] if x.ndim == 1 else x
        if x.dtype.kind != "f" or x.ndim > 2 or not np.isnan(x).any():
            return x
    table = _plain(pd.DataFrame(x).infer_objects())
    wide = [name for name in table if _free_text(table[name])]
    found = [_words(table[name]) for name in wide]
    rest = table.drop(columns=wide)
    if rest.shape[1]:
        rest = pd.get_dummies(rest, dtype=np.float64)
        missing = rest.isna()
        found += [rest.fillna(0.0), missing.loc[:, missing.any()]]
    return np.concatenate(found, axis=1, dtype=np.float64)


def digest(*given):
    """SHA-256 of records in any of their forms.

    Examples
    --------
    >>> digest(np.arange(3)) == digest(np.arange(3)) != digest(np.arange(4))
    True
    """
    found = hashlib.sha256()
    for part in given:
        if parts(part) is not None:
            found.update(digest(*parts(part)).encode())
        elif sparse.issparse(part):
            found.update(disk.hash_arrays(part.data, part.indices, part.indptr).encode())
        elif hasattr(part, "iloc") or part.dtype.hasobject:
            found.update(_cells(part))
        else:
            found.update(disk.hash_arrays(part).encode())
    return found.hexdigest()


def _cells(part):
    """A frame, or an array of objects, by what is in its cells."""
    try:
        if hasattr(part, "iloc"):
            return pd.util.hash_pandas_object(part, index=False).to_numpy().tobytes()
        return pd.util.hash_array(part.reshape(-1)).tobytes()
    except TypeError:  # cells without a hash, such as lists
        return pickle.dumps(part)


def _form(x, n):
    if hasattr(x, "iloc"):
        return x.to_frame() if x.ndim == 1 and not _texts(x) else x
    if sparse.issparse(x):
        return x.tocsr()
    if isinstance(x, Mapping):
        found = {name: np.asarray(array(part)) for name, part in x.items()}
        lengths = {len(part) if part.ndim else -1 for part in found.values()}
        if len(lengths) != 1 or -1 in lengths:
            checks.fail("x", "a dict of unequal lengths", "arrays (n, ...) of the same records")
        return found
    if _by_place(x, n):
        return tuple(np.asarray(array(part)) for part in x)
    if isinstance(x, (list, tuple)) and x and all(isinstance(item, str) for item in x):
        return np.array(x, dtype=object)
    try:
        found = np.asarray(array(x))
    except ValueError:
        checks.fail("x", "a ragged sequence", "records of one length; pad sequences of tokens")
    if found.ndim == 0 or found.size == 0:
        checks.fail("x", f"{type(x).__name__} of shape {found.shape}", "at least one record")
    return found


def _texts(series):
    return pd.api.types.is_string_dtype(series.dtype) and all(
        isinstance(item, str) for item in series
    )


def _by_place(x, n):
    """Whether a tuple holds several inputs of n records each, and not the records themselves."""
    if not isinstance(x, tuple) or len(x) in (0, n):
        return False
    return all(getattr(part, "ndim", 0) and len(part) == n for part in x)


def _collected(loader, library, labelled):
    """All inputs and, where there are, labels of a loader; `labelled` where labels come with y."""
    _refuse_shuffled(loader, library.utils.data)
    inputs, answers = [], []
    for batch in loader:
        if isinstance(batch, Mapping):
            answers += [batch[name] for name in ANSWERS if name in batch][:1]
            batch = {name: part for name, part in batch.items() if name not in ANSWERS}
        elif _several(batch):
            # more than one number a record is an input, and no label
            if len(batch) > 1 and not (labelled and np.size(array(batch[-1])) > len(batch[-1])):
                *batch, answer = batch
                answers.append(answer)
            batch = tuple(batch) if len(batch) > 1 else batch[0]
        inputs.append(tuple(batch) if _several(batch) else batch)
    if not inputs:
        checks.fail("x", "a DataLoader without batches", "at least one record")
    labels = _joined("y", answers) if answers else None
    if isinstance(inputs[0], Mapping):
        return {name: _joined(name, [b[name] for b in inputs]) for name in inputs[0]}, labels
    if isinstance(inputs[0], tuple) and _several(inputs[0]):
        return tuple(_joined("x", place) for place in zip(*inputs)), labels
    return _joined("x", inputs), labels


def _several(batch):
    """Whether a batch is made of parts; a list of texts is one."""
    return isinstance(batch, (list, tuple)) and not all(isinstance(part, str) for part in batch)


def _refuse_shuffled(loader, tools):
    random = tools.RandomSampler, tools.SubsetRandomSampler, tools.WeightedRandomSampler
    for sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
        if isinstance(sampler, random):
            expected = "one with shuffle=False, as member and y go"
            checks.fail("x", "a DataLoader that shuffles", expected)


def _joined(name, batches):
    """The batches of one input, one after the other."""
    found = [np.asarray(array(part)) for part in batches]
    if any(part.ndim == 0 for part in found):
        given = f"a DataLoader with batches of type {type(batches[0]).__name__} ({name})"
        checks.fail("x", given, "tensors, tuples of tensors, or dicts of tensors")
    shapes = sorted({part.shape[1:] for part in found})
    if len(shapes) > 1:
        given = f"a DataLoader with records of shapes {shapes[0]} and {shapes[-1]} ({name})"
        checks.fail("x", given, "records of one length; pad all batches to the longest")
    return np.concatenate(found)


def _dense(x):
    width = max(1, DENSE // x.shape[0])
    if x.shape[1] > width:  # as many columns as fit, always the same ones
        x = x[:, np.sort(np.random.default_rng(0).choice(x.shape[1], width, replace=False))]
    return np.asarray(x.toarray())


def _plain(table):
    """A table of numbers, texts and categories, its columns called by their places."""
    columns = [_plain_column(table.iloc[:, place]) for place in range(table.shape[1])]
    return pd.concat(columns, axis=1, keys=range(len(columns)))


def _plain_column(column):
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    kind = column.dtype
    if kind.kind in "mM":  # times since the first, which is as good as any
        span = column - column.min() if kind.kind == "M" else column
        return span.dt.total_seconds()
    # truths beside numbers, and numbers that may be missing, would make a table of objects
    if kind.kind == "b" or (kind.kind in "fiu" and not isinstance(kind, np.dtype)):
        return pd.Series(column.to_numpy(np.float64, na_value=np.nan), index=column.index)
    odd = kind.kind == "c" or not all(isinstance(value, Hashable) for value in column)
    return column.astype(str) if odd else column


def _free_text(column):
    if column.dtype.kind in "fiub" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return column.nunique() > CATEGORIES and column.map(lambda v: isinstance(v, str)).any()


def _words(column):
    hashed = HashingVectorizer(n_features=WORDS, norm=None, alternate_sign=False)
    return hashed.transform(column.fillna("").astype(str)).toarray()
