"""What the likelihood-ratio attack refuses, argument by argument, and what it just takes."""

import numpy as np
import pytest
import refusals

from mia_lib import lira

NAN = np.nan
SIGNALS = np.random.default_rng(0).normal(size=(8, 3))
MEMBER = np.arange(8)[:, None] % 2 == np.zeros(3, int)
SIDES = dict(target=SIGNALS[0], shadow=SIGNALS[1:], shadow_member=MEMBER[1:])
WRONG_SIDES = (
    {"target": SIGNALS[0, 0]},
    {"target": [0.1, NAN, 0.2]},
    {"target": [0.1, 1e101, 0.2]},
    {"shadow": SIGNALS[0]},
    {"shadow": SIGNALS[1:, :2]},
    {"shadow": np.full((7, 3), NAN)},
    {"shadow": np.full((7, 3), -1e101)},
    {"shadow": np.full((7, 3), "a")},
    {"shadow": SIGNALS[:7], "shadow_member": MEMBER[:7]},
    {"shadow_member": MEMBER},
    {"shadow_member": np.full((7, 3), 0.5)},
    {"shadow_member": np.ones((7, 3), bool)},
    {"shadow_member": np.arange(7)[:, None] < np.full(3, 6)},
    {"variance": "local"},
    {"center": "mode"},
    {"covariance": "full"},
)
OWN = dict(signals=SIGNALS[:6], member=MEMBER[:6])
WRONG_OWN = (
    {"signals": SIGNALS[0]},
    {"signals": np.full((6, 3), NAN)},
    {"signals": np.full((6, 3), 1e101)},
    {"signals": np.full((6, 3), "a")},
    {"member": MEMBER},
    {"member": np.full((6, 3), 0.5)},
    {"member": np.arange(6)[:, None] < np.full(3, 2)},
    {"member": np.arange(6)[:, None] < np.full(3, 4)},
)

FLAT = lira.Prior(0.0, 1, 1, 1.0)
BAYESIAN = {"variance": "bayesian", "priors": {"IN": FLAT, "OUT": FLAT}}


def other(**parts):
    """Priors whose OUT side is another one."""
    return {"priors": {"IN": FLAT, "OUT": FLAT._replace(**parts)}}


WRONG_PRIORS = (
    {"center": "median"},
    ({"variance": "global"}, "priors"),
    {"priors": FLAT},
    {"priors": {"IN": FLAT}},
    ({"priors": {"IN": FLAT, "OUT": (0, 1, 1, 1)}}, "priors['OUT']"),
    (other(location=[0.0, 1.0]), "priors['OUT'].location"),
    (other(location=np.zeros((3, 2))), "priors['OUT'].location"),
    (other(location=NAN), "priors['OUT'].location"),
    (other(location=-1e101), "priors['OUT'].location"),
    (other(kappa=-1), "priors['OUT'].kappa"),
    (other(nu=NAN), "priors['OUT'].nu"),
    (other(nu=[1.0, 2.0]), "priors['OUT'].nu"),
    (other(nu=1e101), "priors['OUT'].nu"),
    (other(nu=-np.inf), "priors['OUT'].nu"),
    (other(variance=0), "priors['OUT'].variance"),
    (other(variance=np.inf), "priors['OUT'].variance"),
    (other(variance=1e201), "priors['OUT'].variance"),
)


def each(target, shadow, shadow_member):
    return lira.online(target, shadow, shadow_member)


CASES = [
    *refusals.of(lira.online, SIDES, *WRONG_SIDES),
    *refusals.of(lira.online, SIDES, {"shadow_member": np.arange(7)[:, None] < np.ones(3)}),
    *refusals.of(lira.offline, SIDES, *WRONG_SIDES, {"tail": "two-sided"}),
    *refusals.of(lira.leave_one_out, OWN, *WRONG_OWN, {"attack": "online"}, {"center": "mode"}),
    *refusals.of(
        lira.leave_one_out, OWN | {"attack": lira.offline}, *WRONG_OWN[:-2], *WRONG_OWN[-1:]
    ),
    *refusals.of(
        lira.leave_one_out,
        OWN | {"attack": each},
        *WRONG_OWN,
        ({"attack": lambda *sides: np.zeros(2)}, "attack's scores"),
        ({"attack": lambda *sides: np.full(3, NAN)}, "attack's scores"),
    ),
    *refusals.of(lira.leave_one_out, OWN, {"signals": SIGNALS[[0, 1, 2, 3, 4, 4]]}),
    *refusals.of(lira.online, SIDES | BAYESIAN, *WRONG_PRIORS),
    *refusals.of(lira.offline, SIDES | BAYESIAN, *WRONG_PRIORS),
    *refusals.of(lira.leave_one_out, OWN | BAYESIAN, *WRONG_PRIORS),
    *refusals.of(
        lira.fit_priors,
        {"shadow": SIGNALS[:6], "shadow_member": MEMBER[:6]},
        {"shadow": SIGNALS[0]},
        {"shadow": np.full((6, 3), NAN)},
        {"shadow_member": MEMBER},
        {"shadow_member": np.arange(6)[:, None] < np.full(3, 1)},
        {"covariance": "full"},
        {"attack": lira.balanced_subset},
    ),
    *refusals.of(
        lira.balanced_subset,
        OWN | {"n_models": 6},
        {"signals": SIGNALS[0]},
        {"signals": np.full((6, 3), "a")},
        {"member": MEMBER},
        {"member": np.full((6, 3), 0.5)},
        {"member": np.ones((6, 3), bool)},
        {"n_models": 1},
        {"n_models": 0},
        {"n_models": 3},
        ({"n_models": 8}, "member"),
    ),
    *refusals.of(lira.balanced_subset, OWN | {"n_models": 2}),
    *refusals.of(
        lira.separation,
        dict(signals=SIGNALS[:4], member=MEMBER[:4]),
        {"signals": SIGNALS[0]},
        {"signals": np.full((4, 3), NAN)},
        {"signals": np.full((4, 3), 1e101)},
        {"member": MEMBER},
        {"member": np.full((4, 3), 0.5)},
        {"member": np.arange(4)[:, None] < np.ones(3)},
        {"member": np.arange(4)[:, None] < np.full(3, 3)},
    ),
    *refusals.of(
        lira.influence,
        dict(values=SIGNALS[:2], member=MEMBER[:2]),
        {"values": SIGNALS[0]},
        {"values": np.full((2, 3), NAN)},
        {"values": np.full((2, 3), 1e101)},
        {"member": MEMBER},
        {"member": np.full((2, 3), 0.5)},
        {"member": np.ones((2, 3), bool)},
    ),
]

DEFAULTS = [
    refusals.defaults(
        lambda **o: lira.online(**SIDES, **o),
        variance="per-example",
        center="mean",
        covariance="spherical",
        priors=None,
    ),
    refusals.defaults(
        lambda **o: lira.offline(**SIDES, **o),
        variance="per-example",
        center="mean",
        covariance="spherical",
        tail="one-sided",
        priors=None,
    ),
    refusals.defaults(
        lambda **o: lira.leave_one_out(**OWN, **o),
        attack=lira.online,
        variance="per-example",
        center="mean",
        covariance="spherical",
        priors=None,
    ),
]


@pytest.mark.parametrize(("function", "arguments", "name"), CASES)
def test_arguments(function, arguments, name):
    refusals.check(function, arguments, name)


@pytest.mark.parametrize(("function", "options"), DEFAULTS)
def test_documented_defaults(function, options):
    refusals.same(function, options)


def test_priors_are_of_the_sides_that_are_read():
    only = {"OUT": FLAT}
    lira.offline(**SIDES, variance="bayesian", priors=only)
    lira.leave_one_out(**OWN, attack=lira.offline, variance="bayesian", priors=only)
    with pytest.raises(TypeError, match="^prior: given an option that online lacks"):
        lira.leave_one_out(**OWN, variance="bayesian", prior=only)


def test_too_few_models_are_told_how_many_are_needed():
    few = np.arange(6)[:, None] < np.full(3, 2)
    with pytest.raises(
        ValueError, match=r"expected at least three models \(two once one is left out\) on"
    ):
        lira.leave_one_out(SIGNALS[:6], few)
    for function, arguments, words in (
        (lira.online, (SIGNALS[0], SIGNALS[1:], np.arange(7)[:, None] < np.ones(3)), "two models"),
        (lira.separation, (SIGNALS[:6], np.arange(6)[:, None] < np.ones(3)), "two models"),
        (lira.influence, (SIGNALS[:6], np.zeros((6, 3), bool)), "one model"),
        (lira.balanced_subset, (SIGNALS[:6], few, 6), "3 models"),
    ):
        with pytest.raises(
            ValueError, match=f"^[a-z_]*member: given .*, expected ([a-z ]* )?{words}"
        ):
            function(*arguments)


def test_signals_and_scores_are_named_on_every_way():
    far = np.where(MEMBER, SIGNALS, 1e101)
    for variance in ("per-example", "global"):
        with pytest.raises(ValueError, match="^signals: given"):
            lira.leave_one_out(far, MEMBER, variance=variance)

    def attack(*sides):
        raise AssertionError("it has a form for all targets")

    for wrong in (np.zeros((8, 2)), np.full((8, 3), NAN)):
        attack.every_target = lambda signals, member, wrong=wrong: wrong
        with pytest.raises(ValueError, match="^attack's scores: given"):
            lira.leave_one_out(SIGNALS, MEMBER, attack)
