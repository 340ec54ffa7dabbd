"""Drawn records, roles, training sets and wrong labels."""

import numpy as np
import pytest

from mia_lib import data, experiment


def test_a_draw_depends_on_its_seed_alone_and_says_which_rows():
    full = data.load("digits")
    x, y, n_classes, rows = experiment.draw("digits", 300, seed=4)
    assert n_classes == 10 and len(set(rows)) == 300 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(x, full.x[rows])
    np.testing.assert_array_equal(y, full.y[rows])
    np.testing.assert_array_equal(experiment.draw("digits", 300, seed=4).rows, rows)
    assert (experiment.draw("digits", 300, seed=5).rows != rows).any()
    np.testing.assert_array_equal(
        rows, np.sort(np.random.default_rng(4).permutation(len(full.y))[:300])
    )


def test_zero_draws_all():
    assert len(experiment.draw("digits", 0, seed=0).y) == len(data.load("digits").y)


def _pretend(monkeypatch, x, y, splits):
    """A data set of these records whose official part `train` is its first half."""

    def load(name, split=None):
        part = slice(len(y) // 2) if split == "train" else slice(None)
        return data.Dataset(x=x[part], y=y[part], name=name, extra={})

    monkeypatch.setattr(data, "load", load)
    monkeypatch.setattr(data, "splits", lambda name: splits)


def test_the_official_part_is_drawn_from_unless_all_are_asked_for(monkeypatch):
    _pretend(monkeypatch, np.arange(40.0)[:, None], np.arange(40) % 3, ("train", "test"))
    assert experiment.draw("toy", 0, 0).x.max() == 19
    assert experiment.draw("toy", 0, 0, split=None).x.max() == 39
    _pretend(monkeypatch, np.arange(40.0)[:, None], np.arange(40) % 3, ())
    assert experiment.draw("toy", 0, 0).x.max() == 39


def test_a_small_draw_knows_the_classes_that_it_misses(monkeypatch):
    y = np.array([0, 1] * 30 + [7])
    _pretend(monkeypatch, np.zeros((61, 1)), y, ())
    drawn = experiment.draw("toy", 10, seed=0)
    assert drawn.y.max() == 1 and drawn.n_classes == 8


@pytest.mark.parametrize("count", [1798, 10**6, -1])
def test_more_records_than_there_are_are_refused(count):
    with pytest.raises(ValueError, match=f"n_examples: given {count}, expected .* from 0 to 1797"):
        experiment.draw("digits", count, seed=0)
    assert experiment.draw("digits", 1797, seed=0).rows.tolist() == list(range(1797))


def test_records_of_one_class_are_refused(monkeypatch):
    _pretend(monkeypatch, np.zeros((9, 1)), np.zeros(9, int), ())
    with pytest.raises(ValueError, match="n_examples: given 5, expected enough records"):
        experiment.draw("toy", 5, seed=0)


def test_no_record_has_two_roles():
    roles = experiment.deal(10, {"a": 3, "b": 5, "c": 2}, np.random.default_rng(0))
    assert [len(rows) for rows in roles.values()] == [3, 5, 2]
    assert sorted(np.concatenate(list(roles.values()))) == list(range(10))
    np.testing.assert_array_equal(roles["a"], np.random.default_rng(0).permutation(10)[:3])
    with pytest.raises(ValueError, match="a, b: given 8, 3, expected at most 10 together"):
        experiment.deal(10, {"a": 8, "b": 3}, np.random.default_rng(0))


def test_training_sets_have_their_size_and_stay_in_the_pool():
    pool = np.array([1, 4, 5, 8])
    masks = experiment.subsets(500, 2, pool, 10, np.random.default_rng(0))
    assert masks.shape == (500, 10) and (masks.sum(1) == 2).all()
    others = np.setdiff1d(np.arange(10), pool)
    assert not masks[:, others].any()
    # each record of the pool in half of the sets: six standard deviations of a binomial
    assert (abs(masks[:, pool].sum(0) - 250) < 6 * np.sqrt(500 / 4)).all()
    with pytest.raises(ValueError, match="size: given 5"):
        experiment.subsets(1, 5, pool, 10, np.random.default_rng(0))


def test_wrong_labels_are_wrong_evenly_and_as_many_as_asked():
    y = np.repeat(np.arange(4), 5000)
    noisy = experiment.noisy_labels(y, 0.3, 4, np.random.default_rng(0))
    wrong = noisy != y
    assert abs(wrong.mean() - 0.3) < 6 * np.sqrt(0.3 * 0.7 / len(y))
    moved = np.bincount((noisy - y)[wrong] % 4, minlength=4)
    assert moved[0] == 0 and (abs(moved[1:] / wrong.sum() - 1 / 3) < 0.04).all()
    np.testing.assert_array_equal(experiment.noisy_labels(y, 0.0, 4, np.random.default_rng(0)), y)
    with pytest.raises(ValueError, match="share"):
        experiment.noisy_labels(y, 1.5, 4, np.random.default_rng(0))


def test_classes_are_spread_evenly_and_at_random():
    y = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], [60, 30, 7]))
    order = experiment.evenly(y, np.random.default_rng(0))
    assert sorted(order) == list(range(len(y)))
    share = np.bincount(y) / len(y)
    for start in range(0, len(y), 13):
        for stop in range(start, len(y) + 1):
            count = np.bincount(y[order[start:stop]], minlength=3)
            assert (abs(count - share * (stop - start)) < 3).all()
    other = experiment.evenly(y, np.random.default_rng(2))
    assert (order != other).any()
    # the first of the class of 7 is any of them: 700 draws, six standard deviations
    firsts = [
        next(i for i in experiment.evenly(y, np.random.default_rng(s)) if y[i] == 2)
        for s in range(700)
    ]
    counts = np.unique(firsts, return_counts=True)[1]
    assert len(counts) == 7 and (abs(counts - 100) < 6 * np.sqrt(700 * 6 / 49)).all()
