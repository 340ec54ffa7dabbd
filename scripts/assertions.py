"""Assertions that write down how far they are from failing.

`instrumented` rewrites the assertions of a cell so that a failing one is noted and the notebook
goes on, and so that each comparison of numbers notes its value and its limit. `seen` and `holds`
are what the rewritten cells call, in the notebook's kernel.
"""

import ast
import json
from pathlib import Path

import numpy as np

COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
NAME = "__assertions__"  # of this module in the kernel

found = {"failed": {}, "compared": {}}  # what this process has noted


def instrumented(source, cell):
    """The source of a cell with its assertions rewritten.

    Parameters
    ----------
    source : str
        Python, without magics.
    cell : int
        The cell's number, for the names of its assertions.

    Returns
    -------
    str
        As given, where there is no assertion or the source is not Python. An assertion inside
        `try` stays as it is, because something may wait for it to fail.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    rewrite = _Rewrite(cell, source)
    tree = rewrite.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) if rewrite.changed else source


def texts(source):
    """Every assertion of a cell, in one spelling; none where the cell is not Python."""
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return []
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Assert)]


def _call(name, *arguments):
    function = ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


class _Rewrite(ast.NodeTransformer):
    def __init__(self, cell, source):
        self.cell, self.source, self.changed, self.number = cell, source, False, 0

    def text(self, node):
        """The source of an expression, on one line."""
        return " ".join(ast.get_source_segment(self.source, node).split())

    def visit_Try(self, node):
        return node

    visit_TryStar = visit_Try

    def visit_Assert(self, node):
        self.changed = True
        self.number += 1
        name = f"cell {self.cell}, assertion {self.number}: {self.text(node.test)}"
        test = self.part(node.test, name)
        return ast.Expr(_call("holds", ast.Constant(name), test))

    def part(self, node, name):
        """A part of an assertion in which every comparison that has to hold is watched."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            node.values = [self.part(value, name) for value in node.values]
        elif isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
            text = f"{name.split(': ')[0]}: {self.text(node)}"
            signs = ast.Tuple([ast.Constant(COMPARISONS[type(op)]) for op in node.ops], ast.Load())
            sides = ast.Tuple([node.left, *node.comparators], ast.Load())
            return _call("seen", ast.Constant(text), signs, sides)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "all":
            node.func.value = self.part(node.func.value, name)  # (a < b).all()
            node.args = [self.part(one, name) for one in node.args]  # np.all(a < b)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "all":
            for one in node.args:
                if isinstance(one, (ast.GeneratorExp, ast.ListComp)):
                    one.elt = self.part(one.elt, name)
        return node


def seen(text, signs, sides):
    """Compare as the notebook would, and note the comparison that is closest to failing."""
    result = True
    for link, (left, sign, right) in enumerate(zip(sides, signs, sides[1:]), 1):
        less = sign.startswith("<")
        holds = _compared(left, sign, right)
        try:
            a, b = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
        except (TypeError, ValueError):
            a = b = np.empty(0)  # no numbers: dates, names, sets
        if a.size:
            margin = (b - a if less else a - b).ravel()
            worst = int(np.argmin(np.where(np.isnan(margin), -np.inf, margin)))
            key = f"{text} [{sign}]" if len(signs) == 1 else f"{text} [{link}: {sign}]"
            _note(key, sign, float(a.ravel()[worst]), float(b.ravel()[worst]))
        result = holds if len(signs) == 1 else result and holds
        if len(signs) > 1 and not result:
            return result
    return result


def _compared(left, sign, right):
    if sign == "<":
        return left < right
    if sign == "<=":
        return left <= right
    return left > right if sign == ">" else left >= right


def _note(key, sign, left, right):
    margin = right - left if sign.startswith("<") else left - right
    entry = {"value": left, "limit": right, "margin": margin}
    before = found["compared"].get(key)
    if before is None or not (np.isnan(before["margin"]) or margin >= before["margin"]):
        found["compared"][key] = entry


def holds(text, result):
    """Note whether an assertion holds; the notebook goes on."""
    failed = found["failed"]
    failed[text] = failed.get(text, 0) + (not result)


def write(path):
    """Everything noted so far, as JSON."""
    Path(path).write_text(json.dumps(found), encoding="utf-8")
