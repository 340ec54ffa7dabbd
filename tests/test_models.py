"""Architectures: shapes, parameter counts by hand, bit-reproducible starts, the whitening layer."""

import hashlib

import numpy as np
import pytest
import torch

from mia_lib import models

IMAGES = {
    "cnn": (1, 28, 28),
    "resnet18": (3, 32, 32),
    "wide_resnet": (3, 32, 32),
    "speednet": (3, 32, 32),
}


def fingerprint(net):
    digest = hashlib.sha256()
    for tensor in net.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", IMAGES)
def test_output_shape_and_gradient(name):
    net = models.build(name, IMAGES[name], 7, rng=np.random.default_rng(0))
    out = net(torch.randn(4, *IMAGES[name]))
    assert out.shape == (4, 7) and torch.isfinite(out).all()
    out.square().sum().backward()
    for parameter in net.parameters():
        assert not parameter.requires_grad or torch.isfinite(parameter.grad).all()


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 24, 40), (2, 17, 16)])
def test_other_image_sizes(shape):
    for name in ("cnn", "speednet"):
        assert models.build(name, shape, 3, rng=np.random.default_rng(0)).eval()(
            torch.zeros(2, *shape)
        ).shape == (2, 3)


def test_parameter_counts_by_hand():
    def count(name, shape, **options):
        net = models.build(name, shape, 10, rng=np.random.default_rng(0), **options)
        return sum(p.numel() for p in net.parameters())

    assert (
        count("mlp", (600,), hidden=(256, 128)) == 600 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    )
    assert count("mlp", (64,), hidden=()) == 64 * 10 + 10
    assert count("cnn", (1, 28, 28)) == 16 * 9 + 16 + 16 * 32 * 9 + 32 + 32 * 49 * 10 + 10
    assert count("resnet18", (3, 32, 32)) == 11_173_962
    assert (
        count("wide_resnet", (3, 32, 32), depth=28, width=10) == 36_479_194
    )  # the published 36.5 million
    convolutions = 9 * (24 * 64 + 64 * 64 + 64 * 256 + 3 * 256 * 256)
    assert (
        count("speednet", (3, 32, 32)) == 24 * 12 + 24 + convolutions + 4 * (64 + 256 + 256) + 2560
    )


@pytest.mark.parametrize("name", ["mlp", *IMAGES])
def test_start_depends_on_the_generator_alone(name):
    shape = IMAGES.get(name, (20,))
    torch.manual_seed(1)
    first = fingerprint(models.build(name, shape, 5, rng=np.random.default_rng(3)))
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    assert fingerprint(models.build(name, shape, 5, rng=np.random.default_rng(3))) == first
    assert torch.equal(torch.random.get_rng_state(), before)
    assert fingerprint(models.build(name, shape, 5, rng=np.random.default_rng(4))) != first


def test_linear_start_has_the_stated_range_and_variance():
    weight, bias = models.linear_weights(100, 2000, np.random.default_rng(0))
    assert weight.dtype == np.float32 and abs(weight).max() <= 0.1 and abs(bias).max() <= 0.1
    assert weight.var() == pytest.approx(0.01 / 3, rel=0.02)  # of a uniform law on [-0.1, 0.1]


def test_normalisation_starts_as_the_identity():
    net = models.build("resnet18", (3, 32, 32), 5, rng=np.random.default_rng(0))
    norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert len(norms) == 20
    for norm in norms:
        for tensor, value in (
            (norm.weight, 1),
            (norm.bias, 0),
            (norm.running_mean, 0),
            (norm.running_var, 1),
        ):
            assert (tensor == value).all()


def test_whitened_patches_are_uncorrelated_with_unit_variance():
    rng = np.random.default_rng(0)
    coarse = rng.normal(size=(200, 3, 9, 9))
    images = torch.from_numpy(
        np.kron(coarse, np.ones((2, 2))) + 0.5 * rng.normal(size=(200, 3, 18, 18))
    ).float()
    net = models.build("speednet", (3, 18, 18), 5, rng=np.random.default_rng(0))
    net.whiten(images, ridge=0.0)
    with torch.no_grad():
        out = torch.nn.functional.conv2d(images, net.whitening.weight)
    flat = out.permute(1, 0, 2, 3).flatten(1).double()
    second_moments = flat @ flat.T / flat.shape[1]
    assert torch.allclose(second_moments[:12, :12], torch.eye(12, dtype=torch.float64), atol=1e-4)
    assert torch.equal(net.whitening.weight[:12], -net.whitening.weight[12:])
    assert not net.whitening.weight.requires_grad


def test_speednet_convolutions_start_as_the_identity():
    net = models.build("speednet", (3, 32, 32), 5, rng=np.random.default_rng(0))
    conv = net.groups[4]
    x = torch.randn(2, 64, 6, 6)
    with torch.no_grad():
        assert torch.allclose(conv(x), x, atol=1e-6)


def test_bad_input():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="name: given 'vgg', expected one of 'mlp', 'cnn'"):
        models.build("vgg", (3, 32, 32), 10, rng=rng)
    with pytest.raises(ValueError, match="options: given 'depht'"):
        models.build("wide_resnet", (3, 32, 32), 10, rng=rng, depht=28)
    with pytest.raises(ValueError, match="depth"):
        models.build("wide_resnet", (3, 32, 32), 10, rng=rng, depth=20)
    with pytest.raises(ValueError, match="channels, height, width"):
        models.build("cnn", (784,), 10, rng=rng)
    with pytest.raises(ValueError, match="activation"):
        models.build("mlp", (8,), 10, rng=rng, activation="gelu")
    with pytest.raises(ValueError, match="hidden"):
        models.build("mlp", (8,), 10, rng=rng, hidden=(0,))
    with pytest.raises(ValueError, match="n_classes"):
        models.build("mlp", (8,), 1, rng=rng)
    with pytest.raises(ValueError, match="16 pixels"):
        models.build("speednet", (3, 8, 8), 10, rng=rng)
    with pytest.raises(ValueError, match="pixels"):
        models.build("cnn", (1, 3, 3), 10, rng=rng)
    with pytest.raises(ValueError, match="rng"):
        models.build("mlp", (8,), 10, rng=0)


def test_a_device_is_named_or_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert [models.torch_device(name).type for name in ("cpu", "auto")] == ["cpu", "cpu"]
    with pytest.raises(ValueError, match="device: given 'cuda' without a GPU"):
        models.torch_device("cuda")
    with pytest.raises(ValueError, match="device: given 'gpu'"):
        models.torch_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [models.torch_device(name).type for name in models.DEVICES] == ["cpu", "cuda", "cuda"]
