"""The commit hooks: they run from a shell in which no environment is active."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def ran(hook, *files):
    """A hook on files, where PATH has the system's programs alone."""
    clean = {"PATH": "/usr/bin:/bin"}
    if not (ROOT / ".venv").exists():  # the environment lies elsewhere
        clean["VENV"] = sys.prefix
    command = [*hook["entry"].split(), *map(str, files)]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_passes_and_fails(hook, tmp_path):
    notebook = "files" in hook
    good = ROOT / ("book/intro.ipynb" if notebook else "mia_lib/checks.py")
    found = ran(hook, good)
    assert found.returncode == 0, found.stdout + found.stderr
    bad = tmp_path / ("bad.ipynb" if notebook else "bad.py")
    bad.write_text(
        good.read_text().replace('"execution_count"', '"nothing"') if notebook else "import  os"
    )
    assert ran(hook, bad).returncode == 1


def test_lint_and_format_and_hygiene_are_all_there():
    assert [hook["id"] for hook in HOOKS] == ["ruff", "ruff-format", "notebook-hygiene"]
