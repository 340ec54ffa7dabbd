"""A package as text: what each of its modules binds, imports and does when it is imported.

Nothing is imported or executed; everything is read from the syntax trees. `results.code` asks here
what a name stands for.
"""

import ast
import dataclasses
import functools
import re
from pathlib import Path

PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign)
LATER = "extras.module"  # what stands for an import that is put off
# Decorators from these packages register nothing: what has one and is never named is not reached.
HARMLESS = ("contextlib", "dataclasses", "functools", "torch")


@dataclasses.dataclass
class Module:
    """One file: names bound at its top, each with the statements that make it; imports; effects."""

    name: str
    is_package: bool = False
    bound: dict = dataclasses.field(default_factory=dict)  # name -> statements
    imported: dict = dataclasses.field(default_factory=dict)  # name -> (module, attribute or None)
    stars: list = dataclasses.field(default_factory=list)
    effects: list = dataclasses.field(default_factory=list)  # executed on import whoever asks
    needs: list = dataclasses.field(default_factory=list)  # modules that importing it imports


class Library:
    """The modules of one package, read when they are asked for.

    A reference is a tuple: ("unit", module, name) for what a statement at the top of a module
    binds, ("module", dotted name), or ("outside", dotted name) for another package.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.root = self.folder.name
        self._modules = {}

    def owns(self, dotted):
        """Whether a dotted name lies in the package."""
        return dotted == self.root or dotted.startswith(self.root + ".")

    def find(self, dotted):
        """The module of that name, or None."""
        if dotted not in self._modules:
            path = self._path(dotted)
            changed = path and path.stat().st_mtime_ns  # a file that has changed is read again
            self._modules[dotted] = path and _module(dotted, path, changed)
        return self._modules[dotted]

    def _path(self, dotted):
        if not self.owns(dotted) or not all(part.isidentifier() for part in dotted.split(".")):
            return None
        base = self.folder.joinpath(*dotted.split(".")[1:])
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return path
        return None

    def submodules(self, dotted):
        """Names of the modules directly in a package, sorted."""
        found = self.find(dotted)
        if found is None or not found.is_package:
            return []
        folder = self.folder.joinpath(*dotted.split(".")[1:])
        files = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
        folders = [path.parent.name for path in folder.glob("*/__init__.py")]
        return sorted(f"{dotted}.{name}" for name in {*files, *folders})

    def target(self, module, attribute=None):
        """What an import of `module`, or of an attribute from it, brings."""
        if not self.owns(module):
            return ("outside", module if attribute is None else f"{module}.{attribute}")
        found = self.find(module)
        if found is None:  # not there to be read: all of the closest parent that is
            return self.target(module.rpartition(".")[0]) if "." in module else ("module", module)
        if attribute is None:
            return ("module", module)
        return self.member(module, attribute) or ("module", module)

    def member(self, module, name, seen=()):
        """What `module.name` is, or None where the text does not say."""
        found = self.find(module)
        if found is None or module in seen:
            return None
        if name in found.bound:
            return ("unit", module, name)
        if name in found.imported:
            return self.target(*found.imported[name])
        if self.find(f"{module}.{name}") is not None:
            return ("module", f"{module}.{name}")
        if name in ("__doc__", "__file__", "__name__", "__path__", "__spec__"):
            return ("outside", f"module.{name}")
        inherited = (self.member(star, name, (*seen, module)) for star in found.stars)
        return next((reference for reference in inherited if reference), None)


def imports(statement, module, is_package=False):
    """(name that is bound, module, attribute or None) of an import statement; "*" binds all."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            first = alias.name.partition(".")[0]
            yield (alias.asname or first, alias.name if alias.asname else first, None)
        return
    source = statement.module or ""
    if statement.level:
        parts = module.split(".")
        parts = parts[: len(parts) - statement.level + is_package]
        source = ".".join([*parts, *([source] if source else [])])
    for alias in statement.names:
        yield (alias.asname or alias.name, source, alias.name)


def needed(statement, module, is_package=False):
    """Modules that a statement imports when it is executed, functions and classes apart."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for _, source, attribute in imports(node, module, is_package):
                yield source
                yield f"{source}.{attribute}"  # where it is a module


def names_bound(nodes):
    """Names that statements bind in their own scope, not in the functions and classes within.

    Returns
    -------
    set of str
        Assigned, defined or caught.
    list of ast.Import or ast.ImportFrom
        The imports among them.
    """
    names, found, outer = set(), [], set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            todo += node.decorator_list
            todo += getattr(node, "bases", [])
            todo += _defaults(node)
        elif isinstance(node, ast.Lambda):
            todo += _defaults(node)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            walrus = (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            names.update(part.target.id for part in walrus)
            todo.append(node.generators[0].iter)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        elif isinstance(node, (ast.Attribute, ast.Constant)):
            todo += [node.value] if isinstance(node, ast.Attribute) else []
        else:
            for field in ("name", "rest"):  # of except and match
                if isinstance(getattr(node, field, None), str):
                    names.add(getattr(node, field))
            todo += ast.iter_child_nodes(node)
    return names - outer, found


def _defaults(node):
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return []
    return [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]


@functools.lru_cache(maxsize=1000)
def _module(dotted, path, changed):
    made = Module(dotted, path.name == "__init__.py")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for statement in map(_as_import, body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, source, attribute in imports(statement, dotted, made.is_package):
                if name == "*":
                    made.stars.append(source)
                else:
                    made.imported[name] = (source, attribute)
            made.needs += needed(statement, dotted, made.is_package)
    for statement in map(_as_import, body):
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) and not _is_main(statement):
            _file_under(made, statement)
    for name in made.bound:
        made.imported.pop(name, None)
    return made


def _as_import(statement):
    """``name = extras.module("dotted.name")`` as the import that it puts off; all else as it is."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        call, (target, *others) = statement.value, statement.targets
        if ast.unparse(call.func) == LATER and isinstance(target, ast.Name) and not others:
            alias = ast.alias(ast.literal_eval(call.args[0]), target.id)
            return ast.copy_location(ast.Import([alias]), statement)
    return statement


def _file_under(module, statement):
    """Put a statement where it is found: under the names that it makes, or among the effects."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return  # a docstring
    owner = _owner(statement)
    if owner in module.bound:  # NAME.attribute = ..., NAME[...] = ..., NAME.method(...)
        module.bound[owner].append(statement)
        return
    names, inner = names_bound([statement])
    for node in inner:  # an import in a try or an if: the statement as a whole makes the name
        names.update(name for name, *_ in imports(node, module.name, module.is_package))
    module.needs += [
        name for node in inner for name in needed(node, module.name, module.is_package)
    ]
    for name in names:
        module.bound.setdefault(name, []).append(statement)
    if _acts(module, statement, names):
        module.effects.append(statement)


def _acts(module, statement, names):
    """Whether a statement may do something that is seen elsewhere than under the names it binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        said = [re.split(r"\W", ast.unparse(node))[0] for node in statement.decorator_list]
        packages = {module.imported.get(name, (name,))[0].partition(".")[0] for name in said}
        return not packages <= set(HARMLESS) or bool(getattr(statement, "keywords", None))
    return not (isinstance(statement, PLAIN) and names)


def _owner(statement):
    """The name whose value a statement changes, or None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        node = statement.targets[0]
    elif isinstance(statement, ast.AugAssign):
        node = statement.target
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        node = statement.value.func
    else:
        return None
    if isinstance(node, ast.Name):
        return None
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_main(statement):
    return isinstance(statement, ast.If) and ast.unparse(statement.test) in (
        "__name__ == '__main__'",
        "TYPE_CHECKING",
    )
