"""What a classifier says of generated records, counted by hand."""

import numpy as np
import pytest

from mia_lib import generative


def test_confidence_and_distance_by_a_loop():
    rng = np.random.default_rng(0)
    made, real = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + [1, 0, 0]
    sure, counts = 0.0, {"made": [0, 0, 0], "real": [0, 0, 0]}
    for name, rows in (("made", made), ("real", real)):
        for row in rows:
            p = [np.exp(value) / sum(np.exp(other) for other in row) for value in row]
            counts[name][p.index(max(p))] += 1 / len(rows)
            sure += max(p) / 40 if name == "made" else 0
    overlap = sum(min(one, other) for one, other in zip(counts["made"], counts["real"]))
    found = generative.looks(made, real)
    assert found.confidence == pytest.approx(sure) and found.distance == pytest.approx(1 - overlap)


def test_the_same_records_are_at_distance_0_and_other_classes_at_1():
    one, other = np.eye(4)[[0, 1, 1]], np.eye(4)[[2, 3]]
    assert generative.looks(one, one).distance == 0
    assert generative.looks(one, other).distance == 1


def test_classes_must_be_the_same():
    with pytest.raises(ValueError, match="^real: given shape"):
        generative.looks(np.zeros((2, 3)), np.zeros((2, 4)))
