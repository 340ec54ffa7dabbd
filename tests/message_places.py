"""Where the library composes messages about bad input, and which tests make it say them.

A place is a call of `checks.fail`, known by module, function and what names the argument, such as
"shadow.run.train 'masks'". As a plugin, `pytest -p message_places`, it runs only tests that expect
an error and writes {place: first test} to the file that MESSAGE_PLACES names.
"""

import ast
import functools
import inspect
import json
import os
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "mia_lib"


@functools.cache
def places():
    """{file: [(first line, last line, place)]} of every message that the library composes."""
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        module = ".".join(path.relative_to(LIBRARY).with_suffix("").parts)
        calls, seen = [], {}
        for name, node in _calls(ast.parse(path.read_text(encoding="utf-8")), module):
            place = f"{name} {ast.unparse(node.args[0])}"
            seen[place] = seen.get(place, 0) + 1
            numbered = place if seen[place] == 1 else f"{place} ({seen[place]})"
            calls.append((node.lineno, node.end_lineno, numbered))
        if calls:
            found[str(path)] = calls
    return found


def _calls(node, name):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) in ("checks.fail", "fail"):
            yield name, child
        named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        yield from _calls(child, f"{name}.{child.name}" if named else name)


class Heard:
    """Listens to `checks.fail`: {place that has said something: what was going on}."""

    def __init__(self, monkeypatch):
        from mia_lib import checks

        self.by, self.now = {}, ""
        fail = checks.fail

        def listening(name, given, expected):
            frame = sys._getframe(1)
            for first, last, place in places().get(frame.f_code.co_filename, ()):
                if first <= frame.f_lineno <= last:
                    self.by.setdefault(place, self.now)
            fail(name, given, expected)

        monkeypatch.setattr(checks, "fail", listening)


def pytest_collection_modifyitems(config, items):
    chosen = [item for item in items if "raises" in _source(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def _source(item):
    function = getattr(item, "function", None)
    try:
        return inspect.getsource(function) if function else ""
    except (OSError, TypeError):
        return ""


def pytest_configure(config):
    from _pytest.monkeypatch import MonkeyPatch

    config.heard = Heard(MonkeyPatch())


def pytest_runtest_setup(item):
    item.config.heard.now = item.nodeid.split("[")[0]


def pytest_sessionfinish(session):
    heard = session.config.heard.by
    path = Path(os.environ["MESSAGE_PLACES"])
    path.write_text(json.dumps(heard, indent=1, sort_keys=True) + "\n", encoding="utf-8")
