"""``python -m mia_lib.data NAME [NAME ...]`` fetches data sets; ``--list`` shows what is here."""

import argparse
import sys

from mia_lib import data


def main(arguments=None):
    """Fetch what is named, or list; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mia_lib.data", description="Fetch data sets, or list them."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a data set: " + ", ".join(data.names())
    )
    parser.add_argument("--list", action="store_true", help="show every data set and where it is")
    options = parser.parse_args(arguments)
    if options.list == bool(options.names):
        parser.error("give either --list or the names of data sets")
    if options.list:
        for name in data.names():
            print(f"{name:<24}{data.status(name)}")
        return 0
    try:
        for name in options.names:
            loaded = data.load(name)
            x = (
                f"{len(loaded.x)} texts"
                if isinstance(loaded.x, list)
                else f"x {loaded.x.dtype} {loaded.x.shape}"
            )
            print(
                f"{name}: {x}, y {loaded.y.dtype} {loaded.y.shape}, {loaded.y.max() + 1} classes",
                flush=True,
            )
    except (data.DataError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
