"""Records called exposed: p-values by enumeration, their validity, false discoveries, intervals."""

import itertools

import numpy as np
import pytest

from mia_lib import lira, metrics, shadow


def seeded(seed=0):
    return np.random.default_rng(seed)


def test_p_values_by_enumerating_every_assignment():
    """Of all ways to choose the IN models, the share whose AUC is at least the observed one."""
    rng = seeded()
    member = shadow.half_masks(8, 5, rng)
    signals = rng.normal(size=(8, 5)) + member
    found = lira.exposed_records(signals, member)
    for i in range(5):
        every = []
        for chosen in itertools.combinations(range(8), 4):
            inside = np.isin(np.arange(8), chosen)
            pairs = signals[inside, i][:, None] > signals[~inside, i]
            every.append(pairs.mean())
        own = (signals[member[:, i], i][:, None] > signals[~member[:, i], i]).mean()
        assert found.auc[i] == pytest.approx(own)
        assert found.p_value[i] == pytest.approx(np.mean(np.array(every) >= own - 1e-12))


def test_adjusted_by_the_definition():
    """Step-up: the largest k with p_(k) <= k share / n; all up to it are called."""
    member = shadow.half_masks(32, 40, seeded(1))
    signals = seeded(2).normal(size=(32, 40)) + 1.5 * member * (np.arange(40) < 12)
    for share in (0.01, 0.1, 0.5):
        found = lira.exposed_records(signals, member, share)
        ordered = np.sort(found.p_value)
        passes = np.flatnonzero(ordered <= share * np.arange(1, 41) / 40)
        called = passes[-1] + 1 if passes.size else 0
        assert found.exposed.sum() == called
        assert (found.p_value[found.exposed] <= found.p_value[~found.exposed].min()).all()


def test_intervals_are_those_of_one_record():
    member = shadow.half_masks(32, 3, seeded(3))
    signals = seeded(4).normal(size=(32, 3)) + member
    found = lira.exposed_records(signals, member, delta=0.2)
    for i in range(3):
        expected = metrics.roc(signals[:, i], member[:, i]).auc_interval(0.2)
        assert (found.auc[i], found.low[i], found.high[i]) == tuple(expected)


def unexposed(rng, n_models, n, tied):
    """Signals that depend on record and model in any way, but not on membership."""
    shared = rng.normal(size=(n_models, 1)) * rng.normal(size=n)  # models agree across records
    signals = shared + rng.standard_t(2, size=(n_models, n)) + rng.normal(size=n)
    return signals.round() if tied else signals


@pytest.mark.simulation
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_models", [16, 64])
def test_p_values_are_valid_where_nothing_leaks(n_models, tied):
    rng = seeded(5)
    p_value = np.concatenate(
        [
            lira.exposed_records(
                unexposed(rng, n_models, 200, tied), shadow.half_masks(n_models, 200, rng)
            ).p_value
            for _ in range(6)
        ]
    )
    for level in (0.01, 0.05, 0.2):
        error = np.sqrt(level * (1 - level) / p_value.size)
        assert (p_value <= level).mean() < level + 4 * error


@pytest.mark.simulation
def test_the_share_of_false_discoveries_is_bounded():
    """100 records of which 20 leak; the bound is share x 80 / 100 for independent tests."""
    rng, false, found = seeded(6), [], []
    leaks = np.arange(100) < 20
    for _ in range(50):
        member = shadow.half_masks(32, 100, rng)
        signals = unexposed(rng, 32, 100, False) * 0.3 + 1.2 * member * leaks
        exposed = lira.exposed_records(signals, member, 0.2).exposed
        false.append((exposed & ~leaks).sum() / max(exposed.sum(), 1))
        found.append(exposed[leaks].mean())
    assert np.mean(false) < 0.16 + 3 * np.std(false) / np.sqrt(len(false))
    assert np.mean(found) > 0.3  # and it finds some


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"signals": np.zeros((4, 3, 2))}, "signals: given shape"),
        ({"signals": np.full((4, 3), np.nan)}, "signals: given 12 entries"),
        ({"member": np.ones((4, 2), bool)}, "member: given shape"),
        ({"member": np.arange(4)[:, None] < np.ones(3)}, "member: given 3 examples with fewer"),
        ({"share": 0.0}, "share: given 0"),
        ({"delta": 1.5}, "delta: given 1.5"),
    ],
)
def test_bad_input_is_named(change, expected):
    given = {
        "signals": seeded().normal(size=(4, 3)),
        "member": np.arange(4)[:, None] < 2 * np.ones(3),
    }
    given |= {"share": 0.1, "delta": 0.05} | change
    with pytest.raises(ValueError, match=expected):
        lira.exposed_records(
            given["signals"], given["member"], given["share"], delta=given["delta"]
        )
