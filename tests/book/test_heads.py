"""What the extensions add to a page: its facts, drawings for the dark, sections that moved."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from docutils.core import publish_doctree

from mia_lib import plots

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import facts  # noqa: E402  (an extension of Sphinx, in no package)
import moved  # noqa: E402
import themed  # noqa: E402

MOVED = moved.moved(ROOT)


def page(folder, words, metadata):
    cells = [{"cell_type": "markdown", "source": ["word " * words + "```{exercise}\n```"]}]
    (folder / "book").mkdir(exist_ok=True)
    (folder / "book" / "one.ipynb").write_text(json.dumps({"cells": cells, "metadata": metadata}))


def said(folder):
    return "estimated".join(facts.facts(folder, "book/one", publish_doctree("Two words, 3 4")))


def test_a_page_says_what_it_takes(tmp_path):
    page(tmp_path, 1199, {"made": "2030-01-02"})
    text = said(tmp_path)
    assert text == (
        "What running takes was not measured. Reads in 10 min, exercises 25, estimated. "
        "Outputs of 2030-01-02."
    )
    (tmp_path / "book" / "costs.json").write_text(
        '{"book/one.ipynb": {"processor_seconds": 12.6, "memory_mb": 1, "disk_mb": 0}}'
    )
    page(tmp_path, 1200, {})
    text = said(tmp_path)
    assert text.startswith("Runs in 13 processor seconds, measured. Reads in 15 min, exercises 25,")
    assert text.endswith("estimated. Outputs of an unknown day.")


def test_a_page_without_code_is_only_read(tmp_path):
    assert said(tmp_path) == "Reads in 1 min, estimated."


def test_what_all_pages_cost(capsys):
    """Of every page, and together, on the processor that measured them."""
    costs = json.loads((ROOT / "book" / "costs.json").read_text(encoding="utf-8"))
    pages = [*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")]
    assert sorted(costs) == sorted(path.relative_to(ROOT).as_posix() for path in pages)
    assert all(set(one) == {"processor_seconds", "memory_mb", "disk_mb"} for one in costs.values())
    seconds = {"book": [], "notebooks": []}
    for name, one in costs.items():
        seconds[name.split("/")[0]].append(one["processor_seconds"])
    with capsys.disabled():
        for part, each in seconds.items():
            print(f"\n{part}: {len(each)} pages, {sum(each):.0f} s of processor time together")
    assert sum(map(sum, seconds.values())) <= 900 and max(seconds["book"]) <= 45
    assert max(seconds["notebooks"]) <= 60


@pytest.mark.parametrize("folder", ["book", "notebooks"])
def test_every_page_says_when_its_outputs_were_made(folder):
    for path in (ROOT / folder).glob("*.ipynb"):
        made = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("made", "")
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", made), path.name


def test_a_drawing_for_the_dark():
    svg = '<svg width="1"><path style="fill: #ffffff"/><path style="stroke: #000000"/>'
    svg += '<g clip-path="url(#pd33c4e342e)"/><rect style="fill:#fff"/></svg>'
    dark = themed.darkened(svg)
    assert dark.startswith('<svg fill="#e6e6e6" width="1"><path style="fill: #121212"/>')
    assert "stroke: #e6e6e6" in dark and 'style="fill:#121212"' in dark
    assert "url(#pd33c4e342e)" in dark


@pytest.mark.parametrize("color", [*plots.COLORS, plots.REFERENCE, "#b5500b", "#20242c"])
def test_what_is_drawn_is_seen_in_the_dark(color):
    found = themed.in_the_dark(tuple(bytes.fromhex(color[1:])))
    assert themed.contrast(found, themed.PAPER) >= themed.CONTRAST


def test_ink_stays_legible_on_tinted_grounds():
    for ground in ("#f3e3b0", "#fbe3d2", "#d9e8f5"):
        ground, ink = (tuple(bytes.fromhex(one)) for one in (ground[1:], "20242c"))
        pair = themed.in_the_dark(ground), themed.in_the_dark(ink)
        assert themed.contrast(*pair) > 4.5


def test_contrast_is_that_of_wcag():
    black, white = (0, 0, 0), (255, 255, 255)
    assert themed.contrast(black, white) == pytest.approx(21)
    assert themed.contrast((119, 119, 119), white) == pytest.approx(4.48, abs=0.01)


def test_a_page_has_both_drawings_with_one_description():
    page = '<img alt="a" class="big" src="../_images/x.svg" /><img src="../_images/y.svg">'
    page = themed.IMAGE.sub(lambda found: themed.both(found, {"x"}), page)
    assert page == (
        '<img alt="a" class="in-light dark-light big" src="../_images/x.svg" />'
        '<img alt="a" class="in-dark dark-light big" src="../_images/x.dark.svg" />'
        '<img src="../_images/y.svg">'
    )


def places(name):
    """The fragments of a page: its labels, and its headings as Sphinx names them."""
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^a-z0-9]+", "-", head.lower()).strip("-") for head in heads}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def test_the_doors_of_the_readme_exist():
    """Each is one line: a verb of the Makefile, of a run the notebook, data set and scale too."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    top = text[: text.index("## The library")]
    doors = re.findall(r"^\| \*\*\w+\*\* \| `(make [^`]+)` \|", top, re.MULTILINE)
    verbs = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(doors) == 3 and all(door.split()[1] in verbs for door in doors)
    for door in doors:
        given = dict(word.split("=") for word in door.split()[2:])
        if given:
            found = ROOT / "notebooks" / "parameters" / f"{given['NOTEBOOK']}.yaml"
            found = yaml.safe_load(found.read_text(encoding="utf-8"))
            assert given["DATA"] in found["data"] and given["SCALE"] in found["scale"]
    assert "(book/_static/overview.svg)" in top and top.count("\n|") <= 5, "long tables are below"


@pytest.mark.parametrize("name", MOVED)
def test_a_section_that_moved_is_where_its_old_address_leads(name):
    for fragment, to in MOVED[name].items():
        assert fragment not in places(name) and fragment in places(to), (fragment, to)
