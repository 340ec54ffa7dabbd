"""Where a tenth of the signals tie at the smallest value, the bin below it is nobody's."""

import numpy as np

from mia_lib.risk_score import shrunken_risk_score


def test_a_signal_below_all_others_has_the_score_of_the_lowest_bin():
    rng = np.random.default_rng(0)
    member = np.arange(2000) < 1800
    tied = rng.random(2000) < np.where(member, 0.6, 0.1)
    loss = np.where(tied, 1e-7, rng.exponential(size=2000))
    asked = [1e-7, 9e-8], [0, 0]
    same, below = shrunken_risk_score(*asked, loss, np.zeros(2000, int), member)
    assert same == below > 0.6
