"""One member, or equal ones, have no variance; their network is none that broke for that."""

import numpy as np

from mia_lib import generative


def test_a_network_of_one_member_is_not_broken():
    x = np.random.default_rng(0).random((20, 8, 8)).astype(np.float32)
    masks = np.zeros((3, 20), bool)
    masks[0, :10], masks[1, 3], masks[2, 5:15] = True, True, True
    recipe = generative.JsGanRecipe(epochs=1, batch_size=5)
    stack = generative.gan_stack(x, masks, recipe, rng=np.random.default_rng(0))
    assert not stack.broken.any()
    assert np.isfinite(stack.scores(x)).all()
