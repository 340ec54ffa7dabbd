"""The PDF of the book: formulas, pictures, links, outline and page numbers, of a few pages through
what prints all of them.
"""

import re
import sys
from urllib.parse import urlsplit

import pypdf
import pytest
import yaml
from browsing import HTML, browser_path, needed, serve
from bs4 import BeautifulSoup
from limits import ROOT
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(ROOT / "scripts"))

import pdf  # noqa: E402  (the folder of scripts is not a package)

NAMES = ["book/membership_game", "book/play_game", "book/audit_torch", "book/reference/glossary"]
NAMES += ["book/bibliography"]
UNFINISHED = re.compile(r"\?\?|\{[a-z:]+\}`|\\\(|\\\[|\$\\|\[\[|Unknown|undefined|Toggle|Show code")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    needed(browser_path(), "no Chromium found: install it or name it in CHROMIUM")
    needed((HTML / "index.html").is_file(), "the site is not built: run `make html` first")
    file = tmp_path_factory.mktemp("pdf") / "some.pdf"
    counted = pdf.build(NAMES, file, HTML)
    return pypdf.PdfReader(file), counted


@pytest.fixture(scope="module")
def articles():
    return {
        name: BeautifulSoup((HTML / f"{name}.html").read_text("utf-8"), "html.parser").article
        for name in NAMES
    }


def links(document):
    """(page, link) of every link, its pages numbered from 0."""
    for number, page in enumerate(document.pages):
        for one in page.get("/Annots", []):
            if one.get_object()["/Subtype"] == "/Link":
                yield number, one.get_object()


def outline(document, items=None, depth=0):
    """(depth, title, page) of every line of the outline."""
    for one in document.outline if items is None else items:
        if isinstance(one, list):
            yield from outline(document, one, depth + 1)
        else:
            yield depth, one.title, document.get_destination_page_number(one)


def test_every_formula_and_picture_is_there(made, articles):
    document, counted = made
    formulas = sum(len(one.select(".math")) for one in articles.values())
    pictures = [image["src"] for one in articles.values() for image in one.find_all("img")]
    pictures = [src for src in pictures if not src.endswith(".dark.svg")]
    assert counted["formulas"] == formulas > 50
    assert counted["pictures"] == len(pictures) + 1 > 1  # and that of the title page
    fonts, bitmaps = set(), 0
    for page in document.pages:
        fonts |= {
            one.get_object().get("/BaseFont", "drawn")
            for one in page["/Resources"]["/Font"].values()
        }
        there = page["/Resources"].get("/XObject", {})
        bitmaps += sum(one.get_object()["/Subtype"] == "/Image" for one in there.values())
    assert "drawn" in fonts, "MathJax's letters come without a name"
    assert bitmaps >= sum(src.endswith(".png") for src in pictures)


def test_links_lead_to_their_place_or_out_of_the_book(made, articles):
    document, counted = made
    inside, outside = 0, set()
    pages = {page.indirect_reference.idnum for page in document.pages}
    for _, link in links(document):
        if "/Dest" in link:
            assert link["/Dest"][0].idnum in pages
            inside += 1
        else:
            outside.add(urlsplit(link["/A"]["/URI"]).hostname)
    assert inside >= counted["links"] > 20  # a link that breaks at a line's end is two
    assert not {"127.0.0.1", "inside.invalid", None} & outside


def test_a_citation_leads_to_the_bibliography_and_a_chapter_to_itself(made):
    document, _ = made
    begins = {title: page for _, title, page in outline(document)}
    bibliography, glossary = begins["Bibliography"], begins["Glossary"]
    chapter = next(page for title, page in begins.items() if title.endswith("The membership game"))
    play = next(page for title, page in begins.items() if title.endswith("Play the game"))
    numbers = {page.indirect_reference.idnum: k for k, page in enumerate(document.pages)}
    to = [
        (number, numbers[link["/Dest"][0].idnum])
        for number, link in links(document)
        if "/Dest" in link
    ]
    assert any(chapter <= a < play and b >= bibliography for a, b in to)
    assert any(chapter <= a < play and b == play for a, b in to)
    assert (1, chapter) in to and (1, glossary) in to  # from the table of contents


def test_the_contents_have_the_numbers_of_the_pages(made):
    document, _ = made
    lines = document.pages[1].extract_text().splitlines()
    chapters = [one for one in outline(document) if any(one[1] in line for line in lines)]
    assert len(chapters) >= len(NAMES)
    for _, title, page in chapters:
        printed = document.pages[page].extract_text()
        said = next(line for line in lines if title in line)
        number = re.search(r"\d+$", said) or re.match(r"\d+$", lines[lines.index(said) + 1])
        assert int(number[0]) == page + 1, said
        assert re.search(rf"^{page + 1}$", printed, re.MULTILINE), "the foot has the number"


def test_the_outline_is_a_tree_in_the_order_of_the_book(made):
    found = list(outline(made[0]))
    assert [page for *_, page in found] == sorted(page for *_, page in found)
    depths = {title: depth for depth, title, _ in found}
    assert depths["The game"] == 0 and depths["1. The membership game"] == 1
    assert depths["1.1. The game in a picture"] == 2
    assert all(title.strip() for _, title, _ in found)


def test_no_text_is_left_unfinished_and_solutions_are_open(made, articles):
    text = "\n".join(page.extract_text() for page in made[0].pages)
    assert not UNFINISHED.search(text), UNFINISHED.search(text)
    for one in articles["book/membership_game"].select(".solution p:nth-of-type(2)"):
        words = " ".join(one.get_text().split())[:20]
        assert "\\" in words or words in " ".join(text.split())


def test_a_page_that_is_not_in_the_book_is_said():
    with pytest.raises(SystemExit, match="given book/nothing, expected pages"):
        pdf.Printable(["book/nothing"], HTML)


def test_what_cannot_be_printed_is_noticed(tmp_path):
    """Each thing that the printing looks for, in a page that is made wrong in every way."""
    (tmp_path / "bad.html").write_text(
        """<!doctype html><html><body><main><article id="bad"><img src="missing.png" alt="">
        <script>window.MathJax = {startup: {promise: Promise.resolve()}};</script>
        <span class="math">\\(x\\)</span> <mjx-merror>bad</mjx-merror>
        <p>As {numref}`fig-lost` says, ?? of them.</p>
        <div style="overflow: hidden; height: 30px; line-height: 90px">cut</div>
        <div style="width: 3000px">wide</div></article></main></body></html>"""
    )
    needed(browser_path(), "no Chromium found: install it or name it in CHROMIUM")
    with sync_playwright() as playwright, serve(tmp_path) as site:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 800, "height": 900})
        with pytest.raises(SystemExit) as said:
            pdf.printed(page, f"{site}/bad.html")
        browser.close()
    for what in pdf.FAULTS:
        assert f"{what}: " in str(said.value)


@pytest.mark.slow
def test_the_whole_book_is_printed(tmp_path):
    """A minute of processor time, or a little more: every page of the site in one file."""
    needed(browser_path(), "no Chromium found: install it or name it in CHROMIUM")
    needed((HTML / "index.html").is_file(), "the site is not built: run `make html` first")
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [name for name, _, _ in pdf.contents(toc)]
    texts = [(HTML / f"{name}.html").read_text(encoding="utf-8") for name in names]
    whole = [BeautifulSoup(text, "html.parser").article for text in texts]
    counted = pdf.build(names, tmp_path / "book.pdf", HTML)
    assert counted["formulas"] == sum(len(one.select(".math")) for one in whole)
    images = [image["src"] for one in whole for image in one.find_all("img")]
    light = [src for src in images if not src.endswith(".dark.svg")]  # paper is white
    assert counted["pictures"] == len(light) + 1
    document = pypdf.PdfReader(tmp_path / "book.pdf")
    assert len(document.pages) == counted["pages"] > 5 * len(names)
    pages = {page.indirect_reference.idnum for page in document.pages}
    led = [link for _, link in links(document)]
    assert all(link["/Dest"][0].idnum in pages for link in led if "/Dest" in link)
    hosts = {urlsplit(link["/A"]["/URI"]).hostname for link in led if "/Dest" not in link}
    assert not {"127.0.0.1", "inside.invalid", None} & hosts
    titles = [title for _, title, _ in outline(document)]
    for one in whole:
        for gone in one.select("a.headerlink"):
            gone.decompose()
        assert " ".join(one.h1.get_text().split()) in titles
