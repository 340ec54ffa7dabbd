"""`make reseed`: assertions are rewritten without changing what they say, runs go on where they
were, and the table says how far each claim is from failing.
"""

import json
import os
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from mia_lib import machine

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import assertions  # noqa: E402  (the folder of scripts is not a package)
import reseed  # noqa: E402


@pytest.fixture
def noted(monkeypatch):
    fresh = {"failed": {}, "compared": {}}
    monkeypatch.setattr(assertions, "found", fresh)
    return fresh


def executed(source, **names):
    exec(assertions.instrumented(source, 3), {assertions.NAME: assertions, "np": np, **names})


@pytest.mark.parametrize(
    "test, margin",
    [
        ("1 < 3", 2),
        ("3 < 1", -2),
        ("5 >= 2", 3),
        ("abs(-4) <= 6", 2),
        ("(np.arange(3) < 5).all()", 3),
        ("np.all(np.arange(3) > 1)", -1),
        ("all(x < 2 for x in (0, 1.5))", 0.5),
        ("bool(1) and 2 < 2.25", 0.25),
    ],
)
def test_a_comparison_notes_its_margin_and_the_assertion_its_truth(noted, test, margin):
    executed(f"assert {test}, 'words'")
    ((name, failures),) = noted["failed"].items()
    assert name == f"cell 3, assertion 1: {test}"
    assert bool(failures) == (not eval(test)) == (margin < 0)
    (entry,) = noted["compared"].values()
    assert entry["margin"] == margin


def test_each_side_of_a_chain_is_a_comparison_of_its_own(noted):
    executed("assert 0 < x < 1", x=0.75)
    executed("assert low < 5 <= high", low=1, high=7)
    assert [v["margin"] for v in noted["compared"].values()] == [0.75, 0.25, 4, 2]


def test_of_several_times_the_worst_is_kept_and_failures_are_counted(noted):
    executed("for x in (1, 9, 4):\n    assert x < 5")
    (entry,) = noted["compared"].values()
    assert entry == {"value": 9.0, "limit": 5.0, "margin": -4.0}
    assert list(noted["failed"].values()) == [1]


def test_nan_is_the_worst_of_all(noted):
    executed("for x in (1, float('nan'), 9):\n    assert x < 5")
    (entry,) = noted["compared"].values()
    assert np.isnan(entry["margin"]) and list(noted["failed"].values()) == [2]


def test_what_is_no_number_only_holds_or_fails(noted):
    executed("assert 'a' < 'b'\nassert {1} < {1, 2} and 3 in [3]\nassert [] == [1]")
    assert noted["compared"] == {} and list(noted["failed"].values()) == [0, 0, 1]


def test_errors_stay_errors_and_later_parts_wait_for_earlier_ones(noted):
    executed("assert isinstance(x, int) and x < 5", x="many")
    with pytest.raises(ZeroDivisionError):
        executed("assert 1 / 0 < 5")


def test_what_stays_as_it_is():
    for source in (
        "x = 1  # a comment",
        "%time f()",
        "try:\n    assert 1 < x\nexcept E:\n    pass",
    ):
        assert assertions.instrumented(source, 0) == source


def cell(source, *tags):
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook in which one assertion fails under the second shift, one moves with the shift, one
    does not, and one cell is not shifted.
    """
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    made.cells = [
        cell("import os\nshift = int(os.environ['MIA_RESEED'])\nassert shift != 2"),
        cell("assert 10 + shift < 20 and 1 < 2"),
        cell("assert 'MIA_RESEED' not in os.environ", "same-seed"),
        cell("assert os.environ['MIA_RESEED'] == str(shift)"),
    ]
    path = tmp_path / "book" / "small.ipynb"
    path.parent.mkdir()
    nbformat.write(made, path)
    monkeypatch.setattr(reseed, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(reseed, "TABLE", tmp_path / "reseed.json")
    return path


def test_runs_are_made_once_and_the_table_says_what_they_found(notebook, capsys, monkeypatch):
    assert reseed.main(["--shifts", "2", str(notebook)]) == 1
    stored = json.loads(reseed.TABLE.read_text())
    assert stored["shifts"] == 2 and set(stored["notebooks"]) == {"book/small.ipynb"}
    assert reseed.main(["--shifts", "3", str(notebook)]) == 1
    said = capsys.readouterr().out
    assert said.count("shift  1 ") == said.count("shift  2 ") == said.count("shift  3 ") == 1
    one = json.loads(reseed.TABLE.read_text())["notebooks"]["book/small.ipynb"]
    assert (one["runs"], one["passed"], one["assertions"]) == (3, 2, 4)
    assert one["failed"] == {"2": ["cell 0, assertion 1: shift != 2"]}
    ((text, row),) = one["compared"].items()
    assert text == "cell 1, assertion 1: 10 + shift < 20 [<]"
    want = {"n": 3, "value": 12, "sd": 1, "limit": 20, "worst margin": 7, "distance": 8}
    assert row == want and one["too close"] == []

    monkeypatch.setattr(reseed, "execute", None)
    assert reseed.main(["--shifts", "3", str(notebook)]) == 1  # nothing is run again


def test_what_trains_nothing_is_run_once(notebook):
    made = nbformat.read(notebook, as_version=4)
    made.cells = [cell("from mia_lib import metrics\nassert metrics.roc")]
    nbformat.write(made, notebook)
    assert not reseed.trains(notebook) and reseed.main(["--shifts", "3", str(notebook)]) == 0
    one = json.loads(reseed.TABLE.read_text())["notebooks"]["book/small.ipynb"]
    assert (one["trains"], one["runs"], one["passed"]) == (False, 1, 1)
    rewritten(notebook, 0, "from mia_lib import shadow\nfit = shadow.train")
    assert reseed.trains(notebook)


def test_chapters_that_train_are_shifted():
    for name in ("lira", "defenses", "generative", "two_sample", "audit_torch"):
        assert reseed.trains(ROOT / f"book/{name}.ipynb"), name
    assert not reseed.trains(ROOT / "book/records.ipynb")


def test_a_process_that_dies_is_no_run(notebook):
    rewritten(notebook, 2, "import os\nos.kill(os.getpid(), 9)")
    with pytest.raises(RuntimeError, match=r"small.ipynb: the process ended with -9"):
        reseed.main(["--shifts", "1", str(notebook)])
    assert not list(reseed.RUNS.glob("*"))


def test_the_first_cell_that_raises_is_the_last(notebook, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    made = nbformat.read(notebook, as_version=4)
    made.cells[:] = [
        cell("display(1 + shift)", "raises-exception"),
        cell("assert os.environ['OMP_NUM_THREADS'] == '1'\nassert Path.cwd().name == 'book'"),
        cell("assert 'MIA' in os.environ['MIA_RUNS']\n{}['a key']"),
        cell("assert False"),
    ]
    made.cells.insert(0, cell("import os\nfrom pathlib import Path"))
    nbformat.write(made, notebook)
    run = reseed.execute(notebook, 1)
    assert (run["error"], run["failed"], run["assertions"]) == ("KeyError: 'a key'", [], 3)
    assert os.environ["OMP_NUM_THREADS"] == "7" and Path.cwd().name != "book"


def test_what_takes_too_long_is_ended_and_what_it_found_is_kept(notebook, monkeypatch):
    rewritten(notebook, 3, "import time\ntime.sleep(600)")
    monkeypatch.setattr(reseed, "TIMEOUT", 20)
    run = reseed.execute(notebook, 2)
    assert run["error"] == "more than 20 seconds" and run["seconds"] < 60
    assert run["failed"] == ["cell 0, assertion 1: shift != 2"]


def rewritten(notebook, place, source):
    made = nbformat.read(notebook, as_version=4)
    made.cells[place].source = source
    nbformat.write(made, notebook)
    return reseed.key_of(notebook)


def test_a_changed_notebook_is_run_again(notebook):
    before = reseed.key_of(notebook)
    runs = [{"shift": shift, "key": before, "failed": [], "error": None} for shift in (1, 2)]
    for run in runs:
        reseed.keep(reseed.RUNS, notebook, run, before)
    assert reseed.stored(reseed.RUNS, notebook, before) == {1: runs[0], 2: runs[1]}
    assert rewritten(notebook, 1, "assert 10 + shift < 20 and 1 < 2  # words") == before
    changed = rewritten(notebook, 1, "assert 10 + shift < 21 and 1 < 2")
    assert changed != before and reseed.stored(reseed.RUNS, notebook, changed) == {}
    file = reseed.run_file(reseed.RUNS, notebook)
    file.write_text(file.read_text() + "{")
    assert reseed.stored(reseed.RUNS, notebook, before) == {1: runs[0], 2: runs[1]}
    reseed.keep(reseed.RUNS, notebook, runs[0] | {"key": changed}, changed)
    assert reseed.stored(reseed.RUNS, notebook, before) == {}, "runs of earlier code go"


def test_values_of_parameters_and_tags_count(notebook):
    made = nbformat.read(notebook, as_version=4)
    made.cells.insert(0, cell("size = 3", "parameters"))
    nbformat.write(made, notebook)
    before = reseed.key_of(notebook)
    assert rewritten(notebook, 0, "size = 4") != before
    made.cells[3].metadata["tags"] = []
    nbformat.write(made, notebook)
    assert reseed.key_of(notebook) != before


def test_an_entry_of_earlier_code_stays_until_as_many_runs_replace_it(notebook, monkeypatch):
    def executed(path, shift):
        return {"error": None, "failed": [], "assertions": 0, "compared": {}, "seconds": 1.0}

    def entry(shifts):
        assert reseed.main(["--shifts", str(shifts), str(notebook)]) == 0
        return json.loads(reseed.TABLE.read_text())["notebooks"]["book/small.ipynb"]

    monkeypatch.setattr(reseed, "execute", executed)
    first = entry(3)
    assert first["code"] == reseed.TODAYS
    assert machine.instructions()["torch"] in first["machines"][0]
    rewritten(notebook, 1, "assert 12 + shift < 20")
    assert entry(2) == first | {"code": reseed.CHANGED}
    new = entry(3)
    assert new["code"] == reseed.TODAYS and new["key"] != first["key"] and new["runs"] == 3


def test_an_error_is_a_failure_and_close_comparisons_are_listed():
    def run(value, error=None):
        compared = {"a < b [<]": {"value": value, "limit": 1.0, "margin": 1.0 - value}}
        return {
            "error": error,
            "failed": [],
            "assertions": 1,
            "compared": compared,
            "seconds": 1.0,
            "machine": "AVX2",
        }

    one = reseed.summary({1: run(0.5), 2: run(0.7), 3: run(0.9, "KeyError: 'x'")})
    assert one["passed"] == 2 and one["failed"] == {"3": ["KeyError: 'x'"]}
    assert one["too close"] == ["a < b [<]"]
    margins = [0.5, 0.3, 0.1]
    distance = np.mean(margins) / np.std(margins, ddof=1)
    assert one["compared"]["a < b [<]"]["distance"] == pytest.approx(distance, rel=1e-3)
