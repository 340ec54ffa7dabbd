"""What curves and metrics refuse, argument by argument, and what they just take."""

import numpy as np
import pytest
import refusals

from mia_lib import metrics

NAN, INF = np.nan, np.inf
WEIGHTS = ("a0", "a11", "a10", "a01", "a00", "b0", "b11", "b10", "b01", "b00")
GOOD = dict(zip(WEIGHTS, (0, 1, 0, 0, 1, 1, 0, 0, 0, 0)))
FRACTIONS = dict(tp=1.0, fp=0.0, fn=0.0, tn=0.0)
CURVE = metrics.roc([0.4, 0.3, 0.2, 0.1], [True, False, True, False])
MANY = metrics.roc(np.arange(24.0).reshape(4, 6), np.arange(24).reshape(4, 6) % 5 < 2)
LONG = metrics.roc(np.arange(440.0), np.arange(440) < 2)  # 438 non-members resolve 1 % at 5 %
RATES = ({"fpr": -0.1}, {"fpr": 1.1}, {"fpr": NAN})
LEVELS = ({"delta": 0}, {"delta": 1})
GROUPS = ({"groups": [0]}, {"groups": np.zeros(24)})

CASES = [
    *refusals.of(
        metrics.roc,
        {"scores": [-INF, 1.0], "member": [False, True]},
        {"scores": [INF, 1.0]},
        {"scores": 1.0},
        {"scores": [NAN, 1.0]},
        {"scores": [[[1.0, 2.0]]]},
        {"member": [True]},
        {"member": [0.5, 1.0]},
        {"member": [True, True]},
        {"member": [False, False]},
    ),
    *(
        case
        for name in ("weighted_tpr", "influence", "distinct_false_positives", "carried_by")
        for case in refusals.of(getattr(MANY, name), {"fpr": 0.5}, *RATES, *GROUPS)
    ),
    *refusals.of(MANY.effective_nonmembers, {"fpr": 0.5}, *RATES, *GROUPS),
    *(
        case
        for curve in (CURVE, MANY)
        for case in (
            *refusals.of(curve.tpr_at, {"fpr": 0}, *RATES, *LEVELS, *GROUPS),
            *refusals.of(curve.tpr_at, {"fpr": 1}),
            *refusals.of(curve.resolvable, {"fpr": 0}, *RATES, *LEVELS, *GROUPS),
            *refusals.of(curve.auc_interval, {"delta": 0.5}, *LEVELS, *GROUPS),
            *refusals.of(curve.smallest_resolvable, {"delta": 0.5}, *LEVELS, *GROUPS),
            *refusals.of(
                curve.records_needed, {"fpr": 0.5}, {"fpr": 0}, {"fpr": 1}, *LEVELS, *GROUPS
            ),
        )
    ),
    *refusals.of(MANY.tpr_at, {"fpr": 0.5}, {"rng": 1}),
    *refusals.of(MANY.auc_interval, {"delta": 0.5}, {"rng": 1}, {"groups": [0] * MANY.shape[1]}),
    *refusals.of(
        metrics.n_nonmembers_needed,
        {"fpr": 0.5, "delta": 0.5, "purpose": "interval"},
        {"fpr": 0},
        {"fpr": 1},
        *LEVELS,
        {"purpose": "test"},
    ),
    *refusals.of(
        metrics.n_members_needed,
        {"tpr": 1, "fpr": 0.5, "delta": 0.5},
        {"tpr": 0.5},
        {"tpr": 1.1},
        {"fpr": 0},
        {"fpr": 1},
        *LEVELS,
    ),
    *refusals.of(metrics.Metric, GOOD, *({name: NAN} for name in WEIGHTS)),
    *refusals.of(
        metrics.accuracy().value,
        FRACTIONS,
        *({name: -0.1} for name in FRACTIONS),
        *({name: NAN} for name in FRACTIONS),
        ({"tn": 0.1}, "tp, fp, fn, tn"),
    ),
    *refusals.of(metrics.accuracy().threshold_at, {"value": 0}, {"value": NAN}),
    *refusals.of(metrics.am, {"prior": 0.1}, {"prior": 0}, {"prior": 1}),
    *refusals.of(
        metrics.weighted_accuracy,
        dict(w1=1, w2=0, w3=0, w4=1),
        *({f"w{i}": -1} for i in range(1, 5)),
        *({f"w{i}": NAN} for i in range(1, 5)),
    ),
]


def pooled(method, *arguments):
    def call(**options):
        return getattr(MANY, method)(*arguments, rng=np.random.default_rng(0), **options)

    return call


DEFAULTS = [
    refusals.defaults(lambda **o: CURVE.tpr_at(0.5, **o), delta=0.05, groups=None, rng=None),
    refusals.defaults(lambda **o: CURVE.auc_interval(**o), delta=0.05),
    refusals.defaults(pooled("tpr_at", 0.5), delta=0.05, groups=None),
    refusals.defaults(pooled("auc_interval"), delta=0.05, groups=None),
    refusals.defaults(lambda **o: MANY.smallest_resolvable(**o), delta=0.05, groups=None),
    refusals.defaults(lambda **o: CURVE.records_needed(1e-4, **o), delta=0.05, groups=None),
    refusals.defaults(lambda **o: LONG.resolvable(0.01, **o), delta=0.05, groups=None),
    refusals.defaults(
        lambda **o: metrics.n_nonmembers_needed(0.01, **o), delta=0.05, purpose="certify"
    ),
    refusals.defaults(lambda **o: metrics.n_members_needed(0.2, 0.01, **o), delta=0.05),
]


@pytest.mark.parametrize(("function", "arguments", "name"), CASES)
def test_arguments(function, arguments, name):
    refusals.check(function, arguments, name)


@pytest.mark.parametrize(("function", "options"), DEFAULTS)
def test_documented_defaults(function, options):
    refusals.same(function, options)
