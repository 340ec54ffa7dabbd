"""Run one experiment notebook with one of its parameter files.

    python scripts/run.py NOTEBOOK --data DATA --scale SCALE
        [--record] [--plain] [-p NAME VALUE ...] [--expand FILE]

Executes notebooks/NOTEBOOK.ipynb with the values that notebooks/parameters/NOTEBOOK.yaml has for
this data set and scale, and keeps the executed notebook and its result record as
NOTEBOOK--DATA--SCALE in MIA_RESULTS (default: _build/results). With --record the record goes to
notebooks/results, and the executed notebook stays in _build/results. -p changes one more parameter;
VALUE is a JSON value or a plain word.

--expand executes nothing and writes the values as one flat file, such as `papermill -f` takes.
--plain executes the code cells in this process, one after the other, on a machine that has no
papermill. Only the record is kept then.
"""

import argparse
import ast
import itertools
import json
import os
import re
import sys
import time
import traceback
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SECTIONS = ("base", "data", "scale", "data--scale")
PATHS = ("file", "features_file", "predictions")  # parameters that name a file
QUIET = 10  # seconds between two states of an updating line in a log file


class Refused(Exception):
    """Something that one clear line tells the user."""


def parameter_file(notebooks, name):
    """The path of a notebook's parameter file, or a line that lists the notebooks."""
    path = notebooks / "parameters" / f"{name}.yaml"
    if not (notebooks / f"{name}.ipynb").is_file():
        there = sorted(found.stem for found in notebooks.glob("*.ipynb"))
        raise Refused(
            f"NOTEBOOK: given {name!r}, expected one of {', '.join(there) or '(there is none)'}"
        )
    if not path.is_file():
        raise Refused(f"NOTEBOOK: given {name!r}, which has no file parameters/{path.name}")
    return path


def sections(path):
    """The four sections of a parameter file, checked.

    `base` holds names and values; `data`, `scale` and `data--scale` hold the same by data set, by
    scale and by both.
    """
    text = path.read_text(encoding="utf-8")
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise Refused(f"{path.name}{where}: given a text that is no YAML") from None
    for line, name in _repeated(yaml.compose(text)):
        raise Refused(f"{path.name}, line {line}: given {name} again, expected each name once")
    if not isinstance(found, dict) or set(found) != set(SECTIONS):
        given = ", ".join(map(str, found)) if isinstance(found, dict) else repr(found)
        raise Refused(f"{path.name}: given {given}, expected the sections {', '.join(SECTIONS)}")
    found = {section: _filled(block) for section, block in found.items()}
    blocks = {"base": found["base"]}
    for section in SECTIONS[1:]:
        given = found[section]
        if not isinstance(given, dict) or (section in ("data", "scale") and not given):
            raise Refused(f"{path.name}, {section}: given {given!r}, expected names with values")
        found[section] = {name: _filled(block) for name, block in given.items()}
        blocks |= {f"{section}: {name}": block for name, block in found[section].items()}
    for where, block in blocks.items():
        if not isinstance(block, dict) or not all(str(name).isidentifier() for name in block):
            raise Refused(f"{path.name}, {where}: given {block!r}, expected lines `name: value`")
    pairs = {"--".join(pair) for pair in itertools.product(found["data"], found["scale"])}
    for both in found["data--scale"]:
        if both not in pairs:
            raise Refused(f"{path.name}, data--scale: given {both}, expected DATA--SCALE of above")
    return found


def _filled(block):
    """A block of a parameter file; one with nothing below its name is read as None."""
    return {} if block is None else block


def _repeated(node):
    """(line, name) of each name that stands twice in one mapping; PyYAML keeps the last value."""
    if isinstance(node, yaml.MappingNode):
        names = [name.value for name, _ in node.value]
        for i, (name, below) in enumerate(node.value):
            if name.value in names[:i]:
                yield name.start_mark.line + 1, name.value
            yield from _repeated(below)


def choices(path):
    """(data set, scale) of everything that a parameter file has values for."""
    found = sections(path)
    return list(itertools.product(found["data"], found["scale"]))


def read_parameters(path, data, scale):
    """Names and values for one data set and scale; a later section wins."""
    found = sections(path)
    if data not in found["data"] or scale not in found["scale"]:
        there = ", ".join(f"{one} {other}" for one, other in choices(path))
        raise Refused(f"DATA SCALE: given {data} {scale}, expected one of: {there}")
    both = found["data--scale"].get(f"{data}--{scale}", {})
    named = {"dataset": data, "scale": scale}
    return named | found["base"] | found["data"][data] | found["scale"][scale] | both


def literal(text):
    """One value as it is typed: JSON where it is JSON, a plain word otherwise.

    Examples
    --------
    >>> literal("0.1"), literal("[64, 32]"), literal("digits"), literal("true")
    (0.1, [64, 32], 'digits', True)
    """
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    return text.strip("'")


def parameter_cell(notebook):
    """The one code cell that is tagged `parameters`."""
    cells = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    if len(cells) != 1:
        raise Refused(f"the notebook has {len(cells)} cells tagged `parameters`, expected one")
    return cells[0]


def source_of(cell):
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def defaults(notebook):
    """Names and values that the notebook's `parameters` cell sets, as a dict."""
    values = {}
    for statement in ast.parse(source_of(parameter_cell(notebook))).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise Refused(
                f"the `parameters` cell, line {statement.lineno}: expected `name = literal`"
            )
        try:
            values[statement.targets[0].id] = ast.literal_eval(statement.value)
        except ValueError:
            raise Refused(
                f"{statement.targets[0].id} in the `parameters` cell is not a literal"
            ) from None
    return values


def _same_kind(value, default):
    """Whether a value may stand where the default stands; a whole number may stand for a real
    one.
    """
    if default is None:
        return True
    if isinstance(default, float) and not isinstance(value, bool):
        return isinstance(value, (int, float))
    return type(value) is type(default)


def check(given, known):
    """Raise one clear line for a name the notebook does not know or a value of another type."""
    unknown = [name for name in given if name not in known]
    if unknown:
        raise Refused(f"unknown parameter {', '.join(unknown)}; known: {', '.join(known)}")
    for name, value in given.items():
        if not _same_kind(value, known[name]):
            expected = type(known[name]).__name__
            raise Refused(
                f"{name}: given {value!r}, expected a value of type {expected}, such as "
                f"{known[name]!r}"
            )


def tidy(text):
    """The executed notebook without paths of this machine, papermill's metadata and widget
    state.
    """
    notebook = json.loads(text)
    for unwanted in ("papermill", "widgets"):
        notebook["metadata"].pop(unwanted, None)
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            holders = [(output, "text")] + [
                (data, kind) for kind in data if kind.startswith("text/")
            ]
            for holder, key in holders:
                if key in holder:
                    holder[key] = _without_paths(holder[key])
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _without_paths(text):
    if isinstance(text, list):
        return [_without_paths(line) for line in text]
    for folder, short in ((f"{ROOT}/", ""), (str(ROOT), "."), (_home(), "~")):
        if not folder.strip("/"):
            continue  # a home that is / says nothing of this machine, and begins every path
        ends = "" if folder.endswith("/") else r"(?![\w.-])"  # not in the name of another folder
        text = re.sub(re.escape(folder) + ends, short, text)
    return text


def _home():
    try:
        return str(Path.home())
    except RuntimeError:  # a user without a name, as in a container
        return ""


class _Terminal:
    """Shows a notebook's updating lines on the terminal, where papermill alone would show nothing
    for hours.
    """

    def __init__(self):
        self.replaces, self.last = sys.stderr.isatty(), 0.0

    def show(self, text, updating):
        if self.replaces:
            print(f"\r\033[K    {text}", end="", file=sys.stderr, flush=True)
        elif not updating or time.monotonic() - self.last > QUIET:
            print(f"    {text}", file=sys.stderr, flush=True)
            self.last = time.monotonic()


def _engine():
    """A papermill engine that also shows the lines that `mia_lib.progress` updates in place."""
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine

    terminal = _Terminal()

    class Client(PapermillNotebookClient):
        def process_message(self, message, *more, **named):
            content = message["content"]
            if "display_id" in content.get("transient", {}) and "text/plain" in content.get(
                "data", {}
            ):
                terminal.show(
                    content["data"]["text/plain"], message["msg_type"] == "update_display_data"
                )
            return super().process_message(message, *more, **named)

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(
            cls, nb_man, kernel_name, stdout_file=None, stderr_file=None, **_
        ):
            files = {"stdout_file": stdout_file, "stderr_file": stderr_file}
            quiet = ["--log-level=50"]  # the kernel's own warnings about its sockets
            options = {"timeout": None, "startup_timeout": 120, "extra_arguments": quiet}
            return Client(nb_man, kernel_name=kernel_name, **options, **files).execute()

    return Engine


def code_hash(source):
    """Hash of the notebook's code and of what it can reach, taken before anything is executed."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from mia_lib import results

    try:
        return results.hash_code(source)
    except ValueError as error:
        raise Refused(str(error)) from None


def run_with_papermill(source, target, values):
    """Execute with papermill; the notebook so far is written to `target` after every cell."""
    import papermill

    papermill.engines.papermill_engines.register("with-progress", _engine())
    try:
        papermill.execute_notebook(
            str(source),
            str(target),
            parameters=values,
            cwd=str(source.parent),
            engine_name="with-progress",
            kernel_name="python3",
            language="python",
            progress_bar=False,
            stdout_file=sys.stdout,
            stderr_file=sys.stderr,
        )
    except papermill.exceptions.PapermillExecutionError as error:
        message = str(error.evalue).strip().splitlines() or [""]
        raise Refused(
            f"{error.ename}: {message[-1]} (the notebook so far: {_shown(target)})"
        ) from None


def run_plain(source, values):
    """Execute the code cells one after the other in one namespace, with the parameters replaced."""
    os.environ.setdefault("MPLBACKEND", "agg")
    os.chdir(source.parent)
    sys.path.insert(0, str(ROOT))
    from mia_lib.results.code import apart

    notebook = json.loads(source.read_text(encoding="utf-8"))
    parameters = parameter_cell(notebook)
    namespace = {"__name__": "__main__", "display": lambda *shown: print(*shown, sep="\n")}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse(apart(source_of(cell))[0])
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        try:
            exec(compile(tree, f"<cell {number}>", "exec"), namespace)
            if last is not None:
                value = eval(
                    compile(ast.Expression(last.value), f"<cell {number}>", "eval"), namespace
                )
                if value is not None:
                    print(value, flush=True)
        except Exception as error:
            traceback.print_exc()
            message = str(error).strip().splitlines() or [""]
            raise Refused(f"cell {number}: {type(error).__name__}: {message[-1]}") from None
        if cell is parameters:
            namespace.update(values)


def from_here(name, value):
    """A file's path as the caller means it: the notebook runs in another folder.

    Examples
    --------
    >>> from_here("dataset", "digits")
    'digits'
    """
    if name not in PATHS or not isinstance(value, str) or not value:
        return value
    path = Path(value).expanduser()
    return str(path.absolute()) if path.exists() else value


def _shown(path):
    """A path as short as it can be read from the repository's root."""
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def main(argv=None, notebooks=ROOT / "notebooks"):
    """Run as from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "notebook", metavar="NOTEBOOK", help="its name in notebooks/, without .ipynb"
    )
    parser.add_argument("--data", required=True, help="a data set that its parameter file names")
    parser.add_argument("--scale", required=True, help="smoke, default, seeds or paper")
    parser.add_argument(
        "--record", action="store_true", help="keep the result in notebooks/results"
    )
    parser.add_argument("--plain", action="store_true", help="without papermill, in this process")
    parser.add_argument("--expand", metavar="FILE", help="write the values, execute nothing")
    parser.add_argument(
        "-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help="one more value"
    )
    given = parser.parse_args(argv)
    notebooks = Path(notebooks).resolve()
    try:
        file = parameter_file(notebooks, given.notebook)
        values = read_parameters(file, given.data, given.scale)
        values.update({name: from_here(name, literal(value)) for name, value in given.p})
        source = notebooks / f"{given.notebook}.ipynb"
        check(values, defaults(json.loads(source.read_text(encoding="utf-8"))))
        if given.expand:
            flat = yaml.safe_dump(values, sort_keys=False, default_flow_style=None)
            Path(given.expand).write_text(flat, encoding="utf-8")
            return 0
        pages = Path(os.environ.get("MIA_RESULTS") or BUILD / "results").resolve()
        if given.record:
            pages = BUILD / "results"
        results = notebooks / "results" if given.record else pages
        for folder in (pages, results):
            folder.mkdir(parents=True, exist_ok=True)
        os.environ["MIA_RESULTS"] = str(results)
        os.environ["MIA_CODE"] = f"{given.notebook} {code_hash(source)}"
        os.environ.setdefault(
            "OMP_NUM_THREADS", "1"
        )  # two threads are slower; an executor adds processes
        run_name = f"{given.notebook}--{given.data}--{given.scale}"
        print(f"run: {run_name}, results to {_shown(results)}", flush=True)
        if given.plain:
            run_plain(source, values)
        else:
            unfinished = BUILD / "runs" / f"{run_name}.ipynb"
            unfinished.parent.mkdir(parents=True, exist_ok=True)
            run_with_papermill(source, unfinished, values)
            kept = pages / f"{run_name}.ipynb"
            kept.write_text(tidy(unfinished.read_text(encoding="utf-8")), encoding="utf-8")
            unfinished.unlink()
            print(f"run: done, see {_shown(kept)}", flush=True)
    except Refused as refused:
        print(f"run: {given.notebook}: {refused}", file=sys.stderr)
        return 1
    finally:
        os.environ.pop("MIA_CODE", None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
