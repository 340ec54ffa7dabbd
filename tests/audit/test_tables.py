"""A table says the same as a file of arrays."""

import numpy as np
import pandas as pd
import pytest

from mia_lib import audit
from mia_lib.audit import tables

RNG = np.random.default_rng(0)
N = 60
P = RNG.dirichlet(np.ones(3), size=(5, N))
LABELS, MEMBER = RNG.integers(0, 3, N), np.arange(N) % 2 == 0
MASKS = np.array([MEMBER, ~MEMBER, MEMBER, ~MEMBER])[:, RNG.permutation(N)]
FEATURES, AGE = RNG.normal(size=(N, 2)), RNG.integers(20, 60, N)
CLASSES = ("cat", "dog", "eel")


def frame(**change):
    columns = {"label": LABELS, "member": MEMBER, "assignment": "random", "columns.age": AGE}
    columns |= {f"probabilities.{k}": P[0, :, k] for k in range(3)}
    columns |= {f"features.{d}": FEATURES[:, d] for d in range(2)}
    for s in range(4):
        columns[f"shadow_member.{s}"] = MASKS[s]
        columns |= {f"shadow_probabilities.{s}.{k}": P[1 + s, :, k] for k in range(3)}
    columns |= change
    return pd.DataFrame({name: value for name, value in columns.items() if value is not None})


def arrays(path):
    np.savez(
        path,
        probabilities=P[0],
        labels=LABELS,
        member=MEMBER,
        assignment=np.array("random"),
        features=FEATURES,
        shadow_probabilities=P[1:],
        shadow_member=MASKS,
        **{"columns.age": AGE},
    )
    return audit.load(path)


def csv(tmp_path, table):
    table.to_csv(tmp_path / "seen.csv", index=False)
    return audit.load(tmp_path / "seen.csv")


def parquet(tmp_path, table):
    table.to_parquet(tmp_path / "seen.parquet", index=False)
    return audit.load(tmp_path / "seen.parquet")


either = pytest.mark.parametrize("loaded", [csv, parquet], ids=lambda form: form.__name__)


@either
def test_a_table_is_the_same_as_an_archive(tmp_path, loaded):
    wanted = arrays(tmp_path / "seen.npz")
    shuffled = frame().sample(frac=1, axis=1, random_state=0)  # columns in any order
    for table in (frame(), shuffled):
        seen = loaded(tmp_path, table)
        for name in ("logits", "labels", "member", "shadow_logits", "shadow_member", "features"):
            np.testing.assert_array_equal(getattr(seen, name), getattr(wanted, name), err_msg=name)
        assert seen.assignment == "random" and (seen.columns["age"] == AGE).all()
    assert audit.run(seen).content == audit.run(wanted).content


@either
def test_named_classes_and_words_for_membership(tmp_path, loaded):
    change = {f"probabilities.{k}": None for k in range(3)}
    change |= {f"probabilities.{name}": P[0, :, k] for k, name in enumerate(CLASSES)}
    change["label"] = np.array(CLASSES)[LABELS]
    change["member"] = np.where(MEMBER, "Yes", "no ")
    seen = loaded(tmp_path, frame(**change))
    assert (seen.labels == LABELS).all() and (seen.member == MEMBER).all()


@either
def test_a_regression(tmp_path, loaded):
    target, prediction = RNG.normal(size=N), RNG.normal(size=N)
    table = pd.DataFrame({"target": target, "prediction": prediction, "member": MEMBER})
    seen = loaded(tmp_path, table)
    error = (target - prediction) ** 2
    assert seen.task == "regression"
    np.testing.assert_allclose(seen.logits[:, 0], -error / error.mean())
    table["shadow_predictions.0"], table["shadow_member.0"] = target, MEMBER
    assert (loaded(tmp_path, table).shadow_logits[0] == 0).all()


def test_types_that_only_parquet_has(tmp_path):
    """Categories, small and nullable numbers, texts as Arrow keeps them: the same observations."""
    change = {"label": pd.array(LABELS, dtype="Int8"), "assignment": pd.Categorical(["random"] * N)}
    change["member"] = pd.array(MEMBER, dtype="boolean")
    change["probabilities.0"] = pd.array(P[0, :, 0], dtype="double[pyarrow]")
    change["columns.side"] = pd.array(np.where(AGE > 40, "old", "young"), dtype="string[pyarrow]")
    seen, wanted = parquet(tmp_path, frame(**change)), arrays(tmp_path / "seen.npz")
    for name in ("logits", "labels", "member", "assignment"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(wanted, name), err_msg=name)
    assert seen.columns["side"].tolist() == np.where(AGE > 40, "old", "young").tolist()


def without_the_first(values, dtype):
    found = pd.array(values, dtype=dtype)
    found[0] = pd.NA
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": without_the_first(MEMBER, "boolean")}, "member: given an array of dtype obj"),
        ({"label": without_the_first(LABELS, "Int64")}, "labels: given an array of dtype float64"),
        (
            {"probabilities.0": without_the_first(P[0, :, 0], "Float64")},
            "probabilities: given a smallest entry of nan",
        ),
        (
            {"features.0": without_the_first(FEATURES[:, 0], "double[pyarrow]")},
            "features: given 1 entries that are not finite",
        ),
        (
            {"probabilities": list(P[0]), **{f"probabilities.{k}": None for k in range(3)}},
            "given the column 'probabilities', expected probabilities.0",
        ),
    ],
)
def test_bad_tables_that_only_parquet_has(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        audit.permits(parquet(tmp_path, frame(**change)))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "seen.parquet").write_bytes(b"PAR1")

    def missing(*given, **named):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(tables.pd, "read_parquet", missing)
    with pytest.raises(ValueError, match="pyarrow is not installed, expected a .csv, or pip"):
        audit.load(tmp_path / "seen.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": None}, "member: given nothing in"),
        ({"label": None}, "labels: given nothing in"),
        ({"note": "x"}, "given an unknown entry 'note'"),
        ({"logits": 1.0}, "given the column 'logits', expected logits.0"),
        ({"labels": LABELS}, "given the column 'labels' beside 'labels'"),
        ({"label.a": 1}, "given the column 'label.a', expected a known name"),
        ({"probabilities.1": None}, "given 2 columns probabilities"),
        ({"probabilities.1": "high"}, "probabilities.1: given texts, expected numbers"),
        (
            {"shadow_probabilities.1": 0.5},
            "given the column 'shadow_probabilities.1', expected names such as "
            "'shadow_probabilities.0.0'",
        ),
        ({"shadow_probabilities.0.2": None}, "given 11 columns shadow_probabilities"),
        ({"shadow_member.0": "perhaps"}, "shadow_member.0: given the value 'perhaps'"),
        ({"member": "perhaps"}, "member: given the value 'perhaps'"),
        ({"label": "cat"}, "labels: given texts such as 'cat'"),
        ({"columns.age": [None, *"a" * (N - 1)]}, "columns.age: given 1 empty cells"),
        ({"assignment": ["random", *["coins"] * (N - 1)]}, "assignment: given 2 different"),
        ({"assignment": "fair"}, "assignment: given 'fair'"),
        ({"features.0": np.nan}, "features: given 60 entries that are not finite"),
    ],
)
def test_bad_tables(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        audit.permits(csv(tmp_path, frame(**change)))


@either
def test_numbers_are_no_labels_of_named_classes(tmp_path, loaded):
    """They would be taken for places of columns, whose order says nothing: p2, p0, p1."""
    for names, labels in (
        (("p2", "p0", "p1"), LABELS),
        (("p1", "p2", "p3"), np.minimum(LABELS, 1) + 1),  # from 1, and the last class is missing
        (("other", "7", "8"), LABELS),
    ):
        change = {f"probabilities.{k}": None for k in range(3)}
        change |= {f"probabilities.{name}": P[0, :, k] for k, name in enumerate(names)}
        with pytest.raises(ValueError, match=r"labels: given the label '\d', expected one of"):
            loaded(tmp_path, frame(**change, label=labels))


def written(tmp_path, *lines):
    (tmp_path / "seen.csv").write_text("\n".join([*lines, ""]))
    return tmp_path / "seen.csv"


ROWS = ["0,1,9.5,8.25", "1,0,2.5,1.75"]


@pytest.mark.parametrize(
    ("names", "labels", "wanted"),
    [
        (("other", "1"), ("1", "1"), [1, 1]),  # a column of numbers alone, and still a name
        (("other", "1"), ("1", "other"), [1, 0]),
        (("True", "False"), ("False", "True"), [1, 0]),
        (("1.5", "2.5"), ("2.5", "1.5"), [1, 0]),
    ],
)
def test_a_class_may_be_called_by_a_number_or_a_truth(tmp_path, names, labels, wanted):
    head = "member,logits.{},logits.{},label".format(*names)
    rows = [f"1,9.5,8.25,{labels[0]}", f"0,2.5,1.75,{labels[1]}"]
    found = tables.read(written(tmp_path, head, *rows))
    assert found["labels"].tolist() == wanted
    assert found["logits"].tolist() == [[9.5, 8.25], [2.5, 1.75]]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("label,member,logits.0,logits.0", "given two columns 'logits.0', expected each once"),
        ("label,label,logits.0,logits.1", "given two columns 'label', expected each once"),
        ("columns.age,columns.age,label,member", "given two columns 'columns.age'"),
        ("label,member,logits.0, logits.0", "given two columns 'logits.0'"),
        ("label,member,logits.00,logits.0", "given the column 'logits.0' beside 'logits.00'"),
        ("label,member,features.1,features.01", "the column 'features.01' beside 'features.1'"),
        ("label,member,logits.0,", "given a column without a name, expected a name for each"),
        (",label,member,logits.0", "given a column without a name, expected a name for each"),
        ("label,member,logits.0,logits.1,", "given a column without a name"),
    ],
)
def test_every_column_has_a_name_of_its_own(tmp_path, head, message):
    with pytest.raises(ValueError, match=message):
        tables.read(written(tmp_path, head, *ROWS))


def test_a_comma_at_the_end_of_rows_moves_no_column(tmp_path):
    head = "label,member,logits.0,logits.1"
    for ends in ([",", ","], [",", ""], ["", ""]):
        found = tables.read(written(tmp_path, head, *map(str.__add__, ROWS, ends)))
        assert found["labels"].tolist() == [0, 1] and found["member"].tolist() == [1, 0]
        assert found["logits"].tolist() == [[9.5, 8.25], [2.5, 1.75]]
    for ends in ([",7", ",7"], [",7", ","], [",,", ",,"], ["", ","]):  # more than the head says
        path = written(tmp_path, head, *map(str.__add__, ROWS, ends))
        with pytest.raises(ValueError, match="path: given .*, which cannot be read") as raised:
            tables.read(path)
        assert "\n" not in str(raised.value)


def test_names_stand_as_they_are_in_the_head(tmp_path):
    """Behind empty lines and a mark of the encoding, in quotes and over two lines."""
    head = '"label",member,"logits.a,b","logits.c\nd"'
    path = written(tmp_path, "\ufeff", "", head, '"a,b",1,9.5,8.25', '"c\nd",0,2.5,1.75')
    found = tables.read(path)
    assert found["labels"].tolist() == [0, 1] and found["logits"].tolist()[1] == [2.5, 1.75]


def test_bad_labels_of_named_classes(tmp_path):
    change = {f"probabilities.{k}": None for k in range(3)}
    change |= {f"probabilities.{name}": P[0, :, k] for k, name in enumerate(CLASSES)}
    with pytest.raises(ValueError, match="labels: given the label 'fox', expected one of cat, dog"):
        csv(tmp_path, frame(**change, label="fox"))
    table = pd.concat([frame(), frame()[["label"]]], axis=1)
    with pytest.raises(ValueError, match="label"):
        csv(tmp_path, table)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 5000,
        b"\xff\xfe\x00\x01" * 50,
        b'a,b\n"1,2\n',
        b"label,member\n",
        b"a,a\n1,2\n",
    ],
)
def test_files_that_are_no_tables(tmp_path, content):
    (tmp_path / "seen.csv").write_bytes(content)
    with pytest.raises(ValueError, match="given"):
        audit.load(tmp_path / "seen.csv")


@pytest.mark.parametrize("kept", [0, 4, 0.5, 0.99])
def test_a_parquet_file_that_was_cut_off(tmp_path, kept):
    parquet(tmp_path, frame())
    path = tmp_path / "seen.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(ValueError, match="path: given .* which cannot be read") as raised:
        audit.load(path)
    assert "\n" not in str(raised.value)
    path.write_bytes(b"label,member\n0,1\n")
    with pytest.raises(ValueError, match="path: given .* which cannot be read"):
        audit.load(path)
