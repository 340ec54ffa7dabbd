"""mia-audit FILE -o REPORT: audit the observations in a file; also ``python -m mia_lib.audit``."""

import argparse
import datetime
import sys
import tempfile
from pathlib import Path

import yaml

from mia_lib import checks, extras
from mia_lib.audit import tables
from mia_lib.audit.conduct import permits, run
from mia_lib.audit.files import describe, load, schema
from mia_lib.audit.observations import ASSIGNMENTS

FORMS = (".html", ".md", ".json", ".csv", ".parquet", ".pdf")  # the PDF last: it takes longest
SETTINGS = (".yaml", ".yml")
# What a YAML file may say, with the type of each; "file" and "output" are paths from its folder.
KEYS = {
    "file": str,
    "output": str,
    "check": bool,
    "prior": float,
    "delta": float,
    "seed": int,
    "assignment": str,
    "model": str,
    "date": str,
}


def main(arguments=None):
    """Read, check, audit, write; errors are one line, and the exit status says whether there was
    one.
    """
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    try:
        if given["file"].suffix.lower() in SETTINGS:
            said = settings(given["file"])
            given = given | said | _set(given)
        given = DEFAULTS | {name: value for name, value in given.items() if value is not None}
        file = Path(given["file"])
        output = None
        if not given["check"]:
            if given.get("output") is None:
                parser.error("-o REPORT is needed, or --check")
            output = _writable(Path(given["output"]), file)
        observations = load(file, given.get("assignment"))
        for name, what in describe(observations):
            print(f"{name:<16} {what}")
        if given["check"]:
            print()
            for name, lacks in permits(observations):
                print(f"{name}: {'possible' if lacks is None else f'needs {lacks}'}")
            print("\nthe file can be audited")
            return 0
        date = given.get("date", datetime.date.today().isoformat())
        named = {"model": given.get("model") or file.stem, "date": date or None}
        report = run(observations, given["prior"], given["delta"], given["seed"], **named)
    except ValueError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"error: {file}: too large for the memory ({error})", file=sys.stderr)
        return 1
    kept = _write(report, output)
    print(report.verdict, *report.reasons, sep="\n")
    return 0 if kept else 1


DEFAULTS = {"check": False, "prior": 0.5, "delta": 0.05, "seed": 0}


def settings(path):
    """What a YAML file says, checked: all that the command line can say.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        By the names of `KEYS`; paths are taken from the file's folder.

    Raises
    ------
    ValueError
        No such file, no YAML, an unknown name, a value of another type.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "audit.yaml"
    ...     _ = path.write_text("file: seen.npz\\nprior: 0.1\\ncheck: true\\n")
    ...     said = settings(path)
    >>> said["prior"], said["check"], said["file"].name
    (0.1, True, 'seen.npz')
    """
    try:
        said = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        checks.fail("file", f"{path}, which cannot be read ({reason})", "a YAML file of settings")
    if not isinstance(said, dict):
        checks.fail(str(path), f"a {type(said).__name__}", "names and values, such as file: x.npz")
    if "file" not in said:
        checks.fail("file", f"nothing in {path}", "the file of observations")
    for name, value in said.items():
        if name not in KEYS:
            checks.fail(str(path), f"an unknown name {name!r}", "one of " + ", ".join(KEYS))
        kind = KEYS[name]
        if isinstance(value, datetime.date):
            value = said[name] = value.isoformat()  # YAML knows dates
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (isinstance(value, kind) or (kind is float and whole)) or (
            kind is int and not whole
        ):
            checks.fail(f"{path}: {name}", repr(value), f"a value of type {kind.__name__}")
    for name in ("file", "output"):
        if name in said:
            said[name] = Path(path).parent / said[name]
    if "assignment" in said:
        checks.choice("assignment", said["assignment"], ASSIGNMENTS)
    return said


def _parser():
    parser = argparse.ArgumentParser(
        prog="mia-audit",
        description="Audit a model from its outputs: an .npz file, a folder of .npy files, a .csv "
        "or .parquet table, or a .yaml file that names one of these and the options below.",
        epilog="entries of the file:\n" + schema(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="REPORT: writes REPORT.html, .pdf, .md, .json, and every record's scores to .csv, and "
        "to .parquet where pyarrow is there",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        default=None,
        help="only check the file and say what it permits",
    )
    parser.add_argument(
        "--prior", type=float, help="Pr(member) of a record in question (default 0.5)"
    )
    parser.add_argument(
        "--delta", type=float, help="how often a verdict may be wrong (default 0.05)"
    )
    parser.add_argument("--seed", type=int, help="of splits and permutations (default 0)")
    parser.add_argument(
        "--assignment", choices=tuple(ASSIGNMENTS), help="how records came to be members"
    )
    parser.add_argument("--model", help="the model's name in the report (default: the file's)")
    parser.add_argument("--date", help="the report's date (default today; '' for none)")
    return parser


def _set(given):
    """What the command line says beside the YAML file: it comes first."""
    return {name: value for name, value in given.items() if name != "file" and value is not None}


def _forms():
    """Endings of what is written: every record's scores as Parquet too where pyarrow is there."""
    return [form for form in FORMS if form not in tables.PARQUET or extras.has("pyarrow")]


def _writable(output, read):
    """The path without its ending, after it was seen that something can be written there and that
    nothing of it would replace the file that is read.
    """
    base = output.with_suffix("") if output.suffix in FORMS else output
    if any(base.with_name(base.name + form).resolve() == read.resolve() for form in _forms()):
        checks.fail("output", str(output), f"a name by which {read}, the input, is not replaced")
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=base.parent):
            pass
        for form in _forms():
            path = base.with_name(base.name + form)
            if path.is_dir():
                raise IsADirectoryError(f"{path} is a folder")
            if path.exists():
                with path.open("ab"):
                    pass
    except (OSError, ValueError) as error:
        checks.fail("output", f"{output} ({error})", "a place where the report can be written")
    return base


def _write(report, base):
    """Write every form; what cannot be written there goes to a folder of its own, so that nothing
    that was computed is lost.
    """
    forms = {
        ".html": lambda path: path.write_text(report.to_html(), encoding="utf-8"),
        ".md": lambda path: path.write_text(report.to_markdown(), encoding="utf-8"),
        ".json": lambda path: path.write_text(report.to_json(), encoding="utf-8"),
        ".csv": lambda path: report.records().to_csv(path, index=False),
        ".parquet": lambda path: report.records().to_parquet(path, engine="pyarrow", index=False),
        ".pdf": report.to_pdf,
    }
    spare, kept = None, True
    for form in _forms():
        path = base.with_name(base.name + form)
        try:
            forms[form](path)
        except OSError as error:
            kept = False
            print(f"error: {path} cannot be written ({error})", file=sys.stderr)
            try:
                spare = spare or Path(tempfile.mkdtemp(prefix="mia-audit-"))
                path = spare / path.name
                forms[form](path)
            except OSError as again:
                print(f"error: {path} cannot be written either ({again})", file=sys.stderr)
                continue
        print(f"written: {path}")
    return kept


if __name__ == "__main__":
    sys.exit(main())
