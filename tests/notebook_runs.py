"""An experiment notebook as a test runs it: its first cells alone, or all of it from its parameter
file to its record.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import run  # noqa: E402  (the folder of scripts is not a package)

from mia_lib import results  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"


def cases(notebook):
    """(data set, scale) of everything that its parameter file has values for."""
    return run.choices(run.parameter_file(NOTEBOOKS, notebook))


def values(notebook, data, scale):
    """What its parameter file says for one data set and scale."""
    return run.read_parameters(run.parameter_file(NOTEBOOKS, notebook), data, scale)


def begin(notebook, cells, /, **values):
    """What the names stand for after its first cells, a value in place of the one in the cell of
    parameters.

    cells counts the code cells that are executed, or is a function that says it from the names and
    their values.
    """
    content = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    tags = {id(cell): cell["metadata"].get("tags", []) for cell in code}
    code = [cell for cell in code if "picture" not in tags[id(cell)]]  # of what was recorded
    space, at = {}, next(i for i, cell in enumerate(code) if "parameters" in tags[id(cell)])

    def execute(some):
        for cell in some:
            exec(compile("".join(cell["source"]), notebook, "exec"), space)

    execute(code[: at + 1])
    assert set(values) <= set(space)
    space.update(values)
    execute(code[at + 1 : cells(space) if callable(cells) else cells])
    return space


def call(notebook, data, scale, /, **values):
    """The exit status of `make run` without papermill, values in place of those in the parameter
    file.
    """
    given = [part for name, value in values.items() for part in ("-p", name, json.dumps(value))]
    return run.main(
        [notebook, "--data", data, "--scale", scale, "--plain", *given], notebooks=NOTEBOOKS
    )


def missing_rows(notebook, data, scale, folder, /, **small):
    """Names of rows in the stored record of a run that the notebook of today does not write.

    It runs with the record's own parameters, those that the notebook still has, but for `small`,
    which makes it quick and changes no name. folder is where it writes: MIA_RESULTS of the fixture
    `here`.
    """
    before = results.read(NOTEBOOKS / "results" / f"{notebook}--{data}--{scale}.json")
    # under another name, because a notebook asserts at the others what only enough models show
    source = (NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8")
    known = run.defaults(json.loads(source))
    given = {name: value for name, value in before["parameters"].items() if name in known}
    given |= small | {"scale": "smoke"}
    assert call(notebook, data, scale, **given) == 0
    after = results.read(folder / f"{notebook}--{data}--smoke.json")
    names = [{(row["id"], row["what"]) for row in record["rows"]} for record in (before, after)]
    return sorted(names[0] - names[1])


def last_line(capsys):
    """The last line that the run itself printed on stderr."""
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("run:")][-1]
