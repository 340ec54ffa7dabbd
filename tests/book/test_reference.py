"""The reference pages leave nothing out."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from mia_lib import attacks

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import parts  # noqa: E402  (an extension of Sphinx, in no package)

# the library's own argument checks and files; `shadow` offers what is in `masks`
NOT_PUBLIC = {"disk", "clock", "checks", "masks", "model_checks"}


def modules():
    """The library's public modules and packages."""
    for path in sorted((ROOT / "mia_lib").iterdir()):
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.stem.startswith(
            "_"
        ):
            if path.stem not in NOT_PUBLIC:
                yield path.stem


@pytest.mark.parametrize("module", list(modules()))
def test_every_module_has_its_place(module):
    folder, directive = ROOT / "book/reference", f".. automodule:: mia_lib.{module}\n"
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}
    found = [page.split(directive, 1)[1] for page in pages.values() if directive in page]
    assert len(found) == 1 and pages[folder / "modules" / f"{module}.md"].count("automodule::") == 1
    groups = [page for path, page in pages.items() if path.parent == folder and path.stem != "api"]
    assert sum(f"{{doc}}`modules/{module}`" in page for page in groups) == 1
    # what a package gives out from its files is documented only when asked for
    source = ROOT / "mia_lib" / module / "__init__.py"
    if source.is_file() and "__all__" in source.read_text(encoding="utf-8"):
        whole = ":imported-members:" in found[0].split("```", 1)[0]
        assert whole or f".. library-part:: mia_lib.{module}\n" in found[0]


def test_a_package_on_several_pages_leaves_no_name_out():
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "book/reference/modules").glob("*.md")
    )
    shown = {}
    for package, files in re.findall(r"\.\. library-part:: (\S+)\n\n +(.*)\n", text):
        shown.setdefault(package, []).extend(parts.names_of(package, files.split()))
    assert len(shown) == 8
    for package, names in shown.items():
        assert sorted(names) == sorted(importlib.import_module(package).__all__)


@pytest.fixture(scope="module")
def extension():
    """What makes the table of attacks."""
    path = ROOT / "book/_ext/catalogue.py"
    spec = importlib.util.spec_from_file_location("catalogue_of_attacks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_attacks_has_every_entry(extension):
    page = (ROOT / "book/reference/attacks.md").read_text(encoding="utf-8")
    assert ".. attack-catalogue::" in page
    text = "\n".join(extension.table(attacks.CATALOGUE))
    for attack in attacks.CATALOGUE:
        name, authors, *_, chapter = extension.row(attack)
        assert f"* - {name}\n" in text and f"{attack.authors} {attack.year}" == authors
        assert f":doc:`/{attack.chapter.removesuffix('.ipynb')}`" == chapter
    for name in ("MERLIN", "Watson et al.", "Sablayrolles et al.", "Attack R", "gamma = 1.0"):
        assert name in text


@pytest.mark.parametrize("attack", attacks.CATALOGUE, ids=lambda attack: attack.name)
def test_the_table_names_a_public_function(extension, attack):
    room, name = extension.function_of(attack).rsplit(".", 1)
    assert name in importlib.import_module(room).__dict__
    pages = [
        path.read_text(encoding="utf-8") for path in (ROOT / "book/reference/modules").glob("*.md")
    ]
    assert any(f".. automodule:: {room}\n" in page for page in pages)
    source = (ROOT / attack.chapter).read_text(encoding="utf-8")
    first = attack.authors.split()[0].lower()
    assert attack.name.lower() in source.lower() or first in source.lower() or name in source
