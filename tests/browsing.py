"""What the tests of the built pages share: where the site is, a server on loopback, contexts."""

import contextlib
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from browser import browser_path, serve  # noqa: E402  (the folder of scripts is not a package)

__all__ = ["HTML", "SCHEMES", "WIDTHS", "browse", "browser_path", "needed", "serve"]

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")


def needed(condition, reason):
    """Skip, or in CI fail, where something that the tests need is missing."""
    if not condition:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextlib.contextmanager
def browse(width, scheme, browser):
    """A browser context of one width and colour scheme, as a reader who chose the scheme has it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.add_init_script(
        f"localStorage.setItem('mode', '{scheme}'); localStorage.setItem('theme', '{scheme}');"
    )
    yield context
    context.close()
