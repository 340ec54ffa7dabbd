"""Each argument of a function is named at the head of the one line that refuses it."""

import re

import numpy as np
import pytest


def of(function, good, *changes):
    """Cases (function, arguments, name): the good arguments (name None), then each change of them:
    a dict whose first key is refused, or (dict, name) where the error names something else.
    """
    label = getattr(function, "__name__", str(function))
    yield pytest.param(function, good, None, id=f"{label}-good")
    for change in changes:
        change, name = change if isinstance(change, tuple) else (change, next(iter(change)))
        yield pytest.param(function, good | change, name, id=f"{label}-{name}")


def check(function, arguments, name):
    """One case of `of`."""
    if name is None:
        function(**arguments)
        return
    with pytest.raises(ValueError, match=f"^{re.escape(name)}: given "):
        function(**arguments)


def defaults(function, **options):
    """One case of `same`: a call without these options, and one with them."""
    return pytest.param(function, options, id=getattr(function, "__name__", "call"))


def same(function, options):
    """The options are the documented defaults: `function(**options)` draws from a new generator
    each time, and gives what it gives without them.
    """
    np.testing.assert_equal(function(), function(**options))
