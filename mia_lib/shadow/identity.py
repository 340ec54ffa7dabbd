"""What a fit, a query and the library's own code are, in terms that are the same in every
process.
"""

import ast
import dataclasses
import functools
import hashlib
import inspect
import json
import re
import sys
import textwrap
import tokenize
import types
from pathlib import Path

import numpy as np

import mia_lib
from mia_lib import checks, disk, extras

torch = extras.module("torch", Tensor=())  # without torch nothing is a tensor

COVERED = (
    "mia_lib.models.",
    "mia_lib.train.",
    "mia_lib.shadow.",
    "builtins.",
)  # classes that `code_hash` answers for
# modules whose objects say in their repr all that they are, but where it has one of these
SAY_ALL = (*sys.stdlib_module_names, "numpy", "torch", "pandas")
NOT_SAID = re.compile(r" at 0x[0-9a-fA-F]+|\barray\(|\btensor\(")
DEEPEST = 100  # objects within one another
SHORT = 100_000  # characters of a description that is written out wherever its object is met


def describe(value):
    """What a fit or a query is, in terms of JSON that are the same in every process.

    Records and objects by class, source and attributes; functions by name, source, defaults and
    closure; arrays by hash, of objects by what each is; objects that keep their attributes
    elsewhere by what pickle would take of them; a module by its source.

    Raises
    ------
    ValueError
        For a class of which neither source nor functions can be had, objects nested too deep.
    """
    return _described(value, (), {})


def _described(value, path, known):
    """`describe` where `path` has the ids of the objects that hold this one, and `known` what has
    been described.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if id(value) in path:  # an object that holds itself
        return f"{_name(type(value))}, {len(path) - path.index(id(value))} above"
    if id(value) in known:
        return _again(known[id(value)])
    if len(path) == DEEPEST:
        checks.fail("fit", f"objects nested more than {DEEPEST} deep", "a flatter one")
    inner = functools.partial(_described, path=(*path, id(value)), known=known)
    found = _contents(value, inner)
    known[id(value)] = [value, found, None]  # the value too, so that no other gets its id
    return found


def _again(entry):
    """The description of an object that is met once more: its hash where it is long, else the ways
    to objects that share others would all be written out.
    """
    _, found, again = entry
    if again is None:
        text = json.dumps(found, sort_keys=True)
        long = len(text) > SHORT
        entry[2] = again = {"again": hashlib.sha256(text.encode()).hexdigest()} if long else found
    return again


def _contents(value, inner):
    if isinstance(value, torch.Tensor):
        return disk.hash_array(value.detach().cpu().numpy())
    if isinstance(value, np.generic):
        item = value.item()
        return repr(item) if isinstance(item, np.generic) else inner(item)
    if isinstance(value, np.ma.MaskedArray):
        parts = {"data": value.data, "mask": np.ma.getmaskarray(value), "fill": value.fill_value}
        return {"class": _name(type(value))} | {name: inner(part) for name, part in parts.items()}
    if isinstance(value, np.ndarray):
        return _array(value, inner)
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
    if inspect.ismodule(value):
        return {"module": value.__name__, "source": _source_hash(value)}
    if isinstance(value, type):
        return _class(value)
    if _of_pandas(value):
        kind, parts = type(value), _pandas_parts(value)
        identity = {"class": _name(kind)} if _in_pandas(kind) else inner(kind)
        return identity | {name: inner(part) for name, part in parts.items()}
    identity = inner(type(value))
    if dataclasses.is_dataclass(value):
        return identity | {f.name: inner(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "__dict__"):
        attributes = _slots(value) | vars(value)
        return identity | {name: inner(item) for name, item in sorted(attributes.items())}
    return identity | _without_attributes(value, inner)


def _class(kind):
    identity = {"class": _name(kind)}
    if not identity["class"].startswith(COVERED):
        own = identity["class"].startswith(
            "mia_lib."
        )  # its numbers depend on the functions beside it too
        identity["source"] = _source_hash(inspect.getmodule(kind) if own else kind)
    return identity


def _name(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def _array(array, inner):
    if array.dtype.hasobject:
        return inner(array.tolist())
    fields = array.dtype.fields or {}
    if fields and sum(one[0].itemsize for one in fields.values()) < array.dtype.itemsize:
        return {name: inner(array[name]) for name in fields}  # what lies between them is no content
    return disk.hash_array(array)


def _of_pandas(value):
    """Whether it is a frame, series, index, array or time of pandas, which is not imported here."""
    return hasattr(value, "to_numpy") and any(map(_in_pandas, type(value).__mro__))


def _in_pandas(kind):
    return kind.__module__.split(".")[0] == "pandas"


def _pandas_parts(value):
    if not hasattr(value, "__len__"):  # a time
        return {"repr": repr(value)}
    if hasattr(value, "columns"):
        columns = [value.iloc[:, i].array for i in range(value.shape[1])]
        return {"columns": value.columns, "index": value.index, "values": columns}
    if hasattr(value, "index"):
        return {"name": value.name, "index": value.index, "values": value.array}
    names = list(getattr(value, "names", []))
    return {"names": names, "dtype": value.dtype, "values": value.to_numpy()}


def _slots(value):
    """Attributes that the classes of an object keep beside its __dict__."""
    members = {
        name: member
        for kind in type(value).__mro__
        if "__slots__" in vars(kind) and kind.__module__.split(".")[0] not in SAY_ALL
        for name, member in vars(kind).items()
        if inspect.ismemberdescriptor(member)
    }
    return {name: getattr(value, name) for name in members if hasattr(value, name)}


def _without_attributes(value, inner):
    """What an object without a __dict__ is: what it says of itself where that is all of it, else
    what pickle would take of it.
    """
    text = repr(value)
    said = {"repr": re.sub(r" at 0x[0-9a-fA-F]+", "", text)}
    known = type(value).__module__.split(".")[0] in SAY_ALL and not NOT_SAID.search(text)
    if known or value is np.random.mtrand._rand:  # numpy's global one is no part of what holds it
        return said
    try:
        reduced = value.__reduce_ex__(2)
    except Exception:  # nothing that could be pickled, such as a lock
        return said
    if isinstance(reduced, str):
        return said
    of, state, items, entries = (*reduced[1:], None, None, None)[:4]
    parts = [part for part in (*of, state, items, entries) if part is not None]
    empty = len(parts) == 1 and parts[0] is type(value)
    if empty or (isinstance(value, types.BuiltinFunctionType) and isinstance(of[0], type)):
        return said
    return {
        "of": inner(of),
        "state": inner(state),
        "items": inner([*(items or ())]),
        "entries": inner([*(entries or ())]),
    }


def _source_hash(thing):
    try:
        return _without_comments(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        pass  # built in, or typed at a prompt
    if isinstance(thing, type):
        return _class_hash(thing)
    code = getattr(thing, "__code__", None)
    return hashlib.sha256(_constant(code).encode()).hexdigest() if code else "unknown"


def _class_hash(kind):
    """sha256 of what is left of a class without source: its functions, constants and bases;
    "unknown" of a compiled one.
    """
    functions = [
        f"{name} {_constant((one.__code__, one.__defaults__, one.__kwdefaults__))}"
        for name, member in vars(kind).items()
        for one in _functions(member)
    ]
    bases = [_source_hash(base) for base in kind.__bases__ if base is not object]
    if _compiled(kind) or (not functions and "unknown" in bases):
        return "unknown"
    constants = [
        f"{name} {_constant(member)}"
        for name, member in vars(kind).items()
        if not name.startswith("__") and _constant(member)
    ]
    parts = functions + constants + bases
    if not parts:
        given = f"the class {_name(kind)}, whose source cannot be read and which has no functions"
        checks.fail("fit", given, "classes that are defined in a file")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _compiled(kind):
    """Whether a class is made by another language, whose functions have no code to be read."""
    members = [m for n, m in vars(kind).items() if n not in ("__dict__", "__weakref__")]
    routines = [one for one in members if inspect.isroutine(one) or inspect.isgetsetdescriptor(one)]
    made = any(getattr(one, "__objclass__", None) is kind for one in routines)
    return made or (bool(routines) and not any(map(_functions, members)))


def _functions(member):
    """The functions of a class's member: itself, or those of a property or a static method."""
    parts = (getattr(member, name, None) for name in ("__func__", "fget", "fset", "fdel", "func"))
    return [one for one in (member, *parts) if inspect.isfunction(one)]


def _constant(value):
    """A constant in words that are the same in every process, code without lines and files; empty
    where it is something else.
    """
    if isinstance(value, types.CodeType):
        parts = (value.co_code, value.co_exceptiontable, value.co_consts, value.co_names)
        return f"code {_constant(parts)}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, dict):
        return _constant(list(value.items()))
    simple = (bool, int, float, complex, str, bytes, type(None), type(...))
    return repr(value) if isinstance(value, simple) else ""


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
