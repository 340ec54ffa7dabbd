"""Attacks with shadow models against literal loops, signals that carry nothing, and bad input."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from mia_lib import attacks, lira, metrics, shadow


def made(n_models, n, seed, gap=1.0, coarse=None):
    """Signals at most 0 with effects of example and membership, unequal masks; rounded where
    `coarse` is given.
    """
    rng = np.random.default_rng(seed)
    counts = rng.integers(4, n_models - 3, n)
    member = rng.random((n_models, n)).argsort(axis=0) < counts
    x = rng.normal(size=(n_models, n)) + rng.normal(size=n) * 3 + gap * member
    x = -np.log1p(np.exp(-x))
    return (x if coarse is None else np.round(x / coarse) * coarse), member


def literal_midpoint(x, inside, outside):
    return x - (sum(inside) / len(inside) + sum(outside) / len(outside)) / 2


def literal_difficulty(x, inside, outside):
    return x - sum(outside) / len(outside)


def literal_quantile(x, inside, outside):
    return sum(1.0 if o < x else 0.5 if o == x else 0.0 for o in outside) / len(outside)


def literal_tail(x, inside, outside):
    """Survival function: knots at distinct values, linear between, scipy's exponential fit
    beyond.
    """
    out = sorted(outside)
    m = len(out)
    knots = sorted(set(out))
    heights = [(sum(o < v for o in out) + sum(o == v for o in out) / 2) / m for v in knots]
    k = max(2, math.ceil(0.1 * m))
    _, scale = stats.expon.fit(np.array(out[-k:]), floc=out[-k - 1])
    scale = max(scale, 1e-12 * max(1e-12, max(abs(o) for o in out)))
    if x > knots[-1]:
        return -math.log(1 - heights[-1]) - stats.expon.logsf(x, knots[-1], scale)
    if x < knots[0]:
        return -math.log(1 - heights[0] * stats.expon.sf(-x, -knots[0], scale))
    return -math.log(1 - np.interp(x, knots, heights))


LITERAL = {
    attacks.midpoint: literal_midpoint,
    attacks.difficulty_calibration: literal_difficulty,
    attacks.reference_quantile: literal_quantile,
    attacks.outlier_tail: literal_tail,
}
of_one_example = pytest.mark.parametrize("attack", LITERAL, ids=lambda attack: attack.__name__)


def literal_every_target(x, member, formula):
    """Target by target and example by example; of the other group the lowest-numbered model is left
    out.
    """
    scores = np.empty(x.shape)
    for s in range(len(x)):
        for i in range(x.shape[1]):
            others = [t for t in range(len(x)) if t != s]
            others.remove(min(t for t in others if member[t, i] != member[s, i]))
            inside = [float(x[t, i]) for t in others if member[t, i]]
            outside = [float(x[t, i]) for t in others if not member[t, i]]
            scores[s, i] = formula(float(x[s, i]), inside, outside)
    return scores


@of_one_example
@pytest.mark.parametrize("coarse", [None, 0.5])
def test_one_target(attack, coarse):
    x, member = made(14, 30, 0, coarse=coarse)
    columns = [
        (x[1:][member[1:, i], i].tolist(), x[1:][~member[1:, i], i].tolist()) for i in range(30)
    ]
    want = [LITERAL[attack](float(x[0, i]), *columns[i]) for i in range(30)]
    np.testing.assert_allclose(attack(x[0], x[1:], member[1:]), want, rtol=1e-9, atol=1e-12)


@of_one_example
@pytest.mark.parametrize("coarse", [None, 0.5])
@pytest.mark.parametrize("n_models", [9, 26])
def test_every_target(attack, coarse, n_models):
    x, member = made(n_models, 15, 1, coarse=coarse)
    want = literal_every_target(x, member, LITERAL[attack])
    np.testing.assert_allclose(lira.leave_one_out(x, member, attack), want, rtol=1e-9, atol=1e-12)


@of_one_example
def test_every_target_equals_the_slow_path(attack):
    x, member = made(12, 20, 2)
    slow = lira.leave_one_out(x, member, lambda *arguments: attack(*arguments))
    np.testing.assert_allclose(lira.leave_one_out(x, member, attack), slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "attack", [attacks.difficulty_calibration, attacks.reference_quantile, attacks.outlier_tail]
)
def test_attacks_of_out_models_read_no_in_models(attack):
    """Examples that no model, one and two models were trained on."""
    x, member = made(10, 3, 4)
    member[:] = np.arange(10)[:, None] < [0, 1, 2]
    want = np.empty((10, 3))
    for s, i in np.ndindex(10, 3):
        out = [t for t in range(10) if not member[t, i]]
        out.remove(min(out) if member[s, i] else s)
        want[s, i] = LITERAL[attack](float(x[s, i]), [], [float(x[t, i]) for t in out])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lira.leave_one_out(x, member, attack)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


def test_one_huge_signal_costs_the_others_no_digits():
    x, member = made(10, 6, 3)
    x[2] = -1e12 + np.arange(6)
    want = literal_every_target(x, member, literal_difficulty)
    got = lira.leave_one_out(x, member, attacks.difficulty_calibration)
    own = ~member[2]  # there, targets other than 2 have it among their OUT models
    np.testing.assert_allclose(got[2, own], want[2, own], rtol=1e-12)
    np.testing.assert_allclose(
        got[:, ~own][[s for s in range(10) if s != 2]],
        want[:, ~own][[s for s in range(10) if s != 2]],
    )


def literal_rmia(target, shadow, member, gamma, slope):
    ratio = []
    for i in range(len(target)):
        inside, outside = [
            np.mean([math.exp(v) for v in shadow[side, i]])
            for side in (member[:, i], ~member[:, i])
        ]
        average = (
            (inside + outside) / 2 if slope is None else 0.5 * ((1 + slope) * outside + (1 - slope))
        )
        ratio.append(math.exp(target[i]) / average)
    n = len(ratio)
    return [
        sum(ratio[i] >= gamma * ratio[j] for j in range(n) if j != i) / (n - 1) for i in range(n)
    ]


class TestRmia:
    @pytest.mark.parametrize("slope", [None, 0.3])
    @pytest.mark.parametrize("gamma", [1.0, 1.7])
    def test_one_target(self, gamma, slope):
        x, member = made(9, 40, 4)
        want = literal_rmia(x[0], x[1:], member[1:], gamma, slope)
        np.testing.assert_allclose(
            attacks.rmia(x[0], x[1:], member[1:], gamma=gamma, slope=slope), want
        )

    @pytest.mark.parametrize("gamma", [1 + 2.0**-52, 1 + 1e-15, 1 + 1e-12, 1 + 1e-6])
    @pytest.mark.parametrize("size", [0.5, 8.0, 20.0])
    def test_a_gamma_just_above_one_is_no_tie(self, gamma, size):
        """Its logarithm may vanish beside a ratio's: nobody beats itself, or one equal to it."""
        target = -size * np.array([3.0, 1, 2, 3, 0, 1, 1, 4])
        shadow = np.full((2, 8), np.log(0.5))
        member = np.arange(2)[:, None] == np.zeros(8)
        below = [sum(other < one for other in target) / 7 for one in target]
        for slope in (None, 0.0):
            found = attacks.rmia(target, shadow, member, gamma=gamma, slope=slope)
            np.testing.assert_array_equal(found, below)
        at_one = [(sum(other <= one for other in target) - 1) / 7 for one in target]
        np.testing.assert_array_equal(attacks.rmia(target, shadow, member), at_one)

    @pytest.mark.parametrize("slope", [None, 0.3])
    def test_every_target_equals_the_slow_path(self, slope):
        x, member = made(12, 30, 5)
        slow = lira.leave_one_out(
            x, member, lambda *arguments: attacks.rmia(*arguments, slope=slope)
        )
        np.testing.assert_allclose(lira.leave_one_out(x, member, attacks.rmia, slope=slope), slow)

    def test_one_reference_model_is_enough_offline(self):
        x, _ = made(9, 200, 6)
        member = np.random.default_rng(6).random((2, 200)) < 0.5
        x = np.minimum(x[:2] + 0.8 * member, 0)
        score = attacks.rmia(x[0], x[1:], np.zeros((1, 200), bool), slope=0.3)
        assert metrics.roc(score, member[0]).auc > 0.55

    def test_probabilities_that_underflow_give_finite_scores(self):
        x, member = made(9, 20, 7)
        x[:, 0] = -2000 + np.arange(9)
        assert np.isfinite(lira.leave_one_out(x, member, attacks.rmia)).all()

    def test_bad_input(self):
        x, member = made(9, 20, 8)
        with pytest.raises(ValueError, match="target: given a largest value of 1"):
            attacks.rmia(x[0] * 0 + 1, x[1:], member[1:])
        with pytest.raises(ValueError, match="gamma: given 0.5"):
            attacks.rmia(x[0], x[1:], member[1:], gamma=0.5)
        with pytest.raises(ValueError, match="slope: given 2"):
            lira.leave_one_out(x, member, attacks.rmia, slope=2)
        with pytest.raises(ValueError, match="one example"):
            attacks.rmia(x[0, :1], x[1:, :1], member[1:, :1])


class TestClasses:
    def test_one_target(self):
        x, member = made(9, 120, 9)
        labels = np.random.default_rng(9).integers(0, 3, 120)
        got = attacks.class_calibrated(x[0], x[1:], member[1:], labels)
        for label in range(3):
            here = labels == label
            values, who = x[1:, here].ravel(), member[1:, here].ravel()
            gains = [
                ((values >= t)[who].mean() + (values < t)[~who].mean(), t)
                for t in np.unique(values)
            ]
            threshold = max(gains)[1]
            np.testing.assert_allclose(got[here], x[0, here] - threshold)

    def test_every_target_has_the_next_model_as_its_shadow(self):
        x, member = made(9, 120, 10)
        labels = np.random.default_rng(10).integers(0, 3, 120)
        got = lira.leave_one_out(x, member, attacks.class_calibrated, labels=labels)
        for s in range(9):
            t = (s + 1) % 9
            want = attacks.class_calibrated(x[s], x[t : t + 1], member[t : t + 1], labels)
            np.testing.assert_array_equal(got[s], want)


class TestNeighbours:
    def test_literal(self):
        features = np.random.default_rng(11).normal(size=(40, 3))
        want = []
        for i, a in enumerate(features):
            others = [b for j, b in enumerate(features) if j != i]
            want.append(sum(1 - a @ b / math.sqrt((a @ a) * (b @ b)) <= 0.2 for b in others))
        np.testing.assert_array_equal(attacks.neighbours(features, 0.2), want)
        assert 0 < np.mean(want) < 39

    def test_zeros(self):
        with pytest.raises(ValueError, match="features: given 1 rows of zeros"):
            attacks.neighbours(np.eye(3)[[0, 1]] * [[1], [0]], 0.1)

    @pytest.mark.parametrize("share", [0.025, 0.1, 0.34, 1.0])
    @pytest.mark.parametrize("radius", [0.0, 0.05, 2.0])
    def test_the_most_isolated_by_loops(self, share, radius):
        features = np.random.default_rng(13).normal(size=(40, 3))
        place = []
        for i, a in enumerate(features):
            others = [
                1 - a @ b / math.sqrt((a @ a) * (b @ b)) for j, b in enumerate(features) if j != i
            ]
            place.append((sum(d <= radius for d in others), -min(others)))
        want = sorted(range(40), key=place.__getitem__)[: math.ceil(share * 40)]
        found = attacks.most_isolated(features, share, radius=radius)
        np.testing.assert_array_equal(np.flatnonzero(found), sorted(want))

    @pytest.mark.parametrize(
        "n, share, count", [(30, 0.1, 3), (29, 0.1, 3), (7, 0.01, 1), (1, 1, 1), (3, 1e-7, 1)]
    )
    def test_a_share_is_a_share_even_of_examples_that_lie_alike(self, n, share, count):
        assert attacks.most_isolated(np.ones((n, 2)), share, radius=0.1).sum() == count

    def test_being_selected_does_not_tell_where_a_row_stood(self):
        """Members stacked on the others, and features that tie: as many of either are selected."""
        rng = np.random.default_rng(15)
        votes = np.eye(2)[rng.integers(0, 2, (40, 1000))]
        first = [attacks.most_isolated(v, 0.1, radius=0.1)[:500].sum() for v in votes]
        assert abs(np.mean(first) - 50) < 5 * 5 / np.sqrt(40)

    def test_equal_rows_are_neighbours_at_any_radius(self):
        twice = np.repeat(np.random.default_rng(16).normal(size=(50, 10)), 2, axis=0)
        assert (attacks.neighbours(twice, 0.0) == 1).all()
        assert attacks.most_isolated(twice, 1e-7, radius=0.1).sum() == 1

    @pytest.mark.parametrize("length", [1e-300, 1e-150, 1e-15, 1e160])
    def test_a_direction_has_no_length(self, length):
        features = length * np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        assert attacks.neighbours(features, 0.1).tolist() == [1, 1, 0]
        assert attacks.most_isolated(features, 0.1, radius=0.1).tolist() == [False, False, True]

    def test_isolation_is_told_in_blocks_as_at_once(self):
        features = np.random.default_rng(14).normal(size=(3200, 4))  # two blocks of 64 MB
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        far = 1 - unit @ unit.T
        np.fill_diagonal(far, np.inf)
        order = np.lexsort((-far.min(axis=1), (far <= 0.002).sum(axis=1)))
        assert ((far <= 0.002).sum(axis=1) == 0).sum() > 320  # so that distances decide
        found = attacks.most_isolated(features, 0.1, radius=0.002)
        np.testing.assert_array_equal(np.flatnonzero(found), np.sort(order[:320]))

    def test_those_that_are_not_vulnerable_score_zero(self):
        x, member = made(12, 20, 12)
        vulnerable = np.arange(20) % 3 == 0
        every, some = (
            lira.leave_one_out(x, member, attacks.outlier_tail, vulnerable=v)
            for v in (None, vulnerable)
        )
        assert (some[:, ~vulnerable] == 0).all()
        np.testing.assert_array_equal(some[:, vulnerable], every[:, vulnerable])
        np.testing.assert_array_equal(
            attacks.outlier_tail(x[0], x[1:], member[1:], vulnerable=vulnerable)[~vulnerable], 0
        )


class Linear:
    """Two models whose logits are linear in x."""

    def logits(self, state, x):
        return x @ state


class TestMerlin:
    def test_literal(self):
        rng = np.random.default_rng(13)
        state, x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(5, 3)), rng.integers(0, 4, 5)
        got = attacks.merlin(Linear(), scale=0.7, repeats=6, seed=3)(state, x, y)
        noise = np.random.default_rng(3)
        copies = [x + 0.7 * noise.standard_normal(x.shape, dtype=np.float32) for _ in range(6)]
        for k in range(2):
            for i in range(5):
                loss = [
                    math.log(sum(np.exp(v @ state[k]))) - (v @ state[k])[y[i]]
                    for v in (x[i], *(c[i] for c in copies))
                ]
                assert got[k, i] == sum(value > loss[0] for value in loss[1:]) / 6

    def test_ties_are_broken_by_how_far_the_loss_rises(self):
        rng = np.random.default_rng(14)
        state, x, y = rng.normal(size=(1, 3, 4)), rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
        given = {"scale": 0.4, "repeats": 5, "seed": 2}
        share = attacks.merlin(Linear(), **given)(state, x, y)[0]
        got = attacks.merlin(Linear(), **given, continuous=True)(state, x, y)[0]
        noise = np.random.default_rng(2)
        steps = [0.4 * noise.standard_normal(x.shape, dtype=np.float32) for _ in range(5)]
        for i in range(40):
            rises = []
            for step in steps:
                both = [
                    math.log(sum(np.exp(v @ state[0]))) - (v @ state[0])[y[i]]
                    for v in (x[i] + step[i], x[i])
                ]
                rises.append(both[0] - both[1])
            mean = sum(rises) / 5
            spread = math.sqrt(sum((rise - mean) ** 2 for rise in rises) / 5)
            place = (1 + mean / (abs(mean) + spread)) / 2
            count = sum(rise > 0 for rise in rises)
            assert got[i] == pytest.approx((count + place) / 6, rel=1e-6)
        assert len(set(share)) <= 6 and len(set(got)) == 40
        higher = share[:, None] > share
        assert (got[:, None] > got)[higher].all()

    def test_a_loss_that_never_moves_is_in_the_middle_of_its_level(self):
        class Flat:
            def logits(self, state, x):
                return np.zeros((1, len(x), 2))

        score = attacks.merlin(Flat(), 1.0, 3, continuous=True)(None, np.ones((2, 1)), [0, 1])
        np.testing.assert_array_equal(score, [[0.125, 0.125]])

    def test_images_of_bytes_stay_bytes(self):
        class Seen:
            def logits(self, state, x):
                assert x.dtype == np.uint8 and x.ndim == 3
                return np.stack([x[:, 0, 0].astype(float), 255.0 - x[:, 0, 0]], axis=-1)[None]

        images = np.array([0, 128, 255], np.uint8).reshape(3, 1, 1)
        score = attacks.merlin(Seen(), scale=20.0, repeats=50)(None, images, np.zeros(3, int))
        # The loss falls with x: none of the copies of 0 can have a larger one, and about half of
        # the others do.
        assert score[0, 0] == 0 and abs(score[0, 1] - 0.5) < 0.25 and score[0, 2] > 0.3

    def test_noise_on_zeros_and_ones_is_not_rounded_away(self):
        bits = np.random.default_rng(25).integers(0, 2, (50, 3)).astype(np.uint8)
        score = attacks.merlin(Linear(), scale=0.1, repeats=20)(
            np.ones((1, 3, 2)) * [1.0, -1.0], bits, np.zeros(50, int)
        )
        assert 0.2 < score.mean() < 0.8

    def test_bad_input(self):
        with pytest.raises(ValueError, match="fit: given"):
            attacks.merlin(lambda x: x, 0.1)
        with pytest.raises(ValueError, match="scale: given 0"):
            attacks.merlin(Linear(), 0.0)


class TestBadInput:
    @of_one_example
    def test_masks_that_do_not_fit(self, attack):
        x, member = made(12, 20, 14)
        with pytest.raises(ValueError, match="shadow_member: given shape"):
            attack(x[0], x[1:], member)
        with pytest.raises(ValueError, match="member: given shape"):
            lira.leave_one_out(x, member[:, 1:], attack)

    @of_one_example
    def test_the_target_is_among_its_shadows(self, attack):
        x, member = made(12, 20, 15)
        with pytest.raises(ValueError, match="a target that is not among its shadow models"):
            attack(x[0], x, member)

    @of_one_example
    def test_duplicated_models(self, attack):
        x, member = made(12, 20, 16)
        x[7] = x[3]
        with pytest.raises(ValueError, match="signals of model"):
            lira.leave_one_out(x, member, attack)

    @of_one_example
    def test_not_finite(self, attack):
        x, member = made(12, 20, 17)
        x[3, 4] = np.nan
        with pytest.raises(ValueError, match="signals"):
            lira.leave_one_out(x, member, attack)

    @of_one_example
    def test_no_out_models(self, attack):
        x, member = made(12, 20, 18)
        member[1:, 5] = True
        with pytest.raises(ValueError, match="fewer than 1 OUT models .examples 5"):
            attack(x[0], x[1:], member[1:])

    @of_one_example
    def test_several_queries(self, attack):
        x, member = made(12, 20, 19)
        with pytest.raises(ValueError, match="one query of each example"):
            lira.leave_one_out(np.stack([x, x - 1], -1), member, attack)

    def test_two_out_models_have_no_tail(self):
        x, member = made(12, 20, 20)
        member[:, 5] = np.arange(12) >= 3
        with pytest.raises(ValueError, match="fewer than three OUT models"):
            lira.leave_one_out(x, member, attacks.outlier_tail)


NULL = {
    **{attack.__name__: (attack, {}) for attack in LITERAL},
    "rmia": (attacks.rmia, {}),
    "rmia offline": (attacks.rmia, {"slope": 0.3}),
    "class_calibrated": (attacks.class_calibrated, {"labels": np.arange(1500) % 3}),
}


@pytest.mark.simulation
@pytest.mark.parametrize("coarse", [None, 0.5])
@pytest.mark.parametrize("name", NULL)
def test_signals_that_carry_nothing(name, coarse):
    # Eight models: the count leak of groups that are not equalised would put the AUC at 0.43 to
    # 0.48.
    attack, options = NULL[name]
    found = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 21])
        member = shadow.half_masks(8, 1500, rng)
        x = -np.log1p(np.exp(-(rng.normal(size=(8, 1500)) + 2 * rng.normal(size=1500))))
        x = x if coarse is None else np.round(x / coarse) * coarse
        found.append(metrics.roc(lira.leave_one_out(x, member, attack, **options), member).auc)
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    # Six repetitions give a rough error: never less than that of 36,000 members and as many others.
    assert abs(np.mean(found) - 0.5) < 4 * max(error, np.sqrt(1 / (6 * 36_000)))


@pytest.mark.simulation
def test_the_null_test_sees_the_count_leak():
    # What the test above guards against: with the target alone left out, one OUT model remains for
    # its non-members and two for its members, so scores of non-members are spread wider.
    rng = np.random.default_rng(22)
    member = shadow.half_masks(4, 8000, rng)
    x = rng.normal(size=(4, 8000))
    rest = np.arange(4)
    scores = [
        attacks.difficulty_calibration(x[s], x[rest != s], member[rest != s]) ** 2 for s in range(4)
    ]
    assert metrics.roc(np.stack(scores), member).auc < 0.5 - 4 * np.sqrt(1 / (6 * 16_000))
    equal = (
        lira.leave_one_out(
            np.tile(x, (2, 1)) + rng.normal(size=(8, 8000)),
            np.tile(member, (2, 1)),
            attacks.difficulty_calibration,
        )
        ** 2
    )
    assert metrics.roc(equal, np.tile(member, (2, 1))).auc > 0.5 - 4 * np.sqrt(1 / (6 * 16_000))


def test_merlin_and_loss_on_an_untrained_model_find_nothing():
    rng = np.random.default_rng(23)
    x, y = rng.normal(size=(4000, 3)), rng.integers(0, 4, 4000)
    member = shadow.half_masks(2, 4000, rng)
    state = rng.normal(size=(2, 3, 4))
    for score in (
        attacks.merlin(Linear(), 0.5, repeats=10)(state, x, y),
        attacks.loss(Linear().logits(state, x), y),
    ):
        estimate = metrics.roc(score[0], member[0]).auc
        assert abs(estimate - 0.5) < 4 * np.sqrt(1 / (12 * 1000))


def test_each_finds_members_where_there_are_some():
    rng = np.random.default_rng(24)
    member = shadow.half_masks(32, 600, rng)
    x = -np.log1p(np.exp(-(rng.normal(size=(32, 600)) + 3 * rng.normal(size=600) + 2 * member)))
    plain = metrics.roc(x, member).auc
    for attack in [*LITERAL, attacks.rmia]:
        assert metrics.roc(lira.leave_one_out(x, member, attack), member).auc > plain + 0.1, (
            attack.__name__
        )
