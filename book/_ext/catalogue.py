"""A Sphinx extension for the table of attacks on the reference page.

    .. attack-catalogue::

becomes a table of `mia_lib.attacks.CATALOGUE`, so that an attack is found by its
authors and no line of the table is typed.
"""

import functools
import importlib
import inspect

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

HEAD = (
    "attack",
    "authors",
    "what the adversary has",
    "function",
    "what is computed",
    "settings",
)
HEAD += ("chapter",)


def function_of(attack):
    """The public function behind an entry, as the reference pages call it."""
    scored = inspect.unwrap(attack.one_target)
    if scored.__name__ != "as_it_is":
        return public_name(scored)
    signal = attack.signal
    signal = signal.func if isinstance(signal, functools.partial) else signal
    return public_name(inspect.unwrap(signal))


def public_name(function):
    """`mia_lib.ROOM.NAME` of a function, wherever in its room it is defined."""
    room = ".".join(function.__module__.split(".")[:2])
    if getattr(importlib.import_module(room), function.__name__, None) is not function:
        raise ValueError(f"{function.__name__}: not public in {room}")
    return f"{room}.{function.__name__}"


def settings_of(attack):
    """The settings of an entry, those of its signal included."""
    bound = (
        attack.signal.keywords if isinstance(attack.signal, functools.partial) else {}
    )
    return ", ".join(
        f"{name} = {value}" for name, value in {**bound, **attack.options}.items()
    )


def row(attack):
    """The cells of an entry, in reStructuredText."""
    kind = "class" if function_of(attack).split(".")[-1][0].isupper() else "func"
    return (
        attack.name,
        f"{attack.authors} {attack.year}",
        attack.adversary,
        f":py:{kind}:`~{function_of(attack)}`",
        attack.equation.replace("_", r"\_").replace("|", r"\|"),
        settings_of(attack).replace("_", r"\_"),
        f":doc:`/{attack.chapter.removesuffix('.ipynb')}`",
    )


def table(catalogue):
    """Lines of a list-table."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: attack-catalogue", ""]
    for cells in (HEAD, *(row(attack) for attack in catalogue)):
        for place, cell in enumerate(cells):
            lines.append(f"   {'* -' if place == 0 else '  -'} {cell}".rstrip())
    return lines


class AttackCatalogue(Directive):
    """The directive."""

    def run(self):
        from mia_lib import attacks

        lines = StringList(table(attacks.CATALOGUE), source="attacks.CATALOGUE")
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, lines, node)
        return node.children


def setup(app):
    app.add_directive("attack-catalogue", AttackCatalogue)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
