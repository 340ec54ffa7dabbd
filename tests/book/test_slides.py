"""The slides have what a teacher needs of every chapter, ask for nothing and fit their frames."""

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from browsing import serve

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
            count += any("image/png" in one.get("data", {}) for one in cell.outputs)
    return count


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
def test_slides_print_one_a_page(built, browser):
    folder, made = built
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    with serve(folder) as address:
        page.goto(f"{address}/defenses.html")
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        printed = page.pdf(prefer_css_page_size=True, print_background=True)
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == len(made["defenses"])
