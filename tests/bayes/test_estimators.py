"""Split estimators and permutation, against literal loops, full enumeration and data whose
advantage is known.
"""

import itertools

import numpy as np
import pytest

from mia_lib import bayes
from mia_lib.bayes import estimators

EDGES = [np.linspace(0, 1, 101)]


def dealt_anew(member, nonmember, prior=0.5, *, bins=100, n_permutations=999, rng=None):
    """W_N when the labels are dealt out anew."""
    query = bayes.Histogram(member, nonmember, prior, bins)
    return estimators._permuted(query, n_permutations, rng)


@pytest.fixture
def rng():
    return np.random.default_rng(9)


def literal_w(x, y, prior, edges):
    p, q = np.histogram(x, edges)[0] / len(x), np.histogram(y, edges)[0] / len(y)
    return np.abs(prior * p - (1 - prior) * q).sum()


def literal_split(x, y, prior, edges, rng):
    """v1's Algorithm 1 and the sign-split on one random split, by loops."""
    x, y = rng.permutation(x), rng.permutation(y)
    fit, fresh = (x[: len(x) // 2], y[: len(y) // 2]), (x[len(x) // 2 :], y[len(y) // 2 :])
    counts = [np.histogram(half, edges)[0] / len(half) for half in fit]
    absolute, right = 0.0, 0.0
    for half, weight, truth in zip(fresh, (prior, 1 - prior), (1, -1)):
        for value in half:
            j = min(np.searchsorted(edges, value, side="right") - 1, len(edges) - 2)
            a, b = prior * counts[0][j], (1 - prior) * counts[1][j]
            f = (a - b) / (a + b) if a + b > 0 else 2 * prior - 1
            absolute += weight * abs(f) / len(half)
            right += weight * ((1 if f >= 0 else -1) == truth) / len(half)
    return absolute, 2 * right - 1


@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_split_estimators_have_the_mean_of_the_literal_algorithm(rng, prior):
    edges = np.linspace(0, 1, 21)
    ours, literal = [], []
    for _ in range(150):
        x, y = rng.random(60) ** 1.5, rng.random(80)
        ours.append(
            (
                bayes.split_advantage(x, y, prior, edges, rng=rng).value,
                bayes.sign_split_advantage(x, y, prior, edges, rng=rng).value,
            )
        )
        literal.append(literal_split(x, y, prior, edges, rng))
    difference = np.mean(ours, axis=0) - np.mean(literal, axis=0)
    error = np.hypot(np.std(ours, axis=0), np.std(literal, axis=0)) / np.sqrt(150)
    assert (np.abs(difference) < 4 * error).all(), (difference, error)


def test_where_nothing_leaks_the_plug_in_finds_some_the_split_more_and_the_sign_split_none(rng):
    values = []
    for _ in range(60):
        x, y = rng.random(500), rng.random(500)
        values.append(
            (
                bayes.Histogram(x, y, bins=EDGES).advantage().value,
                bayes.split_advantage(x, y, bins=EDGES, rng=rng).value,
                bayes.sign_split_advantage(x, y, bins=EDGES, rng=rng).value,
                dealt_anew(x, y, bins=EDGES, n_permutations=20, rng=rng).mean(),
            )
        )
    w, split, sign, permuted = np.mean(values, axis=0)
    assert w == pytest.approx(0.246, abs=0.01)
    assert split == pytest.approx(0.386, abs=0.02)
    assert abs(sign) < 4 * np.std(np.array(values)[:, 2]) / np.sqrt(60)
    assert permuted == pytest.approx(w, abs=0.01)


def test_averaging_f_instead_of_its_absolute_value_finds_nothing(rng):
    # The misprint of v1's Algorithm 1: the population mean of f is 2 p - 1 however much leaks.
    x, y = rng.normal(size=20_000) + 1, rng.normal(size=20_000)
    fitted = bayes.Histogram(x[:10_000], y[:10_000], bins=np.linspace(-10, 10, 101))
    f = [np.nan_to_num(fitted.risk(s[10_000:])).mean() for s in (x, y)]
    assert np.mean(f) == pytest.approx(0, abs=0.01)
    assert bayes.sign_split_advantage(x, y).value == pytest.approx(0.383, abs=0.03)


def test_data_that_separate():
    x, y = np.full(20, 1.0), np.full(31, 0.0)
    for estimate in (bayes.split_advantage(x, y, 0.3, 2), bayes.sign_split_advantage(x, y, 0.3, 2)):
        assert (
            estimate.value == pytest.approx(1)
            and estimate.low < 1
            and estimate.high == pytest.approx(1)
        )
    assert bayes.permutation_p_value(x, y, 0.5, bins=2, n_permutations=99) == pytest.approx(0.01)


def test_a_seed_repeats_and_none_does_not():
    x, y = np.random.default_rng(0).random((2, 300))
    for function in (bayes.split_advantage, bayes.sign_split_advantage, bayes.permutation_p_value):
        a, b = (function(x, y, rng=np.random.default_rng(4)) for _ in range(2))
        assert a == b
    assert bayes.split_advantage(x, y) != bayes.split_advantage(x, y)


@pytest.mark.parametrize("prior", [0.5, 0.3])
def test_permutation_distribution_by_enumeration(rng, prior):
    pooled, edges = np.array([0.1, 0.1, 0.4, 0.4, 0.6, 0.9, 0.95]), np.linspace(0, 1, 4)
    every = []
    for chosen in itertools.combinations(range(7), 3):
        member = np.isin(np.arange(7), chosen)
        every.append(literal_w(pooled[member], pooled[~member], prior, edges))
    drawn = dealt_anew(pooled[:3], pooled[3:], prior, bins=edges, n_permutations=20_000, rng=rng)
    values, counts = np.unique(np.round(every, 9), return_counts=True)
    share = np.array([(np.abs(drawn - v) < 1e-8).mean() for v in values])
    assert share.sum() == pytest.approx(1)
    np.testing.assert_allclose(share, counts / 35, atol=0.02)
    observed = literal_w(pooled[:3], pooled[3:], prior, edges)
    exact = (np.array(every) >= observed - 1e-12).mean()
    p_value = bayes.permutation_p_value(
        pooled[:3], pooled[3:], prior, bins=edges, n_permutations=20_000, rng=rng
    )
    assert p_value == pytest.approx(exact, abs=0.02)


def test_permutation_in_blocks_and_in_two_dimensions(rng, monkeypatch):
    x, y = rng.random((200, 2)) ** 1.2, rng.random((300, 2))
    a = dealt_anew(x, y, bins=5, n_permutations=400, rng=rng)
    monkeypatch.setattr(bayes.estimators, "DRAWS", 100)
    b = dealt_anew(x, y, bins=5, n_permutations=400, rng=rng)
    assert a.shape == b.shape == (400,)
    assert a.mean() == pytest.approx(b.mean(), abs=4 * a.std() * np.sqrt(2 / 400))


def test_p_value_counts_the_observed_labelling(rng):
    x, y = rng.random(50), rng.random(50)
    for n in (1, 19):
        assert bayes.permutation_p_value(x, y, n_permutations=n, rng=rng) >= 1 / (n + 1)


@pytest.mark.parametrize(
    "function", [bayes.split_advantage, bayes.sign_split_advantage, bayes.permutation_p_value]
)
@pytest.mark.parametrize(
    "change, message",
    [
        ({"member_signal": [1.0]}, "member_signal: given 1 examples"),
        ({"nonmember_signal": [np.nan, 1.0, 2.0]}, "nonmember_signal: given 1 NaN"),
        ({"member_signal": np.ones(5), "nonmember_signal": np.ones(5)}, "constant signal"),
        ({"prior": 0}, "prior"),
        ({"prior": 1}, "prior"),
        ({"bins": 0}, "bins: given 0"),
        ({"rng": 1}, "rng: given int"),
    ],
)
def test_bad_input(function, change, message):
    arguments = {"member_signal": np.arange(5.0), "nonmember_signal": np.arange(6.0)} | change
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_bad_numbers():
    x = np.arange(6.0)
    for function in (bayes.split_advantage, bayes.sign_split_advantage):
        for delta in (0, 1, 3):
            with pytest.raises(ValueError, match="delta"):
                function(x, x, delta=delta)
    for n in (0, 1.5):
        with pytest.raises(ValueError, match="n_permutations"):
            bayes.permutation_p_value(x, x, n_permutations=n)


def literal_held_out(x, y, prior, bins, rng):
    """2 accuracy - 1 of the sign of f, fitted on one half and judged on the other, by loops."""
    x_first, y_first = (
        set(rng.permutation(rows)[: len(rows) // 2].tolist())
        for rows in (np.arange(len(x)), np.arange(len(x), len(x) + len(y)))
    )
    values, inside = np.concatenate([x, y]), [True] * len(x) + [False] * len(y)
    fit = [i for i in range(len(values)) if i in x_first or i in y_first]
    low, high = min(values[i] for i in fit), max(values[i] for i in fit)

    def cell(value):
        return min(int((value - low) / (high - low) * bins), bins - 1)

    right = {True: [], False: []}
    for i in sorted(set(range(len(values))) - set(fit)):
        a, b = (
            weight
            * np.mean([cell(values[j]) == cell(values[i]) for j in fit if inside[j] is group])
            for weight, group in ((prior, True), (1 - prior, False))
        )
        outside = not low <= values[i] <= high
        called = prior > 0.5 if outside or a + b == 0 else a > b
        right[inside[i]].append(called == inside[i])
    return 2 * (prior * np.mean(right[True]) + (1 - prior) * np.mean(right[False])) - 1


@pytest.mark.parametrize("prior", [0.5, 0.7])
def test_held_out_advantages_are_the_literal_ones_on_the_same_halves(prior):
    data = np.random.default_rng(3)
    x, y, member = data.random(20) ** 2, data.random(30), np.arange(50) < 20
    found = bayes.held_out_advantages(
        {"one": np.concatenate([x, y])},
        member,
        prior,
        bins=5,
        n_splits=3,
        rng=np.random.default_rng(4),
    )
    same = np.random.default_rng(4)
    wanted = [literal_held_out(x, y, prior, 5, same) for _ in range(3)]
    assert found["one"] == pytest.approx(np.mean(wanted), abs=1e-12)


def test_held_out_queries_share_their_halves_and_the_heuristic_its_scores(rng):
    signal, member = rng.random(40), np.arange(40) < 15
    both = {"one": signal, "again": signal, "shifted": 2 * signal + 1}
    found = bayes.held_out_advantages(both, member, bins=4, score=signal, rng=rng)
    assert found["one"] == found["again"] == pytest.approx(found["shifted"], abs=0.2)
    sure = bayes.held_out_advantages({}, member, score=1.0 * member, rng=rng)
    assert sure == {"heuristic": 1.0}


def test_held_out_advantages_of_noise_have_mean_0_in_two_dimensions():
    rng, member = np.random.default_rng(5), np.arange(120) < 40
    found = [
        bayes.held_out_advantages(
            {"two": rng.random((120, 2))}, member, bins=10, n_splits=2, rng=rng
        )["two"]
        for _ in range(60)
    ]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(60)


def test_held_out_advantages_name_what_does_not_fit(rng):
    member = np.arange(20) < 10
    with pytest.raises(ValueError, match="^one: given 19 records, expected 20"):
        bayes.held_out_advantages({"one": rng.random(19)}, member)
    with pytest.raises(ValueError, match="^member: given 3 of 20"):
        bayes.held_out_advantages({"one": rng.random(20)}, np.arange(20) < 3)
    with pytest.raises(ValueError, match="^n_splits: given 0"):
        bayes.held_out_advantages({"one": rng.random(20)}, member, n_splits=0)
    score = rng.random(20)
    for signals, who, added, said in (
        ([score], member, None, "^signals: given list"),
        ({}, member, None, "^signals: given no query and no score"),
        ({"heuristic": score}, member, score, "^signals: given a query named heuristic"),
        ({"one": score}, member[:, None], None, "^member: given shape"),
        ({"one": score}, member, score[:, None], "^score: given shape"),
        ({"one": 3.0}, member, None, "^one: given shape"),
    ):
        with pytest.raises(ValueError, match=said):
            bayes.held_out_advantages(signals, who, score=added)
    alone = bayes.held_out_advantages({"heuristic": score}, member, bins=2)  # a free name
    assert list(alone) == ["heuristic"]
