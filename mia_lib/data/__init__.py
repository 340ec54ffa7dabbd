"""Data sets by name, as arrays: what is embedded, what is fetched, what is verified.

``digits`` and ``synthetic-purchase`` need nothing. Every other data set is fetched from its
official address on first use and kept as ``NAME.npz`` in the folder that the environment variable
``MIA_DATA`` names, else in the user's cache folder; the files it was made of stay in ``downloads``
beside it and may be deleted. On the command line: ``python -m mia_lib.data NAME ...`` fetches,
``python -m mia_lib.data --list`` shows what is here.
"""

import numpy as np

from mia_lib import checks
from mia_lib.data.dataset import Dataset
from mia_lib.data.files import DataError, folder
from mia_lib.data.foreign import foreign
from mia_lib.data.originals import ORIGINALS, arrays
from mia_lib.data.stored_generators import StoredGan, generator_names, generators
from mia_lib.data.stored_signals import Signals, signals
from mia_lib.data.stored_tables import SyntheticTables, synthetic_tables
from mia_lib.data.stored_toy import ToyClassifiers, toy_classifiers
from mia_lib.data.stored_variants import Variant, variants
from mia_lib.data.synthetic import BernoulliMixture, purchase_mixture

__all__ = [
    "BernoulliMixture",
    "DataError",
    "Dataset",
    "Signals",
    "StoredGan",
    "SyntheticTables",
    "ToyClassifiers",
    "Variant",
    "folder",
    "foreign",
    "generator_names",
    "generators",
    "load",
    "names",
    "purchase_mixture",
    "signals",
    "splits",
    "status",
    "synthetic_purchase",
    "synthetic_tables",
    "toy_classifiers",
    "variants",
]


def _digits():
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Dataset(
        (digits.images / 16).astype(np.float32), digits.target.astype(np.int64), "digits"
    )


def synthetic_purchase(n=20_000, rng=None, **options):
    """Draw a `purchase_mixture` and n records from it.

    Parameters
    ----------
    n : int
        How many records. The real Purchase100 has 197,324.
    rng : numpy.random.Generator, optional
        Draws the mixture first, then the records. None means fresh entropy.
    **options
        As in `purchase_mixture`: n_features=600, n_classes=100, n_components=4, class_spread,
        component_spread.

    Returns
    -------
    Dataset
        x (n, d) uint8 of 0 and 1, y (n,); ``extra["mixture"]`` is the `BernoulliMixture` that they
        came from.

    Raises
    ------
    ValueError
        A count below 1 or a negative spread.

    Notes
    -----
    Taught in book/defenses.ipynb.

    Examples
    --------
    >>> synthetic_purchase(4, np.random.default_rng(0), n_features=3, n_classes=2).x.shape
    (4, 3)
    """
    n, rng = checks.integer("n", n, 1), checks.generator(rng)
    mixture = purchase_mixture(rng=rng, **options)
    x, y = mixture.sample(n, rng)
    return Dataset(x, y, "synthetic-purchase", {"mixture": mixture})


# The draw that goes by this name is always the same one.
_EMBEDDED = {
    "digits": _digits,
    "synthetic-purchase": lambda: synthetic_purchase(rng=np.random.default_rng(100)),
}


def names(texts=True):
    """The names that `load` knows, embedded data sets first.

    Parameters
    ----------
    texts : bool
        Whether with the data sets whose records are texts, str, and no arrays of numbers.

    Notes
    -----
    `experiment.ranges` lets the parameter ``dataset`` of every experiment be one of them, such as
    that of notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> names()[:3]
    ('digits', 'synthetic-purchase', 'mnist')
    >>> sorted(set(names()) - set(names(texts=False)))
    ['imdb', 'wikitext103']
    """
    return (
        *_EMBEDDED,
        *(name for name, original in ORIGINALS.items() if texts or "text" not in original.arrays),
    )


def splits(name):
    """The names of the official splits of a data set, none where there is none.

    Used by `experiment.draw`, for notebooks/lira.ipynb.

    Examples
    --------
    >>> splits("cinic10"), splits("digits")
    (('train', 'valid', 'test'), ())
    """
    _known(name)
    return tuple(ORIGINALS[name].splits) if name in ORIGINALS else ()


def status(name):
    """Where a data set is: "embedded", the path of its cached arrays, or "not here".

    What ``python -m mia_lib.data --list`` prints, for data sets of notebooks/lira.ipynb and others.

    Examples
    --------
    >>> status("digits")
    'embedded'
    """
    _known(name)
    if name in _EMBEDDED:
        return "embedded"
    path = folder() / f"{name}.npz"
    return str(path) if path.exists() else "not here"


def _known(name):
    return checks.choice("name", name, names())


def load(name, split=None):
    """Load a data set, fetching it on first use.

    Parameters
    ----------
    name : str
        One of the names below.
    split : {None, "train", "test"}
        None gives all rows, the official training rows first. A split only where an official one
        exists; ``cinic10`` has "valid" too.

    Returns
    -------
    Dataset
        With n rows of:

        ====================== ========================================== ======= ==================
        name                   x                                          classes extra
        ====================== ========================================== ======= ==================
        digits                 (1797, 8, 8) float32 in [0, 1]             10
        synthetic-purchase     (20000, 600) uint8 of 0 and 1              100     mixture
        mnist (split)          (70000, 28, 28) uint8                      10
        cifar10 (split)        (60000, 32, 32, 3) uint8                   10      approximate
        cifar100 (split)       (60000, 32, 32, 3) uint8                   100
        svhn (split)           (99289, 32, 32, 3) uint8                   10
        cinic10 (split)        (270000, 32, 32, 3) uint8                  10      from_cifar10
        imdb (split)           50,000 str                                 2       is_test
        wikitext103            str, one for each training paragraph       1       article
        imagenet32 (split)     (1331167, 32, 32, 3) uint8                 1000
        skin-lesions           (10015, 64, 64, 3) uint8                   7       lesion
        purchase100            (197324, 600) uint8 of 0 and 1             100
        texas100               (67330, 6169) uint8 of 0 and 1             100
        location30             (5010, 446) uint8 of 0 and 1               30
        song-mittal-location30 (2000, 30) float32, target's probabilities 30      target_*, shadow_*
        ====================== ========================================== ======= ==================

        ``mixture``: the `BernoulliMixture` of the records. ``approximate``: rows of x whose pixels
        come from a lossy copy, none where the official archive was fetched. ``from_cifar10``,
        ``is_test``: (n,) bool. ``article``: (n,) the running number of the article that a paragraph
        stands in. ``lesion``: (n,) the lesion that a picture shows; one lesion has several
        pictures, so split by it. The predictions published by Song and Mittal: for both roles
        ``undefended`` (the output that is also x), ``memguard``, ``y``, ``member`` and ``row``, the
        row in location30.

    Raises
    ------
    ValueError
        An unknown name, or a split where no official one exists.
    DataError
        No network, a damaged file, a wrong checksum: names the file, what was expected and where to
        put it by hand.

    Notes
    -----
    Classes of ``cinic10`` are those of cifar10; of ``skin-lesions`` akiec, bcc, bkl, df, mel, nv,
    vasc. Pictures of skin-lesions are the central square of each image, at 64 by 64.

    ``wikitext103`` (Merity et al. 2016) has the paragraphs of the training part in their order,
    without headings, its rare words as ``<unk>``; it has no classes, y is 0. ``imagenet32`` is
    ImageNet at 32 by 32 (Chrabaszcz et al. 2017), its validation part as "test", classes in the
    order of its files, which is not that of other copies of ImageNet. Its two archives have 3.7 GB,
    the arrays 4.1 GB; where the site asks for a login, fetch them by hand. Taught in
    book/membership_game.ipynb.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.x.shape, digits.x.max(), digits.y[:3]
    ((1797, 8, 8), np.float32(1.0), array([0, 1, 2]))
    """
    known = splits(name)
    if split is not None and split not in known:
        expected = (
            "None or " + ", ".join(map(repr, known)) if known else "None: it has no official split"
        )
        checks.fail("split", repr(split), f"for {name} {expected}")
    if name in _EMBEDDED:
        return _EMBEDDED[name]()
    extra = arrays(name)
    if name == "song-mittal-location30":
        return Dataset(extra["target_undefended"], extra["target_y"].astype(np.int64), name, extra)
    y = extra.pop("y")
    start, stop = ORIGINALS[name].splits[split] if split else (0, len(y))
    x = _texts(name, extra.pop("text"), len(y)) if "text" in extra else extra.pop("x")
    if "approximate" in extra:
        rows = extra.pop("approximate")
        kept = {"approximate": rows[(rows >= start) & (rows < stop)] - start}
    else:
        kept = {key: array[start:stop] for key, array in extra.items()}
    return Dataset(x[start:stop], y[start:stop], name, kept)


def _texts(name, joined, n):
    """The n texts that a zero byte each keeps apart; none of UTF-8's longer characters holds
    one.
    """
    texts = [text.decode("utf-8", errors="replace") for text in joined.tobytes().split(b"\0")]
    if len(texts) != n:
        raise DataError(
            f"{name}: found {len(texts)} texts for {n} labels, expected one each. Remove "
            f"{status(name)}"
        )
    return texts
