"""What is read off models and curves, against loops."""

import types

import numpy as np
import pytest
from scipy import stats

from mia_lib import experiment, intervals, metrics, signals


def models(n_models=3, n_queries=2, n=20, n_classes=4):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n_models, n_queries, n, n_classes)).astype(np.float32)
    return logits, rng.integers(n_classes, size=n), rng.random((n_models, n)) < 0.5


def test_accuracies_model_by_model():
    logits, y, masks = models()
    inside, outside = experiment.accuracies(logits[:, 0], y, masks)
    for s in range(3):
        right = [logits[s, 0, i].argmax() == y[i] for i in range(20)]
        assert inside[s] == np.mean([right[i] for i in range(20) if masks[s, i]])
        assert outside[s] == np.mean([right[i] for i in range(20) if not masks[s, i]])
    with pytest.raises(ValueError, match="masks: given shape"):
        experiment.accuracies(logits[:, 0], y, masks[:2])


def test_a_signal_of_all_models():
    logits, y, _ = models()
    store = types.SimpleNamespace(logits=lambda: logits)
    first = experiment.signal(store, signals.hinge, y)
    every = experiment.signal(store, signals.hinge, y, every_query=True)
    assert first.shape == (3, 20) and every.shape == (3, 20, 2)
    for s, q, i in np.ndindex(3, 2, 20):
        z = logits[s, q, i].astype(float)
        assert every[s, i, q] == pytest.approx(z[y[i]] - np.delete(z, y[i]).max())
    np.testing.assert_array_equal(every[..., 0], first)


def test_the_sentence_of_a_rate():
    scores, member = np.arange(8000.0), np.arange(8000) % 2 == 0
    curve = metrics.roc(scores, member)
    assert experiment.carried(curve, 1e-4) == "below the floor 2.5e-04: not resolvable"
    assert experiment.carried(curve, 0.01) == "false positives on 40 examples"
    sentence = experiment.carried(curve, 3e-4)
    assert sentence == "false positives on 1 examples, too few to be sure that it is above 0"


@pytest.mark.parametrize("rate, text", [(1e-5, "0.001 %"), (0.001, "0.1 %"), (0.07, "7 %")])
def test_rates_are_named_without_noise(rate, text):
    assert experiment.percent(rate) == text


@pytest.mark.parametrize(("count", "n"), [(0, 20), (7, 20), (20, 20)])
def test_a_rate_has_the_limits_at_which_its_count_is_just_likely_enough(count, n):
    found = experiment.rate(count, n, 0.1)
    assert found.value == count / n and found.low <= found.value <= found.high
    if count:
        assert stats.binom.sf(count - 1, n, found.low) == pytest.approx(0.05)
    if count < n:
        assert stats.binom.cdf(count, n, found.high) == pytest.approx(0.05)


def test_groups_of_one_trial_and_groups_that_agree_count_once_each():
    for hits, count, value in (
        ([[True], [False], [True], [False], [False]], 2, 0.4),
        ([[True, False]] * 6, 3, 0.5),
        ([[False] * 3] * 4, 0, 0.0),
    ):
        found, n = experiment.rate_of_groups(hits, 0.1), len(hits)
        assert found.value == value
        assert stats.binom.cdf(count, n, found.high) == pytest.approx(0.05)
        assert count == 0 or stats.binom.sf(count - 1, n, found.low) == pytest.approx(0.05)


def test_groups_that_differ_count_by_their_variance():
    hits = np.random.default_rng(0).random((200, 4)) < np.repeat([0.1, 0.9], 100)[:, None]
    found = experiment.rate_of_groups(hits, 0.05)
    assert found.value == hits.mean()
    spread = hits.mean(1).std() / np.sqrt(200)  # of a mean of groups, by the central limit
    assert found.low == pytest.approx(found.value - 1.96 * spread, abs=0.2 * spread)
    assert found.high == pytest.approx(found.value + 1.96 * spread, abs=0.2 * spread)
    alike = np.tile([[True, False, False], [False, True, False], [False, False, True]], (30, 5))
    alike[0, 0] = not alike[0, 0]  # groups that hardly differ: all trials count, no more
    found, all_of_them = experiment.rate_of_groups(alike), experiment.rate(*counted(alike))
    assert found.low == pytest.approx(all_of_them.low, abs=0.003)
    assert found.high == pytest.approx(all_of_them.high, abs=0.003)


def counted(hits):
    return int(hits.sum()), hits.size


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("groups", "trials", "worst"), [(2, 8, 0.97), (3, 8, 0.97), (10, 30, 0.86), (20, 8, 0.91)]
)
def test_the_interval_of_a_rate_of_groups_covers(groups, trials, worst):
    """Groups with chances of their own, from all alike to nearly all 0 or 1."""
    rng, covers = np.random.default_rng(groups), {}
    for mean in (0.05, 0.3, 0.6, 0.9):
        for alike in (2.0, 20.0, 1e6):
            chance = rng.beta(mean * alike, (1 - mean) * alike, (300, groups, 1))
            hits = rng.random((300, groups, trials)) < chance
            found = [experiment.rate_of_groups(one) for one in hits]
            covers[mean, alike] = np.mean([one.low <= mean <= one.high for one in found])
    assert min(covers.values()) > worst - 3 * np.sqrt(worst * (1 - worst) / 300)
    assert min(covers[mean, alike] for mean, alike in covers if 0.1 < mean < 0.8) > 0.92


def test_outputs_that_are_no_numbers_are_no_answers():
    logits = np.zeros((2, 4, 3))
    masks = np.array([[True, True, False, False]] * 2)
    logits[1, 3, 2] = np.nan
    with pytest.raises(ValueError, match="logits: given NaN outputs of a model"):
        experiment.accuracies(logits, np.zeros(4, int), masks)
    logits[1, 3, 2] = np.inf
    assert experiment.accuracies(logits, np.zeros(4, int), masks)[1].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(("groups", "misses"), [(2, 0.5), (3, 0.25)])
def test_a_bootstrap_over_few_groups_would_be_their_range(groups, misses):
    rng = np.random.default_rng(10 + groups)
    chance = rng.beta(6, 4, (4_000, groups, 1))
    shares = (rng.random((4_000, groups, 8)) < chance).mean(2)
    drawn = intervals.bootstrap(
        lambda weights: weights @ shares[0] / weights.sum(1), groups, 0.05, rng=rng
    )
    assert (drawn.low, drawn.high) == pytest.approx((shares[0].min(), shares[0].max()))
    covers = (shares.min(1) <= 0.6) & (0.6 <= shares.max(1))
    assert 1 - covers.mean() == pytest.approx(misses, abs=0.05)  # a median's: 2 ** (1 - groups)


@pytest.mark.simulation
def test_where_few_groups_differ_much_from_all_others_the_interval_misses_half_the_time():
    rng = np.random.default_rng(9)
    chance = np.where(rng.random((400, 10, 1)) < 0.05, 0.9, 0.02)
    found = [experiment.rate_of_groups(hits) for hits in rng.random((400, 10, 30)) < chance]
    covers = np.mean([one.low <= 0.95 * 0.02 + 0.05 * 0.9 <= one.high for one in found])
    assert abs(covers - 0.5) < 0.1


@pytest.mark.parametrize("hits", [[True, False], np.zeros((0, 3)), np.zeros((3, 0))])
def test_no_groups_are_refused(hits):
    with pytest.raises(ValueError, match="hits: given shape"):
        experiment.rate_of_groups(hits)


def test_the_gap_of_the_loss_model_by_model():
    logits, y, masks = models()
    gaps = experiment.loss_gap(logits[:, 0], y, masks)
    for s in range(3):
        p = np.exp(logits[s, 0].astype(float))
        loss = -np.log(p[np.arange(20), y] / p.sum(1))
        expected = loss[~masks[s]].mean() - loss[masks[s]].mean()
        assert gaps[s] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError, match="masks: given shape"):
        experiment.loss_gap(logits[:, 0], y, masks[:2])
