import contextlib

import pytest
from browsing import HTML, SCHEMES, WIDTHS, browse, browser_path, needed, serve


@pytest.fixture(scope="module")
def browser():
    path = browser_path()
    needed(path, "no Chromium found: install it or name it in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root; --no-sandbox changes nothing that is tested here.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def site():
    needed((HTML / "index.html").is_file(), "the site is not built: run `make html` first")
    with serve(HTML) as address:
        yield address


@pytest.fixture(scope="module")
def contexts(browser):
    with contextlib.ExitStack() as stack:
        yield {(w, s): stack.enter_context(browse(w, s, browser)) for w in WIDTHS for s in SCHEMES}
