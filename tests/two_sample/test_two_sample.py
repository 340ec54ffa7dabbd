import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from scipy.spatial.distance import cdist

from mia_lib import two_sample
from mia_lib.two_sample import hr_mmd, kernels, mmd, permutation


def sets(n_x=30, n_y=30, d=3, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_x, d)), rng.normal(size=(n_y, d)) + shift


def blocks(x, y, h=1.0):
    return (two_sample.gaussian_kernel(a, b, h) for a, b in ((x, x), (y, y), (x, y)))


def literal_mmd2(k_xx, k_yy, k_xy):
    n_x, n_y = k_xy.shape
    total = 0.0
    for n, k in ((n_x, k_xx), (n_y, k_yy)):
        total += sum(k[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    pairs = [(i, j) for i in range(n_x) for j in range(n_y) if n_x != n_y or i != j]
    return total - 2 * sum(k_xy[i, j] for i, j in pairs) / len(pairs)


@pytest.mark.parametrize("n_x, n_y", [(7, 7), (7, 5), (2, 3)])
def test_statistic_is_the_double_loop(n_x, n_y):
    k = list(blocks(*sets(n_x, n_y)))
    assert two_sample.mmd2(*k) == pytest.approx(literal_mmd2(*k), abs=1e-13)


def test_variance_is_equation_9_term_by_term():
    x, y = sets(9, 9, shift=0.5)
    k_xx, k_yy, k_xy = (k.tolist() for k in blocks(x, y))
    n = 9
    h = [[k_xx[i][j] + k_yy[i][j] - k_xy[i][j] - k_xy[j][i] for j in range(n)] for i in range(n)]
    expected = 4 / n**3 * sum(sum(row) ** 2 for row in h) - 4 / n**4 * sum(map(sum, h)) ** 2
    assert two_sample.mmd2_variance(k_xx, k_yy, k_xy) == pytest.approx(expected, abs=1e-13)
    j = literal_mmd2(*map(np.array, (k_xx, k_yy, k_xy))) / np.sqrt(expected + 1e-8)
    assert mmd.power_criterion(k_xx, k_yy, k_xy) == pytest.approx(j)


def gaussian_mmd2(shift, h, d=1):
    """Closed form for N(0, I) against N(shift, I) in d dimensions, the shift along one axis."""
    alike = (h**2 / (h**2 + 2)) ** (d / 2)
    return 2 * alike * (1 - np.exp(-(shift**2) / (2 * (h**2 + 2))))


@pytest.mark.simulation
@pytest.mark.parametrize("n_x, n_y", [(20, 20), (20, 35)])
def test_statistic_is_unbiased_for_gaussians(n_x, n_y):
    rng = np.random.default_rng(1)
    found = [
        two_sample.mmd2(*blocks(rng.normal(size=(n_x, 1)), rng.normal(size=(n_y, 1)) + 1))
        for _ in range(2000)
    ]
    error = np.std(found) / np.sqrt(2000)
    assert abs(np.mean(found) - gaussian_mmd2(1.0, 1.0)) < 4 * error


@pytest.mark.simulation
def test_variance_and_predicted_power_agree_with_simulation():
    rng, n, shift = np.random.default_rng(2), 100, 0.6
    found, variances = [], []
    for _ in range(600):
        k = list(blocks(rng.normal(size=(n, 1)), rng.normal(size=(n, 1)) + shift))
        found.append(two_sample.mmd2(*k))
        variances.append(two_sample.mmd2_variance(*k))
    assert np.mean(variances) / n == pytest.approx(np.var(found), rel=0.25)
    threshold = gaussian_mmd2(shift, 1.0) * 0.8
    predicted = two_sample.predicted_power(
        gaussian_mmd2(shift, 1.0), np.mean(variances), threshold, n
    )
    assert predicted == pytest.approx(np.mean(np.array(found) > threshold), abs=0.07)


def test_kernels_are_their_formulas():
    x, y = sets(6, 4)
    np.testing.assert_allclose(
        two_sample.gaussian_kernel(x, y, 0.7), np.exp(-(cdist(x, y) ** 2) / (2 * 0.49)), rtol=1e-10
    )
    rep_x, rep_y = x[:, 0] ** 2, y[:, 0] ** 2
    expected = np.array(
        [
            [
                (0.9 * np.exp(-((a - b) ** 2) / 8) + 0.1) * np.exp(-((u - v) ** 2).sum() / 18)
                for b, v in zip(rep_y, y)
            ]
            for a, u in zip(rep_x, x)
        ]
    )
    np.testing.assert_allclose(
        two_sample.deep_kernel(rep_x, x, rep_y, y, 0.1, 2.0, 3.0), expected, rtol=1e-12
    )
    assert two_sample.median_bandwidth(x) == pytest.approx(
        np.median(cdist(x, x)[np.triu_indices(6, 1)])
    )


def test_distances_keep_their_digits_far_from_the_origin():
    x, y = sets(20, 20, d=5)
    x, y = x * 1e-3 + 1e4, y * 1e-3 + 1e4
    np.testing.assert_allclose(
        kernels.squared_distances(x, y), cdist(x, y, "sqeuclidean"), rtol=1e-6, atol=1e-14
    )
    assert (np.diag(kernels.squared_distances(x, x.copy())) == 0).all()


@pytest.mark.parametrize("n", [300, 1200])  # most pairs close, and a few of many
@pytest.mark.parametrize("d", [1, 4])
def test_distances_of_what_lies_close_beside_a_few_that_lie_far(n, d):
    """Losses of a model that is sure: 1e-9 beside 10. Differences are exact, in C and here."""
    rng = np.random.default_rng(1)
    x = np.exp(rng.normal(-9, 3, (n, d))) if n == 300 else rng.normal(size=(n, d)) ** 5
    x[0], x[5:8] = 10.0, x[9]
    squares = kernels.squared_distances(x, x.copy())
    np.testing.assert_allclose(squares, cdist(x, x, "sqeuclidean"), rtol=1e-6)
    assert (squares[5:8, 9] == 0).all() and (np.diag(squares) == 0).all()
    apart = squares[np.triu_indices(n, 1)]
    width = two_sample.median_bandwidth(x)
    assert width == pytest.approx(np.sqrt(np.median(apart[apart > 0])), rel=1e-12)
    literal = [np.sqrt(((a - b) ** 2).sum()) for k, a in enumerate(x[:300]) for b in x[:k]]
    assert n > 300 or width == pytest.approx(np.median([one for one in literal if one]), rel=1e-6)


def test_images_are_flattened():
    x = np.random.default_rng(0).normal(size=(5, 3, 2))
    flat = x.reshape(5, 6)
    np.testing.assert_array_equal(
        two_sample.gaussian_kernel(x, x, 1.0), two_sample.gaussian_kernel(flat, flat, 1.0)
    )


@pytest.mark.parametrize("n_x, n_y", [(6, 6), (6, 9)])
def test_permuted_statistics_are_those_of_permuted_sets(n_x, n_y):
    pooled = np.concatenate(sets(n_x, n_y))
    gram = two_sample.gaussian_kernel(pooled, pooled, 1.0)
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(n_x + n_y) for _ in range(20)])
    expected = [literal_mmd2(*blocks(pooled[order[:n_x]], pooled[order[n_x:]])) for order in orders]
    np.testing.assert_allclose(
        permutation.permuted_statistics(gram, n_x, orders), expected, atol=1e-13
    )


def test_p_value_counts_the_observed_and_ties():
    ones = np.ones((8, 8))  # every permutation is a tie
    assert two_sample.permutation_test(ones, 4, 99, np.random.default_rng(0)).p_value == 1.0
    pooled = np.concatenate(sets(40, 40, shift=3.0))
    result = two_sample.permutation_test(
        two_sample.gaussian_kernel(pooled, pooled, 2.0), 40, 99, np.random.default_rng(0)
    )
    assert result.p_value == 0.01
    assert result.statistic == pytest.approx(literal_mmd2(*blocks(pooled[:40], pooled[40:], 2.0)))


@pytest.mark.parametrize("n_x, n_y", [(30, 30), (20, 45)])
def test_single_precision_never_changes_the_count(n_x, n_y):
    pooled = np.round(
        np.concatenate(sets(n_x, n_y, shift=0.2)), 1
    )  # rounded, so that there are ties
    gram = two_sample.gaussian_kernel(pooled, pooled, 1.5)
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.broadcast_to(np.arange(n_x + n_y), (2000, n_x + n_y)), axis=1)
    exact = permutation.permuted_statistics(gram, n_x, orders)
    for observed in (exact[0], np.median(exact), exact.max()):
        assert (
            permutation.count_at_least(gram, n_x, orders, observed, 1.0)
            == (exact >= observed - 1e-12).sum()
        )


def test_blocks_of_permutations_do_not_change_the_result(monkeypatch):
    pooled = np.concatenate(sets(10, 12, shift=0.5))
    gram = two_sample.gaussian_kernel(pooled, pooled, 1.0)
    whole = two_sample.permutation_test(gram, 10, 99, np.random.default_rng(3))
    monkeypatch.setattr(permutation, "AT_ONCE", 22 * 7)
    assert two_sample.permutation_test(gram, 10, 99, np.random.default_rng(3)) == whole


@pytest.mark.simulation
@pytest.mark.parametrize("n_x, n_y", [(20, 20), (15, 25)])
def test_level_of_the_permutation_test(n_x, n_y):
    """Both sets drawn anew: rejections are binomial(1000, 0.05); 29 and 74 are its 0.1 % limits."""
    rng, rejections = np.random.default_rng(4), 0
    for _ in range(1000):
        pooled = rng.standard_t(3, size=(n_x + n_y, 2))
        gram = two_sample.gaussian_kernel(pooled, pooled, two_sample.median_bandwidth(pooled))
        rejections += two_sample.permutation_test(gram, n_x, 99, rng).p_value <= 0.05
    assert 29 <= rejections <= 74


@pytest.mark.simulation
def test_level_of_the_learned_kernel():
    """Ten fits, each tested on 20 fresh pairs from the same pool's law."""
    rng, rejections = np.random.default_rng(5), 0
    for _ in range(10):
        raw = rng.normal(size=(2, 30, 2))
        test = two_sample.HrMmd(n_steps=30, n_permutations=99, rng=rng).fit(
            raw[0, :, 0], raw[0], raw[1, :, 0], raw[1]
        )
        for _ in range(20):
            x, y = rng.normal(size=(2, 30, 2))
            rejections += test.test(x[:, 0], x, y[:, 0], y).p_value <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], 200, 0.05)
    assert low <= rejections <= high


def test_power_curve_is_the_literal_loop():
    """Every p-value again by cutting permuted sets out of the matrix, from the same random
    numbers.
    """
    rng = np.random.default_rng(0)
    member, pooled = rng.random(40) < 0.4, rng.normal(size=(40, 2))
    pooled[member] += 0.8
    gram = two_sample.gaussian_kernel(pooled, pooled, 1.0)
    shares, size, asked = [0.0, 0.26, 1.0], 8, []

    def kernel(records):
        asked.append(records)
        return gram[np.ix_(records, records)]

    found = two_sample.power_curve(
        kernel, member, size, shares, n_repeats=5, n_permutations=39, rng=np.random.default_rng(3)
    )
    assert found.shape == (3, 5) and len(asked) == 15
    again, expected = np.random.default_rng(3), []
    for share in shares:
        for _ in range(5):
            count = round(share * size)
            outside = again.choice(np.flatnonzero(~member), 2 * size - count, replace=False)
            s_y = np.append(
                again.choice(np.flatnonzero(member), count, replace=False), outside[size:]
            )
            records = np.append(outside[:size], again.permutation(s_y))
            orders = again.permuted(np.tile(np.arange(16), (39, 1)), axis=1)
            values = [
                literal_mmd2(*(gram[np.ix_(a, b)] for a, b in ((x, x), (y, y), (x, y))))
                for x, y in (
                    (records[order[:8]], records[order[8:]]) for order in (np.arange(16), *orders)
                )
            ]
            expected.append(np.mean(np.array(values) >= values[0] - 1e-12))
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-12)
    for records, count in zip(asked, np.repeat([0, 2, 8], 5)):
        assert (
            len(set(records)) == 16
            and member[records[:8]].sum() == 0
            and member[records[8:]].sum() == count
        )


@pytest.mark.simulation
def test_power_curve_holds_its_level_and_rises():
    rng = np.random.default_rng(0)
    member, score = np.arange(400) < 100, rng.normal(size=400) + np.repeat([2.0, 0.0], [100, 300])
    gram = two_sample.gaussian_kernel(score, score, 1.0)
    p = two_sample.power_curve(
        lambda r: gram[np.ix_(r, r)],
        member,
        40,
        [0.0, 0.2, 0.6],
        n_repeats=400,
        n_permutations=99,
        rng=rng,
    )
    rejected = (p <= 0.05).sum(axis=1)
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.05)
    assert low <= rejected[0] <= high < rejected[1] < rejected[2]


def test_gradient_of_the_criterion_is_its_finite_difference():
    x, y = sets(12, 12, shift=0.4)
    one, other = slice(0, 12), slice(12, 24)
    squares = [
        kernels.squared_distances(z, z)
        for z in (np.concatenate([x, y])[:, :1] ** 3, np.concatenate([x, y]))
    ]
    pairs = [
        [torch.from_numpy(d[a, b]) for d in squares]
        for a, b in ((one, one), (other, other), (one, other))
    ]
    free = torch.tensor([-1.0, 0.3, 0.8], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: hr_mmd.criterion(f, pairs, 1e-8), (free,))
    epsilon, widths = 1 / (1 + np.exp(1.0)), np.exp([0.3, 0.8])
    rep, n = np.concatenate([x, y])[:, :1] ** 3, 12
    k = two_sample.deep_kernel(
        rep, np.concatenate([x, y]), rep, np.concatenate([x, y]), epsilon, *widths
    )
    expected = mmd.power_criterion(k[:n, :n], k[n:, n:], k[:n, n:])
    assert float(hr_mmd.criterion(free, pairs, 1e-8).detach()) == pytest.approx(expected)


def test_fitting_raises_the_criterion_and_finds_a_difference_in_the_representation():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(4, 100, 5))
    rep = rng.normal(size=(4, 100, 2)) + np.array([0, 1.5, 0, 1.5])[:, None, None]
    test = two_sample.HrMmd(rng=rng).fit(rep[0], raw[0], rep[1], raw[1])
    assert test.criterion[-1] > test.criterion[0]
    assert test.test(rep[2], raw[2], rep[3], raw[3]).p_value < 0.01
    p_raw = two_sample.permutation_test(
        two_sample.gaussian_kernel(raw[2:].reshape(200, 5), raw[2:].reshape(200, 5), 3.0),
        100,
        rng=rng,
    ).p_value
    assert p_raw > 0.01  # the records themselves are alike


def test_equal_sets_and_constant_representations_give_numbers():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(20, 2))
    same = raw[:, 0], raw
    test = two_sample.HrMmd(n_permutations=99, rng=rng).fit(
        *same, *same
    )  # J is 0 whatever the kernel
    assert np.isfinite([*test.criterion, *test.parameters.values()]).all()
    assert test.test(*same, *same).p_value > 0.05
    alike = np.ones(20)
    assert (
        test.test(alike, raw, alike, raw).p_value
        > 0.05
        > test.test(alike, raw, alike, raw + 3).p_value
    )
    assert test.test(alike, np.ones((20, 2)), alike[:15], np.ones((15, 2))).p_value == 1.0


def test_repeated_test_draws_from_the_pool():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(300, 2))
    raw[240:] += 2
    test = two_sample.HrMmd(n_permutations=99, rng=rng).fit(
        raw[:30, 0], raw[:30], raw[240:270, 0], raw[240:270]
    )
    p_values = two_sample.repeat_test(
        test, raw[30:240, 0], raw[30:240], raw[270:, 0], raw[270:], n_repeats=20, rng=rng
    )
    assert p_values.shape == (20,) and (p_values <= 0.05).all()
    same = two_sample.repeat_test(
        test, raw[30:200, 0], raw[30:200], raw[200:240, 0], raw[200:240], n_repeats=20, rng=rng
    )
    assert same.mean() > 0.05


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: two_sample.gaussian_kernel([[0.0]], [[1.0]], 0), "bandwidth: given 0"),
        (lambda: two_sample.gaussian_kernel([[0.0]], [[1.0, 2.0]], 1), "y: given 2 features"),
        (lambda: two_sample.gaussian_kernel([[np.nan]], [[1.0]], 1), "x: "),
        (
            lambda: two_sample.deep_kernel([0.0], [[0.0]], [0.0], [[0.0]], 2, 1, 1),
            "epsilon: given 2",
        ),
        (
            lambda: two_sample.deep_kernel([0.0], [[0.0], [1.0]], [0.0], [[0.0]], 0, 1, 1),
            "raw_x: given 2 records",
        ),
        (
            lambda: two_sample.median_bandwidth(np.ones((5, 2))),
            "x: given records that are all the same",
        ),
        (
            lambda: two_sample.mmd2(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1))),
            "k_xx: given 1 records",
        ),
        (
            lambda: two_sample.mmd2_variance(np.ones((2, 2)), np.ones((3, 3)), np.ones((2, 3))),
            "k_xy: given shape",
        ),
        (lambda: two_sample.permutation_test(np.ones((3, 3)), 1), "gram: given shape"),
        (
            lambda: two_sample.permutation_test(np.triu(np.ones((6, 6))), 3),
            "gram: given an array that is not symmetric",
        ),
        (lambda: two_sample.permutation_test(np.ones((6, 6)), 5), "n_x: given 5"),
        (lambda: two_sample.permutation_test(np.ones((6, 6)), 3, 0), "n_permutations: given 0"),
        (lambda: two_sample.HrMmd(n_steps=-1), "n_steps: given -1"),
        (lambda: two_sample.HrMmd(n_permutations=0), "n_permutations: given 0"),
        (lambda: two_sample.deep_kernel([0.0], [0.0], [0.0], [0.0], 0, 0, 1), "bandwidth"),
        (lambda: two_sample.HrMmd().test([0], [0], [0], [0]), "test before fit"),
        (
            lambda: two_sample.HrMmd().fit(np.ones(9), np.arange(9), np.ones(9), np.arange(9)),
            "rep_x, rep_y: given records",
        ),
        (
            lambda: two_sample.HrMmd().fit(*[np.arange(5.0)] * 2, *[np.arange(6.0)] * 2),
            "rep_y: given 6 records",
        ),
        (lambda: two_sample.HrMmd().fit(*[np.arange(3.0)] * 4), "rep_x: given 3 records"),
        (lambda: two_sample.power_curve(len, np.ones(9), 2, [0.5]), "member: given float64"),
        (
            lambda: two_sample.power_curve(len, np.arange(9) < 3, 5, [0.5]),
            "member: given 6 non-members, expected at least 8",
        ),
        (
            lambda: two_sample.power_curve(len, np.arange(90) < 3, 5, [1.0]),
            "member: given 3 members, expected at least 5",
        ),
        (lambda: two_sample.power_curve(len, np.arange(9) < 3, 2, [1.5]), "shares: given"),
        (lambda: two_sample.repeat_test(None, [0], [0], [0], [0]), "test: given NoneType"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_median_kernel_is_that_of_the_records_asked_for():
    values = np.random.default_rng(0).normal(size=(9, 2))
    values[:3] = 0.5
    kernel, asked = two_sample.median_kernel(values), [8, 2, 5, 0]
    some = values[asked]
    distances = np.linalg.norm(some[:, None] - some, axis=2)
    above = distances[np.triu_indices(4, 1)]
    width = np.median(above[above > 0])
    np.testing.assert_allclose(kernel(asked), np.exp(-(distances**2) / (2 * width**2)))
    np.testing.assert_array_equal(kernel([0, 1, 2]), np.ones((3, 3)))


def test_a_fitted_kernel_gives_the_test_that_was_fitted():
    rng = np.random.default_rng(1)
    rep, raw = rng.normal(size=(60, 1)), rng.normal(size=(60, 3))
    test = two_sample.HrMmd(n_steps=5, n_permutations=39, rng=np.random.default_rng(2))
    with pytest.raises(ValueError, match="test: given one before fit"):
        two_sample.fitted_kernel(test, rep, raw)
    test.fit(rep[:10], raw[:10], rep[10:20], raw[10:20])
    kernel = two_sample.fitted_kernel(test, rep[20:], raw[20:])
    gram = kernel(np.arange(40)[::-1])[::-1, ::-1]
    found = two_sample.permutation_test(gram, 20, 39, np.random.default_rng(2))
    assert found == test.test(rep[20:40], raw[20:40], rep[40:], raw[40:])


def test_every_repeated_set_is_drawn_without_replacement():
    class Noted(two_sample.HrMmd):
        drawn = []

        def test(self, rep_x, raw_x, rep_y, raw_y, **options):
            self.drawn.append((rep_x[:, 0].tolist(), raw_x[:, 0].tolist(), len(rep_y)))
            return two_sample.TestResult(0.0, len(self.drawn) / 10)

    pool = np.arange(6.0)[:, None]
    found = two_sample.repeat_test(
        Noted(), pool, pool + 10, pool[:6], pool[:6], n_repeats=4, rng=np.random.default_rng(0)
    )
    assert found.tolist() == [0.1, 0.2, 0.3, 0.4]
    for rep, raw, size in Noted.drawn:
        assert sorted(rep) == pool[:, 0].tolist() and size == 6  # all of them, once
        assert raw == [number + 10 for number in rep]
    assert len({tuple(rep) for rep, _, _ in Noted.drawn}) > 1


def by_counts(n, n_y, ones, seen, other):
    """p over all splits of a pool of two kinds of record, `ones` of the first, `seen` of those in
    y: the statistic knows their number alone. `other` is the kernel between the kinds.
    """
    k = np.arange(n_y + 1)

    def within(a, b):
        return (a * (a - 1) + b * (b - 1) + 2 * a * b * other) / ((a + b) * (a + b - 1))

    x, y = (ones - k, n - n_y - ones + k), (k, n_y - k)
    between = (x[0] * y[0] + x[1] * y[1] + (x[0] * y[1] + x[1] * y[0]) * other) / (n_y * (n - n_y))
    value = within(*x) + within(*y) - 2 * between
    return stats.hypergeom.pmf(k, n, ones, n_y)[value >= value[seen] - 1e-12].sum()


@pytest.mark.parametrize("name", ["permutation_test", "within_class_test"])
def test_a_small_second_set_has_the_p_value_of_its_splits(name):
    n, n_y, ones, seen = 1000, 4, 450, 3
    z = np.zeros(n)
    z[: ones - seen] = z[-seen:] = 1
    gram = np.where(z[:, None] == z, 1.0, 0.3)
    options = {} if name == "permutation_test" else {"labels": np.zeros(n, int)}
    found = getattr(two_sample, name)(
        gram, n_x=n - n_y, n_permutations=999, rng=np.random.default_rng(2), **options
    )
    exact = by_counts(n, n_y, ones, seen, 0.3)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 999))


def test_records_of_other_features_than_the_fitted_ones_are_refused():
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(2, 8, 3))
    test = two_sample.HrMmd(n_steps=0, n_permutations=1, rng=rng).fit(*raw[[0, 0, 1, 1]])
    few = raw[..., :1]
    with pytest.raises(ValueError, match="^rep_x: given 1 features, expected 3 as rep of fit"):
        test.test(few[0], raw[0], few[1], raw[1])
    with pytest.raises(ValueError, match="^raw_x: given 1 features, expected 3 as raw of fit"):
        test.test(raw[0], few[0], raw[1], few[1])
    assert test.test(*raw[[0, 0, 1, 1]]).p_value <= 1


def test_a_fitted_kernel_takes_tables():
    x = np.random.default_rng(0).normal(size=(2, 9, 2))
    test = two_sample.HrMmd(n_steps=0).fit(x[0], x[0], x[1], x[1])
    tables = [pd.DataFrame(x[0], index=range(50, 59))] * 2
    found = two_sample.fitted_kernel(test, *tables)([0, 5, 8])
    np.testing.assert_array_equal(found, two_sample.fitted_kernel(test, x[0], x[0])([0, 5, 8]))
