"""pyproject.toml, requirements.txt and what the library imports agree."""

import ast
import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
# where the import has another name
DISTRIBUTION = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    "venn_abers": "venn-abers",
}


def pinned():
    lines = (
        line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()
    )
    return [Requirement(line) for line in lines if line]


def needed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {canonicalize_name(one.name): one for one in map(Requirement, project["dependencies"])}


def imported(tree):
    """The top-level names that a module's own text imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("requirement", pinned(), ids=str)
def test_pinned_and_installed(requirement):
    operators = [one.operator for one in requirement.specifier]
    assert operators == ["=="], "requirements.txt pins every version exactly"
    assert requirement.specifier.contains(
        importlib.metadata.version(requirement.name), prereleases=True
    )


def test_each_name_once():
    names = [canonicalize_name(one.name) for one in pinned()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("requirement", needed().values(), ids=str)
def test_lower_bound_holds_for_the_pinned_version(requirement):
    assert [one.operator for one in requirement.specifier] == [">="], (
        "a library states lower bounds only"
    )
    versions = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in pinned()}
    assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)])


def test_library_states_exactly_what_it_imports():
    names = {
        name
        for path in (ROOT / "mia_lib").rglob("*.py")
        for name in imported(ast.parse(path.read_text()))
    }
    names -= set(sys.stdlib_module_names) | {"mia_lib"}
    names -= {"IPython"}  # asked for only inside a notebook, where it runs already
    assert {canonicalize_name(DISTRIBUTION.get(name, name)) for name in names} == set(needed())
