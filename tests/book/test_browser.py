"""Every built page in a headless browser, narrow and wide, light and dark.

Needs the built site (`make html`) and a Chromium: the one that CHROMIUM names, or one on the PATH.
Without a browser the tests are skipped, in CI they fail.
"""

import itertools
import re
from urllib.parse import unquote, urlsplit

import limits
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import HTML, SCHEMES, WIDTHS, browse, serve

NOT_PAGES = ("_static", "_sources", "_images")

LEADING = re.compile(r"-?\d+\.?\d*(e[-+]?\d+)?")  # the number with which a cell begins

pytestmark = pytest.mark.browser

LOOK = """
async () => {
  await Promise.all([...document.images].map(image => image.complete || new Promise(done => {
    image.loading = "eager";
    image.addEventListener("load", done);
    image.addEventListener("error", done);
  })));
  await document.fonts.ready;
  if (window.MathJax) await MathJax.startup.promise;
  const root = document.documentElement;
  const written = [...document.querySelectorAll(".math")];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const raw = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, code, script, style, .math")) continue;
    const found = node.data.match(
      /\\$(?=[^$\\s])[^$]*[\\\\_^][^$]*\\$|\\\\\\(.*?\\\\\\)|\\\\\\[.*?\\\\\\]/s
    );
    if (found) raw.push(found[0]);
    const next = node.nextSibling;
    if (node.data.endsWith("$") && next instanceof Element && next.matches(".math"))
      raw.push("$ beside a formula");
  }
  const named = node =>
    node.tagName.toLowerCase() + "." + String(node.className).split(" ").join(".");
  const sideways = [...document.querySelectorAll("article *")].filter(node => {
    const box = node.getBoundingClientRect();
    if (box.width === 0 || box.right <= root.clientWidth + 1) return false;
    for (let up = node.parentElement; up; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return false;
    return true;
  });
  return {
    brokenImages: [...document.images].filter(image => !image.naturalWidth).map(image => image.src),
    imagesWithoutAlt:
      [...document.images].filter(image => !image.alt.trim()).map(image => image.src),
    formulas: written.length,
    notTypeset:
      written.filter(node => !node.querySelector("mjx-container")).map(node => node.textContent),
    formulaErrors: [...document.querySelectorAll("mjx-merror")].map(node => node.textContent),
    rawFormulas: raw,
    overflow: root.scrollWidth > root.clientWidth + 1,
    sideways: sideways.slice(0, 5).map(named),
    scheme: root.dataset.theme,
    background: getComputedStyle(document.body).backgroundColor,
  };
}
"""


# Each cell of a table and each piece of code that looks like one before it is emptied: axe takes
# seconds for the contrast of thousands of them, which is that of the first that it can judge. Of
# what is hidden or has one letter it says nothing.
ONE_OF_EACH = """
() => {
  const seen = new Set(), alike = [];
  for (const leaf of document.querySelectorAll("pre span, td")) {
    if (leaf.childElementCount || [...leaf.attributes].some(one => one.name !== "class")) continue;
    if (leaf.textContent.trim().length < 2) continue;
    if (!leaf.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const own = getComputedStyle(leaf);
    let look = [leaf.tagName, own.color, own.fontSize, own.fontWeight].join();
    for (let up = leaf; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      look += style.backgroundColor + style.backgroundImage + style.opacity;
    }
    if (seen.has(look)) alike.push(leaf);
    else seen.add(look);
  }
  for (const leaf of alike) leaf.textContent = "";
}
"""

CONTRAST = {"type": "rule", "values": ["color-contrast"]}

SWITCH = """
() => {
  const root = document.documentElement.dataset, before = root.theme;
  for (let click = 0; click < 3 && root.theme === before; click++)
    document.querySelector(".theme-switch-button").click();
}
"""


def built_pages():
    """Every page of the site, without index.html, which only leads to the first page."""
    pages = sorted(path.relative_to(HTML) for path in HTML.rglob("*.html"))
    return [
        path.as_posix()
        for path in pages
        if path.parts[0] not in NOT_PAGES and path.as_posix() != "index.html"
    ]


def visit(context, site, address, switched=False, serious=False):
    """Open one page and list everything that is wrong with it.

    Parameters
    ----------
    context, site, address
    switched : bool
        Look once more in the other scheme, to which the page's own button leads.
    serious : bool
        Ask axe whether anything serious keeps anybody out; takes seconds.

    Returns
    -------
    wrong : list of str
    seen : list of dict
        What each look saw.
    """
    page, wrong, seen = context.new_page(), [], []
    page.on(
        "console",
        lambda line: wrong.append(f"console: {line.text}") if line.type == "error" else None,
    )
    page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
    page.on(
        "request",
        lambda request: _outside(request.url, site) and wrong.append(f"asks for {request.url}"),
    )
    page.on(
        "requestfailed",
        lambda request: wrong.append(f"request failed: {request.url} {request.failure}"),
    )
    page.on(
        "response",
        lambda answer: answer.status >= 400 and wrong.append(f"{answer.status} for {answer.url}"),
    )
    page.goto(f"{site}/{address}", wait_until="load")
    for look in range(1 + switched):
        if look:
            page.evaluate(SWITCH)
        seen.append(page.evaluate(LOOK))
        wrong += faults(seen[-1])
    if serious:
        # Without its own look at the style sheets: it asks for some where they do not lie.
        options = {"resultTypes": ["violations"], "preload": False}
        no_contrast = {"rules": {"color-contrast": {"enabled": False}}}
        found = Axe().run(page, options=options | no_contrast).response["violations"]
        page.evaluate(ONE_OF_EACH)  # changes what scrolls, so that all other rules come before
        found += Axe().run(page, options=options | {"runOnly": CONTRAST}).response["violations"]
        wrong += [
            f"{one['impact']} by axe: {one['id']}, {one['nodes'][0]['html']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
    page.close()
    return wrong, seen


def faults(seen):
    """What is wrong with what a look saw, a line each."""
    kinds = (
        "brokenImages",
        "imagesWithoutAlt",
        "notTypeset",
        "formulaErrors",
        "rawFormulas",
        "sideways",
    )
    wrong = [f"{what}: {one}" for what in kinds for one in seen[what]]
    return wrong + ["scrolls sideways"] * seen["overflow"]


def _outside(url, site):
    return not url.startswith((f"{site}/", "data:", "blob:"))


def formulas_written(text):
    """How many formulas a page's HTML holds, counted without a browser."""
    return len(re.findall(r'class="[^"]*\bmath\b[^"]*"', text))


def looks():
    """Every page narrow in one scheme and wide in the other, the pages taking turns."""
    found = []
    for number, address in enumerate(built_pages()):
        turn = itertools.islice(itertools.cycle(SCHEMES), number % 2, number % 2 + 2)
        found += [(address, width, scheme) for width, scheme in zip(WIDTHS, turn)]
    return found or [("(no page)", 390, "light")]


@pytest.mark.parametrize(("address", "width", "scheme"), looks())
def test_page(contexts, site, address, width, scheme):
    """A chapter in the other scheme too, a wide page also by the rules of axe."""
    chapter = address.removesuffix(".html") in limits.chapters()
    wrong, seen = visit(
        contexts[width, scheme], site, address, switched=chapter, serious=width == max(WIDTHS)
    )
    assert not wrong, "\n".join(wrong)
    formulas = formulas_written((HTML / address).read_text(encoding="utf-8"))
    schemes = [scheme, *(other for other in SCHEMES if chapter and other != scheme)]
    assert [(one["scheme"], one["formulas"]) for one in seen] == [
        (expected, formulas) for expected in schemes
    ]
    for one in seen:
        light = sum(map(int, re.findall(r"\d+", one["background"])[:3])) > 3 * 128
        assert light == (one["scheme"] == "light"), f"background {one['background']}"


def test_index_leads_to_a_page(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/index.html")
    page.wait_for_url(lambda url: not url.endswith("index.html"), timeout=5000)
    assert unquote(urlsplit(page.url).path).lstrip("/") in built_pages()
    page.close()


def test_the_table_of_papers_sorts_by_mouse_and_keyboard(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/book/replication.html")

    def column(number):
        return page.locator(f"#papers tbody td:nth-child({number})").all_inner_texts()

    before = column(1)
    page.click("#papers th:nth-child(2)")
    assert sorted(column(2)) == column(2) != sorted(column(2), reverse=True) and sorted(
        column(1)
    ) == sorted(before)
    page.click("#papers th:nth-child(2)")
    assert sorted(column(2), reverse=True) == column(2)
    page.focus("#papers th:nth-child(1)")
    page.keyboard.press("Enter")
    assert column(1) == sorted(before) != before
    page.close()


def test_the_longest_line_of_code_is_seen_whole(contexts, site):
    """88 characters, the limit of a page's code, fit where the screen has 1280 pixels."""
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/book/replication.html")
    widths = page.evaluate(
        """() => {
          const cell = document.querySelector(".cell_input pre");
          const line = document.createElement("span");
          const style = getComputedStyle(cell);
          line.textContent = "x".repeat(88);
          cell.append(line);
          const room = cell.clientWidth - parseFloat(style.paddingLeft);
          return [line.getBoundingClientRect().width, room - parseFloat(style.paddingRight)];
        }"""
    )
    assert 0 < widths[0] <= widths[1]
    page.close()


def test_the_table_of_claims_sorts_and_filters(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/book/replication.html")

    def column(number):
        return page.locator(f"#claims tbody tr:visible td:nth-child({number})").all_inner_texts()

    everything = len(column(1))
    page.fill("#claims-find", "offline")
    assert 0 < len(column(1)) < everything
    page.fill("#claims-find", "")
    page.select_option("#claims-kind", "refuted")
    assert set(column(7)) == {"refuted"}
    page.select_option("#claims-kind", index=0)
    page.click("#claims th:nth-child(5)")
    assert len(column(5)) == everything and sorted(column(5)) == column(5)
    page.click("#claims th:nth-child(4)")
    first = [LEADING.match(text.replace(",", "")) for text in column(4)]
    numbers = [float(found[0]) for found in first if found]
    assert sorted(numbers) == numbers and len(set(numbers)) > 20 and len(first) == everything
    assert None not in first[: len(numbers)], "numbers by size, then words"
    page.close()


@pytest.mark.parametrize(
    "address", [one for one in built_pages() if "/reference/modules/" in one] or ["(no page)"]
)
def test_a_page_of_the_library_is_not_too_high(contexts, site, address):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/{address}", wait_until="load")
    height = page.evaluate("document.querySelector('article').getBoundingClientRect().height")
    page.close()
    assert height <= 15_000


def test_a_bad_page_is_noticed(browser, tmp_path):
    """Each thing that the page test looks for is found in a page that is made wrong in every
    way.
    """
    (tmp_path / "bad.html").write_text(
        """<!doctype html><html data-theme="light"><body><article>
        <img src="missing.png" alt=""><script src="http://127.0.0.1:9/elsewhere.js"></script>
        <script>console.error("said aloud"); throw new Error("thrown");</script>
        <span class="math">\\(x\\)</span> $\\alpha$ <mjx-merror>bad</mjx-merror>
        <button class="theme-switch-button"
        onclick="document.documentElement.dataset.theme = 'dark'">scheme</button>
        <table><tr><td>read</td><td style="color: #eee">pale</td><td>read too</td></tr></table>
        <pre><span>code</span> <span class="pale">pale</span> <span class="pale">pale</span></pre>
        <style>.pale {color: #eee}</style>
        <div class="wide" style="width: 3000px">wide</div></article></body></html>"""
    )
    with serve(tmp_path) as site, browse(390, "light", browser) as context:
        wrong, seen = visit(context, site, "bad.html", switched=True, serious=True)
    text = "\n".join(wrong)
    for expected in (
        "asks for http://127.0.0.1:9/elsewhere.js",
        "404 for",
        "console: said aloud",
        "script error: thrown",
        "brokenImages",
        "imagesWithoutAlt",
        "notTypeset",
        "formulaErrors",
        "rawFormulas: $\\alpha$",
        "sideways: div.wide",
        "scrolls sideways",
        "serious by axe: html-has-lang, <html",
        'serious by axe: color-contrast, <td style="color: #eee"',
    ):
        assert expected in text
    assert [(one["scheme"], one["formulas"]) for one in seen] == [("light", 1), ("dark", 1)]


def test_code_that_is_too_pale_is_noticed_though_axe_sees_one_of_each(browser, tmp_path):
    (tmp_path / "pale.html").write_text(
        """<!doctype html><html lang="en" data-theme="light"><title>pale</title><main>
        <h1>pale</h1><style>.pale {color: #ddd} .dark {background: #222}</style><pre>
        <span>read</span> <span class="pale">=</span> <span class="pale"> </span>
        <span class="pale" hidden>unseen</span> <span class="pale">pale</span>
        <span class="pale">again</span> <b class="dark"><span>dark on dark</span></b></pre>
        <pre style="overflow: auto; width: 50px"><span>readable, but out of reach</span></pre>
        <table><tr><td></td><td class="pale">cell</td></tr></table></main></html>"""
    )
    with serve(tmp_path) as site, browse(1280, "light", browser) as context:
        page = context.new_page()
        page.goto(f"{site}/pale.html", wait_until="load")
        page.evaluate(ONE_OF_EACH)
        pieces = page.locator("span").all_text_contents()
        page.close()
        wrong, _ = visit(context, site, "pale.html", serious=True)
    assert pieces == ["read", "=", " ", "unseen", "pale", "", "dark on dark", ""]
    assert any('color-contrast, <span class="pale">pale' in line for line in wrong)
    assert any("scrollable-region-focusable" in line for line in wrong)


def test_the_old_address_of_a_section_leads_to_its_page(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/book/lira.html#several-queries")
    page.wait_for_url("**/lira_needs.html#several-queries", timeout=5000)
    assert page.locator("#several-queries").count() == 1
    page.goto(f"{site}/book/reference/attacks.html#mia_lib.lira.online")
    page.wait_for_url("**/modules/lira.html#mia_lib.lira.online", timeout=5000)
    assert page.locator("id=mia_lib.lira.online").count() == 1
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_drawing_follows_the_theme(contexts, site, scheme):
    """One of the two is seen, on the ground of the page."""
    page = contexts[1280, scheme].new_page()
    page.goto(f"{site}/book/intro.html")
    shown = page.locator(f"article img.in-{scheme}")
    other = page.locator(f"article img.in-{'light' if scheme == 'dark' else 'dark'}")
    assert shown.count() == other.count() > 0
    for place in range(shown.count()):
        assert shown.nth(place).is_visible() and not other.nth(place).is_visible()
        assert shown.nth(place).evaluate(
            "image => [getComputedStyle(image).filter, getComputedStyle(image).backgroundColor]"
        ) == ["none", "rgba(0, 0, 0, 0)"]
    page.close()
