"""What every stored notebook must be. That its outputs are what its code gives is nbval's part of
`make test`.
"""

import ast
import importlib.util
import json
import re
import statistics
import sys
from pathlib import Path

import nbformat
import pytest

from mia_lib import results

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_notebooks  # noqa: E402  (the folder of scripts is not a package)

spec = importlib.util.spec_from_file_location("book_script", ROOT / "scripts" / "book.py")
book = importlib.util.module_from_spec(spec)
spec.loader.exec_module(book)

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


EXPERIMENTS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIRST_TWELVE = {  # what they share went to mia_lib.experiment; together they have a limit
    "audit",
    "bayes",
    "defenses",
    "exposed",
    "gan",
    "hr_mmd",
    "language_model",
    "lira",
    "lira_ablations",
    "lira_dp",
    "risk_scores",
    "two_sample_levels",
}


def lines_of(path):
    """Lines of code of each cell, as `ruff format` leaves them, which `make test` checks before."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [code_lines(cell) for cell in cells if cell["cell_type"] == "code"]


def test_the_first_twelve_experiments_are_short_together():
    lines = [lines_of(path) for path in EXPERIMENTS if path.stem in FIRST_TWELVE]
    assert len(lines) == 12 and sum(map(sum, lines)) <= 5000
    assert statistics.median(number for cells in lines for number in cells) <= 12


@pytest.mark.parametrize(
    "path",
    [path for path in EXPERIMENTS if path.stem not in FIRST_TWELVE],
    ids=lambda path: path.stem,
)
def test_a_later_experiment_is_short(path):
    lines = lines_of(path)
    assert sum(lines) <= 350 and statistics.median(lines) <= 12


@pytest.mark.parametrize(
    "path", [path for path in EXPERIMENTS if results.largest(path.stem)], ids=lambda path: path.stem
)
def test_an_experiment_begins_with_a_picture_of_its_records(path):
    """Of every data set that was recorded, and of the records as they are now."""
    notebook = nbformat.read(path, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert f'results.picture("{path.stem}"' in first.source
    assert any("image/" in kind for output in first.outputs for kind in output.data)
    told = first.metadata["mystnb"]["image"]["alt"]
    named = re.search(r"our values on (.*?)\.(?: |$)", told)[1]
    assert set(named.split(", ")) == set(results.largest(path.stem))
    book.described(notebook)
    assert first.metadata["mystnb"]["image"]["alt"] == told


def private_names(source):
    """What a page takes from a library although its name says that it is nobody else's."""
    hidden = re.compile(r"_(?!_)")
    modules = set()
    for node in ast.walk(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", source))):
        if isinstance(node, ast.ImportFrom):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from (part for part in parts if hidden.match(part))
            modules |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            parts = [part for alias in node.names for part in alias.name.split(".")]
            yield from (part for part in parts if hidden.match(part))
            modules |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Attribute) and hidden.match(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in modules:
                yield ast.unparse(node)


def test_a_private_name_is_found():
    assert list(private_names("from mia_lib._a import b, _c")) == ["_a", "_c"]
    assert list(private_names("import mia_lib._a")) == ["_a"]
    used = "%matplotlib inline\nfrom mia_lib import shadow as s\ns.identity._source_hash(1)"
    assert list(private_names(used)) == ["s.identity._source_hash"]
    assert not list(
        private_names("from mia_lib import lira\nlira.__doc__\nestimate._replace(low=0)")
    )


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_private_is_asked_for(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not list(private_names("\n".join(sources)))


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
