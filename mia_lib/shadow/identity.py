"""What a fit, a query and the library's own code are, in terms that are the same in every
process.
"""

import ast
import dataclasses
import functools
import hashlib
import inspect
import re
import textwrap
from pathlib import Path

import numpy as np

import mia_lib
from mia_lib import disk, extras

torch = extras.module("torch", Tensor=())  # without torch nothing is a tensor

COVERED = (
    "mia_lib.models.",
    "mia_lib.train.",
    "mia_lib.shadow.",
    "builtins.",
)  # classes that `code_hash` answers for


def describe(value, depth=0):
    """What a fit or a query is, in terms of JSON that are the same in every process.

    Records and objects by class, source and attributes; functions by name, source, defaults and
    closure; arrays by hash.
    """
    if depth > 10:  # an object that holds itself
        return f"{type(value).__module__}.{type(value).__qualname__}"
    inner = functools.partial(describe, depth=depth + 1)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if isinstance(value, torch.Tensor):
        return disk.hash_array(value.detach().cpu().numpy())
    if isinstance(value, np.generic):
        return inner(value.item())
    if isinstance(value, np.ndarray):
        return disk.hash_array(value)
    if isinstance(value, (list, tuple)):
        return [inner(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(item) for item in value)
    if isinstance(value, dict):
        return {str(name): inner(item) for name, item in value.items()}
    if isinstance(value, functools.partial):
        return {
            "function": inner(value.func),
            "args": inner(value.args),
            "keywords": inner(value.keywords),
        }
    if inspect.ismethod(value):
        return {"method": value.__name__, "of": inner(value.__self__)}
    if inspect.isfunction(value):
        closure = inspect.getclosurevars(value).nonlocals if value.__closure__ else {}
        return {
            "function": f"{value.__module__}.{value.__qualname__}",
            "source": _source_hash(value),
            "defaults": inner([value.__defaults__, value.__kwdefaults__]),
            "closure": inner(closure),
        }
    kind = value if isinstance(value, type) else type(value)
    identity = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    if not identity["class"].startswith(COVERED):
        own = identity["class"].startswith(
            "mia_lib."
        )  # its numbers depend on the functions beside it too
        identity["source"] = _source_hash(inspect.getmodule(kind) if own else kind)
    if kind is value:
        return identity
    if dataclasses.is_dataclass(value):
        return identity | {f.name: inner(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "__dict__"):
        return identity | {name: inner(item) for name, item in sorted(vars(value).items())}
    return identity | {"repr": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))}


def _source_hash(thing):
    try:
        return _without_comments(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):  # built in, or typed at a prompt
        code = getattr(thing, "__code__", None)
        return hashlib.sha256(code.co_code).hexdigest() if code else "unknown"


class _WithoutReseed(ast.NodeTransformer):
    """Leaves `mia_lib.reseed` out, where it decorates or is imported: without a shift it does
    nothing, and with one the manifest says so.
    """

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.decorator_list = [
            one for one in node.decorator_list if not ast.unparse(one).startswith("reseed.")
        ]
        return node

    def visit_ImportFrom(self, node):
        node.names = [one for one in node.names if one.name != "reseed"]
        return node if node.names else None


def _without_comments(source):
    """sha256 of a source's syntax tree: comments, docstrings and layout do not count."""
    tree = _WithoutReseed().visit(ast.parse(source))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


@functools.cache
def code_hash():
    """sha256 of the library's code that the numbers depend on, without comments and docstrings."""
    root = Path(mia_lib.__file__).parent
    files = [root / "models.py", *sorted((root / "train").glob("*.py"))]
    files += [root / "shadow" / "queries.py"]  # the store's layout has a number of its own
    sources = {file.relative_to(root).as_posix(): file.read_text() for file in files}
    # of the file that hands out the work only what works, so that handing it out may change
    for node in ast.parse((root / "shadow" / "run.py").read_text()).body:
        if getattr(node, "name", None) in ("Each", "train_chunk"):
            sources[f"shadow/run.py {node.name}"] = ast.unparse(node)
    parts = [f"{name} {_without_comments(source)}" for name, source in sources.items()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
