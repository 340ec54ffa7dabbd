"""Statements in a normal form, in which two programs are equal only if they do the same.

`results.code` says what counts. A name is written as what it refers to, by its number: something of
the library, another package's, or a local variable.
"""

import ast

from mia_lib.results.sources import imports, names_bound, needed

FROM_TEXT = ("eval", "exec", "__import__")  # builtins that make code from text
NAMESPACES = ("globals", "locals", "vars")
INVISIBLE = ("lineno", "col_offset", "end_lineno", "end_col_offset", "ctx", "kind", "type_comment")


class Writer:
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
                    targets = imported.setdefault(name, [])
                    target = self.library.target(source, attribute)
                    if target not in targets:  # the same import in two cells says one thing
                        targets.append(target)
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
        written = [self._value(node) for node in nodes if not says_nothing(node)]
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

    def _JoinedStr(self, node):
        """Python 3.12.1 ends a format that is itself computed with an empty text, others do not."""
        empty = ast.dump(ast.Constant(""))
        return self._plain(ast.JoinedStr([one for one in node.values if ast.dump(one) != empty]))

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


def says_nothing(node):
    """A docstring, a bare constant, or what only says where names belong."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def asks_for_names(node):
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
