"""How high a chapter is, and how soon a picture comes: what only a browser knows of its limits."""

import limits
import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", limits.chapters())
def test_a_chapter_is_not_too_high_and_shows_a_picture_early(contexts, site, name):
    entries = limits.known().get(name, {})
    found = limits.look(contexts[1280, "light"], f"{site}/{name}.html")
    assert not list(limits.wrong(name, found, entries))
