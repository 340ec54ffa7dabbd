"""MemGuard against a literal per-record search and a brute-force optimum."""

import numpy as np
import pytest
import torch

from mia_lib import defenses


def outputs(n=60, n_classes=4, scale=3.0, seed=0):
    return scale * np.random.default_rng(seed).normal(size=(n, n_classes))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Linear:
    """log-odds a . p + b: the gradient can be written by hand."""

    def __init__(self, a, b):
        self.a, self.b = np.asarray(a, float), b

    def __call__(self, p):
        return p @ torch.from_numpy(self.a) + self.b


class Confident:
    """Confident answers are members'."""

    def __call__(self, p):
        return 10 * p.amax(1) - 7


def literal_memguard(z, a, b, steps=300, rate=0.1):
    """One record, plain numpy, the gradient by hand; returns the answer and its distortion (inf:
    none found).
    """
    log_s0 = np.maximum(z - np.log(np.exp(z).sum()), np.log(1e-9))
    s0 = softmax(
        log_s0
    )  # so that the search starts with a distortion of exactly zero, whose slope is zero
    label = int(np.argmax(z))
    side = a @ s0 + b > 0
    best, best_d = s0, np.inf
    c = 0.1
    while c <= 1e5:
        u = log_s0.copy()
        end = None
        for _ in range(steps):
            s = softmax(u)
            slope = np.sign(a @ s + b) * a + c * np.sign(s - s0)
            gradient = s * (slope - s @ slope)
            rival = max((j for j in range(len(z)) if j != label), key=lambda j: u[j])
            if u[rival] > u[label]:
                gradient[rival] += 10
                gradient[label] -= 10
            if np.linalg.norm(gradient) > 0:
                u = u - rate * gradient / np.linalg.norm(gradient)
            s = softmax(u)
            if np.argmax(s) == label and (a @ s + b > 0) != side:
                end = s
                break
        if end is None:
            return best, best_d
        low, high = 0.0, 1.0
        for _ in range(60):
            t = (low + high) / 2
            if (a @ (s0 + t * (end - s0)) + b > 0) != side:
                high = t
            else:
                low = t
        answer = s0 + high * (end - s0)
        if np.abs(answer - s0).sum() < best_d:
            best, best_d = answer, np.abs(answer - s0).sum()
        c *= 10
    return best, best_d


def test_memguard_equals_the_literal_search_record_by_record():
    z, a, b = outputs(40), np.array([3.0, -2.0, 1.0, 0.5]), -0.4
    ours = defenses.memguard(z, Linear(a, b), budget=2)
    found = [literal_memguard(row, a, b) for row in z]
    np.testing.assert_allclose(ours, [answer for answer, _ in found], atol=1e-9)
    changed = np.isfinite([d for _, d in found])
    assert 20 < changed.sum() < 40  # some can be hidden, some cannot with their label kept


def test_memguard_keeps_label_and_sum_and_reaches_one_half():
    z = outputs(300, 6)
    before, after = softmax(z), defenses.memguard(z, Confident(), budget=2)
    assert (after.argmax(1) == z.argmax(1)).all() and (after >= 0).all()
    np.testing.assert_allclose(after.sum(1), 1, atol=1e-12)
    h0, h1 = (np.asarray(Confident()(torch.from_numpy(p))) for p in (before, after))
    assert (np.abs(h1) <= np.abs(h0) + 1e-12).all()
    assert (np.abs(h1) < 1e-9).mean() > 0.95 > 0.05 > (np.abs(h0) < 1e-9).mean()


def test_memguard_is_near_the_least_distortion():
    """Brute force: every answer on a fine grid of the simplex that keeps the label and crosses the
    attacker's line.
    """
    a, b = np.array([4.0, 0.5, -1.0]), -1.2
    grid = np.array([(i, j, 200 - i - j) for i in range(201) for j in range(201 - i)]) / 200
    z = outputs(60, 3, scale=1.5, seed=1)
    ours, s0 = defenses.memguard(z, Linear(a, b), budget=2), softmax(z)
    ratios = []
    for row, start in zip(ours, s0):
        allowed = grid[
            (grid.argmax(1) == start.argmax()) & ((grid @ a + b > 0) != (start @ a + b > 0))
        ]
        if len(allowed) and not np.array_equal(row, start):
            ratios.append(np.abs(row - start).sum() / np.abs(allowed - start).sum(1).min())
    assert len(ratios) > 30
    assert np.median(ratios) < 1.15 and np.max(ratios) < 2.5  # the grid itself is 0.01 coarse


def test_memguard_keeps_the_budget_in_expectation():
    z = np.repeat(outputs(8, 4, seed=3), 4000, axis=0)
    s0 = softmax(z)
    full = np.abs(defenses.memguard(z[::4000], Confident(), budget=2) - s0[::4000]).sum(1)
    spent = np.abs(
        defenses.memguard(z, Confident(), budget=0.2, rng=np.random.default_rng(0)) - s0
    ).sum(1)
    mean = spent.reshape(8, 4000).mean(1)
    expected = np.minimum(full, 0.2)
    assert (full > 0.25).sum() >= 3
    error = np.sqrt(np.maximum(expected * (full - expected), 1e-20) / 4000)
    assert (np.abs(mean - expected) < 4 * error + 1e-9).all()
    np.testing.assert_allclose(defenses.memguard(z[:9], Confident(), budget=0), s0[:9])


def test_memguard_record_by_record_equals_all_at_once():
    z = outputs(12, 5)
    together = defenses.memguard(z, Confident(), budget=2)
    alone = np.concatenate([defenses.memguard(row[None], Confident(), budget=2) for row in z])
    np.testing.assert_allclose(together, alone, atol=1e-12)


def test_memguard_takes_log_probabilities_with_zeros():
    with np.errstate(divide="ignore"):
        z = np.log([[1.0, 0.0, 0.0], [0.8, 0.2, 0.0]])
    after = defenses.memguard(z, Confident(), budget=2)
    np.testing.assert_allclose(after.max(1), 0.7, atol=1e-9)


def test_memguard_where_no_answer_hides():
    z = outputs(20)
    np.testing.assert_allclose(
        defenses.memguard(z, Linear(np.zeros(4), 5.0), budget=2), softmax(z), atol=1e-15
    )


def leaky(n=400, n_classes=5, seed=0):
    """Members answer confidently, others do not; predicted labels are the same."""
    rng = np.random.default_rng(seed)
    member = np.arange(n) < n // 2
    y = rng.integers(0, n_classes, n)
    z = rng.normal(size=(n, n_classes)) + np.where(member, 6.0, 2.0)[:, None] * np.eye(n_classes)[y]
    return z, y, member


def test_membership_network_learns_and_memguard_blinds_it():
    z, y, member = leaky()
    attacker = defenses.MembershipNetwork(z, member, rng=np.random.default_rng(1))
    fresh, _, who = leaky(seed=5)
    guess = attacker.probability(softmax(fresh)) > 0.5
    assert np.mean(guess == who) > 0.8
    hidden = defenses.memguard(fresh, attacker, budget=2)
    left = np.abs(attacker.probability(hidden) - 0.5)
    assert (
        np.median(left) < 1e-6 < 0.1 < np.median(np.abs(attacker.probability(softmax(fresh)) - 0.5))
    )
    # What it hides is there for those who look: the answers of the two groups still differ.
    moved = np.abs(hidden - softmax(fresh)).sum(1)
    assert (
        moved[who].mean() > 1.2 * moved[~who].mean() or moved[~who].mean() > 1.2 * moved[who].mean()
    )


def test_membership_network_finds_nothing_where_nothing_is():
    z = outputs(800, seed=4)
    member = np.random.default_rng(4).random(800) < 0.5
    attacker = defenses.MembershipNetwork(
        z[:400], member[:400], epochs=10, rng=np.random.default_rng(0)
    )
    right = np.sum((attacker.probability(softmax(z[400:])) > 0.5) == member[400:])
    assert abs(right - 200) < 4 * 10  # four standard deviations of Bin(400, 1/2)


def test_membership_network_is_for_equal_groups():
    """Nine members for one non-member, answers that say nothing: the guess stays at one half."""
    z, member = outputs(1000, seed=6), np.arange(1000) % 10 > 0
    attacker = defenses.MembershipNetwork(
        z, member, hidden=(4,), epochs=60, rng=np.random.default_rng(0)
    )
    assert abs(attacker.probability(softmax(z)).mean() - 0.5) < 0.1


def test_membership_network_is_the_same_for_the_same_generator():
    z, _, member = leaky(100)
    a, b, c = (
        defenses.MembershipNetwork(z, member, epochs=2, rng=np.random.default_rng(s))
        for s in (0, 0, 1)
    )
    p = softmax(z)
    assert (a.probability(p) == b.probability(p)).all() and (
        a.probability(p) != c.probability(p)
    ).any()


def test_guarded_answers_are_memguards_with_a_network_of_the_owner():
    """The recipe by hand, with a generator in the same state."""
    z, _, member = leaky(300)
    known, asked = np.arange(300) % 3 > 0, np.arange(300) % 5 == 0
    given = {"budget": 0.5, "epochs": 12, "n_steps": 80, "rng": np.random.default_rng(7)}
    found = defenses.guarded_answers(z, member, known, asked, **given)
    rng = np.random.default_rng(7)
    owner = defenses.MembershipNetwork(z[known], member[known], epochs=12, rng=rng)
    by_hand = defenses.memguard(z[asked], owner, 0.5, n_steps=80, rng=rng)
    np.testing.assert_allclose(np.exp(found[asked]), by_hand, rtol=1e-12)
    np.testing.assert_allclose(np.exp(found[~asked]), softmax(z[~asked]), rtol=1e-12)
    assert np.abs(by_hand - softmax(z[asked])).sum() > 1  # something was moved


def test_fresh_answers_toss_memguards_coin_for_every_query():
    """With the same generator the first query has MemGuard's own answer; over many, each change is
    made in its share of them, and the answers move by the budget on average where it is short.
    """
    z = outputs()
    always = np.log(defenses.memguard(z, Confident(), budget=2))
    change = np.abs(np.exp(always) - softmax(z)).sum(1)
    budget, n_queries = float(np.median(change[change > 1e-6])), 4000
    one = defenses.memguard(z, Confident(), budget, rng=np.random.default_rng(5))
    given = {"n_queries": n_queries, "rng": np.random.default_rng(5)}
    found = np.exp(defenses.fresh_answers(z, always, budget, **given))
    np.testing.assert_allclose(found[0], one, rtol=1e-9)
    moved = np.abs(found - softmax(z)).sum(-1)
    short = change > budget
    assert short.any() and (~short & (change > 1e-6)).any()
    np.testing.assert_allclose(moved[:, ~short], np.tile(change[~short], (n_queries, 1)), rtol=1e-7)
    assert set(np.unique(moved[:, short].round(9))) <= {0.0, *change[short].round(9)}
    assert np.abs(moved.mean(0)[short] - budget).max() < 5 * change.max() / 2 / np.sqrt(n_queries)


def test_fresh_answers_with_no_budget_and_with_all():
    z, changed = np.log([[0.7, 0.3], [0.2, 0.8]]), np.log([[0.5, 0.5], [0.4, 0.6]])
    never = defenses.fresh_answers(z, changed, 0.0, n_queries=50)
    always = defenses.fresh_answers(z, changed, 2.0, n_queries=50)
    assert never.shape == always.shape == (50, 2, 2)
    np.testing.assert_allclose(never, np.tile(z, (50, 1, 1)), rtol=1e-12)
    np.testing.assert_allclose(always, np.tile(changed, (50, 1, 1)), rtol=1e-12)


def test_rounded():
    np.testing.assert_allclose(defenses.rounded([[0.62, 0.35, 0.03]]), [[0.6, 0.4, 0.0]])
    np.testing.assert_allclose(
        defenses.rounded(np.full((2, 3, 30), 1 / 30)), 1 / 30
    )  # all round to zero: uniform
    np.testing.assert_allclose(defenses.rounded([[0.666, 0.334]], 2), [[0.67, 0.33]])


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: defenses.memguard(np.zeros((2, 3)), Confident()),
            "logits: given two largest entries in row 0",
        ),
        (
            lambda: defenses.memguard([[1.0, 0.0], [0.0, 1e-17]], Confident()),
            "logits: given two largest entries in row 1",
        ),
        (lambda: defenses.memguard([[np.nan, 0.0]], Confident()), "logits: given 1 NaN"),
        (lambda: defenses.memguard([[np.inf, 0.0]], Confident()), "logits: given shape"),
        (lambda: defenses.memguard(outputs(), Confident(), budget=3), "budget: given 3"),
        (lambda: defenses.memguard(outputs(), Confident(), n_steps=0), "n_steps: given 0"),
        (lambda: defenses.memguard(outputs(), Confident(), rate=0), "rate: given 0"),
        (lambda: defenses.memguard(outputs(), "network"), "attacker: given 'network'"),
        (lambda: defenses.memguard(outputs(), lambda p: p), "attacker: given a result of shape"),
        (
            lambda: defenses.memguard(outputs(), lambda p: p[:, 0] * torch.inf),
            "attacker: given a result that is not",
        ),
        (
            lambda: defenses.MembershipNetwork(outputs(5), np.ones(5, bool)),
            "member: given 5 members and 0",
        ),
        (lambda: defenses.MembershipNetwork(outputs(5), np.ones(4, bool)), "member: given shape"),
        (
            lambda: defenses.guarded_answers(outputs(4), *np.ones((2, 4), bool), np.zeros(4, bool)),
            "asked: given no record",
        ),
        (
            lambda: defenses.guarded_answers(outputs(4), *np.ones((3, 5), bool)),
            "member: given shape",
        ),
        (lambda: defenses.fresh_answers(outputs(4), outputs(5)), "changed: given shape"),
        (
            lambda: defenses.fresh_answers([[1.0, 0.0]], [[np.inf, 0.0]]),
            r"changed: given shape \(1, 2\) or a row with \+inf",
        ),
        (
            lambda: defenses.fresh_answers([[1.0, 0.0]], [[-np.inf, -np.inf]]),
            r"changed: given shape \(1, 2\) or a row with",
        ),
        (lambda: defenses.fresh_answers(*[outputs(4)] * 2, 3), "budget: given 3"),
        (lambda: defenses.fresh_answers(*[outputs(4)] * 2, n_queries=0), "n_queries: given 0"),
        (lambda: defenses.rounded([0.5, 0.5]), "probabilities: given shape"),
        (lambda: defenses.rounded([[0.5, -0.5]]), "probabilities: given a smallest"),
        (lambda: defenses.rounded([[0.5, 0.5]], -1), "decimals: given -1"),
        (
            lambda: defenses.rounded([[0.5, 0.5], [0.5, 0.4]]),
            "probabilities: given a row that sums to 0.9",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
