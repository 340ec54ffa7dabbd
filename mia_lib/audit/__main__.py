"""python -m mia_lib.audit FILE -o REPORT: audit the observations in a file."""

import argparse
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
        "-o", "--output", type=Path, help="REPORT: writes REPORT.html, REPORT.md and REPORT.json"
    )
    parser.add_argument(
        "--check", action="store_true", help="only check the file and say what it permits"
    )
    parser.add_argument(
        "--prior", type=float, default=0.5, help="Pr(member) of a record in question (default 0.5)"
    )
    parser.add_argument(
        "--delta", type=float, default=0.05, help="1 minus the level of intervals (default 0.05)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--assignment", choices=("given", "random", "coins"), help="how records came to be members"
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
        report = run(observations, given.prior, given.delta, given.seed)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    given.output.parent.mkdir(parents=True, exist_ok=True)
    base = (
        given.output.with_suffix("")
        if given.output.suffix in (".html", ".md", ".json")
        else given.output
    )
    for suffix, text in (
        (".html", report.to_html()),
        (".md", report.to_markdown()),
        (".json", report.to_json()),
    ):
        path = base.with_name(base.name + suffix)
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")
    print(report.verdict, *report.reasons, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
