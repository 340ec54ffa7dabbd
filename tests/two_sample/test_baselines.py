import warnings

import numpy as np
import pytest
import sklearn.neural_network
import torch
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from mia_lib import signals, two_sample
from mia_lib.two_sample import fitting

SPLIT = (
    "optimized_kernel_test",
    "deep_feature_test",
    "mean_embedding_test",
    "characteristic_function_test",
    "classifier_test",
)
FAST = {
    "deep_feature_test": {"recipe": two_sample.DeepFeatures(n_steps=20)},
    "classifier_test": {"hidden": (8,)},
}


def run(name, halves, rng, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(two_sample, name)(*halves, rng=rng, **options)


def halves(shift, n=80, d=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 2 * n, d))
    y = scale * y + shift
    return x[:n], y[:n], x[n:], y[n:]


@pytest.mark.parametrize("name", SPLIT)
def test_every_split_test_sees_a_shift(name):
    assert run(name, halves(1.2), np.random.default_rng(1)).p_value < 0.01


def test_a_certain_classifier_stays_finite_and_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        x_train, y_train, x, y = halves(8.0)
        sets = (
            x_train,
            y_train,
            x * 1e5 - 1e6,
            y * 1e5,
        )  # far out, where probabilities round to 0 and 1
        found = run("classifier_test", sets, np.random.default_rng(1), kind="logit")
    assert np.isfinite(found.statistic) and found.p_value < 0.01


@pytest.mark.parametrize("name", SPLIT)
def test_every_split_test_is_the_same_under_the_same_generator(name):
    first, second = (
        run(name, halves(0.3, n=40), np.random.default_rng(1), **FAST.get(name, {}))
        for _ in range(2)
    )
    assert first == second


def test_optimised_bandwidth_beats_a_bad_start():
    """Stripes half a unit wide: at the median distance the kernel hardly sees them."""
    rng = np.random.default_rng(0)
    x, y = (
        rng.uniform(0, 0.5, size=(400, 1)) + rng.integers(0, 40, (400, 1)) + phase
        for phase in (0.0, 0.5)
    )
    fitted = two_sample.optimized_kernel_test(
        x[:200], y[:200], x[200:], y[200:], n_steps=150, rng=rng
    )
    assert fitted.p_value < 0.01 < two_sample.median_kernel_test(x[200:], y[200:], rng=rng).p_value


def test_mean_embedding_statistic_is_its_formula(monkeypatch):
    x_train, y_train, x, y = halves(0.5, n=30)
    monkeypatch.setattr(fitting, "ascend", lambda *arguments: None)  # locations stay at their start
    found = two_sample.mean_embedding_test(
        x_train, y_train, x, y, n_locations=3, rng=np.random.default_rng(2)
    )
    pooled = np.concatenate([x_train, y_train])
    center, spread = pooled.mean(0), pooled.std(0)
    start = ((pooled - center) / spread)[np.random.default_rng(2).choice(60, 3, replace=False)]
    h = two_sample.median_bandwidth((pooled - center) / spread)
    k = [two_sample.gaussian_kernel((z - center) / spread, start, h) for z in (x, y)]
    z = k[0] - k[1]
    w, s = z.mean(0), np.cov(z.T)
    expected = 30 * w @ np.linalg.inv(s) @ w
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.p_value == pytest.approx(1 - stats.chi2.cdf(expected, 3), rel=1e-6)


def test_characteristic_function_statistic_is_its_formula(monkeypatch):
    x_train, y_train, x, y = halves(0.5, n=40)
    monkeypatch.setattr(fitting, "ascend", lambda *arguments: None)
    found = two_sample.characteristic_function_test(
        x_train, y_train, x, y, n_frequencies=2, rng=np.random.default_rng(2)
    )
    pooled = np.concatenate([x_train, y_train])
    center, spread = pooled.mean(0), pooled.std(0)
    h = two_sample.median_bandwidth((pooled - center) / spread)
    t = np.random.default_rng(2).normal(size=(2, 2))
    rows = []
    for a, b in zip((x - center) / spread / h, (y - center) / spread / h):
        row = []
        for f in (np.sin, np.cos):
            row += [f(a @ u) * np.exp(-(a @ a) / 2) - f(b @ u) * np.exp(-(b @ b) / 2) for u in t]
        rows.append(row)
    w, s = np.mean(rows, 0), np.cov(np.transpose(rows))
    assert found.statistic == pytest.approx(40 * w @ np.linalg.inv(s) @ w, rel=1e-6)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 4), rel=1e-6)


def test_fitting_moves_locations_and_frequencies():
    for name in ("mean_embedding_test", "characteristic_function_test"):
        still = run(name, halves(0.4, scale=1.3), np.random.default_rng(3), n_steps=0)
        moved = run(name, halves(0.4, scale=1.3), np.random.default_rng(3))
        assert moved.statistic > still.statistic


def test_mean_test_against_all_permutations():
    x, y = np.array([0.1, 0.9, 0.4]), np.array([1.2, 0.8, 2.0])
    pooled = np.concatenate([x, y])
    exact = stats.permutation_test(
        (y, x), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=np.inf
    ).pvalue
    found = two_sample.mean_test(
        x, y, "greater", n_permutations=20_000, rng=np.random.default_rng(0)
    )
    assert found.statistic == pytest.approx(y.mean() - x.mean())
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert (
        two_sample.mean_test(pooled, pooled, rng=np.random.default_rng(0)).p_value == 1.0
    )  # ties count
    assert two_sample.t_test(x, y).p_value == pytest.approx(
        stats.ttest_ind(x, y, equal_var=False).pvalue
    )


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["median_kernel_test", "mean_test", "t_test"])
def test_level_of_what_needs_no_fit(name):
    """Both sets anew 1,000 times (29 and 74 are the 0.1 % limits of binomial(1000, 0.05)), skewed
    numbers.
    """
    rng, rejections = np.random.default_rng(6), 0
    for _ in range(1000):
        x, y = rng.exponential(size=(2, 25))
        options = {} if name == "t_test" else {"n_permutations": 99, "rng": rng}
        rejections += getattr(two_sample, name)(x, y, **options).p_value <= 0.05
    assert 29 <= rejections <= 74


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["optimized_kernel_test", "classifier_test"])
def test_level_after_a_fit(name):
    """Every fit tested once on fresh sets: limits of the binomial that are missed once in 1,000."""
    rng, rejections, n_fits = np.random.default_rng(7), 0, 60 if name == "classifier_test" else 200
    for _ in range(n_fits):
        sets = rng.normal(size=(4, 20, 2))
        options = {"n_steps": 10} if name == "optimized_kernel_test" else {"hidden": (4,)}
        rejections += run(name, sets, rng, n_permutations=99, **options).p_value <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], n_fits, 0.05)
    assert low <= rejections <= high


@pytest.mark.simulation
@pytest.mark.parametrize("fpr", [0.01, 0.1])
def test_set_threshold_keeps_its_rate_on_fresh_sets(fpr):
    rng = np.random.default_rng(8)
    threshold = two_sample.set_threshold(
        rng.exponential(size=20_000), 50, fpr, n_draws=2000, rng=rng
    )
    called = (rng.exponential(size=(20_000, 50)).mean(1) > threshold).mean()
    assert called == pytest.approx(fpr, abs=4 * np.sqrt(fpr / 2000) + 0.005)


def test_set_threshold_counts():
    means = two_sample.set_threshold(
        np.arange(10.0), 1, 0.1, n_draws=1000, rng=np.random.default_rng(0)
    )
    assert means in (8.0, 9.0)
    assert (
        two_sample.set_threshold(np.ones(10), 5, 0.5, n_draws=10, rng=np.random.default_rng(0))
        == 1.0
    )


def test_representations_are_what_they_are_called():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(7, 4)), rng.integers(0, 4, 7)
    found = two_sample.representations(
        logits, labels, rng.normal(size=(7, 9)), likelihood_ratio=rng.normal(size=7)
    )
    assert list(found) == [
        "last",
        "second_to_last",
        "confidence",
        "loss",
        "entropy",
        "likelihood_ratio",
    ]
    np.testing.assert_allclose(found["confidence"].sum(1), 1)
    np.testing.assert_allclose(
        found["loss"][:, 0], -np.log(found["confidence"][np.arange(7), labels])
    )
    np.testing.assert_allclose(found["entropy"][:, 0], signals.entropy(logits))


def test_layers_of_a_network_by_name():
    torch.manual_seed(0)
    layers = (
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.BatchNorm2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(2, 3),
    )
    net = torch.nn.Sequential(*layers).train()
    before = net[1].running_mean.clone()
    x = torch.randn(5, 1, 3, 3)
    found = two_sample.layer_outputs(net, x, ["0", "3"], batch=2)
    assert net.training and torch.equal(before, net[1].running_mean)  # evaluation mode, and back
    with torch.no_grad():
        np.testing.assert_allclose(found["0"], net[0](x).flatten(1), atol=1e-6)
        np.testing.assert_allclose(found["3"], net.eval()(x), atol=1e-6)


NET = torch.nn.Sequential(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: two_sample.optimized_kernel_test(*[np.ones((5, 2))] * 4),
            "x_train, y_train: given records that are all",
        ),
        (
            lambda: two_sample.optimized_kernel_test([[0.0]], [[1.0]], [[0.0]], [[1.0]]),
            "y_train: given 1 records",
        ),
        (
            lambda: two_sample.mean_embedding_test(*halves(0, 20)[:3], np.zeros((6, 2))),
            "y: given 6 records against 20",
        ),
        (lambda: two_sample.classifier_test(*halves(0, 20), kind="votes"), "kind: given 'votes'"),
        (lambda: two_sample.mean_test([1.0], [1.0, 2.0]), "x: given 1 numbers"),
        (lambda: two_sample.mean_test([1.0, np.nan], [1.0, 2.0]), "x: "),
        (lambda: two_sample.mean_test([1.0, 2.0], [1.0, 2.0], "less"), "alternative: given 'less'"),
        (
            lambda: two_sample.t_test([1.0, 1.0], [1.0, 1.0]),
            "x, y: given numbers that are all the same",
        ),
        (lambda: two_sample.set_threshold(np.ones(5), 6), "size: given 6"),
        (lambda: two_sample.set_threshold(np.ones(5), 2, 0.09, n_draws=10), "fpr: given 0.09"),
        (
            lambda: two_sample.representations(np.eye(3), [0, 1, 2], np.ones((2, 2))),
            "second_to_last: given 2 records",
        ),
        (lambda: two_sample.layer_outputs(NET, np.zeros((2, 2)), ["9"]), "layers: given '9'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("fpr", "above"), [(0.29, 28), (0.01, 0), (29 / 101, 28), (0.5, 49)])
def test_set_threshold_is_exceeded_by_fewer_draws_than_its_rate_allows(fpr, above):
    score = np.random.default_rng(4).normal(size=5000)
    threshold = two_sample.set_threshold(score, 3, fpr, n_draws=100, rng=np.random.default_rng(5))
    rng = np.random.default_rng(5)
    means = [score[rng.choice(5000, 3, replace=False)].mean() for _ in range(100)]
    assert sum(mean > threshold for mean in means) == above
    assert threshold in means


def test_set_threshold_of_all_records_is_their_mean():
    score = np.random.default_rng(6).normal(size=40)
    found = two_sample.set_threshold(score, 40, rng=np.random.default_rng(0))
    assert found == pytest.approx(score.mean())


HUGE = np.append(np.arange(9.0), -1.7e308)
NO_CLASS = np.zeros(10, int)


@pytest.mark.parametrize(
    ("call", "limit"),
    [
        (lambda x, y: two_sample.mean_test(x, y), "1e.300"),
        (lambda x, y: two_sample.share_lower_limit(x, y), "1e.300"),
        (lambda x, y: two_sample.two_step_test(np.arange(10), np.arange(10), x, y), "1e.300"),
        (lambda x, y: two_sample.class_mean_test(x, None, y, None), "1e.300"),
        (lambda x, y: two_sample.canary_test(x, y), "1e.300"),
        (lambda x, y: two_sample.canary_test(x, y, paired=False), "1e.300"),
        (lambda x, y: two_sample.sensitivity_p_value(x, y), "1e.150"),
        (lambda x, y: two_sample.class_aware_test(x, NO_CLASS, y, NO_CLASS), "1e.150"),
        (lambda x, y: two_sample.t_test(x, y), "1e.75"),
        (lambda x, y: two_sample.member_share(x, y, [1.0, 1.1]), "1e.60"),
    ],
)
def test_numbers_without_a_finite_statistic_are_refused(call, limit):
    for sets in ((HUGE, np.arange(10.0)), (np.arange(10.0), HUGE), (HUGE, HUGE)):
        with pytest.raises(
            ValueError, match=rf"^\w+: given a magnitude of 1.7e.308, expected at most {limit},"
        ):
            call(*sets)


def test_numbers_at_the_limit_have_their_statistic():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, 40), rng.uniform(-1, 1, 40) + 0.4
    x, y = x / 1.4, y / 1.4
    for size, test in (
        (1e300, lambda a, b: two_sample.mean_test(a, b, rng=np.random.default_rng(1)).p_value),
        (
            1e300,
            lambda a, b: (
                two_sample.class_mean_test(a, None, b, None, rng=np.random.default_rng(1)).p_value
            ),
        ),
        (1e300, lambda a, b: two_sample.canary_test(a[:9], b[:9]).p_value),
        (1e150, lambda a, b: two_sample.sensitivity_p_value(a, b, 1.5)),
        (1e75, lambda a, b: two_sample.t_test(a, b).p_value),
    ):
        assert test(size * x, size * y) == pytest.approx(test(x, y), rel=1e-9)
    large = two_sample.member_share(1e60 * x, 1e60 * y, np.array([0.7, 0.8, 0.9]) * 1e60)
    np.testing.assert_allclose(large, two_sample.member_share(x, y, [0.7, 0.8, 0.9]))


def test_no_p_value_is_0():
    x = np.random.default_rng(0).normal(size=(2, 200))
    least = np.finfo(float).tiny
    assert two_sample.t_test(x[0], x[1] + 1e9).p_value == least
    still = np.tile([0.0, 1.0], 20), np.tile([6.0, 7.0], 20)
    for test, one in (
        (two_sample.mean_embedding_test, {"n_locations": 1}),
        (two_sample.characteristic_function_test, {"n_frequencies": 1}),
    ):
        found = test(*still, *still, n_steps=0, rng=np.random.default_rng(1), **one)
        assert np.isfinite(found.statistic) and found.p_value == least


@pytest.mark.parametrize("name", ["optimized_kernel_test", "deep_feature_test", "classifier_test"])
def test_what_cannot_be_tested_is_not_fitted(name, monkeypatch):
    def fit(*arguments, **options):
        raise AssertionError("fitted")

    monkeypatch.setattr(fitting, "ascend", fit)
    monkeypatch.setattr(sklearn.neural_network.MLPClassifier, "fit", fit)
    x_train, y_train, x, y = halves(0.5, n=10)
    test = getattr(two_sample, name)
    for changed, message in (
        (dict(x=np.full_like(x, np.nan)), "^x: given 20 NaN"),
        (dict(y=y[:, :1]), "^y: given 1 features, expected 2 as x"),
        (dict(x=x[:, :1], y=y[:, :1]), "^x: given 1 features, expected 2 as x_train"),
        (dict(n_permutations=0), "^n_permutations: given 0"),
    ):
        with pytest.raises(ValueError, match=message):
            test(x_train, y_train, **(dict(x=x, y=y) | changed))


@pytest.mark.parametrize(
    ("fpr", "n_draws", "k"), [(0.1, 10, 1), (0.25, 10, 2), (0.5, 4, 2), (1 / 11, 10, 1)]
)
def test_one_more_set_exceeds_the_threshold_as_often_as_is_said(fpr, n_draws, k):
    rng, score, exceeded = np.random.default_rng(9), np.random.default_rng(1).normal(size=5000), 0
    for _ in range(1500):
        threshold = two_sample.set_threshold(score, 1, fpr, n_draws=n_draws, rng=rng)
        exceeded += rng.choice(score) > threshold
    expected = k / (n_draws + 1)
    assert expected <= fpr
    assert exceeded / 1500 == pytest.approx(
        expected, abs=4 * np.sqrt(expected * (1 - expected) / 1500)
    )


def test_every_module_is_left_in_its_mode():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).train()
    net[1].eval()  # frozen, as in a fine-tuned network
    two_sample.layer_outputs(net, np.zeros((3, 2), np.float32), ["0"])
    assert [module.training for module in net.modules()] == [True, True, False]


def test_a_layer_named_twice_counts_once():
    x = np.eye(2, dtype=np.float32)
    found = two_sample.layer_outputs(NET, x, ["0", "0"], batch=1)
    assert list(found) == ["0"] and found["0"].shape == (2, 2)


class Oned(torch.nn.Module):
    """The output of layer `one` has one axis, that of `many` is a tuple."""

    def __init__(self):
        super().__init__()
        self.one, self.many = torch.nn.Flatten(0), torch.nn.LSTM(2, 3, batch_first=True)

    def forward(self, x):
        self.one(x)
        return self.many(x[:, None])[0]


def test_layers_without_a_row_for_each_record_are_refused():
    x = np.zeros((3, 2), np.float32)
    for layer, what in (("one", "1 axes"), ("many", "tuple")):
        with pytest.raises(
            ValueError, match=f"^layers: given '{layer}' with an output of {what}, expected a"
        ):
            two_sample.layer_outputs(Oned(), x, [layer])
    for batch in (0, -1, 1.5):
        with pytest.raises(ValueError, match="^batch: given"):
            two_sample.layer_outputs(NET, x, ["0"], batch=batch)
