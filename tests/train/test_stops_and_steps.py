"""Where training stops, and how many steps it has."""

import numpy as np
import pytest

from mia_lib import train
from mia_lib.train import batches


def test_no_epoch_after_the_stop_is_asked_for():
    """What was never trained would be what the memory happened to hold."""
    x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    recipe = train.Classifier(hidden=(4,), epochs=5, stop=2)
    with pytest.raises(ValueError, match="at most 2"):
        train.epoch_logits(recipe, x, y, np.ones((1, 12), bool), [np.random.default_rng(0)], [2, 4])


@pytest.mark.parametrize("change", [{"stop": 1}, {"nesterov": True}, {"init": "glorot"}])
def test_a_penalty_refuses_what_it_would_ignore(change):
    recipe = train.Classifier(hidden=(4,), epochs=5, **change)
    with pytest.raises(ValueError, match="recipe"):
        train.L1Penalty(recipe, 0.01)


def test_passes_that_make_whole_steps_make_no_further_one():
    """1.1 passes of a hundred records in batches of ten: 1.1 * 100 / 10 is 11.000000000000002."""
    assert batches.step_count(train.Classifier(epochs=1.1, batch_size=10), 100) == 11
