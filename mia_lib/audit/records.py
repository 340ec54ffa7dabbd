"""The records that a model is asked about, in whatever form the model takes them."""

import hashlib
import sys
from collections.abc import Mapping

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
        A loader gives inputs, or pairs of inputs and labels, always in the same order.
    y : array (n,) or tensor, optional
        None: those of the loader.

    Returns
    -------
    records
        A frame, a sparse table, an array, or a dict of arrays.
    labels : array

    Raises
    ------
    ValueError
        A loader that shuffles, no labels, records and labels that are not equally many.

    Examples
    --------
    >>> taken(["a text", "another"], [0, 1])[0].shape
    (2,)
    """
    library = torch()
    if library is not None and isinstance(x, library.utils.data.Dataset):
        x = library.utils.data.DataLoader(x, batch_size=BATCH)
    if library is not None and isinstance(x, library.utils.data.DataLoader):
        x, own = _collected(x, library)
        y = own if y is None else y
    if y is None:
        checks.fail("y", "None", "the right label of each record, or a DataLoader that has them")
    x = _form(x)
    y = np.asarray(array(y))
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


def count(x):
    """How many records there are.

    Examples
    --------
    >>> count({"tokens": np.zeros((3, 8)), "mask": np.ones((3, 8))})
    3
    """
    if isinstance(x, Mapping):
        return len(next(iter(x.values())))
    return x.shape[0]


def rows(x, chosen):
    """Some of the records, in the form in which they came.

    Examples
    --------
    >>> rows({"tokens": np.arange(3)}, np.array([True, False, True]))
    {'tokens': array([0, 2])}
    """
    if isinstance(x, Mapping):
        return {name: part[chosen] for name, part in x.items()}
    return x.iloc[chosen] if hasattr(x, "iloc") else x[chosen]


def numbers(x):
    """Records as numbers, for the blind baseline: texts as 0/1 columns or counts of hashed words,
    missing numbers marked.

    Examples
    --------
    >>> numbers(np.array([[1.0], [np.nan]]))
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(x, Mapping):
        parts = [numbers(part).reshape(count(x), -1) for part in x.values()]
        return np.concatenate(parts, axis=1)
    if sparse.issparse(x):
        return _dense(x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        x = x[:, None] if x.ndim == 1 else x
        if x.dtype.kind != "f" or x.ndim > 2 or not np.isnan(x).any():
            return x
    table = pd.DataFrame(x).infer_objects()
    wide = [name for name in table if _free_text(table[name])]
    parts = [_words(table[name]) for name in wide]
    rest = table.drop(columns=wide)
    if rest.shape[1]:
        rest = pd.get_dummies(rest, dtype=np.float64)
        missing = rest.isna()
        parts += [rest.fillna(0.0), missing.loc[:, missing.any()]]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def digest(*parts):
    """SHA-256 of records in any of their forms.

    Examples
    --------
    >>> digest(np.arange(3)) == digest(np.arange(3)) != digest(np.arange(4))
    True
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, Mapping):
            found.update(digest(*part.values()).encode())
        elif sparse.issparse(part):
            found.update(disk.hash_arrays(part.data, part.indices, part.indptr).encode())
        elif hasattr(part, "iloc"):
            found.update(pd.util.hash_pandas_object(part, index=False).to_numpy().tobytes())
        elif part.dtype.hasobject:
            found.update(pd.util.hash_array(part.reshape(-1)).tobytes())
        else:
            found.update(disk.hash_arrays(part).encode())
    return found.hexdigest()


def _form(x):
    if hasattr(x, "iloc"):
        return x.to_frame() if x.ndim == 1 else x
    if sparse.issparse(x):
        return x.tocsr()
    if isinstance(x, Mapping):
        found = {name: np.asarray(array(part)) for name, part in x.items()}
        lengths = {len(part) if part.ndim else -1 for part in found.values()}
        if len(lengths) != 1 or -1 in lengths:
            checks.fail("x", "a dict of unequal lengths", "arrays (n, ...) of the same records")
        return found
    if isinstance(x, (list, tuple)) and x and all(isinstance(item, str) for item in x):
        return np.array(x, dtype=object)
    try:
        found = np.asarray(array(x))
    except ValueError:
        checks.fail("x", "a ragged sequence", "records of one length; pad sequences of tokens")
    if found.ndim == 0 or found.size == 0:
        checks.fail("x", f"{type(x).__name__} of shape {found.shape}", "at least one record")
    return found


def _collected(loader, library):
    """All inputs and, where there are, labels of a loader."""
    sampler = loader.sampler
    if isinstance(sampler, library.utils.data.RandomSampler):
        checks.fail("x", "a DataLoader that shuffles", "one with shuffle=False, as member and y go")
    inputs, answers = [], []
    for batch in loader:
        if isinstance(batch, Mapping):
            answers += [batch[name] for name in ANSWERS if name in batch][:1]
            inputs.append({name: part for name, part in batch.items() if name not in ANSWERS})
        elif isinstance(batch, (list, tuple)):
            inputs.append(batch[0])
            answers += [batch[1]] if len(batch) > 1 else []
        else:
            inputs.append(batch)
    if not inputs:
        checks.fail("x", "a DataLoader without batches", "at least one record")
    labels = np.concatenate([array(part) for part in answers]) if answers else None
    if isinstance(inputs[0], Mapping):
        names = inputs[0]
        return {name: np.concatenate([array(b[name]) for b in inputs]) for name in names}, labels
    return np.concatenate([np.asarray(array(part)) for part in inputs]), labels


def _dense(x):
    width = max(1, DENSE // x.shape[0])
    if x.shape[1] > width:  # as many columns as fit, always the same ones
        x = x[:, np.sort(np.random.default_rng(0).choice(x.shape[1], width, replace=False))]
    return np.asarray(x.toarray())


def _free_text(column):
    if column.dtype.kind in "fiub" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return column.nunique() > CATEGORIES and column.map(lambda v: isinstance(v, str)).any()


def _words(column):
    hashed = HashingVectorizer(n_features=WORDS, norm=None, alternate_sign=False)
    return hashed.transform(column.fillna("").astype(str)).toarray()
