"""The mean of one number per record, compared within classes.

Taught in book/class_aware.ipynb.
"""

import numpy as np

from mia_lib import checks
from mia_lib.two_sample import strata
from mia_lib.two_sample.permutation import AT_ONCE, TIE, TestResult, not_too_large


def class_mean_test(x, y_x, y, y_y, *, alternative="two-sided", n_permutations=499, rng=None):
    """Permutation test of the mean of a signal, with or without the classes of the records.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        One number per record of each set: loss, entropy, log-odds, ratio to reference models.
    y_x, y_y : int array (n_x,), (n_y,), or None and None
        Classes: records are compared with those of their own class, and shuffled within it. None:
        one class, which makes it `mean_test`. A class that one set alone has is dropped, with a
        warning.
    alternative : {"two-sided", "greater"}
        "greater": y has the larger mean, as members have in a score. With the loss or the entropy,
        which members have smaller, hand over their negatives.
    n_permutations : int
        B, at least 1.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult
        sum_c w_c (mean of y in c - mean of x in c), w_c proportional to n_xc n_yc / (n_xc + n_yc)
        and of sum 1 (its magnitude where two-sided), and p = (1 + #{shuffled >= observed}) / (B +
        1).

    Raises
    ------
    ValueError
        NaN, magnitudes above 1e300, labels of one set alone, shapes that do not fit, fewer than two
        records in a set, no common class, an unknown alternative.

    Notes
    -----
    Exact in level for every n, one- or two-sided: where within each class the numbers of both sets
    are exchangeable, Pr(p <= alpha) <= alpha, with equality without ties at alpha a multiple of 1 /
    (B + 1). The two-sided p counts shuffles whose magnitude reaches the observed one; it is not
    twice the smaller one-sided p. The weights are the most precise ones where the numbers
    have one variance. Taught in book/class_aware.ipynb.

    Examples
    --------
    >>> easy = np.arange(60) % 2
    >>> loss = np.random.default_rng(0).normal(size=60) - 50.0 * easy
    >>> class_mean_test(loss, easy, loss - 2, easy, rng=np.random.default_rng(1)).p_value
    0.002
    """
    checks.choice("alternative", alternative, ("two-sided", "greater"))
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    values, parts = pooled(x, y_x, y, y_y)
    two_sided = alternative == "two-sided"

    def statistic(z):
        found = -(z @ values)
        return np.abs(found) if two_sided else found

    observed = statistic(parts.first.astype(float))
    tie = TIE * max(np.abs(values).max(), 1e-300) * len(values)
    at_least, rows = 0, max(1, AT_ONCE // len(values))
    for start in range(0, n_permutations, rows):
        z = strata.shuffled(parts, min(rows, n_permutations - start), rng)
        at_least += (~(statistic(z) < observed - tie)).sum()
    weight = np.sum(parts.n_x * parts.n_y / (parts.n_x + parts.n_y))
    return TestResult(float(observed / weight), float((1 + at_least) / (n_permutations + 1)))


def pooled(x, y_x, y, y_y, power=1):
    """Both sets' numbers by class, without the classes' pooled means, and their strata.

    What one class contributes, w_c times the difference of its means, is then minus the sum of the
    first set's numbers. Sums of the numbers' magnitudes to the power are finite.
    """
    x, y = checks.real_array("x", x, 1), checks.real_array("y", y, 1)
    for name, numbers in (("x", x), ("y", y)):
        not_too_large(name, numbers, power)
    if (y_x is None) != (y_y is None):
        checks.fail("y_y", "labels of one set alone", "labels of both sets or of none")
    if y_x is None:
        parts = strata.by_class(*(np.zeros(len(v), int) for v in (x, y)), ("x", "y"))
    else:
        y_x, y_y = checks.labels("y_x", y_x, len(x)), checks.labels("y_y", y_y, len(y))
        parts = strata.by_class(y_x, y_y)
    values = np.concatenate([x, y])[parts.order]
    sums = np.add.reduceat(values, parts.starts)
    return values - (sums / (parts.n_x + parts.n_y))[parts.group], parts
