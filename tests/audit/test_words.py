"""Every word of the report and of the command line is the approved one.

The approved words lie in the folder `words`, numbers left out, since they differ between processors
in the last digits. After a change that is meant: MIA_APPROVE=1, run these tests, read the diff.
"""

import functools
import os
import re
from pathlib import Path

import numpy as np
import pytest
from audit_reports import Page, features_that_differ, observed

from mia_lib import audit
from mia_lib.audit import __main__ as command
from mia_lib.audit import regression

APPROVED = Path(__file__).parent / "words"
HASH = re.compile(r"\b[0-9a-f]{16,}\b")
VERSION = re.compile(r"\d[\w.+]*\.[\w.+]+")
NUMBER = re.compile(r"[-+−]?(\d[\d,.]*(e[-+]?\d+)?|\binf\b|\bnan\b)")


def without_numbers(text):
    for pattern in (HASH, VERSION, NUMBER):
        text = pattern.sub("#", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def check(name, text):
    path, text = APPROVED / f"{name}.txt", without_numbers(text)
    if os.environ.get("MIA_APPROVE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def shadowed(gap, assignment, inverted=False, **more):
    """200 records, and twelve shadow models that leak as the target does."""
    rng = np.random.default_rng(1)
    member = rng.random((13, 200)) < 0.5
    logits = np.stack([rng.normal(size=(13, 200)) + gap * member, np.zeros((13, 200))], -1)
    said = ~member[1:] if inverted else member[1:]
    return audit.Observations(
        logits[0],
        np.zeros(200, int),
        member[0],
        shadow_logits=logits[1:],
        shadow_member=said,
        assignment=assignment,
        **more,
    )


def distances():
    """A regression whose errors on members are smaller."""
    rng = np.random.default_rng(2)
    member, targets = rng.random(200) < 0.5, rng.normal(size=200)
    predictions = targets + np.where(member, 0.2, 1.0) * rng.normal(size=200)
    outputs, _ = regression.outputs(predictions, targets)
    return audit.Observations(
        outputs, np.zeros(200, int), member, task="regression", columns={"target": targets}
    )


def worlds():
    site = {"site": np.where(np.arange(200) % 2, "A", "B"), "age": np.arange(200) % 37}
    stored = ("the model stores its records", "leaves with few records")
    layer = np.random.default_rng(3).normal(size=(200, 5))
    return {
        "leak": observed(columns=site, representation=layer, structure=stored),
        "leak-by-coins": shadowed(2.0, "coins", features=layer),
        "leak-of-many": observed(n=400),
        "nothing": observed(gap=0.0),
        "nothing-with-shadows": shadowed(0.0, "random", columns=site),
        "groups-differ": observed(assignment="given", features=features_that_differ()),
        "masks": shadowed(3.0, "random", inverted=True),
        "regression": distances(),
    }


@functools.cache
def report(name):
    return audit.run(worlds()[name], model="the model", date="2031-05-06")


@pytest.mark.parametrize("name", worlds())
def test_the_report(name):
    check(f"report-{name}", report(name).to_markdown())


@pytest.mark.parametrize("name", ["leak", "leak-by-coins"])
def test_the_page_and_its_figures(name):
    page = Page()
    page.feed(report(name).to_html())
    check(f"page-{name}", "\n".join(part.strip() for part in page.text if part.strip()))


def test_two_models_compared():
    found = audit.compare(shadowed(2.0, "random"), shadowed(0.5, "random"))
    check("comparison", str(found))


def test_the_command_line(capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit, match="0"):
        command.main(["--help"])
    # how argparse lays it out differs between Python's versions
    check("command", "\n".join(sorted(set(capsys.readouterr().out.split()))))
