"""The rooms of the library: which there are, what each may import, and where that is said."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "mia_lib"
ROOMS = {path.stem for path in LIBRARY.iterdir() if path.stem not in ("__init__", "__pycache__")}


def floors():
    """{room: floor}, as the map in the README says."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1:3] for line in lines if re.match(r"\| \d+ \| `", line)]
    named = [(room, int(floor)) for floor, rooms in rows for room in re.findall(r"`(\w+)`", rooms)]
    assert len(named) == len(dict(named)), "a room stands on one floor"
    return dict(named)


def imports(text):
    """The rooms that a module's text imports from, wherever in it; outside of docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "extras.module":
            names = [node.args[0].value]  # an import that is put off
        else:
            continue
        parts = [name.split(".") for name in names]
        yield from (part[1] for part in parts if part[0] == "mia_lib" and len(part) > 1)


def test_every_import_is_found():
    text = (
        "import numpy\nfrom mia_lib import checks, lira as l\nfrom mia_lib.bayes.risk import risk\n"
        "def f():\n    import mia_lib.audit.view\n    from mia_lib.data import load\n"
        "train = extras.module('mia_lib.train')\n"
    )
    assert sorted(imports(text)) == ["audit", "bayes", "checks", "data", "lira", "train"]


def test_the_map_names_every_room():
    assert floors().keys() == ROOMS
    said = ast.get_docstring(ast.parse((LIBRARY / "__init__.py").read_text()))
    assert set(re.findall(r"`(\w+)`(?!`)", said)) == ROOMS


def folders(page):
    """The folders that a page's map names, with those that hold them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    listed = re.findall(r"^([\w/]+/) {2,}", text, re.MULTILINE)
    in_rows = re.findall(r"^\| `([\w/.]+)` \|", text, re.MULTILINE)
    return {name.rstrip("/") for name in (*listed, *in_rows) if "/" in name}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_maps_of_folders_are_true(page):
    named = folders(page)
    assert len(named) > 5 and all((ROOT / name).exists() for name in named)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    tracked = {file.split("/")[0] for file in files.splitlines() if "/" in file}
    assert {name for name in tracked if name[0] != "."} <= named, "a folder that the map lacks"


def test_tests_lie_where_the_code_lies():
    others = {"bench", "book", "house", "notebooks", "simulations"}
    tests = ROOT / "tests"
    rooms = {path.parent.name for path in tests.glob("*/test_*.py")} - others
    flat = {path.stem.removeprefix("test_") for path in tests.glob("test_*.py")}
    packages = {path.name for path in LIBRARY.iterdir() if path.is_dir()}
    assert rooms <= packages and flat <= ROOMS - packages


def test_no_module_is_far_longer_than_it_may_be():
    """One that is longer holds one idea that cannot be cut: the reason stands beside it."""
    whole = {"models.py"}  # stores know it by its text, so that trained models would be lost
    long = {
        path.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 440
    }
    assert long <= whole


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_from_floors_below_it(room):
    floor = floors()
    files = [LIBRARY / f"{room}.py", *(LIBRARY / room).rglob("*.py")]
    for file in filter(Path.exists, files):
        used = set(imports(file.read_text(encoding="utf-8"))) & ROOMS - {room}
        above = {other for other in used if floor[other] >= floor[room]}
        assert not above, f"{file.relative_to(ROOT)} imports {above}"
