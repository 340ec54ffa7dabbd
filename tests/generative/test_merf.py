"""DP-MERF: what one record moves, the budget against its closed form, and whether it draws."""

import numpy as np
import pytest
from scipy import stats

from mia_lib import data, generative, train
from mia_lib.generative import merf

RNG = np.random.default_rng
X, LABELS = RNG(0).random((30, 8, 8)), np.arange(30) % 3


def gaussian_delta(noise, epsilon):
    """Balle and Wang 2018, theorem 8, for a sensitivity of one."""
    near, far = 1 / (2 * noise), epsilon * noise
    return stats.norm.cdf(near - far) - np.exp(epsilon) * stats.norm.cdf(-near - far)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
def test_the_noise_is_the_smallest_that_keeps_the_budget(epsilon):
    noise, spent = merf._budget(epsilon, 1e-5, None)
    assert gaussian_delta(noise, epsilon) <= 1e-5 * (1 + 1e-6)
    assert gaussian_delta(0.999 * noise, epsilon) > 1e-5
    assert spent <= epsilon and spent == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize("epsilon", [5.5e3, 1e6, 1e12])
def test_a_budget_beyond_all_noise_is_not_spent(epsilon):
    """Noise of a hundredth of what a record adds is the least; delta at what it spends is at delta.

    Phi(mu / 2 - epsilon / mu) alone is left of delta there, with mu = 100.
    """
    gan = generative.dp_merf(X, LABELS, epsilon, n_steps=1)
    assert gan.epsilon == pytest.approx(100 * (50 - stats.norm.ppf(1e-5)), rel=1e-3)
    assert gan.epsilon < epsilon


def test_one_record_moves_what_is_released_by_no_more_than_is_accounted_for():
    frequencies = RNG(1).normal(size=(64, 20))
    rows = X.reshape(30, -1)
    whole = merf._sums(rows, LABELS, frequencies)
    for i in range(30):
        left = np.arange(30) != i
        moved = np.linalg.norm(whole - merf._sums(rows[left], LABELS[left], frequencies))
        assert moved == pytest.approx(np.sqrt(1 + merf.COUNT_WEIGHT**2))


def test_features_have_the_kernel_as_their_product():
    """Rahimi and Recht 2007: phi(x) . phi(y) is near exp(-|x - y|^2 / (2 h^2))."""
    h, rows = 2.0, X.reshape(30, -1)
    features = merf._features(rows, RNG(2).normal(scale=1 / h, size=(64, 20_000)))
    apart = ((rows[:, None] - rows) ** 2).sum(-1)
    assert np.allclose(features @ features.T, np.exp(-apart / (2 * h**2)), atol=0.04)


def test_the_noise_that_is_drawn_is_the_noise_that_is_accounted_for():
    frequencies, noise, found = RNG(3).normal(size=(64, 200)), 5.0, []
    crowd = np.tile(X.reshape(30, -1), (400, 1))
    labels = np.tile(LABELS, 400)
    exact = merf._sums(crowd, labels, frequencies)
    released = merf._means(merf._noisy_sums(crowd, labels, frequencies, noise, RNG(4)))
    counts = exact[:, -1:] / merf.COUNT_WEIGHT
    found = (released - exact[:, :-1] / counts) * counts
    # what the noisy count adds is small beside: its error is a hundredth of the count
    assert found.std() == pytest.approx(noise * np.sqrt(1.25), rel=0.1)


def test_the_generator_sees_nothing_but_what_is_released(monkeypatch):
    """Other records with the same release give the same generator, bit for bit."""
    monkeypatch.setattr(merf, "_noisy_sums", lambda *_: np.full((3, 401), 0.5))
    one = generative.dp_merf(X, LABELS, 1.0, n_steps=3, rng=RNG(5))
    other = generative.dp_merf(X[::-1] / 2, LABELS, 1.0, n_steps=3, rng=RNG(5))
    labels = [0, 1, 2]
    assert np.array_equal(one.generate(3, RNG(6), labels), other.generate(3, RNG(6), labels))


def test_what_is_released_is_what_members_add_and_noise_of_the_stated_deviation():
    gan = generative.dp_merf(X, LABELS, 1.0, n_features=4_000, n_steps=1, rng=RNG(5))
    released = gan.embedding
    by_hand = np.stack([released.adds(X[LABELS == k]).sum(0) for k in range(3)])
    assert np.allclose(released.exact(X, LABELS), by_hand)
    noise, _ = merf._budget(1.0, 1e-5, None)
    assert released.deviation == pytest.approx(noise * np.sqrt(1.25))
    assert (released.sums - by_hand).std() == pytest.approx(released.deviation, rel=0.05)


def test_many_records_are_summed_block_by_block(monkeypatch):
    frequencies = RNG(1).normal(size=(64, 20))
    whole = merf._sums(X.reshape(30, -1), LABELS, frequencies)
    released = merf.Embedding(whole, frequencies, 1.0)
    monkeypatch.setattr(merf, "BLOCK", 7)
    assert np.allclose(merf._sums(X.reshape(30, -1), LABELS, frequencies), whole)
    assert np.allclose(released.exact(X, LABELS), whole)


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda one: one.adds(X[:, :4]), "x: given shape"),
        (lambda one: one.adds(X[0, 0]), "x: given shape"),
        (lambda one: one.exact(X, LABELS + 1), "labels: given"),
        (lambda one: one.exact(X, LABELS[:4]), "labels: given"),
    ],
)
def test_what_adds_nothing_is_named(call, expected):
    with pytest.raises(ValueError, match=expected):
        call(merf.Embedding(np.zeros((3, 21)), np.zeros((64, 10)), 1.0))


@pytest.mark.slow
def test_it_draws_digits():
    """A classifier of other real digits agrees with the class that was asked for in at least 60 %,
    and digits of one class spread at least half as much as real ones. With a budget that leaves
    nothing of the data it agrees by chance.
    """
    digits = data.load("digits")
    order = RNG(7).permutation(len(digits))
    x, y = digits.x[order], digits.y[order]
    judge = train.Classifier(hidden=(64,), epochs=20)
    state = judge(x[1_300:], y[1_300:], np.ones((1, len(x) - 1_300), bool), [RNG(8)])
    labels = np.repeat(np.arange(10), 60)
    real = np.mean([x[:1_300][y[:1_300] == k].var(axis=0).sum() for k in range(10)])
    agree, spread = {}, {}
    for epsilon in (0.01, 1, 3, 10):
        gan = generative.dp_merf(x[:1_300], y[:1_300], epsilon, n_steps=500, rng=RNG(9))
        drawn = gan.generate(len(labels), RNG(10), labels)
        agree[epsilon] = (judge.logits(state, drawn)[0].argmax(1) == labels).mean()
        of_classes = [drawn[labels == k].var(axis=0).sum() for k in range(10)]
        spread[epsilon] = np.mean(of_classes) / real
    assert min(agree[e] for e in (1, 3, 10)) > 0.6 and agree[0.01] < 0.3
    assert min(spread[e] for e in (1, 3, 10)) > 0.5


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"epsilon": 0.0}, "epsilon: given 0"),
        ({"epsilon": 1e-9}, "epsilon: given 1e-09, which a noise multiplier of 10000 does not"),
        ({"noise_multiplier": 1.0}, "epsilon: given 1, where a noise multiplier of 1 spends"),
        ({"labels": np.where(LABELS == 1, 0, LABELS)}, "labels: given no record of class 1"),
        ({"labels": LABELS[:4]}, "labels: given"),
        ({"x": X[:, :4]}, "x: given shape"),
        ({"x": X + 1}, "x: given values"),
        ({"networks": "nobody"}, "networks: given 'nobody'"),
        ({"n_features": 3}, "n_features: given 3"),
        ({"bandwidth": 0.0}, "bandwidth: given 0"),
        ({"delta": 0.0}, "delta: given 0"),
        (
            {"learning_rate": 1e30, "n_steps": 3},
            r"learning_rate: given 1e\+30, which ends in nan or inf",
        ),
    ],
)
def test_bad_input_is_named(change, expected):
    given = {"x": X, "labels": LABELS, "epsilon": 1.0, "n_steps": 1} | change
    with pytest.raises(ValueError, match=expected):
        generative.dp_merf(given.pop("x"), given.pop("labels"), given.pop("epsilon"), **given)


@pytest.mark.parametrize("name", ["n_steps", "batch_size", "learning_rate"])
@pytest.mark.parametrize("value", [0, -1, "a", np.nan, np.inf])
def test_what_cannot_train_is_refused_before_the_noise_is_drawn(name, value):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=f"^{name}: given {value!r}"):
        generative.dp_merf(X, LABELS, 1.0, **{name: value}, rng=rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_a_class_that_was_never_taught_is_no_class():
    gan = generative.dp_merf(X, LABELS, 1.0, n_steps=1)
    with pytest.raises(ValueError, match="labels: given .*3"):
        gan.generate(1, labels=[3])
