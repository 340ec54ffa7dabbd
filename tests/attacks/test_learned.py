import numpy as np
import pytest
from scipy import special

from mia_lib import attacks, models, train

LEARNED = [attacks.per_class_networks, attacks.label_network]


def world(rng, n, share=0.5, strength=2.0, n_classes=2):
    """Outputs of two classes whose true posterior of membership is known.

    The logit of the label is N(0, 1) for non-members, N(strength (1 - 2 y), 1) for members: the
    sign differs by class, so an attack that ignores the label finds nothing.
    """
    y, member = rng.integers(0, n_classes, n), rng.random(n) < share
    direction = strength * (1 - 2.0 * (y % 2))
    z = rng.normal(size=n) + direction * member
    logits = np.zeros((n, n_classes))
    logits[np.arange(n), y] = z
    log_odds = direction * z - direction**2 / 2
    return logits, y, member, log_odds


@pytest.mark.parametrize("attack", LEARNED)
def test_learned_attacks_come_near_the_true_posterior(attack):
    rng = np.random.default_rng(0)
    shadow, target = world(rng, 4000), world(rng, 4000)
    score = attack(*target[:2], *shadow[:3], epochs=30, rng=rng)
    truth = special.expit(target[3])
    assert np.sqrt(np.mean((score - truth) ** 2)) < 0.06
    accuracy = attacks.decision_accuracy(score > 0.5, target[2])
    best = attacks.decision_accuracy(truth > 0.5, target[2]).value
    assert best - 0.02 < accuracy.value < best + 0.01


@pytest.mark.parametrize("attack", LEARNED)
def test_prior_is_carried_over_by_bayes_rule(attack):
    """The shadow data hold 20 % members, the score is for 70 %: odds 0.25 against odds 7/3."""
    rng = np.random.default_rng(1)
    shadow, target = world(rng, 6000, share=0.2), world(rng, 2000)
    score = attack(*target[:2], *shadow[:3], prior=0.7, epochs=30, rng=rng)
    truth = special.expit(target[3] + special.logit(0.7))
    assert np.sqrt(np.mean((score - truth) ** 2)) < 0.08


@pytest.mark.parametrize("attack", LEARNED)
def test_learned_attacks_never_mix_shadow_and_target(attack):
    rng = np.random.default_rng(2)
    shadow, target = world(rng, 300), world(rng, 100)
    together = attack(*target[:2], *shadow[:3], epochs=3, rng=np.random.default_rng(3))
    # other companions of both classes change nothing about a record's score
    part = attack(
        target[0][:40], target[1][:40], *shadow[:3], epochs=3, rng=np.random.default_rng(3)
    )
    np.testing.assert_allclose(together[:40], part, rtol=1e-5)


@pytest.mark.parametrize("attack", LEARNED)
def test_learned_attacks_find_nothing_where_nothing_is(attack):
    rng, found = np.random.default_rng(4), []
    for _ in range(12):
        shadow, target = world(rng, 400, strength=0), world(rng, 2000, strength=0)
        found.append(
            attacks.decision_accuracy(
                attack(*target[:2], *shadow[:3], epochs=5, rng=rng) > 0.5, target[2]
            ).value
        )
    assert abs(np.mean(found) - 0.5) < 4 * 0.5 / np.sqrt(12 * 2000)


@pytest.mark.parametrize("attack", LEARNED)
def test_learned_attacks_take_probability_zero(attack):
    target = attacks.log_probabilities([[1.0, 0.0], [0.0, 1.0]])
    score = attack(
        target,
        [0, 1],
        np.zeros((4, 2)),
        [0, 0, 1, 1],
        [True, False] * 2,
        epochs=1,
        rng=np.random.default_rng(5),
    )
    assert ((score >= 0) & (score <= 1)).all()


@pytest.mark.parametrize("attack", LEARNED)
def test_learned_attacks_name_bad_input(attack):
    z, y, member = np.zeros((4, 3)), [0, 0, 2, 2], [True, False, True, False]
    with pytest.raises(ValueError, match="shadow_labels: given no example of class 1"):
        attack(z, [0, 1, 2, 2], z, y, member)
    with pytest.raises(ValueError, match="shadow_member"):
        attack(z, y, z, y, [True] * 4)
    with pytest.raises(ValueError, match="target_labels: given largest label 3"):
        attack(z, [0, 0, 2, 3], z, y, member)
    with pytest.raises(ValueError, match="shadow_logits: given shape"):
        attack(z, y, z[:, :2], y, member)
    with pytest.raises(ValueError, match="NaN"):
        attack(z * np.nan, y, z, y, member)
    with pytest.raises(ValueError, match="without a largest finite entry"):
        attack(z - np.inf, y, z, y, member)
    with pytest.raises(ValueError, match="prior"):
        attack(z, y, z, y, member, prior=1)


def test_per_class_networks_name_a_class_with_one_group():
    z = np.zeros((4, 3))
    with pytest.raises(ValueError, match="only members or only non-members in class 2"):
        attacks.per_class_networks(z, [0, 0, 2, 2], z, [0, 0, 2, 2], [True, False, True, True])


def test_gradient_features_of_a_linear_softmax_and_of_a_network():
    """Closed form: the gradient of the last weights is (p - 1_y) h', every layer below by a
    numerical derivative.
    """
    rng = np.random.default_rng(6)
    recipe = train.Classifier(hidden=(5,), activation="tanh", epochs=3, n_classes=3)
    x, y = rng.normal(size=(8, 4)).astype(np.float32), rng.integers(0, 3, 8)
    state = recipe(x, y, np.ones((1, 8), bool), [rng])
    found = attacks.gradient_features(recipe, state, x, y)
    w0, b0, w1, b1 = (
        np.float64(state[f"{layer}.{kind}"][0])
        for layer in ("layer0", "head")
        for kind in ("weight", "bias")
    )

    def loss(parameters, i):
        w0, b0, w1, b1 = parameters
        z = w1 @ np.tanh(w0 @ x[i] + b0) + b1
        return special.logsumexp(z) - z[y[i]]

    names = [
        name
        for name, _ in models.build(
            "mlp", (4,), 3, hidden=(5,), activation="tanh"
        ).named_parameters()
    ]
    assert names == ["layer0.weight", "layer0.bias", "head.weight", "head.bias"]
    for i in range(8):
        h = np.tanh(w0 @ x[i] + b0)
        p = special.softmax(w1 @ h + b1)
        off = p - np.eye(3)[y[i]]
        np.testing.assert_allclose(found[i, 4:7], off, rtol=1e-6)
        np.testing.assert_allclose(found[i, 7:12], off[y[i]] * h, rtol=1e-5)
        np.testing.assert_array_equal(found[i, 12:], np.eye(3)[y[i]])
        for k in range(4):
            parameters, slopes = [w0, b0, w1, b1], []
            for place in np.ndindex(parameters[k].shape):
                both = []
                for step in (1e-5, -1e-5):
                    changed = [array.copy() for array in parameters]
                    changed[k][place] += step
                    both.append(loss(changed, i))
                slopes.append((both[0] - both[1]) / 2e-5)
            np.testing.assert_allclose(found[i, k], np.log(np.linalg.norm(slopes)), atol=1e-5)


def test_gradient_features_of_a_convolution():
    recipe = train.Classifier(model="cnn", epochs=1, n_classes=3)
    x, y = np.random.default_rng(7).integers(0, 255, (6, 8, 8), dtype=np.uint8), np.arange(6) % 3
    state = recipe(x, y, np.ones((1, 6), bool), [np.random.default_rng(8)])
    found = attacks.gradient_features(recipe, state, x, y)
    p = special.softmax(recipe.logits(state, x)[0].astype(float), axis=1)
    tensors = sum(not name.endswith(("running_mean", "running_var", "tracked")) for name in state)
    np.testing.assert_allclose(found[:, tensors : tensors + 3], p - np.eye(3)[y], atol=1e-5)


def test_gradient_attack_finds_members_of_an_overfitted_network_and_nothing_in_a_control():
    """100 of 200 members known to the attacker; records with random labels, so that only memory can
    help.
    """
    rng = np.random.default_rng(9)
    recipe = train.Classifier(hidden=(64,), epochs=60, batch_size=32, n_classes=4)
    x, y, member = rng.normal(size=(400, 20)), rng.integers(0, 4, 400), np.arange(400) % 2 == 0
    known = np.arange(400) < 200
    state = recipe(x, y, member[None], [rng])
    features = attacks.gradient_features(recipe, state, x, y)
    score = attacks.gradient_attack(features[~known], features[known], member[known], rng=rng)
    assert attacks.decision_accuracy(score > 0.5, member[~known]).low > 0.8
    other = rng.permutation(400) % 2 == 0
    found = [
        attacks.decision_accuracy(
            attacks.gradient_attack(
                features[~known], features[known], other[known], epochs=5, rng=rng
            )
            > 0.5,
            other[~known],
        ).value
    ]
    assert abs(found[0] - 0.5) < 4 * 0.5 / np.sqrt(200)


def test_gradient_attack_names_bad_input():
    f = np.arange(12.0).reshape(4, 3)
    with pytest.raises(
        ValueError, match="target_features: given 2 records that are among the known ones"
    ):
        attacks.gradient_attack(f[:2], f, [True, False, True, False])
    with pytest.raises(ValueError, match="known_member"):
        attacks.gradient_attack(-f - 1, f, [True] * 4)
    with pytest.raises(ValueError, match="known_features"):
        attacks.gradient_attack(f, f[:, :2], [True, False, True, False])
    recipe = train.Classifier(hidden=(4,), epochs=1)
    x, y = np.eye(6), np.arange(6) % 3
    state = recipe(x, y, np.ones((2, 6), bool), np.random.default_rng(0).spawn(2))
    with pytest.raises(ValueError, match="state: given the weights of 2 models"):
        attacks.gradient_features(recipe, state, x, y)
    one = {name: array[:1] for name, array in state.items()}
    with pytest.raises(ValueError, match="y: given largest label 3"):
        attacks.gradient_features(recipe, one, x, y + 1)


def test_a_gradient_of_nothing_has_a_finite_logarithm():
    """A record of zeros does not move the weights of the first layer."""
    recipe = train.Classifier(hidden=(3,), epochs=1, n_classes=2)
    x, y = np.random.default_rng(3).normal(size=(6, 2)).astype(np.float32), np.arange(6) % 2
    x[2] = 0
    state = recipe(x, y, np.ones((1, 6), bool), [np.random.default_rng(4)])
    found = attacks.gradient_features(recipe, state, x, y)
    assert np.isfinite(found).all() and (found[2] < -60).sum() == 1
    assert not (found[[0, 1, 3, 4, 5]] < -60).any()
