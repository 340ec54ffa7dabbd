"""Execute the notebooks and build the book.

    python scripts/book.py book                     execute what changed, then build the site
    python scripts/book.py html                     build the site from the stored outputs
    python scripts/book.py execute [NOTEBOOK ...]   execute (all) and store the outputs in place,
                                                    with alt texts of the pictures of records

A notebook is executed again when its code, the library, a result record, a parameter file, a
paper's numbers, the requirements or the Python version changed since its last execution; the page
of records, which says whose code has changed, also when the code of an experiment did, and the page
on how the book is checked, which counts the tests, when a test did. Everything that is made lies
under _build: executed (notebooks with the key they were executed under), source (the tree that the
site is built from), html (the site). Only `execute` writes to tracked files.
"""

import argparse
import ast
import asyncio
import copy
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mia_lib import disk  # noqa: E402  (the folder of scripts is not a package)

BUILD = ROOT / "_build"
AT_ONCE = 2
CELL_TIMEOUT = 600  # seconds
RECORDS = Path("book/records.ipynb")  # the page that reads the code of the experiments
CHECKED = Path("book/how_checked.ipynb")  # the page that counts the tests
PROBLEMS = Path("book/course/problems")  # solutions, which `execute` stores when they are named


def notebooks():
    """Every notebook that is a page of the book, relative to the repository's root."""
    return sorted(
        path.relative_to(ROOT)
        for name in ("book", "notebooks")
        for path in (ROOT / name).glob("*.ipynb")
    )


def fingerprint(paths):
    """One hash over names and contents of files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(
            f"{path.relative_to(ROOT)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return total.hexdigest()


def shared_inputs():
    """The files, beside its own text, that a notebook's outputs depend on."""
    library = [
        path
        for path in (ROOT / "mia_lib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    records = [
        path for kind in ("json", "png") for path in (ROOT / "notebooks/results").glob(f"*.{kind}")
    ]
    records += (ROOT / "notebooks/parameters").glob("*.yaml")
    records += (ROOT / "book/papers").glob("*.yaml")
    return [*library, *records, *(ROOT / "book").glob("costs.json"), ROOT / "requirements.txt"]


def reads_signals(notebook):
    """Whether a page reads what stored networks say: it is executed again when one joins them."""
    readers = "signals", "variants", "generators", "toy_classifiers"
    sources = [source for source, _ in code_of(notebook)]
    return any(f"data.{reader}(" in source for source in sources for reader in readers)


def code_of(notebook):
    """Sources and tags of the code cells."""
    return [
        (cell.source, cell.metadata.get("tags", []))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def execution_key(notebook, shared):
    """What decides whether a notebook is executed: its code cells with their tags, and everything
    shared.
    """
    text = json.dumps([code_of(notebook), shared, sys.version_info[:2]])
    return hashlib.sha256(text.encode()).hexdigest()


def clean(notebook):
    """Take out what would differ from run to run, so that stored notebooks change only where their
    content does.
    """
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
            },
            "made": datetime.date.today().isoformat(),
        }
    )
    for cell in notebook.cells:
        for noise in ("execution", "papermill"):
            cell.metadata.pop(noise, None)
    return notebook


def described(notebook):
    """Give each picture of records (`results.picture`) the alt text that fits what it shows now."""
    for cell in notebook.cells:
        if cell.cell_type != "code" or "results.picture(" not in cell.source:
            continue
        from mia_lib import results  # it takes seconds, and most pages have no such picture

        tree = ast.parse(cell.source)
        (call,) = (
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "results.picture"
        )
        constants = {  # such as a pattern that is too long for the call's line
            ast.unparse(statement.targets[0]): ast.literal_eval(statement.value)
            for statement in tree.body
            if isinstance(statement, ast.Assign)
        }

        def literal(value, constants=constants):
            """Of a literal, of a constant's name, or of a sum of these."""
            if isinstance(value, ast.BinOp):
                return literal(value.left) + literal(value.right)
            name = ast.unparse(value)
            return constants[name] if name in constants else ast.literal_eval(value)

        given = [literal(value) for value in call.args]
        named = {word.arg: literal(word.value) for word in call.keywords}
        image = cell.metadata.setdefault("mystnb", {}).setdefault("image", {})
        image["alt"] = results.picture_alt(*given, **{"folder": ROOT / "notebooks/results"} | named)
    return notebook


def with_outputs_of(notebook, executed):
    """The notebook's own text with the outputs of an execution of the same code."""
    pairs = zip(
        (cell for cell in notebook.cells if cell.cell_type == "code"),
        (cell for cell in executed.cells if cell.cell_type == "code"),
        strict=True,
    )
    for cell, done in pairs:
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
    if "made" in executed.metadata:
        notebook.metadata["made"] = executed.metadata["made"]
    return notebook


def as_old_as_its_outputs(notebook, stored):
    """The executed notebook with the day of the stored one, if it has given the same again."""
    made = stored.metadata.get("made")
    outputs = (
        [cell.get("outputs") for cell in one.cells if cell.cell_type == "code"]
        for one in (notebook, stored)
    )
    if made and len({json.dumps(one, sort_keys=True) for one in outputs}) == 1:
        notebook.metadata["made"] = made
    return notebook


class Outlook:
    """How long it will take, from book/costs.json and the pace so far.

    Parameters
    ----------
    paths : list of pathlib.Path
        What will be executed. A page that was not measured counts as the mean of the others.
    """

    def __init__(self, paths):
        file = ROOT / "book/costs.json"
        costs = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        known = {name: cost["processor_seconds"] for name, cost in costs.items()}
        usual = sum(known.values()) / len(known) if known else 20
        self.left = {path: known.get(path.as_posix(), usual) for path in paths}
        self.total, self.count, self.began = sum(self.left.values()), len(paths), time.monotonic()

    def to_go(self):
        """In words."""
        done = self.total - sum(self.left.values())
        pace = (time.monotonic() - self.began) / done if done else 1 / AT_ONCE
        return f"about {max(1, round(pace * sum(self.left.values()) / 60))} min to go"

    def after(self, path):
        """How far it is when a page is done."""
        self.left.pop(path)
        done = f"{self.count - len(self.left)} of {self.count}"
        return f"{done}, {self.to_go()}" if self.left else done


async def execute_one(path, turn, bar, failures, outlook):
    """Execute one notebook in its own folder; returns it with its outputs, or None after a
    failure.
    """
    notebook = nbformat.read(ROOT / path, as_version=4)
    async with turn:
        if failures:
            return None
        begin = time.monotonic()
        tqdm.write(f"    {path}: executing", file=sys.stdout)
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT,
            kernel_name="python3",
            resources={"metadata": {"path": str(ROOT / path.parent)}},
            record_timing=False,
            extra_arguments=["--log-level=40"],
            on_cell_executed=lambda **_: bar.update(),
        )
        try:
            await client.async_execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            failures.append(path)
            tqdm.write(f"\n==> {path} failed\n{error}", file=sys.stdout)
            return None
        took = f"done in {time.monotonic() - begin:.0f} s"
        tqdm.write(f"    {path}: {took}; {outlook.after(path)}", file=sys.stdout)
    return clean(notebook)


async def execute_all(paths, keep):
    """Execute notebooks, AT_ONCE at a time, and hand each to `keep`; exits with 1 if one fails."""
    cells = sum(
        cell.cell_type == "code" and bool(cell.source.strip())
        for path in paths
        for cell in nbformat.read(ROOT / path, as_version=4).cells
    )
    failures, turn, outlook = [], asyncio.Semaphore(AT_ONCE), Outlook(paths)
    print(f"==> {outlook.to_go()}, on cores like those of book/costs.json", flush=True)
    with tqdm(total=cells, unit="cell", desc="    executing", disable=None) as bar:

        async def run(path):
            notebook = await execute_one(path, turn, bar, failures, outlook)
            if notebook is not None:
                keep(path, notebook)

        await asyncio.gather(*map(run, paths))
    if failures:
        sys.exit(f"==> stopped: {', '.join(map(str, failures))} failed")


def kernel_environment():
    """What every kernel is started with: this tree's library, one thread, no progress lines,
    results in _build.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["MIA_PROGRESS"] = "off"
    os.environ["MIA_RESULTS"] = str(BUILD / "results")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    )


def write(path, notebook):
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    disk.write(path, lambda stream: stream.write(text.encode()))


def pages_and_keys():
    """Every page that is a notebook, as it is now, and the key that it would be executed under."""
    shared = fingerprint(shared_inputs())
    pages = {path: nbformat.read(ROOT / path, as_version=4) for path in notebooks()}
    experiments = [code_of(page) for path, page in pages.items() if path.parent.name == "notebooks"]
    tests = [path for kind in ("py", "json") for path in (ROOT / "tests").rglob(f"*.{kind}")]
    stored = [ROOT / "notebooks" / name for name in ("signals", "variants", "gans", "toy")]
    models = fingerprint(file for folder in stored for file in folder.rglob("*.*"))
    read = {path: [shared, models] for path, page in pages.items() if reads_signals(page)}
    read |= {RECORDS: [shared, experiments], CHECKED: [shared, fingerprint(tests)]}
    keys = {path: execution_key(page, read.get(path, shared)) for path, page in pages.items()}
    return pages, keys


def remember(path, notebook, key):
    """Keep an executed notebook in _build/executed, with the key it was executed under."""
    kept = copy.deepcopy(notebook)
    kept.metadata["executed_under"] = key
    write(BUILD / "executed" / path, kept)


def remembered(path, key):
    """The notebook as it was executed under this key, or None."""
    kept = BUILD / "executed" / path
    executed = nbformat.read(kept, as_version=4) if kept.is_file() else None
    return executed if executed and executed.metadata.get("executed_under") == key else None


def execute_changed():
    """Bring _build/executed up to date; returns the pages, path to notebook, with their present
    outputs.
    """
    pages, keys = pages_and_keys()
    changed = [path for path in pages if remembered(path, keys[path]) is None]
    print(
        f"==> executing {len(changed)} of {len(pages)} notebooks ({len(pages) - len(changed)} "
        f"unchanged)",
        flush=True,
    )
    if changed:
        kernel_environment()
        asyncio.run(
            execute_all(changed, lambda path, notebook: remember(path, notebook, keys[path]))
        )
    return {
        path: with_outputs_of(page, remembered(path, keys[path])) for path, page in pages.items()
    }


def assemble(pages):
    """Lay out the tree that the site is built from; `pages` replaces notebooks of the
    repository.
    """
    source = BUILD / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(ROOT / name, source / name)
    shutil.copytree(
        ROOT / "book",
        source / "book",
        ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"),
    )
    for path in notebooks():
        (source / path).parent.mkdir(exist_ok=True)
        if path in pages:
            nbformat.write(pages[path], source / path)
        else:
            shutil.copy2(ROOT / path, source / path)
    return source


def build(pages):
    """Build every page, a warning being an error, and say where the site is."""
    source, html = assemble(pages), BUILD / "html"
    files = [path for path in source.rglob("*") if path.is_file()]
    files += [ROOT / "requirements.txt", ROOT / "scripts/book.py"]
    built_from, now = BUILD / "html.built-from", fingerprint(files)
    if built_from.is_file() and built_from.read_text() == now and (html / "index.html").is_file():
        print("==> the site is up to date", flush=True)
    else:
        print("==> building the site", flush=True)
        built_from.unlink(missing_ok=True)
        shutil.rmtree(html, ignore_errors=True)
        jupyter_book = [
            sys.executable,
            "-c",
            "from jupyter_book.cli.main import main; main()",
            "build",
        ]
        options = ["--path-output", str(ROOT), "-W", "--keep-going", "--all"]
        done = subprocess.run([*jupyter_book, str(source), *options], cwd=ROOT)
        if done.returncode:
            sys.exit("==> stopped: the site was not built, see the warnings above")
        built_from.write_text(now)
    print(f"==> the book is ready, open in a browser: {html / 'index.html'}", flush=True)


def store(names):
    """Execute notebooks and store their outputs in place."""
    chosen = [Path(name).resolve().relative_to(ROOT) for name in names] or notebooks()
    problems = [path.relative_to(ROOT) for path in (ROOT / PROBLEMS).glob("*.ipynb")]
    unknown = [str(path) for path in chosen if path not in [*notebooks(), *problems]]
    if unknown:
        sys.exit(f"==> not a notebook of the book: {', '.join(unknown)}")
    print(f"==> executing {len(chosen)} notebooks and storing their outputs", flush=True)
    keys = pages_and_keys()[1]

    def keep(path, notebook):
        as_old_as_its_outputs(notebook, nbformat.read(ROOT / path, as_version=4))
        write(ROOT / path, described(notebook))
        if path in keys:  # a problem set is no page
            remember(path, notebook, keys[path])

    kernel_environment()
    asyncio.run(execute_all(chosen, keep))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=["book", "html", "execute"])
    parser.add_argument("notebooks", nargs="*", help="for `execute`: which ones, default all")
    given = parser.parse_args()
    if given.verb == "execute":
        store(given.notebooks)
    else:
        build(execute_changed() if given.verb == "book" else {})


if __name__ == "__main__":
    main()
