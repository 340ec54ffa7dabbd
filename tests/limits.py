"""How long a chapter may be, what it is today, and which chapters are known to be longer.

`python tests/limits.py` writes book/over_the_limits.yaml anew beside this file, heights and first
pictures from the built site, and prints what every chapter measures.
"""

import json
import statistics
import sys
from pathlib import Path

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from syllabus import counted  # noqa: E402  (an extension of Sphinx, in no package)

LIMITS = {
    "words": 2200,  # of Markdown, as the syllabus counts them
    "cells": 20,  # of code
    "median_lines": 10,  # lines of a code cell that are not blank
    "rows": 12,  # of a table, without its heads
    "columns": 6,  # of a table, without its row labels
    "height": 14_000,  # pixels of the page, in a window of 1280 by 900
    "first_picture": 1350,  # pixels above the first picture there: a screen and a half
}
SEEN = ("height", "first_picture")  # what only a browser knows
KNOWN = ROOT / "tests" / "book" / "over_the_limits.yaml"
NO_CHAPTERS = ("Experiments", "Reference")  # parts of the table of contents
SORTED = "aria-sort"  # the mark of a table that is made to be sorted and filtered
TOP = """() => {
  const article = document.querySelector("article");
  const first = article.querySelector("figure img, .cell_output img, p img, .play");
  return {height: article.getBoundingClientRect().height,
          first_picture: first
            ? first.getBoundingClientRect().top + scrollY : article.scrollHeight};
}"""
HEAD = """\
# Chapters that are over a limit of tests/limits.py, with today's figure. None may grow beyond it,
# and an entry that is no longer needed has to go. `python tests/limits.py` writes this file.
"""


def chapters():
    """The pages that a limit holds for: all but experiments and reference."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))

    def walk(entries):
        for entry in entries:
            yield entry["file"]
            yield from walk(entry.get("sections", []))

    parts = [part for part in toc["parts"] if part["caption"] not in NO_CHAPTERS]
    return [toc["root"], *(name for part in parts for name in walk(part["chapters"]))]


def stored_tables(cells):
    """(rows, columns) of every table of a page, but those that are made to be sorted."""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            lines = [line.strip() for line in "".join(cell["source"]).splitlines()] + [""]
            start = None
            for place, line in enumerate(lines):
                if line.startswith("|"):
                    start = place if start is None else start
                elif start is not None:
                    yield place - start - 2, lines[start].strip("|").count("|")
                    start = None
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", []))
            if "<table" not in text or SORTED in text:
                continue
            for table in BeautifulSoup(text, "html.parser").find_all("table"):
                rows = [row for row in table.find_all("tr") if row.find("td")]
                yield len(rows), max((len(row.find_all("td")) for row in rows), default=0)


def measure(name):
    """What a chapter measures without a browser.

    Parameters
    ----------
    name : str
        As in _toc.yml.

    Returns
    -------
    dict
        By limit.
    """
    notebook = ROOT / f"{name}.ipynb"
    if not notebook.is_file():
        return {"words": counted(ROOT / f"{name}.md")[0]}
    return measured(json.loads(notebook.read_text(encoding="utf-8"))["cells"], notebook)


def measured(cells, path):
    """What the cells of a notebook measure."""
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [sum(bool(line.strip()) for line in source.splitlines()) for source in code]
    tables = list(stored_tables(cells))
    return {
        "words": counted(path)[0],
        "cells": len(code),
        "median_lines": statistics.median(lines) if lines else 0,
        "rows": max((rows for rows, _ in tables), default=0),
        "columns": max((columns for _, columns in tables), default=0),
    }


def look(context, address):
    """Height and place of the first picture of a built page, in a window of 1280 by 900."""
    page = context.new_page()
    page.goto(address, wait_until="load")
    page.evaluate(
        "async () => { await document.fonts.ready; if (window.MathJax) await "
        "MathJax.startup.promise; }"
    )
    found = page.evaluate(TOP)
    page.close()
    return {what: round(found[what]) for what in SEEN}


def known():
    """The chapters that are over a limit, with their figures."""
    return yaml.safe_load(KNOWN.read_text(encoding="utf-8")) or {}


def wrong(name, figures, entries):
    """One line for each figure of a chapter that is over its limit or entry, and for each entry
    that is no longer needed.

    Parameters
    ----------
    name : str
    figures : dict
        As measured, by limit.
    entries : dict
        The chapter's known figures, by limit.
    """
    for what, figure in figures.items():
        limit, entry = LIMITS[what], entries.get(what)
        if entry is not None and figure <= limit:
            yield f"{name}: {what} is {figure} and within {limit}: take its entry out"
        elif figure > (limit if entry is None else max(limit, entry)):
            known_as = "" if entry is None else f", known as {entry}"
            yield f"{name}: {what} is {figure}, at most {limit}{known_as}"


def over(figures):
    """The figures that are over their limits, rounded up to what differs between machines."""
    step = {"height": 100, "first_picture": 10}
    return {
        what: -(-figure // step[what]) * step[what] if what in step else figure
        for what, figure in figures.items()
        if figure > LIMITS[what]
    }


def main():
    from browsing import HTML, browse, browser_path, serve
    from playwright.sync_api import sync_playwright

    found = {name: measure(name) for name in chapters()}
    with sync_playwright() as playwright, serve(HTML) as site:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        with browse(1280, "light", browser) as context:
            for name, figures in found.items():
                figures |= look(context, f"{site}/{name}.html")
        browser.close()
    for name, figures in found.items():
        print(name, *(f"{what} {figure}" for what, figure in figures.items()))
    entries = {name: over(figures) for name, figures in found.items() if over(figures)}
    KNOWN.write_text(HEAD + yaml.safe_dump(entries, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
