import math

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from mia_lib import metrics, models, privacy, shadow, signals, train
from mia_lib.train import Classifier, PrivateSGD, private


def data(n=40, d=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, n_classes, n)


def generators(n_models):
    return [np.random.default_rng([7, s]) for s in range(n_models)]


RECIPE = Classifier(
    hidden=(5, 4), epochs=3, batch_size=8, learning_rate=0.2, n_classes=3, dtype="float64"
)


def literal(fit, x, y, members, rng):
    """One model, one example at a time, by autograd; nothing but the draws is shared with the
    library.
    """
    recipe, ids = fit.recipe, np.flatnonzero(members)
    net = models.build(
        "mlp", x.shape[1:], 3, rng=rng, hidden=recipe.hidden, activation=recipe.activation
    ).double()
    velocity = [torch.zeros_like(p) for p in net.parameters()]
    n_steps = math.ceil(recipe.epochs * len(ids) / recipe.batch_size)
    for step in range(n_steps):
        drawn = ids[rng.random(len(ids)) < recipe.batch_size / len(ids)]
        total = [torch.zeros_like(p) for p in net.parameters()]
        for i in drawn:
            loss = torch.nn.functional.cross_entropy(
                net(torch.tensor(x[i : i + 1])),
                torch.tensor(y[i : i + 1]),
                label_smoothing=recipe.label_smoothing,
            )
            gradient = torch.autograd.grad(loss, list(net.parameters()))
            norm = math.sqrt(sum(float((g**2).sum()) for g in gradient))
            for t, g in zip(total, gradient):
                t += g * min(1, fit.max_norm / norm)
        rate = recipe.learning_rate * (0.5 + 0.5 * math.cos(math.pi * step / n_steps))
        with torch.no_grad():
            for p, v, t in zip(net.parameters(), velocity, total):
                decay = recipe.weight_decay * p if p.ndim == 2 else 0
                v.mul_(recipe.momentum).add_(t / recipe.batch_size + decay)
                p -= rate * v
    return {name: p.detach().numpy() for name, p in net.named_parameters()}


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
@pytest.mark.parametrize("max_norm", [0.3, 1.0, 1e6])
def test_without_noise_it_is_the_literal_loop(activation, max_norm):
    x, y = data()
    recipe = Classifier(
        **{**vars(RECIPE), "activation": activation, "weight_decay": 0.01, "label_smoothing": 0.1}
    )
    fit = PrivateSGD(recipe, 0.0, max_norm)
    members = np.random.default_rng(1).random((3, len(x))) < [
        [0.9],
        [0.5],
        [0.7],
    ]  # sets of different size in one stack
    state = fit(x, y, members, generators(3))
    for s, rng in enumerate(generators(3)):
        for name, expected in literal(fit, x, y, members[s], rng).items():
            np.testing.assert_allclose(state[name][s], expected, atol=1e-9)


def test_clipped_sum_is_that_of_opacus():
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    x, y = data(12)
    recipe = Classifier(
        **{**vars(RECIPE), "epochs": 1, "batch_size": 12, "momentum": 0.0, "schedule": "constant"}
    )
    state = PrivateSGD(recipe, 0.0, 0.5)(x, y, np.ones((1, 12), bool), generators(1))
    net = models.build(
        "mlp", (6,), 3, rng=generators(1)[0], hidden=recipe.hidden, activation="tanh"
    ).double()
    wrapped = GradSampleModule(net, loss_reduction="sum")
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=recipe.learning_rate)
    optimizer = DPOptimizer(
        optimizer,
        noise_multiplier=0.0,
        max_grad_norm=0.5,
        expected_batch_size=12,
        loss_reduction="mean",
    )
    torch.nn.functional.cross_entropy(
        wrapped(torch.tensor(x)), torch.tensor(y), reduction="sum"
    ).backward()
    optimizer.step()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(
            state[name][0], p.detach().numpy(), atol=1e-8
        )  # Opacus adds 1e-6 to norms


@pytest.mark.simulation
def test_noise_has_the_stated_spread():
    x, y = data(20, d=60)
    recipe = Classifier(
        **{**vars(RECIPE), "hidden": (50,), "epochs": 1, "batch_size": 20, "momentum": 0.0}
    )
    ones = np.ones((40, 20), bool)
    noisy = PrivateSGD(recipe, 1.7, 0.4)(x, y, ones, generators(40))
    still = PrivateSGD(recipe, 0.0, 0.4)(x, y, ones, generators(40))
    noise = (
        np.concatenate([(noisy[name] - still[name]).ravel() for name in noisy])
        * 20
        / (0.2 * 1.7 * 0.4)
    )
    assert stats.kstest(noise, "norm").pvalue > 1e-4
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * noise.size)


def test_every_member_is_drawn_with_the_stated_probability():
    ids, rng = np.arange(50, 150), np.random.default_rng(0)
    counts = np.zeros(200)
    for _ in range(4000):
        counts[private._drawn(ids, 0.08, rng, True)] += 1
    assert counts[:50].sum() == counts[150:].sum() == 0
    assert stats.chisquare(counts[50:150]).pvalue > 1e-4 and abs(counts.sum() / 4000 - 8) < 0.2
    assert len(private._drawn(ids, 1.0, rng, False)) == 0


def test_a_model_does_not_depend_on_its_stack():
    x, y = data()
    fit = PrivateSGD(RECIPE, 0.5, 1.0)
    members = np.random.default_rng(1).random((5, len(x))) < 0.6
    whole, alone = fit(x, y, members, generators(5)), fit(x, y, members[3:4], generators(5)[3:4])
    for name in whole:
        np.testing.assert_allclose(whole[name][3], alone[name][0], atol=1e-12)


def exact_epsilon(mu, delta):
    """The smallest epsilon of a Gaussian mechanism with sensitivity over noise mu (Balle and Wang
    2018).
    """

    def excess(epsilon):
        log_tail = stats.norm.logcdf(-epsilon / mu - mu / 2)
        return stats.norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon + log_tail) - delta

    return optimize.brentq(excess, 0, 500)


@pytest.mark.parametrize("sigma, n_steps", [(1.0, 1), (2.0, 10), (5.0, 100), (0.7, 3)])
def test_epsilon_lies_just_above_the_exact_one_of_full_batches(sigma, n_steps):
    exact = exact_epsilon(math.sqrt(n_steps) / sigma, 1e-5)
    assert exact <= private.epsilon(sigma, 1.0, n_steps, delta=1e-5) <= 1.2 * exact


def test_epsilon_falls_with_noise_and_grows_with_steps_and_rate():
    values = [private.epsilon(sigma, 0.05, 200) for sigma in (0.5, 1, 2, 4)]
    assert values == sorted(values, reverse=True)
    assert (
        private.epsilon(1, 0.05, 100) < private.epsilon(1, 0.05, 400) < private.epsilon(1, 0.2, 400)
    )
    assert private.epsilon(0, 0.05, 1) == math.inf


def test_heavy_noise_leaks_nothing_and_none_does():
    x, y = data(200, d=20, n_classes=4)
    masks = shadow.half_masks(8, len(x), np.random.default_rng(3))
    auc = []
    for noise in (0.0, 20.0):
        recipe = Classifier(hidden=(64,), epochs=40, batch_size=50, learning_rate=0.5, momentum=0.0)
        fit = PrivateSGD(recipe, noise, 1.0)
        logits = fit.logits(fit(x, y, masks, generators(8)), x)
        auc.append(metrics.roc(signals.confidence(logits, y), masks).auc)
    assert auc[0] > 0.65 and abs(auc[1] - 0.5) < 0.08


def test_a_public_size_makes_neighbours_run_the_same_steps(monkeypatch):
    """With one member more or less the sampling rate and the number of steps stay, as the
    accountant assumes.
    """
    x, y = data()
    seen = []
    monkeypatch.setattr(
        private, "_drawn", lambda ids, rate, rng, needed: seen.append((rate, needed)) or ids[:1]
    )
    fit = PrivateSGD(RECIPE, 1.0, 1.0, public_size=20)
    for m in (20, 21):
        fit(x, y, (np.arange(40) < m)[None], generators(1))
    half = len(seen) // 2
    assert seen[:half] == seen[half:] == [(8 / 20, True)] * 8  # ceil(3 x 20 / 8) steps
    assert fit.epsilon(21) == fit.epsilon(20) == train.epsilon(1.0, 8 / 20, 8)


def test_shadow_training_takes_it(tmp_path):
    x, y = data()
    masks = shadow.half_masks(4, len(x), np.random.default_rng(0))
    fit = PrivateSGD(RECIPE, 1.0, 1.0)
    store = shadow.train(fit, x, y, masks, tmp_path / "store", seed=1)
    assert store.logits().shape == (4, 1, 40, 3)
    assert fit.epsilon(20, 1e-3) == train.epsilon(1.0, 8 / 20, 8, delta=1e-3)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(noise_multiplier=-1), "noise_multiplier: given -1"),
        (dict(noise_multiplier=math.nan), "noise_multiplier"),
        (dict(max_norm=0), "max_norm: given 0"),
        (dict(public_size=0), "public_size: given 0"),
        (dict(recipe="mlp"), "recipe: given str"),
        (dict(recipe=Classifier(model="cnn")), "recipe: given 'cnn'"),
        (dict(recipe=Classifier(optimizer="adam")), "recipe: given 'mlp' with 'adam'"),
    ],
)
def test_bad_choices(change, message):
    with pytest.raises(ValueError, match=message):
        PrivateSGD(**{**dict(recipe=RECIPE, noise_multiplier=1.0, max_norm=1.0), **change})


@pytest.mark.parametrize(
    "arguments, options",
    [
        ((-1, 0.1, 1), {}),
        ((1, 0, 1), {}),
        ((1, 1.5, 1), {}),
        ((1, 0.1, 0), {}),
        ((1, 0.1, 1), dict(delta=0.0)),
    ],
)
def test_bad_budgets(arguments, options):
    with pytest.raises(ValueError, match="expected"):
        private.epsilon(*arguments, **options)


def test_guarantee_is_that_of_the_steps_that_are_made():
    recipe = Classifier(hidden=(4,), epochs=20, batch_size=64, n_classes=3)
    fit = PrivateSGD(recipe, 0.8, 1.0)
    assert fit.guarantee(898) == privacy.subsampled_gaussian(0.8, 64 / 898, 281)
    assert fit.guarantee(898).epsilon(1e-5) <= fit.epsilon(898, 1e-5)
    public = PrivateSGD(recipe, 0.8, 1.0, public_size=898)
    assert public.guarantee(500) == fit.guarantee(898) != fit.guarantee(500)
    assert PrivateSGD(recipe, 0.0, 1.0).guarantee(898).advantage() == 1


@pytest.mark.parametrize("budget", [0.2, 1.0, 8.0, 60.0])
def test_the_noise_of_a_budget_spends_it(budget):
    noise = train.noise_multiplier(budget, 0.1, 50)
    assert train.epsilon(noise, 0.1, 50) == pytest.approx(budget, rel=1e-6)


def test_a_budget_that_no_noise_spends_is_refused():
    with pytest.raises(ValueError, match="budget: given 1e-09"):
        train.noise_multiplier(1e-9, 1.0, 10)
    with pytest.raises(ValueError, match="budget: given 1e\\+12"):
        train.noise_multiplier(1e12, 1.0, 10)
    with pytest.raises(ValueError, match="budget"):
        train.noise_multiplier(0.0, 1.0, 10)
