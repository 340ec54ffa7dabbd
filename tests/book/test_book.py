"""What `make book` promises, tried on a small copy of the tree: nothing older than the code is
shown.
"""

import datetime
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from mia_lib import results

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "Makefile",
    "_config.yml",
    "requirements.txt",
    "pyproject.toml",
    "mia_lib",
    "scripts/book.py",
)
COPIED_OF_BOOK = ("book/_static", "book/_ext", "book/references.bib")
TOC = """
format: jb-book
root: book/intro
parts:
  - caption: Rest
    numbered: true
    chapters:
      - file: notebooks/tiny
"""
RECORD = "notebooks/results/tiny--digits--default.json"


def make(tree, verb):
    """Run a verb of the copy with this environment, its installation left alone; gives exit code
    and output.
    """
    outside = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    command = ["make", "--no-print-directory", "-o", "setup", verb, f"VENV={sys.prefix}"]
    done = subprocess.run(
        command, cwd=tree, env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def write_notebook(path, *cells):
    notebook = new_notebook(cells=[new_markdown_cell(cells[0]), *map(new_code_cell, cells[1:])])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def hashes(tree):
    """Every file but what is built, by content."""
    files = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = (path for path in files if path.relative_to(tree).parts[0] != "_build")
    return {
        path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tool chain and the library with two small notebooks of its own."""
    tree = tmp_path_factory.mktemp("tree")
    for name in COPIED + COPIED_OF_BOOK:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, target)
    (tree / "_toc.yml").write_text(TOC)
    (tree / "mia_lib" / "answer.py").write_text("ANSWER = 1000 + 111\n")
    (tree / RECORD).parent.mkdir(parents=True)
    (tree / RECORD).write_text('{"value": 2222}')
    read = f"import json\n\nwith open('../{RECORD}') as file:\n    record = json.load(file)\nrecord"
    write_notebook(
        tree / "book" / "intro.ipynb", "# Intro", "from mia_lib.answer import ANSWER\n\nANSWER"
    )
    write_notebook(tree / "notebooks" / "tiny.ipynb", "# Tiny", read)
    return tree


def page(tree, name):
    return (tree / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_make_book_never_shows_a_number_older_than_the_code(tree):
    """One story, told in order, because every step starts from the site that the one before it
    left.
    """
    before = hashes(tree)
    code, said = make(tree, "book")
    assert code == 0, said
    assert "executing 2 of 2 notebooks" in said
    assert "==> about 1 min to go, on cores like those" in said
    assert re.search(r"done in \d+ s; 1 of 2, about 1 min to go", said) and "; 2 of 2\n" in said
    assert said.strip().endswith(str(tree / "_build" / "html" / "index.html"))
    assert "1111" in page(tree, "book/intro") and "2222" in page(tree, "notebooks/tiny")
    assert hashes(tree) == before, "make book changes no file outside _build"

    code, said = make(tree, "book")
    assert code == 0 and "executing 0 of 2 notebooks" in said and "the site is up to date" in said

    (tree / "mia_lib" / "answer.py").write_text("ANSWER = 3000 + 333\n")
    code, said = make(tree, "book")
    assert code == 0 and "executing 2 of 2 notebooks" in said
    assert "3333" in page(tree, "book/intro") and "1111" not in page(tree, "book/intro")

    (tree / RECORD).write_text('{"value": 4444}')
    code, said = make(tree, "book")
    assert code == 0 and "executing 2 of 2 notebooks" in said
    assert "4444" in page(tree, "notebooks/tiny") and "2222" not in page(tree, "notebooks/tiny")

    text = (tree / "book" / "intro.ipynb").read_text()
    (tree / "book" / "intro.ipynb").write_text(text.replace("# Intro", "# Introduction, reworded"))
    code, said = make(tree, "book")
    assert code == 0 and "executing 0 of 2 notebooks" in said, "prose alone executes nothing"
    assert "reworded" in page(tree, "book/intro") and "3333" in page(tree, "book/intro")

    html = page(tree, "book/intro")
    assert not re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*"', html)
    assert not re.findall(
        r'<link[^>]*rel="(?:stylesheet|preload)"[^>]*href="(?:https?:)?//[^"]*"', html
    )
    assert "unpkg" not in html


@pytest.mark.slow
def test_one_setting_points_every_button_to_a_repository(tree):
    settings = tree / "_config.yml"
    before = settings.read_text()
    address = yaml.safe_load(before)["repository"]["url"]
    owner = address.removeprefix("https://github.com/")
    try:
        settings.write_text(before.replace(address, "https://github.com/somebody/something"))
        code, said = make(tree, "html")
        assert code == 0, said
        html = page(tree, "notebooks/tiny")
        binder, colab = "https://mybinder.org/v2/gh/", "https://colab.research.google.com/github/"
        assert f"{binder}somebody/something/main?urlpath=lab/tree/notebooks/tiny.ipynb" in html
        assert f"{colab}somebody/something/blob/main/notebooks/tiny.ipynb" in html
        assert "https://github.com/somebody/something/issues" in html
        assert owner not in "".join(path.read_text() for path in tree.glob("_build/html/*/*.html"))
    finally:
        settings.write_text(before)


@pytest.mark.slow
def test_a_failed_step_stops_with_an_error(tree):
    intro = tree / "book" / "intro.ipynb"
    good = intro.read_text()
    try:
        write_notebook(intro, "# Intro", "raise RuntimeError('said by the cell')")
        code, said = make(tree, "book")
        assert code != 0 and "book/intro.ipynb failed" in said and "said by the cell" in said
        assert "the book is ready" not in said

        write_notebook(intro, "# Intro\n\nA link that leads {ref}`nowhere`.", "1 + 1")
        for _ in range(2):  # the second build must not forget the warning of the first
            code, said = make(tree, "html")
            assert code != 0 and "nowhere" in said and "the book is ready" not in said
    finally:
        intro.write_text(good)


@pytest.mark.slow
def test_execute_stores_clean_outputs(tree):
    path = tree / "notebooks" / "tiny.ipynb"
    code, said = make(tree, "execute")
    assert code == 0, said
    first = path.read_text()
    notebook = nbformat.reads(first, as_version=4)
    assert notebook.cells[1].execution_count == 1 and notebook.cells[1].outputs
    assert (
        notebook.metadata.kernelspec.name == "python3"
        and "execution" not in notebook.cells[1].metadata
    )
    assert make(tree, "execute")[0] == 0
    assert path.read_text() == first, "storing again changes nothing"
    assert notebook.metadata.made == datetime.date.today().isoformat()
    path.write_text(first.replace(notebook.metadata.made, "2001-02-03"))
    assert make(tree, "execute")[0] == 0 and "2001-02-03" in path.read_text()
    path.write_text(path.read_text().replace("2222", "5555").replace("4444", "5555"))
    assert make(tree, "execute")[0] == 0
    assert path.read_text() == first, "the day is that of the outputs"
    code, said = make(tree, "book")
    assert code == 0 and "executing 0 of 2 notebooks" in said, (
        "what was just executed is not executed again"
    )


def test_how_long_it_will_take(tmp_path, monkeypatch):
    """By what was measured before a page is done, afterwards by the pace so far."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    book = importlib.import_module("book")
    monkeypatch.setattr(book, "ROOT", tmp_path)
    now = iter([0.0, 300.0, 600.0])
    monkeypatch.setattr(book.time, "monotonic", lambda: next(now))
    (tmp_path / "book").mkdir()
    costs = {"book/a.ipynb": 600, "book/b.ipynb": 300, "book/c.ipynb": 300}
    costs = {name: {"processor_seconds": seconds} for name, seconds in costs.items()}
    (tmp_path / "book/costs.json").write_text(json.dumps(costs))
    outlook = book.Outlook([Path(name) for name in [*costs, "book/new.ipynb"]])
    assert outlook.to_go() == "about 13 min to go"  # 600 + 300 + 300 + their mean, two at a time
    assert outlook.after(Path("book/b.ipynb")) == "1 of 4, about 22 min to go"  # 300 s for 300
    assert outlook.after(Path("book/a.ipynb")) == "2 of 4, about 8 min to go"  # 600 s for 900
    (tmp_path / "book/costs.json").unlink()
    monkeypatch.setattr(book.time, "monotonic", lambda: 0.0)
    assert book.Outlook([Path("book/a.ipynb")]).to_go() == "about 1 min to go"


def test_make_alone_lists_the_verbs():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for verb in (
        "book",
        "html",
        "test",
        "lab",
        "run",
        "execute",
        "portable",
        "reseed",
        "bench",
        "play",
        "slides",
        "pdf",
        "data",
        "clean",
    ):
        assert re.search(rf"^ *make {verb}\b", done.stdout, re.MULTILINE)


def test_every_page_is_in_the_table_of_contents_and_there():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    entries = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    for entry in entries:  # grows: sections have sections
        entries += entry.get("sections", [])
    listed = [toc["root"], *(entry["file"] for entry in entries)]
    files = [
        path
        for name in ("book", "book/course", "book/reference", "book/reference/modules", "notebooks")
        for path in (ROOT / name).glob("*")
    ]
    pages = [path for path in files if path.suffix in (".ipynb", ".md")]
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in pages]
    assert sorted(listed) == sorted(names)


def test_every_chapter_says_what_to_read_before_and_what_next():
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        if path.stem not in ("intro", "records"):
            text = "\n".join(
                cell.source
                for cell in nbformat.read(path, as_version=4).cells
                if cell.cell_type == "markdown"
            )
            for wanted in (r"\*\*Read before\.\*\*", r"\*\*Next[.:]\*\*.*\{doc\}`"):
                assert re.search(wanted, text), f"{path.name} lacks {wanted}"


def test_every_public_name_says_which_page_teaches_it():
    """The reference pages are made of docstrings; what a module says for all its names counts for
    each.
    """
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "book" / "reference").rglob("*.md")
    )
    modules = re.findall(r"automodule:: (mia_lib\.\w+)", pages)
    for module in map(importlib.import_module, modules):
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__
        ]
        for name in names:
            value = getattr(module, name)
            if callable(value) and not name.startswith("_"):
                said = (value.__doc__ or "") + (module.__doc__ or "")
                link = re.search(r"\b(?:book|notebooks)/(\w+)\.ipynb", said)
                assert link, f"{module.__name__}.{name} names no chapter"
    assert len(modules) > 15


def test_the_page_of_records_is_executed_again_when_an_experiment_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    book = importlib.import_module("book")
    monkeypatch.setattr(book, "ROOT", tmp_path)
    (tmp_path / "requirements.txt").write_text("")

    def keys(experiment, heading="# Tiny"):
        write_notebook(tmp_path / "book" / "records.ipynb", "# Records", "1 + 1")
        write_notebook(tmp_path / "book" / "other.ipynb", "# Other", "1 + 1")
        write_notebook(tmp_path / "notebooks" / "tiny.ipynb", heading, experiment)
        return {path.stem: key for path, key in book.pages_and_keys()[1].items()}

    first, second, reworded = keys("a = 1"), keys("a = 2"), keys("a = 2", "# Very tiny")
    assert {name for name in first if first[name] != second[name]} == {"records", "tiny"}
    assert reworded == second


@pytest.mark.parametrize(
    "call",
    [
        'results.picture("lira", what=r"^comparison: balanced");',
        'SHOWN = "^comparison: balanced"\nresults.picture("lira", what=SHOWN);',
        'SHOWN = "^comp"\nresults.picture("lira", what=SHOWN + "arison: balanced");',
    ],
)
def test_pictures_of_records_are_described(monkeypatch, call):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    book = importlib.import_module("book")
    text = f"from mia_lib import results\n\n{call}"
    notebook = new_notebook(cells=[new_code_cell(text), new_code_cell("1 + 1")])
    notebook.cells[0].metadata["mystnb"] = {"figure": {"name": "fig"}, "image": {"alt": "old"}}
    picture, other = book.described(notebook).cells
    given = {"what": "^comparison: balanced", "folder": ROOT / "notebooks/results"}
    assert picture.metadata["mystnb"]["figure"] == {"name": "fig"}
    assert picture.metadata["mystnb"]["image"]["alt"] == results.picture_alt("lira", **given)
    assert "mystnb" not in other.metadata
