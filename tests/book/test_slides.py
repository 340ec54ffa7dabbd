"""The slides have what a teacher needs of every chapter, ask for nothing and fit their frames."""

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from browsing import SCHEMES, serve
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import slides  # noqa: E402  (the folder of scripts is not a package)

CHAPTERS = slides.chapters()
OPENED = ("membership_game", "defenses", "class_aware", "two_sample", "who_is_exposed")
MEASURE = """() => [...document.querySelectorAll(".slide")].map(slide => {
  const body = slide.querySelector(".body"), frame = slide.getBoundingClientRect();
  const inside = [...slide.querySelectorAll("h1, h2, p, li, img, mjx-container, table")]
    .filter(one => !one.closest(".notes") && !one.closest("mjx-assistive-mml"))
    .map(one => one.getBoundingClientRect())
    .every(box => box.right <= frame.right + 1 && box.bottom <= frame.bottom + 1);
  const picture = slide.querySelector(".picture img");
  return {id: slide.id, inside, high: body.scrollHeight - body.clientHeight,
          wide: body.scrollWidth - body.clientWidth,
          frame: [frame.width, frame.height],
          letters: parseFloat(getComputedStyle(slide).fontSize),
          picture: picture ? picture.naturalWidth * picture.clientHeight : 1};
})"""
# Whether a table and the text around it keep the margins, their smallest letters and contrast.
TABLES = """() => [...document.querySelectorAll(".slide.table")].map(slide => {
  const body = slide.querySelector(".body").getBoundingClientRect();
  const shown = [...slide.querySelectorAll("td, th, .text p")];
  const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, k) => sum + [0.2126, 0.7152, 0.0722][k] * part, 0.05);
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const style = shown.map(one => getComputedStyle(one));
  const contrast = style.map(one => light(one.color) / ground).map(x => Math.max(x, 1 / x));
  const inside = shown.map(one => one.getBoundingClientRect()).every(box =>
    box.left > body.left && box.right < body.right && box.top > body.top
    && box.bottom < body.bottom - 0.01 * body.height);
  return {id: slide.id, inside, contrast: Math.min(...contrast),
          letters: Math.min(...style.map(one => parseFloat(one.fontSize)))};
})"""
SCREENS = {(1280, 720): 16, (390, 844): 8.5, (844, 390): 8.5}  # letters of at least so many pixels


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides")
    return folder, slides.build(CHAPTERS, folder)


def pictures(name):
    """How many pictures a chapter shows, those of its solutions left out."""
    count, in_solution = 0, False
    for cell in nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                in_solution = mark == "start"
        elif not in_solution:
            count += any(
                {"image/png", "image/svg+xml"} & set(one.get("data", {})) for one in cell.outputs
            )
    return count


def cells_of(text):
    """The rows of the table in an HTML text, headings apart: the texts of their cells."""
    rows = BeautifulSoup(text, "html.parser").select("tbody tr")
    return [[" ".join(one.text.split()) for one in row.find_all(["th", "td"])] for row in rows]


def tables(name):
    """The short tables of a chapter's outputs, those of its solutions left out."""
    found, in_solution = [], False
    for cell in nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                in_solution = mark == "start"
        elif not in_solution:
            stored = [one.data.get("text/html", "") for one in cell.outputs if "data" in one]
            found += [text for text in stored if text.count("<table") == 1]
    for text in found:
        soup = BeautifulSoup(text, "html.parser")
        rows = soup.select("tbody tr")
        letters = len("".join(one.text.strip() for one in soup.select("th, td")))
        # six columns, and beside them one of labels
        narrow = all(len(r("td")) + max(len(r("th")), 1) <= 7 for r in rows)
        if len(rows) <= 12 and letters <= 1_000 and narrow:
            yield cells_of(text)


def test_there_are_slides_of_every_chapter(built):
    folder, made = built
    assert len(CHAPTERS) > 20 and list(made) == CHAPTERS
    listed = re.findall(r'href="([^"]+)"', (folder / "index.html").read_text(encoding="utf-8"))
    assert listed == [f"{name}.html" for name in CHAPTERS]
    assert all((folder / name).is_file() for name in listed)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_title_goals_figures_and_summary(built, name):
    made = built[1][name]
    kinds = [one.kind for one in made]
    assert kinds[0] == "title" and made[0].heading == slides.title_of(ROOT / "book" / name)
    assert len(made[0].body) > 40, "the question"
    goals = [line for one in made if one.kind == "goals" for line in one.body.splitlines()]
    assert sum(bool(re.match(r"\d+\. |- ", line)) for line in goals) >= 3
    assert kinds.count("figure") == pictures(name)
    shown = [cells_of(one.body) for one in made if one.kind == "table"]
    wanted = list(tables(name))
    assert [one for one in shown if one in wanted] == wanted
    written = (ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8").count('"|---')
    assert len(shown) <= len(wanted) + written
    assert (
        kinds[-1] == "summary"
        and sum(one.body.count("\n- ") + 1 for one in made if one.kind == "summary") >= 3
    )


@pytest.mark.parametrize("name", CHAPTERS)
def test_nothing_of_the_book_s_markup_is_left(built, name):
    for one in built[1][name]:
        text = one.heading + re.sub(r"base64,[^\"]*", "", one.body) + one.notes
        assert not re.search(r"\{[a-z:]+\}`|```|^:\w+:|:::", text, re.MULTILINE), text


@pytest.mark.parametrize("name", CHAPTERS)
def test_solutions_are_not_on_slides(built, name):
    shown = " ".join(one.body for one in built[1][name])
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    for solution in re.findall(r"\{solution-start\}.*?\n```\n(.*?)(?=```|\Z)", text, re.DOTALL):
        for line in solution.splitlines():
            assert len(line) < 40 or "{" in line or line not in shown


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_address_outside(built, name):
    html = (built[0] / f"{name}.html").read_text(encoding="utf-8")
    html = re.sub(r"data:image/[\w+]+;base64,[\w+/=]+", "", html)
    assert not re.search(r"https?:|[\"'(]//\w", html)
    assert re.findall(r'(?:src|href)="([^"]+)"', html)[0] == "mathjax/tex-mml-chtml.js"
    assert all(alt.strip() for alt in re.findall(r'<img src="" alt="([^"]*)"', html))


def test_tables_stand_between_what_leads_to_them_and_what_they_show(built):
    made = [one for chapter in built[1].values() for one in chapter if one.kind == "table"]
    parts = [one.body.split("\n") for one in made]
    assert len(made) > 100 and all(len(one) == 3 and any(one[::2]) for one in parts)
    assert sum(bool(one[2]) for one in parts) > 0.75 * len(parts)
    for one, (_, shown, said) in zip(made, parts):
        assert shown.startswith("<table>") and "style=" not in shown
        assert not said or (said[-1] in ".?!)*" and said[:40] in " ".join(one.notes.split()))


@pytest.mark.parametrize(
    "rows, columns, letters, stands",
    [(12, 6, 5, True), (13, 1, 5, False), (1, 7, 5, False), (12, 6, 20, False), (0, 0, 0, False)],
)
def test_a_table_stands_on_a_slide_if_it_is_short(rows, columns, letters, stands):
    row = "<tr>" + f"<td>{'x' * letters}</td>" * columns + "</tr>\n"
    text = f'<div><table border="1"><tbody>\n{row * rows}</tbody></table></div>'
    assert bool(slides.table(text)) == stands
    assert slides.table("<p>no table</p>") is None


def test_what_is_said_of_a_table_ends_before_it_leads_to_something_else():
    assert (
        slides.finding("It holds. It is 0.5 at most. Now we ask:") == "It holds. It is 0.5 at most."
    )
    assert slides.finding("It is 0.5. So report 0.25, not $W$,") == "It is 0.5."


def test_an_unknown_chapter_is_named(capsys):
    assert slides.main(["no_such_chapter"]) == 1
    assert "no_such_chapter" in capsys.readouterr().out


@pytest.mark.browser
@pytest.mark.parametrize("name", OPENED)
def test_slides_fit_turn_and_ask_for_nothing(built, browser, name):
    folder, made = built[0], built[1][name]
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, errors, outside = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with serve(folder) as address:
        page.on("request", lambda one: outside.append(one.url))
        page.goto(f"{address}/{name}.html")
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        assert all(url.startswith((address, "data:")) for url in outside) and not errors
        found = page.evaluate(MEASURE)
        assert len(found) == len(made)
        for one in found:
            assert one["inside"] and one["high"] <= 1 and one["wide"] <= 1, one
            assert one["frame"] == [1280, 720] and one["letters"] >= 16 and one["picture"] > 0, one
        # every formula is typeset
        html = (folder / f"{name}.html").read_text(encoding="utf-8").split("<main>")[1]
        written = len(re.findall(r"\\\(|\\\[", html.split("</main>")[0]))
        assert page.locator("mjx-container").count() == written > 0
        assert page.locator("mjx-merror").count() == 0

        def now():
            return page.evaluate("document.querySelector('.slide.now').id")

        assert now() == "s1"
        for key, wanted in (
            ("ArrowRight", "s2"),
            ("Space", "s3"),
            ("ArrowLeft", "s2"),
            ("End", f"s{len(made)}"),
            ("ArrowRight", f"s{len(made)}"),
            ("Home", "s1"),
        ):
            page.keyboard.press(key)
            assert now() == wanted, key
        page.get_by_label("next slide").click()
        assert now() == "s2"
        noted = next(k for k, one in enumerate(made, 1) if one.notes)
        page.goto(f"{address}/{name}.html#s{noted}")
        note = page.locator(f"#s{noted} .notes")
        assert not note.is_visible()
        page.keyboard.press("n")
        assert note.is_visible()
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", OPENED)
def test_slides_fill_and_fit_a_phone_held_upright(built, browser, name):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    with serve(built[0]) as address:
        page.goto(f"{address}/{name}.html")
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        found = page.evaluate(MEASURE)
    page.close()
    for one in found:
        assert one["inside"] and one["high"] <= 1 and one["wide"] <= 1, one
        assert one["frame"] == [390, 844] and one["letters"] >= 9, one


@pytest.mark.browser
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: f"{screen[0]}x{screen[1]}")
def test_tables_are_legible_and_inside(built, browser, screen, scheme):
    """The tables of all chapters, in one file."""
    folder, made = built
    shown = [one for chapter in made.values() for one in chapter if one.kind == "table"]
    (folder / "tables.html").write_text(slides.page(shown), encoding="utf-8")
    width, height = screen
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    with serve(folder) as address:
        page.goto(f"{address}/tables.html")
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        found, whole = page.evaluate(TABLES), page.evaluate(MEASURE)
    page.close()
    assert len(found) == len(shown)
    for one, around in zip(found, whole):
        assert one["inside"] and one["contrast"] >= 4.5, one
        assert one["letters"] >= SCREENS[screen], one
        assert around["inside"] and around["high"] <= 1 and around["wide"] <= 1, around


@pytest.mark.browser
def test_slides_print_one_a_page(built, browser):
    folder, made = built
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    with serve(folder) as address:
        page.goto(f"{address}/defenses.html")
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        printed = page.pdf(prefer_css_page_size=True, print_background=True)
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == len(made["defenses"])
