"""`make run`: parameter files are checked before anything is executed, failures are one line and a
non-zero exit.
"""

import hashlib
import importlib.util
import json
import os
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCALES = ("smoke", "default", "seeds", "paper")


def _load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = _load("run")

PARAMETERS = """dataset = "toy"  # a name
count = 3  # models, at least 1
rate = 0.1  # per step
widths = [8, 4]  # units
flag = False
scale = "default"  # a name
"""
CHECK = """if count < 1:
    raise ValueError(f"count: given {count!r}, expected a whole number of at least 1")
total = count * rate"""
SECTIONS = """base:
  count: 5  # models
data:
  toy: {}
  car:
    count: 6
    rate: 0.5
scale:
  smoke:
    widths: [2]
  paper:
    count: 7
data--scale:
  car--paper:
    count: 8
"""
WRITE = """import json, os, pathlib
print("a line of output from", pathlib.Path.cwd().name)
record = {"dataset": dataset, "count": count, "total": total, "widths": widths, "flag": flag}
pathlib.Path(os.environ["MIA_RESULTS"], "record.json").write_text(json.dumps(record))
total"""


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """A folder with one small notebook and a parameter file; builds and results stay in
    tmp_path.
    """
    folder = tmp_path / "notebooks"
    (folder / "parameters").mkdir(parents=True)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    for source, tags in ((PARAMETERS, ["parameters"]), (CHECK, []), (WRITE, [])):
        cell = nbformat.v4.new_code_cell(source, metadata={"tags": tags})
        notebook.cells.append(cell)
    nbformat.write(notebook, folder / "small.ipynb")
    (folder / "parameters" / "small.yaml").write_text(SECTIONS)
    monkeypatch.setenv("MIA_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(run, "BUILD", tmp_path / "_build")
    return folder


def call(notebooks, *more, data="toy", scale="smoke", name="small"):
    return run.main([name, "--data", data, "--scale", scale, *more], notebooks=notebooks)


def one_line(capsys):
    """The only line on stderr."""
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("run:")]
    assert len(lines) == 1
    return lines[0]


def test_papermill_and_plain_write_the_same_record(notebooks, tmp_path, monkeypatch):
    assert call(notebooks, "-p", "rate", "2", "-p", "flag", "true") == 0
    record = json.loads((tmp_path / "results" / "record.json").read_text())
    assert record == {"dataset": "toy", "count": 5, "total": 10, "widths": [2], "flag": True}
    stored = (tmp_path / "results" / "small--toy--smoke.ipynb").read_text()
    assert "a line of output from notebooks" in stored
    assert str(ROOT) not in stored and "papermill" not in json.loads(stored)["metadata"]
    assert not list((tmp_path / "_build").rglob("*.ipynb"))

    (tmp_path / "results" / "record.json").unlink()
    monkeypatch.chdir(tmp_path)  # plain mode changes the folder; this puts it back afterwards
    assert call(notebooks, "--plain", "-p", "rate", "2", "-p", "flag", "true") == 0
    assert json.loads((tmp_path / "results" / "record.json").read_text()) == record


def test_a_record_goes_to_the_repository_and_its_notebook_does_not(
    notebooks, tmp_path, monkeypatch
):
    monkeypatch.delenv("MIA_RESULTS")
    begun = run.code_hash(notebooks / "small.ipynb")
    write = "import os\nprint(os.environ['MIA_CODE'])"
    notebook = nbformat.read(notebooks / "small.ipynb", 4)
    notebook.cells.append(nbformat.v4.new_code_cell(write))
    nbformat.write(notebook, notebooks / "small.ipynb")
    assert call(notebooks, "--record") == 0
    assert [path.name for path in (notebooks / "results").iterdir()] == ["record.json"]
    executed = tmp_path / "_build" / "results" / "small--toy--smoke.ipynb"
    hashed = run.code_hash(notebooks / "small.ipynb")
    assert f"small {hashed}" in executed.read_text() and hashed != begun
    assert "MIA_CODE" not in os.environ


def test_plain_leaves_out_lines_for_ipython_alone(notebooks, tmp_path, monkeypatch):
    notebook = nbformat.read(notebooks / "small.ipynb", 4)
    lines = ["%matplotlib inline", "count = (", "17", "% 10", ")", "if flag:", "    !exit 1"]
    notebook.cells.insert(1, nbformat.v4.new_code_cell("\n".join(lines)))
    nbformat.write(notebook, notebooks / "small.ipynb")
    monkeypatch.chdir(tmp_path)
    assert call(notebooks, "--plain") == 0
    assert json.loads((tmp_path / "results" / "record.json").read_text())["count"] == 7


def test_plain_runs_without_the_notebook_tools(notebooks, tmp_path, monkeypatch):
    for missing in ("papermill", "nbformat", "nbclient", "IPython"):
        monkeypatch.setitem(__import__("sys").modules, missing, None)
    monkeypatch.chdir(tmp_path)
    assert call(notebooks, "--plain") == 0
    assert json.loads((tmp_path / "results" / "record.json").read_text())["count"] == 5


@pytest.mark.parametrize("mode", [(), ("--plain",)])
def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(
    notebooks, tmp_path, capsys, mode
):
    assert call(notebooks, *mode, "-p", "cuont", "4") == 1
    line = one_line(capsys)
    assert "cuont" in line and "count" in line and "widths" in line
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "name, value, fits",
    [
        ("count", "2.5", False),
        ("count", "many", False),
        ("count", "true", False),
        ("rate", "3", True),
        ("rate", "fast", False),
        ("rate", "false", False),
        ("widths", "8", False),
        ("widths", "[]", True),
        ("dataset", "7", False),
        ("flag", "1", False),
    ],
)
def test_types_are_those_of_the_defaults(name, value, fits):
    known = {"dataset": "toy", "count": 3, "rate": 0.1, "widths": [8, 4], "flag": False}
    if fits:
        run.check({name: run.literal(value)}, known)
    else:
        with pytest.raises(run.Refused, match=f"^{name}: given .* expected .*type"):
            run.check({name: run.literal(value)}, known)


def test_a_missing_parameter_file_lists_what_is_there(notebooks, capsys):
    assert call(notebooks, data="mars") == 1
    assert "mars smoke" in (line := one_line(capsys)) and "toy smoke" in line
    assert call(notebooks, name="large") == 1
    assert "large" in (line := one_line(capsys)) and "small" in line


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("count: 5", "count 5", "base: given"),
        ("widths: [2]", "widths: [2", "line 11: given a text that is no YAML"),
        ("data--scale", "data-scale", "expected the sections base, data, scale, data--scale"),
        ("car--paper", "car--papers", "given car--papers, expected DATA--SCALE"),
        ("    rate: 0.5", "    count: 0.5", "line 7: given count again, expected each name once"),
        ("    count: 7", "    - 7", "scale: paper: given [7], expected lines `name: value`"),
        ("  car--paper:\n    count: 8", "  3", "data--scale: given 3, expected names"),
        (SECTIONS[SECTIONS.index("scale:") : SECTIONS.index("data--")], "scale:\n", "scale: given"),
        (SECTIONS[SECTIONS.index("data:") :], "data:\nscale: {a: }\ndata--scale:\n", "data: given"),
        (SECTIONS, "- 5", "expected the sections"),
        (SECTIONS, "", "expected the sections"),
    ],
)
def test_a_broken_parameter_file_is_named(notebooks, capsys, before, after, message):
    assert before in SECTIONS
    (notebooks / "parameters" / "small.yaml").write_text(SECTIONS.replace(before, after))
    assert call(notebooks) == 1
    assert "small.yaml" in (line := one_line(capsys)) and message in line


def test_nothing_below_a_name_changes_nothing(notebooks, tmp_path):
    """YAML reads it as null, which is as good as {}."""
    text, flat = (
        "base:\ndata:\n  toy:  # as it is\nscale:\n  paper:\ndata--scale:\n",
        tmp_path / "f",
    )
    for name, value in (
        ("", {}),
        ("  toy--paper:\n", {}),
        ("  toy--paper: {count: 4}\n", {"count": 4}),
    ):
        (notebooks / "parameters" / "small.yaml").write_text(text + name)
        assert call(notebooks, "--expand", str(flat), scale="paper") == 0
        assert yaml.safe_load(flat.read_text()) == {"dataset": "toy", "scale": "paper"} | value


@pytest.mark.parametrize(
    "data, scale, values",
    [
        ("toy", "smoke", {"count": 5, "widths": [2]}),
        ("toy", "paper", {"count": 7}),
        ("car", "smoke", {"count": 6, "rate": 0.5, "widths": [2]}),
        ("car", "paper", {"count": 8, "rate": 0.5}),
    ],
)
def test_a_later_section_wins_and_the_flat_file_says_so(notebooks, tmp_path, data, scale, values):
    flat = tmp_path / "flat.yaml"
    assert call(notebooks, "--expand", str(flat), data=data, scale=scale) == 0
    assert yaml.safe_load(flat.read_text()) == {"dataset": data, "scale": scale} | values
    assert not (tmp_path / "results").exists()


def test_the_flat_file_has_what_the_command_line_changes(notebooks, tmp_path, capsys):
    flat = tmp_path / "flat.yaml"
    assert call(notebooks, "--expand", str(flat), "-p", "rate", "1e-5") == 0
    assert yaml.safe_load(flat.read_text())["rate"] == 1e-5
    assert call(notebooks, "--expand", str(flat), "-p", "rat", "1") == 1
    assert "rat" in one_line(capsys)


@pytest.mark.parametrize("mode", [(), ("--plain",)])
def test_a_failing_notebook_ends_with_its_last_line_and_one(
    notebooks, tmp_path, monkeypatch, capsys, mode
):
    monkeypatch.chdir(tmp_path)
    assert call(notebooks, *mode, "-p", "count", "0") == 1
    assert "ValueError: count: given 0, expected a whole number of at least 1" in one_line(capsys)
    assert not list((tmp_path / "results").glob("*"))
    if not mode:
        assert (tmp_path / "_build" / "runs" / "small--toy--smoke.ipynb").is_file()


def test_record_goes_to_the_folder_that_the_pages_read(notebooks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(notebooks, "--record", "--plain") == 0
    assert (notebooks / "results" / "record.json").is_file()
    assert not (tmp_path / "results").exists()


def test_names_in_the_parameters_cell_are_the_ones_papermill_sees(notebooks):
    import papermill

    for path in [notebooks / "small.ipynb", *sorted((ROOT / "notebooks").glob("*.ipynb"))]:
        ours = run.defaults(json.loads(path.read_text(encoding="utf-8")))
        assert list(ours) == list(papermill.inspect_notebook(str(path))), path.name


def test_only_literals_are_allowed_in_the_parameters_cell():
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "a = 1\nb = a + 1"}
    with pytest.raises(run.Refused, match="^b in the"):
        run.defaults({"cells": [cell]})
    with pytest.raises(run.Refused, match="0 cells"):
        run.defaults({"cells": []})


NOTEBOOKS = ROOT / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
CASES = [
    (name, *case)
    for name in NAMES
    for case in run.choices(NOTEBOOKS / "parameters" / f"{name}.yaml")
]


def defaults(name):
    return run.defaults(json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name, data, scale", CASES)
def test_values_fit_their_notebook(name, data, scale):
    values = run.read_parameters(NOTEBOOKS / "parameters" / f"{name}.yaml", data, scale)
    run.check(values, defaults(name))
    assert scale in SCALES and values["scale"] == scale and values["dataset"] == data


def test_every_notebook_has_one_file_with_every_scale():
    assert [path.stem for path in sorted((NOTEBOOKS / "parameters").iterdir())] == NAMES
    for name in NAMES:
        found = run.sections(NOTEBOOKS / "parameters" / f"{name}.yaml")
        assert tuple(found["scale"]) == SCALES and found["data"]


def test_values_are_those_of_the_220_files_that_were_there_before():
    """parameter_values.json was made from them: by notebook the names, by data set and scale a hash
    of every value, the notebook's default where the file was silent.
    """
    before = json.loads((Path(__file__).parent / "parameter_values.json").read_text())
    assert sum(len(found["values"]) for found in before.values()) == 220
    for name, found in before.items():
        for case, digest in found["values"].items():
            data, scale = case.rsplit("--", 1)
            values = run.read_parameters(NOTEBOOKS / "parameters" / f"{name}.yaml", data, scale)
            values = defaults(name) | values
            text = json.dumps({key: values[key] for key in found["names"]}, sort_keys=True)
            assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest, (name, case)


@pytest.mark.parametrize(
    "home, other",
    [("/elsewhere/me", f"{ROOT}-other"), (str(ROOT.parent), f"~/{ROOT.name}-other")],
    ids=["not at home", "in the home folder"],
)
def test_tidy_takes_out_the_paths_of_this_machine(home, other, monkeypatch):
    monkeypatch.setattr(run.Path, "home", lambda: Path(home))
    output = {
        "output_type": "stream",
        "name": "stdout",
        "text": [f"{ROOT}/book/a\n", f"{Path.home()}/b", f"{ROOT}-other"],
    }
    base64 = f"AA{Path.home()}/b"  # letters that only look like a path
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": base64, "text/plain": "x"},
    }
    cell = {
        "cell_type": "code",
        "metadata": {"papermill": {}},
        "source": "",
        "outputs": [output, picture],
    }
    notebook = json.loads(run.tidy(json.dumps({"metadata": {"papermill": {}}, "cells": [cell]})))
    assert notebook["cells"][0]["outputs"][0]["text"] == ["book/a\n", "~/b", other]
    assert notebook["cells"][0]["outputs"][1]["data"]["image/png"] == base64
    assert notebook["metadata"] == {} and notebook["cells"][0]["metadata"] == {}


@pytest.mark.parametrize("home", ["/", "", None])
def test_nothing_is_taken_for_a_home_that_is_none(home, monkeypatch):
    """In a container a user may have / for a home, or no name: every path would begin there."""

    def unknown(name):
        raise KeyError(name)

    if home is None:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr("pwd.getpwuid", unknown)
    else:
        monkeypatch.setenv("HOME", home)
    text = [f"{ROOT}/book/a and/or 1/2\n", "/elsewhere/b and </td>", f"in {ROOT}"]
    output = {"output_type": "stream", "name": "stdout", "text": text}
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": [output]}
    notebook = json.loads(run.tidy(json.dumps({"metadata": {}, "cells": [cell]})))
    wanted = ["book/a and/or 1/2\n", "/elsewhere/b and </td>", "in ."]
    assert notebook["cells"][0]["outputs"][0]["text"] == wanted


def test_a_file_is_meant_from_where_one_stands(tmp_path, monkeypatch):
    """The notebook runs in its own folder; a word that is no file stays a word."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.npz").write_bytes(b"")
    (tmp_path / "digits").mkdir()
    assert run.from_here("file", "seen.npz") == str(tmp_path / "seen.npz")
    for name, value in (("file", "none.npz"), ("file", ""), ("dataset", "digits"), ("seed", 3)):
        assert run.from_here(name, value) == value
