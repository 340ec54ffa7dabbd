"""Blind classifiers and copies: what they see, and that they are judged on what they did not."""

import numpy as np
import pytest

from mia_lib import audit
from mia_lib.audit import blind, copies, view
from mia_lib.audit.conduct import judge


def observed(features, member, labels=None, logits=None, **more):
    rng = np.random.default_rng(1)
    labels = np.zeros(len(member), int) if labels is None else labels
    logits = rng.normal(size=(len(member), 2)) if logits is None else logits
    return audit.Observations(logits, labels, member, features=features, **more)


def looks(o, delta=0.05):
    seen = view.View(o)
    return blind.baselines(
        o, seen, copies.groups(o.features, o.labels), delta, np.random.default_rng(0)
    )


def baselines(o, delta=0.05):
    return [line for line in looks(o, delta) if not line.columns]


def test_a_line_and_a_corner_are_seen():
    rng, member = np.random.default_rng(0), np.arange(2000) < 1000
    line = rng.normal(size=(2000, 5)) + 0.5 * member[:, None] * (np.arange(5) == 2)
    corner = rng.normal(size=(2000, 5))
    corner[member, 1] = np.abs(corner[member, 1]) * np.sign(corner[member, 0])
    for features in (line, corner):
        (found,) = baselines(observed(features, member))
        assert found.separates and found.saw == "the inputs and the label"


def test_labels_and_columns_are_seen_without_inputs():
    member = np.arange(400) < 200
    labels = np.where(member, np.arange(400) % 3 == 0, np.arange(400) % 2).astype(int)
    o = observed(None, member, labels, columns={"sex": np.where(member, "f", "m")})
    (found,) = baselines(o)
    assert found.saw == "the label and the columns" and found.limits[0].low > 0.9
    assert baselines(observed(None, member)) == []  # one class: nothing to see


def test_every_way_has_its_share_of_the_level():
    rng, member = np.random.default_rng(0), np.arange(300) < 150
    o = observed(rng.normal(size=(300, 3)), member)
    (found,) = baselines(o, delta=0.2)
    for curve, limit in zip(found.curves, found.limits):
        assert limit == curve.auc_interval(0.2 / 3)  # two ways, and the columns
        assert curve.n_members == curve.n_nonmembers == 75
    high = found.ceiling(0.01, [0.1])
    aucs = [curve.auc_interval(0.01).high for curve in found.curves]
    tprs = [curve.tpr_at(0.1, 0.01).high for curve in found.curves]
    assert high[0] == max(aucs) and high[2] == max(tprs) and len(high) == 3


def pairs_in_order(column, member):
    """Share of pairs of a member and another whose member has the larger value, ties half."""
    return np.mean([(a > b) + (a == b) / 2 for a in column[member] for b in column[~member]])


def test_the_column_that_tells_most_by_hand():
    rng, member = np.random.default_rng(0), np.arange(120) < 50
    features = rng.integers(0, 9, size=(120, 6)) - 3 * member[:, None] * (np.arange(6) == 4)
    labels = rng.integers(0, 2, 120)
    o = observed(features.astype(float), member, labels)
    line = looks(o, delta=0.2)[-1]
    by_hand = [pairs_in_order(column, member) for column in features.T]
    assert line.saw == "input number 5" and line.columns == 6 + 2  # and two labels
    assert line.limits[0].value == pytest.approx(1 - by_hand[4])  # oriented towards members
    assert line.limits == [line.curves[0].auc_interval(0.2 / 3 / 2 / 8)]


def test_a_label_or_a_column_that_tells_is_called_by_its_name():
    member = np.arange(400) < 200
    labels = np.where(member, np.arange(400) % 3 == 0, np.arange(400) % 2).astype(int)
    sex = np.where(member, "f", "m")
    assert looks(observed(None, member, labels, columns={"sex": sex}))[-1].saw == "column 'sex'"
    told = looks(observed(None, member, member.astype(int)))[-1]
    assert told.saw in ("label 0", "label 1") and told.separates
    wide = np.random.default_rng(0).normal(size=(60, blind.WIDE + 5))
    line = looks(observed(wide, np.arange(60) < 30))[-1]
    assert line.columns == blind.WIDE + 1 and line.saw == "one of the inputs"


def test_copies_of_a_record_count_once_for_a_column():
    rng, member = np.random.default_rng(0), np.arange(60) < 30
    features = np.repeat(rng.normal(size=(60, 2)) + 0.8 * member[:, None], 10, axis=0)
    curve = looks(observed(features, np.repeat(member, 10)))[-1].curves[0]
    assert curve.n_members == curve.n_nonmembers == 30


@pytest.mark.simulation
def test_columns_by_themselves_keep_their_level():
    """Thirty columns without a drift, at a level of 0.2, of which the limits that do not matter
    here have half: 35 or fewer of 200 have probability 0.9996.
    """
    rng, wrong = np.random.default_rng(0), 0
    names, member = [str(place) for place in range(30)], np.arange(120) < 60
    for _ in range(200):
        table = np.concatenate([rng.normal(size=(120, 15)), rng.integers(0, 2, (120, 15))], axis=1)
        wrong += blind.alone(table, names, member, np.arange(120), 0.2).separates
    assert wrong <= 35


def test_shrunken_centroids_by_hand():
    """A column that drifts, one that drifts by less than 1.5 standard errors, one that is constant
    among the fitted records and not among the judged ones.
    """
    rng = np.random.default_rng(0)
    member = np.arange(80) < 30
    table, others = rng.normal(size=(80, 3)), rng.normal(size=(50, 3))
    table[member, 0] += 1.0
    table[:, 2] = 5.0
    expected = np.zeros(50)
    for column, other in zip(table.T, others.T):
        if np.ptp(column) == 0:
            continue
        error = column.std() * np.sqrt(1 / 30 + 1 / 50)
        gap = (column[member].mean() - column[~member].mean()) / error
        shrunk = np.sign(gap) * max(abs(gap) - 1.5, 0)
        expected += shrunk * (other - column.mean()) / column.std()
    assert np.ptp(expected) > 1
    found = blind._centroids(table, member, others)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_no_record_is_judged_by_a_classifier_that_was_fitted_on_it():
    """Noise that names every record: a classifier that saw it would know its side."""
    rng, member = np.random.default_rng(0), np.arange(200) < 100
    for repeat in (1, 2, 5):
        table = np.repeat(rng.normal(size=(200, 300)), repeat, axis=0)
        sides, group = np.repeat(member, repeat), np.repeat(np.arange(200), repeat)
        curves = blind.judge(table, sides, group, np.random.default_rng(1))
        assert all(abs(curve.auc - 0.5) < 0.2 for curve in curves)
        assert all(curve.shape == (100,) for curve in curves)  # copies count once


def test_more_inputs_than_records_in_a_half():
    rng, member = np.random.default_rng(0), np.arange(60) < 30
    (found,) = baselines(observed(rng.normal(size=(60, 80)), member))
    assert found.curves[0].n_members == 15


def test_the_mean_out_output_is_seen():
    """Shadow models that find members easier although they never trained on them: the groups
    differ, and the inputs that were handed over do not show it.
    """
    rng, member = np.random.default_rng(0), np.arange(800) < 400
    masks = rng.random((6, 800)) < 0.5
    shadows = rng.normal(size=(6, 800, 2))
    shadows[..., 0] += 2.0 * member
    o = observed(rng.normal(size=(800, 2)), member, shadow_logits=shadows, shadow_member=masks)
    first, second = baselines(o)
    assert not first.separates and second.separates
    assert second.saw == "the shadow models' mean OUT output"
    for found in (first, second):  # two classifiers, each both ways, and the columns
        assert found.limits == [curve.auc_interval(0.05 / 5) for curve in found.curves]


def test_means_over_out_models_by_hand():
    rng, member = np.random.default_rng(0), np.arange(30) < 15
    logits, masks = rng.normal(size=(4, 30, 3)), rng.random((4, 30)) < 0.5
    masks[:, 0], masks[0, 1:] = True, False  # record 0 has no OUT model
    masks[0, 0] = True
    labels = rng.integers(0, 3, 30)
    o = observed(None, member, labels, rng.normal(size=(30, 3)), shadow_logits=logits,
                 shadow_member=masks)  # fmt: skip
    rows = np.arange(30)
    found = view.View(o).mean_out(rows)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    for i in range(1, 30):
        out = [s for s in range(4) if not masks[s, i]]
        right = [p[s, i, labels[i]] for s in out]
        assert found[i, 0] == pytest.approx(np.mean([np.log(q / (1 - q)) for q in right]))
        np.testing.assert_allclose(found[i, 1:], np.mean([p[s, i] for s in out], axis=0))
    np.testing.assert_allclose(found[0], found[1:].mean(axis=0))


def test_copies_by_hand():
    x = np.array([[1, 2], [3, 4], [1, 2], [1, 2], [5, 6], [3, 4]])
    labels = np.array([0, 0, 0, 1, 0, 0])
    group = copies.groups(x, labels)
    assert group.tolist() == [0, 1, 0, 2, 3, 1]
    assert copies.groups(None, labels).tolist() == list(range(6))
    member = np.array([1, 1, 1, 0, 0, 0], bool)
    # record 0 lies twice on one side, record 1 on both: each counts once, 1 by chance as row 1 or 5
    rows = copies.once(group, member, 1).tolist()
    assert rows in ([0, 1, 3, 4], [0, 3, 4, 5])
    assert copies.once(group, member, 4).tolist() == [0, 1, 2, 3, 4, 5]  # too few would be left


def test_as_many_of_the_rows_that_count_are_members_with_copies_as_without():
    """Half the rows are fours of copies; the share of members among fours that count is that of
    all rows, in whatever order rows come.
    """
    rng, four = np.random.default_rng(0), np.repeat(np.arange(750), 4)
    group = np.concatenate([750 + np.arange(3000), four])
    for share in (0.15, 0.85):
        member = rng.permutation(6000) < share * 6000
        for order in (np.arange(6000), np.argsort(~member, kind="stable"), np.argsort(member)):
            rows = order[copies.once(group[order], member[order], 10)]
            assert np.unique(group[rows]).size == len(rows) == 3750
            counted = member[rows][group[rows] < 750]
            assert abs(counted.mean() - share) < 4 * np.sqrt(share * (1 - share) / 750)


def test_rows_of_a_coarse_table_all_count():
    rng = np.random.default_rng(0)
    cells, member = np.arange(300) % 4, rng.random(300) < 0.5
    assert copies.once(cells, member, 10).tolist() == list(range(300))


def test_halves_keep_copies_together_and_cells_apart():
    rng = np.random.default_rng(0)
    member = np.repeat(np.arange(100) < 50, 3)
    group = np.repeat(np.arange(100), 3)
    first = copies.halves(group, member, rng)
    assert all(len(set(row)) == 1 for row in first.reshape(100, 3).tolist())
    assert first[member].sum() == first[~member].sum() == 75
    mixed = rng.random(300) < 0.5  # copies on both sides stay together too
    first = copies.halves(group, mixed, rng)
    assert all(len(set(row)) == 1 for row in first.reshape(100, 3).tolist())
    cells = np.arange(300) % 4  # four cells of a coarse table: in both halves
    first = copies.halves(cells, mixed, rng)
    assert all(0 < first[cells == k].sum() < 75 for k in range(4))


def test_a_verdict_counts_copies_once():
    """Each record ten times on one side: 60 records are no 600."""
    rng = np.random.default_rng(3)
    member = np.repeat(np.arange(60) < 30, 10)
    x, logits = (np.repeat(rng.normal(size=(60, 2)), 10, axis=0) for _ in range(2))
    o = observed(x, member, logits=logits, assignment="random")
    found = judge(o)
    assert len(found["rows"]) == 60 and found["decided"]["verdict"] == "no leak shown"
    assert audit.run(o).content["counts"]["copies"] == 540
    alone = observed(x[::10], member[::10], logits=logits[::10], assignment="random")
    assert [f["estimate"] for f in judge(alone)["figures"]] == [
        f["estimate"] for f in found["figures"]
    ]


@pytest.mark.parametrize(("width", "factor"), [(3, 1e200), (60, 1e40), (60, 1e200)])
def test_numbers_of_any_size_are_seen(width, factor):
    """As if they were divided by a power of two, which decides nothing."""
    rng, member = np.random.default_rng(0), np.arange(200) < 100
    features = rng.normal(size=(200, width)) + 1.5 * member[:, None] * (np.arange(width) == 1)
    factor = 2.0 ** np.round(np.log2(factor))
    near, far = (
        looks(observed(x, member, columns={"age": x[:, 0]})) for x in (features, factor * features)
    )
    for one, other in zip(near, far, strict=True):
        assert one.separates and one.saw == other.saw
        assert [c.auc for c in one.curves] == pytest.approx([c.auc for c in other.curves], abs=0.03)


def test_ordinary_numbers_stay_as_they_are():
    rng, member = np.random.default_rng(0), np.arange(50) < 25
    features = 10.0 ** rng.uniform(-14, 14, size=(50, 60)) * rng.choice([-1, 1], (50, 60))
    o = observed(features, member)
    table = blind._records(o, np.arange(50), rng)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table[:, :60], features.astype(np.float32))
