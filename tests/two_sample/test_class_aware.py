"""The class-aware test against loops over classes, all shuffles within classes, and simulations."""

import itertools
import re

import numpy as np
import pytest

from mia_lib import two_sample
from mia_lib.two_sample import class_aware, strata

Y_X, Y_Y = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
LABELS = np.append(Y_X, Y_Y)
ROOTS = np.random.default_rng(5).normal(size=(3, 3))
BETWEEN = ROOTS @ ROOTS.T


def records(labels, seed=0, d=2):
    return np.random.default_rng(seed).normal(size=(len(labels), d)) + 3.0 * labels[:, None]


def gram_of(x, h=1.5):
    return np.array([[np.exp(-((a - b) ** 2).sum() / (2 * h**2)) for b in x] for a in x])


def literal(gram, labels, n_x, between=None):
    """The U-statistic, record by record, of a kernel that is centred by its definition."""
    n = len(labels)
    same = [[j for j in range(n) if labels[j] == labels[i]] for i in range(n)]
    centred = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            row = np.mean([gram[i, b] for b in same[j]])
            column = np.mean([gram[a, j] for a in same[i]])
            both = np.mean([gram[a, b] for a in same[i] for b in same[j]])
            centred[i, j] = gram[i, j] - row - column + both
    side = {
        c: ([i for i in range(n_x) if labels[i] == c], [i for i in range(n_x, n) if labels[i] == c])
        for c in sorted(set(labels))
    }

    def mean(rows, columns, different=False):
        values = [centred[i, j] for i in rows for j in columns if not (different and i == j)]
        return sum(values) / len(values) if values else 0.0

    total = 0.0
    for c, (x, y) in side.items():
        for other, (x_2, y_2) in side.items():
            weights = [
                len(p) * len(q) / (len(p) + len(q)) * n / (n_x * (n - n_x))
                for p, q in ((x, y), (x_2, y_2))
            ]
            if c == other:
                part = mean(x, x, True) + mean(y, y, True) - 2 * mean(x, y)
                part *= 1.0 if between is None else between[c, c]
            elif between is None:
                continue
            else:
                part = mean(x, x_2) + mean(y, y_2) - mean(x, y_2) - mean(y, x_2)
                part *= between[c, other]
            total += weights[0] * weights[1] * part
    return total


@pytest.mark.parametrize("between", [None, BETWEEN])
def test_statistic_is_the_loop_over_classes(between):
    x = records(LABELS)
    gram = gram_of(x)
    expected = literal(gram, LABELS, 7, between)
    found = two_sample.within_class_test(
        gram, LABELS, 7, n_permutations=1, label_kernel=between
    ).statistic
    assert found == pytest.approx(expected, abs=1e-13)
    # rows in any order, and the whole test from representations
    order = np.append(np.random.default_rng(1).permutation(7), [15, 8, 7, 9, 12, 10, 11, 14, 13])
    x, labels = x[order], LABELS[order]
    again = two_sample.class_aware_test(
        x[:7], labels[:7], x[7:], labels[7:], 1, bandwidth=1.5, label_kernel=between
    ).statistic
    assert again == pytest.approx(expected, abs=1e-13)


def test_with_two_records_or_more_of_each_class_centring_changes_nothing():
    """Row and column means of a class cancel: a sum of the plain discrepancies of the classes."""
    gram, n_x = gram_of(records(LABELS)), 7
    expected = 0.0
    for c in range(3):
        x, y = (np.flatnonzero(LABELS[part] == c) for part in (slice(7), slice(7, None)))
        k = gram[np.ix_(np.append(x, y + 7), np.append(x, y + 7))]
        m = len(x)
        weight = len(x) * len(y) / (len(x) + len(y)) * (1 / 7 + 1 / 9)
        within = [(b.sum() - np.trace(b)) / (len(b) * (len(b) - 1)) for b in (k[:m, :m], k[m:, m:])]
        expected += weight**2 * (sum(within) - 2 * k[:m, m:].mean())
    found = two_sample.within_class_test(gram, LABELS, n_x, n_permutations=1).statistic
    assert found == pytest.approx(expected, abs=1e-13)


def test_one_class_is_the_unbiased_discrepancy():
    x = records(np.zeros(11, int))
    gram = gram_of(x)
    found = two_sample.within_class_test(gram, np.zeros(11, int), 5, n_permutations=1).statistic
    assert found == pytest.approx(two_sample.mmd2(gram[:5, :5], gram[5:, 5:], gram[:5, 5:]))


def test_a_class_with_one_record_in_a_set_has_no_term_within_it():
    labels = np.array([0, 1, 1, 2, 0, 0, 1, 1, 2])
    gram = gram_of(records(labels))
    found = two_sample.within_class_test(gram, labels, 4, n_permutations=1).statistic
    assert found == pytest.approx(literal(gram, labels, 4), abs=1e-13)


def all_shuffles(labels, n_x):
    """Every choice of the first set that keeps its number of records of each class."""
    places = []
    for c in sorted(set(labels)):
        there = np.flatnonzero(labels == c)
        m = int(np.sum(there < n_x))
        places.append(
            [(set(some), set(there) - set(some)) for some in itertools.combinations(there, m)]
        )
    for choice in itertools.product(*places):
        first = sorted(set().union(*(x for x, _ in choice)))
        yield [*first, *sorted(set().union(*(y for _, y in choice)))]


@pytest.mark.parametrize("between", [None, np.array([[1.0, 0.4], [0.4, 2.0]])])
def test_p_value_is_that_of_all_shuffles_within_classes(between):
    labels = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1])
    x = records(labels, seed=3)
    x[4:] += 0.7
    gram = gram_of(x)
    values = np.array(
        [literal(gram[np.ix_(o, o)], labels[o], 4, between) for o in all_shuffles(labels, 4)]
    )
    assert len(values) == 10 * 6
    observed = literal(gram, labels, 4, between)
    exact = np.mean(values >= observed - 1e-12)
    n = 20000
    found = two_sample.within_class_test(
        gram, labels, 4, n_permutations=n, rng=np.random.default_rng(0), label_kernel=between
    )
    assert abs(found.p_value - exact) < 4 * np.sqrt(exact * (1 - exact) / n) + 1 / n
    parts, z = strata.by_class(labels[:4], labels[4:]), []
    for order in all_shuffles(labels, 4):
        z.append(np.isin(parts.order, order[:4]).astype(float))
    triangle, constant = class_aware._triangle(
        gram[np.ix_(parts.order, parts.order)], parts, np.eye(2) if between is None else between
    )
    np.testing.assert_allclose(
        class_aware._statistics(triangle, np.array(z), constant), values, atol=1e-13
    )


def test_shuffles_keep_classes_and_reach_every_choice():
    parts = strata.by_class(np.array([1, 0, 0]), np.array([0, 1, 1, 0]))
    z = strata.shuffled(parts, 3000, np.random.default_rng(0))
    for c, there in ((0, 2), (1, 1)):
        assert (z[:, parts.group == c].sum(1) == there).all()
    rows, counts = np.unique(z, axis=0, return_counts=True)
    assert len(rows) == 6 * 3  # 4 choose 2 and 3 choose 1, all equally likely
    assert np.abs(counts - 3000 / 18).max() < 4 * np.sqrt(3000 / 18)


def test_single_precision_never_changes_the_count():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=80)
    x = np.round(records(labels, d=1), 1)  # rounded, so that there are ties
    gram = gram_of(x)
    parts = strata.by_class(labels[:30], labels[30:])
    sorted_gram = gram[np.ix_(parts.order, parts.order)]
    triangle, constant = class_aware._triangle(sorted_gram, parts, np.eye(4))
    z = strata.shuffled(parts, 499, np.random.default_rng(7))
    exact = class_aware._statistics(triangle, z, constant)
    observed = class_aware._statistics(triangle, parts.first[None] * 1.0, constant)[0]
    found = two_sample.within_class_test(gram, labels, 30, rng=np.random.default_rng(7))
    assert found.p_value == (1 + np.sum(exact >= observed - 1e-12)) / 500


@pytest.mark.parametrize("at_once", [None, 6 * 7])
def test_ties_count_in_every_block_of_shuffles(monkeypatch, at_once):
    """One record of each class in each set: no shuffle changes anything."""
    monkeypatch.setattr(class_aware, "AT_ONCE", at_once or class_aware.AT_ONCE)
    labels = np.array([0, 1, 2, 0, 1, 2])
    x = records(labels)
    assert two_sample.class_aware_test(x[:3], labels[:3], x[3:], labels[3:], 99).p_value == 1.0


@pytest.mark.parametrize("at_once", [None, 80 * 7])
def test_nothing_reaches_sets_that_are_apart(monkeypatch, at_once):
    monkeypatch.setattr(class_aware, "AT_ONCE", at_once or class_aware.AT_ONCE)
    labels = np.arange(80) % 2
    x = records(labels)
    x[40:] += 5
    found = two_sample.class_aware_test(x[:40], labels[:40], x[40:], labels[40:], 99)
    assert found.p_value == 0.01


def test_bandwidth_is_the_median_distance_within_pooled_classes():
    x = records(LABELS)
    distances = [
        np.linalg.norm(x[i] - x[j]) for i in range(16) for j in range(i) if LABELS[i] == LABELS[j]
    ]
    default, stated = (
        two_sample.class_aware_test(
            x[:7], Y_X, x[7:], Y_Y, rng=np.random.default_rng(0), bandwidth=h
        )
        for h in (None, np.median(distances))
    )
    assert default.p_value == stated.p_value
    assert default.statistic == pytest.approx(stated.statistic, abs=1e-13)


def test_a_class_of_one_set_alone_is_dropped_with_a_warning():
    x, y = records(LABELS), LABELS.copy()
    more_x, more_y = np.vstack([x[:7], [[50.0, 1.0]]]), np.append(y[:7], 9)
    with pytest.warns(UserWarning, match="1 classes are in one set only and dropped: 9"):
        found = two_sample.class_aware_test(
            more_x, more_y, x[7:], y[7:], rng=np.random.default_rng(0)
        )
    assert found == two_sample.class_aware_test(
        x[:7], y[:7], x[7:], y[7:], rng=np.random.default_rng(0)
    )


def test_label_kernel_of_one_is_a_centred_comparison_of_the_pools():
    """L = 1 joins the classes: V-statistic and U-statistic differ by the diagonal's terms alone."""
    gram = gram_of(records(LABELS))
    found = two_sample.within_class_test(
        gram, LABELS, 7, n_permutations=1, label_kernel=np.ones((3, 3))
    ).statistic
    assert found == pytest.approx(literal(gram, LABELS, 7, np.ones((3, 3))), abs=1e-13)


def world(rng, n, shift, shares_x, shares_y):
    """Classes far apart; in each of them S_Y is moved by the shift."""
    y_x, y_y = (rng.choice(4, n, p=p) for p in (shares_x, shares_y))
    x, y = (6.0 * v[:, None] + rng.normal(size=(n, 1)) for v in (y_x, y_y))
    return x, y_x, y + shift, y_y


EVEN, UNEVEN = np.full(4, 0.25), np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.simulation
@pytest.mark.filterwarnings("ignore:1 classes are in one set only")
@pytest.mark.parametrize("between", [None, 0.5 + 0.5 * np.eye(4)])
def test_level_where_class_shares_differ(between):
    """Both sets anew each time: 29 and 74 of 1,000 are the 0.1 % limits of the level 0.05."""
    rng, rejections, plain = np.random.default_rng(6), 0, 0
    for i in range(1000):
        sets = world(rng, 40, 0.0, EVEN, UNEVEN)
        found = two_sample.class_aware_test(*sets, 99, rng, label_kernel=between)
        rejections += found.p_value <= 0.05
        if i < 100:
            plain += two_sample.median_kernel_test(sets[0], sets[2], 99, rng=rng).p_value <= 0.05
    assert 29 <= rejections <= 74
    assert plain > 30  # the plain test rejects because the shares differ


@pytest.mark.simulation
def test_power_where_classes_hide_the_shift():
    rng, aware, plain = np.random.default_rng(8), 0, 0
    for _ in range(100):
        sets = world(rng, 60, 0.9, EVEN, EVEN)
        aware += two_sample.class_aware_test(*sets, 99, rng).p_value <= 0.05
        plain += two_sample.median_kernel_test(sets[0], sets[2], 99, rng=rng).p_value <= 0.05
    assert aware > 75 and plain < 35


@pytest.mark.simulation
def test_without_centring_differing_class_counts_hide_the_shift():
    """The same shuffles of the plain statistic of the kernel times 1[y = y'], not centred."""
    rng, centred, raw = np.random.default_rng(9), 0, 0
    for _ in range(100):
        x, y_x, y, y_y = world(rng, 60, 0.6, EVEN, UNEVEN)
        labels, both = np.append(y_x, y_y), np.concatenate([x, y])
        gram = two_sample.gaussian_kernel(both, both, 1.0) * (labels[:, None] == labels)
        centred += (
            two_sample.within_class_test(gram, labels, 60, n_permutations=99, rng=rng).p_value
            <= 0.05
        )
        parts = strata.by_class(y_x, y_y)
        k = gram[np.ix_(parts.order, parts.order)]
        z = np.vstack([parts.first, strata.shuffled(parts, 99, rng)])
        sign = 2 * z - 1
        values = np.einsum("bi,ij,bj->b", sign, k, sign)
        raw += np.mean(values >= values[0]) <= 0.05
    assert centred > raw + 15


@pytest.mark.simulation
@pytest.mark.parametrize("between", [None, 0.5 + 0.5 * np.eye(4)])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_no_bias_and_the_variance_given_the_labels(shift, between):
    rng = np.random.default_rng(10)
    y_x, y_y = np.arange(60) % 4, np.arange(90) % 4
    labels = np.append(y_x, y_y)
    values, variances, terms = [], [], []
    for _ in range(800):
        x = 6.0 * labels + rng.normal(size=150)
        x[60:] += shift
        gram = np.exp(-((x[:, None] - x) ** 2) / 2)
        values.append(
            two_sample.within_class_test(
                gram, labels, 60, n_permutations=1, rng=rng, label_kernel=between
            ).statistic
        )
        variances.append(two_sample.within_class_variance(gram, labels, 60, label_kernel=between))
        terms.append(class_aware._variance_terms(*class_aware._checked(gram, labels, 60, between)))
    first, second = np.mean(terms, axis=0)
    if shift:
        assert np.mean(variances) == pytest.approx(np.var(values), rel=0.2)
    else:  # the second term alone
        assert second == pytest.approx(np.var(values), rel=0.2)
        assert first == pytest.approx(2 * second, rel=0.2)
        assert 1 < np.mean(variances) / np.var(values) < 2
    if between is None:
        # Shares are even, so the four classes' discrepancies, weighed with 1 / 16 each, sum to a
        # quarter of that of one; classes 6 apart do not meet in the kernel.
        truth = 2 / np.sqrt(3) * (1 - np.exp(-(shift**2) / 6)) / 4
        assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(800) + 1e-4


def test_variance_of_a_class_with_one_record():
    labels = np.array([0, 1, 1, 2, 0, 0, 1, 1, 2])
    gram = gram_of(records(labels))
    assert 0 < two_sample.within_class_variance(gram, labels, 4) < 1


SETS = dict(rep_x=np.zeros((3, 1)), y_x=[0, 0, 1], rep_y=np.arange(3.0)[:, None], y_y=[0, 1, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_y": [2, 2, 3]}, "y_y: given no class that y_x has, expected at least one common"),
        ({"y_x": [0], "rep_x": [[0.0]]}, "y_x: given 1 records, expected at least 2"),
        ({"y_x": [0, 7, 7], "y_y": [0, 0, 0]}, "y_x: given 1 records of common classes, expected"),
        ({"label_kernel": np.eye(1)}, "label_kernel: given shape (1, 1), expected (K, K) with K"),
        ({"label_kernel": [[1, 0], [1, 1]]}, "label_kernel: given an array that is not symm"),
        ({"label_kernel": [[1, 2], [2, 1]]}, "label_kernel: given an eigenvalue of -1, expected"),
        ({"rep_y": np.zeros((3, 1))}, "rep_x, rep_y: given records that are all the same"),
    ],
)
@pytest.mark.filterwarnings("ignore:1 classes are in one set only")
def test_bad_input(change, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        two_sample.class_aware_test(**SETS | change)


def test_bad_kernel_values():
    with pytest.raises(ValueError, match=r"^gram: given shape \(4, 4\), expected symmetric kernel"):
        two_sample.within_class_test(np.triu(np.ones((4, 4))), np.zeros(4, int), 2)


def test_the_size_of_a_label_kernel_says_nothing():
    z = np.random.default_rng(0).normal(size=20)
    gram, between = np.exp(-((z[:, None] - z) ** 2)), np.array([[1, 0.9], [0.9, 1]])
    one, large, small = (
        two_sample.within_class_test(
            gram, np.arange(20) % 2, 10, rng=np.random.default_rng(1), label_kernel=size * between
        )
        for size in (1, 1e300, 1e-60)
    )
    assert one.p_value == large.p_value == small.p_value > 0.1
    assert large.statistic == pytest.approx(1e300 * one.statistic)
