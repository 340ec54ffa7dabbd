"""BASE by hand, and its order beside RMIA's."""

import numpy as np
import pytest

from mia_lib import attacks, lira, shadow


def world(rng, n_models=9, n=200):
    log_p = np.log(rng.beta(2, 1, (n_models, n)))
    return log_p, shadow.half_masks(n_models + n_models % 2, n, rng)[:n_models]


def test_by_a_loop():
    log_p, member = world(np.random.default_rng(0), n=12)
    for offline in (False, True):
        got = attacks.base(log_p[0], log_p[1:], member[1:], offline=offline)
        for i, score in enumerate(got):
            used = [s for s in range(1, 9) if not (offline and member[s, i])]
            mean = sum(np.exp(log_p[s, i]) for s in used) / len(used)
            assert score == pytest.approx(log_p[0, i] - np.log(mean))


class TestTheOrderOfRmia:
    """Within one target, with the same references."""

    @pytest.mark.parametrize("offline", [False, True])
    @pytest.mark.parametrize("ties", [False, True])
    def test_one_target(self, offline, ties):
        rng = np.random.default_rng(1)
        log_p, _ = world(rng)
        log_p = np.log(rng.integers(1, 4, log_p.shape) / 4) if ties else log_p
        member = rng.random((8, 200)).argsort(axis=0) < 4  # as many IN as OUT
        base = attacks.base(log_p[0], log_p[1:], member, offline=offline)
        slope = 1.0 if offline else None
        rmia = attacks.rmia(log_p[0], log_p[1:], member, gamma=1.0, slope=slope)
        # Ratios that are equal may be rounded apart, of which RMIA then makes two ranks.
        apart = np.subtract.outer(base, base) > 1e-9
        assert (np.subtract.outer(rmia, rmia)[apart] > 0).all()
        if not ties:
            np.testing.assert_array_equal(base.argsort(), rmia.argsort())

    def test_every_target(self):
        log_p, member = world(np.random.default_rng(2), n_models=12)
        base = lira.leave_one_out(log_p, member, attacks.named("BASE, online"))
        rmia = lira.leave_one_out(log_p, member, attacks.named("RMIA, online"), gamma=1.0)
        np.testing.assert_array_equal(base.argsort(axis=1), rmia.argsort(axis=1))
        # between targets it is another one
        assert (base.ravel().argsort() != rmia.ravel().argsort()).any()

    def test_another_average_is_another_order(self):
        rng = np.random.default_rng(3)
        log_p, _ = world(rng)
        member = rng.random((8, 200)).argsort(axis=0) < 2  # RMIA weighs the sides alike
        base = attacks.base(log_p[0], log_p[1:], member)
        rmia = attacks.rmia(log_p[0], log_p[1:], member, gamma=1.0)
        assert (base.argsort() != rmia.argsort()).any()


def test_probability_zero_is_finite():
    log_p = np.array([[-800.0, -1.0], [-900.0, -2.0], [-1.0, -0.5]])
    member = np.array([[True, True], [False, False]])
    assert np.isfinite(attacks.base(log_p[0], log_p[1:], member)).all()


def test_bad_input():
    member = np.array([[True, True], [False, False]])
    with pytest.raises(ValueError, match="^shadow: given a largest value of 0.5, expected"):
        attacks.base([-1.0, -2.0], [[0.5, -1.0], [-1.0, -1.0]], member)
    with pytest.raises(ValueError, match="^shadow_member: given 2 examples with fewer than 1 OUT"):
        attacks.base([-1.0, -2.0], np.full((2, 2), -1.5), np.ones((2, 2), bool), offline=True)
