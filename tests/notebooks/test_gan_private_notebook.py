"""The experiment notebook gan_private: its roles, its means and its auditor against computations by
hand, every row of its records, and bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import privacy

QUICK = {"n_steps": 2, "gan_epochs": 1, "n_synthetic": 100, "epochs": 1, "n_splits": 2}
SMALL = QUICK | {"n_coins": 60, "n_canaries": 40, "guesses": 10}


def checked(**given):
    """The notebook up to its check of values."""
    return begin("gan_private", 4, **given)


def functions(**given):
    """All that it defines, before anything is trained."""
    return begin("gan_private", 14, **(SMALL | given))


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    small = QUICK | {"n_reference": 1_200, "n_never": 60, "gan_epochs": 400, "gan_batch": 300}
    assert missing_rows("gan_private", "digits", "paper", here / "MIA_RESULTS", **small) == []


def test_roles_share_no_record_and_coins_decide():
    space = functions()
    found = space["world"](3)
    parts = [found[role] for role in ("reference", "never", "coins", "fixed")]
    rows = np.concatenate(parts)
    assert len(rows) == len(set(rows)) == len(space["x"])
    inside = set(found["real"])
    assert inside == set(found["fixed"]) | set(found["coins"][found["member"]])
    assert inside.isdisjoint(found["out"]) and len(found["out"]) == (~found["member"]).sum()
    canaries, marks, coin = found["canaries"]
    assert len(found["x"]) == len(inside) + coin.sum() == len(found["y"])
    assert np.array_equal(found["x"][len(inside) :], canaries[coin])
    assert np.array_equal(found["y"][len(inside) :], marks[coin])


def test_the_auditor_of_the_sums_solves_for_the_coins():
    """With hardly any noise the linear estimate gives the coins themselves; with noise, the score
    of a class's only canary has the mean shift over deviation that its guarantee allows.
    """
    space = functions()
    found = space["world"](0)
    gan, limit = space["merf"](found, 1e6, 0)
    coin = found["canaries"][2]
    score = space["read_sums"](gan, found)
    assert np.allclose(score / score.max(), np.where(coin, 1, -1), atol=0.1)
    assert float(limit.epsilon(1e-5)) == pytest.approx(gan.epsilon, rel=1e-3)
    _, limit = space["merf"](found, 3.0, 0)
    assert float(limit.epsilon(1e-5)) == pytest.approx(3.0, rel=1e-3)


def test_the_auditor_is_the_best_linear_estimate():
    """Against the textbook's cov(b, r) cov(r)^-1 (r - mean), which inverts the larger matrix."""
    space = functions(n_features=60)
    found = space["world"](1)
    gan, _ = space["merf"](found, 2.0, 1)
    canaries, marks, _ = found["canaries"]
    score, released = space["read_sums"](gan, found), gan.embedding
    x, y = space["x"][found["real"]], space["y"][found["real"]]
    for k in range(10):
        added = released.adds(canaries[marks == k])
        rest = released.sums[k] - released.adds(x[y == k]).sum(0) - added.sum(0) / 2
        spread = added.T @ added / 4 + released.deviation**2 * np.eye(61)
        assert np.allclose(score[marks == k], added @ np.linalg.solve(spread, rest))


def test_spread_is_the_mean_squared_distance_to_the_mean_of_the_class():
    space = functions()
    pictures, labels = np.random.default_rng(0).random((40, 8, 8)), np.arange(40) % 10
    by_hand = []
    for k in range(10):
        own = pictures[labels == k].reshape(4, 64)
        by_hand.append(np.mean([np.sum((one - own.mean(0)) ** 2) for one in own]))
    assert space["spread"](pictures, labels) == pytest.approx(np.mean(by_hand))


def test_noisy_means_are_means_when_nothing_is_spent_on_noise():
    space = functions()
    found = space["world"](0)
    got = space["noisy_means"](found, 1e6, 0)
    longest = np.sqrt(64) / 3
    for k in range(10):
        own = found["x"][found["y"] == k].reshape(-1, 64)
        norm = np.linalg.norm(own, axis=1, keepdims=True)
        short = own * np.minimum(1, longest / norm)
        assert np.allclose(got[k].ravel(), short.mean(0), atol=0.01)


def test_one_record_moves_the_noisy_means_by_what_is_accounted_for(monkeypatch):
    """The noise drawn is sqrt(5)/2 over mu, and mu spends the budget."""
    space, drawn = functions(), []
    found = space["world"](0)

    class Recorder:
        def __init__(self, rng):
            self.rng = rng

        def normal(self, scale, size):
            drawn.append(scale)
            return self.rng.normal(scale=scale, size=size)

    real = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda key: Recorder(real(key)))
    space["noisy_means"](found, 3.0, 0)
    mu = np.sqrt(5) / 2 / drawn[0]
    assert privacy.gaussian(mu).epsilon(1e-5) == pytest.approx(3.0, rel=1e-4)


def test_dp_cgan_keeps_within_the_budget_and_equal_networks_stand_once():
    space = functions(gan_epochs=2)
    found = space["world"](0)
    made = space["cgans"](found, 0)
    assert list(made) == [1.0]  # all three budgets leave more than two epochs
    gan, limit = made[1.0]
    assert gan.epoch == 2 and float(limit.epsilon(1e-5)) <= 1.0
    space = functions(gan_epochs=3, epsilons=[0.45, 3.0])
    made = space["cgans"](space["world"](0), 0)
    spent = {budget: float(limit.epsilon(1e-5)) for budget, (_, limit) in made.items()}
    assert all(one <= budget for budget, one in spent.items())
    assert len({gan.epoch for gan, _ in made.values()}) == len(made)


@pytest.mark.parametrize(("data", "scale"), cases("gan_private"))
def test_every_choice_of_parameters_is_of_the_ranges(data, scale):
    given = values("gan_private", data, scale)
    if data == "digits":
        checked(**given)
    else:  # its data are not here
        small = dict(dataset="digits", n_reference=300, n_never=100, n_coins=400)
        checked(**(given | small))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "cifar10"),
        ("n_reference", 49),
        ("n_never", 19),
        ("n_coins", 39),
        ("n_canaries", 9),
        ("guesses", 101),
        ("epsilons", [3.0, 1.0]),
        ("dp_delta", 0.0),
        ("no_noise", 0.0),
        ("n_features", 401),
        ("bandwidth", 0.0),
        ("latent", 0),
        ("n_steps", 0),
        ("batch_size", 0),
        ("learning_rate", -1.0),
        ("gan_batch", 0),
        ("gan_epochs", 0),
        ("gan_rate", 0.0),
        ("gan_hidden", [0]),
        ("noise_multiplier", 0.0),
        ("max_norm", 0.0),
        ("n_synthetic", 105),
        ("epochs", 0),
        ("components", 0),
        ("few_bins", 1),
        ("n_splits", 1),
        ("prior", 1.0),
        ("delta", 0.0),
        ("seed", -1),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})


def test_too_many_roles_are_named():
    with pytest.raises(ValueError, match="^records that are left"):
        checked(n_coins=1_400)
