"""Do the tests notice a changed library: `python scripts/mutate.py MODULE [--n 100] [--seed 0]`.

mutmut changes one operator, number, name or argument of one function at a time. This script draws
--n of the changes (mutants) of mia_lib/MODULE with --seed, runs the tests of that module's room
that touch the changed function, and prints the share that failed a test, with its Clopper-Pearson
interval, and what survived. Settings: [tool.mutmut] of pyproject.toml.

Only deterministic tests count: simulations and slow tests are left out, and hypothesis draws the
same few examples every time. What no test can notice stands in tests/mutants.yaml with a reason,
and is left out of the score. A mutant whose tests ran out of time does not count as noticed.

A run that was broken off goes on in _build/mutate/MODULE. After a change of the tests alone, what
was noticed stays noticed and the rest is tried again; --fresh tries all of it. After a change of
the library everything is tried again. --record enters the score in tests/mutation_scores.json,
by module and seed.
"""

import argparse
import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mia_lib import disk, machine, progress  # noqa: E402  (the folder of scripts is not a package)
from mia_lib.intervals import clopper_pearson  # noqa: E402

EQUIVALENTS = ROOT / "tests" / "mutants.yaml"
SCORES = ROOT / "tests" / "mutation_scores.json"
NOTICED, OUT_OF_TIME = "killed", "timeout"
VERSIONS = ("mutmut", "numpy", "scipy", "torch", "pytest", "hypothesis")

# Some of the library asks a function for its signature (attacks.Attack.takes): mutmut's stand-in
# for a function, which chooses the mutant, answers with that of the function. What a fixture that
# several tests share calls belongs to each of them, not to the first alone. And the tests of a
# mutant run file by file, the cheapest file first, because most mutants fail one of its tests.
MUTMUT = """
import inspect
import pytest
from mutmut.mutation import trampoline
from mutmut.runners import harness
from mutmut.state import state
signature, stand_in, functions = inspect.signature, trampoline.wrap_in_trampoline, {}
def remembered(*given, **options):
    def decorate(function):
        found = stand_in(*given, **options)(function)
        functions[id(found)] = found, function
        return found
    return decorate
def signature_of_function(function, **options):
    return signature(functions.get(id(function), (None, function))[1], **options)
trampoline.wrap_in_trampoline, inspect.signature = remembered, signature_of_function
class Shared:
    def __init__(self):
        self.called = {}
    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        seen = state()._stats
        before = set(seen)
        seen.clear()
        try:
            return (yield)
        finally:
            self.called.setdefault(fixturedef, set()).update(seen)
            seen |= before
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item):
        for fixture in item._request._fixture_defs.values():
            state()._stats.update(self.called.get(fixture, ()))
runner_of = harness.PytestRunner
execute, arguments = runner_of.execute_pytest, runner_of._pytest_args_regular_run
def with_shared(runner, params, **options):
    if "plugins" in options:
        options["plugins"] = [*options["plugins"], Shared()]
    return execute(runner, params, **options)
def cheapest_first(runner, tests):
    cost, tests = {}, list(tests or ())
    for test in tests:
        file = test.split("::")[0]
        cost[file] = cost.get(file, 0) + state().duration_by_test.get(test, 0)
    def place(test):
        file = test.split("::")[0]
        return cost[file], file, state().duration_by_test.get(test, 0), test
    return arguments(runner, sorted(tests, key=place))
runner_of.execute_pytest = with_shared
runner_of._pytest_args_regular_run = cheapest_first
from mutmut.__main__ import cli
cli()
"""


def rooms(library=ROOT / "mia_lib"):
    """Modules and packages of the library by name."""
    found = [*library.glob("*.py"), *(path.parent for path in library.glob("*/__init__.py"))]
    return sorted(path.stem for path in found if not path.name.startswith("__"))


def tests_of(module, root=ROOT):
    """The folder or file of tests that mirrors a module."""
    for name in (f"tests/{module}", f"tests/test_{module}.py"):
        if (root / name).exists():
            return name
    sys.exit(f"MODULE: given {module!r}, which has no tests/{module} and no tests/test_{module}.py")


def digest(paths):
    """One hash of the names and contents of files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


class Workplace:
    """The folder in which mutmut works on one module, and what it has found there.

    The mutants of a function are numbered, so a verdict holds for one state of the library.
    """

    def __init__(self, module):
        self.module, self.tests = module, tests_of(module)
        self.folder = ROOT / "_build" / "mutate" / module
        self.state_file, self.log = self.folder / "state.json", self.folder / "log.txt"

    def prepare(self, fresh):
        """Set the folder up, or take up what is there. Returns the names noticed before the tests
        were changed.
        """
        tests = ROOT / self.tests
        files = {tests} if tests.is_file() else set(tests.rglob("*.py"))
        helpers = {path for path in ROOT.glob("tests/*.py") if not path.name.startswith("test_")}
        now = {
            "library": digest([*(ROOT / "mia_lib").rglob("*.py"), ROOT / "pyproject.toml"]),
            "tests": digest(files | helpers | {ROOT / "conftest.py"}),
        }
        old = json.loads(self.state_file.read_text()) if self.state_file.is_file() else {}
        if fresh or old.get("library") != now["library"]:
            shutil.rmtree(self.folder, ignore_errors=True)
            old = {}
        mutants = self.folder / "mutants"
        mutants.mkdir(parents=True, exist_ok=True)
        # mutmut copies the library; everything else that a test may read is a link.
        links = {mutants / path.name: path for path in ROOT.iterdir() if self._is_read(path)}
        for link, path in {**links, self.folder / "mia_lib": ROOT / "mia_lib"}.items():
            if not link.is_symlink():
                link.symlink_to(path)
        settings = f"only_mutate = {[f'mia_lib/{self.module}.py', f'mia_lib/{self.module}/*']}\n"
        settings += f"pytest_add_cli_args_test_selection = {[self.tests]}\n"
        text = (ROOT / "pyproject.toml").read_text()
        text = text.replace("[tool.mutmut]\n", f"[tool.mutmut]\n{settings}", 1)
        with contextlib.suppress(FileNotFoundError):  # the same text keeps what mutmut has cached
            text = None if (self.folder / "pyproject.toml").read_text() == text else text
        if text is not None:
            (self.folder / "pyproject.toml").write_text(text)
        with self._here():
            from mutmut import __main__ as mutmut

            with contextlib.redirect_stdout(None):
                mutmut.copy_src_dir()
                mutmut.copy_also_copy_files()
                mutmut.create_mutants(1)
        if old and old["tests"] != now["tests"]:
            # What survived is tried again. mutmut asks new tests alone which functions they touch:
            # an old test that touches more than before is not run for that, so the score can only
            # be too low.
            old["noticed_before"] = [k for k, v in self.verdicts().items() if v == NOTICED]
            self._forget({NOTICED})
        state = {**now, "noticed_before": old.get("noticed_before", [])}
        disk.write_json(self.state_file, state)
        return set(state["noticed_before"])

    @staticmethod
    def _is_read(path):
        left_out = {"mia_lib", "pyproject.toml", "requirements.txt"}
        return not path.name.startswith((".", "_build")) and path.name not in left_out

    @contextlib.contextmanager
    def _here(self):
        """mutmut reads its settings and its own files from the folder that it stands in."""
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)

    def _files(self):
        return sorted((self.folder / "mutants" / "mia_lib").rglob("*.py.meta"))

    def verdicts(self):
        """{name of a mutant: "killed", "survived", "no tests", "timeout" ... or None}."""
        from mutmut.stats import status_by_exit_code

        codes = {}
        for file in self._files():
            codes |= json.loads(file.read_text())["exit_code_by_key"]
        return {k: None if v is None else status_by_exit_code[v] for k, v in codes.items()}

    def _forget(self, kept):
        known = self.verdicts()
        for file in self._files():
            content = json.loads(file.read_text())
            codes = content["exit_code_by_key"]
            content["exit_code_by_key"] = {
                name: code if known[name] in kept else None for name, code in codes.items()
            }
            file.write_text(json.dumps(content, indent=4))

    @staticmethod
    def function(name):
        """The function that a mutant changes, with its class."""
        from mutmut.utils.format_utils import orig_function_and_class_names_from_key

        function, of_class = orig_function_and_class_names_from_key(name)
        return f"{of_class}.{function}" if of_class else function

    def change(self, name):
        """(function, line before, line after) of a mutant, without the place of the lines."""
        from mutmut.mutation.diff_apply import get_diff_for_mutant

        with self._here():
            lines = get_diff_for_mutant(name).splitlines()[2:]
        before, after = (
            " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
        )
        return self.function(name), before, after

    def run(self, names, jobs):
        """Let mutmut try the mutants, and count what it has decided."""
        environment = os.environ | {"PYTHONPATH": str(ROOT), "MIA_PROGRESS": "off"}
        command = [sys.executable, "-c", MUTMUT, "run"]
        command += ["--max-children", str(jobs), *names]
        with (
            self.log.open("w") as log,
            progress.bar(len(names), f"mutants of {self.module}") as bar,
            subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            ) as work,
        ):
            done = 0
            while True:
                ended = work.poll() is not None
                with contextlib.suppress(json.JSONDecodeError):  # mutmut is writing
                    found = self.verdicts()
                    decided = sum(found[name] is not None for name in names)
                    bar.update(decided - done)
                    done = decided
                if ended:
                    break
                time.sleep(1)
        if work.returncode or done < len(names):
            sys.exit(f"==> mutmut stopped after {done} mutants, its last words:\n{self._tail()}")

    def _tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


def equivalents(module, path=EQUIVALENTS):
    """{(function, before, after): why} of the mutants that no test can notice."""
    entries = (yaml.safe_load(path.read_text()) or {}).get(module, []) if path.is_file() else []
    return {(one["function"], one["before"], one["after"]): one["why"] for one in entries}


def as_entry(change):
    """A mutant in the form of tests/mutants.yaml."""
    quoted = dict(zip(("function", "before", "after"), change))
    text = yaml.safe_dump([quoted], sort_keys=False, width=10_000, allow_unicode=True)
    return "".join(f"  {line}\n" for line in text.splitlines()).rstrip()


def score(verdicts, equivalent):
    """Counts and the share noticed, of verdicts by name without the equivalent ones."""
    counted = [verdict for name, verdict in verdicts.items() if name not in equivalent]
    noticed, late = counted.count(NOTICED), counted.count(OUT_OF_TIME)
    low, high = (float(end) for end in clopper_pearson(noticed, len(counted)))
    return {
        "drawn": len(verdicts),
        "equivalent": len(verdicts) - len(counted),
        "killed": noticed,
        "timeout": late,
        "survived": len(counted) - noticed - late,
        "score": noticed / len(counted),
        "low": low,
        "high": high,
    }


def commit():
    """The commit, and "-dirty" where library or tests were changed since."""
    paths = ["mia_lib", "tests", f":(exclude){SCORES.relative_to(ROOT)}"]
    found = [
        subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True)
        for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", *paths])
    ]
    return found[0].stdout.strip() + ("-dirty" if found[1].stdout.strip() else "")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args(argv)
    if asked.module not in rooms():
        sys.exit(f"MODULE: given {asked.module!r}, expected one of {', '.join(rooms())}")
    if asked.n < 1 or asked.jobs < 1:
        sys.exit(f"N, JOBS: given {asked.n}, {asked.jobs}, expected at least 1")

    place = Workplace(asked.module)
    print(f"==> changing mia_lib/{asked.module}, which takes a minute", flush=True)
    before = place.prepare(asked.fresh)
    everything = sorted(place.verdicts())
    if not everything:
        sys.exit(f"MODULE: given {asked.module!r}, in which there is nothing to change")
    drawn = random.Random(asked.seed).sample(everything, min(asked.n, len(everything)))
    start = time.monotonic()
    known = equivalents(asked.module)
    named = {function for function, *_ in known}  # a change takes a while to be found
    equivalent = {
        name for name in drawn if place.function(name) in named and place.change(name) in known
    }
    found = place.verdicts()
    open_ones = [name for name in drawn if found[name] is None and name not in equivalent]
    print(
        f"==> {len(drawn)} of {len(everything)} mutants drawn, {len(open_ones)} to try", flush=True
    )
    if open_ones:
        place.run(open_ones, asked.jobs)
    found = {name: place.verdicts()[name] for name in drawn}
    # What a test did notice is not equivalent, whatever the list says.
    equivalent -= {name for name in drawn if found[name] == NOTICED}
    result = score(found, equivalent)
    for name in drawn:
        if found[name] != NOTICED and name not in equivalent:
            print(f"# {found[name]}: {name}\n{as_entry(place.change(name))}")
    counted = result["drawn"] - result["equivalent"]
    print(
        f"==> {asked.module}: {result['killed']} of {counted} mutants noticed, "
        f"{result['score']:.1%} [{result['low']:.1%}, {result['high']:.1%}]; "
        f"{result['survived']} survived, {result['timeout']} ran out of time, "
        f"{result['equivalent']} of the drawn are equivalent"
    )
    if asked.record:
        table = json.loads(SCORES.read_text()) if SCORES.is_file() else {}
        table.setdefault(asked.module, {})[str(asked.seed)] = result | {
            "mutants": len(everything),
            "noticed_before_the_tests_changed": len(before & found.keys()),
            "seconds": round(time.monotonic() - start, 1),
            "date": datetime.date.today().isoformat(),
            "commit": commit(),
            "machine": machine.processor(),
            "python": platform.python_version(),
            "versions": {name: importlib.metadata.version(name) for name in VERSIONS},
        }
        disk.write_json(SCORES, table, sort_keys=True)
        print(f"==> wrote {SCORES.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
