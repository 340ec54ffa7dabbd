"""What a docstring says of the page that teaches a function is true, and no function is dead."""

import ast
import functools
import inspect
import json
import re
from pathlib import Path

import pytest
from house.test_public_face import public_functions

ROOT = Path(__file__).resolve().parents[2]
SAID = re.compile(r"(?:Taught|Used|Run) in ((?:book|notebooks)/[\w/]+\.(?:ipynb|md))")


@functools.cache
def page(path):
    """What a reader sees of a page: text and code, without outputs."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if not path.endswith(".ipynb"):
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


def shows(text, room, name):
    """Whether a page calls a function, imports it by name or names it as an option in quotes."""
    quoted = f'|"{name}"' if room == "models" else ""  # networks are asked for by name
    imported = rf"from mia_lib\.{room} import [\w, \n(]*\b{name}\b"
    return re.search(rf"{room}\.{name}\b{quoted}|{imported}", text) is not None


FUNCTIONS = [(*name.split("."), one) for name, one in public_functions()]
IDS = [f"{room}.{name}" for room, name, _ in FUNCTIONS]


@functools.cache
def used_names():
    """Names that code of the library, of the pages or of the scripts asks for."""
    files = [*(ROOT / "mia_lib").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    texts = [file.read_text(encoding="utf-8") for file in files if file.name != "__init__.py"]
    found = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
    return found


@pytest.mark.parametrize(("room", "name", "function"), FUNCTIONS, ids=IDS)
def test_the_page_that_teaches_it_shows_it(room, name, function):
    said = SAID.findall(" ".join(inspect.getdoc(function).split()))
    silent = [path for path in said if not shows(page(path), room, name)]
    assert not silent, f"{room}.{name} is not on {silent}"


@pytest.mark.parametrize(("room", "name", "function"), FUNCTIONS, ids=IDS)
def test_a_page_or_the_library_uses_it(room, name, function):
    pages = [*(ROOT / "book").glob("*.ipynb"), *(ROOT / "notebooks").glob("*.ipynb")]
    on = (shows(page(str(path.relative_to(ROOT))), room, name) for path in pages)
    assert name in used_names() or any(on), f"{room}.{name} is used nowhere"


def test_a_word_is_no_call():
    assert shows("lira.online(x)", "lira", "online") and shows('model="cnn"', "models", "cnn")
    assert shows("from mia_lib.lira import (\n    offline, online)", "lira", "online")
    assert not shows("works online, def online(x)", "lira", "online")
    assert not shows("from mia_lib.lira import offline\nonline", "lira", "onlin")
    assert not shows("a part of the whole\nfrom mia_lib import lira", "experiment", "whole")
