"""What the attacks on single records refuse, argument by argument, and what they just take."""

import numpy as np
import pytest
import refusals

from mia_lib import attacks, train
from mia_lib.attacks import forms

NAN, INF = np.nan, np.inf
SIGNAL, LABELS, MEMBER = [0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], [True, False, True, False]
SHADOW = np.random.default_rng(0).normal(size=(8, 3))
SIDES = dict(
    target=np.array([0.5, 0.1, 0.2]),
    shadow=SHADOW,
    shadow_member=np.arange(8)[:, None] % 2 == np.zeros(3, int),
)
LOGITS = np.random.default_rng(1).normal(size=(12, 2))
CLASSES = np.arange(12) % 2
HALF = np.arange(12) // 2 % 2 == 0

# The three arguments that most attacks share.
WRONG_SIDES = (
    {"target": np.zeros((3, 1))},
    {"target": [0.5, NAN, 0.2]},
    {"target": [0.5, 1e101, 0.2]},
    {"shadow": SHADOW[:, 1:]},
    {"shadow": SHADOW[0]},
    {"shadow": np.where(SHADOW == SHADOW[2, 1], INF, SHADOW)},
    {"shadow": np.where(SHADOW == SHADOW[2, 1], -1e101, SHADOW)},
    {"shadow": np.concatenate([SHADOW[1:], [[0.5, 0.1, 0.2]]])},
    {"shadow_member": np.zeros((3, 8), bool)},
    {"shadow_member": np.full((8, 3), 0.5)},
    {"shadow_member": np.ones((8, 3), bool)},
)
LOG_P = dict(SIDES, target=-np.array([0.5, 0.1, 0.2]), shadow=-np.exp(SHADOW))
KNOWN = dict(
    target_logits=LOGITS[:4],
    target_labels=CLASSES[:4],
    shadow_logits=LOGITS,
    shadow_labels=CLASSES,
    shadow_member=HALF,
)
NETWORK = KNOWN | {"hidden": (1,), "epochs": 1, "rng": np.random.default_rng(0)}
WRONG_KNOWN = (
    {"target_logits": LOGITS[0]},
    {"target_logits": np.full((4, 2), NAN)},
    {"target_labels": CLASSES[:3]},
    {"target_labels": CLASSES[:4] + 1},
    {"target_labels": [0, 1, 0, 0.5]},
    {"shadow_logits": LOGITS[:, :1]},
    {"shadow_logits": np.full((12, 2), NAN)},
    {"shadow_labels": CLASSES[:3]},
    {"shadow_labels": CLASSES + 1},
    {"shadow_member": HALF[:3]},
    {"shadow_member": np.full(12, 0.5)},
    {"shadow_member": np.ones(12, bool)},
)
REGRESSION = dict(
    signals=np.random.default_rng(2).normal(size=(1, 8)),
    member=np.zeros((1, 8), bool),
    features=np.random.default_rng(3).normal(size=(8, 1)),
    level=0.5,
    hidden=0,
    n_steps=1,
    folds=2,
    rng=np.random.default_rng(0),
)
FEATURES = dict(
    target_features=np.eye(4, 3),
    known_features=np.random.default_rng(4).normal(size=(12, 3)),
    known_member=HALF,
)

CASES = [
    *refusals.of(attacks.midpoint, SIDES, *WRONG_SIDES),
    *refusals.of(attacks.difficulty_calibration, SIDES, *WRONG_SIDES),
    *refusals.of(attacks.reference_quantile, SIDES, *WRONG_SIDES),
    *refusals.of(
        attacks.outlier_tail,
        SIDES,
        *WRONG_SIDES,
        {"shadow_member": np.arange(8)[:, None] < np.full(3, 6)},
        {"vulnerable": [True, False]},
        {"vulnerable": [0.5, 0.5, 0.5]},
    ),
    *refusals.of(
        attacks.rmia,
        LOG_P | {"gamma": 1, "slope": 1},
        {"gamma": 0.9},
        {"slope": 1.1},
        {"gamma": NAN},
        {"slope": -0.1},
        {"target": [0.1, -0.1, -0.2]},
        {"shadow": -LOG_P["shadow"]},
        {
            "target": [-0.1],
            "shadow": LOG_P["shadow"][:, :1],
            "shadow_member": SIDES["shadow_member"][:, :1],
        },
        {"shadow_member": np.ones((8, 3), bool)},
    ),
    *refusals.of(
        attacks.class_calibrated,
        SIDES | {"labels": [0, 1, 0]},
        {"target": np.zeros((3, 1))},
        {"target": [0.5, NAN, 0.2]},
        {"labels": [0, 1]},
        {"labels": [0, 1, -1]},
        {"shadow": SHADOW[0]},
        {"shadow": SHADOW * NAN},
        {"shadow_labels": [0, 1]},
        {"shadow_labels": [0, 1, 0.5]},
        {"shadow_member": np.ones((3, 3), bool)},
        {"shadow_member": np.full((8, 3), 0.5)},
    ),
    *refusals.of(
        attacks.class_calibrated,
        SIDES
        | {"labels": [0, 1, 0], "shadow": np.arange(12.0).reshape(3, 4), "shadow_labels": LABELS}
        | {"shadow_member": [MEMBER] * 3},
        {"target": np.zeros((3, 1))},
        {"target": [0.5, NAN, 0.2]},
        {"labels": [0, 1]},
        {"labels": [0, 1, -1]},
        {"shadow": np.arange(4.0)},
        {"shadow": np.full((3, 4), NAN)},
        {"shadow_labels": [0, 1]},
        {"shadow_labels": [0, 0, 1, 0.5]},
        {"shadow_member": [MEMBER]},
        {"shadow_member": np.full((3, 4), 0.5)},
    ),
    *refusals.of(
        attacks.neighbours,
        {"features": np.eye(2), "radius": 2},
        {"features": [1.0, 2.0]},
        {"features": [[1.0, NAN]]},
        {"features": [[0.0, 0.0], [0.0, 1.0]]},
        {"radius": -0.1},
        {"radius": 2.1},
    ),
    *refusals.of(
        attacks.most_isolated,
        {"features": np.eye(2), "share": 0.5, "radius": 2},
        {"features": [1.0, 2.0]},
        {"features": [[1.0, NAN]]},
        {"features": [[0.0, 0.0], [0.0, 1.0]]},
        {"share": 0},
        {"share": 1.1},
        {"radius": -0.1},
        {"radius": 2.1},
    ),
    *refusals.of(
        attacks.class_thresholds,
        {"score": SIGNAL, "labels": LABELS, "member": MEMBER},
        {"score": [SIGNAL]},
        {"score": [0.1, 0.2, NAN, 0.4]},
        {"labels": [0, 1]},
        {"labels": [0, 0, 1, 1.5]},
        {"member": MEMBER[:2]},
        {"member": SIGNAL},
        {"member": [True, True, True, False]},
    ),
    *refusals.of(
        attacks.best_threshold,
        {"score": SIGNAL, "member": MEMBER},
        {"score": [SIGNAL]},
        {"score": [0.1, 0.2, INF, 0.4]},
        {"member": MEMBER[:2]},
        {"member": SIGNAL},
        {"member": [True] * 4},
    ),
    *refusals.of(
        attacks.correctness,
        {"logits": np.eye(2), "labels": [0, 1]},
        {"logits": [[NAN, 1.0]]},
        {"logits": [1.0, 2.0]},
        {"labels": [0]},
        {"labels": [0, 2]},
    ),
    *refusals.of(
        attacks.log_probabilities,
        {"probabilities": [[0.5, 0.5005]], "tolerance": 1e-3},
        {"probabilities": [[0.5, NAN]]},
        {"probabilities": [[0.5, 0.51]], "tolerance": 0.001},
        {"probabilities": [[0.5, 0.502]]},
        {"probabilities": [[-0.1, 1.1]]},
        {"probabilities": [[1.0]]},
    ),
    *refusals.of(
        attacks.threshold_attack,
        dict(
            zip(
                ("target_score", "target_labels", "shadow_score", "shadow_labels"),
                [SIGNAL, LABELS] * 2,
            )
        )
        | {"shadow_member": MEMBER},
        {"target_score": [SIGNAL]},
        {"target_score": [NAN] * 4},
        {"target_labels": [0, 1]},
        {"target_labels": [0, 0, 1, -1]},
        {"shadow_score": [SIGNAL]},
        {"shadow_score": [NAN] * 4},
        {"shadow_labels": [0, 1]},
        {"shadow_labels": [0, 0, 0, 0]},
        {"shadow_member": MEMBER[:2]},
        {"shadow_member": SIGNAL},
        {"shadow_member": [True] * 4},
    ),
    *refusals.of(
        attacks.metric_attacks,
        KNOWN,
        {"shadow_logits": np.zeros((12, 3))},
        *({"shadow_member": wrong["shadow_member"]} for wrong in WRONG_KNOWN[-3:]),
    ),
    *refusals.of(attacks.per_class_networks, NETWORK, *WRONG_KNOWN, {"prior": 0}, {"rng": 1}),
    *refusals.of(attacks.label_network, NETWORK, *WRONG_KNOWN, {"prior": 1}, {"rng": 1}),
    *refusals.of(
        attacks.decision_accuracy,
        {"decision": MEMBER, "member": MEMBER, "delta": 0.1},
        {"decision": [MEMBER]},
        {"decision": SIGNAL},
        {"member": MEMBER[:2]},
        {"member": SIGNAL},
        {"member": [True] * 4},
        {"delta": 0},
    ),
    *refusals.of(
        attacks.accuracy_difference,
        {"first": MEMBER, "second": MEMBER[::-1], "member": MEMBER},
        {"first": [MEMBER]},
        {"first": SIGNAL},
        {"second": MEMBER[:2]},
        {"second": SIGNAL},
        {"member": MEMBER[:2]},
        {"member": SIGNAL},
        {"delta": 1},
    ),
    *refusals.of(
        attacks.correctness_accuracy,
        {"train_accuracy": 1, "test_accuracy": 0},
        {"train_accuracy": 1.1},
        {"train_accuracy": -0.1},
        {"test_accuracy": -0.1},
        {"test_accuracy": 1.1},
    ),
    *refusals.of(
        attacks.merlin,
        {"fit": train.Classifier(), "scale": 0.1, "repeats": 1, "seed": 0},
        {"scale": 0},
        {"scale": NAN},
        {"repeats": 0},
        {"repeats": 1.5},
        {"seed": -1},
        {"seed": 0.5},
    ),
    *refusals.of(
        attacks.quantile_regression,
        REGRESSION,
        {"signals": [0.0] * 8},
        {"signals": np.full((1, 8), INF)},
        {"signals": np.full((1, 8), 1e101)},
        {"member": np.zeros((8, 1), bool)},
        {"member": np.full((1, 8), 0.5)},
        {"member": np.arange(8)[None] < 1},
        {"features": np.zeros((7, 1))},
        {"features": np.full((8, 1), NAN)},
        {"level": 0},
        {"level": 1},
        {"hidden": -1},
        {"n_steps": 0},
        {"folds": 1},
        {"folds": 9},
        {"rng": 1},
    ),
    *refusals.of(
        attacks.gradient_attack,
        FEATURES | {"hidden": (1,), "epochs": 1, "rng": np.random.default_rng(0)},
        {"target_features": np.zeros(3)},
        {"target_features": np.full((4, 3), NAN)},
        {"known_features": np.zeros((12, 2))},
        {"known_features": np.full((12, 3), NAN)},
        {"known_member": HALF[:3]},
        {"known_member": np.full(12, 0.5)},
        {"known_member": np.ones(12, bool)},
        {"prior": 0},
        {"rng": 1},
    ),
]


def seeded(attack, arguments):
    return lambda **options: attack(**arguments, rng=np.random.default_rng(5), **options)


def merlin(**options):
    fit = train.Classifier(hidden=(2,), epochs=1, n_classes=2)
    x, y = np.random.default_rng(6).normal(size=(6, 2)), np.arange(6) % 2
    state = fit(x, y, np.ones((1, 6), bool), [np.random.default_rng(7)])
    return attacks.merlin(fit, 0.5, **options)(state, x, y)


SMALL = {name: REGRESSION[name] for name in ("signals", "member", "features")}
DEFAULTS = [
    refusals.defaults(
        seeded(attacks.per_class_networks, KNOWN), prior=0.5, hidden=(64,), epochs=100
    ),
    refusals.defaults(seeded(attacks.label_network, KNOWN), prior=0.5, hidden=(64,), epochs=100),
    refusals.defaults(
        seeded(attacks.gradient_attack, FEATURES), prior=0.5, hidden=(64,), epochs=50
    ),
    refusals.defaults(
        seeded(attacks.quantile_regression, SMALL), level=0.99, hidden=32, n_steps=500, folds=2
    ),
    refusals.defaults(merlin, repeats=100, seed=0),
    refusals.defaults(lambda **o: attacks.rmia(**LOG_P, **o), gamma=1.0, slope=None),
    refusals.defaults(lambda **o: attacks.outlier_tail(**SIDES, **o), vulnerable=None),
    refusals.defaults(lambda **o: attacks.decision_accuracy(MEMBER, MEMBER, **o), delta=0.05),
    refusals.defaults(
        lambda **o: attacks.accuracy_difference(MEMBER, MEMBER[1:] + [True], MEMBER, **o),
        delta=0.05,
    ),
    refusals.defaults(lambda **o: attacks.metric_attacks(**KNOWN, **o), per_class=True),
    refusals.defaults(lambda **o: attacks.log_probabilities([[0.5, 0.5005]], **o), tolerance=1e-3),
]


@pytest.mark.parametrize(("function", "arguments", "name"), CASES)
def test_arguments(function, arguments, name):
    refusals.check(function, arguments, name)


@pytest.mark.parametrize(("function", "options"), DEFAULTS)
def test_documented_defaults(function, options):
    refusals.same(function, options)


def test_a_wider_tolerance_of_probabilities():
    np.testing.assert_allclose(
        attacks.log_probabilities([[0.5, 0.55]], tolerance=0.1), np.log([[0.5, 0.55]])
    )


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (3, 3, 3)])
def test_outputs_of_probability_zero_become_finite(shape):
    logits = np.random.default_rng(8).normal(size=shape)
    logits[..., 1, 2] = -INF
    found = forms.outputs(logits, None)
    for place in np.ndindex(shape[:-1]):
        row = logits[place]
        floor = np.log(np.exp(row).sum()) + np.log(1e-45)
        want = [floor if np.isneginf(value) else value for value in row]
        np.testing.assert_allclose(found[place], want, rtol=1e-9)
