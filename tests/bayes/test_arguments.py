"""What the Bayes-optimal adversary refuses, argument by argument, and what it just takes."""

import numpy as np
import pytest
import refusals

from mia_lib import bayes, metrics
from mia_lib.bayes import generalized, histogram

NAN, INF = np.nan, np.inf
X, Y = np.linspace(0, 1, 8), np.linspace(0.5, 2, 9)
GROUPS = dict(member_signal=X, nonmember_signal=Y)
PLANE = dict(member_signal=np.stack([X, X], 1), nonmember_signal=np.stack([Y, Y], 1))
WRONG_GROUPS = (
    {"member_signal": [[X]]},
    {"member_signal": [1.0, NAN, 2.0, 3.0, 4.0]},
    {"member_signal": [1.0]},
    {"member_signal": []},
    {"nonmember_signal": [[Y]]},
    {"nonmember_signal": [1.0, INF, 2.0, 3.0, 4.0]},
    {"nonmember_signal": [1.0]},
    {"nonmember_signal": PLANE["nonmember_signal"]},
)
WRONG_LEVELS = ({"prior": 0}, {"prior": 1}, {"delta": 0}, {"delta": 1})
WRONG_BINS = (
    {"bins": 0},
    {"bins": 1.5},
    {"bins": [1.0]},
    {"bins": [0.0, 2.0, 1.0]},
    {"bins": [0.0, 1.0, 1.0]},
    {"bins": [0.0, NAN, 1.0]},
)
HISTOGRAM = bayes.Histogram(X, Y, bins=[0, 1, 2])
DENSITY = bayes.KernelDensity(X, Y, bandwidth=0.5)
ACCURACY = metrics.accuracy()
BOX = dict(metric=ACCURACY, p_low=0.2, p_high=0.2, q_low=0, q_high=0.1, prior=0.5, threshold=0.5)

CASES = [
    *refusals.of(
        bayes.Histogram, GROUPS | {"bins": 1}, *WRONG_GROUPS, *WRONG_LEVELS[:2], *WRONG_BINS
    ),
    *refusals.of(bayes.Histogram, PLANE | {"bins": [1, 2]}, {"bins": [1, 2, 3]}, {"bins": [1, 0]}),
    *refusals.of(
        histogram.bin_edges,
        {"signal": X, "bins": 2},
        {"signal": [[X]]},
        {"signal": []},
        *WRONG_BINS,
    ),
    *refusals.of(
        bayes.KernelDensity,
        GROUPS,
        *WRONG_GROUPS,
        *WRONG_LEVELS[:2],
        {"bandwidth": 0},
        {"bandwidth": [0.1, 0.1]},
        {"bandwidth": [[0.1]]},
        {"bandwidth": INF},
    ),
    *(
        case
        for query in (HISTOGRAM, DENSITY)
        for case in (
            *refusals.of(query.risk, {"signal": []}, {"signal": [NAN]}, {"signal": [[[1.0]]]}),
            *refusals.of(query.likelihoods, {"signal": [1.0]}, {"signal": [INF]}),
            *refusals.of(
                query.likelihood_box,
                {"signal": [1.0], "delta": 0.5},
                {"signal": [NAN]},
                {"delta": 0},
            ),
            *refusals.of(
                query.risk_interval,
                {"signal": [1.0], "delta": 0.5},
                {"signal": [NAN]},
                {"delta": 1},
            ),
            *refusals.of(query.advantage, {"delta": 0.5}, {"delta": 0}, {"delta": 1}),
        )
    ),
    *refusals.of(DENSITY.advantage, {"rng": None}, {"rng": 1}),
    *refusals.of(
        bayes.split_advantage,
        {name: group[:3] for name, group in GROUPS.items()} | {"bins": 1},
        *WRONG_GROUPS,
        {"member_signal": X[:2]},
        {"nonmember_signal": Y[:2]},
        *WRONG_LEVELS,
        *WRONG_BINS,
        {"rng": 1},
    ),
    *refusals.of(
        bayes.sign_split_advantage,
        {name: group[:3] for name, group in GROUPS.items()} | {"bins": 1},
        *WRONG_GROUPS,
        {"member_signal": X[:2]},
        *WRONG_LEVELS,
        *WRONG_BINS,
        {"rng": 1},
    ),
    *refusals.of(
        bayes.permutation_p_value,
        GROUPS | {"n_permutations": 1},
        *WRONG_GROUPS,
        *WRONG_LEVELS[:2],
        *WRONG_BINS,
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        bayes.threshold_advantage,
        {"member_signal": [1.0, 2.0], "nonmember_signal": [0.0, 1.0]},
        *WRONG_GROUPS[:4],
        {"nonmember_signal": [1.0]},
        *WRONG_LEVELS,
        PLANE,
    ),
    *refusals.of(
        bayes.certificate,
        GROUPS | {"bins": 1, "n_permutations": 1},
        *WRONG_GROUPS,
        *WRONG_LEVELS,
        *WRONG_BINS,
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        bayes.compare_queries,
        {"signals": {"one": (X, Y)}, "bins": 1, "n_permutations": 1},
        {"signals": {}},
        {"signals": {"one": (X,)}},
        *WRONG_LEVELS,
        {"n_permutations": 0},
        {"rng": 1},
    ),
    *refusals.of(
        bayes.membership_privacy,
        {"query": HISTOGRAM, "delta": 0.5},
        {"query": DENSITY},
        {"delta": 0},
    ),
    *refusals.of(
        bayes.most_exposed,
        {"query": DENSITY, "signal": X, "delta": 0.5},
        {"signal": [NAN]},
        {"delta": 0},
    ),
    *refusals.of(
        bayes.generalized_advantage,
        {name: group[:3] for name, group in GROUPS.items()} | {"metric": ACCURACY, "bins": 1},
        *WRONG_GROUPS,
        {"member_signal": X[:2]},
        {"nonmember_signal": Y[:2]},
        *WRONG_LEVELS,
        *WRONG_BINS,
        {"metric": "accuracy"},
        {"metric": metrics.Metric(0, 1, 0, 0, 0, 0, 0, 1, 0, 0), "member_signal": X}
        | {"nonmember_signal": Y},
        ({"metric": metrics.ppv()}, "member_signal"),
        {"rng": 1},
    ),
    *refusals.of(
        bayes.heuristic_advantage,
        {"metric": ACCURACY, "member_score": [1.0, 2.0], "nonmember_score": [0.0, 1.0]},
        {"metric": 1},
        {"member_score": [[1.0, 2.0]]},
        {"member_score": [NAN, 2.0]},
        {"nonmember_score": [[1.0, 2.0]]},
        {"nonmember_score": [NAN, 2.0]},
        {"prior": 0},
    ),
    *refusals.of(
        generalized.optimal_threshold,
        {"metric": ACCURACY, "posterior": [0, 1], "member_mass": [0, 1], "nonmember_mass": [1, 0]},
        {"metric": 1},
        {"posterior": [[0.1, 0.2]]},
        {"posterior": [-0.1, 0.2]},
        {"posterior": [0.1, 1.2]},
        {"posterior": [0.1, NAN]},
        {"member_mass": [1.0]},
        {"member_mass": [0.0, 0.0]},
        {"member_mass": [2.0, -1.0]},
        {"nonmember_mass": [1.0]},
        {"nonmember_mass": [0.0, 0.0]},
        {"nonmember_mass": [2.0, -1.0]},
        {"prior": 0},
    ),
    *refusals.of(
        bayes.generalized_risk,
        {"metric": ACCURACY, "posterior": [0.0, 1.0], "threshold": 0.5},
        {"metric": 1},
        {"posterior": [1.1]},
        {"posterior": [-0.1]},
        {"posterior": [[0.1]]},
        {"threshold": NAN},
    ),
    *refusals.of(
        bayes.generalized_risk_interval,
        BOX,
        {"metric": 1},
        {"p_low": 0.3},
        {"p_low": -0.1},
        {"p_low": [[0.1]]},
        {"p_high": [0.2, 0.3]},
        {"p_high": NAN},
        {"q_low": 0.2},
        {"q_low": -0.1},
        {"q_high": [0.1]},
        {"prior": 0},
        {"threshold": NAN},
    ),
    *refusals.of(
        bayes.average_risk_interval,
        {"metric": ACCURACY, "query": HISTOGRAM, "threshold": 0.5}
        | {"member_signal": X[:1], "nonmember_signal": Y[:1]},
        {"metric": 1},
        {"member_signal": []},
        {"member_signal": [9.0]},
        {"nonmember_signal": []},
        {"nonmember_signal": [9.0]},
        {"threshold": NAN},
        {"delta": 0},
    ),
    *refusals.of(
        bayes.dp_ceiling,
        {"epsilon": [0, INF], "prior": 0.1},
        {"epsilon": -0.1},
        {"epsilon": NAN},
        {"prior": 0},
        {"prior": 1},
    ),
    *refusals.of(
        bayes.dp_advantage_ceiling,
        {"epsilon": [0, INF], "delta": 1},
        {"epsilon": -0.1},
        {"delta": -0.1},
        {"delta": 1.1},
        {"prior": 0},
    ),
    *refusals.of(
        bayes.dp_epsilon,
        {"advantage": [0, 1], "delta": 0},
        {"advantage": NAN},
        {"advantage": 1.1},
        {"advantage": -0.1},
        {"delta": -0.1},
        {"delta": 1},
        {"prior": 0},
    ),
]


def drawn(function):
    return lambda **options: function(X, Y, rng=np.random.default_rng(0), **options)


DEFAULTS = [
    refusals.defaults(drawn(bayes.split_advantage), prior=0.5, bins=100, delta=0.05),
    refusals.defaults(drawn(bayes.sign_split_advantage), prior=0.5, bins=100, delta=0.05),
    refusals.defaults(drawn(bayes.permutation_p_value), prior=0.5, bins=100, n_permutations=999),
    refusals.defaults(
        lambda **o: bayes.generalized_advantage(ACCURACY, X, Y, rng=np.random.default_rng(0), **o),
        prior=0.5,
        bins=100,
        delta=0.05,
    ),
    refusals.defaults(lambda **o: bayes.threshold_advantage(X, Y, **o), prior=0.5, delta=0.05),
    refusals.defaults(lambda **o: bayes.heuristic_advantage(ACCURACY, X, Y, **o), prior=0.5),
    refusals.defaults(lambda **o: bayes.Histogram(X, Y, **o).advantage(), prior=0.5, bins=100),
    refusals.defaults(lambda **o: bayes.KernelDensity(X, Y, **o).advantage(), prior=0.5),
    refusals.defaults(lambda **o: HISTOGRAM.risk_interval([0.2], **o), delta=0.05),
    refusals.defaults(lambda **o: DENSITY.likelihood_box([0.2], **o), delta=0.05),
    refusals.defaults(lambda **o: DENSITY.advantage(**o), delta=0.05),
    refusals.defaults(lambda **o: HISTOGRAM.advantage(**o), delta=0.05),
    refusals.defaults(lambda **o: bayes.membership_privacy(HISTOGRAM, **o), delta=0.05),
    refusals.defaults(
        lambda **o: bayes.average_risk_interval(ACCURACY, HISTOGRAM, X, Y, 0.5, **o), delta=0.05
    ),
    refusals.defaults(lambda **o: bayes.dp_ceiling(1.0, **o), prior=0.5),
    refusals.defaults(lambda **o: bayes.dp_advantage_ceiling(1.0, **o), delta=0.0, prior=0.5),
    refusals.defaults(lambda **o: bayes.dp_epsilon(0.3, **o), delta=0.0, prior=0.5),
]


@pytest.mark.parametrize(("function", "arguments", "name"), CASES)
def test_arguments(function, arguments, name):
    refusals.check(function, arguments, name)


@pytest.mark.parametrize(("function", "options"), DEFAULTS)
def test_documented_defaults(function, options):
    refusals.same(function, options)
