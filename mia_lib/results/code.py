"""Which code a record comes from: one hash over a notebook's cells and all that they can reach.

The hash is taken of a normal form, in which two programs are equal only if they do the same. What
does not count, because it changes no number:

- comments, docstrings, layout, annotations of functions, the order of definitions;
- functions, classes and constants that nothing in the cells can reach;
- the names of functions, classes and constants and the modules that they lie in (each is known by
  the place at which it is first used), and the names of local variables;
- the values of the cell tagged `parameters`, which are in the record;
- assertions in the cells that ask for numbers and change none: those that call nothing but numpy,
  Python's own functions of numbers and what a number or a table of them answers itself;
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
import io
import json
import re
import tokenize
from pathlib import Path

from mia_lib import checks
from mia_lib.results.normal_form import Writer, asks_for_names, says_nothing
from mia_lib.results.sources import Library, names_bound, needed

SHOWN = (
    "mia_lib.__version__",
    "mia_lib.clock",
    "mia_lib.disk",
    "mia_lib.__getattr__",  # with the next: whether a library is installed, and what installs it
    "mia_lib.extras",
    "mia_lib.plots",
    "mia_lib.progress",
    "mia_lib.results.code",
    "mia_lib.results.display",
    "mia_lib.results.normal_form",
    "mia_lib.results.picture",
    "mia_lib.results.record.find",
    "mia_lib.results.record.largest",
    "mia_lib.results.record.read",
    "mia_lib.results.record.write",
    "mia_lib.results.today.as_of_today",
)
ASKING = frozenset(
    "abs all any bool dict figure float int isinstance items keys len list max mean min round set"
    " sorted str sum tuple values zip".split()
)  # what an assertion may call and not count
FINDERS = ("importlib.import_module", "importlib.util", "pkgutil", "runpy", "sys.modules")


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
        return [f"= {Writer(self, found).write(node)}" for node in found.bound[name]]

    def _effects(self, module):
        found = self.library.find(module)
        self.imports(*found.needs)
        return [f"! {Writer(self, found).write(node)}" for node in found.effects]

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
        source, shell = apart("".join(cell["source"]))
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            checks.fail(f"cell {number} of {path.name}", str(error), "Python")
        tree = _WithoutClaims().visit(tree)
        found.append((cell["metadata"].get("tags", []), tree, shell))
    return found


def apart(source):
    """The Python of a cell and, apart from it, the lines that are meant for IPython.

    Parameters
    ----------
    source : str

    Returns
    -------
    python : str
        With `pass` in place of each line that begins a statement with % or !.
    shell : list of str
        Those lines.

    Notes
    -----
    A statement that goes on, in brackets, in a text or behind a backslash, may have an operator at
    the beginning of a line. Used in scripts/run.py.

    Examples
    --------
    >>> apart("%matplotlib inline\\nx = (\\n    7\\n    % 3\\n)")
    ('pass\\nx = (\\n    7\\n    % 3\\n)', ['%matplotlib inline'])
    """
    lines, shell = source.split("\n"), []
    for number, line in enumerate(lines):
        indent = re.match(r"([ \t]*)[%!]", line)
        if indent and not _goes_on(lines[:number]):
            shell.append(line)
            lines[number] = f"{indent[1]}pass"
    return "\n".join(lines), shell


def _goes_on(lines):
    """Whether the last statement of these lines needs another one."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline):
            pass
    except tokenize.TokenError:
        return True
    except SyntaxError:  # a wrong indent, which whoever reads the whole will find
        return False
    return False


class _WithoutClaims(ast.NodeTransformer):
    """Takes assertions out of cells that ask for numbers and change none."""

    def visit_Assert(self, node):
        return None if all(map(_asks, ast.walk(node))) else node

    def generic_visit(self, node):
        node = super().generic_visit(node)
        if getattr(node, "body", True) == []:  # a block needs a statement
            node.body = [] if isinstance(node, ast.Module) else [ast.Pass()]
        return node


def _asks(node):
    """Whether a part of an assertion can be evaluated without a trace."""
    if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if not isinstance(node, ast.Call):
        return True
    named = ast.unparse(node.func)
    if named.startswith("np."):
        return not named.startswith("np.random.")
    return named.rpartition(".")[2] in ASKING


def _write_cells(program):
    """The cells in normal form, all in one scope; of the parameters the names alone."""
    trees = [tree for _, tree, _ in program.cells]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    program.names_count = any(map(asks_for_names, nodes))
    writer = Writer(program, None)
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
                if not says_nothing(statement):
                    lines.append(f"> {writer.write(statement)}")
    return lines
