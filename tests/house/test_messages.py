"""Bad input ends in one line that names the argument, what was given and what was expected: one
call and its message for each kind of mistake that the library knows today.
"""

import numpy as np
import pytest

from mia_lib import (
    attacks,
    audit,
    bayes,
    compare,
    data,
    generative,
    intervals,
    lira,
    metrics,
    models,
    results,
    risk_score,
    shadow,
    signals,
    text,
    train,
    two_sample,
)

X, Y = np.linspace(0, 1, 20), np.linspace(1, 2, 20)
LOGITS, LABELS = np.zeros((6, 3)), np.array([0, 1, 2, 0, 1, 2])
MEMBER = np.arange(6) < 3
PHI, MASKS = np.arange(24.0).reshape(4, 6), np.arange(24).reshape(4, 6) % 2 == 0
SIDES = (PHI[0], PHI[1:], MASKS[1:])
NONE = np.zeros(20, int)
RECORDS = np.zeros((12, 8, 8))
HALVES = [np.ones((5, 2))] * 4

CASES = [
    (lambda: signals.hinge(np.full((2, 2), np.nan), [0, 1]), "logits: given"),
    (lambda: signals.hinge(LOGITS, LABELS[1:]), "labels: given shape (5,), expected shape (6,)"),
    (lambda: signals.hinge(LOGITS, LABELS + 1), "labels: given largest label 3"),
    (lambda: intervals.clopper_pearson(5, 3), "successes: given"),
    (lambda: intervals.clopper_pearson(1, 3, 1.5), "delta: given 1.5"),
    (lambda: intervals.mcdiarmid(0, 5), "n_member: given 0"),
    (lambda: metrics.roc([0.1, np.nan], [True, False]), "scores: given 1 NaN"),
    (lambda: metrics.roc([0.1, 0.2], [True, True]), "member: given"),
    (lambda: metrics.roc([0.1, 0.2], [0, 2]), "member: given"),
    (lambda: metrics.roc(X, X > 0.5).tpr_at(2), "fpr: given 2"),
    (lambda: metrics.accuracy().value(1, 1, 0, 0), "tp, fp, fn, tn: given a sum of 2"),
    (lambda: metrics.am(0), "prior: given 0"),
    (lambda: bayes.Histogram(X, Y, 1.0), "prior: given 1.0"),
    (lambda: bayes.Histogram(X, np.ones((20, 2))), "nonmember_signal: given 2 columns"),
    (lambda: bayes.Histogram(X, []), "nonmember_signal: given"),
    (lambda: bayes.Histogram(X, Y, bins=0), "bins: given"),
    (lambda: bayes.KernelDensity(X, Y, bandwidth=-1), "bandwidth: given"),
    (lambda: bayes.split_advantage(X[:1], Y), "member_signal: given 1 examples"),
    (lambda: bayes.permutation_p_value(X, Y, n_permutations=0), "n_permutations: given 0"),
    (lambda: bayes.dp_ceiling(-1), "epsilon: given"),
    (lambda: bayes.dp_advantage_ceiling(1, 2), "delta: given 2"),
    (lambda: bayes.epsilon_lower_bound(11, 10, 0, 10), "true_positives: given 11"),
    (lambda: bayes.epsilon_lower_bound(1, 10, 0, 10, dp_delta=1), "dp_delta: given 1"),
    (lambda: bayes.compare_queries([X]), "signals: given 'list'"),
    (lambda: attacks.class_thresholds(X, X, X > 0.5), "labels: given"),
    (
        lambda: attacks.class_thresholds([1, 2], [0, 1], [True, False]),
        "member: given only members or only non-members in class 0, 1",
    ),
    (
        lambda: attacks.log_probabilities([[0.5, 0.6]]),
        "probabilities: given a row that sums to 1.1, expected rows that sum to 1 within 0.001",
    ),
    (lambda: attacks.log_probabilities([[-0.5, 1.5]]), "probabilities: given a smallest entry"),
    (lambda: attacks.rmia(-PHI[0], -PHI[1:], MASKS[1:], gamma=0), "gamma: given 0"),
    (
        lambda: attacks.outlier_tail(*SIDES),
        "shadow_member: given 3 examples with fewer than 1 OUT models",
    ),
    (lambda: attacks.merlin(train.Classifier(), scale=-1), "scale: given -1"),
    (lambda: lira.online(*SIDES, "local"), "variance: given 'local'"),
    (lambda: lira.online(PHI[0], PHI[:, 1:], MASKS), "shadow: given shape"),
    (lambda: lira.online(*SIDES), "shadow_member: given"),
    (lambda: lira.leave_one_out(PHI, MASKS, 3), "attack: given"),
    (lambda: compare.table({}, MEMBER), "scores: given"),
    (lambda: compare.top_overlap(X, X, 2), "share: given 2"),
    (lambda: risk_score.privacy_risk_score(X, NONE, X, NONE, X > 0.5, prior=2), "prior: given 2"),
    (lambda: shadow.half_masks(3, 5), "n_models: given 3"),
    (lambda: train.Classifier(dropout=1), "dropout: given 1"),
    (lambda: train.Classifier(optimizer="best"), "optimizer: given 'best'"),
    (lambda: train.epsilon(1, 2, 3), "sampling_rate: given 2"),
    (lambda: models.build("vgg", (3, 8, 8), 10), "name: given 'vgg'"),
    (lambda: models.build("mlp", (8,), 10, depth=3), "options: given 'depth'"),
    (lambda: text.encode(["a"], ["a", "b", "c"], 3), "words: given a vocabulary"),
    (lambda: generative.JsGanRecipe(networks="nobody"), "networks: given 'nobody'"),
    (lambda: generative.JsGanRecipe(epochs=-1), "epochs: given -1"),
    (lambda: generative.JsGanRecipe(real_label=0.4), "real_label: given 0.4"),
    (lambda: generative.PrivGanRecipe(n_pairs=1), "n_pairs: given 1"),
    (lambda: generative.DpCganRecipe(noise_multiplier=-1), "noise_multiplier: given -1"),
    (lambda: generative.WganGpRecipe(precision="half"), "precision: given 'half'"),
    (lambda: generative.js_gan(RECORDS + 2), "x: given values from"),
    (
        lambda: generative.dp_cgan(RECORDS, np.zeros(11, int)),
        "labels: given shape (11,), expected shape (12,)",
    ),
    (lambda: two_sample.HrMmd(epsilon=1), "epsilon: given 1"),
    (lambda: two_sample.HrMmd().test(X, X, Y, Y), "HrMmd: given test before fit"),
    (lambda: two_sample.permutation_test(np.eye(5), 1), "n_x: given 1"),
    (lambda: two_sample.deep_kernel(X, Y[1:], X, Y, 0.1, 1, 1), "raw_x: given 19 records"),
    (lambda: two_sample.optimized_kernel_test(*HALVES), "x_train, y_train: given records that are"),
    (lambda: two_sample.DeepFeatures(hidden=0), "hidden: given 0"),
    (lambda: data.load("nobody"), "name: given 'nobody'"),
    (lambda: data.load("digits", "train"), "split: given 'train', expected for digits None"),
    (lambda: audit.Observations(LOGITS, LABELS, MEMBER[1:]), "member: given shape (5,)"),
    (lambda: audit.load("nobody.npz"), "path: given"),
    (lambda: audit.run(3), "observations: given"),
    (lambda: results.read("nobody"), "path_or_name: given 'nobody'"),
    (lambda: results.row("L2", "AUC", "high"), "row.value: given"),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=[message for _, message in CASES])
def test_one_clear_line(call, message):
    with pytest.raises(ValueError) as error:
        call()
    said = str(error.value)
    assert said.startswith(message), said
    assert ", expected " in said and "\n" not in said
