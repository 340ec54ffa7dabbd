"""The penalty on a discriminator's slope: its value by hand, and what it does to training."""

import numpy as np
import pytest
import torch

from mia_lib import generative
from mia_lib.generative import js


def test_the_penalty_is_half_of_the_mean_squared_slope():
    """Of a quadratic, whose slope is known at every record, and its gradient in the weights."""
    weights = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    real = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    found = js.slope_penalty(lambda x: (x**2 * weights).sum(1, keepdim=True), real)
    slope = 2 * real.numpy() * weights.detach().numpy()
    assert found.item() == pytest.approx((slope**2).sum(1).mean() / 2)
    found.backward()
    expected = (4 * real**2 * weights.detach()).mean(0)
    torch.testing.assert_close(weights.grad, expected)


@pytest.mark.parametrize("kind", ["js_gan", "priv_gan"])
def test_without_weight_nothing_changes_and_with_it_the_slope_is_smaller(kind):
    x = np.random.default_rng(0).random((60, 8, 8))
    trainer, of = {
        "js_gan": (generative.js_gan, generative.JsGanRecipe),
        "priv_gan": (generative.priv_gan, generative.PrivGanRecipe),
    }[kind]
    short = {"privacy_epochs": 1, "privacy_delay": 2} if kind == "priv_gan" else {}

    def slope(**more):
        recipe = of(epochs=20, batch_size=20, **short, **more)
        gan = trainer(x, recipe, rng=np.random.default_rng(1))[20]
        at = torch.from_numpy(np.float32(2 * x - 1))
        return gan, js.slope_penalty(gan.discriminators[0].requires_grad_(True), at).item()

    plain, steep = slope()
    again, same = slope(penalty=0.0)
    np.testing.assert_array_equal(plain.scores(x), again.scores(x))
    assert same == steep
    _, gentle = slope(penalty=10.0)
    assert gentle < 0.7 * steep


@pytest.mark.parametrize("of", [generative.JsGanRecipe, generative.PrivGanRecipe])
@pytest.mark.parametrize("penalty", [-1.0, np.nan])
def test_a_weight_below_0_is_named(of, penalty):
    with pytest.raises(ValueError, match="penalty"):
        of(penalty=penalty)


def test_a_training_is_gone_on_with_only_under_its_penalty(tmp_path):
    x = np.random.default_rng(0).random((40, 8, 8))
    generative.js_gan(x, generative.JsGanRecipe(epochs=1, batch_size=20), folder=tmp_path)
    other = generative.JsGanRecipe(epochs=1, batch_size=20, penalty=1.0)
    with pytest.raises(ValueError, match="folder"):
        generative.js_gan(x, other, folder=tmp_path)
