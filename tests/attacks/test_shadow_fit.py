"""Whether a shadow fits: the distance by brute force, the level where it does, the power where it
does not.
"""

import numpy as np
import pytest

from mia_lib import attacks, data, signals, train


def distance_by_hand(target, target_labels, shadow, labels, member, share):
    """One record at a time."""

    def below(values, at):
        return sum((v < at) + (v == at) / 2 for v in values) / len(values)

    total, weights = 0.0, 0.0
    for c in sorted(set(target_labels)):
        t = [v for v, y in zip(target, target_labels) if y == c]
        i = [v for v, y, m in zip(shadow, labels, member) if y == c and m]
        o = [v for v, y, m in zip(shadow, labels, member) if y == c and not m]
        n, m = len(t), len(i) + len(o)
        mean = np.mean(
            [
                (below(t, v) - share * below(i, v) - (1 - share) * below(o, v)) ** 2
                for v in t + i + o
            ]
        )
        total, weights = total + n * m / (n + m) * mean, weights + n * m / (n + m)
    return np.sqrt(total / weights)


@pytest.mark.parametrize("levels", [3, 1000])
def test_share_and_distance_by_brute_force(levels):
    rng = np.random.default_rng(0)
    labels, member = np.arange(40) % 2, np.arange(40) // 2 % 2 == 0
    shadow = rng.integers(0, levels, 40) + member
    target_labels = np.arange(30) % 2
    target = rng.integers(0, levels, 30) + (np.arange(30) // 2 % 2 == 0)
    fit = attacks.shadow_fit(target, target_labels, shadow, labels, member, n_draws=5, rng=rng)
    grid = np.linspace(0, 1, 401)
    tried = [distance_by_hand(target, target_labels, shadow, labels, member, s) for s in grid]
    assert fit.distance <= min(tried) + 1e-12
    assert min(tried) - fit.distance < 1e-4
    assert abs(grid[np.argmin(tried)] - fit.share) < 0.01 or np.ptp(tried) < 1e-4


def test_neither_sign_nor_unit_nor_an_increasing_map_matters():
    rng = np.random.default_rng(1)
    labels, member = np.arange(200) % 3, rng.random(200) < 0.5
    shadow, target = np.round(rng.normal(size=(2, 200)), 1)

    def fit(change):
        return attacks.shadow_fit(
            change(target), labels, change(shadow), labels, member, rng=np.random.default_rng(2)
        )

    np.testing.assert_allclose(fit(lambda v: np.exp(3 * v) + 1), fit(lambda v: v))
    turned = fit(np.negative)  # draws come in another order, so p and noise only nearly agree
    np.testing.assert_allclose(turned[:2], fit(lambda v: v)[:2])
    np.testing.assert_allclose(turned[2:], fit(lambda v: v)[2:], atol=0.1)


def signal(rng, level, labels, member, kind):
    x = level[labels] + rng.normal(size=len(labels)) * np.where(member, 1.0, 1.5) - member
    if kind == "two values":
        return (x > 0).astype(float)
    if kind == "few values":
        return np.round(x / 1.5)
    if kind == "ties at the end":
        return np.where(rng.random(len(x)) < 0.2 + 0.6 * member, -9.0, x)
    return x


def world(rng, classes, n, m, kind, share):
    """A target with n records a class, and a shadow with m of either group, of one law."""
    level = 2 * rng.normal(size=classes)
    labels = np.tile(np.repeat(np.arange(classes), m), 2)
    member = np.repeat([True, False], classes * m)
    asked = np.repeat(np.arange(classes), n)
    truth = rng.random(len(asked)) < share
    return (
        signal(rng, level, asked, truth, kind),
        asked,
        signal(rng, level, labels, member, kind),
        labels,
        member,
    )


@pytest.mark.simulation
@pytest.mark.parametrize(
    "case",
    [
        (30, 33, 8, "continuous", 0.5),
        (10, 10, 3, "few values", 0.5),
        (10, 10, 5, "two values", 0.5),
        (3, 20, 2, "continuous", 0.5),
        (1, 20, 5, "ties at the end", 0.0),
        (1, 100, 50, "continuous", 0.9),
    ],
)
def test_level(case):
    """Of 400 fitting shadows 31 at most may be refused at 5 %: the 99 % quantile of Bin(400, .05);
    the bootstrap is asymptotic, so classes of a handful may have 1.5 points more.
    """
    rng = np.random.default_rng([3, case[0], case[1]])
    refused = sum(
        attacks.shadow_fit(*world(rng, *case), n_draws=99, rng=rng).p_value <= 0.05
        for _ in range(400)
    )
    assert refused <= 31


@pytest.mark.simulation
def test_power_on_a_shadow_that_leaks_more():
    """Its members moved two and a half standard deviations further away than the target's: half of
    the target's records are neither.
    """
    rng, found = np.random.default_rng(4), []
    for _ in range(100):
        target, asked, shadow, labels, member = world(rng, 10, 100, 50, "continuous", 0.5)
        moved = np.where(member, shadow - 2.5, shadow)
        fit = attacks.shadow_fit(target, asked, moved, labels, member, n_draws=99, rng=rng)
        found.append(fit.p_value <= 0.05)
    assert np.mean(found) > 0.9


@pytest.mark.slow
def test_on_digits_a_recipe_lies_nearer_to_itself_than_to_another():
    """Two targets, each with a shadow of its own recipe and one of a third of the epochs. With 800
    records a side the first are told apart too, at about a third of the distance.
    """
    digits, rng = data.load("digits"), np.random.default_rng(5)
    dealt = np.stack([rng.permutation(len(digits))[:1600] for _ in range(2)]).reshape(4, 800)
    masks = np.zeros((4, len(digits)), bool)
    np.put_along_axis(masks, dealt[:, :400], True, axis=1)
    member, found = np.arange(800) < 400, {}
    for epochs in (30, 10):
        recipe = train.Classifier(hidden=(64,), epochs=epochs)
        state = recipe(digits.x, digits.y, masks, [np.random.default_rng(s) for s in range(4)])
        found[epochs] = signals.logit_confidence(recipe.logits(state, digits.x), digits.y)
    for target, shadow in ((0, 1), (2, 3)):
        asked, known = dealt[target], dealt[shadow]
        own, other = (
            attacks.shadow_fit(
                found[30][target][asked],
                digits.y[asked],
                found[epochs][shadow][known],
                digits.y[known],
                member,
                rng=rng,
            )
            for epochs in (30, 10)
        )
        assert other.p_value == 1 / 500
        assert own.distance < 3 * own.noise < other.distance


@pytest.mark.real_data
def test_the_authors_shadow_does_not_fit_their_target():
    """Song and Mittal's outputs on Location30; half of the target's records as a shadow do fit."""
    full, rng = data.load("song-mittal-location30"), np.random.default_rng(6)
    e, halves = full.extra, np.random.default_rng(7).permutation(2000).reshape(2, 1000)
    for kind in ("undefended", "memguard"):
        target, shadow = (
            attacks.log_probabilities(e[f"{role}_{kind}"]) for role in ("target", "shadow")
        )
        labels = full.y, e["shadow_y"].astype(int)
        for name in ("confidence", "entropy", "modified entropy"):
            asked, known = (
                attacks.metric_scores(one, y)[name] for one, y in zip((target, shadow), labels)
            )
            fit = attacks.shadow_fit(asked, full.y, known, labels[1], e["shadow_member"], rng=rng)
            assert fit.p_value == 1 / 500 and fit.distance > 1.5 * fit.noise
            one, other = halves
            matched = attacks.shadow_fit(
                asked[one],
                full.y[one],
                asked[other],
                full.y[other],
                e["target_member"][other],
                rng=rng,
            )
            assert matched.p_value > 0.05


def test_bad_input_is_named():
    good = [0.1, 0.2], [0, 0], [0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0], [True, True, False, False]
    attacks.shadow_fit(*good, n_draws=1)
    for change, message in (
        ({0: [0.1, np.nan]}, "target_signal"),
        ({1: [0, 1]}, "shadow_labels"),
        ({1: [0]}, "target_labels"),
        ({4: [True, False, False, False]}, "shadow_member"),
        ({2: [0.1, 0.2, 0.3]}, "shadow_labels"),
    ):
        with pytest.raises(ValueError, match=f"^{message}: given .*, expected "):
            attacks.shadow_fit(*(change.get(k, value) for k, value in enumerate(good)))
    with pytest.raises(ValueError, match="^n_draws: given 0, expected"):
        attacks.shadow_fit(*good, n_draws=0)


@pytest.mark.parametrize("n_draws", [4, 19])
def test_the_smallest_and_the_largest_p_value(n_draws):
    """No draw is as far off as a target beyond every shadow record, each as far as one within."""
    labels, member = np.zeros(60, int), np.arange(60) % 2 == 0
    shadow = np.linspace(0, 1, 60)

    def p_value(target):
        rng = np.random.default_rng(0)
        asked = np.zeros(len(target), int)
        return attacks.shadow_fit(
            target, asked, shadow, labels, member, n_draws=n_draws, rng=rng
        ).p_value

    assert p_value(np.linspace(5, 6, 60)) == 1 / (1 + n_draws)
    assert p_value(shadow) == 1


@pytest.mark.simulation
def test_the_level_with_few_shadow_records_of_a_class():
    """What the notes say of five and five in fifty classes: 18 % where 5 are meant."""
    rng, rejected = np.random.default_rng(1), 0
    labels, of_shadow = np.arange(1000) % 50, np.repeat(np.arange(50), 10)
    inside = np.tile(np.arange(10) < 5, 50)
    for _ in range(100):
        member = rng.random(1000) < 0.8
        fit = attacks.shadow_fit(
            rng.normal(size=1000) + member,
            labels,
            rng.normal(size=500) + inside,
            of_shadow,
            inside,
            n_draws=99,
            rng=rng,
        )
        rejected += fit.p_value <= 0.05
    assert 0.08 < rejected / 100 < 0.3
