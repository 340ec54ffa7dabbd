"""All that an attacker who tries has, against worlds whose best decision is known."""

import numpy as np
import pytest
from scipy import special, stats

from mia_lib import attacks


def judged(said, member):
    return attacks.decision_accuracy(said, member).value


def told_by_the_others(rng, n, told=True):
    """Three classes; which of the two wrong classes has more tells membership, and nothing else."""
    member, labels = np.arange(n) < n // 2, rng.integers(0, 3, n)
    own, more = rng.uniform(0.4, 0.8, n), rng.uniform(0.6, 0.9, n)
    first = member if told else rng.random(n) < 0.5
    probabilities = np.zeros((n, 3))
    rows = np.arange(n)
    probabilities[rows, labels] = own
    probabilities[rows, (labels + 1) % 3] = (1 - own) * np.where(first, more, 1 - more)
    probabilities[rows, (labels + 2) % 3] = (1 - own) * np.where(first, 1 - more, more)
    return np.log(probabilities), labels, member


def test_the_network_finds_what_no_threshold_sees():
    rng = np.random.default_rng(0)
    target, shadow = told_by_the_others(rng, 1200), told_by_the_others(rng, 1200)
    found = attacks.adaptive_suite(*target[:2], *shadow, epochs=60, rng=rng)
    assert found.chosen == "network" and judged(found.said, target[2]) > 0.95
    assert abs(found.tried["network"] - judged(found.said, target[2])) < 0.04
    others = [value for name, value in found.tried.items() if name != "network"]
    assert len(others) == 19 and max(others) < 0.56


def test_the_nineteen_are_those_of_the_thresholds():
    """The generator divides the records first, so that the same ones are judged."""
    for seed in range(3):
        rng = np.random.default_rng([1, seed])
        member, labels = np.arange(300) < 150, rng.integers(0, 3, 300)
        logits = rng.normal(size=(300, 3))
        logits[np.arange(300), labels] += member
        given = logits, labels, logits, labels, member
        first = attacks.adaptive_attack(*given, rng=np.random.default_rng(seed))
        found = attacks.adaptive_suite(*given, epochs=1, rng=np.random.default_rng(seed))
        again = attacks.adaptive_suite(*given, epochs=1, rng=np.random.default_rng(seed))
        assert list(found.tried) == [*first.tried, "network"]
        assert found.tried | first.tried == found.tried == again.tried
        assert found.chosen == first.chosen and (found.said == first.said).all()


def test_members_and_non_members_count_alike_for_the_network():
    """One member among ten records: a network that went by the shares would accuse nobody."""
    rng = np.random.default_rng(2)
    target, shadow = told_by_the_others(rng, 1200), told_by_the_others(rng, 2400)
    kept = ~shadow[2] | (np.arange(2400) % 9 == 0)
    logits, labels, member = (part[kept] for part in shadow)
    assert member.mean() < 0.11
    # half of all records carry no sign, so that the decision is not certain
    blurred = [np.where(rng.random((len(z), 1)) < 0.5, z[:, :1], z) for z in (target[0], logits)]
    found = attacks.adaptive_suite(
        blurred[0], target[1], blurred[1], labels, member, epochs=60, rng=rng
    )
    assert found.chosen == "network"
    assert 0.35 < found.said[target[2]].mean() and judged(found.said, target[2]) > 0.7


def test_the_networks_figure_is_of_records_that_it_did_not_see():
    """A network that is trained for long knows its own records where there is nothing to know."""
    rng, held_out, seen = np.random.default_rng(3), [], []
    for _ in range(10):
        logits, labels = rng.normal(size=(120, 4)), rng.integers(0, 4, 120)
        given = logits, labels, logits, labels, rng.permutation(120) < 60
        found = attacks.adaptive_suite(*given, epochs=200, rng=rng)
        held_out.append(found.tried["network"])
        seen.append(judged(attacks.label_network(*given, epochs=200, rng=rng) > 0.5, given[4]))
    assert np.mean(seen) > 0.57
    assert abs(np.mean(held_out) - 0.5) < 4 * 0.05 / np.sqrt(10)


def test_nothing_is_found_where_nothing_leaks():
    rng, said = np.random.default_rng(4), []
    for _ in range(12):
        target, shadow = (told_by_the_others(rng, 400, told=False) for _ in range(2))
        found = attacks.adaptive_suite(*target[:2], *shadow, rng=rng)
        said.append(judged(found.said, target[2]))
    assert abs(np.mean(said) - 0.5) < 4 * 0.025 / np.sqrt(12)


def coins(rng, n_queries, shares):
    """Answers that are right and sure, or wrong and sure, by a coin for every query."""
    right = rng.random((n_queries, len(shares))) < shares
    return np.where(right[..., None], [3.0, 0.0], [0.0, 3.0])


def test_who_asks_again_finds_what_one_answer_does_not_say():
    """Members are right in 55 % of queries, others in 45: the right answers are binomial."""
    rng, n = np.random.default_rng(5), 4000
    member, labels = np.arange(n) < n // 2, np.zeros(n, int)
    shares = np.where(member, 0.55, 0.45)
    for n_queries in (1, 10, 100):
        sides = [coins(rng, n_queries, shares) for _ in range(2)]
        found = attacks.adaptive_suite(
            sides[0], labels, sides[1], labels, member, epochs=3, rng=rng
        )
        cuts = np.arange(n_queries + 1)
        inside, outside = (stats.binom.sf(cuts, n_queries, share) for share in (0.55, 0.45))
        truth = (1 + inside - outside) / 2
        assert abs(judged(found.said, member) - truth.max()) < 4 * 0.5 / np.sqrt(n)
    assert truth.max() > 0.83


def test_asking_again_finds_nothing_where_the_coins_are_everybodys():
    rng, said = np.random.default_rng(6), []
    for _ in range(10):
        sides = [coins(rng, 20, np.full(400, 0.5)) for _ in range(2)]
        labels, member = np.zeros(400, int), rng.permutation(400) < 200
        given = sides[0], labels, sides[1], labels, member
        said.append(judged(attacks.adaptive_suite(*given, epochs=5, rng=rng).said, member))
    assert abs(np.mean(said) - 0.5) < 4 * 0.025 / np.sqrt(10)


def test_averaged_answers_by_loops_and_where_probabilities_vanish():
    logits = np.random.default_rng(7).normal(size=(4, 5, 3))
    mean = sum(special.softmax(one, axis=1) for one in logits) / 4
    np.testing.assert_allclose(attacks.averaged_answers(logits), np.log(mean), rtol=1e-12)
    np.testing.assert_allclose(
        attacks.averaged_answers(logits[:1]), special.log_softmax(logits[0], axis=1), rtol=1e-12
    )
    far = attacks.averaged_answers([[[0.0, -2000.0, -np.inf]], [[0.0, -2000.0, -np.inf]]])
    np.testing.assert_array_equal(far, [[0.0, -2000.0, -np.inf]])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda one, more: attacks.averaged_answers(one), r"logits: given shape \(12, 3\)"),
        (
            lambda one, more: attacks.averaged_answers(np.full((2, 4, 3), -np.inf)),
            "logits: given a row without a largest finite entry",
        ),
        (
            lambda one, more: suite(more, more[:1]),
            "shadow_logits: given 1 answers for each record, expected 2, as many",
        ),
        (lambda one, more: suite(more, one), "shadow_logits: given 1 answers"),
        (lambda one, more: suite(more[None], one), "target_logits: given shape"),
        (lambda one, more: suite(one, one[:, :2]), "shadow_logits: given 2 classes"),
        (lambda one, more: suite(one, one, folds=7), "shadow_member: given 6 records on one side"),
        (lambda one, more: suite(one, one, epochs=-1), "epochs"),
        (lambda one, more: suite(one, one, hidden=(0,)), "hidden"),
    ],
)
def test_bad_input(call, message):
    one = np.eye(3)[[0, 1, 2] * 4]
    with pytest.raises(ValueError, match=f"^{message}"):
        call(one, np.stack([one, one]))


def suite(target, shadow, **options):
    labels, member = np.array([0, 1] * 6), np.arange(12) < 6
    return attacks.adaptive_suite(target, labels, shadow, labels, member, **options)
