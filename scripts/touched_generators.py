"""Which compared cells of a notebook draw from a generator that training has touched.

The output of a cell is compared word for word unless the cell is tagged `nbval-ignore-output`. Such
a tag says that the output depends on training, whose last bits differ between processors. Where
such a cell hands a generator on, to a bootstrap or to a test, the number of draws may depend on the
trained numbers too, and every later draw from that generator then differs between processors.

A name is a generator after `name = np.random.default_rng(...)` and after `name = another`, until it
is bound to something else. A generator is touched

- by a cell that is not compared, if that hands it to a function, or draws from it under `if` or
  `while`. Exempt are the functions of DEALS, whose draws depend on counts alone; a function of the
  notebook itself is looked into, where it is called or handed to a call;
- by any cell that hands it to training: to a function of TRAINERS, or in a list, as a fit takes
  its generators. A GAN draws one integer, whatever it learns, and touches nothing by that.

The fault is a compared cell that uses a generator which an earlier cell has touched. A draw such as
`rng.normal(size=n)` touches nothing, and `rng.spawn(k)` is always allowed, because children depend
on the seed alone. Generators in containers and torch's own are not followed.
"""

import ast

TRAINERS = frozenset(
    (
        *(
            "classifier_embedding",
            "MembershipNetwork",
            "label_network",
            "per_class_networks",
            "gradient_attack",
        ),
    )
)
DEALS = frozenset(
    ("half_masks", "bernoulli_masks", "synthetic_purchase", "purchase_mixture", "sample")
)
NOT_COMPARED = ("nbval-ignore-output", "nbval-skip")


def faults(cells):
    """What is wrong, in words.

    Parameters
    ----------
    cells : sequence of dict
        A notebook's cells, as in its file.

    Yields
    ------
    str
        "cell NUMBER: ...", numbered among all cells.
    """
    follow, touched = _Follow(), {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        lines = [line for line in source.splitlines() if not line.startswith(("%", "!"))]
        try:
            tree = ast.parse("\n".join(lines))
        except SyntaxError:
            continue  # style is another check's matter
        compared = not set(NOT_COMPARED) & set(cell["metadata"].get("tags", []))
        follow.begin(compared)
        follow.visit(tree)
        for key in sorted(follow.used.keys() & touched.keys()) if compared else ():
            where, what = touched[key]
            yield (
                f"cell {number}: its output is compared, but it draws from "
                f"{follow.used[key]!r}, which cell {where} handed to {what}: training has touched "
                f"it, give the cell a generator of its own"
            )
        for key, what in follow.touches.items():
            touched.setdefault(key, (number, what))


def _called(call):
    """The last part of a called function's name."""
    function = call.func
    return getattr(function, "attr", None) or getattr(function, "id", "a function")


class _Follow(ast.NodeVisitor):
    """Follows generators by name through the cells, in the order in which they run."""

    def __init__(self):
        self.scopes = [{}]  # name -> key of a generator, None for anything else; innermost last
        self.functions, self.running, self.keys = {}, [], 0
        self.begin(True)

    def begin(self, compared):
        """Start a cell."""
        self.compared, self.conditions = compared, 0
        self.used, self.touches = {}, {}  # key -> name; key -> what it was handed to

    def key(self, node):
        """The generator that an expression names, or None."""
        if not isinstance(node, ast.Name):
            return None
        for scope in reversed(self.scopes):
            if node.id in scope:
                return scope[node.id]
        return None

    def function(self, node):
        """The notebook's own function that an expression names or is, or None."""
        if isinstance(node, ast.Name):
            return self.functions.get(node.id)
        return node if isinstance(node, ast.Lambda) else None

    def touch(self, key, what):
        self.touches.setdefault(key, what)

    def bind(self, target, value=None):
        if isinstance(target, (ast.Tuple, ast.List)):
            values = getattr(value, "elts", None)
            values = (
                values if values and len(values) == len(target.elts) else [None] * len(target.elts)
            )
            for one, its in zip(target.elts, values):
                self.bind(one, its)
        elif isinstance(target, ast.Starred):
            self.bind(target.value)
        elif isinstance(target, ast.Name):
            made = isinstance(value, ast.Call) and _called(value) in ("default_rng", "Generator")
            self.keys += made
            self.scopes[-1][target.id] = self.keys if made else self.key(value)
            if isinstance(value, (ast.FunctionDef, ast.Lambda)):
                self.functions[target.id] = value
            elif len(self.scopes) == 1:
                self.functions.pop(target.id, None)

    def visit_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
            self.bind(target, node.value)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)
            self.bind(node.target, node.value)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self.bind(node.target, node.value)

    def visit_For(self, node):
        self.visit(node.iter)
        self.bind(node.target)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_If(self, node):
        self.visit(node.test)
        self.conditions += 1
        for part in (node.body, node.orelse):
            for statement in part if isinstance(part, list) else [part]:
                self.visit(statement)
        self.conditions -= 1

    visit_While = visit_IfExp = visit_If

    def comprehension(self, node):
        self.scopes.append({})
        for loop in node.generators:
            self.visit(loop.iter)
            self.bind(loop.target)
            for condition in loop.ifs:
                self.visit(condition)
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                self.visit(getattr(node, part))
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_FunctionDef(self, node):
        for default in [*node.args.defaults, *node.args.kw_defaults, *node.decorator_list]:
            if default is not None:
                self.visit(default)
        self.bind(ast.Name(node.name), node)

    def visit_Lambda(self, node):
        """What is only kept, in a dict for instance, draws nothing yet."""

    def run(self, function, given):
        """The body of one of the notebook's own functions, with generators for its parameters."""
        if function in self.running:
            return
        a = function.args
        parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        scope = {one.arg: given.get(one.arg) for one in parameters if one is not None}
        self.running.append(function)
        self.scopes.append(scope)
        for statement in function.body if isinstance(function.body, list) else [function.body]:
            self.visit(statement)
        self.scopes.pop()
        self.running.pop()

    def visit_Call(self, node):
        own = self.function(node.func)
        arguments = [(None, one) for one in node.args]
        arguments += [(one.arg, one.value) for one in node.keywords]
        if own is None:
            self.visit(node.func)
        given = {}
        for place, (name, value) in enumerate(arguments):
            key, function = self.key(value), self.function(value)
            if function is not None:
                self.run(function, {})
            elif own is None or key is None:
                self.visit(value)
            if key is not None and own is not None:
                names = [one.arg for one in [*own.args.posonlyargs, *own.args.args]]
                given[name or (names[place] if place < len(names) else None)] = key
            elif key is not None:
                self.hand_over(key, _called(node))
            for one in value.elts if isinstance(value, (ast.List, ast.Tuple)) else ():
                if self.key(one) is not None:  # as a fit takes its generators
                    self.touch(self.key(one), _called(node))
        if own is not None:
            self.run(own, given)

    def hand_over(self, key, what):
        if what in TRAINERS or (not self.compared and what not in DEALS):
            self.touch(key, what)

    def visit_Attribute(self, node):
        if node.attr != "spawn" or self.key(node.value) is None:
            self.visit(node.value)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            return
        key = self.key(node)
        if key is not None:
            self.used.setdefault(key, node.id)
            if self.conditions and not self.compared:
                self.touch(key, "a draw that is made under a condition")
