"""What the plain install leaves out: found when it is asked for, named when it is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mia_lib import attacks, extras

ROOT = Path(__file__).resolve().parents[1]
# Refuses torch, torchvision and opacus, as a machine does that has none of them.
BLOCKED = """
import sys

class Nobody:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "opacus"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nobody())
"""
AUDIT = """
import numpy as np
import mia_lib
from mia_lib import audit
from mia_lib.audit.__main__ import main

assert main([sys.argv[1], "-o", sys.argv[2]]) == 0
assert not [name for name in sys.modules if name.startswith(("torch", "opacus"))]
"""
CALLS = """
import numpy as np
from mia_lib import attacks, extras
HEAD = np.zeros((1, 2, 2))
for call in (
    lambda: attacks.quantile_regression(np.zeros((2, 20)), np.eye(2, 20) > 0, np.zeros((20, 1))),
    lambda: attacks.gradient_features(None, {"head.weight": HEAD}, np.eye(4), np.arange(4)),
    lambda: __import__("mia_lib").train,
):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error, error.name)
print(extras.has("torch"))
from sklearn.dummy import DummyClassifier
from mia_lib import audit
x, y, member = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2, np.arange(60) < 30
fit = lambda x, y: DummyClassifier(strategy="prior").fit(x, y)
rng = np.random.default_rng(1)
print(audit.observe(fit(x, y), x, y, member, fit=fit, n_shadow=4, rng=rng).shadow_logits.shape)
"""


def run(code, *arguments, environment=None):
    command = [sys.executable, "-c", BLOCKED + code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_is_audited_without_torch(tmp_path):
    rng = np.random.default_rng(0)
    labels, member = rng.integers(0, 3, 120), np.arange(120) < 60
    arrays = {"logits": rng.normal(size=(120, 3)), "labels": labels, "member": member}
    arrays["shadow_logits"] = rng.normal(size=(4, 120, 3))
    arrays["shadow_member"] = np.array([member, ~member, member, ~member])[:, rng.permutation(120)]
    arrays["representation"] = rng.normal(size=(120, 4))
    np.savez(tmp_path / "seen.npz", assignment=np.array("random"), **arrays)
    run(AUDIT, tmp_path / "seen.npz", tmp_path / "report")
    text = (tmp_path / "report.md").read_text()
    # what is missing is named, once for the attack and once for the test
    assert "Learned network (needs torch: pip install 'mia_lib[train]')" in text
    assert "it needs torch, which is not installed (pip install 'mia_lib[train]')" in text
    for suffix in (".html", ".json", ".csv", ".pdf"):
        assert (tmp_path / f"report{suffix}").stat().st_size > 1000


def test_what_needs_torch_says_what_to_install(tmp_path):
    import os

    *said, has, shape = run(
        CALLS, environment=os.environ | {"MIA_RUNS": str(tmp_path)}
    ).splitlines()
    wanted = "torch is needed for this and not installed: pip install 'mia_lib[train]' torch"
    assert said == [wanted] * 3 and has == "False"
    assert shape == "(4, 60, 2)"  # shadow models of scikit-learn are trained without it


def test_a_module_is_imported_when_it_is_asked():
    assert extras.module("fractions").Fraction(1, 2) == 0.5
    with pytest.raises(AttributeError, match="nothing"):
        _ = extras.module("fractions").nothing
    absent = extras.module("no_such_module_of_anybody", answer=42)
    assert absent.answer == 42
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_anybody"):
        _ = absent.other
    assert extras.module("fractions", Fraction=None).Fraction is not None
    assert isinstance(np.zeros(2), attacks.quantile.torch.Tensor) is False
