"""Adversaries judged on the other half: nothing is found where nothing is, and the limits cover."""

import numpy as np
import pytest

from mia_lib import bayes, metrics


def test_an_untouched_signal_gives_nothing_away():
    rng = np.random.default_rng(6)
    member = np.arange(600) < 200
    ends = []
    for _ in range(100):
        noise = rng.normal(size=(600, 2))
        found = bayes.half_advantages(
            {"one": noise[:, 0], "two": noise}, member, n_splits=10, score=noise[:, 0], rng=rng
        )
        ends.append([values.mean() for values in found.values()])
    mean, error = np.mean(ends, 0), np.std(ends, 0) / 10
    assert (np.abs(mean) < 4 * error).all()


@pytest.mark.parametrize("shift", [0.0, 0.7, 2.0])
def test_limits_cover_over_samples(shift):
    """The target is the mean over samples: an estimate on a judged half has no bias."""
    rng, n_samples, n_splits = np.random.default_rng([7, int(10 * shift)]), 200, 30
    member, found = np.arange(900) < 300, []
    for _ in range(n_samples):
        first, second = rng.normal(size=(2, 900))
        first += shift * member
        queries = {"cells": first, "two": np.stack([first, second], 1)}
        one = bayes.half_advantages(queries, member, n_splits=n_splits, score=first, rng=rng)
        one |= {
            "two minus cells": one["two"] - one["cells"],
            "cells minus threshold": one["cells"] - one["threshold"],
            "cells minus heuristic": one["cells"] - one["heuristic"],
        }
        found.append([bayes.half_interval(values) for values in one.values()])
    found = np.array(found)  # (samples, entries, value low high)
    target = found[:, :, 0].mean(0)
    covered = ((found[:, :, 1] <= target) & (target <= found[:, :, 2])).mean(0)
    print(shift, dict(zip(one, covered)))
    assert (covered >= 0.92).all(), dict(zip(one, covered))
    assert (covered[4:] >= 0.95).all(), dict(zip(one, covered))


def test_at_another_prior_and_metric_a_difference_covers_too():
    """AM and accuracy at p = 0.2, the cells' adversary against the heuristic one."""
    rng, n_samples = np.random.default_rng(8), 200
    member, found = np.arange(900) < 300, []
    for _ in range(n_samples):
        score = rng.normal(size=900) + 0.7 * member
        lead = []
        for metric in (metrics.am(0.2), metrics.accuracy()):
            how = {"metric": metric, "n_splits": 30, "score": score, "rng": rng}
            one = bayes.half_advantages({"cells": score}, member, 0.2, **how)
            lead.append(bayes.half_interval(one["cells"] - one["heuristic"]))
        found.append([*lead, bayes.half_interval(one["cells"])])
    found = np.array(found)
    target = found[:, :, 0].mean(0)
    covered = ((found[:, :, 1] <= target) & (target <= found[:, :, 2])).mean(0)
    print(covered)
    assert (covered[:2] >= 0.95).all(), covered
    assert (target[:2] > 0).all()  # it knows the share, not the metric
    assert 0.8 < covered[2] < 0.95, covered  # accuracy alone: the exception that is documented
