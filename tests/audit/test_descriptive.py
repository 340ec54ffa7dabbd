"""The figures beside the verdict, each against literal lines."""

import math

import numpy as np
import pytest
from scipy import stats

from mia_lib import audit, bayes, metrics
from mia_lib.audit import conduct, descriptive

N, DELTA = 600, 0.05


def observed(seed=0, gap=1.0, **more):
    """One number as the logit of two classes, members `gap` higher; 0.1 of it a column."""
    rng = np.random.default_rng(seed)
    member = rng.random(N) < 0.5
    score = rng.normal(size=N) + gap * member
    more = {"assignment": "coins"} | more
    o = audit.Observations(np.stack([score, np.zeros(N)], 1), np.arange(N) % 2 * 0, member, **more)
    return o, member, score


@pytest.fixture(scope="module")
def report():
    o, member, score = observed(columns={"size": np.arange(N) * 1.0, "kind": np.arange(N) % 3})
    return audit.run(o, prior=0.3), member, np.log(1 / (1 + np.exp(-score)))


def test_the_metric_family(report):
    """By Algorithm 2 with members first: swapped, TPR and TNR would change places."""
    found, member, score = report
    values = {name: rest for name, *rest in found.content["metrics"]}
    edges = descriptive._edges(score)
    sides, rng = (score[member], score[~member]), np.random.default_rng([0, 3])
    family = [metrics.accuracy(), metrics.ppv(), metrics.tpr(), metrics.tnr(), metrics.am(0.3)]
    for (name, three), metric in zip(values.items(), family):
        expected = bayes.generalized_advantage(metric, *sides, 0.3, edges, DELTA, rng)
        assert three == [float(v) for v in expected], name
    assert list(values) == ["accuracy", "precision (PPV)", "recall (TPR)", "TNR", "AM"]
    # the optimum of N(1, 1) against N(0, 1) at prior 0.3: a threshold at 1/2 + log(7/3)
    threshold = 0.5 + np.log(0.7 / 0.3)
    truth = 0.3 * stats.norm.sf(threshold - 1) + 0.7 * stats.norm.cdf(threshold)
    assert values["accuracy"][0] == pytest.approx(truth, abs=0.06)


def test_equally_full_bins():
    score = np.random.default_rng(0).normal(size=2000)
    counts = np.histogram(score, descriptive._edges(score))[0]
    assert len(counts) == 20 and counts.min() >= 99 and counts.max() <= 101


def test_slices(report):
    """By class, by a column in quarters whose ends belong to one quarter, by a column's values."""
    found, member, score = report
    lines = found.content["slices"]
    assert [line["value"] for line in lines if line["column"] == "kind"] == ["0", "1", "2"]
    quarters = [line for line in lines if line["column"] == "size"]
    cuts = [0, 149.75, 299.5, 449.25, 599]
    assert len(quarters) == 4
    for line, low, high in zip(quarters, cuts, cuts[1:]):
        inside = (np.arange(N) >= low) & (np.arange(N) < high if high < 599 else True)
        curve = metrics.roc(score[inside], member[inside])
        assert line["auc"] == [float(v) for v in curve.auc_interval(DELTA)]
        assert line["tpr"] == [float(v) for v in curve.tpr_at(0.1, DELTA)]
        assert line["members"] == member[inside].sum()
    total = sum(line["members"] + line["non-members"] for line in quarters)
    assert total == N  # every record in one quarter, those at the edges too


def test_a_slice_edge_that_many_records_share():
    """Quartiles 0, 1, 2, 3, 4 of whole values: a value at an edge opens the next quarter."""
    values = np.repeat(np.arange(5.0), 120)
    o, member, _ = observed(columns={"age": values})
    lines = [line for line in audit.run(o).content["slices"] if line["column"] == "age"]
    sizes = [line["members"] + line["non-members"] for line in lines]
    assert [line["value"] for line in lines] == ["0 to 1", "1 to 2", "2 to 3", "3 to 4"]
    assert sizes == [120, 120, 120, 240]


@pytest.mark.parametrize("fewer", [20, 19])
def test_a_slice_needs_twenty_of_each(fewer):
    o, member, score = observed()
    column = np.zeros(N, int)
    column[np.flatnonzero(member)[:fewer]] = 1
    column[np.flatnonzero(~member)[:40]] = 1
    scores = {"LOSS": score}
    o, *_ = observed(columns={"part": column})
    line = descriptive.slices(scores["LOSS"], o, np.arange(N), DELTA)[-1]
    assert (line["auc"] is None) == (fewer < 20)


def test_the_most_exposed_first(report):
    found, member, score = report
    exposed = found.content["exposed"]
    order = [i for i in np.argsort(-score, kind="stable") if member[i]][:10]
    assert [line["record"] for line in exposed] == order
    shown = [line["scores"]["LOSS"] for line in exposed]
    assert shown == sorted(shown, reverse=True) == pytest.approx(score[order])
    # the share of members among all records of the same of twenty bins, at prior 0.3
    edges = np.quantile(score, np.linspace(0, 1, 21)[1:-1])
    same = np.searchsorted(edges, score, "right") == np.searchsorted(
        edges, score[order[0]], "right"
    )
    p, q = 0.3 * same[member].mean(), 0.7 * same[~member].mean()
    assert exposed[0]["risk"][0] == pytest.approx((p - q) / (p + q))


def test_every_record_is_in_the_table(report):
    found, member, score = report
    table = found.records()
    assert len(table) == N and table["member"].tolist() == member.tolist()
    np.testing.assert_allclose(table["LOSS"], score)
    assert {"record", "label", "size", "kind", "Entropy"} <= set(table)


def test_the_set_test_on_the_loss(report):
    """Minus the loss, members against non-members, all 600 of them; and what it can find."""
    found, member, score = report
    (test,) = found.content["set"]["tests"]
    n1, n0 = int(member.sum()), int((~member).sum())
    assert (test["members"], test["non-members"]) == (n1, n0) and test["p"] == 1 / 500
    gap = (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * math.sqrt(1 / n1 + 1 / n0)
    assert test["finds"] == pytest.approx(stats.norm.cdf(gap / math.sqrt(2)))


@pytest.mark.simulation
def test_the_set_test_finds_what_it_says():
    """At the AUC that it names it rejects in 80 % of draws; 200 of them, four deviations."""
    rng, (n1, n0) = np.random.default_rng(0), (300, 300)
    shift = (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * math.sqrt(1 / n1 + 1 / n0)
    rejected = 0
    for _ in range(200):
        member = np.arange(600) < 300
        score = np.clip(rng.normal(size=600) - 9 + shift * member, None, -1e-6)
        o = audit.Observations(
            np.stack([score, np.log(-np.expm1(score))], 1), np.zeros(600, int), member,
            assignment="random",
        )  # fmt: skip
        view = conduct.View(o)
        tests = descriptive.set_tests(o, view, np.arange(600), 0.05, rng, levels=True)
        rejected += tests["tests"][0]["p"] <= 0.05
    assert abs(rejected / 200 - 0.8) < 4 * math.sqrt(0.16 / 200)


def test_a_kernel_is_not_tested_on_the_records_that_it_was_fitted_on(monkeypatch):
    seen = {}

    class Watched:
        def __init__(self, **_):
            pass

        def fit(self, *parts):
            seen["fitted"] = parts
            return self

        def test(self, *parts):
            seen["tested"] = parts
            return descriptive.two_sample.TestResult(0.0, 0.5)

    monkeypatch.setattr(descriptive.two_sample, "HrMmd", Watched)
    o, member, _ = observed(representation=np.arange(2.0 * N).reshape(N, 2))
    found = descriptive.set_tests(
        o, conduct.View(o), np.arange(N), DELTA, np.random.default_rng(0), levels=True
    )
    fitted, tested = ([set(part[:, 0]) for part in seen[key]] for key in ("fitted", "tested"))
    assert not set.union(*fitted) & set.union(*tested)
    rows = [np.array(sorted(part), dtype=int) // 2 for part in tested]
    assert not member[rows[0]].any() and member[rows[2]].all()
    assert found["tests"][1]["p"] == 0.5 and found["tests"][1]["members"] == len(tested[2])
    assert {*map(len, fitted), *map(len, tested)} == {min(member.sum(), (~member).sum()) // 2}


def test_epsilon_by_hand(report):
    found, member, score = report
    bound = found.content["epsilon"]
    order = np.argsort(score)
    correct = (~member[order[:60]]).sum() + member[order[-60:]].sum()
    share = stats.beta.ppf(DELTA, correct, 120 - correct + 1)
    assert (bound["correct"], bound["guesses"]) == (correct, 120)
    assert bound["bound"] == pytest.approx(np.log(share / (1 - share)))
    assert bound["most"] == pytest.approx(np.log(1 / (DELTA ** (-1 / 120) - 1)))


def test_resolution_by_hand(report):
    found, member, _ = report
    n1, n0 = int(member.sum()), int((~member).sum())
    for line in found.content["resolution"]["lines"]:
        fpr, here, certify, interval, inside, twice, five = line
        assert (here, inside) == (n0, n1)
        assert (1 - fpr) ** certify <= DELTA < (1 - fpr) ** (certify - 1)
        assert (1 - fpr) ** interval <= DELTA / 4 < (1 - fpr) ** (interval - 1)
        for times, n in ((2, twice), (5, five)):
            found_then = round(times * fpr * n)
            assert stats.beta.ppf(DELTA / 4, found_then, n - found_then + 1) > fpr
            before = round(times * fpr * (n - 1))
            assert before == 0 or stats.beta.ppf(DELTA / 4, before, n - before) <= fpr
    assert found.content["resolution"]["floor"] == 1 / n0


def test_the_posterior_by_hand(report):
    found, *_ = report
    assert descriptive.priors(0.3) == [0.01, 0.1, 0.3]
    for line in found.content["severity"]:
        for prior, *three in line["posterior"]:
            for tpr, posterior in zip(line["tpr"], three):
                accused = prior * tpr + (1 - prior) * line["rate"]
                assert posterior == pytest.approx(prior * tpr / accused)


def test_the_band_of_the_curve(report):
    found, member, score = report
    curve = metrics.roc(score, member)
    points = found.content["roc"][0]["points"]
    assert points[0][0] == pytest.approx(curve.fpr_floor) and points[-1] == [1, 1, 1, 1]
    for fpr, *three in points[::7]:
        assert three == [float(v) for v in curve.tpr_at(fpr, DELTA)]


def test_fewer_shadow_models_as_many_in_as_out():
    rng = np.random.default_rng(0)
    held = rng.random((9, N)) < 0.5
    held[:5, :], held[5:, :] = held[:5, :], ~held[1:5, :]
    logits = rng.normal(size=(9, N, 2))
    o = audit.Observations(
        logits[0], np.zeros(N, int), held[0], logits[1:], held[1:], assignment="random"
    )
    fewer = audit.run(o).content["resolution"]["fewer"]
    assert [line[0] for line in fewer] == [4, 8]


def test_shadow_models_of_other_records_are_not_told_apart_by_these():
    """As many other records as there are here, each in half of the shadow models."""
    rng = np.random.default_rng(0)
    held = np.concatenate([one := rng.random((4, N)) < 0.5, ~one])
    seen = np.stack([rng.normal(size=(8, N)) + held, np.zeros((8, N))], axis=-1)
    o, *_ = observed(shadow_logits=seen, shadow_member=held, shadow_labels=np.zeros(N, int))
    found = audit.run(o).content["resolution"]
    assert found["shadow models"] == 8 and found["fewer"] == []
