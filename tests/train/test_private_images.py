import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from mia_lib import shadow, train
from mia_lib.train import Classifier, PrivateImages, PrivateSGD, private_images, private_network


def data(n=24, side=6, channels=2, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (n, side, side, channels), dtype=np.uint8)
    return x, rng.integers(0, n_classes, n)


def generators(n_models):
    return [np.random.default_rng([7, s]) for s in range(n_models)]


CHOICES = dict(
    widths=(4, 6), groups=2, epochs=2, batch_size=8, learning_rate=0.2, n_classes=3, max_norm=1.0
)


def fit(**changed):
    return PrivateImages(**{**CHOICES, "noise_multiplier": 0.0, **changed})


def as_read(x):
    return torch.from_numpy(x).permute(0, 3, 1, 2).float() / 127.5 - 1


def shaken(seed=3):
    """A network whose normalisation is no longer the identity."""
    net = private_network.network((2, 6, 6), 3, (4, 6), groups=2, rng=np.random.default_rng(seed))
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p += 0.3 * torch.randn_like(p)
    return net


def literal_sum(net, x, y, max_norm):
    """One example at a time by autograd: the oracle, which knows nothing of layers."""
    total = [torch.zeros_like(p) for p in net.parameters()]
    for image, label in zip(as_read(x), y):
        loss = torch.nn.functional.cross_entropy(net(image[None]), torch.tensor([label]))
        gradient = torch.autograd.grad(loss, list(net.parameters()))
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradient))
        for t, g in zip(total, gradient):
            t += g * min(1, max_norm / norm)
    return total


@pytest.mark.parametrize("max_norm", [0.1, 2.0, 1e6])
def test_the_clipped_sum_is_that_of_a_loop_over_examples(max_norm):
    x, y = data(9)
    expected = torch.cat([g.flatten() for g in literal_sum(shaken(), x, y, max_norm)])
    images, labels = as_read(x), torch.from_numpy(y)
    padded = torch.cat([images, images[:4]]), torch.cat([labels, labels[:4]])
    gradients = private_network.per_example(shaken().requires_grad_(False), *padded)
    found = private_network.clipped_sum(gradients, max_norm, torch.arange(13) < 9)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_network_is_that_of_the_forward_pass_by_hand():
    x, y = data(5)
    net = private_network.network((2, 6, 6), 3, (4, 6), groups=2, rng=generators(1)[0])
    state = {name: p.detach().numpy()[None] for name, p in net.named_parameters()}
    np.testing.assert_allclose(fit().logits(state, x)[0], net(as_read(x)).detach(), atol=1e-5)
    assert fit().features(state, x).shape == (1, 5, 6)


@pytest.mark.parametrize("at_once", [2**29, 1000])  # the second is one or two examples
def test_full_batches_without_clipping_are_plain_gradient_descent(at_once, monkeypatch):
    monkeypatch.setattr(private_images, "AT_ONCE", at_once)
    x, y = data()
    state = fit(max_norm=1e6, batch_size=24, epochs=3)(x, y, np.ones((1, 24), bool), generators(1))
    net = private_network.network((2, 6, 6), 3, (4, 6), groups=2, rng=generators(1)[0])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    for step in range(3):
        optimizer.param_groups[0]["lr"] = 0.2 * (0.5 + 0.5 * math.cos(math.pi * step / 3))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(as_read(x)), torch.from_numpy(y)).backward()
        optimizer.step()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(state[name][0], p.detach().numpy(), atol=1e-5)


def test_noise_has_the_stated_spread_and_hides_nothing_of_the_sum():
    x, y = data()
    changes = dict(widths=(32, 64), batch_size=24, epochs=1, max_norm=0.4, momentum=0.0)
    ones = np.ones((4, 24), bool)
    noisy = fit(**changes, noise_multiplier=1.7)(x, y, ones, generators(4))
    still = fit(**changes)(x, y, ones, generators(4))
    noise = [(noisy[name] - still[name]).reshape(4, -1) for name in noisy]
    noise = np.concatenate(noise, 1) * 24 / (0.2 * 1.7 * 0.4)
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * noise.size)
    assert abs(noise.mean()) < 4 / np.sqrt(noise.size)
    assert abs(np.corrcoef(noise)[0, 1:]).max() < 4 / np.sqrt(noise.shape[1])


def test_a_plan_draws_every_member_with_the_stated_probability():
    ids = np.arange(50, 150)
    index, counts = private_images._plan(ids, 0.08, 4000, np.random.default_rng(0))
    assert index.shape[1] % private_images.MULTIPLE == 0 and counts.max() <= index.shape[1]
    used = np.arange(index.shape[1]) < counts[:, None]
    seen = np.bincount(index[used], minlength=200)
    assert seen[:50].sum() == seen[150:].sum() == 0 and not index[~used].any()
    spread = np.sqrt(4000 * 0.08 * 0.92)
    assert abs(seen[50:150] - 320).max() < 5 * spread and abs(counts.mean() - 8) < 0.2


def test_a_model_depends_on_its_generator_alone():
    x, y = data()
    private = fit(noise_multiplier=0.5)
    members = np.random.default_rng(1).random((3, len(x))) < 0.6
    whole, alone = private(x, y, members, generators(3)), None
    torch.manual_seed(5)
    alone = private(x, y, members[2:], generators(3)[2:])
    other = private(x, y, members[2:], generators(1))
    for name in whole:
        np.testing.assert_array_equal(whole[name][2], alone[name][0])
        assert (other[name] != alone[name]).any()


def test_guarantee_is_that_of_the_same_sampling():
    recipe = Classifier(hidden=(4,), epochs=20, batch_size=64, n_classes=3)
    same = PrivateSGD(recipe, 0.8, 1.0)
    private = fit(epochs=20, batch_size=64, noise_multiplier=0.8)
    assert private.guarantee(898) == same.guarantee(898)
    assert private.epsilon(898, 1e-5) == same.epsilon(898, 1e-5)
    public = fit(epochs=20, batch_size=64, noise_multiplier=0.8, public_size=898)
    assert public.guarantee(500) == same.guarantee(898)
    assert fit().guarantee(898).advantage() == 1 and fit().epsilon(898) == math.inf


def test_a_public_size_makes_neighbours_run_the_same_steps(monkeypatch):
    x, y = data()
    seen, plan = [], private_images._plan
    monkeypatch.setattr(
        private_images, "_plan", lambda *given: seen.append(given[1:3]) or plan(*given)
    )
    for m in (20, 21):
        fit(public_size=20)(x, y, (np.arange(24) < m)[None], generators(1))
    assert seen == [(8 / 20, 5)] * 2  # ceil(2 x 20 / 8) steps


def test_it_learns_the_digits():
    digits = load_digits()
    x, y = digits.images / 8 - 1, digits.target
    private = PrivateImages(
        widths=(16, 32),
        epochs=4,
        batch_size=64,
        learning_rate=0.5,
        noise_multiplier=0.0,
        max_norm=1.0,
    )
    member = np.arange(len(x)) < 1200
    state = private(x, y, member[None], generators(1))
    right = private.logits(state, x)[0].argmax(1) == y
    assert right[~member].mean() > 0.8


def test_shadow_training_takes_it(tmp_path):
    x, y = data()
    masks = shadow.half_masks(4, len(x), np.random.default_rng(0))
    private = fit(noise_multiplier=1.0)
    store = shadow.train(private, x, y, masks, tmp_path / "store", seed=1)
    assert store.logits().shape == (4, 1, 24, 3)
    assert private.epsilon(12, 1e-3) == train.epsilon(1.0, 8 / 12, 3, delta=1e-3)


def test_an_empty_batch_is_a_step_of_noise():
    x, y = data()
    private = fit(batch_size=1, epochs=1, noise_multiplier=1.0)  # a third of the batches are empty
    state = private(x, y, np.ones((1, 24), bool), generators(1))
    assert all(np.isfinite(array).all() for array in state.values())


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(noise_multiplier=-1), "noise_multiplier: given -1"),
        (dict(noise_multiplier=math.nan), "noise_multiplier"),
        (dict(max_norm=0), "max_norm: given 0"),
        (dict(public_size=0), "public_size: given 0"),
        (dict(groups=4), "groups: given 4, expected a divisor of all widths"),
        (dict(groups=0), "groups: given 0"),
        (dict(widths=3), "widths: given 3"),
        (dict(epochs=0), "epochs: given 0"),
        (dict(batch_size=0), "batch_size: given 0"),
        (dict(momentum=1), "momentum: given 1"),
        (dict(schedule="step"), "schedule: given 'step'"),
        (dict(device="tpu"), "device: given 'tpu'"),
    ],
)
def test_bad_choices(change, message):
    with pytest.raises(ValueError, match=message):
        fit(**change)


@pytest.mark.parametrize(
    "x, message",
    [
        (np.zeros((24, 36)), "x: given shape"),
        (np.zeros((24, 3, 3)), "input_shape: given images of 3 x 3, expected at least 4 pixels"),
        (np.full((24, 6, 6), np.nan), "x: given"),
    ],
)
def test_bad_data(x, message):
    with pytest.raises(ValueError, match=message):
        fit()(x, data()[1], np.ones((1, 24), bool), generators(1))
