"""The commit hook for notebooks finds each thing it is there for, and passes a clean notebook."""

import copy
import inspect
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_notebooks  # noqa: E402  (the folder of scripts is not a package)
import touched_generators  # noqa: E402

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
    "has 31 lines": lambda n, c: c.update(source="a = 1\n" * 31),
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

    def long_parameters(notebook, cell):
        cell["metadata"]["tags"] = ["parameters"]
        cell["source"] = "a = 1\n" * 31

    assert found(tmp_path, expected_error) == found(tmp_path, long_parameters) == []


def test_what_is_no_notebook_is_one_problem(tmp_path):
    path = tmp_path / "broken.ipynb"
    path.write_text("{")
    assert len(check_notebooks.problems(path)) == 1
    assert check_notebooks.main([path]) == 1


# --- generators that training has touched ---------------------------------------------------------

START = "import numpy as np\nrng = np.random.default_rng(1)"
TRAINED = "print(metrics.roc(score, member).auc_interval(rng=rng))"
DRAWS = "print(rng.normal(size=3))"


def touched(*cells):
    """Faults of a notebook of code cells; a cell that starts with `?` is not compared."""
    return list(
        touched_generators.faults(
            [
                {
                    "cell_type": "code",
                    "metadata": {"tags": ["nbval-ignore-output"] * source.startswith("?")},
                    "source": source.removeprefix("?"),
                }
                for source in cells
            ]
        )
    )


def test_a_compared_draw_after_training_is_found_through_the_hook(tmp_path):
    def fault(notebook, cell):
        cells = [{**copy.deepcopy(CODE), "execution_count": k + 1} for k in range(3)]
        for one, source in zip(cells, (START, TRAINED, DRAWS)):
            one["source"] = source
        cells[1]["metadata"]["tags"] = ["nbval-ignore-output"]
        notebook["cells"] = cells

    (line,) = found(tmp_path, fault)
    assert line.startswith("one.ipynb: cell 2: ") and "cell 1 handed to auc_interval" in line


@pytest.mark.parametrize(
    "cells",
    [
        (START, "?test(x, rng)", DRAWS),
        (START, "?test(x, [rng])", DRAWS),
        (START, "?while bad:\n    x = rng.normal()", DRAWS),
        (START, "?x = rng.normal() if bad else 0", DRAWS),
        (START, "draw = rng", "?test(x, rng=draw)", DRAWS),
        (START, "def toy(n):\n    return rng.normal(size=n)", "?" + TRAINED, "toy(3)"),
        (START, "def toy(n):\n    return rng.normal(size=n)", "?" + TRAINED, "list(map(toy, [3]))"),
        (START, "toy = lambda n: rng.normal(size=n)", "?" + TRAINED, "toy(3)"),
        (START, "?" + TRAINED, "search(lambda x: rng.normal(x))"),
        (START, "def look(x, draw):\n    test(x, rng=draw)", "?look(1, rng)", DRAWS),
        (START, "def look(x):\n    test(x, rng=rng)", "?look(1)", DRAWS),
        ("a, rng = 1, np.random.default_rng(1)", "?test(a, rng=rng)", DRAWS),
        # training in a compared cell
        (START, "seen = generative.classifier_embedding(x, y, rng=rng)", DRAWS),
        (START, "state = recipe(x, y, members, [rng])", DRAWS),
        (START, "?state = [f(rng) for f in fits]", "bootstrap(x, rng=rng)"),
    ],
)
def test_a_touched_generator_is_found(cells):
    (line,) = touched(*cells)
    assert line.startswith(f"cell {len(cells) - 1}: ") and "'rng'" in line


@pytest.mark.parametrize(
    "cells",
    [
        (START, DRAWS),
        (START, "?" + TRAINED, "rng = np.random.default_rng([1, 2])\n" + DRAWS),
        (START, "?" + TRAINED, "?" + DRAWS),
        (START, "?x = rng.normal(size=3)", DRAWS),
        (START, "?masks = shadow.half_masks(8, n, rng)", DRAWS),
        (START, "?state = recipe(x, y, members, rng.spawn(2))", DRAWS),
        (START, "?" + TRAINED, "own = rng.spawn(1)[0]\nprint(own.normal())"),
        (START, "gan = generative.js_gan(x, rng=rng)", DRAWS),
        (START, "bayes.certificate(a, b, rng=rng)", DRAWS),
        (START, "?own = np.random.default_rng(2)\ntest(x, rng=own)", DRAWS),
        (START, "?for rng in several:\n    test(x, rng)", "print(1)"),
        (START, "?found = [test(x, rng) for rng in several]", DRAWS),
        (
            START,
            "def look(x, rng):\n    test(x, rng=rng)",
            "?look(1, np.random.default_rng(2))",
            DRAWS,
        ),
        (START, "def play(n, rng):\n    return rng.normal(size=n)", "?play(3, rng)", DRAWS),
        (START, "?" + TRAINED, "plot = lambda rng: rng.normal()"),
        (START, "%matplotlib inline\n" + DRAWS, "?" + TRAINED, "print(1)"),
        (START, "?" + TRAINED, "def toy(n):\n    return rng.normal(size=n)"),
        (START, "def toy(n):\n    return rng.random(n)", "?" + TRAINED, "kept = {'toy': toy}"),
        (START, "?" + TRAINED, "kept = {'toy': lambda n: rng.random(n)}"),
    ],
)
def test_what_touches_nothing_is_not_found(cells):
    assert touched(*cells) == []


def test_a_gan_draws_one_integer_whatever_it_learns():
    from mia_lib import generative

    one, other = np.random.default_rng(1), np.random.default_rng(1)
    generative.js_gan(np.zeros((8, 8, 8)), generative.JsGanRecipe(epochs=1, batch_size=4), rng=one)
    generative.wgan_gp(
        np.ones((8, 8, 8)), generative.WganGpRecipe(epochs=2, batch_size=4), rng=other
    )
    other_by_hand = np.random.default_rng(1)
    other_by_hand.integers(2**62)
    assert one.random() == other.random() == other_by_hand.random()


def test_the_names_that_the_rule_knows_are_functions_that_take_a_generator():
    from mia_lib import attacks, data, defenses, generative, shadow

    rooms = (attacks, data, defenses, generative, shadow, data.purchase_mixture(2, 2, 2))
    for name in touched_generators.TRAINERS | touched_generators.DEALS:
        (function,) = {getattr(room, name) for room in rooms if hasattr(room, name)}
        assert "rng" in inspect.signature(function).parameters, name
