"""Training with an L1 penalty, against a loop over single networks."""

import dataclasses

import numpy as np
import pytest
import torch

from mia_lib import train

X = np.random.default_rng(0).normal(size=(30, 5))
Y = np.random.default_rng(1).integers(3, size=30)
MEMBERS = np.array([np.arange(30) < 12, np.arange(30) >= 18])
RECIPE = train.Classifier(
    hidden=(4,), epochs=5, batch_size=6, learning_rate=0.1, activation="relu", dtype="float64"
)


def fitted(weight, recipe=RECIPE, members=MEMBERS):
    fit = train.L1Penalty(recipe, weight)
    return fit, fit(X, Y, members, np.random.default_rng(3))


@pytest.mark.parametrize("weight", [0.0, 0.02])
def test_each_network_is_what_a_loop_makes_of_the_same_draws(weight):
    fit, state = fitted(weight)
    rng, start = np.random.default_rng(3), []
    for before, after in ((5, 4), (4, 3)):
        for shape in ((2, before, after), (2, 1, after)):
            start.append(rng.uniform(-1, 1, shape) / np.sqrt(before))
    batches = [rng.integers(12, size=6) for _ in range(5 * 12 // 6)]
    for k, own in enumerate(np.flatnonzero(row) for row in MEMBERS):
        net = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
        net.double()
        values = [start[0][k].T, start[1][k, 0], start[2][k].T, start[3][k, 0]]
        with torch.no_grad():
            for parameter, value in zip(net.parameters(), values):
                parameter.copy_(torch.from_numpy(value))
        velocity = [torch.zeros_like(p) for p in net.parameters()]
        for step, batch in enumerate(batches):
            rows = own[batch]
            loss = torch.nn.functional.cross_entropy(
                net(torch.from_numpy(X[rows])), torch.from_numpy(Y[rows])
            )
            gradient = torch.autograd.grad(loss, list(net.parameters()))
            rate = 0.1 * (1 + np.cos(np.pi * step / len(batches))) / 2
            with torch.no_grad():
                for p, v, g in zip(net.parameters(), velocity, gradient):
                    v.mul_(0.9).add_(g + weight * p.sign())
                    p -= rate * v
        with torch.no_grad():
            expected = net(torch.from_numpy(X))
        np.testing.assert_allclose(fit.logits(state, X)[k], expected, rtol=1e-5, atol=1e-6)


def test_the_penalty_makes_weights_small():
    sizes = [sum(np.abs(part).sum() for part in fitted(weight)[1].values()) for weight in (0, 0.05)]
    assert sizes[1] < 0.7 * sizes[0]


def test_the_last_layer_reads_what_features_returns():
    fit, state = fitted(0.01)
    features = fit.features(state, X)
    found = np.einsum("knw,kcw->knc", features, state["head.weight"]) + state["head.bias"][:, None]
    np.testing.assert_allclose(found, fit.logits(state, X), atol=1e-5)


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(ValueError, match="weight"):
        train.L1Penalty(RECIPE, -1.0)
    with pytest.raises(ValueError, match="^recipe: given str, expected a train.Classifier"):
        train.L1Penalty("mlp", 0.1)
    with pytest.raises(ValueError, match="^recipe: given label_smoothing=0.1"):
        train.L1Penalty(dataclasses.replace(RECIPE, label_smoothing=0.1), 0.1)
    for change in ({"schedule": "constant"}, {"weight_decay": 0.1}, {"optimizer": "adam"}):
        with pytest.raises(ValueError, match="recipe: given"):
            train.L1Penalty(dataclasses.replace(RECIPE, **change), 0.1)
    with pytest.raises(ValueError, match=r"members: given training sets of \[12, 13\] records"):
        fitted(0.1, members=np.array([np.arange(30) < 12, np.arange(30) < 13]))
