"""The hash over a notebook and what it can reach: what must change it, and what must not."""

import ast
import json
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mia_lib import results
from mia_lib.results import code, normal_form
from mia_lib.results.sources import Library

ROOT = Path(__file__).resolve().parents[2]

TOY = {
    "__init__.py": '"""A package."""\n',
    "maths.py": '''"""Sums."""
from functools import cache

from toy import shapes
from toy.tables import SCALE, lookup

OFFSET = 1
UNREAD = 5


def total(values, weight=2):
    """The sum."""
    result = 0  # so far
    for value in values:
        result += _scaled(value) * weight
    return result + OFFSET


def _scaled(value):
    return value * SCALE


@cache
def idle(n):
    return UNREAD + n


class Box(shapes.Shape):
    sides = 4

    def area(self, length):
        return self.check(length) ** 2


def chosen(name):
    return lookup(name)
''',
    "shapes.py": """class Shape:
    def check(self, length):
        return max(length, SMALLEST)


SMALLEST = 0


def unseen():
    return 3
""",
    "tables.py": """SCALE = 10
TABLE = {}
OTHER = {}


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


TABLE["double"] = double
OTHER["triple"] = triple


def lookup(name):
    return TABLE[name]
""",
}
CELL = "from toy import maths\n\nanswer = maths.total([1, 2])\nanswer"


def page(folder, *cells, tags=None):
    """A notebook with these code cells; `tags` are those of the first."""
    made = [{"cell_type": "markdown", "metadata": {}, "source": ["text"]}]
    for number, source in enumerate(cells):
        metadata = {"tags": tags} if tags and not number else {}
        made.append({"cell_type": "code", "metadata": metadata, "source": source, "outputs": []})
    path = Path(folder, "page.ipynb")
    path.write_text(json.dumps({"cells": made}))
    return path


@pytest.fixture
def toy(tmp_path):
    """Hash of cells over the toy package, with changes to its files: hashed(cells, file=(a, b))."""

    def hashed(*cells, tags=None, reached=False, add=None, **changes):
        folder = tmp_path / "toy"
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in {**TOY, **(add or {})}.items():
            for before, after in changes.get(name.removesuffix(".py"), ()):
                assert before in text, f"{before!r} is not in {name}"
                text = text.replace(before, after)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        made = page(tmp_path, *(cells or (CELL,)), tags=tags)
        return code.reached(made, folder) if reached else results.hash_code(made, folder)

    return hashed


def test_what_is_reached(toy):
    assert toy(reached=True) == [
        "toy.maths.OFFSET",
        "toy.maths._scaled",
        "toy.maths.total",
        "toy.tables.SCALE",
    ]
    boxes = toy("from toy.maths import Box\nBox().area(2)", reached=True)
    assert boxes == ["toy.maths.Box", "toy.shapes.SMALLEST", "toy.shapes.Shape"]
    tables = toy("import toy.maths as m\nm.chosen('double')(3)", reached=True)
    assert tables == [
        "toy.maths.chosen",
        "toy.tables.TABLE",
        "toy.tables.double",  # put into the table by a statement, named by no function
        "toy.tables.lookup",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"maths": [("so far", "until now")]},
        {"maths": [('"""The sum."""', '"""Weighted sum.\n\n    Long.\n    """')]},
        {"maths": [("    return result + OFFSET", "\n    return (result\n        + OFFSET)")]},
        {"maths": [("UNREAD + n", "UNREAD - n")]},
        {"maths": [("UNREAD = 5", "UNREAD = 6")]},
        {"maths": [("sides = 4", "sides = 5")]},
        {"shapes": [("return 3", "return 4")]},
        {"maths": [("values, weight=2", "values: list, weight: int = 2")]},
        {"maths": [("result", "so_far")]},
        {"maths": [("_scaled", "_stretched")]},
        {"maths": [("OFFSET", "SHIFT")]},
        {"maths": [("SCALE", "FACTOR")], "tables": [("SCALE", "FACTOR")]},
        {"maths": [("SCALE, lookup", "SCALE as ZOOM, lookup"), ("* SCALE", "* ZOOM")]},
        {"maths": [("OFFSET = 1\nUNREAD = 5", "UNREAD = 5\nOFFSET = 1")]},
    ],
    ids=str,
)
def test_what_keeps_the_hash(toy, changes):
    assert toy(**changes) == toy()


@pytest.mark.parametrize(
    "changes",
    [
        {"maths": [("_scaled(value) * weight", "_scaled(value) + weight")]},
        {"maths": [("weight=2", "weight=3")]},
        {"maths": [("OFFSET = 1", "OFFSET = 2")]},
        {"tables": [("SCALE = 10", "SCALE = 11")]},
        {"maths": [("return value * SCALE", "return SCALE * value")]},
        {"maths": [("def total(values, weight", "def total(values, heft"), ("* weight", "* heft")]},
        {"maths": [("def total", "@cache\ndef total")]},
        {"maths": [("for value in values", "for value in values[1:]")]},
        {"maths": [("result = 0 ", "result = 0.0 ")]},
    ],
    ids=str,
)
def test_what_changes_the_hash(toy, changes):
    assert toy(**changes) != toy()


def test_a_function_may_move(toy):
    at_home = toy("from toy.tables import double\ndouble(2)")
    elsewhere = {"deep/__init__.py": "", "deep/place.py": "def twice(x):\n    return 2 * x\n"}
    assert toy("import toy\ntoy.deep.place.twice(2)", add=elsewhere) == at_home
    assert toy("from toy.deep import place as p\np.twice(2)", add=elsewhere) == at_home
    handed_on = elsewhere | {"deep/__init__.py": "from .place import twice as double\n"}
    assert toy("from toy import deep\ndeep.double(2)", add=handed_on) == at_home
    starred = elsewhere | {"all.py": "from toy.deep.place import *\n"}
    assert toy("from toy import all\nall.twice(2)", add=starred) == at_home
    assert toy("from toy.tables import triple\ntriple(2)") != at_home


def test_two_functions_that_change_places_are_noticed(toy):
    cell = "from toy.tables import double, triple\ndouble(2), triple(2)"
    swapped = [("def double", "def one"), ("def triple", "def double"), ("def one", "def triple")]
    assert toy(cell, tables=swapped) != toy(cell)
    both = "from toy.tables import triple, double\ntriple(2), double(2)"
    assert toy(both, tables=swapped) == toy(cell)


def test_cells(toy):
    base = toy("a = [n for n in range(3)]\nprint(a)")
    same = toy("# three\nb = [  m for m in range(3)]", "print(b)")
    assert same == base
    assert toy("a = [n for n in range(3)]\nprint(len(a))") != base
    assert toy("print(range)", "range = 3") != toy("print(len)", "range = 3")
    assert toy("import numpy as np\nnp.mean([1])") == toy("from numpy import mean\nmean([1])")
    assert toy("import numpy as np\nnp.mean([1])") != toy("import numpy as np\nnp.median([1])")
    assert toy("f = lambda x: x + 1\nf(2)") == toy("def_ = lambda x: x + 1\ndef_(2)")
    assert toy("f = lambda x: x + 1\nf(2)") != toy("f = lambda y: y + 1\nf(2)")  # f(x=2) might be


@pytest.mark.parametrize(
    "cell",
    [
        "x = (\n    7\n    % {}\n)",
        "x = (7\n% {})",
        "x = [7\n\t% {},\n]",
        "x = 7 \\\n    % {}",
        "%matplotlib inline\nx = f(\n    7\n    % {},\n)\n%time f(2)",
        "!echo '(\nx = (7\n    % {})",  # what the shell reads opens nothing
        "text = '''\n% {}\n'''",
    ],
)
def test_what_goes_on_in_a_next_line_is_python(toy, cell):
    """IPython reads a line of its own only where a statement begins."""
    assert toy(cell.format(3)) == toy(cell.format(3))
    assert toy(cell.format(3)) != toy(cell.format(4))


def test_an_operator_may_stand_in_a_line_of_its_own(toy):
    assert toy("x = (\n    7\n    % 3\n)") == toy("x = 7 % 3")
    assert toy("x = [\n    7\n    % 3]\n%time x") == toy("x = [7 % 3]\n%time x")


def test_words_of_a_text_are_no_command(toy):
    assert toy("text = '''\n!python -m toy.shapes\n'''", reached=True) == []


def test_lines_for_ipython_count_word_by_word(toy):
    for first, second in (
        ("%matplotlib inline", "%matplotlib agg"),
        ("if True:\n    !ls (", "if True:\n    !ls )"),
        ("x = 3  # one \\\n%time x", "x = 3  # one \\\n%time y"),
    ):
        assert toy(first) == toy(first.replace("# one", "# two")) != toy(second)


def test_claims_that_change_no_number_do_not_count(toy):
    plain = toy("from toy.maths import total\nx = total(3)\nfor i in range(3):\n    x += i")
    for claim in ("x > 1", "np.abs(x) < 3, 'far'", "run.figure(f'TPR {x}').low > max(x, 2)"):
        cell = f"from toy.maths import total\nx = total(3)\nassert {claim}\nfor i in range(3):\n"
        assert toy(cell + f"    x += i\n    assert {claim}") == plain
    for act in ("total(x) > 1", "rng.random() < 1", "np.random.rand() < 1", "(y := x) > 1"):
        cell = f"from toy.maths import total\nx = total(3)\nassert {act}\nfor i in range(3):\n"
        assert toy(cell + "    x += i") != plain, act
    alone = toy("if x:\n    assert x > 1")
    assert alone == toy("if x:\n    assert x > 2") == toy("if x:\n    pass")


def test_assertions_of_the_library_count(toy):
    cell = "from toy.maths import total\ntotal(3)"
    before = "def total("
    assert before in TOY["maths.py"]
    line = next(one for one in TOY["maths.py"].splitlines() if one.startswith(before))
    assert toy(cell) != toy(cell, maths=[(line, line + "\n    assert True")])


def test_the_same_import_in_two_cells_says_no_more_than_in_one(toy):
    first, use = "from toy import maths", "maths.total([1])"
    assert toy(first, first, use) == toy(first, use)
    assert "toy.maths.idle" not in toy(first, first, use, reached=True)
    assert "toy.maths.idle" in toy("from toy import tables as maths", first, use, reached=True)


def test_the_values_of_the_parameters_do_not_count(toy):
    use = "print(n)"
    assert toy("n = 3  # models", use, tags=["parameters"]) == toy(
        "n = 4", use, tags=["parameters"]
    )
    assert toy("n = 3", use, tags=["parameters"]) != toy("m = 3", use, tags=["parameters"])
    assert toy("n = 3", use) != toy("n = 4", use)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("from toy import tables\ngetattr(tables, 'dou' + 'ble')(2)", "toy.tables.triple"),
        ("from toy import maths\nvars(maths)", "toy.maths.idle"),
        ("from toy import tables\nglobals()['tables']", "toy.tables.triple"),
        ("import importlib\nimportlib.import_module('toy.' + 'shapes')", "toy.shapes.unseen"),
        ("eval('3')", "toy.shapes.unseen"),
        ("!python -m toy.shapes", "toy.shapes.unseen"),
        ("import subprocess\nsubprocess.run(['python', '-m', 'toy.shapes'])", "toy.shapes.unseen"),
        ("from toy.shapes import absent\nabsent()", "toy.shapes.unseen"),
        ("from toy.gone import absent\nabsent()", "toy.shapes.unseen"),
        ("from toy import maths\nmaths = maths or 3", "toy.maths.idle"),
    ],
)
def test_where_the_text_does_not_say_the_module_counts(toy, cell, expected):
    assert expected in toy(cell, reached=True)


def test_names_count_where_cells_ask_for_them(toy):
    renamed = {"tables": [("double", "twice")]}
    plain = "from toy.tables import {0}\n{0}(2)"
    assert toy(plain.format("twice"), **renamed) == toy(plain.format("double"))
    asked = "from toy.tables import {0}\nprint({0}.__name__)"
    assert toy(asked.format("twice"), **renamed) != toy(asked.format("double"))


def test_statements_that_act_on_import(toy):
    cell = "from toy import maths\nmaths.total([1])"
    base = toy(cell)
    acting = "import sys\n\nsys.setrecursionlimit({})\n"
    for limit in (2000, 3000):
        add = {"acting.py": acting.format(limit)}
        assert toy(cell, add=add) == base  # nobody imports it
    chain = [("from toy import shapes", "from toy import acting, shapes")]
    with_it = [toy(cell, add={"acting.py": acting.format(n)}, maths=chain) for n in (2000, 3000)]
    assert len({base, *with_it}) == 3
    registered = """KNOWN = {}

def register(function):
    KNOWN["one"] = function
    return function

@register
def hidden(x):
    return x
"""
    cell = "from toy import plugins\nplugins.KNOWN['one'](2)"
    assert toy(cell, add={"plugins.py": registered}) != toy(
        cell, add={"plugins.py": registered.replace("return x\n", "return x + 1\n")}
    )


def test_scopes():
    """Names of a class body are no names for its methods; comprehensions and lambdas have their
    own; `global` reaches the module.
    """
    source = """
limit = 3

class Counter:
    limit = 4
    def ask(self):
        return limit

def nested(limit):
    def inner():
        return limit
    return inner()

def change():
    global limit
    limit = 5

def fresh():
    return [limit for limit in range(2)]

def tried():
    try:
        pass
    except ValueError as limit:
        return limit
    match 3:
        case {"a": 1, **limit}:
            return limit
"""
    library = Library(ROOT / "mia_lib")
    module = type("Module", (), {"name": "m", "is_package": False})
    seen = {}

    class Program:
        names_count = False
        imports = everything = staticmethod(lambda *_: None)

        def token(self, reference):
            self.used = reference
            return "@"

    library.member = lambda module, name, seen=(): (
        ("unit", module, name) if name == "limit" else None
    )
    for node in ast.parse(source).body[1:]:
        program = Program()
        program.library, program.used = library, None
        normal_form.Writer(program, module).write(node)
        seen[node.name] = program.used is not None
    assert seen == {
        "Counter": True,
        "nested": False,
        "change": True,
        "fresh": False,
        "tried": False,
    }


def test_an_empty_text_in_an_f_string_does_not_count():
    """So that a record has one hash in every version of Python: 3.12.1 ends the format with it."""
    writer = normal_form.Writer(types.SimpleNamespace(library=None), None)
    [value] = ast.parse("f'{3:{2}}'", mode="eval").body.values
    computed = value.format_spec.values[:1]
    ended = ast.JoinedStr([*computed, ast.Constant("")])
    assert writer.write(ended) == writer.write(ast.JoinedStr(computed))
    assert writer.write(ended) != writer.write(ast.JoinedStr([*computed, ast.Constant(" ")]))


def test_not_a_notebook(tmp_path):
    with pytest.raises(ValueError, match=r"^notebook: given .*absent.ipynb .*, expected an .ipynb"):
        results.hash_code(tmp_path / "absent.ipynb")
    with pytest.raises(ValueError, match=r"^cell 1 of page.ipynb: given .*, expected Python"):
        results.hash_code(page(tmp_path, "a ="))


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """Hash of the cells of lira.ipynb over a copy of mia_lib in which one text is replaced."""
    folder = tmp_path_factory.mktemp("ours") / "mia_lib"
    shutil.copytree(ROOT / "mia_lib", folder, ignore=shutil.ignore_patterns("__pycache__"))

    def hashed(file=None, before="", after="", notebook="two_sample_levels"):
        notebook = ROOT / "notebooks" / f"{notebook}.ipynb"
        if file is None:
            return results.hash_code(notebook, folder)
        text = (folder / file).read_text()
        assert text.count(before) >= 1, f"{before!r} is not in {file}"
        try:
            (folder / file).write_text(text.replace(before, after, 1))
            return results.hash_code(notebook, folder)
        finally:
            (folder / file).write_text(text)

    return hashed


def function_of(file, name):
    """Source of a function of mia_lib and the line of its `return`."""
    text = (ROOT / "mia_lib" / file).read_text()
    node = next(n for n in ast.walk(ast.parse(text)) if getattr(n, "name", None) == name)
    return ast.get_source_segment(text, node), node


def test_on_the_library(ours):
    base = ours()
    assert base == ours() == results.hash_code(ROOT / "notebooks" / "two_sample_levels.ipynb")
    source, node = function_of("two_sample/permutation.py", "permutation_test")
    document = ast.get_docstring(node, clean=False)
    file = "two_sample/permutation.py"
    assert ours(file, document, "Other words.") == base
    assert ours(file, "n_permutations=499", "n_permutations=498") != base
    assert ours(file, "TIE = ", "TIE = 2 * ") != base
    assert ours(file, "NEAR = ", "import torch\n\nNEAR = ") == base
    file, later = "two_sample/fitting.py", 'torch = extras.module("torch")'
    assert ours(file, later, "import torch") == base  # the import that it stands for
    assert ours(file, later, 'torch = extras.module("numpy")') != base
    assert ours("signals.py", "def hinge", "def margin") == base  # out of reach here
    unreached, node = function_of("signals.py", "hinge")
    first = ast.get_source_segment((ROOT / "mia_lib/signals.py").read_text(), node.body[-1])
    assert ours("signals.py", unreached, unreached.replace(first, "return 0")) == base
    reached, node = function_of("signals.py", "cross_entropy")
    last = ast.get_source_segment((ROOT / "mia_lib/signals.py").read_text(), node.body[-1])
    assert ours("signals.py", reached, reached.replace(last, "return 0")) != base


@pytest.mark.parametrize("notebook", [p.stem for p in sorted(ROOT.glob("notebooks/*.ipynb"))])
def test_every_experiment_is_followed_without_taking_all(notebook):
    found = code.reached(ROOT / "notebooks" / f"{notebook}.ipynb")
    assert "mia_lib" not in found, "some text is not understood, and everything counts"
    assert {"mia_lib.results.record.row"} <= set(found)
    assert not any(name.startswith(("mia_lib.plots", "mia_lib.progress")) for name in found)


def test_what_is_only_shown_exists():
    library = Library(ROOT / "mia_lib")
    for name in code.SHOWN:
        module, _, last = name.rpartition(".")
        assert library.find(name) or library.member(module, last), f"{name} has moved"


def test_the_library_reads_names_of_functions_for_messages_and_folders_only():
    """Renames do not count because of this; a new place must be looked at."""
    found = set()
    for path in (ROOT / "mia_lib").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and normal_form.asks_for_names(node):
                found.add(path.relative_to(ROOT / "mia_lib").as_posix())
    # The last four name libraries that are installed or not, types of a file's entries, the classes
    # of the model that is audited, and the kind of recipe that a message asks for.
    known = {"lira/every_target.py", "shadow/identity.py"}
    known |= {"extras.py", "audit/__main__.py", "audit/structure.py", "generative/recipe.py"}
    assert found <= known


def test_the_same_in_every_process():
    script = (
        "from mia_lib import results\nprint(results.hash_code('notebooks/two_sample_levels.ipynb'))"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1
