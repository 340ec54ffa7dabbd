"""HR-MMD: a deep kernel that is fitted on one half of the records and tested on the other."""

import numpy as np

from mia_lib import checks, extras
from mia_lib.two_sample import fitting, kernels, mmd
from mia_lib.two_sample.permutation import permutation_test

torch = extras.module("torch")


class HrMmd:
    """A test of whether two sets of records have one law, in the eyes of a model and of the records
    themselves.

    Parameters
    ----------
    n_steps : int
        Steps of Adam up the criterion J; 0 keeps the kernel of the start.
    learning_rate : float
        On the logarithms of the bandwidths and the log-odds of epsilon, above 0.
    epsilon : float
        Where epsilon starts, in (0, 1).
    regularization : float
        lambda of eq. 9, above 0.
    n_permutations : int
        Of every test, at least 1.
    rng : numpy.random.Generator, optional
        For the permutations; None means fresh entropy.

    Attributes
    ----------
    parameters : dict
        After `fit`: epsilon, bandwidth_rep, bandwidth_raw, as `deep_kernel` takes them.
    criterion : list of float
        J before each step.

    Raises
    ------
    ValueError
        For a choice out of range.

    Notes
    -----
    HR-MMD Algorithm 1. The caller splits: the records of `fit` must not come back in `test`, or the
    level is lost. The bandwidths start at the median distances. A rejection says that the laws of
    the two sets differ, by membership or by anything else. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> raw = rng.normal(size=(4, 60, 3))
    >>> rep = raw[..., 0] + np.array([0, 2, 0, 2])[:, None]
    >>> test = HrMmd(rng=rng).fit(rep[0], raw[0], rep[1], raw[1])
    >>> test.test(rep[2], raw[2], rep[3], raw[3]).p_value
    0.002
    """

    def __init__(
        self,
        n_steps=100,
        learning_rate=0.05,
        epsilon=0.05,
        *,
        regularization=mmd.REGULARIZATION,
        n_permutations=499,
        rng=None,
    ):
        self.n_steps = checks.integer("n_steps", n_steps, 0)
        self.learning_rate = checks.number("learning_rate", learning_rate, 0, open_low=True)
        self.epsilon = checks.number("epsilon", epsilon, 0, high=1, open_low=True, open_high=True)
        self.regularization = checks.number("regularization", regularization, 0, open_low=True)
        self.n_permutations = checks.integer("n_permutations", n_permutations, 1)
        self.rng = checks.generator(rng)
        self.parameters = None

    def fit(self, rep_x, raw_x, rep_y, raw_y):
        """Choose the kernel on training halves.

        Parameters
        ----------
        rep_x, rep_y : array (n, ...)
            Representations; (n,) for one number per record.
        raw_x, raw_y : array (n, ...)
            The records.

        Returns
        -------
        HrMmd
            Itself.

        Raises
        ------
        ValueError
            Sets of different size or of fewer than 4 records, NaN, representations or records that
            are all the same.
        """
        rep, raw = _pooled("rep", rep_x, rep_y), _pooled("raw", raw_x, raw_y)
        n = _sizes(rep_x, raw_x, rep_y, raw_y, equal=True)[0]
        squares = [kernels.squared_distances(z, z) for z in (rep, raw)]
        start = [
            np.log(kernels.median_square(f"{name}_x, {name}_y", d)) / 2
            for name, d in zip(("rep", "raw"), squares)
        ]
        free = torch.tensor(
            [np.log(self.epsilon / (1 - self.epsilon)), *start],
            dtype=torch.float64,
            requires_grad=True,
        )
        pairs = [
            [torch.from_numpy(z) for z in z_pair]
            for z_pair in zip(*(fitting.blocks(d, n) for d in squares))
        ]
        self.criterion = fitting.ascend(
            [free],
            lambda: criterion(free, pairs, self.regularization),
            self.n_steps,
            self.learning_rate,
        )
        share, rep_width, raw_width = free.detach().numpy()
        self.parameters = {
            "epsilon": float(1 / (1 + np.exp(-share))),
            "bandwidth_rep": float(np.exp(rep_width)),
            "bandwidth_raw": float(np.exp(raw_width)),
        }
        self._fitted = {"rep": rep[:1], "raw": raw[:1]}  # one record tells the features
        return self

    def test(self, rep_x, raw_x, rep_y, raw_y):
        """Permutation test with the fitted kernel on records that `fit` did not see.

        Parameters
        ----------
        rep_x, raw_x : array (n_x, ...)
        rep_y, raw_y : array (n_y, ...)
            The sets may differ in size; at least 2 records each and 4 together.

        Returns
        -------
        TestResult

        Raises
        ------
        ValueError
            Before `fit`; for NaN, shapes that disagree, also with those of `fit`, or sets too
            small.
        """
        if self.parameters is None:
            checks.fail("HrMmd", "test before fit", "fit on the training halves first")
        _sizes(rep_x, raw_x, rep_y, raw_y)
        rep, raw = _pooled("rep", rep_x, rep_y), _pooled("raw", raw_x, raw_y)
        for name, records in (("rep", rep), ("raw", raw)):
            kernels.pair(f"{name} of fit", self._fitted[name], f"{name}_x", records[:1])
        gram = kernels.deep_kernel(rep, raw, rep, raw, **self.parameters)
        return permutation_test(gram, len(rep_x), self.n_permutations, self.rng)


def repeat_test(test, rep_pool, raw_pool, rep_y, raw_y, *, n_repeats=100, rng=None):
    """One fitted test of one set S_Y against many random subsets of a pool of non-members.

    Parameters
    ----------
    test : HrMmd
        Fitted, on records that are neither in the pool nor in S_Y.
    rep_pool, raw_pool : array (n, ...)
        Non-members, at least as many as S_Y has records.
    rep_y, raw_y : array (n_y, ...)
        The set in question.
    n_repeats : int
        Subsets of n_y records, at least 1.
    rng : numpy.random.Generator, optional
        Draws the subsets; None means fresh entropy.

    Returns
    -------
    float64 array (n_repeats,)
        p-values. The share of them that is at most alpha is the paper's test power, or its type I
        error.

    Raises
    ------
    ValueError
        As for ``HrMmd.test``; a pool smaller than S_Y.

    Notes
    -----
    HR-MMD Algorithm 2. The p-values share S_Y: given S_Y their rejections are not draws with
    probability alpha, even if the law is the same. The rate of one S_Y spreads far more than a
    binomial, and a cut on it is no test. Taught in book/set_evidence.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> raw = rng.normal(size=(200, 2))
    >>> fitted = HrMmd(n_steps=5, n_permutations=99, rng=rng).fit(raw[:20, 0], raw[:20],
    ...     raw[20:40, 0], raw[20:40])
    >>> repeat_test(fitted, raw[40:160, 0], raw[40:160], raw[160:, 0], raw[160:], n_repeats=10,
    ...     rng=rng).shape
    (10,)
    """
    if not isinstance(test, HrMmd):
        checks.fail("test", type(test).__name__, "a fitted HrMmd")
    n_repeats, rng = checks.integer("n_repeats", n_repeats, 1), checks.generator(rng)
    rep_pool, raw_pool = np.asarray(rep_pool), np.asarray(raw_pool)
    if len(rep_pool) != len(raw_pool):
        checks.fail("raw_pool", f"{len(raw_pool)} records", f"{len(rep_pool)} as rep_pool")
    if len(rep_pool) < len(rep_y):
        checks.fail("rep_pool", f"{len(rep_pool)} records", f"at least the {len(rep_y)} of rep_y")
    p_values = np.empty(n_repeats)
    for i in range(n_repeats):
        chosen = rng.choice(len(rep_pool), len(rep_y), replace=False)
        p_values[i] = test.test(rep_pool[chosen], raw_pool[chosen], rep_y, raw_y).p_value
    return p_values


def criterion(free, pairs, regularization):
    """J of the deep kernel, differentiable in (log-odds of epsilon, log of both bandwidths).

    Parameters
    ----------
    free : (3,) tensor
    pairs : squared distances (of representations, of records) of xx, yy, xy, each (n, n) tensors
    regularization : float

    Returns
    -------
    tensor ()
    """
    return fitting.criterion(
        *(fitting.deep_gram(free, *squares) for squares in pairs), regularization
    )


def _pooled(name, x, y):
    x, y = kernels.flat(f"{name}_x", x), kernels.flat(f"{name}_y", y)
    if x.shape[1] != y.shape[1]:
        checks.fail(f"{name}_y", f"{y.shape[1]} features", f"{x.shape[1]} as {name}_x")
    return np.concatenate([x, y])


def _sizes(rep_x, raw_x, rep_y, raw_y, equal=False):
    """Numbers of records of both sets."""
    sizes = []
    for name, rep, raw in (("x", rep_x, raw_x), ("y", rep_y, raw_y)):
        if len(rep) != len(raw):
            checks.fail(f"raw_{name}", f"{len(raw)} records", f"{len(rep)} as rep_{name}")
        if equal and len(rep) < 4:
            checks.fail(f"rep_{name}", f"{len(rep)} records", "at least 4 to fit a kernel")
        sizes.append(len(rep))
    if equal and sizes[0] != sizes[1]:
        checks.fail(
            "rep_y",
            f"{sizes[1]} records",
            f"{sizes[0]} as rep_x: the criterion needs sets of one size",
        )
    return sizes
