import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mia_lib import signals

WITH_LABELS = [
    signals.confidence,
    signals.cross_entropy,
    signals.logit_confidence,
    signals.hinge,
    signals.modified_entropy,
]
ALL = [*WITH_LABELS, signals.entropy]


def call(function, logits, labels):
    return function(logits) if function is signals.entropy else function(logits, labels)


def exactly(function, row, label):
    """The definition on probabilities, in decimal arithmetic of 60 digits and any exponent."""
    with localcontext() as context:
        context.prec = 60
        context.Emin, context.Emax = -(10**8), 10**8
        z = [Decimal(float(v)) for v in row]
        top = max(z)
        weight = [(v - top).exp() for v in z]
        p = [w / sum(weight) for w in weight]
        # 1 - p_c as a sum over the others, so that 60 digits are enough wherever the probability
        # lies.
        rest = [sum(w for j, w in enumerate(weight) if j != c) / sum(weight) for c in range(len(z))]
        others = [c for c in range(len(z)) if c != label]
        log_p = [pc.ln() if pc < Decimal("0.9") else _log1p(-rc) for pc, rc in zip(p, rest)]
        log_rest = [rc.ln() if rc < Decimal("0.9") else _log1p(-pc) for pc, rc in zip(p, rest)]
        if function is signals.confidence:
            return float(p[label])
        if function is signals.cross_entropy:
            return float(-log_p[label])
        if function is signals.logit_confidence:
            return float(p[label].ln() - rest[label].ln())
        if function is signals.hinge:
            return float(z[label] - max(z[c] for c in others))
        if function is signals.entropy:
            return float(-sum(pc * lc for pc, lc in zip(p, log_p)))
        return float(-rest[label] * log_p[label] - sum(p[c] * log_rest[c] for c in others))


def _log1p(x):
    """log(1 + x) in decimals, by its series where 1 + x would round to 1."""
    if abs(x) < Decimal("1e-20"):
        return x - x * x / 2 + x * x * x / 3
    return (1 + x).ln()


ROWS = [
    [0.0, 0.0, 0.0],
    [1.0, -2.0, 0.5],
    [30.0, 0.0, -5.0],
    [800.0, 0.0, 1.0],
    [1e4, -1e4, 0.0],
    [0.0, 1e4, 1e4],
    [40.0, 40.0, 0.0],
    [12345.678, 12345.0, 12300.0],
    [0.0, 36.5, 0.0],
]


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("label", [0, 1, 2])
def test_against_decimal_arithmetic(function, row, label):
    got = call(function, [row], [label])[0]
    # A difference of logits carries their own rounding; probabilities below 1e-308 are 0.
    is_difference = function in (signals.logit_confidence, signals.hinge)
    slack = 1e-15 * np.abs(row).max() if is_difference else 1e-300
    assert got == pytest.approx(exactly(function, row, label), rel=1e-11, abs=slack)


logits_of = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 6)), elements=st.floats(-30, 30)
)


@settings(deadline=None)
@given(logits_of, st.integers(0, 1))
def test_brute_force_on_probabilities(z, label):
    labels = np.full(len(z), label)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    wrong = np.delete(p, label, axis=1)
    want = {
        signals.confidence: p[:, label],
        signals.cross_entropy: -np.log(p[:, label]),
        signals.logit_confidence: np.log(p[:, label]) - np.log(wrong.sum(axis=1)),
        signals.hinge: z[:, label] - np.delete(z, label, axis=1).max(axis=1),
        signals.entropy: -(p * np.log(p)).sum(axis=1),
    }
    for function, value in want.items():
        np.testing.assert_allclose(call(function, z, labels), value, rtol=1e-9, atol=1e-12)
    if (p < 1 - 1e-9).all():
        mentr = -(1 - p[:, label]) * np.log(p[:, label]) - (wrong * np.log1p(-wrong)).sum(axis=1)
        np.testing.assert_allclose(
            signals.modified_entropy(z, labels), mentr, rtol=1e-6, atol=1e-12
        )


@settings(deadline=None)
@given(logits_of, st.floats(-100, 100))
def test_adding_a_constant_changes_nothing(z, constant):
    labels = np.zeros(len(z), dtype=int)
    for function in ALL:
        shifted, plain = call(function, z + constant, labels), call(function, z, labels)
        np.testing.assert_allclose(shifted, plain, rtol=1e-9, atol=1e-11)


@settings(deadline=None)
@given(logits_of)
def test_identities(z):
    labels = np.arange(len(z)) % z.shape[1]
    loss = signals.cross_entropy(z, labels)
    phi = signals.logit_confidence(z, labels)
    usual = (loss > 1e-6) & (loss < 30)
    np.testing.assert_allclose(phi[usual], -np.log(np.expm1(loss[usual])), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(-loss), signals.confidence(z, labels), rtol=1e-12)
    margin = signals.hinge(z, labels)
    assert (phi <= margin + 1e-12).all() and (margin <= phi + np.log(z.shape[1] - 1) + 1e-12).all()
    assert (signals.entropy(z) >= 0).all() and (
        signals.entropy(z) <= np.log(z.shape[1]) + 1e-12
    ).all()
    assert (signals.modified_entropy(z, labels) >= 0).all()


@settings(deadline=None)
@given(hnp.arrays(np.float64, (5, 2), elements=st.floats(-2000, 2000)), st.integers(0, 1))
def test_two_classes(z, label):
    labels = np.full(5, label)
    loss = signals.cross_entropy(z, labels)
    wrong = signals.confidence(z, 1 - labels)
    np.testing.assert_allclose(
        signals.modified_entropy(z, labels), 2 * wrong * loss, rtol=1e-9, atol=1e-300
    )
    np.testing.assert_allclose(
        signals.logit_confidence(z, labels), signals.hinge(z, labels), rtol=1e-12, atol=1e-12
    )


@settings(deadline=None)
@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(-1e4, 1e4)))
def test_finite_logits_give_finite_signals(z):
    for function in ALL:
        for label in range(3):
            assert np.isfinite(call(function, z, np.full(4, label))).all()


def test_modified_entropy_is_monotone_in_the_wrong_mass():
    concentrated = np.log([[0.5, 0.49, 0.01]])
    spread = np.log([[0.5, 0.25, 0.25]])
    assert signals.modified_entropy(concentrated, [0]) > signals.modified_entropy(spread, [0])
    assert signals.entropy(concentrated) < signals.entropy(spread)


def test_minus_infinity_counts_as_1e_minus_45():
    with np.errstate(divide="ignore"):
        z = np.log(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    tiny = np.log(1e-45)
    np.testing.assert_allclose(signals.confidence(z, [1, 2]), [1e-45, 1e-45], rtol=1e-12)
    np.testing.assert_allclose(signals.cross_entropy(z, [1, 2]), [-tiny, -tiny], rtol=1e-12)
    np.testing.assert_allclose(signals.cross_entropy(z, [0, 0]), [2e-45, np.log(2)], rtol=1e-12)
    np.testing.assert_allclose(signals.logit_confidence(z, [1, 2]), [tiny, tiny], rtol=1e-12)
    np.testing.assert_allclose(
        signals.logit_confidence(z, [0, 0]), [-np.log(2e-45), 0], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(signals.hinge(z, [0, 2]), [-tiny, tiny - np.log(0.5)], rtol=1e-12)
    np.testing.assert_allclose(signals.entropy(z), [0, np.log(2)], atol=1e-15)
    # Right with probability 1e-45, and a wrong class whose 1 - p is 2e-45.
    np.testing.assert_allclose(
        signals.modified_entropy(z[:1], [1]), [-tiny - np.log(2e-45)], rtol=1e-12
    )
    for function in ALL:
        assert np.isfinite(call(function, z, [0, 2])).all()


def test_minus_infinity_is_relative_to_the_normaliser():
    shifted = np.array([[7.0, 7.0 + np.log(3), -np.inf]])
    np.testing.assert_allclose(signals.confidence(shifted, [2]), [1e-45], rtol=1e-12)
    np.testing.assert_allclose(signals.confidence(shifted, [1]), [0.75], rtol=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_logits_at_the_ends_of_what_is_allowed(function):
    """Nothing overflows there; up to rounding all mass is on the largest one."""
    for row in ([1e300, -1e300, 0.0], [-1e300, 1e300, 0.0], [1e300, 1e300, -1e300]):
        for label in range(3):
            found = call(function, [row], [label])[0]
            assert np.isfinite(found)
            if function is signals.entropy:
                assert found == pytest.approx(np.log(2) * (row[0] == row[1]))


def test_finite_logits_are_not_clipped():
    assert signals.logit_confidence([[0.0, 1e4]], [0])[0] == -1e4
    assert signals.cross_entropy([[0.0, 1e4]], [0])[0] == 1e4
    assert signals.modified_entropy([[0.0, 1e4]], [0])[0] == 2e4
    assert signals.cross_entropy([[500.0, 0.0]], [0])[0] == pytest.approx(np.exp(-500), rel=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_leading_axes_float32_and_blocks(function, monkeypatch):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, 2, 7, 4)).astype(np.float32)
    z[0, 1, 3, 2] = -np.inf
    labels = rng.integers(0, 4, size=7)
    want = np.empty((3, 2, 7))
    for s in range(3):
        for q in range(2):
            for i in range(7):
                want[s, q, i] = call(
                    function, z[s, q, i][None].astype(np.float64), labels[i : i + 1]
                )[0]
    for block in (1, 4, 9, 28, 60, 1 << 18):
        monkeypatch.setattr(signals, "BLOCK", block)
        got = call(function, z, labels)
        assert got.dtype == np.float64 and got.shape == (3, 2, 7)
        np.testing.assert_allclose(got, want, rtol=1e-12)
        strided = call(function, z.transpose(1, 0, 2, 3), labels)
        np.testing.assert_allclose(strided, want.transpose(1, 0, 2), rtol=1e-12)


def test_a_memory_map_is_not_held_whole(tmp_path):
    path = tmp_path / "logits.npy"
    z = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(100, 2, 2000, 10))
    z[:] = np.random.default_rng(0).normal(size=10)
    z.flush()
    z = np.load(path, mmap_mode="r")
    labels = np.zeros(2000, dtype=int)
    tracemalloc.start()
    out = signals.logit_confidence(z, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert out.shape == (100, 2, 2000)
    assert peak - out.nbytes < z.size * 8 / 2  # half of what one float64 copy would take


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    "logits",
    [
        [[np.nan, 1.0]],
        [[np.inf, 1.0]],
        [[1.1e300, 0.0]],
        [[0.0, -1.1e300]],
        [[-np.inf, 0.0, -1.7e308]],
        [[-np.inf, -np.inf]],
        [[1.0]],
        [1.0, 2.0],
        np.empty((0, 3)),
        np.empty((1, 0)),
        [["a", "b"]],
        [[1.0, 2.0], [1.0]],
        [[1j, 2.0]],
    ],
)
def test_refuses_logits(function, logits):
    with pytest.raises(ValueError, match="^logits: given .*, expected "):
        call(function, logits, [0])


@pytest.mark.parametrize("function", WITH_LABELS)
@pytest.mark.parametrize("labels", [[0], [0, 2], [-1, 0], [0.5, 0.0], [[0, 1]]])
def test_refuses_labels(function, labels):
    with pytest.raises(ValueError, match="^labels: given .*, expected "):
        function([[0.0, 1.0], [1.0, 0.0]], labels)


def test_does_not_change_its_input():
    z = np.array([[0.0, -np.inf, 1.0]])
    signals.entropy(z)
    assert np.isneginf(z[0, 1])
