"""Which code a record comes from: one hash over a notebook's cells and all that they can reach.

The hash is taken of a normal form, in which two programs are equal only if they do the same. What
does not count, because it changes no number:

- comments, docstrings, layout, annotations of functions, the order of definitions;
- functions, classes and constants that nothing in the cells can reach;
- the names of functions, classes and constants and the modules that they lie in (each is known by
  the place at which it is first used), and the names of local variables;
- the values of the cell tagged `parameters`, which are in the record;
- what draws, shows, times and writes (`SHOWN`): it takes numbers and gives none back.

What counts although a rerun may give the same numbers: names of parameters, attributes and methods
(a caller may use them as text), messages of errors, an expression that is rewritten, a function
that is split or inlined. What a call can reach is overestimated: every method of a class that is
named somewhere, every function of a module that is handed on or asked with `getattr`, everything
where code is made from text. Files that the code reads are not followed; data have their own hash.
The text of a function's own name (`__name__`) counts where the cells ask for it, not where the
library puts it into a message.
"""

import ast
import hashlib
import json
import re
from pathlib import Path

from mia_lib import checks
from mia_lib.results.sources import Library, imports, names_bound, needed

SHOWN = (
    "mia_lib.__version__",
    "mia_lib.clock",
    "mia_lib.disk",
    "mia_lib.plots",
    "mia_lib.progress",
    "mia_lib.results.code",
    "mia_lib.results.display",
    "mia_lib.results.picture",
    "mia_lib.results.record.as_of_today",
    "mia_lib.results.record.find",
    "mia_lib.results.record.largest",
    "mia_lib.results.record.read",
    "mia_lib.results.record.write",
)
FROM_TEXT = ("eval", "exec", "__import__")  # builtins that make code from text
NAMESPACES = ("globals", "locals", "vars")
FINDERS = ("importlib.import_module", "importlib.util", "pkgutil", "runpy", "sys.modules")
INVISIBLE = ("lineno", "col_offset", "end_lineno", "end_col_offset", "ctx", "kind", "type_comment")


def hash_code(notebook, library=None):
    """SHA-256 over the code cells of a notebook and the functions that they can reach.

    Parameters
    ----------
    notebook : path
        An .ipynb file.
    library : path, optional
        The folder of the package whose code counts. Default: mia_lib.

    Returns
    -------
    str
        64 hexadecimal digits. Comments, docstrings, names that are not part of a call and code
        that is out of reach do not matter; the module's docstring says what does.

    Raises
    ------
    ValueError
        A file that is no notebook, a cell that is no Python.

    Examples
    --------
    >>> import json, tempfile
    >>> page = Path(tempfile.mkdtemp(), "page.ipynb")
    >>> def hashed(*lines):
    ...     cell = {"cell_type": "code", "metadata": {}, "source": "\\n".join(lines)}
    ...     _ = page.write_text(json.dumps({"cells": [cell]}))
    ...     return hash_code(page)
    >>> hashed("total = 1  # one", "total") == hashed("n = 1", "n") != hashed("n = 2", "n")
    True
    """
    return hashlib.sha256("\n".join(_Program(notebook, library).lines()).encode()).hexdigest()


def reached(notebook, library=None):
    """Names of what the code cells of a notebook can reach, such as "mia_lib.metrics.roc.roc".

    Parameters
    ----------
    notebook, library : path
        As in `hash_code`.

    Returns
    -------
    list of str
        Sorted; a module that counts as a whole is among them by its own name.

    Examples
    --------
    >>> import json, tempfile
    >>> page = Path(tempfile.mkdtemp(), "page.ipynb")
    >>> cell = {"cell_type": "code", "metadata": {}, "source": "from mia_lib import checks\\n"
    ...     "checks.fail('a', 'b', 'c')"}
    >>> _ = page.write_text(json.dumps({"cells": [cell]}))
    >>> reached(page)
    ['mia_lib.checks.fail']
    """
    program = _Program(notebook, library)
    program.lines()
    return sorted(".".join(key[1:]) for key in program.numbers)


class _Program:
    """Everything reached so far, in the order in which it was."""

    def __init__(self, notebook, library):
        self.library = Library(Path(__file__).parents[1] if library is None else library)
        self.cells = _cells(Path(notebook))
        self.numbers, self.names_count = {}, False
        self.modules = {}  # imported somewhere on the way, as an ordered set

    def lines(self):
        """The normal form, a line per cell and per thing reached."""
        found = _write_cells(self)
        done, acted = 0, 0
        while done < len(self.numbers) or acted < len(self.modules):
            if done < len(self.numbers):
                kind, *where = list(self.numbers)[done]
                found += self._unit(*where) if kind == "unit" else self._module(*where)
                done += 1
            else:
                found += self._effects(list(self.modules)[acted])
                acted += 1
        return found

    def token(self, reference):
        """How a reference is written, the thing itself being put on the list of what is reached."""
        kind, *where = reference
        dotted = ".".join(where)
        if kind == "outside":
            if dotted.startswith(FINDERS):
                self.everything()
            return f"^{dotted}"
        if any(dotted == name or dotted.startswith(name + ".") for name in SHOWN):
            return "^shown"
        self.imports(where[0])
        number = self.numbers.setdefault(reference, len(self.numbers))
        return f"@{number}:{where[-1]}" if self.names_count else f"@{number}"

    def everything(self):
        """Reach all of the library, since the text does not say what is meant."""
        return self.token(("module", self.library.root))

    def imports(self, *modules):
        """Note that modules are imported, with the packages that hold them."""
        for module in modules:
            parts = module.split(".")
            for end in range(1, len(parts) + 1):
                dotted = ".".join(parts[:end])
                if dotted not in self.modules and self.library.find(dotted) is not None:
                    self.modules[dotted] = None

    def _unit(self, module, name):
        found = self.library.find(module)
        return [f"= {_Writer(self, found).write(node)}" for node in found.bound[name]]

    def _effects(self, module):
        found = self.library.find(module)
        self.imports(*found.needs)
        return [f"! {_Writer(self, found).write(node)}" for node in found.effects]

    def _module(self, dotted):
        """All names of a module, which count because it may be asked for any of them."""
        found = self.library.find(dotted)
        if found is None:
            return [f"? {dotted}"]
        own = {name: ("unit", dotted, name) for name in found.bound}
        for name in found.imported:
            reference = self.library.member(dotted, name)
            if reference and reference[0] == "unit":
                own[name] = reference
        for name in self.library.submodules(dotted):
            own.setdefault(name.rpartition(".")[2], ("module", name))
        stars = [self.token(self.library.target(star)) for star in found.stars]
        return [*stars, *(f". {name} {self.token(own[name])}" for name in sorted(own))]


class _Writer:
    """Writes statements in normal form; one for all cells, and one for each thing of the library.

    `scopes` are the scopes around a node, the innermost last: what kind, which names it binds
    (with their numbers once they are used), and what its imports bind.
    """

    def __init__(self, program, module):
        self.program, self.library, self.module = program, program.library, module
        self.scopes, self.count = [], 0

    # Names

    def push(self, kind, statements, names=()):
        bound, found = names_bound(statements)
        own = self.module.name if self.module else ""
        imported = {}
        for node in found:
            package = bool(self.module and self.module.is_package)
            self.program.imports(*needed(node, own, package))
            for name, source, attribute in imports(node, own, package):
                if name == "*":
                    self.program.token(self.library.target(source))
                else:
                    imported.setdefault(name, []).append(self.library.target(source, attribute))
        self.scopes.append((kind, dict.fromkeys({*bound, *names}), imported))

    def name(self, name):
        """How a name is written: by number, as an attribute, or as what it refers to."""
        reference = self.refers(name)
        if reference:
            return self.program.token(reference)
        for depth, (kind, bound, imported) in enumerate(reversed(self.scopes)):
            if kind == "class" and depth:
                continue
            for target in imported.get(name, ()):  # imported twice, or bound as well
                self.program.token(target)
            if name in imported or name in bound:
                if kind == "class" or (kind == "cells" and self.program.names_count):
                    return f".{name}"
                if bound.get(name) is None:
                    bound[name], self.count = f"~{self.count}", self.count + 1
                return bound[name]
        if name in FROM_TEXT:
            self.program.everything()
        elif name in ("globals", "locals") and self.module:
            self.program.token(("module", self.module.name))
        return name

    def refers(self, name):
        """What a name stands for if it is imported or at the top of a module, else None."""
        for depth, (kind, bound, imported) in enumerate(reversed(self.scopes)):
            if kind == "class" and depth:
                continue
            if name in imported and name not in bound and len(imported[name]) == 1:
                return imported[name][0]
            if name in imported or name in bound:
                return None
        return self.library.member(self.module.name, name) if self.module else None

    def reference(self, node):
        """What a name or a dotted name stands for, or None."""
        if isinstance(node, ast.Name):
            return self.refers(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        kind, *where = self.reference(node.value) or (None,)
        if kind == "outside":
            return ("outside", f"{where[0]}.{node.attr}")
        return self.library.member(where[0], node.attr) if kind == "module" else None

    # Nodes

    def write(self, node):
        special = getattr(self, f"_{type(node).__name__}", None)
        return special(node) if special else self._plain(node)

    def _plain(self, node):
        parts = [type(node).__name__]
        for field, value in ast.iter_fields(node):
            if field in INVISIBLE or value is None or value == []:
                continue
            parts.append(f"{field}={self._value(value)}")
        return f"({' '.join(parts)})"

    def _value(self, value):
        if isinstance(value, list):
            return self._list(value)
        return self.write(value) if isinstance(value, ast.AST) else repr(value)

    def _list(self, nodes):
        written = [self._value(node) for node in nodes if not _says_nothing(node)]
        return f"[{' '.join(written)}]"

    def _Name(self, node):
        return self.name(node.id)

    def _Attribute(self, node):
        reference = self.reference(node)
        if reference:
            return self.program.token(reference)
        if node.attr in ("__subclasses__", "__globals__"):
            self.program.everything()
        return f"{self.write(node.value)}.{node.attr}"

    def _Constant(self, node):
        text = node.value
        if isinstance(text, str) and "." in text and self.library.find(text) is not None:
            return self.program.token(("module", text))  # python -m, a pickled name
        return f"{type(text).__name__} {text!r}"

    def _Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "vars" and not node.args:
            return self.name("locals") + "()"
        return self._plain(node)

    def _FunctionDef(self, node):
        name = self.name(node.name)
        before = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        if node.name == "__init_subclass__":
            self.program.everything()
        return (
            f"({type(node).__name__} {name} {self._list(before)} {self._inside(node, node.body)})"
        )

    _AsyncFunctionDef = _FunctionDef

    def _Lambda(self, node):
        before = [*node.args.defaults, *node.args.kw_defaults]
        return f"(Lambda {self._list(before)} {self._inside(node, [node.body])})"

    def _inside(self, node, body):
        """A function's parameters, which keep their names where a caller may use them, and body."""
        args = node.args
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        rest = [one for one in (args.vararg, args.kwarg) if one is not None]
        self.push("function", body, [one.arg for one in (*named, *rest)])
        kinds = [len(args.posonlyargs), len(args.args), len(args.kwonlyargs)]
        kinds += [args.vararg is not None, args.kwarg is not None]
        numbers = [self.name(one.arg) for one in (*named, *rest)]
        kept = [one.arg for one in (*args.args, *args.kwonlyargs)]
        text = f"{kinds} {kept} {numbers} {self._list(body)}"
        self.scopes.pop()
        return text

    def _ClassDef(self, node):
        name = self.name(node.name)
        before = self._list([*node.decorator_list, *node.bases, *node.keywords])
        self.push("class", node.body)
        body = self._list(node.body)
        self.scopes.pop()
        return f"(ClassDef {name} {before} {body})"

    def _comprehension(self, node):
        first = self.write(node.generators[0].iter)
        targets, _ = names_bound([one.target for one in node.generators])
        self.push("function", [], targets)
        loops = []
        for place, one in enumerate(node.generators):
            source = self.write(one.iter) if place else first
            loops.append(f"{one.is_async} {self.write(one.target)} {source} {self._list(one.ifs)}")
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        text = f"({type(node).__name__} {loops} {self._list(parts)})"
        self.scopes.pop()
        return text

    _ListComp = _SetComp = _DictComp = _GeneratorExp = _comprehension

    def _AnnAssign(self, node):
        """The annotation counts in a class, where it makes a field, and nowhere else."""
        in_class = self.scopes and self.scopes[-1][0] == "class"
        parts = [node.target, node.annotation] if in_class else [node.target]
        return f"(AnnAssign {self._list(parts)} {self._value(node.value)})"

    def _Import(self, node):
        own = self.module.name if self.module else ""
        package = bool(self.module and self.module.is_package)
        found = [one for one in imports(node, own, package) if not self.library.owns(one[1])]
        return f"(Import {sorted({f'{source} {attribute}' for _, source, attribute in found})})"

    _ImportFrom = _Import

    def _named(self, node):
        """An except clause or a pattern of match: nodes that hold a name as text."""
        parts = [type(node).__name__]
        for field, value in ast.iter_fields(node):
            if value is not None and value != []:
                text = field in ("name", "rest")
                parts.append(f"{field}={self.name(value) if text else self._value(value)}")
        return f"({' '.join(parts)})"

    _ExceptHandler = _MatchAs = _MatchStar = _MatchMapping = _named


def _says_nothing(node):
    """A docstring, a bare constant, or what only says where names belong."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _cells(path):
    """(tags, syntax tree, lines for IPython) of every code cell."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        checks.fail("notebook", f"{path} ({type(error).__name__})", "an .ipynb file")
    found = []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        shell = re.findall(r"^[ \t]*[%!].*$", source, flags=re.MULTILINE)
        source = re.sub(r"^([ \t]*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            checks.fail(f"cell {number} of {path.name}", str(error), "Python")
        found.append((cell["metadata"].get("tags", []), tree, shell))
    return found


def _write_cells(program):
    """The cells in normal form, all in one scope; of the parameters the names alone."""
    trees = [tree for _, tree, _ in program.cells]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    program.names_count = any(map(_asks_for_names, nodes))
    writer = _Writer(program, None)
    program.imports(
        *(
            name
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in needed(node, "")
        )
    )
    writer.push("cells", [statement for tree in trees for statement in tree.body])
    if program.names_count:
        for targets in writer.scopes[0][2].values():
            for target in targets:
                program.token(target)
    lines = []
    for tags, tree, shell in program.cells:
        for line in shell:
            lines.append(f"% {line.strip()}")
            for word in re.findall(r"[\w.]+", line):
                if program.library.find(word) is not None:
                    program.token(("module", word))
        for statement in tree.body:
            if "parameters" in tags and isinstance(statement, (ast.Assign, ast.AnnAssign)):
                names, _ = names_bound([statement])
                lines.append(f"parameter {[(name, writer.name(name)) for name in sorted(names)]}")
            elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
                if not _says_nothing(statement):
                    lines.append(f"> {writer.write(statement)}")
    return lines


def _asks_for_names(node):
    """Whether code finds things by their names as text, so that names count."""
    if isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
        return _called(node.value) != "type"
    if isinstance(node, ast.Subscript):
        return _called(node.value) in NAMESPACES
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "get" and _called(node.func.value) in NAMESPACES
    return _called(node) in FROM_TEXT


def _called(node):
    """The name of the function that a node calls, or None."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if named else None
