"""Pages take the papers' numbers from the files in book/papers and type none.

What can be found is found: a number that is handed over as `paper`, one that is assigned to a name
that says where it comes from, and a group of numbers that stand together in one table of a paper.
"""

import ast
import json
import re
from pathlib import Path

import pytest
import yaml

from mia_lib.results import papers

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for folder in ("book", "notebooks") for path in (ROOT / folder).glob("*.ipynb"))
SAYS_PAPER = re.compile(r"(?i)(in_|the_)?(papers?|printed)|table_?([1-9]|[ivx]+)")
TOGETHER = 3  # so many numbers of one table are no chance


def cells(path):
    """The code cells as syntax trees, without the magics of IPython."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).splitlines()
            yield ast.parse("\n".join(line for line in lines if line[:1] not in ("%", "!")))


def numbers(tree):
    return {
        abs(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    }


def is_specific(number):
    """0.607 and 60.7 tell where they come from, 0.5 and 20 do not."""
    return len(f"{number:.10f}".replace(".", "").strip("0")) >= 3


def printed():
    """The specific numbers of each table of a paper, as printed and as results.paper gives them."""
    for path in sorted(papers.FOLDER.glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, table in (document["tables"] | document.get("figures", {})).items():
            cells = {cell for row in table["rows"].values() for cell in row if cell is not None}
            cells |= {round(cell / 100, 10) for cell in cells}
            yield f"{path.stem}, {name}", set(filter(is_specific, cells))


TABLES = dict(printed())


def named(node):
    """The name that an assignment gives to its value, or an argument to what is handed over."""
    if isinstance(node, ast.keyword):
        return node.arg, node.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    return None, None


def typed(tree):
    """What of a cell looks like numbers that were copied from a paper."""
    for node in ast.walk(tree):
        name, value = named(node)
        if name and SAYS_PAPER.fullmatch(name):
            plain = isinstance(value, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.UnaryOp))
            if plain and numbers(value):
                yield f"{name} = {ast.unparse(value)}"
        if isinstance(node, (ast.Dict, ast.List, ast.Tuple)):
            found = set(filter(is_specific, numbers(node)))
            for table, cells in TABLES.items():
                if len(found & cells) >= TOGETHER and len(found & cells) > 0.8 * len(found):
                    yield f"{table}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_number_of_a_paper_is_typed_on_a_page(path):
    assert [line for tree in cells(path) for line in typed(tree)] == []


@pytest.mark.parametrize(
    "text, found",
    [
        ("results.row('L2', 'AUC', 0.7, paper=0.722)", True),
        ("results.row('L2', 'AUC', 0.7, paper=results.paper('lira', 'Table I', 'a', 'b'))", False),
        ("results.row('L2', 'AUC', 0.7, paper=value)", False),
        ("table_4 = {'none': (1.0, 0.607), 'MemGuard': (1.0, 0.607)}", True),
        ("TABLE5 = [1, 2]", True),
        ("table = {'n': 100}", False),
        ("pairs = {'CIFAR-10': (71.3, 70.5), 'b': (66.0, 99.9)}", True),
        ("pairs = {'CIFAR-10': (0.713, 0.705), 'b': (0.66, 0.999)}", True),
        ("priors = (0.1, 0.3, 0.5, 0.7, 0.9)", False),
        ("shape = (8.25, 3.75, 1.125)", False),
    ],
)
def test_typed_numbers_are_found_and_others_are_not(text, found):
    assert bool(list(typed(ast.parse(text)))) == found
