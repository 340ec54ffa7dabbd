"""What the tests of the built pages share: where the site is, a server on loopback, contexts."""

import contextlib
import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")


def browser_path():
    """Where Chromium is, or None."""
    named = os.environ.get("CHROMIUM")
    return named or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


def needed(condition, reason):
    """Skip, or in CI fail, where something that the tests need is missing."""
    if not condition:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(folder):
    """Serve a folder on loopback; gives the address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def browse(width, scheme, browser):
    """A browser context of one width and colour scheme, as a reader who chose the scheme has it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.add_init_script(
        f"localStorage.setItem('mode', '{scheme}'); localStorage.setItem('theme', '{scheme}');"
    )
    yield context
    context.close()
