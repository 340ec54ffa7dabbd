"""The problem sets grade: their solutions pass, what students get does not, and every value that a
grading cell reads must be right.
"""

import ast
import contextlib
import copy
import io
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from mia_lib import metrics

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_notebooks  # noqa: E402  (the folder of scripts is not a package)
import handout  # noqa: E402

PLAN = yaml.safe_load((ROOT / "book/course/plan.yaml").read_text(encoding="utf-8"))
SETS = sorted(handout.PROBLEMS.glob("*.ipynb"))
EACH = pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def code(notebook):
    """The code cells: text and nbgrader's marks."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), cell["metadata"]["nbgrader"]) for cell in cells]


def run(source, names):
    """Execute a cell as a notebook would; gives the error, or None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, "<cell>", "exec"), names)
    except Exception as error:  # whatever a cell raises is what is asked for
        return error


def test_the_plan_lists_every_chapter_and_its_points():
    """A chapter is a notebook of the twelve weeks."""
    with_set, without = PLAN["problems"], PLAN["without_problems"]
    assert sorted(with_set) == [path.stem for path in SETS] and len(SETS) >= 8
    pages = [name for week in PLAN["weeks"] for name in week["pages"]]
    chapters = [name for name in pages if (ROOT / "book" / f"{name}.ipynb").is_file()]
    assert sorted([*with_set, *without]) == sorted(chapters)
    assert [name for name in chapters if name in with_set] == list(with_set), "order of the course"


@EACH
def test_points_and_marks(path):
    notebook = read(path)
    marks = [cell["metadata"]["nbgrader"] for cell in notebook["cells"]]
    assert sum(mark.get("points", 0) for mark in marks) == PLAN["problems"][path.stem]
    assert 3 <= sum(mark["grade"] for mark in marks) <= 5
    assert len({mark["grade_id"] for mark in marks}) == len(marks)
    for cell, mark in zip(notebook["cells"], marks):
        source = "".join(cell["source"])
        assert mark["schema_version"] == 3 and mark["cell_type"] == cell["cell_type"]
        assert mark["locked"] != mark["solution"] and ("points" in mark) == mark["grade"]
        assert mark["solution"] == (handout.SOLUTION[0] in source)
        assert mark["grade"] == (handout.HIDDEN[0] in source)
    kinds = [k for k in ("Derive:", "Compute:", "Interpret:") if k in path.read_text("utf-8")]
    assert kinds[0] == "Derive:" and kinds[-1] == "Interpret:"


@EACH
def test_solution_is_stored_clean(path):
    assert check_notebooks.problems(path) == []
    imported = " ".join(source for source, _ in code(read(path)))
    assert "from mia_lib import" in imported and "MIA_DATA" not in imported


def off(value):
    """A value that is a little wrong, or a function whose values are."""
    if callable(value):
        return lambda *given, **named: off(value(*given, **named))
    if isinstance(value, metrics.Metric):
        return metrics.Metric(*(1.1 * x + 0.1 for x in vars(value).values()))
    if isinstance(value, str):
        return f"not {value}"
    if isinstance(value, dict):
        return {key: off(one) for key, one in value.items()}
    if isinstance(value, (int, np.integer)):
        return int(value) + 1
    if hasattr(value, "_replace"):
        return value._replace(**{key: off(one) for key, one in value._asdict().items()})
    if isinstance(value, (list, tuple)):
        return type(value)(off(one) for one in value)
    return 1.1 * value + 0.02


def variants(name, value):
    """Wrong answers in the place of a right one: every truth turned round, or the value off."""
    if name == "answers":
        for k in range(len(value)):
            yield [not one if i == k else one for i, one in enumerate(value)]
    else:
        yield off(value)


def answered(source, graded):
    """What a cell of answers defines and the grading cell reads."""
    read_names = {node.id for node in ast.walk(ast.parse(graded)) if isinstance(node, ast.Name)}
    defined = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            defined.append(node.name)
        elif isinstance(node, ast.Assign):
            targets = [target for one in node.targets for target in ast.walk(one)]
            defined += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in dict.fromkeys(defined) if name in read_names]


@EACH
def test_solutions_pass_and_wrong_values_do_not(path):
    """At most 10 seconds of one core for the notebook as it is."""
    names, answers, seconds = {"__name__": "__main__"}, "", 0.0
    for source, mark in code(read(path)):
        before, begin = copy.copy(names), time.process_time()
        error = run(source, names)
        seconds += time.process_time() - begin
        assert error is None, f"{mark['grade_id']}: {error!r}"
        if mark["grade"]:
            asked = answered(answers, source)
            assert asked, f"{mark['grade_id']} reads no answer"
            for name in asked:
                for wrong in variants(name, before[name]):
                    error = run(source, before | {name: wrong})
                    assert error is not None, f"{mark['grade_id']}: {name} is not tested"
        elif mark["solution"]:
            answers = source
    assert seconds < 10


@EACH
def test_handouts_fail_and_give_nothing_away(path, tmp_path):
    before = path.read_bytes()
    (written,) = handout.build([path.stem], tmp_path)
    assert path.read_bytes() == before
    text, made = written.read_text(encoding="utf-8"), read(written)
    for source, _ in code(read(path)):
        for marks in (handout.SOLUTION, handout.HIDDEN):
            for region in source.split(marks[0])[1:]:
                hidden = region.split(marks[1])[0].splitlines()
                lines = [line.strip() for line in hidden if len(line.strip()) > 12]
                kept = [json.dumps(line, ensure_ascii=False)[1:-1] for line in lines]
                given = handout.without(source, marks)
                assert not any(line in text for line in kept if line not in given)
    assert not any(word in text for word in (*handout.SOLUTION, *handout.HIDDEN))
    assert all(cell.get("outputs", []) == [] for cell in made["cells"])
    names, graded = {"__name__": "__main__"}, 0
    for source, mark in code(made):
        error = run(source, names)
        if mark["grade"]:
            graded += 1
            assert isinstance(error, (NameError, NotImplementedError)), mark["grade_id"]
        elif not mark["solution"]:
            assert error is None, f"{mark['grade_id']}: a given cell needs an answer: {error!r}"
    assert graded == sum(mark["grade"] for _, mark in code(read(path)))


def test_regions_are_replaced_with_their_indentation():
    source = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\nx = 2"
    left = handout.without(source, handout.SOLUTION, handout.STUB)
    stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert left == f"def f():\n{stub}\nx = 2"


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\nx = 1",
        "x = 1\n### END SOLUTION",
        "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION",
    ],
)
def test_a_region_that_is_not_closed_is_an_error(source):
    with pytest.raises(ValueError, match="source"):
        handout.without(source, handout.SOLUTION)


def test_an_unknown_chapter_is_named(capsys):
    assert handout.main(["no_such_chapter"]) == 1
    assert "no_such_chapter" in capsys.readouterr().out
