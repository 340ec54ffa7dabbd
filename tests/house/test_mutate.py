"""`make mutate`: what it refuses, what it counts, the list of changes that nobody can notice."""

import ast
import importlib.util
from pathlib import Path

import pytest
import yaml
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
mutate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutate)
ENTRIES = yaml.safe_load(mutate.EQUIVALENTS.read_text(encoding="utf-8")) or {}


@pytest.mark.parametrize("name", ["lyra", "", "intervals.py", "__init__"])
def test_an_unknown_module_ends_in_one_line(name):
    with pytest.raises(SystemExit) as stopped:
        mutate.main([name])
    message = str(stopped.value)
    assert message.startswith(f"MODULE: given {name!r}, expected one of attacks, audit, bayes, ")
    assert "\n" not in message


@pytest.mark.parametrize("option", ["--n", "--jobs"])
def test_a_number_below_one_ends_in_one_line(option):
    with pytest.raises(SystemExit, match="^N, JOBS: given .*, expected at least 1$"):
        mutate.main(["lira", option, "0"])


def test_every_module_that_has_tests_can_be_named():
    assert {"attacks", "audit", "bayes", "intervals", "lira"} <= set(mutate.rooms())
    assert mutate.tests_of("intervals") == "tests/test_intervals.py"
    assert mutate.tests_of("lira") == "tests/lira"


def test_the_score_leaves_out_what_nobody_can_notice():
    verdicts = dict(zip("abcdefgh", ["killed"] * 5 + ["survived", "no tests", "timeout"]))
    found = mutate.score(verdicts, {"f"})
    want = stats.binomtest(5, 7).proportion_ci(0.95, "exact")
    assert found == pytest.approx(
        {"drawn": 8, "equivalent": 1, "killed": 5, "timeout": 1, "survived": 1}
        | {"score": 5 / 7, "low": want.low, "high": want.high},
        abs=1e-6,
    )


def functions(module):
    """{name: text} of a module's functions and methods, in whatever file."""
    files = [ROOT / "mia_lib" / f"{module}.py", *(ROOT / "mia_lib" / module).rglob("*.py")]
    found = {}
    for path in files:
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            of_class = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for one in node.body if of_class else [node]:
                if isinstance(one, ast.FunctionDef):
                    name = of_class + one.name
                    found[name] = found.get(name, "") + ast.get_source_segment(text, one)
    return found


@pytest.mark.parametrize("module", ENTRIES)
def test_each_entry_of_the_list_is_about_a_line_of_today_and_gives_a_reason(module):
    texts, seen = functions(module), set()
    for entry in ENTRIES[module]:
        assert set(entry) == {"function", "before", "after", "why"}
        key = (entry["function"], entry["before"], entry["after"])
        assert key not in seen and entry["before"] != entry["after"]
        seen.add(key)
        line = " ".join(texts[entry["function"]].split())
        assert " ".join(entry["before"].split()) in line, f"{module}: no longer there: {entry}"
        assert len(entry["why"]) > 20 and "\n" not in entry["why"]
