"""The whole book as one PDF: `make pdf`, or `python scripts/pdf.py [PAGE ...]`.

The site is built from the stored outputs (`make html`, nothing is executed). A headless Chromium
prints its pages in the order of _toc.yml, a few at a time, because no browser prints all of them at
once: formulas typeset, folded code and solutions open. Then the prints are bound: links to other
pages lead to their place in the file, every heading is in the outline, and the table of contents,
which is printed last, has the page numbers. Pages that are named (book/lira) make a PDF of these
alone, in which links to other pages are text.
"""

import html
import io
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pypdf
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright
from pypdf.generic import ArrayObject, Fit, FloatObject, NameObject, NullObject
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from browser import browser_path, serve  # noqa: E402

import book  # noqa: E402  (the folder of scripts is not a package)

PARTS = ROOT / "scripts" / "pdf"
SITE = ROOT / "_build" / "html"
BUILD = ROOT / "_build" / "pdf"
FILE = BUILD / "book.pdf"
SCALE = 0.75  # of the letters of the site, 16 px: 9 pt
MARGIN = 16  # mm, left and right
COLUMN = round((210 - 2 * MARGIN) / 25.4 * 96 / SCALE)  # px of the site that a line of A4 takes
AT_ONCE = 6  # pages of the site that are printed together
INSIDE = "https://inside.invalid/#"  # links inside the book, until it is bound
FAULTS = ("notTypeset", "formulaErrors", "brokenImages", "unfinished", "cut", "tooWide")
LONGEST = 600_000  # ms, for one step of the browser


# --- from pages of the site to pages to print -----------------------------------------------------


def contents(toc):
    """The book's pages in order.

    Returns
    -------
    list of (str, int, str or None)
        Name, depth below its part (0 for a chapter) and, of the first page of a part, its caption.
    """

    def walk(entries, depth, caption):
        for entry in entries:
            yield entry["file"], depth, caption
            caption = None
            yield from walk(entry.get("sections", []), depth + 1, None)

    found = [(toc["root"], 0, None)]
    for part in toc["parts"]:
        found += walk(part["chapters"], 0, part["caption"])
    return found


def place(page, fragment=""):
    """The name of a place in the book."""
    return f"{page}:{fragment}" if fragment else page


def target(page, address, site):
    """(page, fragment) that a relative link of a page leads to."""
    found = urlsplit(address)
    if not found.path:
        return page, unquote(found.fragment)
    path = (site / page).parent.joinpath(unquote(found.path)).resolve()
    return path.relative_to(site.resolve()).with_suffix("").as_posix(), unquote(found.fragment)


def article(page, shown, site):
    """The article of a built page as it is printed.

    Identifiers carry the page's name, links lead into the book, what moves on a screen stands
    still.
    """
    soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    body = soup.find("article")
    for gone in body.select("script, a.headerlink, .play-controls, .toctree-wrapper:empty"):
        gone.decompose()
    for frame in body.select("iframe[srcdoc]"):
        inside = BeautifulSoup(frame["srcdoc"], "html.parser")
        for gone in inside.select("script, style, meta, title"):
            gone.decompose()
        for heading in inside.select("h1, h2, h3, h4"):
            heading.name, heading["class"] = "p", ["heading"]
        kept = inside.find("main") or inside.find("body") or inside
        framed = soup.new_tag("div", attrs={"class": "framed"})
        framed.extend(list(kept.contents))
        frame.replace_with(framed)
    for fold in body.find_all("details"):
        summary = fold.find("summary", recursive=False)
        if "above-input" in fold.get("class", []):
            summary.decompose()
        else:
            summary.name = "p"
        fold.name = "div"
        fold.attrs.pop("class", None)
    for control in body.select("input, select, output"):
        (control.find_parent("label") or control).decompose()
    for one in body.find_all(id=True):
        if not one.find_parent("svg"):
            one["id"] = place(page, one["id"])
    for one in body.find_all(attrs={"aria-labelledby": True}):
        del one["aria-labelledby"]
    for link in body.find_all("a", href=True):
        if urlsplit(link["href"]).scheme:
            continue
        to, fragment = target(page, link["href"], site)
        if to in shown:
            link["href"] = INSIDE + quote(place(to, fragment))
        else:
            link.name = "span"
            link["data-led-to"] = to
            del link["href"]
    for drawing in body.select("img.in-dark"):
        drawing.decompose()
    for image in body.find_all("img"):
        if not urlsplit(image["src"]).scheme:
            path = (site / page).parent.joinpath(unquote(image["src"])).resolve()
            image["src"] = "/html/" + path.relative_to(site.resolve()).as_posix()
        image.attrs.pop("loading", None)
    body["id"], body["class"] = page, ["bd-article", "page"]
    return body


def headings(page, body, depth):
    """(level, text, place) of every heading of an article; that of the page is on level `depth`."""
    for heading in body.find_all(["h1", "h2", "h3", "h4", "h5"]):
        level = int(heading.name[1]) - 1
        section = heading.find_parent("section", id=True)
        at = section["id"] if level and section else page
        yield depth + level, " ".join(heading.get_text().split()), at


class Printable:
    """Some pages of the book, ready for the browser.

    Attributes
    ----------
    texts : list of str
        What is to be printed, one for each page of the site.
    outline : list of (int, str, str)
        Level, text and place of each heading.
    lines : list of (str, int, str)
        Page or part, depth and text of the lines of the table of contents.
    """

    def __init__(self, names, site):
        toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
        order = contents(toc)
        unknown = sorted(set(names) - {name for name, _, _ in order})
        if unknown:
            sys.exit(f"PAGE: given {', '.join(unknown)}, expected pages as they stand in _toc.yml")
        shown, caption = set(names), None
        self.names, self.texts, self.outline, self.lines = [], [], [], []
        for page, depth, begins in order:
            caption = begins or caption
            if page not in shown:
                continue
            body, text = article(page, shown, site), ""
            if caption:
                at = f"part:{caption}"
                text = f'<p class="part" id="{html.escape(at)}">{html.escape(caption)}</p>'
                self.outline.append((0, caption, at))
                self.lines.append((at, -1, caption))
                caption = None
            found = list(headings(page, body, depth + (page != toc["root"])))
            self.outline += found
            self.lines.append((page, depth, found[0][1]))
            self.names.append(page)
            self.texts.append(text + str(body))
        led_to = re.findall(f'href="{re.escape(INSIDE)}([^"]*)"', "".join(self.texts))
        self.led_to = {unquote(html.unescape(at)) for at in led_to}
        self.led_to |= {at for _, _, at in self.outline}

    def contents(self, numbers):
        """The title page and the table of contents; `numbers` has those that are known."""
        configuration = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        name = html.escape(configuration["title"])
        lines = "".join(
            f'<li class="{"part" if depth < 0 else f"depth-{depth}"}">'
            f'<a href="{INSIDE}{quote(at)}"><span>{html.escape(text)}</span>'
            f"<b>{numbers.get(at, 0)}</b></a></li>"
            for at, depth, text in self.lines
        )
        return (
            f'<div class="front"><p class="title">{name}</p>'
            f"<p>{html.escape(configuration['author'])}</p>"
            f"<p>{html.escape(str(configuration['copyright']))}</p>"
            f'<img src="/html/_static/overview.svg" alt="{OVERVIEW}">'
            "<p>The pages of the site as one file: code that the site folds away and solutions "
            "are open, pages that play stand still, and links to other pages lead to their place "
            f'here.</p></div><nav class="book-contents"><h1>Contents</h1><ol>{lines}</ol></nav>'
        )


def inside(address):
    """Whether a link leads into the book."""
    return address.startswith(INSIDE)


OVERVIEW = (
    "The membership game: a coin decides whether a record joins the training set, a model is "
    "trained, an adversary sees its output and says member or non-member."
)


def document(text, first, site):
    """A file for the browser that prints `text`, the first of its sheets having number `first`."""
    _, page = min((len(path.parts), path) for path in site.glob("book/*.html"))
    head = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").head
    links = [urlsplit(one["href"]).path for one in head.find_all("link", rel="stylesheet")]
    links = [(page.parent / link).resolve().relative_to(site.resolve()) for link in links]
    sheets = [f"/html/{link.as_posix()}" for link in links] + ["/html/_static/play/play.css"]
    ignored = "tex2jax_process|mathjax_process|math|output_area"
    settings = {
        "options": {
            "enableMenu": False,
            "menuOptions": {"settings": {"assistiveMml": False}},
            "processHtmlClass": ignored,
        }
    }
    places = re.findall(r'\bid="([^"]+)"', text)  # as they are written: nothing is parsed again
    anchors = "".join(f'<a href="#{at}"></a>' for at in places)
    return (
        '<!DOCTYPE html>\n<html lang="en" data-theme="light" data-mode="light"><head>'
        '<meta charset="utf-8"><title>.</title>'
        + "".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in sheets)
        + f"<style>{(PARTS / 'pdf.css').read_text(encoding='utf-8')}"
        f"html {{ counter-reset: page {first - 1}; }}</style>"
        f"<script>window.MathJax = {json.dumps(settings)}</script>"
        '<script defer src="/html/_static/mathjax/tex-mml-chtml.js"></script></head>\n'
        f'<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">'
        f'{text}</div></div></main><div class="anchors">{anchors}</div></body></html>\n'
    )


# --- from pages to print to paper ----------------------------------------------------------------


def printed(page, address):
    """Print one file.

    Returns
    -------
    pypdf.PdfReader
    dict
        What the browser counted.
    """
    wrong = []
    page.goto(address, wait_until="load")
    seen = page.evaluate((PARTS / "fit.js").read_text(encoding="utf-8"))
    data = page.pdf(format="A4", scale=SCALE, print_background=True, prefer_css_page_size=True)
    for what in FAULTS:
        wrong += [f"{what}: {one}" for one in seen[what]]
    if wrong:
        sys.exit("==> stopped: a page cannot be printed as it is\n" + "\n".join(wrong[:40]))
    return pypdf.PdfReader(io.BytesIO(data)), seen


def bound(prints, outline, configuration):
    """One PDF of several, their links and outline leading into it.

    Parameters
    ----------
    prints : list of pypdf.PdfReader
    outline : list of (int, str, str)
    configuration : dict
        That of the book.
    """
    writer, places = pypdf.PdfWriter(), {}
    for one in prints:
        begin = len(writer.pages)
        pages = {page.indirect_reference.idnum: k for k, page in enumerate(one.pages)}
        for name, there in one.named_destinations.items():
            number = begin + pages[there.page.idnum]
            places[unquote(name.removeprefix("/"))] = number, there.left, there.top
        writer.append(one, import_outline=False)
    for page in writer.pages:
        for link in page.get("/Annots", []):
            link = link.get_object()
            address = link.get("/A", {}).get("/URI", "")
            if inside(address):
                number, left, top = places[unquote(address[len(INSIDE) :])]
                there = [writer.pages[number].indirect_reference, NameObject("/XYZ")]
                there += [FloatObject(left), FloatObject(top), NullObject()]
                del link["/A"]
                link[NameObject("/Dest")] = ArrayObject(there)
    above = {}
    for level, text, at in outline:
        number, left, top = places[at]
        parent = next((above[k] for k in range(level - 1, -1, -1) if k in above), None)
        item = writer.add_outline_item(
            title=text, page_number=number, parent=parent, fit=Fit.xyz(left, top), is_open=False
        )
        above = {k: one for k, one in above.items() if k < level} | {level: item}
    writer.page_mode = "/UseOutlines"
    writer.add_metadata({"/Title": configuration["title"], "/Author": configuration["author"]})
    return writer


def build(names, file=FILE, site=SITE):
    """Write a PDF of some pages of the built site.

    Returns
    -------
    dict
        How many pages, formulas, pictures and links into the book it has.
    """
    path = browser_path()
    if not path:
        sys.exit("==> no Chromium found: install it or name it in CHROMIUM")
    book_of = Printable(names, site)
    configuration = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    work = site.parent / "pdf"
    work.mkdir(exist_ok=True)
    now = work / f"now-{os.getpid()}.html"  # two may print at once
    file.parent.mkdir(parents=True, exist_ok=True)
    total = {"pages": 0, "formulas": 0, "pictures": 0, "links": 0}
    with sync_playwright() as playwright, serve(site.parent) as address:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def on_paper(text, first, counted=True):
            now.write_text(document(text, first, site), encoding="utf-8")
            page = browser.new_page(viewport={"width": COLUMN, "height": 1000})
            page.set_default_timeout(LONGEST)
            page.emulate_media(media="print", color_scheme="light")
            made, seen = printed(page, f"{address}/pdf/{now.name}")
            page.close()
            for what in ("formulas", "pictures", "links") if counted else ():
                total[what] += seen[what]
            return made

        front = on_paper(book_of.contents({}), 1, counted=False)
        prints, numbers, sheets = [], {}, len(front.pages)
        with tqdm(total=len(names), unit="page", desc="    printing", disable=None) as bar:
            for k in range(0, len(book_of.texts), AT_ONCE):
                made = on_paper("".join(book_of.texts[k : k + AT_ONCE]), sheets + 1)
                pages = {page.indirect_reference.idnum: n for n, page in enumerate(made.pages)}
                for name, there in made.named_destinations.items():
                    number = sheets + 1 + pages[there.page.idnum]
                    numbers[unquote(name.removeprefix("/"))] = number
                prints.append(made)
                sheets += len(made.pages)
                bar.update(len(book_of.texts[k : k + AT_ONCE]))
        lost = sorted(book_of.led_to - set(numbers))
        if lost:
            sys.exit(f"==> stopped: links lead to what is not in the PDF: {', '.join(lost[:20])}")
        with_numbers = on_paper(book_of.contents(numbers), 1)
        browser.close()
    now.unlink()
    if len(with_numbers.pages) != len(front.pages):
        sys.exit("==> stopped: the table of contents grew by its page numbers")
    writer = bound([with_numbers, *prints], book_of.outline, configuration)
    writer.write(file)
    return total | {"pages": sheets}


def main(names):
    book.build({})
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = names or [name for name, _, _ in contents(toc)]
    print(f"==> printing {len(names)} pages of the site", flush=True)
    made = build(names)
    counted = ", ".join(f"{figure:,} {what}" for what, figure in made.items())
    size = FILE.stat().st_size / 1e6
    print(f"==> the PDF is ready, open {FILE}: {counted}, {size:.0f} MB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
