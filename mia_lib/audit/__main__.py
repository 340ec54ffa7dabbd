"""python -m mia_lib.audit FILE -o REPORT: audit the observations in a file."""

import argparse
import datetime
import sys
from pathlib import Path

from mia_lib.audit.conduct import permits, run
from mia_lib.audit.files import describe, load, schema


def main(arguments=None):
    """Read, check, audit, write; errors are one line, and the exit status says whether there was
    one.
    """
    parser = argparse.ArgumentParser(
        prog="python -m mia_lib.audit",
        description="Audit a model from its outputs: an .npz file, or a folder of .npy files.",
        epilog="entries of the file:\n" + schema(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="REPORT: writes REPORT.html, .pdf, .md, .json, and every record's scores to .csv",
    )
    parser.add_argument(
        "--check", action="store_true", help="only check the file and say what it permits"
    )
    parser.add_argument(
        "--prior", type=float, default=0.5, help="Pr(member) of a record in question (default 0.5)"
    )
    parser.add_argument(
        "--delta", type=float, default=0.05, help="how often a verdict may be wrong (default 0.05)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--assignment", choices=("given", "random", "coins"), help="how records came to be members"
    )
    parser.add_argument("--model", help="the model's name in the report (default: the file's)")
    parser.add_argument(
        "--date",
        default=datetime.date.today().isoformat(),
        help="the report's date (default today; '' for none)",
    )
    given = parser.parse_args(arguments)
    try:
        observations = load(given.file, given.assignment)
        for name, what in describe(observations):
            print(f"{name:<16} {what}")
        if given.check:
            print()
            for name, lacks in permits(observations):
                print(f"{name}: {'possible' if lacks is None else f'needs {lacks}'}")
            print("\nthe file can be audited")
            return 0
        if given.output is None:
            parser.error("-o REPORT is needed, or --check")
        named = {"model": given.model or given.file.stem, "date": given.date or None}
        report = run(observations, given.prior, given.delta, given.seed, **named)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    given.output.parent.mkdir(parents=True, exist_ok=True)
    base = (
        given.output.with_suffix("")
        if given.output.suffix in (".html", ".md", ".json", ".csv", ".pdf")
        else given.output
    )
    for suffix, text in (
        (".html", report.to_html()),
        (".md", report.to_markdown()),
        (".json", report.to_json()),
        (".csv", report.records().to_csv(index=False)),
    ):
        path = base.with_name(base.name + suffix)
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")
    path = base.with_name(base.name + ".pdf")
    report.to_pdf(path)
    print(f"written: {path}")
    print(report.verdict, *report.reasons, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
