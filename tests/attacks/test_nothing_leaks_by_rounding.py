"""Leave-one-out on signals that carry nothing and tie: no attack may see who the target was."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mia_lib import attacks, lira, metrics, shadow


def coarse(seed=3, n_models=16, n=3000):
    """Half masks, and answers of two levels that know nothing of them."""
    rng = np.random.default_rng(seed)
    member = shadow.half_masks(n_models, n, rng)
    return member, np.where(rng.random((n_models, n)) < 0.02, 0.9, 0.95)


@pytest.mark.parametrize("name", ["Difficulty calibration", "BASE, offline", "RMIA, offline"])
def test_ties_are_ties_on_either_side(name):
    member, p = coarse()
    scores = lira.leave_one_out(np.log(p), member, attacks.named(name))
    assert abs(metrics.roc(scores.ravel(), member.ravel()).auc - 0.5) < 0.02


def test_the_tail_of_a_target_does_not_hold_the_target():
    rng = np.random.default_rng(1)
    member = shadow.half_masks(16, 8000, rng)
    signals = (rng.random(member.shape) < 0.1) * rng.geometric(0.3, size=member.shape).astype(float)
    scores = lira.leave_one_out(signals, member, attacks.outlier_tail)
    curve = metrics.roc(scores.ravel(), member.ravel())
    rate = curve.fpr[np.argmax(curve.tpr > 0.005)]
    assert rate > 0.0025


def test_one_model_cannot_teach_itself():
    rng = np.random.default_rng(0)
    member, labels = rng.random((1, 400)) < 0.5, np.arange(400) % 10
    attack = attacks.named("Modified entropy, class thresholds")
    with pytest.raises(ValueError, match="one model"):
        lira.leave_one_out(rng.normal(size=(1, 400)), member, attack, labels=labels)


def test_exposed_records_keep_their_share_where_answers_tie():
    """Three right answers of sixteen: the exact p-value is 0.1, the normal one 0.037."""
    rng, false = np.random.default_rng(0), 0
    x = np.zeros((16, 5))
    x[:3] = 1
    for _ in range(400):
        member = rng.permuted(np.arange(16)[:, None] < np.full(5, 8), axis=0)
        false += lira.exposed_records(x, member, share=0.2).exposed.any()
    assert false / 400 < 0.26


def test_a_column_that_does_not_vary_says_nothing():
    rng = np.random.default_rng(0)
    known = np.c_[rng.normal(size=(60, 2)), np.full(60, np.log(1e-30))]
    asked = np.c_[rng.normal(size=(8, 2)), np.full(8, np.log(1e-30) + 1e-9)]
    member, more = np.arange(60) < 30, {"epochs": 2}
    found = [
        attacks.gradient_attack(a, known, member, rng=np.random.default_rng(0), **more)
        for a in (asked, np.c_[asked[:, :2], np.full(8, np.log(1e-30))])
    ]
    assert np.allclose(*found, atol=1e-4)


def test_a_record_is_its_own_neighbour_whatever_rounding_says():
    features = np.random.default_rng(0).normal(size=(3200, 40))
    assert (attacks.neighbours(features, 0.0) == 0).all()
    assert pd.Series(attacks.neighbours(features[:50], 2.0)).eq(49).all()


def test_more_models_than_ties_are_counted_out_for():
    """Three right answers of 66, all of members: the docstring says three times too small."""
    x, member = np.zeros((66, 1)), np.zeros((66, 1), bool)
    x[:3], member[:33] = 1, True
    found = lira.exposed_records(x, member).p_value[0]
    assert 2.5 < stats.hypergeom.sf(2, 66, 3, 33) / found < 3.5


@pytest.mark.simulation
@pytest.mark.parametrize("n_models, low", [(4, 0.41), (16, 0.475)])
def test_an_attack_that_another_model_teaches_shows_less_than_there_is(n_models, low):
    """Of nothing an AUC below one half, as `leave_one_out` says: the teacher's half is not free."""
    found, y = [], np.arange(2000) % 100
    for seed in range(6):
        rng = np.random.default_rng(seed)
        member = shadow.half_masks(n_models, 2000, rng)
        signals = rng.normal(size=2000) + 0.05 * rng.normal(size=(n_models, 2000))
        for name, s in (
            ("Modified entropy, class thresholds", signals),
            ("Privacy risk score", np.exp(signals)),
        ):
            scores = lira.leave_one_out(s, member, attacks.named(name), labels=y)
            found.append(metrics.roc(scores.ravel(), member.ravel()).auc)
    thresholds, score = np.mean(found[::2]), np.mean(found[1::2])
    assert low < score < thresholds < 0.502
