"""What a reader gets who asks for a page that is not there, prints one, or searches for a term."""

import contextlib
import functools
import http.server
import io
import re
import threading

import pypdf
import pytest
from browsing import HTML, browse, needed

pytestmark = pytest.mark.browser


class Static(http.server.SimpleHTTPRequestHandler):
    """Serves 404.html where nothing is, as servers of static pages do, the site lying in a
    folder.
    """

    def log_message(self, *_):
        pass

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/somewhere"))

    def send_error(self, code, message=None, explain=None):
        text = (HTML / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture(scope="module")
def published():
    needed((HTML / "index.html").is_file(), "the site is not built: run `make html` first")
    handler = functools.partial(Static, directory=str(HTML))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/somewhere"
        server.shutdown()


@pytest.mark.parametrize(
    "address", ["book/the_lira.html", "book/reference/lira.html", "lira.html", "book/no/such/lira"]
)
def test_a_page_that_is_not_there_leads_to_those_that_are(contexts, published, address):
    page = contexts[1280, "light"].new_page()
    answer = page.goto(f"{published}/{address}")
    assert answer.status == 404 and "no such page" in page.inner_text("h1")
    assert page.inner_text("#asked") == f"/somewhere/{address}"
    root = f"{published}/" if address.startswith("book/") or "/" not in address else None
    links = page.locator("main ol a").evaluate_all("all => all.map(one => one.href)")
    assert len(links) > 70 and all(link.startswith(root) for link in links)
    assert all((HTML / link.removeprefix(root)).is_file() for link in links)
    page.click("#near a")
    page.wait_for_url(f"{root}*/lira.html")
    assert page.locator("h1").count() and page.goto(page.url).status == 200
    page.close()


def test_a_page_is_printed_in_the_light_and_unfolded(browser, site):
    with browse(1280, "dark", browser) as context:
        page = context.new_page()
        page.goto(f"{site}/book/lira.html", wait_until="load")
        page.evaluate("MathJax.startup.promise.then(() => 1)")
        page.evaluate(
            """() => addEventListener("beforeprint", () => setTimeout(() => {}, 0)) ||
                 (window.seen = [],
                  addEventListener("beforeprint", () => seen.push(
                    document.documentElement.dataset.theme,
                    document.querySelectorAll("article details:not([open])").length)))"""
        )
        folded = page.locator("article details:not([open])").count()
        printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4")))
        assert page.evaluate("seen") == ["light", 0] and folded > 0
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.locator("article details:not([open])").count() == folded
        page.emulate_media(media="print")
        for gone in (
            ".bd-sidebar-primary",
            ".bd-sidebar-secondary",
            ".prev-next-footer",
            ".bd-header-article",
        ):
            assert not page.locator(gone).first.is_visible(), gone
        wrapped = page.locator(".cell_input pre").first.evaluate(
            "one => getComputedStyle(one).whiteSpaceCollapse + getComputedStyle(one).textWrapMode"
        )
        assert wrapped == "preservewrap"
    text = "\n".join(sheet.extract_text() for sheet in printed.pages)
    assert len(printed.pages) > 8 and "Show code cell" not in text
    assert re.search(r"^Solution", text, re.MULTILINE)


def test_search_finds_a_term_of_the_glossary(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/search.html?q=onion+effect")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").evaluate_all("all => all.map(one => one.href)")
    assert any("reference/glossary.html#term-onion-effect" in one for one in found), found
    page.close()


def test_a_term_leads_to_its_entry(contexts, site):
    page = contexts[1280, "light"].new_page()
    page.goto(f"{site}/book/class_aware.html")
    page.click("article a[href$='#term-deep-kernel']")
    page.wait_for_url("**/glossary.html#term-deep-kernel")
    assert page.locator("#term-deep-kernel").inner_text().startswith("deep kernel")
    page.close()
