"""A Sphinx extension for the pages that are made from docstrings.

A chapter that a docstring names becomes a link to it.
"""

import re
from collections import _tuplegetter

CHAPTER = re.compile(r"\b(book|notebooks)/(\w+)\.ipynb\b")


def _link_chapters(app, what, name, object_, options, lines):
    lines[:] = [CHAPTER.sub(r":doc:`/\1/\2`", line) for line in lines]


def _skip_fields(app, what, name, object_, skip, options):
    """A named tuple's fields stand under its parameters already; by themselves they say
    nothing
    more.
    """
    return True if isinstance(object_, _tuplegetter) else None


def setup(app):
    app.connect("autodoc-process-docstring", _link_chapters, priority=100)
    app.connect("autodoc-skip-member", _skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
