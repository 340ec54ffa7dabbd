"""What every stored notebook must be. That its outputs are what its code gives is nbval's part of
`make test`.
"""

import json
import re
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_notebooks  # noqa: E402  (the folder of scripts is not a package)

LONGEST_CELL = 30  # lines, those of parameters aside
SORTS = re.compile(r"argsort\((?!.*stable)|argpartition\(")  # of other things than a draw
# These sort what has no ties that an output could show: real numbers, means of classes, ranks.
WITHOUT_TIES = {
    "class_aware": 1,
    "dp_canaries": 1,
    "exposed": 2,
    "family": 1,
    "generators_one_record": 1,
    "lira_ablations": 1,
    "one_family": 3,
    "risk_scores": 1,
    "which_attack": 1,
}
STORED = check_notebooks.stored()


def test_there_are_notebooks():
    assert STORED


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_stored_notebook_is_clean(path):
    assert check_notebooks.problems(path) == []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_cells_are_short(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [
        len("".join(cell["source"]).strip().splitlines())
        for cell in cells
        if cell["cell_type"] == "code" and "parameters" not in cell["metadata"].get("tags", [])
    ]
    assert max(lines, default=0) <= LONGEST_CELL


def unstable(source):
    """Lines that sort by index and leave the order of ties to the processor."""
    return [line for line in source.splitlines() if SORTS.search(line) and "random(" not in line]


def test_an_unstable_sort_is_found():
    assert unstable("rows = np.argsort(-share)[:10]") and unstable("np.argpartition(x, 3)")
    assert not unstable('rows = np.argsort(-share, kind="stable")[:10]')


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_ties_have_one_order_on_every_processor(path):
    """numpy's default sort orders ties by another rule with AVX-512 than with AVX2."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    allowed = WITHOUT_TIES.get(path.stem, 0)
    assert len(unstable(source)) <= allowed, unstable(source)


def code_lines(cell):
    return sum(bool(line.strip()) for line in "".join(cell["source"]).splitlines())


@pytest.mark.parametrize(
    "path",
    [path for path in STORED if "experiment.begin(" in path.read_text(encoding="utf-8")],
    ids=lambda path: path.stem,
)
def test_an_experiment_tells_its_story_in_small_cells(path):
    """Lines without blank ones; the cell of parameters has a line for each and is left out."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    told = [c for c in cells if "parameters" not in c["metadata"].get("tags", [])]
    assert max(map(code_lines, told)) <= 30
    assert statistics.median(map(code_lines, told)) <= 12


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_path_of_this_machine(path):
    text = path.read_text(encoding="utf-8")
    for here in (ROOT, Path.home(), Path(sys.prefix)):
        assert len(here.parts) < 2 or str(here) not in text


def test_no_page_reads_an_executed_record():
    """Executed notebooks of records are not in the repository; pages read records and pictures."""
    assert not any(path.parent.name == "results" for path in STORED)
    for path in STORED:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                assert not re.search(r"recorded\(\)[^\n]*\.ipynb|results/[^\n]*\.ipynb", source), (
                    path
                )
                assert not re.search(r"--\w+\.ipynb", source), path
