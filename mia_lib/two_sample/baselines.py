"""The other two-sample tests that HR-MMD is compared with; what is fitted is fitted on training halves.

Every function takes records as arrays (n, ...) and returns a `TestResult`. The halves x_train, y_train choose, the halves
x, y are tested, and no record may be in both.

Taught in book/two_sample.ipynb.
"""

import numpy as np
import torch
from scipy import stats
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import checks
from mia_lib.two_sample import kernels, mmd
from mia_lib.two_sample.permutation import TestResult, permutation_test

RIDGE = 1e-5  # on the covariance of the features of ME and SCF while they are optimised


def median_kernel_test(x, y, n_permutations=499, rng=None):
    """MMD-G: a Gaussian kernel whose bandwidth is the median distance; nothing is fitted.

    Parameters
    ----------
    x, y : array (n_x, ...), (n_y, ...)
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `median_bandwidth` and `permutation_test`.

    Notes
    -----
    The bandwidth is that of the pooled records, which no permutation changes: the level is exact. HR-MMD App. G.3. Taught in
    book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> median_kernel_test(rng.normal(size=50), rng.normal(size=50) + 2, rng=rng).p_value
    0.002
    """
    x, y = _sets("x", x, "y", y)
    pooled = np.concatenate([x, y])
    gram = kernels.gaussian_kernel(pooled, pooled, kernels.median_bandwidth(pooled))
    return permutation_test(gram, len(x), n_permutations, rng)


def optimized_kernel_test(x_train, y_train, x, y, n_steps=100, learning_rate=0.05, n_permutations=499, rng=None):
    """MMD-O: a Gaussian kernel whose bandwidth maximises J on the training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n_x, ...), (n_y, ...)
    n_steps : int
        Steps of Adam on the logarithm of the bandwidth, from the median distance.
    learning_rate : float
    n_permutations : int
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `permutation_test`; training halves of different size, records that are all the same.

    Notes
    -----
    HR-MMD App. G.3. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> optimized_kernel_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    x_train, y_train = _training_halves(x_train, y_train)
    pooled, n = np.concatenate([x_train, y_train]), len(x_train)
    squares = kernels.squared_distances(pooled, pooled)
    log_width = torch.tensor(np.log(kernels.median_square("x_train, y_train", squares)) / 2, requires_grad=True)
    squares = torch.from_numpy(squares)

    def objective():
        return _criterion(torch.exp(-0.5 * torch.exp(-2 * log_width) * squares), n)

    _ascend([log_width], objective, n_steps, learning_rate)
    x, y = _sets("x", x, "y", y)
    both = np.concatenate([x, y])
    return permutation_test(kernels.gaussian_kernel(both, both, float(log_width.detach().exp())), len(x), n_permutations, rng)


def deep_feature_test(x_train, y_train, x, y, hidden=50, n_features=20, n_steps=200, learning_rate=0.005, n_permutations=499,
                      rng=None):  # fmt: skip
    """MMD-D: a deep kernel on the records alone, whose network and bandwidths maximise J on the training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n_x, ...), (n_y, ...)
    hidden : int
        Width of the three hidden layers (softplus).
    n_features : int
        Outputs of the network, which the first kernel works on.
    n_steps, learning_rate : int, float
        Of Adam on the network, epsilon and both bandwidths.
    n_permutations : int
    rng : numpy.random.Generator, optional
        Start of the network and permutations; None means fresh entropy.

    Returns
    -------
    TestResult

    Raises
    ------
    ValueError
        As for `optimized_kernel_test`.

    Notes
    -----
    Liu et al. 2020, HR-MMD App. G.3. Records are standardised by the training halves. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100, 2)) * np.array([1.0, 3.0])[:, None, None]
    >>> deep_feature_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    rng = checks.generator(rng)
    x_train, y_train = _training_halves(x_train, y_train)
    pooled, n = np.concatenate([x_train, y_train]), len(x_train)
    scaler = StandardScaler().fit(pooled)
    pooled = scaler.transform(pooled)
    squares = kernels.squared_distances(pooled, pooled)
    widths = [pooled.shape[1], hidden, hidden, hidden, n_features]
    layers = []
    for before, after in zip(widths, widths[1:]):
        spread = np.sqrt(1 / before)
        layers.append(torch.from_numpy(rng.uniform(-spread, spread, (before, after))).requires_grad_())
        layers.append(torch.zeros(after, dtype=torch.float64, requires_grad=True))

    def features(records):
        out = torch.from_numpy(records)
        for i in range(0, len(layers), 2):
            out = out @ layers[i] + layers[i + 1]
            out = torch.nn.functional.softplus(out) if i + 2 < len(layers) else out
        return out

    with torch.no_grad():
        start = features(pooled).numpy()
    start = kernels.median_square("x_train, y_train", kernels.squared_distances(start, start))
    raw = kernels.median_square("x_train, y_train", squares)
    free = torch.tensor([-3.0, np.log(start) / 2, np.log(raw) / 2], dtype=torch.float64, requires_grad=True)
    squares = torch.from_numpy(squares)

    def kernel(squares_of_features, squares_of_records):
        share, scale = torch.sigmoid(free[0]), -0.5 * torch.exp(-2 * free[1:])
        return ((1 - share) * torch.exp(squares_of_features * scale[0]) + share) * torch.exp(squares_of_records * scale[1])

    def objective():
        out = features(pooled)
        norms = (out**2).sum(1)
        return _criterion(kernel((norms[:, None] + norms - 2 * out @ out.T).clamp_min(0), squares), n)

    _ascend([*layers, free], objective, n_steps, learning_rate)
    x, y = _sets("x", x, "y", y)
    both = scaler.transform(np.concatenate([x, y]))
    with torch.no_grad():
        out = features(both).numpy()
        distances = (torch.from_numpy(kernels.squared_distances(z, z)) for z in (out, both))
        gram = kernel(*distances).numpy()
    return permutation_test((gram + gram.T) / 2, len(x), n_permutations, rng)


def mean_embedding_test(x_train, y_train, x, y, n_locations=5, n_steps=100, learning_rate=0.05, rng=None):
    """ME: mean embeddings compared at a few locations, which are optimised on the training halves.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    x, y : array (n, ...)
        Equally many records, more than locations.
    n_locations : int
        J, at least 1; it starts from records of the training halves.
    n_steps, learning_rate : int, float
        Of Adam on locations (in units of the training halves' standard deviations) and width.
    rng : numpy.random.Generator, optional
        Chooses the start; None means fresh entropy.

    Returns
    -------
    TestResult
        n W' S^-1 W, and its p-value by the chi-squared law with J degrees of freedom.

    Raises
    ------
    ValueError
        As for `optimized_kernel_test`; tested sets of different size or too few records.

    Notes
    -----
    Jitkrittum et al. 2016. The law holds for large n only: with few records the level is above the stated one. Taught in
    book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200)) + np.array([[0], [1]])
    >>> mean_embedding_test(a[:100], b[:100], a[100:], b[100:], rng=rng).p_value < 0.001
    True
    """
    rng, n_locations = checks.generator(rng), checks.integer("n_locations", n_locations, 1)
    x_train, y_train, x, y = _standardised(x_train, y_train, x, y, n_locations)
    there = np.concatenate([x_train, y_train])
    start = there[rng.choice(len(there), n_locations, replace=len(there) < n_locations)]
    log_width = torch.tensor(_log_median(x_train, y_train), requires_grad=True)
    locations = torch.from_numpy(start.copy()).requires_grad_()

    def features(records):
        squares = ((records[:, None] - locations) ** 2).sum(2)
        return torch.exp(-0.5 * torch.exp(-2 * log_width) * squares)

    return _feature_test(features, [locations, log_width], x_train, y_train, x, y, n_steps, learning_rate)


def characteristic_function_test(x_train, y_train, x, y, n_frequencies=5, n_steps=100, learning_rate=0.05, rng=None):
    """SCF: smoothed characteristic functions compared at a few frequencies, which are optimised on the training halves.

    Parameters
    ----------
    x_train, y_train, x, y, n_steps, learning_rate, rng
        As for `mean_embedding_test`.
    n_frequencies : int
        J, at least 1; the statistic has 2 J features, sine and cosine.

    Returns
    -------
    TestResult
        n W' S^-1 W, and its p-value by the chi-squared law with 2 J degrees of freedom.

    Raises
    ------
    ValueError
        As for `mean_embedding_test`.

    Notes
    -----
    Chwialkowski et al. 2015; frequencies and width are really optimised here. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200)) * np.array([[1], [2]])
    >>> characteristic_function_test(a[:100], b[:100], a[100:], b[100:], rng=rng).p_value < 0.001
    True
    """
    rng, n_frequencies = checks.generator(rng), checks.integer("n_frequencies", n_frequencies, 1)
    x_train, y_train, x, y = _standardised(x_train, y_train, x, y, 2 * n_frequencies)
    log_width = torch.tensor(_log_median(x_train, y_train), requires_grad=True)
    frequencies = torch.from_numpy(rng.normal(size=(n_frequencies, x.shape[1]))).requires_grad_()

    def features(records):
        scaled = records * torch.exp(-log_width)
        angles, window = scaled @ frequencies.T, torch.exp(-0.5 * (scaled**2).sum(1, keepdim=True))
        return torch.cat([torch.sin(angles), torch.cos(angles)], 1) * window

    return _feature_test(features, [frequencies, log_width], x_train, y_train, x, y, n_steps, learning_rate)


def classifier_test(x_train, y_train, x, y, kind="sign", hidden=(50, 50), n_permutations=499, rng=None):
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
        As for `permutation_test`; an unknown kind.

    Notes
    -----
    Lopez-Paz and Oquab 2017 (sign), Cheng and Cloninger 2019 (logit). Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> classifier_test(a[:50], b[:50], a[50:], b[50:], rng=rng).p_value
    0.002
    """
    checks.choice("kind", kind, ("sign", "logit"))
    rng = checks.generator(rng)
    x_train, y_train = _sets("x_train", x_train, "y_train", y_train)
    x, y = _sets("x", x, "y", y)
    seed, early = int(rng.integers(2**31)), len(x_train) >= 50
    network = MLPClassifier(hidden, max_iter=200, alpha=1e-3, random_state=seed, early_stopping=early)
    fitted = make_pipeline(StandardScaler(), network)
    fitted.fit(np.concatenate([x_train, y_train]), np.repeat([0, 1], [len(x_train), len(y_train)]))
    with np.errstate(divide="ignore"):  # a probability of 0 has the log-odds -inf, which are clipped
        log_odds = np.diff(fitted.predict_log_proba(np.concatenate([x, y])), axis=1)[:, 0]
    score = (log_odds > 0).astype(float) if kind == "sign" else np.clip(log_odds, -50, 50)
    return mean_test(score[: len(x)], score[len(x) :], "greater", n_permutations, rng)


def mean_test(x, y, alternative="two-sided", n_permutations=499, rng=None):
    """Permutation test of one number per record: is its mean over y another (or greater) than over x?

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
        Other shapes, NaN, fewer than 2 numbers in a set, an unknown alternative.

    Notes
    -----
    Its level is exact where Welch's t-test is only nearly so. Any per-record attack in it is a test of a set: the baseline
    that HR-MMD leaves out. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean_test(rng.normal(size=50), rng.normal(size=50) + 2, rng=rng).p_value
    0.002
    """
    checks.choice("alternative", alternative, ("two-sided", "greater"))
    n_permutations, rng = checks.integer("n_permutations", n_permutations, 1), checks.generator(rng)
    x, y = (checks.real_array(name, value, 1) for name, value in (("x", x), ("y", y)))
    for name, value in (("x", x), ("y", y)):
        if len(value) < 2:
            checks.fail(name, f"{len(value)} numbers", "at least 2")
    pooled = np.concatenate([x, y]) - x.mean()
    shuffled = rng.permuted(np.broadcast_to(pooled, (n_permutations, len(pooled))), axis=1)
    values = np.concatenate([pooled[None], shuffled])
    differences = values[:, len(x) :].mean(1) - values[:, : len(x)].mean(1)
    differences = np.abs(differences) if alternative == "two-sided" else differences
    at_least = differences[1:] >= differences[0] - 1e-12 * max(np.abs(pooled).max(), 1e-300)
    return TestResult(float(differences[0]), float((1 + at_least.sum()) / (n_permutations + 1)))


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

    Raises
    ------
    ValueError
        As for `mean_test`; numbers that are all the same.

    Notes
    -----
    HR-MMD App. I. Taught in book/two_sample.ipynb.

    Examples
    --------
    >>> round(t_test([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]).p_value, 3)
    0.288
    """
    checks.choice("alternative", alternative, ("two-sided", "greater"))
    x, y = (checks.real_array(name, value, 1) for name, value in (("x", x), ("y", y)))
    for name, value in (("x", x), ("y", y)):
        if len(value) < 2:
            checks.fail(name, f"{len(value)} numbers", "at least 2")
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        checks.fail("x, y", "numbers that are all the same", "some spread in one of them")
    found = stats.ttest_ind(y, x, equal_var=False, alternative=alternative)
    return TestResult(float(found.statistic), float(found.pvalue))


def _feature_test(features, free, x_train, y_train, x, y, n_steps, learning_rate):
    """Maximise n W' S^-1 W on the training halves, then compute it, and its p-value, on the others."""

    def statistic(x, y, ridge):
        differences = features(x) - features(y)
        mean = differences.mean(0)
        centred = differences - mean
        covariance = centred.T @ centred / (len(x) - 1) + ridge * torch.eye(len(mean), dtype=torch.float64)
        return len(x) * mean @ torch.linalg.solve(covariance, mean)

    x_train, y_train, x, y = map(torch.from_numpy, (x_train, y_train, x, y))
    _ascend(free, lambda: statistic(x_train, y_train, RIDGE), n_steps, learning_rate)
    with torch.no_grad():
        # Features that coincide make the covariance singular; so small a ridge changes nothing else.
        value, n_features = float(statistic(x, y, 1e-12)), features(x[:1]).shape[1]
    return TestResult(value, float(stats.chi2.sf(value, n_features)))


def _criterion(gram, n):
    """J of a pooled gram matrix of n + n records, differentiable."""
    xx, yy, xy = gram[:n, :n], gram[n:, n:], gram[:n, n:]
    total = sum(k.sum() - k.diagonal().sum() for k in (xx, yy)) - 2 * (xy.sum() - xy.diagonal().sum())
    h = xx.mean(1) + yy.mean(1) - xy.mean(1) - xy.mean(0)
    variance = 4 * ((h**2).mean() - h.mean() ** 2).clamp_min(0)
    return total / (n * (n - 1)) / torch.sqrt(variance + mmd.REGULARIZATION)


def _ascend(free, objective, n_steps, learning_rate):
    n_steps = checks.integer("n_steps", n_steps, 0)
    optimizer = torch.optim.Adam(free, lr=checks.number("learning_rate", learning_rate, 0, open_low=True))
    for _ in range(n_steps):
        optimizer.zero_grad()
        (-objective()).backward()
        optimizer.step()


def _sets(name_x, x, name_y, y):
    x, y = kernels.flat(name_x, x), kernels.flat(name_y, y)
    if x.shape[1] != y.shape[1]:
        checks.fail(name_y, f"{y.shape[1]} features", f"{x.shape[1]} as {name_x}")
    return x, y


def _training_halves(x_train, y_train):
    x_train, y_train = _sets("x_train", x_train, "y_train", y_train)
    if len(x_train) != len(y_train) or len(x_train) < 4:
        checks.fail("y_train", f"{len(y_train)} records against {len(x_train)} in x_train", "equally many, at least 4")
    return x_train, y_train


def _standardised(x_train, y_train, x, y, n_features):
    """All four in units of the training halves' standard deviations; the tested sets paired."""
    x_train, y_train = _training_halves(x_train, y_train)
    x, y = _sets("x", x, "y", y)
    if len(x) != len(y) or len(x) <= n_features + 1:
        checks.fail("y", f"{len(y)} records against {len(x)} in x", f"equally many, more than {n_features + 1}")
    scaler = StandardScaler().fit(np.concatenate([x_train, y_train]))
    return [scaler.transform(z) for z in (x_train, y_train, x, y)]


def _log_median(x, y):
    pooled = np.concatenate([x, y])
    return np.log(kernels.median_square("x_train, y_train", kernels.squared_distances(pooled, pooled))) / 2
