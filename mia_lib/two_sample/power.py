"""Power against the share of members: many tests with one kernel, both sets drawn anew for each;
and kernels as such tests take them.

Taught in book/two_sample.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.two_sample import kernels
from mia_lib.two_sample.permutation import permutation_test


def power_curve(kernel, member, size, shares, *, n_repeats=100, n_permutations=499, rng=None):
    """p-values of repeated tests for every share of members in S_Y.

    Parameters
    ----------
    kernel : callable
        Takes the numbers of m records and returns their kernel values (m, m): `median_kernel`,
        `fitted_kernel`, or ``lambda r: gram[np.ix_(r, r)]`` of a matrix made before. Records that
        it was fitted on must not be among the n.
    member : bool array (n,)
        True where the model was trained on the record.
    size : int
        Records in each of the two sets, at least 2.
    shares : array (m,)
        Shares of members in S_Y, in [0, 1]. A share of 0 gives p-values under the null hypothesis.
    n_repeats : int
        Pairs of sets for each share, at least 1.
    n_permutations : int
        Of every test, at least 1.
    rng : numpy.random.Generator, optional
        Draws sets and permutations; None means fresh entropy.

    Returns
    -------
    float64 array (m, n_repeats)
        ``(p <= alpha).mean(axis=1)`` is the power against the share, at share 0 the type I error.

    Raises
    ------
    ValueError
        A share outside [0, 1], too few members or non-members; as for `permutation_test`.

    Notes
    -----
    HR-MMD Fig. 14, 15. S_X has non-members only; S_Y has ``round(share * size)`` members and other
    non-members. Unlike in `repeat_test` both sets are new each time, so rejections at share 0 are
    independent given the records, and binomial. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(200) < 60
    >>> score = rng.normal(size=200) + 2 * member
    >>> gram = np.exp(-((score[:, None] - score) ** 2))
    >>> p = power_curve(lambda r: gram[np.ix_(r, r)], member, 50, [0, 0.5, 1], n_repeats=20,
    ...     n_permutations=99, rng=rng)
    >>> (p <= 0.05).mean(axis=1).round(1)
    array([0., 1., 1.])
    """
    member = np.asarray(member)
    if member.dtype != bool or member.ndim != 1:
        checks.fail(
            "member",
            f"{member.dtype} of shape {member.shape}",
            "a boolean array with one entry per record",
        )
    size, n_repeats, rng = (
        checks.integer("size", size, 2),
        checks.integer("n_repeats", n_repeats, 1),
        checks.generator(rng),
    )
    shares = checks.real_array("shares", shares, 1)
    if not len(shares) or shares.min() < 0 or shares.max() > 1:
        checks.fail("shares", f"{shares.tolist()}", "at least one number, all in [0, 1]")
    inside, outside, counts = (
        np.flatnonzero(member),
        np.flatnonzero(~member),
        np.round(shares * size).astype(int),
    )
    for what, there, needed in (
        ("members", inside, counts.max()),
        ("non-members", outside, 2 * size - counts.min()),
    ):
        if len(there) < needed:
            checks.fail("member", f"{len(there)} {what}", f"at least {needed}")
    p_values = np.empty((len(shares), n_repeats))
    for i, count in enumerate(counts):
        for j in range(n_repeats):
            s_x, others = np.split(rng.choice(outside, 2 * size - count, replace=False), [size])
            s_y = np.append(rng.choice(inside, count, replace=False), others)
            # x_i and y_i are a pair that the statistic leaves out; which ones are paired must not
            # depend on membership.
            gram = kernel(np.append(s_x, rng.permutation(s_y)))
            p_values[i, j] = permutation_test(gram, size, n_permutations, rng).p_value
    return p_values


def median_kernel(rep):
    """A Gaussian kernel of numbered records, as wide as the median distance of those asked for.

    Parameters
    ----------
    rep : array (n, ...)
        Records, or what a model makes of them.

    Returns
    -------
    callable
        ``kernel(numbers (m,)) -> (m, m)``, all 1 where the records are all the same: there is
        nothing to see then.

    Notes
    -----
    In `power_curve` it makes `median_kernel_test` repeated: MMD-G on records, HR+MMD-G on
    representations (HR-MMD App. G.3). Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> median_kernel(np.array([0.0, 7.0, 1.0]))([0, 2]).round(2)
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """
    rep = np.asarray(rep)

    def kernel(numbers):
        some = kernels.flat("rep", rep[numbers])
        if np.ptp(some, axis=0).max() == 0:
            return np.ones((len(some), len(some)))
        return kernels.gaussian_kernel(some, some, kernels.median_bandwidth(some))

    return kernel


def fitted_kernel(test, rep, raw):
    """The kernel of a fitted HR-MMD test, of numbered records.

    Parameters
    ----------
    test : HrMmd
        Fitted, on other records than these.
    rep, raw : array (n, ...)
        Representations and records.

    Returns
    -------
    callable
        ``kernel(numbers (m,)) -> (m, m)``.

    Raises
    ------
    ValueError
        A test that was not fitted.

    Notes
    -----
    In `power_curve` it makes one fit serve for many tests. Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> from mia_lib.two_sample import HrMmd
    >>> x = np.random.default_rng(0).normal(size=(4, 9, 2))
    >>> test = HrMmd(n_steps=1).fit(x[0], x[0], x[1], x[1])
    >>> fitted_kernel(test, x[2], x[2])([0, 1, 5]).shape
    (3, 3)
    """
    if test.parameters is None:
        checks.fail("test", "one before fit", "a fitted HrMmd")
    rep, raw = np.asarray(rep), np.asarray(raw)

    def kernel(numbers):
        pair = rep[numbers], raw[numbers]
        return kernels.deep_kernel(*pair, *pair, **test.parameters)

    return kernel
