"""The commit hook for notebooks finds each thing it is there for, and passes a clean notebook."""

import copy
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location(
    "check_notebooks", ROOT / "scripts" / "check_notebooks.py"
)
check_notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_notebooks)

PICTURE = {
    "output_type": "display_data",
    "metadata": {},
    "data": {"image/png": "AAAA", "text/plain": "<Figure>"},
}
CODE = {
    "cell_type": "code",
    "execution_count": 1,
    "metadata": {"mystnb": {"image": {"alt": "A line that rises."}}},
    "source": "draw()",
    "outputs": [PICTURE, {"output_type": "stream", "name": "stdout", "text": "0.5\n"}],
}
CLEAN = {
    "nbformat": 4,
    "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
    },
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title\n![a coin](coin.svg)"},
        CODE,
    ],
}


def found(tmp_path, change):
    notebook = copy.deepcopy(CLEAN)
    change(notebook, notebook["cells"][1])
    path = tmp_path / "notebooks" / "one.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook))
    return check_notebooks.problems(path)


def test_a_clean_notebook_has_no_problem(tmp_path):
    assert found(tmp_path, lambda notebook, cell: None) == []


FAULTS = {
    "injected": lambda n, c: c["metadata"].update(tags=["injected-parameters"]),
    "error is stored": lambda n, c: c["outputs"].append(
        {"output_type": "error", "ename": "E", "evalue": "v"}
    ),
    "no alt text": lambda n, c: c["metadata"].pop("mystnb"),
    "path of one machine": lambda n, c: c["outputs"].append(
        {"output_type": "stream", "text": ["see /home/ada/x"]}
    ),
    "never executed": lambda n, c: c.update(execution_count=None),
    "top to bottom": lambda n, c: n["cells"].extend(
        [{**c, "execution_count": 3}, {**c, "execution_count": 2}]
    ),
    "the kernel": lambda n, c: n["metadata"]["kernelspec"].update(name="conda-env-mine"),
    "widget state": lambda n, c: n["metadata"].update(widgets={}),
    "papermill": lambda n, c: n["metadata"].update(papermill={}),
    "the text has no alt": lambda n, c: n["cells"][0].update(source="![](coin.svg)"),
    "version 3": lambda n, c: n.update(nbformat=3),
}


@pytest.mark.parametrize("words", FAULTS)
def test_each_fault_is_found_and_named(tmp_path, words):
    problems = found(tmp_path, FAULTS[words])
    assert len(problems) == 1 and words in problems[0] and problems[0].startswith("one.ipynb: ")


def test_what_is_allowed(tmp_path):
    def expected_error(notebook, cell):
        cell["metadata"]["tags"] = ["raises-exception"]
        cell["outputs"].append(
            {"output_type": "error", "ename": "ValueError", "evalue": "prior", "traceback": []}
        )

    assert found(tmp_path, expected_error) == []


def test_what_is_no_notebook_is_one_problem(tmp_path):
    path = tmp_path / "broken.ipynb"
    path.write_text("{")
    assert len(check_notebooks.problems(path)) == 1
    assert check_notebooks.main([path]) == 1
