"""E-values against the enumeration of all coins."""

import itertools

import numpy as np
import pytest

from mia_lib import two_sample

ALL = np.array(list(itertools.product([False, True], repeat=6)))


def strategy(coins, scores):
    """Bets that grow and turn round with what was seen before."""
    bets, trust = [], 0.1
    for i, score in enumerate(scores):
        bets.append(np.clip(trust * score, -1, 1))
        trust += 0.3 if (score > 0) == coins[i] else -0.2
    return np.array(bets)


def test_the_product_of_the_bets():
    coins, bets = [True, False, False], np.array([[0.5, 0.2, -1.0], [0.0, -0.4, 0.3]])
    owned = []
    for row in bets:
        wealth, path = 1.0, []
        for coin, bet in zip(coins, row):
            wealth *= 1 + bet if coin else 1 - bet
            path.append(wealth)
        owned.append(path)
    np.testing.assert_allclose(two_sample.e_process(coins, bets), np.mean(owned, axis=0))
    np.testing.assert_allclose(two_sample.e_process(coins, bets[1]), owned[1])


def test_all_is_lost_and_stays_lost():
    found = two_sample.e_process([True, False, True], [0.5, 1.0, 1.0])
    np.testing.assert_array_equal(found, [1.5, 0.0, 0.0])
    some = two_sample.e_process([False, True], [[1.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(some, [0.5, 1.0])


def test_under_the_null_the_expectation_is_one_and_any_time_is_safe():
    """All 64 coins; the bets look at the coins before theirs."""
    scores = np.random.default_rng(0).normal(size=(2, 6))
    paths = np.array(
        [two_sample.e_process(c, [strategy(c, row) for row in 3 * scores]) for c in ALL]
    )
    np.testing.assert_allclose(paths.mean(0), 1.0)
    for alpha in (0.5, 0.25, 0.1, 0.05):
        assert np.mean(paths.max(1) >= 1 / alpha) <= alpha


def test_products_of_the_same_coins_are_no_e_values():
    bets = np.array([[0.5, 0.3, 0.6, 0.2, 0.4, 0.5], [0.4, 0.5, 0.5, 0.3, 0.6, 0.1]])
    each = np.array([[two_sample.e_process(c, row)[-1] for row in bets] for c in ALL])
    assert np.mean(each.prod(1)) == pytest.approx(np.prod(1 + bets[0] * bets[1]))
    assert np.mean(each.prod(1)) > 2
    assert np.mean(each.mean(1)) == pytest.approx(1.0)
    means = [two_sample.e_process(c, bets)[-1] for c in ALL]
    np.testing.assert_allclose(means, each.mean(1))


def test_a_thousand_coins_do_not_overflow_before_the_number_does():
    found = two_sample.e_process(np.ones(900, bool), np.full(900, 1.0))
    assert found[-1] == pytest.approx(2.0**900, rel=1e-9)


def test_bad_input():
    with pytest.raises(ValueError, match="^bets: given bets on 1 coins, expected on 2"):
        two_sample.e_process([True, False], [0.5])
    with pytest.raises(ValueError, match=r"^bets: given a largest magnitude of 1.5, expected bets"):
        two_sample.e_process([True, False], [0.5, -1.5])
