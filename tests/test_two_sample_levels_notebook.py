"""The experiment notebook two_sample_levels refuses values that cannot be meant; its parameter files pass its checks."""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import run  # noqa: E402  (the folder of scripts is not a package)

CELLS = json.loads((ROOT / "notebooks" / "two_sample_levels.ipynb").read_text(encoding="utf-8"))["cells"]
START = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"][:4]  # imports to the data set
FILES = sorted((ROOT / "notebooks" / "parameters").glob("two_sample_levels--*.yaml"))


def checked(**values):
    """The notebook's first four cells with other parameters."""
    space = {}
    for source in START[:2]:
        exec(compile(ast.parse(source), "two_sample_levels", "exec"), space)
    assert set(values) <= set(space)
    space.update(values)
    for source in START[2:]:
        exec(compile(ast.parse(source), "two_sample_levels", "exec"), space)
    return space


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_parameter_file_passes_the_checks(path):
    checked(**run.read_parameters(path))


def test_there_are_files_of_every_scale():
    assert {path.stem.rsplit("--", 1)[1] for path in FILES} == {"smoke", "default", "seeds", "paper"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 500),
        ("n_members", 5),
        ("hidden", [128]),
        ("n_networks", 0),
        ("set_size", 8),
        ("large_size", 600),
        ("n_permutations", 5),
        ("shared_tests", 3),
        ("learning_rate", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name if name != "large_size" else "n_examples"):
        checked(**{name: value})
