"""pyproject.toml, requirements.txt and what the library imports agree."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import mia_lib
from mia_lib import extras

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


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def by_name(requirements):
    return {canonicalize_name(one.name): one for one in map(Requirement, requirements)}


def needed():
    """What the library imports: what comes with it, what training and what Parquet needs."""
    extra = project()["optional-dependencies"]
    return by_name([*project()["dependencies"], *extra["train"], *extra["parquet"]])


def imported(tree):
    """The top-level names that a module's own text imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "extras.module":
            yield node.args[0].value.split(".")[0]
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
    # asked for only inside a notebook, whose kernel needs both itself
    names -= {"IPython", "matplotlib_inline"}
    names |= {"pyarrow"}  # by pandas, which is told its name where a table is Parquet
    assert {canonicalize_name(DISTRIBUTION.get(name, name)) for name in names} == set(needed())


def test_one_version_everywhere():
    """A date of release stands in CITATION.cff exactly where the changelog has it."""
    version = project()["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == mia_lib.__version__ == version
    released = re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", changes, re.MULTILINE)
    if released is None:
        assert "date-released" not in citation and f"next version, {version}," in changes
    else:
        assert str(citation["date-released"]) == released.group(1)


def test_the_plain_install_trains_nothing():
    light = by_name(project()["dependencies"])
    assert not {"torch", "torchvision", "opacus", "pyarrow"} & set(light)
    assert {*extras.TRAIN} == set(by_name(project()["optional-dependencies"]["train"]))


def test_the_book_has_what_it_is_built_with():
    book = by_name(project()["optional-dependencies"]["book"])
    assert book.pop("mia-lib").extras == {"parquet", "train"}
    versions = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in pinned()}
    for name, one in book.items():
        assert one.specifier.contains(versions[name])
    assert "-e '.[book]'" in (ROOT / "Makefile").read_text()
