"""A guarantee that promises nothing allows everything, at a false-positive rate of 0 too."""

import numpy as np

from mia_lib import privacy


def test_infinite_epsilon_promises_nothing():
    guarantee = privacy.approximate(np.inf, 0.0)
    assert guarantee.tpr_at([0.0, 1e-9, 0.5]).tolist() == [1, 1, 1]
    assert guarantee.advantage() == 1
