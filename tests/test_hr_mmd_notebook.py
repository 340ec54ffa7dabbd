"""The experiment notebook hr_mmd refuses values that cannot be meant, and every parameter file passes its checks."""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import run  # noqa: E402  (the folder of scripts is not a package)

CELLS = json.loads((ROOT / "notebooks" / "hr_mmd.ipynb").read_text(encoding="utf-8"))["cells"]
IMPORTS, PARAMETERS, CHECKS = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"][:3]
FILES = sorted((ROOT / "notebooks" / "parameters").glob("hr_mmd--*.yaml"))


def checked(**values):
    """The notebook's first three cells with other parameters."""
    space = {}
    for source in (IMPORTS, PARAMETERS):
        exec(compile(ast.parse(source), "hr_mmd", "exec"), space)
    assert set(values) <= set(space)
    space.update(values)
    exec(compile(ast.parse(CHECKS), "hr_mmd", "exec"), space)
    return space


def test_the_defaults_pass_and_no_name_means_every_representation():
    space = checked()
    assert space["representations"] == list(space["KNOWN"])
    assert "names_before" not in space["parameters"] and space["parameters"]["n_targets"] == space["n_targets"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_parameter_file_passes_the_checks(path):
    checked(**run.read_parameters(path))


def test_there_are_files_of_every_scale():
    scales = {path.stem.rsplit("--", 1)[1] for path in FILES}
    assert scales == {"smoke", "default", "seeds", "paper"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("model", "lstm"),
        ("model", "forest"),
        ("mixtures", [1.5]),
        ("text_length", 0),
        ("n_targets", 1),
        ("n_permutations", 5),
        ("draws", 0),
        ("set_sizes", [3]),
        ("set_sizes", []),
        ("proportions", [0.0]),
        ("proportions", [1.5]),
        ("representations", ["logits"]),
        ("learned", ["logits"]),
        ("defences", ["dropout"]),
        ("label_noise", 1.0),
        ("epsilon", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
        ("augment", "strong"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name):
        checked(**{name: value})


def test_defences_are_for_mlps():
    with pytest.raises(ValueError, match="defences"):
        checked(model="cnn")
