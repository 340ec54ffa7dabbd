"""What an honest evaluation needs: curves read off, TOST against another implementation and against
its level, canaries.
"""

import numpy as np
import pytest
from statsmodels.stats import weightstats

from mia_lib import defenses


def test_early_stopping_epoch_reads_the_curve():
    curve = np.array([0.1, 0.3, 0.5, 0.45, 0.62, 0.61])
    for target, expected in ((0.0, 0), (0.31, 1), (0.5, 2), (0.46, 3), (0.9, 4)):
        assert defenses.early_stopping_epoch(curve, target) == expected
    assert defenses.early_stopping_epoch([0.2, 0.4, 0.4], 0.4) == 1  # of equals the first


def test_mislabel_changes_the_rows_and_nothing_else():
    y = np.arange(3000) % 3
    rows = np.arange(0, 3000, 2)
    new = defenses.mislabel(y, rows, 3, rng=np.random.default_rng(0))
    assert (new[rows] != y[rows]).all() and (new[1::2] == y[1::2]).all() and set(new) == {0, 1, 2}
    shift = (new[rows] - y[rows]) % 3
    assert abs(np.sum(shift == 1) - 750) < 4 * np.sqrt(375)  # uniform over the wrong classes
    assert (y == np.arange(3000) % 3).all()  # the argument is left alone


@pytest.mark.parametrize("mean", [-0.02, -0.009, 0.0, 0.004, 0.009, 0.03])
def test_equality_is_tost(mean):
    """The p-value of statsmodels; the words follow from its two parts."""
    for seed in range(20):
        d = np.random.default_rng([seed, 1]).normal(mean, 0.006, 5)
        found, other = defenses.equality(d, 0.01), weightstats.DescrStatsW(d)
        p_value, (_, better, _), (_, worse, _) = other.ttost_mean(-0.01, 0.01)
        assert found.p_value == pytest.approx(p_value, rel=1e-9)
        words = "not decided or different"
        if better < 0.05:
            words = "equal within 1%" if worse < 0.05 else "no better by more than 1%"
        assert found.words == words


@pytest.mark.simulation
@pytest.mark.parametrize("truth", [-0.01, 0.01])
def test_equality_is_rarely_declared_at_the_margin(truth):
    studies = np.random.default_rng(3).normal(truth, 0.004, (1000, 5))
    declared = [defenses.equality(d, 0.01).words.startswith("equal") for d in studies]
    assert 0.02 < np.mean(declared) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)


def test_equality_that_cannot_be_tested():
    assert defenses.equality([0.3], 0.01) == (None, "not tested: one seed")
    same = defenses.equality([0.25, 0.25], 0.01)
    assert same == (None, "not tested: the same difference in every seed")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: defenses.early_stopping_epoch([0.1, 1.2], 0.5), "accuracy: given values"),
        (lambda: defenses.early_stopping_epoch([0.1], 2), "target: given 2"),
        (lambda: defenses.mislabel([0, 1], [0, 0], 2), "rows: given a row named twice"),
        (lambda: defenses.mislabel([0, 1], [2], 2), "rows: given largest"),
        (lambda: defenses.mislabel([0, 2], [0], 2), "labels: given largest"),
        (lambda: defenses.equality([0.1, np.nan], 0.01), "differences: given 1 NaN"),
        (lambda: defenses.equality([], 0.01), "differences: given an empty array"),
        (lambda: defenses.equality([0.1, 0.2], 0), "margin: given 0"),
        (lambda: defenses.equality([0.1, 0.2], 0.01, delta=1), "delta: given 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
