"""The command line and the YAML file: the same audit, and nothing that was computed is lost."""

import errno
import json
import os
import stat
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from mia_lib.audit import __main__ as command
from mia_lib.audit import report as reports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def seen(tmp_path):
    rng = np.random.default_rng(0)
    file = tmp_path / "data" / "seen.npz"
    file.parent.mkdir()
    np.savez(
        file,
        logits=rng.normal(size=(80, 3)),
        labels=rng.integers(0, 3, 80),
        member=np.arange(80) < 40,
    )
    return file


OPTIONS = {
    "prior": 0.2,
    "delta": 0.1,
    "seed": 3,
    "assignment": "random",
    "model": "mine",
    "date": "2024-02-29",
}


def flags(options):
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def test_a_yaml_file_does_all_that_the_command_line_does(seen, tmp_path):
    assert command.main([str(seen), "-o", str(tmp_path / "one"), *flags(OPTIONS)]) == 0
    settings = seen.parent / "audit.yaml"
    settings.write_text(yaml.safe_dump({"file": "seen.npz", "output": "two"} | OPTIONS))
    assert command.main([str(settings)]) == 0
    for suffix in command.FORMS:
        one, two = tmp_path / f"one{suffix}", seen.parent / f"two{suffix}"
        assert one.read_bytes() == two.read_bytes()
    content = json.loads((tmp_path / "one.json").read_text())
    assert content["settings"] == {"prior": 0.2, "delta": 0.1, "seed": 3}
    assert (content["model"], content["date"]) == ("mine", "2024-02-29")
    options = {a.dest for a in command._parser()._actions} - {"help"}
    assert options == set(command.KEYS)  # every option has its name in the file


def test_the_command_line_comes_before_the_file(seen, capsys):
    settings = seen.parent / "audit.yaml"
    settings.write_text("file: seen.npz\ncheck: true\nassignment: coins\ndate: 2024-02-29\n")
    assert command.main([str(settings), "--assignment", "random"]) == 0
    said = capsys.readouterr().out
    assert "assignment       random" in said and "the file can be audited" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "given a NoneType"),
        ("- file", "given a list"),
        ("file: [", "which cannot be read"),
        ("file: !!python/object:os.system x", "which cannot be read"),
        ("fil: seen.npz\nfile: seen.npz", "given an unknown name 'fil'"),
        ("1: seen.npz\nfile: seen.npz", "given an unknown name 1"),
        ("file: 3", "file: given 3, expected a value of type str"),
        ("file: seen.npz\nprior: high", "prior: given 'high', expected a value of type float"),
        ("file: seen.npz\nprior: true", "prior: given True"),
        ("file: seen.npz\nseed: 0.5", "seed: given 0.5, expected a value of type int"),
        ("file: seen.npz\nseed: true", "seed: given True"),
        ("file: seen.npz\ncheck: 1", "check: given 1, expected a value of type bool"),
        ("file: seen.npz\nassignment: fair", "assignment: given 'fair'"),
        ("file: nobody.npz\ncheck: true", "path: given"),
        ("prior: 0.5\ncheck: true", "file: given nothing"),
        ("file: seen.npz\noutput: r\nprior: 2", "prior: given 2"),
        ("file: seen.npz\noutput: r\nprior: .inf", "prior: given inf"),
        ("file: seen.npz\noutput: r\ndelta: .nan", "delta: given nan"),
        ("file: seen.npz\noutput: r\ndelta: 0", "delta: given 0"),
        ("file: seen.npz\noutput: r\nseed: -1", "seed: given -1"),
    ],
)
def test_bad_settings_end_in_one_line(seen, capsys, text, message):
    settings = seen.parent / "audit.yml"
    settings.write_text(text)
    assert command.main([str(settings)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and message in said


def test_the_console_script():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["mia-audit"].partition(":")
    assert module == command.__name__ and callable(getattr(command, name))


def refused(seen, output, capsys, monkeypatch):
    """The line with which an output is refused, before anything is computed."""
    monkeypatch.setattr(command, "run", lambda *given, **named: pytest.fail("audited first"))
    assert command.main([str(seen), "-o", str(output)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_an_unwritable_target_is_refused_before_the_audit(seen, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken.pdf").mkdir()
    for output in (
        tmp_path / "file" / "report",
        tmp_path / "taken",
        tmp_path / ("x" * 300),
        Path("/proc/nobody/report"),
    ):
        assert "error: output: given" in refused(seen, output, capsys, monkeypatch)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(seen, tmp_path, capsys, monkeypatch):
    (tmp_path / "shut").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    assert "output: given" in refused(seen, tmp_path / "shut" / "report", capsys, monkeypatch)


def test_what_was_computed_is_not_lost(seen, tmp_path, capsys, monkeypatch):
    """The disk fills up while the report is written."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spare"))
    monkeypatch.setattr(command.tempfile, "tempdir", None)
    (tmp_path / "spare").mkdir()
    write = Path.write_text

    def full(path, *given, **named):
        if path.parent == tmp_path and path.suffix in (".html", ".json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *given, **named)

    monkeypatch.setattr(Path, "write_text", full)
    assert command.main([str(seen), "-o", str(tmp_path / "report"), *flags(OPTIONS)]) == 1
    said = capsys.readouterr()
    assert said.err.count("cannot be written") == 2 and "leak shown" in said.out
    (folder,) = (tmp_path / "spare").glob("mia-audit-*")
    assert {path.name for path in folder.iterdir()} == {"report.html", "report.json"}
    assert json.loads((folder / "report.json").read_text())["schema"] == reports.SCHEMA
    kept = {path.suffix for path in tmp_path.glob("report.*")}
    assert kept == {".md", ".csv", ".parquet", ".pdf"}


def test_without_pyarrow_nothing_is_written_as_parquet(seen, tmp_path, monkeypatch):
    arguments = [str(seen), "-o", str(tmp_path / "report")]
    monkeypatch.setattr(command.extras, "has", lambda name: name != "pyarrow")
    assert command.main(arguments) == 0
    wanted = {".html", ".md", ".json", ".csv", ".pdf"}
    assert {path.suffix for path in tmp_path.glob("report.*")} == wanted
    monkeypatch.undo()
    assert command.main(arguments) == 0
    assert {path.suffix for path in tmp_path.glob("report.*")} == wanted | {".parquet"}
    one, other = (tmp_path / f"report{form}" for form in (".csv", ".parquet"))
    pd.testing.assert_frame_equal(pd.read_csv(one), pd.read_parquet(other), check_dtype=False)


def test_lines_of_a_report_are_whole(tmp_path, capsys):
    """Line breaks in values, rates and levels with many digits."""
    rng = np.random.default_rng(0)
    n = 20_000
    sides = np.where(np.arange(n) % 2, "a\nb|c", "d")
    np.savez(
        tmp_path / "seen.npz",
        logits=rng.normal(size=(n, 2)),
        labels=np.zeros(n, int),
        member=np.arange(n) % 4 < 2,
        assignment=np.array("random"),
        **{"columns.side": sides},
    )
    output = ["-o", str(tmp_path / "report"), "--delta", "0.001", "--model", "two\nlines"]
    assert command.main([str(tmp_path / "seen.npz"), *output]) == 0
    text = (tmp_path / "report.md").read_text()
    assert "probability of 99.9 %" in text and "probability of 100 %" not in text
    assert "0.00 %" not in text and "floor of 0 %" not in text
    for table in (block for block in text.split("\n\n") if block.startswith("|")):
        cells = {line.replace("\\|", "").count("|") for line in table.splitlines()}
        assert len(cells) == 1
