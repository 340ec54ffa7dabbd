"""A Sphinx extension for packages of the library whose names do not fit on one page.

    .. library-part:: mia_lib.metrics

       family records

documents what the package gives out from these files of it, in the order of its list.
"""

import ast
import importlib
import inspect
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


def homes(package):
    """The file of the package that gives each public name, by name.

    A name that comes from another package has the file that imports it.
    """
    module = importlib.import_module(package)
    found = {}
    for path in sorted(Path(module.__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [getattr(node, "name", None)]
            if isinstance(node, ast.Assign):
                names = [getattr(target, "id", None) for target in node.targets]
            elif isinstance(node, ast.ImportFrom):
                outside = not (node.module or "").startswith(f"{package}.")
                names = [one.asname or one.name for one in node.names if outside]
            for name in names:
                if path.stem != "__init__" or name not in found:
                    found[name] = path.stem
    return {name: found[name] for name in module.__all__}


def names_of(package, files):
    """The public names of some files of a package."""
    return [name for name, file in homes(package).items() if file in files]


def entries(package, files):
    """Lines of autodoc directives; a constant has no docstring of its own to show."""
    module = importlib.import_module(package)
    for name in names_of(package, files):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from (f".. autoclass:: {package}.{name}", "   :members:", "")
        elif inspect.isroutine(value):
            yield from (f".. autofunction:: {package}.{name}", "")


class LibraryPart(Directive):
    """The directive."""

    required_arguments = 1
    has_content = True

    def run(self):
        files = " ".join(self.content).split()
        lines = list(entries(self.arguments[0], files))
        node = nodes.container()
        source = StringList(lines, source=f"{self.arguments[0]}: {' '.join(files)}")
        self.state.nested_parse(source, 0, node)
        return node.children


def setup(app):
    app.add_directive("library-part", LibraryPart)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
