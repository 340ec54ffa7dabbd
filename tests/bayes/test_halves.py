import numpy as np
import pytest

from mia_lib import bayes, metrics


def literal(signal, member, bins, score, rng, n_splits):
    """The definition, record by record."""
    found = {"cells": [], "threshold": [], "heuristic": []}
    groups = [np.flatnonzero(member), np.flatnonzero(~member)]
    for _ in range(n_splits):
        own = [set(rng.permutation(group)[: len(group) // 2]) for group in groups]
        fit = sorted(own[0] | own[1])
        judged = [i for i in range(len(member)) if i not in own[0] | own[1]]
        # edges are every (m + 1) / bins-th fitted value
        values = sorted(signal[i] for i in fit)
        ranks = [round((len(values) + 1) * k / bins) - 1 for k in range(1, bins)]
        edges = sorted({values[r] for r in ranks})
        cell = [sum(value >= edge for edge in edges) for value in signal]
        lead = {}
        for i in fit:
            weight = 1 / len(own[0]) if member[i] else -1 / len(own[1])
            lead[cell[i]] = lead.get(cell[i], 0) + weight
        called = {i for i in judged if lead.get(cell[i], 0) > 1e-12}
        found["cells"].append(gain(called, judged, member))
        best, at = -1, np.inf
        for value in [*sorted({score[i] for i in fit}), np.inf]:
            lead = gain({i for i in fit if score[i] >= value}, fit, member)
            if lead > best + 1e-12:
                best, at = lead, value
        found["threshold"].append(gain({i for i in judged if score[i] >= at}, judged, member))
        for value in [*sorted({score[i] for i in judged}), np.inf]:
            called = {i for i in judged if score[i] >= value}
            if sum(rates(called, judged, member)) <= 1 + 1e-12:
                break
        found["heuristic"].append(gain(called, judged, member))
    return found


def rates(called, among, member):
    inside = [i for i in among if member[i]]
    outside = [i for i in among if not member[i]]
    return [sum(i in called for i in side) / len(side) for side in (inside, outside)]


def gain(called, among, member):
    tpr, fpr = rates(called, among, member)
    return tpr - fpr


def test_half_advantages_are_the_literal_ones():
    rng = np.random.default_rng(1)
    member = rng.permutation(61) < 23
    signal = np.round(rng.normal(size=61) + member, 1)  # some tie
    found = bayes.half_advantages(
        {"cells": signal}, member, bins=4, n_splits=5, score=signal, rng=np.random.default_rng(2)
    )
    expected = literal(signal, member, 4, signal, np.random.default_rng(2), 5)
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert found[name] == pytest.approx(values), name


def test_half_advantages_do_not_change_under_an_increasing_map():
    rng = np.random.default_rng(3)
    member = np.arange(200) < 60
    signal = rng.normal(size=200) + member
    one, other = (
        bayes.half_advantages(
            {"q": values, "two": np.stack([values, -values], 1)},
            member,
            n_splits=4,
            score=values,
            rng=np.random.default_rng(4),
        )
        for values in (signal, 1 / (1 + np.exp(-signal)))
    )
    for name in one:
        assert one[name] == pytest.approx(other[name])


def test_a_query_may_be_called_score_beside_another_score():
    rng, member = np.random.default_rng(9), np.arange(100) < 40
    query, score = rng.normal(size=(2, 100)) + member
    given = {"n_splits": 3, "rng": np.random.default_rng(10)}
    both = bayes.half_advantages({"score": query}, member, score=score, **given)
    given["rng"] = np.random.default_rng(10)
    alone = bayes.half_advantages({"cells": query}, member, **given)
    np.testing.assert_array_equal(both["score"], alone["cells"])
    assert set(both) == {"score", "threshold", "heuristic"}


def test_the_surest_members_count_in_cells_too():
    """Ten of the members stand alone at the top: in each half the fitted ones make the top cell."""
    rng = np.random.default_rng(5)
    member = np.arange(400) < 200
    signal = rng.normal(size=400)
    signal[:100] += 1_000 + 1_000 * np.arange(100)
    found = bayes.half_advantages({"q": signal}, member, n_splits=10, score=signal, rng=rng)
    assert found["q"].mean() > 0.4
    wide = bayes.held_out_advantages({"q": signal}, member, bins=10, n_splits=10, rng=rng)
    assert wide["q"] < found["q"].mean()  # one width: the judged half's largest has no cell


def test_a_metric_is_computed_from_the_two_rates():
    """The score tells members: the adversary is right about every record."""
    member = np.arange(40) < 10
    score = np.where(member, 1.0, -1.0)
    for metric, best in ((metrics.accuracy(), 1.0), (metrics.am(0.1), 1.0), (None, 1.0)):
        how = {"metric": metric, "n_splits": 3, "score": score, "bins": 2}
        found = bayes.half_advantages({}, member, 0.1, **how)
        assert (found["threshold"] == best).all()
    # ten points of one score: a share of a tenth has no threshold, so that nobody is accused
    flat = bayes.half_advantages({}, member, 0.1, metric=metrics.accuracy(), score=np.zeros(40))
    assert flat["heuristic"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"signals": {"q": np.zeros(19)}}, "q: given 19 records, expected 20"),
        ({"score": np.zeros(21)}, "score: given 21 records, expected 20"),
        ({"signals": {"q": np.full(20, np.nan)}}, "q: given"),
        ({"member": np.arange(20) < 3}, "four members and four others"),
        ({"member": np.arange(20)[:, None] < 10}, "member: given shape"),
        ({"score": np.zeros((20, 1))}, "score: given shape"),
        ({"signals": {"q": np.zeros((20, 1, 1))}}, "q: given shape"),
        ({"signals": [np.zeros(20)]}, "signals: given list"),
        ({"signals": {}}, "signals: given no query and no score"),
        ({"signals": {"threshold": np.zeros(20)}, "score": np.zeros(20)}, "signals: given a query"),
        ({"signals": {"heuristic": np.zeros(20)}, "score": np.zeros(20)}, "signals: given a query"),
        ({"bins": 1}, "bins"),
        ({"n_splits": 1}, "n_splits"),
        ({"prior": 1.0}, "prior"),
        ({"metric": metrics.am(0.2)}, "prior"),
        ({"metric": metrics.ppv()}, "threshold on the posterior"),
    ],
)
def test_half_advantages_name_what_does_not_fit(given, said):
    full = {"signals": {"q": np.arange(20.0)}, "member": np.arange(20) < 10} | given
    with pytest.raises(ValueError, match=said):
        bayes.half_advantages(full.pop("signals"), full.pop("member"), **full)


@pytest.mark.parametrize(
    "values, said",
    [([0.1], "1 splits"), ([0.1, np.nan], "advantages"), ([[0.1, 0.2]], "advantages")],
)
def test_half_interval_names_what_does_not_fit(values, said):
    with pytest.raises(ValueError, match=said):
        bayes.half_interval(values)
