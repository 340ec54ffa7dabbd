import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mia_lib import results
from mia_lib.intervals import Estimate


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "book").mkdir()
    monkeypatch.chdir(tmp_path / "book")
    monkeypatch.delenv("MIA_RESULTS", raising=False)
    return tmp_path


def rows():
    return [
        results.row(
            "L2",
            "TPR at FPR 0.1 %",
            Estimate(0.0231, 0.0189, 0.0275),
            n=256,
            paper="2.2 %",
            where="Table I",
        ),
        results.row(
            "L2",
            "AUC",
            0.7214,
            low=0.71,
            high=0.733,
            n=256,
            paper=0.722,
            where="Table I",
            note="other model",
        ),
        results.row("L3", "seconds per model", 1234.6),
        results.row("G2", "TPR at FPR 0.001 %", None, note="too few non-members"),
    ]


def write(**changes):
    of = dict(
        notebook="lira",
        data="digits",
        scale="smoke",
        parameters={"models": 8, "lr": 0.1, "attacks": ["loss", "lira"], "nested": {"a": None}},
        seed=0,
        device="cpu",
        data_hash=None,
    )
    of |= {name: changes.pop(name) for name in list(changes) if name in of}
    made = dict(rows=rows(), seconds=1.5) | changes
    return results.write(results.Provenance(**of), **made)


def test_write_and_read_back(project):
    path = write(device="one core", data_hash=results.hash_arrays(np.arange(3)))
    assert path == project / "_build" / "results" / "lira--digits--smoke.json"
    record = results.read(path)
    header = "schema notebook data scale parameters seed hashes versions device date seconds"
    assert " ".join(record) == f"{header} processor_seconds rows"
    assert " ".join(record["rows"][0]) == "id what paper where value low high n note"
    assert record["rows"] == rows()
    assert record["parameters"] == {
        "models": 8,
        "lr": 0.1,
        "attacks": ["loss", "lira"],
        "nested": {"a": None},
    }
    assert record["hashes"] == {
        "data": results.hash_arrays(np.arange(3)),
        "code": None,  # the project has no notebook of that name
    }
    assert record["versions"]["numpy"] == np.__version__ and "python" in record["versions"]
    assert record["device"] == "one core" and record["seconds"] == 1.5 and record["seed"] == 0
    assert os.listdir(path.parent) == [path.name]  # nothing partial left


def notebook_of(project, *lines):
    cell = {"cell_type": "code", "metadata": {}, "source": list(lines)}
    (project / "notebooks").mkdir(exist_ok=True)
    path = project / "notebooks" / "lira.ipynb"
    path.write_text(json.dumps({"cells": [cell]}))
    return path


def test_a_record_knows_whether_its_code_has_changed(project, monkeypatch):
    page = notebook_of(project, "from mia_lib import signals\n", "signals.entropy([1.0, 2.0])")
    record = results.read(write())
    assert record["hashes"]["code"] == results.hash_code(page)
    other = results.read(write(notebook="gone"))
    older = {**record, "hashes": {"data": None, "code": "0" * 64}}
    assert results.as_of_today([record, other, older]) == [True, False, False]
    notebook_of(project, "from mia_lib import signals as s\n", "s.entropy([1.0, 2.0])  # nats")
    assert results.as_of_today([record]) == [True]
    notebook_of(project, "from mia_lib import signals\n", "signals.entropy([1.0, 3.0])")
    assert results.as_of_today([record]) == [False]
    page.unlink()
    assert results.as_of_today([record, other], project / "elsewhere") == [False, False]
    assert results.as_of_today([]) == []


def test_the_code_is_that_of_the_beginning_of_the_run(project, monkeypatch):
    page = notebook_of(project, "1 + 1")
    begun = results.hash_code(page)
    monkeypatch.setenv("MIA_CODE", f"lira {begun}")
    notebook_of(project, "1 + 2")  # edited while it runs
    assert results.read(write())["hashes"]["code"] == begun != results.hash_code(page)
    monkeypatch.setenv("MIA_CODE", f"bayes {begun}")  # of another notebook
    assert results.read(write())["hashes"]["code"] == results.hash_code(page)


def test_a_record_without_processor_seconds_is_read(project):
    path = write()
    record = json.loads(path.read_text())
    assert record.pop("processor_seconds") > 0
    path.write_text(json.dumps(record))
    assert results.read(path) == record
    path.write_text(json.dumps({**record, "processor_seconds": "many"}))
    with pytest.raises(ValueError, match="record.processor_seconds: given 'many'"):
        results.read(path)


def test_where_it_is_written(project, tmp_path, monkeypatch):
    assert write(name="other").name == "other.json"
    monkeypatch.setenv("MIA_RESULTS", str(tmp_path / "chosen"))
    assert write() == tmp_path / "chosen" / "lira--digits--smoke.json"
    assert write(folder=tmp_path / "given").parent == tmp_path / "given"
    assert not (project / "notebooks").exists()


def test_without_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MIA_RESULTS", raising=False)
    assert write().parent == tmp_path / "_build" / "results"


def test_read_by_name_and_find(project):
    assert results.find() == []
    folder = project / "notebooks" / "results"
    for data in ("digits", "location30"):
        for scale in ("default", "seeds"):
            write(data=data, scale=scale, folder=folder)
    (folder / "rates--simulation.json").write_text("{}")  # of another form, and no record
    assert results.read("lira--digits--seeds")["scale"] == "seeds"
    assert [(r["data"], r["scale"]) for r in results.find()] == [
        ("digits", "default"),
        ("digits", "seeds"),
        ("location30", "default"),
        ("location30", "seeds"),
    ]
    assert [r["data"] for r in results.find(scale="seeds")] == ["digits", "location30"]
    assert len(results.find("lira", "digits", "seeds")) == 1
    assert results.find(notebook="other") == []
    with pytest.raises(ValueError, match="^path_or_name: given 'lira--mnist--seeds', expected"):
        results.read("lira--mnist--seeds")


def test_a_record_is_found_by_what_it_holds_and_not_by_its_file(project):
    folder = project / "notebooks" / "results"
    for name, data in (("some--name", "digits"), ("lira--digits--seeds", "mnist")):
        write(name=name, data=data, scale="paper", folder=folder)
    for data in ("digits", "mnist"):
        assert [r["data"] for r in results.find(data=data)] == [data]
    assert results.find(scale="seeds") == []
    (folder / "cut--short.json").write_text('{"notebook": "lira", "da')
    assert len(results.find(data="digits")) == 1  # nothing of it is in the damaged file
    for asked in ({"notebook": "lira"}, {"data": "short"}, {"data": "größer"}, {}):
        with pytest.raises(ValueError, match="cut--short.json"):
            results.find(**asked)
    (folder / "cut--short.json").unlink()
    there = json.loads((folder / "some--name.json").read_text())
    by_hand = json.dumps(there | {"data": "größer"}, ensure_ascii=False)
    (folder / "by--hand.json").write_text(by_hand, encoding="utf-8")
    assert len(results.find(data="größer")) == 1


def test_the_largest_of_every_data_set(project):
    folder = project / "notebooks" / "results"
    assert results.largest("lira") == {}
    there = {
        "mnist": ("paper", "smoke"),
        "digits": ("seeds", "default"),
        "cifar10": ("smoke",),
        "adult": ("default", "smoke"),
    }
    for data, scales in there.items():
        for scale in scales:
            write(data=data, scale=scale, folder=folder)
    write(notebook="bayes", data="digits", scale="paper", folder=folder)
    found = results.largest("lira")
    assert list(found) == ["adult", "cifar10", "digits", "mnist"]
    assert [record["scale"] for record in found.values()] == ["default", "smoke", "seeds", "paper"]
    assert all(
        record == results.read(f"lira--{data}--{record['scale']}") for data, record in found.items()
    )
    assert results.largest("bayes", folder)["digits"]["scale"] == "paper"
    write(scale="huge", folder=folder)
    with pytest.raises(
        ValueError,
        match="^scale: given 'huge', expected one of 'smoke', 'default', 'seeds', 'paper'",
    ):
        results.largest("lira")


def test_numpy_and_nan(project):
    made = results.row(
        "L2", "x", np.float64(0.5), low=np.float32(0.25), high=np.float64(1), n=np.int64(3)
    )
    assert made["low"] == 0.25 and made["n"] == 3 and type(made["n"]) is int
    assert results.row("L2", "x", float("nan"))["value"] is None
    path = write(
        parameters={"w": np.arange(2), "p": Path("a"), "nan": np.nan},
        rows=[made],
        seconds=np.float64(2),
    )
    assert "NaN" not in path.read_text()
    assert results.read(path)["parameters"] == {"w": [0, 1], "p": "a", "nan": None}


def test_a_failed_write_leaves_the_old_record(project, monkeypatch):
    path = write(seed=1)
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(seed=2)
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"notebook": "a/b"}, "notebook: given 'a/b'"),
        ({"data": ".."}, "data: given '..'"),
        ({"scale": ""}, "scale: given ''"),
        ({"name": "../up"}, "name: given '../up'"),
        ({"parameters": {"f": print}}, "record.parameters.f: given builtin_function"),
        ({"parameters": [1]}, "record.parameters: given"),
        ({"parameters": {"x": np.inf}}, "record.parameters.x: given inf"),
        ({"seed": "zero"}, "record.seed: given 'zero'"),
        ({"seed": True}, "record.seed: given True"),
        ({"seconds": None}, "record.seconds: given None"),
        ({"device": None}, "record.device: given None"),
        ({"rows": []}, "record.rows: given no row"),
        ({"rows": [{"id": "L2"}]}, r"record.rows\[0\].what: given nothing"),
        ({"data_hash": 5}, "record.hashes.data: given 5"),
    ],
)
def test_write_refuses(project, changes, message):
    with pytest.raises(ValueError, match=f"^{message}.*, expected "):
        write(**changes)
    assert not (project / "_build").exists() or os.listdir(project / "_build" / "results") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "0.5"}, "row.value: given '0.5'"),
        ({"value": np.inf}, "value: given inf"),
        ({"value": True}, "row.value: given True"),
        ({"value": 0.5, "low": 0.1}, "row.high: given null"),
        ({"value": 0.5, "low": 0.7, "high": 0.6}, "row.low: given 0.7 above high"),
        ({"value": 0.5, "n": 2.5}, "row.n: given 2.5"),
        ({"value": Estimate(0.5, 0.4, 0.6), "low": 0.4}, "low, high: given both"),
        ({"value": 0.5, "note": None}, "row.note: given None"),
        ({"value": 0.5, "paper": [1]}, r"row.paper: given \[1\]"),
    ],
)
def test_row_refuses(options, message):
    with pytest.raises(ValueError, match=f"^{message}.*, expected "):
        results.row("L2", "what", **options)


@pytest.mark.parametrize(
    "key", ["schema", "notebook", "parameters", "hashes", "versions", "date", "seconds", "rows"]
)
def test_read_names_what_is_missing(project, key):
    path = write()
    record = json.loads(path.read_text())
    del record[key]
    path.write_text(json.dumps(record))
    with pytest.raises(
        ValueError, match=rf"^lira--digits--smoke.json: record.{key}: given nothing, expected "
    ):
        results.read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(schema=2), "record.schema: given 2, expected 1"),
        (lambda r: r.update(schema="1"), "record.schema: given '1', expected 1"),
        (lambda r: r.update(extra=1), "record.extra: given an unknown entry"),
        (lambda r: r.update(date="yesterday"), "record.date: given 'yesterday'"),
        (lambda r: r["rows"][1].update(value="high"), r"record.rows\[1\].value: given 'high'"),
        (lambda r: r["rows"][1].update(low=0.9), r"record.rows\[1\].low: given 0.9 above"),
        (lambda r: r["rows"][1].pop("n"), r"record.rows\[1\].n: given nothing"),
        (lambda r: r["rows"][1].update(papr=1), r"record.rows\[1\].papr: given an unknown"),
        (lambda r: r["rows"].append(3), r"record.rows\[4\]: given int"),
        (lambda r: r["hashes"].pop("code"), "record.hashes.code: given nothing"),
    ],
)
def test_read_names_what_is_wrong(project, change, message):
    path = write()
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(ValueError, match=rf"^lira--digits--smoke.json: {message}"):
        results.read(path)


def test_read_refuses_broken_json(project):
    path = write()
    whole = path.read_text()
    for text in (
        whole[: len(whole) // 2],
        "",
        whole.replace("1234.6", "NaN"),
        whole.replace("1234.6", "Infinity"),
    ):
        path.write_text(text)
        with pytest.raises(
            ValueError, match="^lira--digits--smoke.json: given text that is no JSON .*, expected"
        ):
            results.read(path)
    path.write_text("[]")
    with pytest.raises(ValueError, match="record: given list, expected an object"):
        results.read(path)


def test_table(project):
    records = [results.read(write()), results.read(write(data="location30", scale="seeds"))]
    shown = results.table(records)
    assert list(shown.columns) == [
        "id",
        "what",
        "data",
        "scale",
        "paper",
        "where",
        "ours",
        "n",
        "note",
    ]
    assert len(shown) == 8
    assert shown["ours"][:4].to_list() == [
        "0.0231 [0.0189, 0.0275]",
        "0.721 [0.710, 0.733]",
        "1,235",
        "not measured",
    ]
    assert shown["paper"][:4].to_list() == ["2.2 %", "0.722", "", ""]
    assert shown["scale"].to_list() == ["smoke"] * 4 + ["seeds"] * 4
    assert shown["n"][:4].to_list() == ["256", "256", "", ""]
    one = results.table(records[0], ids=["G2", "L2"])
    assert one["id"].to_list() == ["G2", "L2", "L2"] and one.index.to_list() == [0, 1, 2]
    with pytest.raises(ValueError, match="^ids: given 'L9', expected one of 'G2', 'L2', 'L3'"):
        results.table(records, ids=["L9"])
    with pytest.raises(ValueError, match="^records: given none"):
        results.table([])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (999.7, "1,000"), (99.96, "100"), (-0.5, "-0.500"), (1e-5, "1.00e-05")],
)
def test_three_digits(value, text):
    entry = results.row("a", "b", value)
    assert results.table({"data": "d", "scale": "s", "rows": [entry]})["ours"][0] == text


def test_hash_of_arrays(tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "x.npy", x)
    same = [x, x.copy(), np.asfortranarray(x), np.load(tmp_path / "x.npy", mmap_mode="r"), x[::1]]
    assert len({results.hash_arrays(a) for a in same}) == 1
    other = [x, x.reshape(4, 3), x.astype(np.float64), x + 1, x.ravel(), x.T]
    assert len({results.hash_arrays(a) for a in other}) == len(other)
    assert results.hash_arrays(x, x[0]) != results.hash_arrays(x[0], x)
    assert results.hash_arrays(np.array(["a", "b"])) != results.hash_arrays(np.array(["a", "c"]))
    assert len(results.hash_arrays(np.array(3.0), np.empty((0, 2)))) == 64
    with pytest.raises(ValueError, match="^arrays: given an array of dtype object"):
        results.hash_arrays(np.array([None]))


def test_hash_of_arrays_in_blocks():
    x = np.random.default_rng(0).normal(size=(5000, 500))  # 20 MB, more than one block
    changed = x.copy()
    changed[-1, -1] += 1
    assert results.hash_arrays(x) == results.hash_arrays(x.copy()) != results.hash_arrays(changed)


def two_records():
    rows = [
        results.row("B9", "AUC, JS-GAN after 0 epochs", 0.5, n=20),
        results.row("B9", "AUC, JS-GAN after 10 epochs", 0.75, n=20, low=0.7, high=0.8),
        results.row("B9", "AUC, JS-GAN after 10 epochs, again", 0.6, n=20),
    ]
    return [{"data": "digits", "rows": rows}, {"data": "mnist", "rows": rows[:1]}]


def test_rows_of_one_form_become_columns():
    form = r"AUC, (?P<model>[\w-]+) after (?P<epochs>\d+) epochs"
    frame = results.matching(two_records(), form)
    assert frame["epochs"].to_list() == [0, 10, 0] and set(frame["model"]) == {"JS-GAN"}
    assert frame["data"].to_list() == ["digits", "digits", "mnist"]
    assert frame["value"].to_list() == [0.5, 0.75, 0.5] and frame["high"][1] == 0.8
    assert frame["ours"].to_list() == ["0.500", "0.750 [0.700, 0.800]", "0.500"]
    assert len(results.matching(two_records()[1], form)) == 1


def test_a_form_that_no_row_has_is_refused():
    with pytest.raises(ValueError, match="^pattern: given 'AUC', expected the form"):
        results.matching(two_records(), "AUC")


def test_a_sortable_table_holds_its_cells_and_its_script_finds_it():
    found = results.sortable(pd.DataFrame({"paper": ["b", "<a>"]}, index=["x", "y"]), "who")
    assert 'id="who"' in found and 'getElementById("who")' in found
    assert "<td>b</td>" in found and "<td>&lt;a&gt;</td>" in found and "<th>x</th>" not in found
