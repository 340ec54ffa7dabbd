"""What an audit reads it does not write over, and what it does not know it does not say."""

import numpy as np
import pandas as pd
import pytest

from mia_lib import audit, shadow
from mia_lib.audit import __main__ as command
from mia_lib.audit import comparison, conduct, descriptive
from mia_lib.metrics import roc


def table(path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(40, 2))
    frame = pd.DataFrame({"label": np.arange(40) % 2, "member": np.arange(40) < 20})
    frame["member"] = frame["member"].astype(int)
    frame["logits.0"], frame["logits.1"] = logits.T
    frame.to_csv(path, index=False)


def test_the_input_is_not_replaced_by_the_report(tmp_path, capsys):
    path = tmp_path / "seen.csv"
    table(path)
    before = path.read_text(encoding="utf-8")
    for output in ("seen", "seen.html"):
        assert command.main([str(path), "-o", str(tmp_path / output)]) == 1
        assert "is not replaced" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == before


def test_two_shadow_models_in_half_masks_do_not_look_inverted():
    """Each is the mirror image of the other, so that their interval has no width."""
    wrong = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        seen = audit.Observations(
            rng.normal(size=(100, 3)),
            rng.integers(0, 3, 100),
            rng.permutation(100) < 50,
            shadow_logits=rng.normal(size=(2, 100, 3)),
            shadow_member=shadow.half_masks(2, 100, rng),
            assignment="random",
        )
        reasons = conduct.judge(seen)["decided"]["reasons"]
        wrong += any("inverted" in reason for reason in reasons)
    assert wrong == 0


def test_two_perfect_models_are_not_equal_for_certain():
    member = np.arange(40) < 20
    curves = [roc(member + 0.1 * np.random.default_rng(s).random(40), member) for s in (0, 1)]
    before, after, change = comparison._areas(curves, True, 0.05)
    assert before == after == 1 and change.low < -0.05 and change.high > 0.05


def test_a_column_of_the_user_is_not_taken_for_the_record_s_own():
    rng, n = np.random.default_rng(0), 40
    own = {"member": np.arange(n), "LOSS": np.arange(n)}
    seen = audit.Observations(
        rng.normal(size=(n, 2)), np.arange(n) % 2, np.arange(n) < 20, columns=own
    )
    found = descriptive.records({"LOSS": np.zeros(n)}, None, seen)
    assert list(found)[:3] == ["record", "label", "member"]
    assert found["member"].tolist() == (np.arange(n) < 20).tolist()
    assert not found["LOSS"].any() and found["columns.LOSS"][3] == 3


def test_a_precision_that_is_not_defined_is_not_a_number_in_the_report():
    for seed in range(80):
        rng = np.random.default_rng(seed)
        score, member, rows = rng.normal(size=40), np.arange(40) < 10, np.arange(40)
        found = descriptive.metric_family(score, member, rows, 0.5, 0.05, rng)
        assert not any(isinstance(v, float) and np.isnan(v) for _, *vs in found for v in vs)
        if found[1][1] is None:
            return
    pytest.fail("no sample without a precision was drawn: the test asks nothing")
