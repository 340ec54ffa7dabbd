"""A test that knows the class: within each class, have the records of both sets one law?

With d_c the difference of the two sets' mean embeddings in class c, and w_c = n_xc n_yc / (n_xc +
n_yc) times (n_x + n_y) / (n_x n_y), what is estimated is the sum over classes c and c' of L_cc' w_c
w_c' <d_c, d_c'>. That is the squared discrepancy of the two sets in the kernel L_yy' k(z, z') after
the kernel was centred within the classes of the pool; and w_c is how precisely d_c is known.

Taught in book/class_aware.ipynb.
"""

import numpy as np
from scipy import linalg

from mia_lib import checks
from mia_lib.two_sample import kernels, strata
from mia_lib.two_sample.permutation import AT_ONCE, NEAR, TIE, TestResult, not_too_large


def class_aware_test(
    rep_x, y_x, rep_y, y_y, n_permutations=499, rng=None, *, bandwidth=None, label_kernel=None
):
    """Test of: given its class, a record's representation has one law in both sets.

    Parameters
    ----------
    rep_x, rep_y : array (n_x, ...), (n_y, ...)
        What the target model makes of the records; (n,) for one number per record. At least two
        records in each set.
    y_x, y_y : int array (n_x,), (n_y,)
        Their classes, from 0 on. A class that one set alone has is dropped, with a warning.
    n_permutations : int
        B, at least 1.
    rng : numpy.random.Generator, optional
        None means fresh entropy.
    bandwidth : float, optional
        Of the Gaussian kernel, above 0; None: the median distance between different records of
        one class, all classes together.
    label_kernel : array (K, K), optional
        L, symmetric and positive semi-definite, labels below K. None: 1 where two labels are the
        same and 0 elsewhere, so that each class is compared with itself alone.

    Returns
    -------
    TestResult
        The estimate of the class-wise discrepancy, which has no bias (classes with one record in a
        set apart, so it may be negative), and p = (1 + #{shuffled >= observed}) / (B + 1).

    Raises
    ------
    ValueError
        NaN, magnitudes above 1e150 (their squares are not finite), shapes that do not fit, labels
        that are not whole numbers from 0 on, no common class, fewer than two records left in a
        set, no two different records of one class and no bandwidth, a label kernel of another form.

    Notes
    -----
    Shuffles leave each class as it is, so the level is exact even where the shares of the classes
    differ between the sets. A class with one record in a set has no term within that set. Taught in
    book/class_aware.ipynb.

    Examples
    --------
    >>> y = np.arange(40) % 2
    >>> x = np.random.default_rng(0).normal(size=40) + 100 * y
    >>> class_aware_test(x, y, x + 3, y, rng=np.random.default_rng(1)).p_value
    0.002
    """
    rep_x, rep_y = kernels.pair("rep_x", rep_x, "rep_y", rep_y)
    for name, rep in (("rep_x", rep_x), ("rep_y", rep_y)):
        not_too_large(name, rep, 2)
    y_x = checks.labels("y_x", y_x, len(rep_x))
    y_y = checks.labels("y_y", y_y, len(rep_y))
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    if bandwidth is not None:
        bandwidth = checks.number("bandwidth", bandwidth, 0, open_low=True)
    parts = strata.by_class(y_x, y_y)
    across = _between_classes(label_kernel, parts.labels)
    rep = np.concatenate([rep_x, rep_y])[parts.order]
    squares = kernels.squared_distances(rep, rep)
    if bandwidth is None:
        same = parts.group[:, None] == parts.group
        bandwidth = np.sqrt(kernels.median_square("rep_x, rep_y", np.where(same, squares, 0)))
    squares /= -2 * bandwidth**2
    return _test(np.exp(squares, out=squares), parts, across, n_permutations, rng)


def within_class_test(gram, labels, n_x, *, n_permutations=499, rng=None, label_kernel=None):
    """`class_aware_test` of kernel values.

    Parameters
    ----------
    gram : array (n, n)
        Symmetric kernel values k of the pooled records, those of the first set first.
    labels : int array (n,)
        Their classes.
    n_x : int
        Size of the first set.
    n_permutations, rng, label_kernel
        As for `class_aware_test`.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `class_aware_test`; a gram matrix that is not square and symmetric.

    Notes
    -----
    Because the rows of the centred kernel K sum to zero in each class, all sums within and between
    the sets follow from z'Kz, z being the 0/1 vector of the first set, and from the diagonal. So
    all shuffles are one triangular matrix product, as in `permutation_test`. Taught in
    book/class_aware.ipynb.

    Examples
    --------
    >>> y = np.arange(40) % 2
    >>> x = np.arange(40) // 20 * 3.0
    >>> gram = np.exp(-((x[:, None] - x) ** 2))
    >>> within_class_test(gram, y, 20, rng=np.random.default_rng(1)).p_value
    0.002
    """
    gram, parts, across = _checked(gram, labels, n_x, label_kernel)
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    return _test(gram, parts, across, n_permutations, rng)


def within_class_variance(gram, labels, n_x, *, label_kernel=None):
    """The variance of the statistic of `class_aware_test`, given the labels, estimated.

    Parameters
    ----------
    gram, labels, n_x, label_kernel
        As for `within_class_test`.

    Returns
    -------
    float
        At least 0. Of the two terms of Hoeffding's decomposition: the first falls as 1/n and is 0
        where the laws agree, the second falls as 1/n^2.

    Raises
    ------
    ValueError
        As for `within_class_test`.

    Notes
    -----
    First term: 4 sum_c w_c^2 (Var g(X_c) / n_xc + Var g(Y_c) / n_yc), with the witness g(z, c) =
    sum_c' L_cc' w_c' <k(z, .), d_c'>. Second: twice the sum over c and c' of (L_cc' w_c w_c')^2
    a_cc' E k_cc'^2, k centred, a_cc' = (1 / n_xc + 1 / n_yc)(1 / n_xc' + 1 / n_yc') between classes
    and a_cc = 1 / n_xc(n_xc - 1) + 1 / n_yc(n_yc - 1) + 2 / n_xc n_yc within one. The estimated
    witness scatters, which puts twice the second term on the first: that is taken off, as far as
    the first stays positive, so that where the laws agree the estimate is up to half too large.
    Taught in book/class_aware.ipynb.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=60)
    >>> gram = np.exp(-((x[:, None] - x) ** 2))
    >>> bool(0 < within_class_variance(gram, np.arange(60) % 2, 30) < 0.01)
    True
    """
    first, second = _variance_terms(*_checked(gram, labels, n_x, label_kernel))
    return float(max(first - 2 * second, 0.0) + second)


def _test(gram, parts, across, n_permutations, rng):
    unit = float(np.abs(gram).max()) or 1.0  # see `permutation_test`
    exponent = np.frexp(np.abs(across).max())[1]  # a power of two, which rounds nothing
    gram, across = gram / unit, np.ldexp(across, -exponent)
    triangle, constant = _triangle(gram, parts, across)
    scale = float(np.abs(gram).max() * np.abs(across).max())
    statistic = observed = _statistics(triangle, parts.first[None].astype(np.float64), constant)[0]
    if parts.n_x.sum() > parts.n_y.sum():  # the smaller set is marked, as in `permutation_test`
        parts = parts._replace(first=~parts.first, n_x=parts.n_y, n_y=parts.n_x)
        triangle, constant = _triangle(gram, parts, across)
        observed = _statistics(triangle, parts.first[None].astype(np.float64), constant)[0]
    single = triangle.astype(np.float32)
    at_least, rows = 0, max(1, AT_ONCE // len(gram))
    for start in range(0, n_permutations, rows):
        z = strata.shuffled(parts, min(rows, n_permutations - start), rng, np.float32)
        # Single precision decides what is far from the observed statistic, double precision the
        # rest.
        rough = _statistics(single, z, constant)
        near = np.abs(rough - observed) <= NEAR * scale
        below = _statistics(triangle, z[near].astype(np.float64), constant) < observed - TIE * scale
        at_least += ((rough > observed) & ~near).sum() + (~below).sum()
    statistic = float(np.ldexp(statistic * unit, exponent))
    return TestResult(statistic, float((1 + at_least) / (n_permutations + 1)))


def _statistics(triangle, z, constant):
    """2 z'Tz + constant for every row of z, T the lower triangle with its diagonal."""
    if not len(z):
        return np.empty(0)
    trmm = linalg.blas.get_blas_funcs("trmm", (triangle,))
    product = trmm(1.0, triangle.T, z.T, trans_a=1)
    return 2 * np.einsum("ij,ji->i", z, product).astype(np.float64) + constant


def _triangle(gram, parts, across):
    """What the statistic is made of: 2 z'Tz + constant, z the 0/1 vector of the first set.

    In class c let Q = z'Kz and D_x, D_y the sums of K's diagonal over either set. The sums of K
    over different records are Q - D_x and Q - D_y within the sets, and -Q between them.
    """
    weight, (within_x, within_y, between) = _weights(parts), _terms(parts)
    factors = across * (1 / parts.n_x.sum() + 1 / parts.n_y.sum()) ** 2
    own = np.diagonal(across) * weight**2
    np.fill_diagonal(factors, own * (within_x + within_y + between))
    centred, group = _centred(gram, parts), parts.group
    diagonal = np.diagonal(centred).copy()
    centred *= factors[group][:, group]
    linear = np.diagonal(centred) - diagonal * (own * (within_x - within_y))[group]
    np.fill_diagonal(centred, linear / 2)
    return centred, -float(diagonal @ (own * within_y)[group])


def _weights(parts):
    n_x, n_y = parts.n_x, parts.n_y
    return n_x * n_y / (n_x + n_y) * (1 / n_x.sum() + 1 / n_y.sum())


def _terms(parts):
    """What a pair of records weighs within x, within y and between them, in each class; a set with
    one record of a class has no pair.
    """
    one = [np.where(n > 1, 1 / np.maximum(n * (n - 1), 1), 0.0) for n in (parts.n_x, parts.n_y)]
    return np.array([*one, 2 / (parts.n_x * parts.n_y)])


def _variance_terms(gram, parts, across):
    z, group = parts.first, parts.group
    weight = _weights(parts)
    step = np.where(z, 1 / parts.n_x[group], -1 / parts.n_y[group])
    lifted = across[group][:, group] * gram
    np.fill_diagonal(lifted, 0)
    witness = lifted @ (weight[group] * step)
    first = 0.0  # as it comes, with what the estimated witness scatters
    for c in range(len(weight)):
        for side in (z, ~z):
            values = witness[side & (group == c)]
            if len(values) > 1:
                first += 4 * weight[c] ** 2 * values.var(ddof=1) / len(values)
    square = _centred(gram, parts) ** 2
    np.fill_diagonal(square, 0)
    sizes = parts.n_x + parts.n_y
    pairs = np.outer(sizes, sizes) - np.diag(sizes)  # at least 2: both sets have every class
    mean_square = _class_sums(square, parts) / pairs
    spread = 1 / parts.n_x + 1 / parts.n_y
    terms = np.outer(spread, spread)
    np.fill_diagonal(terms, _terms(parts).sum(0))
    second = 2 * np.sum((across * np.outer(weight, weight)) ** 2 * terms * mean_square)
    return first, second


def _centred(gram, parts):
    """Kernel values of what is left of the features without their means in the pooled classes."""
    sizes, group = parts.n_x + parts.n_y, parts.group
    means = np.add.reduceat(gram, parts.starts, axis=0) / sizes[:, None]  # (C, n)
    both = np.add.reduceat(means, parts.starts, axis=1) / sizes
    found = gram - means[group]
    found -= means.T[:, group]
    found += both[group][:, group]
    return found


def _class_sums(matrix, parts):
    rows = np.add.reduceat(matrix, parts.starts, axis=0)
    return np.add.reduceat(rows, parts.starts, axis=1)


def _between_classes(label_kernel, labels):
    """L of the classes that are there."""
    if label_kernel is None:
        return np.eye(len(labels))
    found = checks.real_array("label_kernel", label_kernel, 2)
    if found.shape[0] != found.shape[1] or len(found) <= labels[-1]:
        checks.fail("label_kernel", f"shape {found.shape}", f"(K, K) with K above {labels[-1]}")
    scale = np.abs(found).max()
    if np.abs(found - found.T).max() > 1e-9 * scale:
        checks.fail("label_kernel", "an array that is not symmetric", "a symmetric one")
    least = np.linalg.eigvalsh(found)[0]
    if least < -1e-9 * scale:
        checks.fail("label_kernel", f"an eigenvalue of {least:g}", "a positive semi-definite one")
    return found[np.ix_(labels, labels)]


def _checked(gram, labels, n_x, label_kernel):
    gram = checks.real_array("gram", gram, 2)
    n = len(gram)
    if gram.shape != (n, n) or np.abs(gram - gram.T).max() > 1e-9 * np.abs(gram).max():
        checks.fail("gram", f"shape {gram.shape}", "symmetric kernel values of the pooled records")
    labels = checks.labels("labels", labels, n)
    n_x = checks.integer("n_x", n_x, 2, high=n - 2)
    parts = strata.by_class(labels[:n_x], labels[n_x:], ("labels[:n_x]", "labels[n_x:]"))
    across = _between_classes(label_kernel, parts.labels)
    return gram[np.ix_(parts.order, parts.order)], parts, across
