"""Make slides of the chapters, one HTML file each, that ask for nothing from outside.

    python scripts/slides.py [CHAPTER ...]

The slides are made from the stored notebook alone: its title and question, its goals, the heading
of each section with the section's definitions, displayed formulas, figures and short tables, the
exercises without their solutions, and the summary. What stands behind a figure or a table in the
chapter goes to the notes, which the key N shows. A table stands between the sentence that leads to
it and the first sentences behind it. Nothing is executed, so a slide shows what the page shows.

Formulas are set by the MathJax of the site, which is copied beside the slides.
"""

import ast
import base64
import html
import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pybtex.database import parse_file
from pybtex.richtext import Text

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import themed  # noqa: E402  (an extension of Sphinx, in no package)

BUILD = ROOT / "_build" / "slides"
PARTS = Path(__file__).resolve().parent / "slides"  # the style and the script of every file
NOT_CHAPTERS = ("Experiments", "Reference")  # parts of the table of contents
LONGEST = 620  # characters of text on a slide; what is longer goes on on the next one
ROWS, COLUMNS = 12, 6  # at most, of a table that stands on a slide, its headings apart
LETTERS = 1_000  # of such a table at most, all its cells together
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]*)`")
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z*{$`])")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
BOXES = {"definition", "theorem", "lemma", "proposition", "algorithm", "corollary"}


class Slide(NamedTuple):
    """One slide: what kind it is, its heading and its body as Markdown or HTML, and notes."""

    kind: str  # title, goals, text, box, formula, figure, table, exercises, summary
    heading: str
    body: str
    notes: str = ""

    def with_notes(self, text):
        """The slide with the paragraph behind it, whose first sentences a table shows as well; but
        a paragraph with a bold phrase in front begins something else than a table's reading.
        """
        if self.kind != "table":
            return self._replace(notes=text)
        if text.startswith("**"):
            return self
        return self._replace(body=self.body + finding(text), notes=text)


def chapters():
    """The names of the chapters in the order of the course."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [part for part in toc["parts"] if part["caption"] not in NOT_CHAPTERS]
    names = [Path(entry["file"]).name for part in parts for entry in part["chapters"]]
    return [name for name in names if (BOOK / f"{name}.ipynb").is_file()]


# --- from Markdown of the book to plain Markdown --------------------------------------------------


def _markdown_of(path):
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def title_of(path):
    """The first heading of a page, given without its ending."""
    for found in (path.with_suffix(".ipynb"), path.with_suffix(".md")):
        if found.is_file():
            return re.search(r"^# (.*)$", _markdown_of(found), re.MULTILINE)[1].strip()
    raise FileNotFoundError(f"no page {path}")


def citations():
    """Key to "Authors year" for everything in the bibliography."""
    shown = {}
    for key, entry in parse_file(BOOK / "references.bib").entries.items():
        people = entry.persons.get("author") or entry.persons.get("editor") or []
        names = [
            str(Text.from_latex(" ".join(one.prelast_names + one.last_names))) for one in people
        ]
        if len(names) > 2:
            names = [f"{names[0]} et al."]
        shown[key] = " and ".join(names), entry.fields.get("year", "")
    return shown


def glued(cells):
    """What the cells glued, by name, as the stored outputs have it."""
    values = {}
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        scrap = output.get("metadata", {}).get("scrapbook")
        if scrap:
            text = output["data"][scrap["mime_prefix"] + "text/plain"]
            text = text if isinstance(text, str) else "".join(text)
            try:
                values[scrap["name"]] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                values[scrap["name"]] = text
    return values


class Words:
    """Replaces the roles of one chapter by words."""

    def __init__(self, path, cells):
        self.path, self.values, self.cited = path, glued(cells), citations()
        self.figures, self.boxes = {}, {}

    def __call__(self, text):
        text = re.sub(r"^\([\w-]+\)=\s*$", "", text, flags=re.MULTILINE)  # targets
        text = re.sub(r"(?<!!)\[([^\]]+)\]\((?:https?:|\.\.?/|\w)[^)]*\)", r"\1", text)  # links
        return ROLE.sub(lambda found: self._role(*found.groups(), found), text)

    def _role(self, role, content, found):
        shown, _, target = content.partition("<")
        shown, target = shown.strip(), target.rstrip(">").strip()
        if role == "glue:text":
            return self._glued(content)
        if role == "doc":
            return f"*{shown if target else title_of(self.path.parent / content)}*"
        if role.startswith("cite"):
            return self._citation(role, content, found)
        if role == "numref":
            return f"Figure {self.figures[content]}" if content in self.figures else "the figure"
        if role == "prf:ref":
            return f"*{self.boxes.get(content, content)}*"
        if role in ("eq", "ref") and not target:
            return {"eq": "the formula"}.get(role, "the exercise")
        return shown if role == "term" or target else f"`{content}`"

    def _citation(self, role, content, found):
        """Names and year, with the brackets that the place in the sentence asks for."""
        both = [self.cited[key.strip()] for key in content.split(",")]
        before = found.string[: found.start()].rpartition("\n\n")[2]
        after = found.string[found.end() :]
        if before.count("(") > before.count(")"):
            return "; ".join(f"{names}, {year}" for names, year in both)
        subject = not before.strip("-* \n") or re.search(r"\b(?:of|in|by|to|and|with)\s$", before)
        place = re.match(r", (?:section|appendix|[A-Z])", after)
        if role == "cite:t" or subject or place:
            return ", ".join(f"{names} ({year})" for names, year in both)
        return "(" + "; ".join(f"{names}, {year}" for names, year in both) + ")"

    def _glued(self, content):
        page, _, key = content.rpartition("::")
        key, _, form = key.partition(":")
        values = self.values
        if page:
            values = glued(json.loads((self.path.parent / page).read_text("utf-8"))["cells"])
        return format(values[key], form)


# --- from cells to slides ------------------------------------------------------------------------


def parser():
    """The Markdown that chapters use, without raw HTML; formulas are left to MathJax."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.use(colon_fence_plugin)
    inline, block = (
        lambda content, options, left=left, right=right: (
            f"{left}{html.escape(content.strip())}{right}"
        )
        for left, right in (("\\(", "\\)"), ("\\[", "\\]"))
    )
    return markdown.use(
        dollarmath_plugin,
        double_inline=True,
        renderer=lambda content, options: (
            block(content, options) if options["display_mode"] else inline(content, options)
        ),
    )


def blocks(text):
    """The top-level blocks of a Markdown text: (kind, its source, its info string)."""
    lines = text.splitlines()
    for token in parser().parse(text):
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = token.map
            source = "\n".join(lines[start:end])
            content = token.content if token.type in ("fence", "colon_fence") else source
            yield token.type, content, token.info.strip()


def _without_options(text):
    """The body of a directive."""
    return re.sub(r"\A(?::[\w-]+:.*\n)+\n?", "", text)


def sentences(text, longest):
    """Whole sentences from the beginning, at least one and at most so many characters."""
    parts = re.split(r"(?<=[.?!:])\s+(?=[A-Z*{$`\[])", " ".join(text.split()))
    taken = parts[:1]
    for part in parts[1:]:
        if len(" ".join([*taken, part])) > longest:
            break
        taken.append(part)
    return " ".join(taken)


def last_sentence(text):
    """The sentence that leads to what follows a paragraph."""
    return SENTENCE.split(" ".join(text.split()))[-1]


def finding(text):
    """What a paragraph says first of the table before it, without what leads to something else."""
    return re.sub(r"(?<=[.?!]) (?:[^.?!]|[.?!](?! ))*[:,]$", "", sentences(text, 360))


def _items(text):
    """The items of a list, in Markdown, or the text itself if it is none."""
    parts = re.split(r"^(?=(?:[-*]|\d+\.) )", text, flags=re.MULTILINE)
    return [part.rstrip() for part in parts if part.strip()]


def shown_size(text):
    """About how many characters a text takes: a command of a formula is one, its braces none."""
    displayed = text.count("$$") // 2
    plain = re.sub(r"\\[A-Za-z]+", "x", text)
    return len(re.sub(r"[{}$_^]|\\(?=[\s,;!])", "", plain)) + 120 * displayed


def spread(kind, heading, parts):
    """Slides that hold so many parts each as fit."""
    pages, size = [[]], 0
    for part in parts:
        if pages[-1] and size + shown_size(part) > LONGEST:
            pages.append([])
            size = 0
        pages[-1].append(part)
        size += shown_size(part)
    glue = "\n" if all(ITEM.match(part) for part in parts) else "\n\n"
    return [
        Slide(kind, heading + (", continued" if k else ""), glue.join(page))
        for k, page in enumerate(pages)
        if page
    ]


def picture(cell):
    """The stored picture of a cell as an HTML image, or None."""
    mystnb = cell["metadata"].get("mystnb", {})
    for output in cell.get("outputs", []):
        for kind in ("image/svg+xml", "image/png"):
            if kind in output.get("data", {}):
                stored = output["data"][kind]
                stored = stored if isinstance(stored, str) else "".join(stored)
                alt = html.escape(" ".join(mystnb.get("image", {}).get("alt", "").split()))
                if kind == "image/svg+xml":
                    return drawing(stored, alt)
                return f'<img src="data:{kind};base64,{"".join(stored.split())}" alt="{alt}">'
    return None


def drawing(svg, alt):
    """A drawing as an HTML image, and as it looks in the dark for a screen that is dark."""
    light, dark = (
        "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
        for text in (svg, themed.darkened(svg))
    )
    scheme = "screen and (prefers-color-scheme: dark)"
    source = f'<source media="{scheme}" srcset="{dark}">'
    return f'<picture>{source}<img src="{light}" alt="{alt}" class="drawing"></picture>'


def html_of(cell):
    """The stored HTML of a cell's outputs."""
    stored = [one.get("data", {}).get("text/html", "") for one in cell["outputs"]]
    return "".join(line for lines in stored for line in lines)


def table(text):
    """The table in an HTML text on one line and without its styles, or None if it is not short."""
    found = re.search(r"<table.*?</table>", text, re.DOTALL)
    rows = found[0].partition("<tbody>")[2].split("<tr")[1:] if found else []
    wide = [row.count("<td") + max(row.count("<th") - 1, 0) for row in rows]  # one of labels
    if not 0 < len(rows) <= ROWS or max(wide) > COLUMNS:
        return None
    plain = re.sub(r' (?:border|class|style|valign)="[^"]*"', "", found[0])
    plain = re.sub(r"\s*\n\s*", "", plain).replace("\xa0", " ")  # a narrow cell may break it
    return plain if len(html.unescape(re.sub(r"<[^>]*>", "", plain))) <= LETTERS else None


class Section:
    """The slides of one section, collected while its cells are read."""

    def __init__(self, heading):
        self.heading, self.slides, self.paragraphs = heading, [], []

    def text_slides(self):
        """What to show of a section that has neither figure nor formula, before its tables: of
        every paragraph that begins with a bold phrase its first sentences, else the first
        sentences of all.
        """
        beside = {one.notes for one in self.slides}
        paragraphs = [text for text in self.paragraphs if text not in beside]
        led = [text for text in paragraphs if re.match(r"(?:- )?\*\*", text)]
        if led:
            return spread("text", self.heading, [sentences(text, 220) for text in led])
        lists = [text for text in paragraphs if ITEM.match(text)]
        rest = [text for text in paragraphs if not ITEM.match(text)]
        parts = [sentences(text, 420) for text in rest[:1]] + lists
        return spread("text", self.heading, parts)

    def add_table(self, text):
        """A slide of the table in an HTML text, if that is short, below the sentence before it."""
        shown = table(text)
        if shown:
            last = self.paragraphs[-1] if self.paragraphs else ""
            lead = "" if ITEM.match(last) else last_sentence(last)
            self.slides.append(Slide("table", self.heading, f"{lead}\n{shown}\n"))
        return shown

    def finished(self):
        others = any(one.kind != "table" for one in self.slides)
        return self.slides if others else self.text_slides() + self.slides


def opening(words, text):
    """The slides of the first cell: title and question, goals, threat model."""
    found = list(blocks(text))
    title = next(source for kind, source, _ in found if kind == "heading_open")[2:].strip()
    paragraphs = [source for kind, source, _ in found if kind == "paragraph_open"]
    lists = [
        source for kind, source, _ in found if kind in ("ordered_list_open", "bullet_list_open")
    ]
    question = next(p for p in paragraphs if p.startswith("**The question"))
    yield Slide("title", title, words(re.sub(r"^\*\*The question\.?\*\*\s*", "", question)))
    promise = next(p for p in paragraphs if "you can" in p and len(p) < 60)
    yield from spread("goals", promise.rstrip(":"), [words(item) for item in _items(lists[0])])
    known = [
        words(sentences(paragraph, LONGEST))
        for lead in ("Threat model", "Read before")
        for paragraph in paragraphs
        if paragraph.startswith(f"**{lead}")
    ]
    yield from spread("text", "What is known", known)


def slides(path):
    """All slides of a chapter.

    Parameters
    ----------
    path : Path
        The stored notebook.

    Returns
    -------
    list of Slide
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    words = Words(path, cells)
    label(words, cells)
    made = list(opening(words, "".join(cells[0]["source"])))
    section, in_solution, behind = Section(made[0].heading), False, {}
    section.slides = [None]  # the opening is there already
    done = [section]
    for cell in cells[1:]:
        if cell["cell_type"] == "code":
            shown = None if in_solution else picture(cell)
            if shown:
                figure = cell["metadata"].get("mystnb", {}).get("figure", {})
                number = words.figures.get(figure.get("name"))
                caption = f"**Figure {number}.** " * bool(number) + words(figure.get("caption", ""))
                behind = {"figure": (section, len(section.slides))}
                section.slides.append(Slide("figure", section.heading, shown + "\n" + caption))
            elif not in_solution and section.add_table(html_of(cell)):
                behind["table"] = section, len(section.slides) - 1
            continue
        for kind, source, info in blocks("".join(cell["source"])):
            directive = re.match(r"\{([\w:-]+)\}\s*(.*)", info)
            if directive and directive[1].startswith("solution"):
                in_solution = directive[1] == "solution-start"
            if in_solution:
                continue
            if kind == "heading_open":
                section = Section(words(source.lstrip("# ").strip()))
                done.append(section)
                behind = {}
            elif directive:
                add_directive(words, section, directive[1], directive[2], source)
            elif section.heading == "Exercises" or re.match(r"\*\*(?:Next|Read before)", source):
                continue
            elif kind == "table_open" and section.add_table(parser().render(words(source))):
                behind["table"] = section, len(section.slides) - 1
            elif kind in ("paragraph_open", "bullet_list_open", "ordered_list_open", "math_block"):
                if kind == "paragraph_open":
                    for owner, place in behind.values():
                        owner.slides[place] = owner.slides[place].with_notes(words(source))
                    behind = {}
                if "$$" in source and section.heading != "Summary":
                    shown = words(source)
                    if source.startswith("$$") and section.paragraphs:
                        shown = f"{last_sentence(section.paragraphs[-1])}\n\n{shown}"
                    section.slides.append(Slide("formula", section.heading, shown))
                elif section.heading == "Summary":
                    items = [words(item) for item in _items(source)]
                    if kind == "paragraph_open":
                        items = [f"- {one}" for one in SENTENCE.split(" ".join(items[0].split()))]
                    section.slides += spread("summary", "Summary", items)
                else:
                    parts = _items(source) if kind.endswith("list_open") else [source]
                    section.paragraphs += [words(part) for part in parts]
    made += done[0].slides[1:]
    for section in done[1:]:
        made += together(section.finished())
    return made


def together(made):
    """Exercises share a slide where they fit."""
    bodies = [one.body for one in made if one.kind == "exercises"]
    return spread("exercises", "Exercises", bodies) or made


def label(words, cells):
    """Number the figures and learn the titles of the boxes, before anything names them."""
    for cell in cells:
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        if name:
            words.figures[name] = len(words.figures) + 1
        if cell["cell_type"] == "markdown":
            for _, source, info in blocks("".join(cell["source"])):
                box = re.match(r"\{prf:(\w+)\}\s*(.*)", info)
                named = re.search(r"^:label:\s*(\S+)", source, re.MULTILINE)
                if box and named:
                    words.boxes[named[1]] = box[2] or box[1].capitalize()


def add_directive(words, section, name, argument, source):
    """The slides of a box, of an exercise, of an admonition."""
    body, kind = words(_without_options(source)), name.removeprefix("prf:")
    if kind in BOXES:
        heading = f"{kind.capitalize()}: {words(argument)}" if argument else kind.capitalize()
        parts = [text for _, text, _ in blocks(body)]
        section.slides += spread("box", heading, parts)
    elif kind == "exercise":
        section.slides += spread("exercises", "Exercises", [body])
    elif kind == "math":
        section.slides.append(Slide("formula", section.heading, f"$$\n{body}\n$$"))
    elif kind in ("admonition", "note", "warning", "tip", "important"):
        items = [item for k, text, _ in blocks(body) for item in _items(text) if k != "fence"]
        section.paragraphs += [
            item if item.startswith("- ") else f"- {item}" for item in items if item.strip()
        ]


# --- from slides to a page ------------------------------------------------------------------------


def section_of(slide, number, total):
    """One slide as HTML."""
    markdown = parser()
    image, body = "", slide.body
    if slide.kind == "figure":
        image, body = slide.body.split("\n", 1)
        image = f'<div class="picture">{image}</div>'
    elif slide.kind == "table":
        lead, grid, body = slide.body.split("\n")
        image = f'<div class="text">{markdown.render(lead)}</div><div class="grid">{grid}</div>'
    level = "h1" if slide.kind == "title" else "h2"
    notes = f'<aside class="notes">{markdown.render(slide.notes)}</aside>' if slide.notes else ""
    return (
        f'<section class="slide {slide.kind}" id="s{number}" aria-roledescription="slide" '
        f'aria-label="{number} of {total}">\n<div class="body">'
        f"<{level}>{markdown.renderInline(slide.heading)}</{level}>\n"
        f'{image}<div class="text">{markdown.render(body)}</div></div>\n{notes}</section>\n'
    )


def page(made):
    """The file of a chapter."""
    style, script = (PARTS / name for name in ("slides.css", "slides.js"))
    sections = "".join(section_of(one, k, len(made)) for k, one in enumerate(made, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(made[0].heading)}</title>\n"
        f"<style>\n{style.read_text('utf-8')}</style>\n"
        '<script src="mathjax/tex-mml-chtml.js" defer></script>\n</head>\n<body>\n'
        f"<main>\n{sections}</main>\n"
        '<nav aria-label="slides"><button id="back" aria-label="previous slide">&larr;</button>'
        '<span id="place" aria-live="polite"></span>'
        '<button id="on" aria-label="next slide">&rarr;</button></nav>\n'
        f"<script>\n{script.read_text('utf-8')}</script>\n</body>\n</html>\n"
    )


def index(titles):
    """The page that lists the chapters."""
    lines = "\n".join(
        f'<li><a href="{name}.html">{html.escape(title)}</a></li>' for name, title in titles
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Slides</title>'
        "<style>:root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;"
        "max-width:44em;margin:2em auto;padding:0 1em}</style></head>\n"
        "<body><h1>Slides</h1>\n<p>Arrows, space, Home and End turn the slides, N "
        "shows the notes, the browser's print makes a PDF.</p>\n"
        f"<ol>\n{lines}\n</ol></body></html>\n"
    )


def build(names, folder=BUILD):
    """Write the slides of some chapters; gives their slides by name."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(BOOK / "_static" / "mathjax", folder / "mathjax", dirs_exist_ok=True)
    made = {name: slides(BOOK / f"{name}.ipynb") for name in names}
    for name, one in made.items():
        (folder / f"{name}.html").write_text(page(one), encoding="utf-8")
    titles = [(name, one[0].heading) for name, one in made.items()]
    (folder / "index.html").write_text(index(titles), encoding="utf-8")
    return made


def main(names):
    there = chapters()
    unknown = sorted(set(names) - set(there))
    if unknown:
        print(f"no chapter {', '.join(unknown)}; there are {', '.join(there)}")
        return 1
    made = build(names or there)
    print(f"{sum(map(len, made.values()))} slides of {len(made)} chapters: {BUILD}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
