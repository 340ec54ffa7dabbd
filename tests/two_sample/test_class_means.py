"""The mean test within classes against all shuffles, the plain mean test and simulations."""

import itertools

import numpy as np
import pytest

from mia_lib import two_sample
from mia_lib.two_sample import class_means


def differences(values, labels, n_x):
    """The statistic of every shuffle within classes; the sets as they are come first."""
    per_class = []
    for c in sorted(set(labels)):
        there = [i for i in range(len(labels)) if labels[i] == c]
        m = sum(i < n_x for i in there)
        found = []
        for x in itertools.combinations(there, m):
            y = [i for i in there if i not in x]
            gap = np.mean([values[i] for i in y]) - np.mean([values[i] for i in x])
            found.append((m * len(y) / (m + len(y)), gap))
        per_class.append(found)
    for choice in itertools.product(*per_class):
        yield sum(w * gap for w, gap in choice) / sum(w for w, _ in choice)


LABELS = np.array([0, 0, 1, 1, 0, 0, 0, 1])
VALUES = np.array([0.0, 1.5, 9.0, 8.0, 2.0, 3.0, 1.0, 9.5])


@pytest.mark.parametrize("with_classes", [True, False])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_p_value_is_that_of_all_shuffles(alternative, with_classes):
    labels = LABELS if with_classes else np.zeros(8, int)
    values = np.array(list(differences(VALUES, labels, 4)))
    values = np.abs(values) if alternative == "two-sided" else values
    exact, n = np.mean(values >= values[0] - 1e-12), 20000
    found = two_sample.class_mean_test(
        VALUES[:4],
        LABELS[:4] if with_classes else None,
        VALUES[4:],
        LABELS[4:] if with_classes else None,
        alternative=alternative,
        n_permutations=n,
        rng=np.random.default_rng(0),
    )
    assert found.statistic == pytest.approx(values[0])
    assert abs(found.p_value - exact) < 4 * np.sqrt(exact * (1 - exact) / n) + 1 / n


def test_without_labels_it_is_the_mean_test():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=50) + 0.4
    for alternative in ("two-sided", "greater"):
        options = dict(n_permutations=20000, rng=rng)
        ours = two_sample.class_mean_test(x, None, y, None, alternative=alternative, **options)
        plain = two_sample.mean_test(x, y, alternative, **options)
        assert ours.statistic == pytest.approx(plain.statistic)
        assert ours.p_value == pytest.approx(plain.p_value, abs=0.015)


@pytest.mark.parametrize("at_once", [None, 6 * 7])
def test_ties_count_in_every_block_of_shuffles(monkeypatch, at_once):
    monkeypatch.setattr(class_means, "AT_ONCE", at_once or class_means.AT_ONCE)
    zeros = np.zeros(3, int)
    assert two_sample.class_mean_test(zeros, zeros, zeros, zeros, n_permutations=99).p_value == 1.0
    apart = two_sample.class_mean_test(
        np.arange(30), np.zeros(30, int), np.arange(30) + 60, np.zeros(30, int), n_permutations=99
    )
    assert apart.p_value == 0.01


def test_a_class_of_one_set_alone_is_dropped():
    with pytest.warns(UserWarning, match="classes are in one set only and dropped: 2, 7"):
        found = two_sample.class_mean_test(
            [0.0, 1.0, 99.0], [0, 0, 7], [2.0, 3.0, -99.0], [0, 0, 2], alternative="greater"
        )
    assert found.statistic == 2.0


@pytest.mark.simulation
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_level_where_class_shares_differ(alternative):
    """29 and 74 of 1,000 are the 0.1 % limits of the level 0.05."""
    rng, rejections, plain = np.random.default_rng(3), 0, 0
    for i in range(1000):
        y_x, y_y = rng.choice(3, 40), rng.choice(3, 50, p=[0.2, 0.2, 0.6])
        x, y = (rng.standard_t(3, size=len(v)) + 3 * v for v in (y_x, y_y))
        rejections += (
            two_sample.class_mean_test(
                x, y_x, y, y_y, alternative=alternative, n_permutations=99, rng=rng
            ).p_value
            <= 0.05
        )
        if i < 100:
            plain += two_sample.mean_test(x, y, n_permutations=99, rng=rng).p_value <= 0.05
    assert 29 <= rejections <= 74
    assert plain > 30


@pytest.mark.simulation
def test_power_where_classes_are_far_apart():
    rng, aware, plain = np.random.default_rng(4), 0, 0
    for _ in range(100):
        y_x, y_y = rng.choice(4, 50), rng.choice(4, 50)
        x, y = 10 * y_x + rng.normal(size=50), 10 * y_y + rng.normal(size=50) + 0.8
        options = dict(alternative="greater", n_permutations=99, rng=rng)
        aware += two_sample.class_mean_test(x, y_x, y, y_y, **options).p_value <= 0.05
        plain += two_sample.class_mean_test(x, None, y, None, **options).p_value <= 0.05
    assert aware > 85 and plain < 40


def test_bad_input():
    with pytest.raises(ValueError, match="^y_y: given labels of one set alone, expected labels of"):
        two_sample.class_mean_test([0.0, 1.0], [0, 0], [2.0, 3.0], None)
