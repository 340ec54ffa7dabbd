"""One small network trained by plain steps in numpy, its gradients written out."""

import dataclasses

import numpy as np
import pytest

from mia_lib import models, shadow
from mia_lib.train import Classifier

RNG = np.random.default_rng(0)
Y = np.concatenate([np.arange(4), RNG.integers(0, 4, 86)])
X = RNG.normal(size=(90, 7)) + 2 * np.eye(4, 7)[Y]
MEMBERS = RNG.random((3, 90)) < 0.5
RECIPE = Classifier(hidden=(12,), epochs=8, batch_size=8, dtype="float64", stacked=False)
PLAIN = dataclasses.replace(RECIPE, momentum=0.0, schedule="constant", learning_rate=0.1)


def generators(k, seed=5):
    return [np.random.default_rng([seed, s]) for s in range(k)]


def descended(slope):
    """What PLAIN makes of the first training set, with a loss whose gradient is
    slope(p, labels, epoch) / B by the logits of a batch of B records, p (B, 4) their softmax.
    """
    (rng,), own = generators(1), np.flatnonzero(MEMBERS[0])
    w0, b0 = models.linear_weights(7, 12, rng)
    w1, b1 = models.linear_weights(12, 4, rng)
    w0, b0, w1, b1 = (array.astype(float) for array in (w0, b0, w1, b1))
    order = np.concatenate([rng.permutation(own) for _ in range(9)])
    for step in range(int(np.ceil(8 * len(own) / 8))):
        batch = order[8 * step : 8 * step + 8]
        h = np.tanh(X[batch] @ w0.T + b0)
        p = np.exp(h @ w1.T + b1)
        p /= p.sum(1, keepdims=True)
        dz = slope(p, Y[batch], 8 * step // len(own)) / 8
        da = (dz @ w1) * (1 - h**2)
        w1, b1 = w1 - 0.1 * dz.T @ h, b1 - 0.1 * dz.sum(0)
        w0, b0 = w0 - 0.1 * da.T @ X[batch], b0 - 0.1 * da.sum(0)
    names = ("layer0.weight", "layer0.bias", "head.weight", "head.bias")
    return dict(zip(names, (w0, b0, w1, b1)))


def agree(state, expected):
    for name, weights in expected.items():
        np.testing.assert_allclose(state[name][0], weights, atol=1e-10)


def a_fit_for_shadow_train(fit, other, folder):
    """`fit` trains a store that is made again bit for bit, has features and is not gone on by
    `other`.
    """
    store = shadow.train(fit, X, Y, MEMBERS, folder / "a", seed=1)
    again = shadow.train(fit, X, Y, MEMBERS, folder / "b", seed=1)
    assert store.logits().shape == (3, 1, 90, 4)
    assert (np.asarray(store.logits()) == np.asarray(again.logits())).all()
    assert store.apply(lambda state, x, y: fit.features(state, x)).shape == (3, 90, 8)
    with pytest.raises(ValueError, match="fit"):
        shadow.train(other, X, Y, MEMBERS, folder / "a", seed=1)
