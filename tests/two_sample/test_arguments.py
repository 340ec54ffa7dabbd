"""What the tests on sets refuse, argument by argument, and what they just take."""

import numpy as np
import pytest
import refusals

from mia_lib import two_sample

NAN = np.nan
X, Y = np.random.default_rng(0).normal(size=(2, 8, 2))
GRAM = np.eye(8)
HALVES = dict(x_train=X, y_train=Y, x=X + 1, y=Y + 1)
CLASSES = np.arange(8) % 2
ALL_SETS = dict(rep_x=X, raw_x=X, rep_y=Y, raw_y=Y)
BLOCKS = dict(k_xx=np.eye(4), k_yy=np.eye(4), k_xy=np.zeros((4, 4)))
WRONG_BLOCKS = (
    {"k_xx": np.eye(4)[0]},
    {"k_xx": np.full((4, 4), NAN)},
    {"k_xx": np.zeros((4, 3))},
    {"k_xy": np.zeros(4)},
    {"k_yy": np.full((4, 4), NAN)},
    {"k_yy": np.zeros((4, 3))},
    {"k_xy": np.full((4, 4), NAN)},
    ({"k_xy": np.zeros((4, 3))}, "k_yy"),
)
WRONG_HALVES = (
    {"x_train": np.full((8, 2), NAN)},
    {"y_train": np.full((8, 2), NAN)},
    {"y_train": Y[:, :1]},
    {"x": np.full((8, 2), NAN)},
    {"y": np.full((8, 2), NAN)},
    {"rng": 1},
)


def curve(size=4, **options):
    return two_sample.power_curve(
        lambda rows: GRAM[np.ix_(rows % 8, rows % 8)], np.arange(12) < 4, size, **options
    )


CASES = [
    *refusals.of(
        two_sample.aggregate,
        dict(known_features=X, known_member=np.arange(8) < 4, features=Y, clip=0),
        {"known_features": X[0]},
        {"known_features": X * NAN},
        {"known_member": np.arange(7) < 4},
        {"known_member": X[:, 0]},
        {"features": Y[:, :1]},
        {"features": Y * NAN},
        {"clip": 0.5},
        {"clip": -0.1},
    ),
    *refusals.of(
        two_sample.mean_embedding_test,
        HALVES | {"n_locations": 1, "n_steps": 0},
        *WRONG_HALVES,
        {"n_locations": 0},
        {"n_steps": -1},
        {"learning_rate": 0},
    ),
    *refusals.of(
        two_sample.characteristic_function_test,
        HALVES | {"n_frequencies": 1, "n_steps": 0},
        *WRONG_HALVES,
        {"n_frequencies": 0},
        {"n_steps": -1},
        {"learning_rate": 0},
    ),
    *refusals.of(
        two_sample.optimized_kernel_test,
        dict(x_train=X[:4], y_train=Y[:4], x=X, y=Y, n_steps=0, n_permutations=1),
        {"y_train": Y[:5]},
        ({"x_train": X[:3], "y_train": Y[:3]}, "y_train"),
    ),
    *refusals.of(
        two_sample.optimized_kernel_test,
        HALVES | {"n_steps": 0, "n_permutations": 1},
        *WRONG_HALVES,
        {"n_steps": -1},
        {"learning_rate": 0},
        {"n_permutations": 0},
    ),
    *refusals.of(
        two_sample.deep_feature_test,
        HALVES | {"n_permutations": 1, "recipe": two_sample.DeepFeatures(n_steps=0)},
        *WRONG_HALVES,
        {"n_permutations": 0},
    ),
    *refusals.of(
        two_sample.DeepFeatures,
        {"hidden": 1, "n_features": 1, "n_steps": 0, "learning_rate": 0.1},
        {"hidden": 0},
        {"n_features": 0},
        {"n_steps": -1},
        {"learning_rate": 0},
    ),
    *refusals.of(
        two_sample.median_kernel_test,
        dict(x=X, y=Y, n_permutations=1),
        {"x": X * NAN},
        {"y": Y * NAN},
        {"y": Y[:, :1]},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.HrMmd,
        dict(n_steps=0, learning_rate=0.1, epsilon=0.5, regularization=0.1, n_permutations=1),
        {"n_steps": -1},
        {"learning_rate": 0},
        {"epsilon": 0},
        {"epsilon": 1},
        {"regularization": 0},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.HrMmd(n_steps=0).fit,
        {name: values[:4] for name, values in ALL_SETS.items()},
        {"rep_x": X[:3], "raw_x": X[:3], "rep_y": Y[:3], "raw_y": Y[:3]},
        {"raw_x": X[:3]},
        {"raw_y": Y[:3]},
        {"rep_y": Y, "raw_y": Y},
        {"rep_y": Y[:4, :1]},
        {"raw_y": Y[:4, :1]},
        {"rep_x": X[:4] * NAN},
        {"raw_y": Y[:4] * NAN},
    ),
    *refusals.of(
        two_sample.HrMmd(n_steps=0).fit(**ALL_SETS).test,
        ALL_SETS,
        {"raw_x": X[:3]},
        {"raw_y": Y[:3]},
        {"rep_y": Y[:, :1]},
        {"raw_y": Y[:, :1]},
    ),
    *refusals.of(
        two_sample.repeat_test,
        dict(
            test=two_sample.HrMmd(n_steps=0, n_permutations=1).fit(**ALL_SETS),
            rep_pool=X,
            raw_pool=X,
            rep_y=Y,
            raw_y=Y,
            n_repeats=1,
        ),
        {"test": 1},
        {"raw_pool": X[:4]},
        {"rep_pool": X[:4], "raw_pool": X[:4]},
        {"n_repeats": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.gaussian_kernel,
        dict(x=X, y=Y, bandwidth=0.1),
        {"bandwidth": 0},
        {"x": X * NAN},
        {"y": Y * NAN},
        {"y": Y[:, :1]},
    ),
    *refusals.of(
        two_sample.deep_kernel,
        ALL_SETS | dict(epsilon=1, bandwidth_rep=1, bandwidth_raw=1),
        {"epsilon": -0.1},
        {"epsilon": 1.1},
        {"raw_x": X[:3]},
        {"raw_y": Y[:3]},
        {"rep_y": Y[:, :1]},
        {"raw_y": Y[:, :1]},
        {"rep_x": X * NAN},
    ),
    *refusals.of(two_sample.mmd2, BLOCKS, *WRONG_BLOCKS),
    *refusals.of(two_sample.mmd2_variance, BLOCKS, *WRONG_BLOCKS),
    *refusals.of(
        two_sample.predicted_power,
        dict(statistic=0.1, variance=0.1, threshold=0.1, n=1),
        {"statistic": NAN},
        {"variance": 0},
        {"threshold": NAN},
        {"n": 0},
    ),
    *refusals.of(
        two_sample.permutation_test,
        dict(gram=GRAM, n_x=6, n_permutations=1),
        {"gram": GRAM[0]},
        {"gram": GRAM * NAN},
        {"gram": GRAM[:4]},
        {"n_x": 1},
        {"n_x": 7},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        curve,
        dict(shares=[0, 1], n_repeats=1, n_permutations=1, rng=np.random.default_rng(0)),
        {"size": 1},
        {"shares": []},
        {"shares": [[0.5]]},
        {"shares": [-0.1]},
        {"shares": [1.1]},
        {"n_repeats": 0},
        {"n_permutations": 0},
        {"rng": 1},
        ({"size": 5}, "member"),
        ({"shares": [1], "size": 5}, "member"),
    ),
    *refusals.of(
        two_sample.representations,
        dict(logits=X, labels=[0, 1] * 4, features=Y, likelihood_ratio=X[:, 0]),
        {"logits": X[0]},
        {"labels": [0]},
        {"labels": [0, 2] * 4},
        ({"features": Y[0]}, "features"),
        ({"features": Y * NAN}, "features"),
        {"likelihood_ratio": X},
        {"likelihood_ratio": X[:, 0] * NAN},
    ),
    *refusals.of(
        two_sample.classifier_test,
        HALVES | {"hidden": (1,), "n_permutations": 1, "rng": np.random.default_rng(0)},
        *WRONG_HALVES,
        {"kind": "soft"},
        {"n_permutations": 0},
    ),
    *refusals.of(
        two_sample.mean_test,
        dict(x=[0.0, 1.0], y=[2.0, 3.0], n_permutations=1),
        {"x": [1.0]},
        {"x": X},
        {"y": [1.0]},
        {"y": [1.0, NAN]},
        {"alternative": "less"},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.t_test,
        dict(x=[0.0, 0.0], y=[2.0, 3.0]),
        {"x": [1.0]},
        {"y": [1.0]},
        {"y": [1.0, NAN]},
        {"alternative": "less"},
        ({"y": [1.0, 1.0]}, "x, y"),
    ),
    *refusals.of(
        two_sample.set_threshold,
        dict(nonmember_score=X[:, 0], size=8, fpr=1 / 5, n_draws=4),
        {"nonmember_score": X},
        {"nonmember_score": [NAN]},
        {"size": 0},
        {"size": 9},
        {"fpr": 0},
        {"fpr": 1},
        {"fpr": 0.19},
        {"n_draws": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.class_aware_test,
        dict(rep_x=X, y_x=CLASSES, rep_y=Y, y_y=CLASSES, n_permutations=1, label_kernel=np.eye(2)),
        {"rep_x": X * NAN},
        {"rep_y": Y * NAN},
        {"rep_y": Y[:, :1]},
        {"y_x": CLASSES[:7]},
        {"y_x": CLASSES * NAN},
        {"y_x": CLASSES + 0.5},
        {"y_y": CLASSES - 1},
        {"y_y": CLASSES + 2},  # no common class
        {"n_permutations": 0},
        {"rng": 1},
        {"bandwidth": 0},
        {"bandwidth": "wide"},
        {"label_kernel": np.eye(1)},
        {"label_kernel": np.eye(2)[:1]},
        {"label_kernel": np.eye(2) * NAN},
        {"label_kernel": np.array([[1, 0], [0.5, 1]])},
        {"label_kernel": np.array([[1, 2], [2, 1]])},
        ({"rep_x": X[:1], "y_x": [0]}, "y_x"),
        ({"rep_y": Y[:1], "y_y": [0]}, "y_y"),
        ({"rep_x": np.ones((8, 2)), "rep_y": np.ones((8, 2))}, "rep_x, rep_y"),
    ),
    *refusals.of(
        two_sample.within_class_test,
        dict(gram=GRAM, labels=CLASSES, n_x=4, n_permutations=1),
        {"gram": GRAM[0]},
        {"gram": GRAM[:4]},
        {"gram": GRAM * NAN},
        {"gram": np.triu(np.ones((8, 8)))},
        {"labels": CLASSES[:7]},
        {"n_x": 1},
        {"n_x": 7},
        {"n_permutations": 0},
        {"rng": 1},
        {"label_kernel": np.eye(1)},
        ({"labels": np.arange(8)}, "labels[n_x:]"),
    ),
    *refusals.of(
        two_sample.within_class_variance,
        dict(gram=GRAM, labels=CLASSES, n_x=4),
        {"gram": GRAM[:4]},
        {"labels": CLASSES[:7]},
        {"n_x": 1},
        {"label_kernel": np.eye(1)},
    ),
    *refusals.of(
        two_sample.class_mean_test,
        dict(x=X[:, 0], y_x=CLASSES, y=Y[:, 0], y_y=CLASSES, n_permutations=1),
        {"x": X},
        {"x": X[:, 0] * NAN},
        {"y": Y[:, 0] * NAN},
        {"y_x": CLASSES[:7]},
        {"y_y": CLASSES - 1},
        {"y_y": CLASSES + 2},
        {"y_y": None},
        ({"y_x": None}, "y_y"),
        ({"x": X[:1, 0], "y_x": None, "y_y": None}, "x"),
        {"alternative": "less"},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.canary_test,
        dict(published=[1.0], kept=[0.0], n_permutations=1),
        {"published": []},
        {"published": [NAN]},
        {"kept": [NAN]},
        {"kept": [0.0, 1.0]},
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        two_sample.canary_power,
        dict(mu=0.1, n_canaries=1, repetitions=1),
        {"mu": 0},
        {"n_canaries": [1, 0]},
        {"n_canaries": 1.5},
        {"n_canaries": NAN},
        {"repetitions": 0},
        {"alpha": 0},
        {"alpha": 1},
    ),
    *refusals.of(
        two_sample.e_process,
        dict(coins=[True, False], bets=[1.0, -1.0]),
        {"coins": [0.5, 1]},
        {"coins": [[True, False]]},
        {"bets": [0.5]},
        {"bets": [[[0.5, 0.5]]]},
        {"bets": [0.5, NAN]},
        {"bets": [0.5, -1.1]},
    ),
    *refusals.of(
        two_sample.sensitivity_p_value,
        dict(x=X[:, 0], y=Y[:, 0], odds=1, y_x=CLASSES, y_y=CLASSES),
        {"x": X},
        {"y": Y[:, 0] * NAN},
        {"odds": 0.9},
        {"y_x": CLASSES[:7]},
        {"y_y": None},
    ),
    *refusals.of(
        two_sample.sensitivity_odds,
        dict(x=X[:, 0], y=Y[:, 0] + 1),
        {"x": X},
        {"alpha": 0},
        {"alpha": 0.5},
    ),
]


def fitted(**options):
    test = two_sample.HrMmd(rng=np.random.default_rng(0), **options).fit(**ALL_SETS)
    return test.parameters, test.test(**ALL_SETS)


def repeated(**options):
    test = two_sample.HrMmd(n_steps=0, n_permutations=9, rng=np.random.default_rng(1)).fit(
        **ALL_SETS
    )
    return two_sample.repeat_test(test, X, X, Y, Y, rng=np.random.default_rng(0), **options)


def drawn(function, *arguments):
    return lambda **options: function(*arguments, rng=np.random.default_rng(0), **options)


DEFAULTS = [
    refusals.defaults(
        fitted,
        n_steps=100,
        learning_rate=0.05,
        epsilon=0.05,
        regularization=1e-8,
        n_permutations=499,
    ),
    refusals.defaults(repeated, n_repeats=100),
    refusals.defaults(drawn(two_sample.set_threshold, X[:, 0], 2), fpr=0.01, n_draws=1000),
    refusals.defaults(drawn(two_sample.median_kernel_test, X, Y), n_permutations=499),
    refusals.defaults(drawn(two_sample.permutation_test, X @ X.T, 4), n_permutations=499),
    refusals.defaults(
        drawn(two_sample.mean_test, X[:, 0], Y[:, 0]), alternative="two-sided", n_permutations=499
    ),
    refusals.defaults(
        drawn(two_sample.class_aware_test, X, CLASSES, Y, CLASSES),
        n_permutations=499,
        bandwidth=None,
        label_kernel=np.eye(2),
    ),
    refusals.defaults(drawn(two_sample.within_class_test, X @ X.T, CLASSES, 4), n_permutations=499),
    refusals.defaults(
        drawn(two_sample.class_mean_test, X[:, 0], CLASSES, Y[:, 0], CLASSES),
        alternative="two-sided",
        n_permutations=499,
    ),
    refusals.defaults(
        drawn(two_sample.canary_test, np.arange(16.0) % 5, np.arange(16.0) % 3),
        paired=True,
        n_permutations=9999,
    ),
    refusals.defaults(
        lambda **options: two_sample.canary_power(0.5, 4, **options),
        repetitions=1,
        alpha=0.05,
        paired=True,
    ),
    refusals.defaults(
        lambda **options: two_sample.sensitivity_p_value(X[:, 0], Y[:, 0], **options), odds=1.0
    ),
    refusals.defaults(
        lambda **options: two_sample.sensitivity_odds(X[:, 0], X[:, 0] + 2, **options), alpha=0.05
    ),
    refusals.defaults(
        lambda **options: curve(shares=[0.5], rng=np.random.default_rng(0), **options),
        n_repeats=100,
        n_permutations=499,
    ),
    refusals.defaults(
        lambda **options: two_sample.aggregate(X, np.arange(8) % 2 == 0, Y, **options), clip=0.025
    ),
    refusals.defaults(
        lambda **options: two_sample.t_test(X[:, 0], Y[:, 0], **options), alternative="two-sided"
    ),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("function", "arguments", "name"), CASES)
def test_arguments(function, arguments, name):
    refusals.check(function, arguments, name)


@pytest.mark.parametrize(("function", "options"), DEFAULTS)
def test_documented_defaults(function, options):
    refusals.same(function, options)
