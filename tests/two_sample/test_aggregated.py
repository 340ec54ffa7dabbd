"""Aggregated features: least squares by hand, the level of a test of what was scored, power where
there is something.
"""

import numpy as np
import pytest

from mia_lib import two_sample


def clipped(values, known, clip):
    """Every column cut at its quantiles, one number at a time."""
    out = np.empty_like(values)
    for j in range(values.shape[1]):
        low, high = np.quantile(known[:, j], clip), np.quantile(known[:, j], 1 - clip)
        for i in range(len(values)):
            out[i, j] = min(max(values[i, j], low), high)
    return out


def test_against_the_normal_equations():
    rng = np.random.default_rng(0)
    known, member, new = (
        rng.normal(size=(60, 4)),
        rng.random(60) < 0.5,
        3 * rng.normal(size=(20, 4)),
    )
    a, b = clipped(known, known, 0.1), clipped(new, known, 0.1)
    design = np.column_stack([np.ones(60), a])
    weights = np.linalg.solve(design.T @ design, design.T @ member)
    expected = np.column_stack([np.ones(20), b]) @ weights
    assert two_sample.aggregate(known, member, new, clip=0.1) == pytest.approx(expected, abs=1e-10)


def test_units_constants_and_copies_do_not_matter():
    rng = np.random.default_rng(1)
    member = rng.random(100) < 0.5
    x = rng.normal(size=(140, 3)) + np.pad(member, (0, 40))[:, None]
    plain = two_sample.aggregate(x[:100], member, x[100:])
    other = np.column_stack([1e6 * x[:, 0] + 7, x[:, 1], np.full(140, 3.0), x[:, 2], x[:, 1]])
    assert two_sample.aggregate(other[:100], member, other[100:]) == pytest.approx(plain, abs=1e-8)


def test_one_wild_record_does_not_take_over():
    rng = np.random.default_rng(2)
    member = np.arange(400) % 2 == 0
    x = rng.normal(size=(800, 2)) + np.outer(np.tile(member, 2), [1.0, 0.0])
    x[1, 0] = 1e9
    score = two_sample.aggregate(x[:400], member, x[400:])
    assert np.corrcoef(score, x[400:, 0])[0, 1] > 0.9
    uncut = two_sample.aggregate(x[:400], member, x[400:], clip=0.0)
    assert score[member].mean() - score[~member].mean() > 10 * (
        uncut[member].mean() - uncut[~member].mean()
    )


@pytest.mark.simulation
def test_level_and_power_of_the_three_tests_of_a_score():
    """Known records differ, tested ones do not: each test must keep its level; then they do, and it
    must reject.
    """
    rng = np.random.default_rng(3)
    n, rejected = (
        40,
        {(name, shift): 0 for name in ("HR-T", "HR-MMD-G", "HR-MMD") for shift in (0.0, 2.0)},
    )
    for shift, repeats in ((0.0, 200), (2.0, 20)):
        for _ in range(repeats):
            member = np.arange(200) < 100
            known = rng.normal(size=(200, 5)) + np.outer(member, [1, 0.5, 0, 0, 0])
            x, y = (
                rng.normal(size=(2 * n, 5)),
                rng.normal(size=(2 * n, 5)) + shift * np.array([1, 0.5, 0, 0, 0]),
            )
            score_x, score_y = (two_sample.aggregate(known, member, values) for values in (x, y))
            p = {
                "HR-T": two_sample.t_test(score_x[n:], score_y[n:], "greater").p_value,
                "HR-MMD-G": two_sample.median_kernel_test(
                    score_x[n:], score_y[n:], 99, rng=rng
                ).p_value,
            }
            test = two_sample.HrMmd(n_steps=5, n_permutations=99, rng=rng).fit(
                score_x[:n], x[:n], score_y[:n], y[:n]
            )
            p["HR-MMD"] = test.test(score_x[n:], x[n:], score_y[n:], y[n:]).p_value
            for name, value in p.items():
                rejected[name, shift] += value <= 0.05
    for name in ("HR-T", "HR-MMD-G", "HR-MMD"):
        assert 1 <= rejected[name, 0.0] <= 22, (
            name
        )  # 99.9 % of Binomial(200, 0.05), from above; and it can reject at all
        assert rejected[name, 2.0] == 20, name


def test_bad_input():
    x, member = np.random.default_rng(4).normal(size=(10, 2)), np.arange(10) < 5
    for arguments, message in (
        ((x, member[1:], x), "known_member: given shape"),
        ((x, member, x[:, :1]), "features: given shape"),
        (
            (x, np.arange(10) < 1, x),
            "known_member: given 1 members and 9 others, expected at least two of each",
        ),
        ((np.ones((10, 2)), member, x), "known_features: given features that do not vary"),
        ((x, member, x * np.nan), "features: given 20 NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            two_sample.aggregate(*arguments)
    with pytest.raises(ValueError, match="clip"):
        two_sample.aggregate(x, member, x, clip=0.5)


def test_the_unit_of_a_feature_says_nothing():
    rng, member = np.random.default_rng(6), np.arange(200) < 100
    features = rng.normal(size=(200, 2)) + np.outer(member, [0.0, 3.0])
    small = features * [1.0, 1e-14]
    large, small = (two_sample.aggregate(x[::2], member[::2], x[1::2]) for x in (features, small))
    np.testing.assert_allclose(small, large, atol=1e-9)
