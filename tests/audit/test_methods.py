"""Every attack of the audit against a few literal lines, on one world, and above one half where the
model leaks.

The world has 500 records of three classes and S shadow models on Bernoulli masks. A member's right
logit is raised by 1.5, and each class has a difficulty of its own.
"""

import numpy as np
import pytest
from lira.test_posterior import literal
from scipy import stats
from sklearn.neural_network import MLPClassifier

from mia_lib import audit
from mia_lib.audit import conduct, methods

N, K = 500, 3


def made(n_shadow):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, K, N)
    held = rng.random((n_shadow + 1, N)) < 0.5
    logits = rng.normal(size=(1, N, K)) + 0.5 * rng.normal(size=(n_shadow + 1, N, K))
    logits[:, np.arange(N), labels] += 1.5 * held + labels
    return logits, labels, held


FEW, MANY = made(48), made(64)


def softmax(z):
    return np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)


def of_label(p, labels):
    return p[..., np.arange(N), labels]


def phi(logits, labels):
    p = of_label(softmax(logits), labels)
    return np.log(p / (1 - p))


def modified_entropy(logits, labels):
    found = np.zeros(logits.shape[:-1])
    p = softmax(logits)
    for k in range(K):
        right = labels == k
        wrong = -p[..., k] * np.log(1 - p[..., k])
        found += np.where(right, -(1 - p[..., k]) * np.log(p[..., k]), wrong)
    return found


def over(values, mask, function):
    """A function of each record's values over the models of its mask."""
    return np.array([function(values[mask[:, i], i]) for i in range(N)])


def spread(values, mask):
    """One spread for all records: the root mean square about each record's mean."""
    residual = [values[mask[:, i], i] - values[mask[:, i], i].mean() for i in range(N)]
    return np.sqrt(np.mean(np.concatenate(residual) ** 2))


def online(logits, labels, held):
    x, seen, inside = phi(logits[0], labels), phi(logits[1:], labels), held[1:]
    sides = []
    for mask in (inside, ~inside):
        wide = spread(seen, mask) if len(seen) < 64 else over(seen, mask, np.std)
        sides.append(stats.norm.logpdf(x, over(seen, mask, np.mean), wide))
    return sides[0] - sides[1]


def offline(logits, labels, held):
    x, seen, out = phi(logits[0], labels), phi(logits[1:], labels), ~held[1:]
    wide = spread(seen, out) if len(seen) < 64 else over(seen, out, np.std)
    return stats.norm.logcdf((x - over(seen, out, np.mean)) / wide)


def student(logits, labels, held, *attack):
    """LiRA with Student's t, priors and all, by the loops of its own tests."""
    seen = phi(logits, labels)[..., None]
    used = np.ones((len(seen) - 1, N), bool)
    return literal(seen[0], seen[1:], used, held[1:], *attack, "spherical")


def online_student(logits, labels, held):
    return student(logits, labels, held, "online", None)


def offline_student(logits, labels, held):
    return student(logits, labels, held, "offline", "one-sided")


def rmia(logits, labels, held, average):
    p = of_label(softmax(logits), labels)
    means = [over(p[1:], mask, np.mean) for mask in (held[1:], ~held[1:])]
    ratio = p[0] / average(*means)
    return np.array([np.sum(np.delete(ratio, i) <= ratio[i]) / (N - 1) for i in range(N)])


def rmia_online(*world):
    return rmia(*world, lambda inside, outside: (inside + outside) / 2)


def rmia_offline(*world):
    return rmia(*world, lambda inside, outside: (outside + 1) / 2)


def midpoint(logits, labels, held):
    seen = phi(logits[1:], labels)
    middle = (over(seen, held[1:], np.mean) + over(seen, ~held[1:], np.mean)) / 2
    return phi(logits[0], labels) - middle


def calibrated(logits, labels, held):
    return phi(logits[0], labels) - over(phi(logits[1:], labels), ~held[1:], np.mean)


def quantile(logits, labels, held):
    x, seen = phi(logits[0], labels), phi(logits[1:], labels)
    return np.array([np.mean(seen[~held[1:, i], i] < x[i]) for i in range(N)])


def class_thresholds(logits, labels, held):
    """On the first eight shadow models, together."""
    seen, inside = -modified_entropy(logits[1:9], labels), held[1:9]
    best = {}
    for k in range(K):
        score, member = seen[:, labels == k].ravel(), inside[:, labels == k].ravel()
        gain = [(score[member] >= t).mean() - (score[~member] >= t).mean() for t in score]
        best[k] = max(score[np.isclose(gain, max(gain), atol=1e-12)])
    return -modified_entropy(logits[0], labels) - np.array([best[y] for y in labels])


def loss(logits, labels, held):
    return np.log(of_label(softmax(logits[0]), labels))


def minus_modified(logits, labels, held):
    return -modified_entropy(logits[0], labels)


def minus_entropy(logits, labels, held):
    p = softmax(logits[0])
    return (p * np.log(p)).sum(axis=1)


def hinge(logits, labels, held):
    z = logits[0].copy()
    right = z[np.arange(N), labels]
    z[np.arange(N), labels] = -np.inf
    return right - z.max(axis=1)


def correctness(logits, labels, held):
    return (logits[0].argmax(axis=1) == labels).astype(float)


LITERAL = {
    "LiRA, online": online,
    "LiRA, online, Bayesian": online_student,
    "RMIA, online": rmia_online,
    "Midpoint": midpoint,
    "LiRA, offline": offline,
    "LiRA, offline, Bayesian": offline_student,
    "RMIA, offline": rmia_offline,
    "Calibrated confidence": calibrated,
    "Reference quantile": quantile,
    "Modified entropy, class thresholds": class_thresholds,
    "LOSS": loss,
    "Modified entropy": minus_modified,
    "Entropy": minus_entropy,
    "Hinge": hinge,
    "Correctness": correctness,
}


@pytest.fixture(scope="module", params=[48, 64])
def audited(request):
    logits, labels, held = FEW if request.param == 48 else MANY
    o = audit.Observations(logits[0], labels, held[0], logits[1:], held[1:], assignment="random")
    return (logits, labels, held), conduct.judge(o)


@pytest.mark.parametrize("name", LITERAL)
def test_a_method_is_what_its_literal_lines_say(name, audited):
    world, found = audited
    np.testing.assert_allclose(found["scores"][name], LITERAL[name](*world), rtol=1e-7, atol=1e-9)


def test_every_method_is_above_one_half_where_the_model_leaks(audited):
    (_, _, held), found = audited
    member = held[0]
    for name, score in found["scores"].items():
        above = stats.mannwhitneyu(score[member], score[~member], alternative="greater")
        assert above.pvalue < 0.01, name
    assert (
        list(found["scores"])
        == list(methods.ORDER)
        == [*LITERAL][:10] + ["Learned network", *[*LITERAL][10:]]
    )


def test_the_network_is_one_on_probabilities_and_label(audited):
    """Another library's network with the same inputs puts the records in nearly the same order."""
    (logits, labels, held), found = audited

    def seen(z):
        return np.concatenate([softmax(z), np.eye(K)[labels]], axis=1)

    taught = np.concatenate([seen(z) for z in logits[1:9]])
    other = MLPClassifier((64,), max_iter=60, random_state=0, tol=0.1).fit(
        taught, held[1:9].ravel()
    )
    expected = other.predict_proba(seen(logits[0]))[:, 1]
    assert stats.spearmanr(found["scores"]["Learned network"], expected)[0] > 0.9


def test_a_method_that_ties_every_record_changes_no_verdict():
    rng = np.random.default_rng(0)
    member = np.arange(200) < 100
    o = audit.Observations(
        np.tile([5.0, 0.0], (200, 1)) + 1e-3 * rng.normal(size=(200, 2)),
        np.zeros(200, int),
        member,
        assignment="random",
    )  # every prediction is right
    found = conduct.judge(o)
    flat = [f for f in found["figures"] if f["attack"] == ["Correctness"]]
    (area,) = {f["estimate"] for f in flat if f["what"] == "AUC"}
    assert area.low < area.value == 0.5 < area.high
    assert found["decided"]["verdict"] == "no leak shown"
