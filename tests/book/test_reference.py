"""The reference pages leave nothing out."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_PUBLIC = {"disk", "clock", "checks", "model_checks"}  # the library's own argument checks


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
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "book/reference").glob("*.md")]
    directive = f".. automodule:: mia_lib.{module}\n"
    found = [page.split(directive, 1)[1] for page in pages if directive in page]
    assert len(found) == 1
    # what a package gives out from its files is documented only when asked for
    source = ROOT / "mia_lib" / module / "__init__.py"
    if source.is_file() and "__all__" in source.read_text(encoding="utf-8"):
        assert ":imported-members:" in found[0].split("```", 1)[0]
