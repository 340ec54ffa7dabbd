import os
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from mia_lib import progress


@pytest.fixture
def notebook(monkeypatch):
    """The lines that a notebook would show, one after the other."""
    shown = []
    monkeypatch.delenv("MIA_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_display", lambda: shown.append)
    return shown


def test_terminal_bar(capsys, monkeypatch):
    monkeypatch.delenv("MIA_PROGRESS", raising=False)
    assert list(progress.bar(iter("abc"), "letters", total=3)) == ["a", "b", "c"]
    shown = capsys.readouterr()
    last = shown.err.strip().split("\r")[-1]
    assert "letters" in last and "3/3" in last and "100%" in last
    with progress.bar(7, "models") as models:
        models.update(3)
        models.update(np.int64(4))
    last = capsys.readouterr().err.strip().split("\r")[-1]
    assert "models" in last and "7/7" in last and "it/s" in last
    assert shown.out == ""


def test_silent(capsys, monkeypatch):
    monkeypatch.setenv("MIA_PROGRESS", "off")
    assert list(progress.bar([1, 2], "items")) == [1, 2]
    with progress.bar(2, "items") as items:
        items.update()
        items.update(1)
    assert capsys.readouterr() == ("", "")


def test_notebook_line(notebook, monkeypatch):
    clock = iter(np.arange(0, 1000, 2.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert list(progress.bar(range(4), "models")) == [0, 1, 2, 3]
    assert notebook[0] == "models: 0 of 4"
    assert notebook[1] == "models: 1 of 4, 4 s each, 12 s left"
    assert notebook[-1] == "models: 4 of 4"


def test_notebook_line_is_not_shown_at_every_step(notebook):
    list(progress.bar(range(50_000), "steps"))
    assert 2 <= len(notebook) < 50
    assert notebook[-1] == "steps: 50,000 of 50,000"


def test_notebook_line_of_an_unknown_length(notebook):
    list(progress.bar((i for i in range(3)), "rows"))
    assert notebook[0] == "rows: 0" and notebook[-1] == "rows: 3"


def test_an_error_leaves_the_count_reached(notebook):
    with pytest.raises(RuntimeError), progress.bar(5, "models") as models:
        models.update(2)
        raise RuntimeError
    assert notebook[-1] == "models: 2 of 5"


def test_breaking_out_and_closing_twice(notebook):
    line = progress.bar(range(5), "models")
    for i in line:
        if i == 2:
            break
    line.close()
    line.close()
    assert notebook.count("models: 2 of 5") == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (7260, "2 h 01 min")],
)
def test_duration(seconds, text):
    assert progress._duration(seconds) == text


@pytest.mark.parametrize(
    ("first", "total"), [(-1, None), (3.5, None), (None, None), (True, None), ([1], -2)]
)
def test_refuses(first, total):
    with pytest.raises(ValueError, match="given .*, expected "):
        progress.bar(first, "x", total)


@pytest.mark.parametrize("setting", ["", "off"])
def test_stored_notebook_holds_one_clean_line(setting, monkeypatch):
    monkeypatch.setenv("MIA_PROGRESS", setting)
    root = Path(progress.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    code = (
        "import time\nfrom mia_lib import progress\nprogress.REFRESH = 0\n"
        "for _ in progress.bar(range(20), 'models'):\n    time.sleep(0.001)\nprint('after')"
    )
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(document, timeout=60, kernel_name="python3").execute()
    outputs = document.cells[0].outputs
    texts = [o.text if o.output_type == "stream" else o.data["text/plain"] for o in outputs]
    assert texts == ([] if setting else ["models: 20 of 20"]) + ["after\n"]
    assert all(o.get("name") != "stderr" for o in outputs)
