"""The experiment notebook gan refuses values that cannot be meant; its parameter files pass its checks."""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import run  # noqa: E402  (the folder of scripts is not a package)

CELLS = json.loads((ROOT / "notebooks" / "gan.ipynb").read_text(encoding="utf-8"))["cells"]
START = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"][:5]  # imports to the data set
FILES = sorted((ROOT / "notebooks" / "parameters").glob("gan--*.yaml"))


def checked(**values):
    """The notebook's first cells with other parameters; data that would have to be fetched are not loaded."""
    space = {}
    for source in START[:2]:
        exec(compile(ast.parse(source), "gan", "exec"), space)
    assert set(values) <= set(space)
    space.update(values)
    for source in START[2:] if space["dataset"] in ("digits", "nobody") else START[2:4]:
        exec(compile(ast.parse(source), "gan", "exec"), space)
    return space


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_parameter_file_passes_the_checks(path):
    checked(**run.read_parameters(path))


def test_there_are_files_of_every_data_set_and_scale():
    found = {tuple(path.stem.split("--")[1:]) for path in FILES}
    scales = ("smoke", "default", "seeds", "paper")
    assert found == {(name, s) for name in ("digits", "mnist", "cifar10", "skin-lesions") for s in scales}


def test_papers_numbers_of_members():
    files = {path.stem: run.read_parameters(path) for path in FILES}
    wanted = {"mnist": 7000, "cifar10": 6000, "skin-lesions": 1000}
    assert {name: files[f"gan--{name}--paper"]["n_members"] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "nobody"),
        ("n_members", 5),
        ("n_members", 1500),
        ("n_nonmembers", -1),
        ("models", []),
        ("models", ["gan"]),
        ("checkpoints", {"wgan_gp": [3, 1], "js_gan": [1], "priv_gan": [1]}),
        ("checkpoints", {"wgan_gp": [1]}),
        ("learning_rates", {"wgan_gp": 0.0, "js_gan": 1e-4, "priv_gan": 1e-4, "dp_cgan": 1e-4}),
        ("epsilons", [2.0, 1.0]),
        ("epsilons", [0.0]),
        ("release_sizes", [1, 10]),
        ("queries", ["oracle"]),
        ("metric", "f1"),
        ("metric_prior", 0.0),
        ("prior", 1.0),
        ("bins", 1),
        ("box_share", 1.0),
        ("classes", [0, 10]),
        ("subgroups", 1),
        ("noise_multiplier", 0.0),
        ("dp_delta", 0.0),
        ("device", "tpu"),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name):
        checked(**{name: value})
