"""The picture of a report shows the numbers that the report has."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt

from mia_lib import audit


@pytest.fixture(autouse=True)
def clean():
    yield
    plt.close("all")


def audited(assignment, features=None):
    rng = np.random.default_rng(0)
    member = rng.random(300) < 0.5
    logits = rng.normal(size=(300, 3)) + 2.0 * member[:, None] * np.eye(3)[0]
    labels = np.zeros(300, int)
    if features == "drift":
        features = np.stack([member + 0.1 * rng.normal(size=300), rng.normal(size=300)], 1)
    return audit.run(
        audit.Observations(logits, labels, member, features=features, assignment=assignment)
    )


def drawn(ax):
    """{name: (value, outer limits, inner limits or None)}, read off the picture."""
    names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    values = [line.get_xdata()[0] for line in ax.get_lines()[: len(names)]]
    ends = {}
    for lines in ax.collections:
        (low, place), (high, _) = lines.get_segments()[0]
        ends.setdefault(int(place), []).append((low, high))
    return {name: (value, *ends[place]) for place, (name, value) in enumerate(zip(names, values))}


def test_the_areas_are_those_of_the_family():
    report = audited("coins")
    left, right = audit.picture(report)
    found = drawn(right)
    family = [line for line in report.content["family"] if line["what"] == "AUC"]
    alone = {line["name"]: line["auc"] for line in report.content["attacks"] if not line["lacks"]}
    assert len(found) == len(family) > 2
    for line in family:
        value, low, high = line["estimate"]
        assert found[", ".join(line["attack"])] == (
            pytest.approx(value),
            pytest.approx((low, high)),
            pytest.approx(alone[line["attack"][0]][1:]),
        )
    assert left.get_xscale() == "log" and "members" in left.get_ylabel()


def test_blind_classifiers_stand_below_the_attacks():
    report = audited("given", "drift")
    assert report.verdict == "groups differ" or report.content["separated"]
    right = audit.picture(report)[1]
    found = drawn(right)
    blind = {name: line for name, line in found.items() if name.startswith("blind: ")}
    assert list(found)[-len(blind) :] == list(blind)
    ways = [way for line in report.content["blind"] for way in line["auc"]]
    ways.append(report.content["alone"]["auc"])
    assert list(blind.values()) == [
        (pytest.approx(value), pytest.approx((low, high))) for value, low, high in ways
    ]


def test_a_report_without_inputs_and_chance():
    report = audited("given")
    assert report.verdict == "check the input"
    assert not any("inputs" in name for name in drawn(audit.picture(report)[1]))
