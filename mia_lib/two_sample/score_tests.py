"""Tests of one number per record: the score of a classifier that was trained to tell the sets
apart, or any other score.

Taught in book/two_sample.ipynb.
"""

import numpy as np
from scipy import stats
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import checks
from mia_lib.two_sample import kernels
from mia_lib.two_sample.permutation import SMALLEST, TestResult, not_too_large


def classifier_test(
    x_train, y_train, x, y, *, kind="sign", hidden=(50, 50), n_permutations=499, rng=None
):
    """C2ST: a classifier learns to tell the training halves apart; can it tell the others?

    Parameters
    ----------
    x_train, y_train : array (n, ...)
    x, y : array (n_x, ...), (n_y, ...)
    kind : {"sign", "logit"}
        C2ST-S compares the shares of records called "second set", C2ST-L the mean log-odds.
    hidden : tuple of int
        Widths of scikit-learn's `MLPClassifier`.
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult
        Mean over y minus mean over x; one-sided.

    Raises
    ------
    ValueError
        As for `permutation_test`; tested records of other features; an unknown kind.

    Notes
    -----
    Lopez-Paz and Oquab 2017 (sign), Cheng and Cloninger 2019 (logit). Run in
    notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> classifier_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    checks.choice("kind", kind, ("sign", "logit"))
    rng = checks.generator(rng)
    n_permutations = checks.integer("n_permutations", n_permutations, 1)
    x_train, y_train = kernels.pair("x_train", x_train, "y_train", y_train)
    x, y = kernels.pair("x", x, "y", y)
    kernels.pair("x_train", x_train, "x", x)
    seed, early = int(rng.integers(2**31)), len(x_train) >= 50
    network = MLPClassifier(
        hidden, max_iter=200, alpha=1e-3, random_state=seed, early_stopping=early
    )
    fitted = make_pipeline(StandardScaler(), network)
    fitted.fit(np.concatenate([x_train, y_train]), np.repeat([0, 1], [len(x_train), len(y_train)]))
    with np.errstate(
        divide="ignore"
    ):  # a probability of 0 has the log-odds -inf, which are clipped
        log_odds = np.diff(fitted.predict_log_proba(np.concatenate([x, y])), axis=1)[:, 0]
    score = (log_odds > 0).astype(float) if kind == "sign" else np.clip(log_odds, -50, 50)
    return mean_test(
        score[: len(x)], score[len(x) :], "greater", n_permutations=n_permutations, rng=rng
    )


def mean_test(x, y, alternative="two-sided", *, n_permutations=499, rng=None):
    """Permutation test of one number per record: is its mean over y another (or greater) than over
    x?

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        One number per record, such as minus the loss.
    alternative : {"two-sided", "greater"}
        "greater": y has the larger mean, as members have in a score.
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult
        Mean over y minus mean over x (its magnitude where two-sided).

    Raises
    ------
    ValueError
        Other shapes, NaN, magnitudes above 1e300, fewer than 2 numbers in a set, an unknown
        alternative.

    Notes
    -----
    Its level is exact where Welch's t-test is only nearly so. Any per-record attack in it is a test
    of a set: the baseline that HR-MMD leaves out. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean_test(rng.normal(size=50), rng.normal(size=50) + 2, rng=rng).p_value
    0.002
    """
    checks.choice("alternative", alternative, ("two-sided", "greater"))
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    x, y = _numbers("x", x), _numbers("y", y)
    pooled = np.concatenate([x, y]) - x.mean()
    shuffled = rng.permuted(np.broadcast_to(pooled, (n_permutations, len(pooled))), axis=1)
    values = np.concatenate([pooled[None], shuffled])
    differences = values[:, len(x) :].mean(1) - values[:, : len(x)].mean(1)
    differences = np.abs(differences) if alternative == "two-sided" else differences
    below = differences[1:] < differences[0] - 1e-12 * max(np.abs(pooled).max(), 1e-300)
    return TestResult(float(differences[0]), float((1 + (~below).sum()) / (n_permutations + 1)))


def t_test(x, y, alternative="two-sided"):
    """Welch's t-test of one number per record, by scipy; HR-T where the number is a fitted score.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
    alternative : {"two-sided", "greater"}
        "greater": y has the larger mean.

    Returns
    -------
    TestResult
        A p-value below the smallest normal float, about 2e-308, is given as that.

    Raises
    ------
    ValueError
        As for `mean_test`, with magnitudes of 1e75 at most; numbers that are all the same.

    Notes
    -----
    HR-MMD App. I. Run in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> round(t_test([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]).p_value, 3)
    0.288
    """
    checks.choice("alternative", alternative, ("two-sided", "greater"))
    x, y = _numbers("x", x, 4), _numbers("y", y, 4)  # Welch's freedom squares variances
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        checks.fail("x, y", "numbers that are all the same", "some spread in one of them")
    found = stats.ttest_ind(y, x, equal_var=False, alternative=alternative)
    return TestResult(float(found.statistic), max(float(found.pvalue), SMALLEST))


def _numbers(name, values, power=1):
    values = checks.real_array(name, values, 1)
    if len(values) < 2:
        checks.fail(name, f"{len(values)} numbers", "at least 2")
    not_too_large(name, values, power)
    return values
