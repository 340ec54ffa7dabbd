"""Learned tests that are fitted once and asked many times, with their authors' settings as options.

What is fitted sees the training sets alone. A fit says what it optimised and how far it came, so
that a failed one can be told from a test without power.

Run in notebooks/two_sample_benchmark.ipynb.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mia_lib import checks, extras
from mia_lib.two_sample import fitting, kernels
from mia_lib.two_sample.fitting import DeepFeatures
from mia_lib.two_sample.permutation import permutation_test
from mia_lib.two_sample.score_tests import mean_test

torch = extras.module("torch")

SCALES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # of the median distance, to start from
RECIPE = DeepFeatures(n_steps=150, learning_rate=0.002)


class Fitted(NamedTuple):
    """A test that was fitted on other records than it tests.

    Run in notebooks/two_sample_benchmark.ipynb.

    Parameters
    ----------
    test : callable
        ``test(x, y, n_permutations=499, rng=None) -> TestResult``, of sets that were not fitted on;
        they may differ in size.
    criterion : float
        What was optimised, on the training sets, after the last step.
    settings : dict of str to float
        Where it started and what was found: bandwidths in units of the records.
    """

    test: object
    criterion: float
    settings: dict


def fit_bandwidth(x_train, y_train, *, scales=SCALES, n_steps=100, learning_rate=0.05):
    """MMD-O, fitted: the bandwidth with the largest J on the training sets, from several starts.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    scales : sequence of float
        Starts, in units of the median distance, each above 0.
    n_steps, learning_rate : int, float
        Of Adam on the logarithm of the bandwidth, from each start.

    Returns
    -------
    Fitted
        Its criterion is J of the best end.

    Raises
    ------
    ValueError
        Training sets of different size, records that are all the same; no start.

    Notes
    -----
    J has several maxima where records form clusters: one of the width of the pool, one of that of a
    cluster. Run in notebooks/two_sample_benchmark.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> fit_bandwidth(a[:50], b[:50], n_steps=10).test(a[50:], b[50:], rng=rng).p_value
    0.002
    """
    x_train, y_train = fitting.training_halves(x_train, y_train)
    pooled, n = np.concatenate([x_train, y_train]), len(x_train)
    squares = kernels.squared_distances(pooled, pooled)
    median = np.sqrt(kernels.median_square("x_train, y_train", squares))
    squares, ends = torch.from_numpy(squares), []
    for scale in _starts(scales):
        width = torch.tensor(np.log(scale * median), requires_grad=True)

        def objective(width=width):
            return fitting.criterion(
                *fitting.blocks(torch.exp(-0.5 * torch.exp(-2 * width) * squares), n)
            )

        fitting.ascend([width], objective, n_steps, learning_rate)
        with torch.no_grad():
            ends.append((float(objective()), float(width.exp()), scale * median))
    criterion, bandwidth, start = max(ends)

    def test(x, y, n_permutations=499, rng=None):
        x, y = kernels.pair("x", x, "y", y)
        kernels.pair("x_train", pooled[:1], "x", x[:1])
        both = np.concatenate([x, y])
        gram = kernels.gaussian_kernel(both, both, bandwidth)
        return permutation_test(gram, len(x), n_permutations, rng)

    return Fitted(test, criterion, {"bandwidth": bandwidth, "start": float(start)})


def fit_deep_features(x_train, y_train, *, recipe=RECIPE, scales=SCALES, batch=None, rng=None):
    """MMD-D, fitted: a deep kernel whose raw bandwidth starts where J of a plain one is largest.

    Parameters
    ----------
    x_train, y_train : array (n, ...)
        Equally many records, at least 4 each.
    recipe : DeepFeatures
        The network and its fitting. Its authors take 50 features, 1,000 steps and a learning rate
        of 0.0005 to 0.001 on Blob.
    scales : sequence of float
        Of the raw kernel, in units of the median distance of the standardised records; tried before
        the first step.
    batch : int, optional
        Records of each set in one step, drawn anew each time, at least 4; None: all of them.
    rng : numpy.random.Generator, optional
        Start of the network and batches; None means fresh entropy.

    Returns
    -------
    Fitted

    Raises
    ------
    ValueError
        Training sets of different size, records that are all the same; no start, a batch out of
        range.

    Notes
    -----
    Liu et al. 2020. `deep_feature_test` starts at the median distance, which on clusters is theirs:
    in its 200 steps of 0.005 the logarithm of a bandwidth moves by 1 at most. Run in
    notebooks/two_sample_benchmark.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100, 2)) * np.array([1.0, 3.0])[:, None, None]
    >>> fitted = fit_deep_features(a[:50], b[:50], recipe=DeepFeatures(n_steps=20), rng=rng)
    >>> fitted.test(a[50:], b[50:], rng=rng).p_value
    0.002
    """
    rng = checks.generator(rng)
    x_train, y_train = fitting.training_halves(x_train, y_train)
    scaler = StandardScaler().fit(np.concatenate([x_train, y_train]))
    sets = [torch.from_numpy(scaler.transform(z)) for z in (x_train, y_train)]
    n = len(x_train)
    batch = n if batch is None else checks.integer("batch", batch, 4, high=n)
    layers = _layers([sets[0].shape[1], *3 * [recipe.hidden], recipe.n_features], rng)

    def distances(records):
        return _squares(_features(layers, records)), _squares(records)

    def some():
        rows = [torch.from_numpy(rng.choice(n, batch, replace=False)) for _ in sets]
        return torch.cat([z[r] for z, r in zip(sets, rows)]) if batch < n else torch.cat(sets)

    with torch.no_grad():
        both = some()
        deep, raw = distances(both)
        median = [kernels.median_square("x_train, y_train", z.numpy()) for z in (deep, raw)]
        plain = [
            float(
                fitting.criterion(*fitting.blocks(torch.exp(raw / (-2 * s**2 * median[1])), batch))
            )
            for s in _starts(scales)
        ]
    start = scales[int(np.argmax(plain))] * np.sqrt(median[1])
    free = [-3.0, np.log(median[0]) / 2, np.log(start)]
    free = torch.tensor(free, dtype=torch.float64, requires_grad=True)

    def objective():
        return fitting.criterion(
            *fitting.blocks(fitting.deep_gram(free, *distances(some())), batch)
        )

    fitting.ascend([*layers, free], objective, recipe.n_steps, recipe.learning_rate)
    with torch.no_grad():
        criterion = float(objective())

    def test(x, y, n_permutations=499, rng=None):
        x, y = kernels.pair("x", x, "y", y)
        both = torch.from_numpy(scaler.transform(np.concatenate([x, y])))
        with torch.no_grad():
            gram = fitting.deep_gram(free, *distances(both)).numpy()
        return permutation_test((gram + gram.T) / 2, len(x), n_permutations, rng)

    end = free.detach().numpy()
    settings = {"bandwidth": float(np.exp(end[2])), "start": float(start)}
    return Fitted(test, criterion, settings | {"epsilon": float(1 / (1 + np.exp(-end[0])))})


def fit_classifier(
    x_train, y_train, *, kind="logit", hidden=(50, 50, 50), epochs=1000, batch=200, rng=None
):
    """C2ST, fitted: a classifier that tells the training sets apart, trained to the last epoch.

    Parameters
    ----------
    x_train, y_train : array (n_x, ...), (n_y, ...)
    kind : {"sign", "logit"}
        What the test averages over each set: C2ST-S the class that it says, C2ST-L its log-odds.
    hidden : tuple of int
        Widths of scikit-learn's `MLPClassifier`.
    epochs : int
        Passes over the training sets, at least 1; nothing is held out and nothing stops early.
    batch : int
        Records a step, at least 1.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    Fitted
        Its criterion is minus the cross-entropy on the training sets, in nat.

    Raises
    ------
    ValueError
        As for `classifier_test`; numbers out of range.

    Notes
    -----
    `classifier_test` holds a tenth of the records out and stops when they see no progress, which on
    hard problems is at once. Run in notebooks/two_sample_benchmark.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100)) + np.array([[0], [2]])
    >>> fit_classifier(a[:50], b[:50], epochs=20, rng=rng).test(a[50:], b[50:], rng=rng).p_value
    0.002
    """
    checks.choice("kind", kind, ("sign", "logit"))
    rng, epochs = checks.generator(rng), checks.integer("epochs", epochs, 1)
    batch = checks.integer("batch", batch, 1)
    x_train, y_train = kernels.pair("x_train", x_train, "y_train", y_train)
    pooled, sizes = np.concatenate([x_train, y_train]), [len(x_train), len(y_train)]
    network = MLPClassifier(
        hidden,
        max_iter=epochs,
        n_iter_no_change=epochs,
        tol=0.0,
        batch_size=min(batch, len(pooled)),
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():  # that the last epoch is the last one is what was asked for
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make_pipeline(StandardScaler(), network).fit(pooled, np.repeat([0, 1], sizes))

    def log_odds(records):
        with np.errstate(divide="ignore"):  # a probability of 0: the log-odds are clipped
            found = np.diff(fitted.predict_log_proba(records), axis=1)[:, 0]
        return np.clip(found, -50, 50)

    def test(x, y, n_permutations=499, rng=None):
        x, y = (log_odds(z) for z in kernels.pair("x", x, "y", y))
        if kind == "sign":
            x, y = (x > 0).astype(float), (y > 0).astype(float)
        return mean_test(x, y, "greater", n_permutations=n_permutations, rng=rng)

    criterion = -float(np.logaddexp(0, -np.repeat([-1, 1], sizes) * log_odds(pooled)).mean())
    return Fitted(test, criterion, {"epochs": float(epochs)})


def _starts(scales):
    if not len(scales):
        checks.fail("scales", "no start", "at least one")
    return [checks.number("scales", scale, 0, open_low=True) for scale in scales]


def _layers(widths, rng):
    """Weights and biases of a network, as torch starts a linear layer."""
    layers = []
    for before, after in zip(widths, widths[1:]):
        bound = 1 / np.sqrt(before)
        weight = rng.uniform(-bound, bound, (before, after))
        layers += [torch.from_numpy(weight), torch.zeros(after, dtype=torch.float64)]
    return [one.requires_grad_() for one in layers]


def _features(layers, out):
    for i in range(0, len(layers), 2):
        out = out @ layers[i] + layers[i + 1]
        out = torch.nn.functional.softplus(out) if i + 2 < len(layers) else out
    return out


def _squares(z):
    norms = (z**2).sum(1)
    return (norms[:, None] + norms - 2 * z @ z.T).clamp_min(0)
