"""`make stale`: what today's code has not made, the cheapest first."""

import importlib.util
import json
from pathlib import Path

from mia_lib import results

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("stale", ROOT / "scripts" / "stale.py")
stale = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stale)


def test_stale_records_in_the_order_of_their_cost(tmp_path):
    cell = {"cell_type": "code", "metadata": {}, "source": "1 + 1"}
    page = tmp_path / "small.ipynb"
    page.write_text(json.dumps({"cells": [cell]}))
    today = results.hash_code(page)

    def record(data, code, **seconds):
        return {"notebook": "small", "data": data, "scale": "paper", "hashes": {"code": code}} | {
            "seconds": 60.0,
            **seconds,
        }

    records = [
        record("dear", "older", processor_seconds=7200.0),
        record("current", today, processor_seconds=1.0),
        record("unmeasured", "older", seconds=600.0),
        record("cheap", "older", processor_seconds=30.0),
        record("null", "older", processor_seconds=None),
    ]
    *lines, last = stale.lines(records, tmp_path)
    assert [line.split("DATA=")[1].split()[0] for line in lines] == [
        "cheap",
        "null",
        "unmeasured",
        "dear",
    ]
    assert lines[0].split() == (
        "0.5 min processor make run NOTEBOOK=small DATA=cheap SCALE=paper RECORD=1".split()
    )
    assert "10.0 min wall, last part" in lines[2]
    hours = (30 + 60 + 600 + 7200) / 3600
    assert last == f"==> 4 of 5 records: code since changed; {hours:.1f} hours in all"
