"""The rooms of the library: which there are, what each may import, and where that is said."""

import ast
import re
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
        else:
            continue
        parts = [name.split(".") for name in names]
        yield from (part[1] for part in parts if part[0] == "mia_lib" and len(part) > 1)


def test_every_import_is_found():
    text = (
        "import numpy\nfrom mia_lib import checks, lira as l\nfrom mia_lib.bayes.risk import risk\n"
        "def f():\n    import mia_lib.audit.view\n    from mia_lib.data import load\n"
    )
    assert list(imports(text)) == ["checks", "lira", "bayes", "audit", "data"]


def test_the_map_names_every_room():
    assert floors().keys() == ROOMS
    said = ast.get_docstring(ast.parse((LIBRARY / "__init__.py").read_text()))
    assert set(re.findall(r"`(\w+)`(?!`)", said)) == ROOMS


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_from_floors_below_it(room):
    floor = floors()
    files = [LIBRARY / f"{room}.py", *(LIBRARY / room).rglob("*.py")]
    for file in filter(Path.exists, files):
        used = set(imports(file.read_text(encoding="utf-8"))) & ROOMS - {room}
        above = {other for other in used if floor[other] >= floor[room]}
        assert not above, f"{file.relative_to(ROOT)} imports {above}"
