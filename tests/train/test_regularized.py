"""Defences in the training: each against what it must equal, and against a literal loop."""

import dataclasses

import numpy as np
import pytest
import torch

from mia_lib import models, shadow, train
from mia_lib.train import Classifier


def records(n=90, d=7, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return rng.normal(size=(n, d)) + np.eye(n_classes, d)[y], y


def generators(k, seed=5):
    return [np.random.default_rng([seed, s]) for s in range(k)]


X, Y = records()
SPARE = np.arange(90) >= 60
MEMBERS = (np.random.default_rng(1).random((3, 90)) < 0.5) & ~SPARE
RECIPE = Classifier(hidden=(12,), epochs=6, batch_size=8, dtype="float64", stacked=False)


def largest_difference(a, b):
    return max(np.abs(a[name] - b[name]).max() for name in a)


def cross_entropy(logits, y):
    z = logits - logits.max(-1, keepdims=True)
    return (np.log(np.exp(z).sum(-1)) - z[np.arange(len(y)), y]).mean()


def test_penalty_zero_is_plain_training():
    plain = RECIPE(X, Y, MEMBERS, generators(3))
    zero = train.AdversarialRegularization(RECIPE, 0.0, SPARE)(X, Y, MEMBERS, generators(3))
    some = train.AdversarialRegularization(RECIPE, 1.0, SPARE)(X, Y, MEMBERS, generators(3))
    assert largest_difference(plain, zero) == 0
    assert largest_difference(plain, some) > 0.01


def test_adversarial_regularization_against_a_literal_loop():
    """One model; batches, both networks and both updates written out, with plain gradient steps
    taken by autograd.
    """
    recipe = dataclasses.replace(
        RECIPE, learning_rate=0.05, momentum=0.0, schedule="constant", epochs=2
    )
    fit = train.AdversarialRegularization(
        recipe, 0.7, SPARE, attack_hidden=(5,), attack_learning_rate=0.01, attack_steps=2
    )
    ours = fit(X, Y, MEMBERS[:1], generators(1))

    (rng,) = generators(1)
    net = models.build("mlp", (7,), 4, rng=rng, hidden=(12,)).double()
    child = rng.spawn(1)[0]
    attack = models.build("mlp", (8,), 2, rng=child, hidden=(5,), activation="relu").double()
    adam = torch.optim.Adam(attack.parameters(), lr=0.01)
    own, spare = np.flatnonzero(MEMBERS[0]), np.flatnonzero(SPARE)
    total = int(np.ceil(2 * len(own) / 8))

    def endless(ids, source):
        while True:
            yield from source.permutation(ids)

    order = list(endless_take(endless(own, rng), 4 * 90))
    insiders, outsiders = endless(own, child), endless(spare, child)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)

    def guess(rows):
        label = torch.nn.functional.one_hot(y[rows], 4)
        return torch.log_softmax(
            attack(torch.cat([torch.softmax(net(x[rows]), 1), label.double()], 1)), 1
        )

    for step in range(total):
        for _ in range(2):
            inside, outside = endless_take(insiders, 8), endless_take(outsiders, 8)
            gain = guess(inside)[:, 1].sum() / 16 + guess(outside)[:, 0].sum() / 16
            adam.zero_grad()
            net.zero_grad()
            (-gain).backward()
            adam.step()
        batch = order[8 * step : 8 * step + 8]
        net.zero_grad()
        loss = (
            torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
            + 0.7 * guess(batch)[:, 1].mean()
        )
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.05 * parameter.grad
    for name, tensor in net.state_dict().items():
        np.testing.assert_allclose(ours[name][0], tensor.numpy(), atol=1e-10)


def endless_take(stream, count):
    return [int(next(stream)) for _ in range(count)]


def test_adversarial_regularization_narrows_the_gap():
    """Members' and others' loss lie closer together under a heavy penalty: the defence does what it
    is for.
    """
    x, y = records(240, 10, seed=3)
    spare = np.arange(240) >= 160
    members = (np.arange(240) < 80)[None]
    recipe = Classifier(hidden=(64,), epochs=60, batch_size=16, learning_rate=0.1)
    gaps = []
    for fit in (recipe, train.AdversarialRegularization(recipe, 5.0, spare)):
        logits = fit.logits(fit(x, y, members, generators(1)), x)[0].astype(float)
        gaps.append(cross_entropy(logits[80:160], y[80:160]) - cross_entropy(logits[:80], y[:80]))
    assert gaps[1] < 0.6 * gaps[0]


@pytest.mark.parametrize("stacked", [True, False])
def test_stop_is_a_checkpoint_of_the_whole_run(stacked):
    recipe = dataclasses.replace(RECIPE, stacked=stacked)
    curve = train.epoch_logits(recipe, X, Y, MEMBERS, generators(3), [0.5, 1, 3, 6])
    assert curve.shape == (4, 3, 90, 4)
    for e, stop in enumerate([0.5, 1, 3, 6]):
        early = dataclasses.replace(recipe, stop=stop)
        np.testing.assert_allclose(
            curve[e], early.logits(early(X, Y, MEMBERS, generators(3)), X), atol=1e-5
        )
    np.testing.assert_allclose(
        curve[-1], recipe.logits(recipe(X, Y, MEMBERS, generators(3)), X), atol=1e-5
    )
    assert np.abs(np.diff(curve, axis=0)).max((1, 2, 3)).min() > 0.05


def test_curve_of_a_regularized_run():
    defended = train.AdversarialRegularization(RECIPE, 2.0, SPARE)
    curve = train.epoch_logits(defended, X, Y, MEMBERS, generators(3), [1, 3, 6])
    for e, stop in enumerate([1, 3, 6]):
        early = dataclasses.replace(defended, recipe=dataclasses.replace(RECIPE, stop=stop))
        np.testing.assert_allclose(
            curve[e], early.logits(early(X, Y, MEMBERS, generators(3)), X), atol=1e-5
        )
    plain = train.epoch_logits(RECIPE, X, Y, MEMBERS, generators(3), [1, 3, 6])
    assert np.abs(curve - plain).max((1, 2, 3)).min() > 0.01
    free = dataclasses.replace(defended, penalty=0.0)
    np.testing.assert_allclose(
        train.epoch_logits(free, X, Y, MEMBERS, generators(3), [1, 3, 6]), plain, atol=1e-5
    )


def test_stop_is_not_a_shorter_run():
    """The schedule is that of the whole run: stopping at 2 of 6 epochs differs from a run of 2
    epochs.
    """
    early = dataclasses.replace(RECIPE, stop=2)(X, Y, MEMBERS, generators(3))
    short = dataclasses.replace(RECIPE, epochs=2)(X, Y, MEMBERS, generators(3))
    assert largest_difference(early, short) > 0.01
    constant = dataclasses.replace(RECIPE, schedule="constant")
    early = dataclasses.replace(constant, stop=2)(X, Y, MEMBERS, generators(3))
    short = dataclasses.replace(constant, epochs=2)(X, Y, MEMBERS, generators(3))
    assert largest_difference(early, short) == 0


@pytest.mark.parametrize("transfer", [None, SPARE])
def test_distillation_against_a_literal_loop(transfer):
    recipe = dataclasses.replace(
        RECIPE, learning_rate=0.05, momentum=0.0, schedule="constant", epochs=3
    )
    ours = train.Distillation(recipe, temperature=3.0, transfer=transfer)(
        X, Y, MEMBERS[:1], generators(1)
    )

    (rng,) = generators(1)
    teacher = recipe(X, Y, MEMBERS[:1], [rng.spawn(1)[0]])
    hidden = np.tanh(X @ teacher["layer0.weight"][0].T + teacher["layer0.bias"][0])
    target = (hidden @ teacher["head.weight"][0].T + teacher["head.bias"][0]) / 3.0
    target = np.exp(target - target.max(1, keepdims=True))
    target /= target.sum(1, keepdims=True)

    w0, b0 = models.linear_weights(7, 12, rng)
    w1, b1 = models.linear_weights(12, 4, rng)
    w0, b0, w1, b1 = (array.astype(float) for array in (w0, b0, w1, b1))
    ids = np.flatnonzero(MEMBERS[0] if transfer is None else transfer)
    steps = int(np.ceil(3 * len(ids) / 8))
    order = np.concatenate([rng.permutation(ids) for _ in range(5)])
    for step in range(steps):
        batch = order[8 * step : 8 * step + 8]
        h = np.tanh(X[batch] @ w0.T + b0)
        z = (h @ w1.T + b1) / 3.0
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        dz = (
            9.0 * (p - target[batch]) / 3.0 / 8
        )  # of T^2 times the mean cross-entropy at temperature T = 3
        da = (dz @ w1) * (1 - h**2)
        w1, b1 = w1 - 0.05 * dz.T @ h, b1 - 0.05 * dz.sum(0)
        w0, b0 = w0 - 0.05 * da.T @ X[batch], b0 - 0.05 * da.sum(0)
    np.testing.assert_allclose(
        ours["layer0.weight"][0], w0, atol=1e-6
    )  # the teacher's outputs are handed over as float32
    np.testing.assert_allclose(ours["head.weight"][0], w1, atol=1e-6)
    np.testing.assert_allclose(ours["head.bias"][0], b1, atol=1e-6)


def test_dropout_drops_in_training_only_and_leaves_the_order_alone():
    plain = RECIPE(X, Y, MEMBERS, generators(3))
    almost = dataclasses.replace(RECIPE, dropout=1e-12)(X, Y, MEMBERS, generators(3))
    assert largest_difference(plain, almost) < 1e-9  # the same batches and initial weights
    dropping = dataclasses.replace(RECIPE, dropout=0.5)
    state = dropping(X, Y, MEMBERS, generators(3))
    assert largest_difference(plain, state) > 0.01
    assert largest_difference(state, dropping(X, Y, MEMBERS, generators(3))) == 0
    assert (dropping.logits(state, X) == dropping.logits(state, X)).all()
    assert not dropping.stackable
    hidden = np.tanh(
        X @ state["layer0.weight"][0].T + state["layer0.bias"][0]
    )  # without a factor: inverted dropout
    by_hand = hidden @ state["head.weight"][0].T + state["head.bias"][0]
    np.testing.assert_allclose(dropping.logits(state, X)[0], by_hand, atol=1e-5)


def test_dropout_layer_keeps_the_mean():
    layer = models.Dropout(0.3)
    layer.generator = torch.Generator().manual_seed(0)
    before = torch.random.get_rng_state()
    out = layer(torch.ones(100_000))
    assert torch.equal(before, torch.random.get_rng_state())
    assert abs(float(out.mean()) - 1) < 4 * np.sqrt(0.3 / 0.7 / 100_000)
    assert abs(float((out == 0).float().mean()) - 0.3) < 4 * np.sqrt(0.21 / 100_000)


FITS = {
    "adversarial": train.AdversarialRegularization(Classifier(hidden=(8,), epochs=2), 0.5, SPARE),
    "distilled": train.Distillation(Classifier(hidden=(8,), epochs=2), 2.0),
    "distilled on others": train.Distillation(Classifier(hidden=(8,), epochs=2), 2.0, SPARE),
    "dropout": Classifier(hidden=(8,), epochs=2, dropout=0.3),
    "early": Classifier(hidden=(8,), epochs=4, stop=2),
}


@pytest.mark.parametrize("name", FITS)
def test_every_defence_is_a_fit_for_shadow_train(name, tmp_path):
    fit = FITS[name]
    store = shadow.train(fit, X, Y, MEMBERS, tmp_path / "a", seed=1)
    assert store.logits().shape == (3, 1, 90, 4) and np.isfinite(store.logits()).all()
    again = shadow.train(fit, X, Y, MEMBERS, tmp_path / "b", seed=1)
    assert (np.asarray(store.logits()) == np.asarray(again.logits())).all()
    features = store.apply(lambda state, x, y: fit.features(state, x))
    assert features.shape == (3, 90, 8)
    with pytest.raises(ValueError, match="fit"):  # another recipe may not continue the same store
        shadow.train(Classifier(hidden=(8,), epochs=2), X, Y, MEMBERS, tmp_path / "a", seed=1)


def test_another_reference_is_another_fit(tmp_path):
    fit = FITS["adversarial"]
    shadow.train(fit, X, Y, MEMBERS, tmp_path / "a", seed=1)
    other = dataclasses.replace(fit, reference=np.arange(90) >= 70)
    with pytest.raises(ValueError, match="fit"):
        shadow.train(other, X, Y, MEMBERS, tmp_path / "a", seed=1)


@pytest.mark.parametrize("stacked", [True, False])
def test_glorot_start(stacked):
    """No step is taken, to speak of: what comes out is how the network started."""
    recipe = Classifier(
        hidden=(300, 200),
        init="glorot",
        learning_rate=1e-12,
        momentum=0.0,
        epochs=1,
        stacked=stacked,
    )
    state = recipe(X, Y, MEMBERS[:1], generators(1))
    for name, n_in, n_out in (("layer0", 7, 300), ("layer1", 300, 200), ("head", 200, 4)):
        weight, bound = state[f"{name}.weight"], np.sqrt(6 / (n_in + n_out))
        assert 0.98 * bound < np.abs(weight).max() <= bound * (1 + 1e-6)
        error = bound**2 * np.sqrt(4 / 45 / weight.size)  # of the mean square of uniform numbers
        assert abs(weight.var() - bound**2 / 3) < 4 * error
        assert np.abs(state[f"{name}.bias"]).max() < 1e-9
    other = dataclasses.replace(recipe, init="fan-in")(X, Y, MEMBERS[:1], generators(1))
    assert np.abs(other["layer1.weight"]).max() <= 1 / np.sqrt(300) * (1 + 1e-6)


RUN = (X, Y, MEMBERS, generators(3))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: train.AdversarialRegularization("mlp", 1.0, SPARE), "recipe: given str"),
        (lambda: train.AdversarialRegularization(RECIPE, -1.0, SPARE), "penalty: given -1.0"),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, np.zeros(90, bool)),
            "reference: given no row",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, SPARE, attack_hidden=(0,)),
            "attack_hidden: given 0",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, SPARE, attack_hidden=64),
            "attack_hidden: given 64",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, SPARE, attack_steps=0),
            "attack_steps: given 0",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, SPARE, attack_learning_rate=0),
            "attack_learning_rate",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, SPARE[:80])(*RUN),
            r"reference: given shape \(80,\)",
        ),
        (
            lambda: train.AdversarialRegularization(RECIPE, 1.0, ~SPARE)(*RUN),
            r"reference: given \d+ rows that a model",
        ),
        (lambda: train.Distillation(RECIPE, 0.0), "temperature: given 0.0"),
        (lambda: train.Distillation(RECIPE, 1.0, ~SPARE)(*RUN), r"transfer: given \d+ rows"),
        (lambda: train.Distillation(RECIPE, 1.0, np.zeros(90, bool)), "transfer: given no row"),
        (lambda: train.epoch_logits(RECIPE, *RUN, [2, 1]), "epochs: given"),
        (lambda: train.epoch_logits(RECIPE, *RUN, [1, 7]), "epochs: given"),
        (
            lambda: train.epoch_logits(train.Distillation(RECIPE), *RUN, [1]),
            "fit: given Distillation",
        ),
        (lambda: Classifier(stop=60), "stop: given 60"),
        (lambda: Classifier(stop=0), "stop: given 0"),
        (lambda: Classifier(dropout=1.0), "dropout: given 1.0"),
        (lambda: Classifier(model="cnn", dropout=0.1), "dropout: given 0.1"),
        (lambda: Classifier(dropout=0.1, stacked=True), "stacked: given True"),
        (lambda: Classifier(init="he"), "init: given 'he'"),
        (lambda: models.build("mlp", (4,), 2, init="he"), "init: given 'he'"),
        (lambda: models.mlp((4,), 2, dropout=-0.1), "dropout: given -0.1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
