"""Libraries that the plain install leaves out, imported when they are first asked for.

``pip install mia_lib`` audits files without torch. A module that needs torch for some of its
functions writes ``torch = extras.module("torch")`` in place of ``import torch``: it can then be
imported everywhere, and whoever calls such a function without torch is told what to install. What
an audit of a file (book/audit_predictions.ipynb) does without torch is in its report.
"""

import importlib
import importlib.util
import types

TRAIN = ("torch", "torchvision", "opacus")  # what the extra [train] brings


def module(name, **absent):
    """A module that is imported when something of it is asked for.

    Parameters
    ----------
    name : str
        Dotted. `results.hash_code` reads this line as the import that it stands for.
    **absent : values
        What its attributes are where it is not installed.

    Returns
    -------
    types.ModuleType
        Asked for an attribute, it imports the module and hands on what that has.

    Raises
    ------
    ModuleNotFoundError
        When asked, where the module is not installed: says what installs it.

    Examples
    --------
    >>> maths = module("math")
    >>> maths.floor(2.5)
    2
    >>> try:
    ...     module("math.nothing").floor
    ... except ModuleNotFoundError as error:
    ...     error.name
    'math.nothing'
    """
    return _Later(name, absent)


def has(name):
    """Whether a library is installed.

    Examples
    --------
    >>> has("numpy"), has("numpy_of_nobody")
    (True, False)
    """
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def named(error):
    """An error of a failed import, with what installs the module where an extra brings it.

    Examples
    --------
    >>> str(named(ModuleNotFoundError("No module named 'torch'", name="torch")))
    "torch is needed for this and not installed: pip install 'mia_lib[train]'"
    """
    first = (error.name or "").partition(".")[0]
    if first not in TRAIN:
        return error
    said = f"{first} is needed for this and not installed: pip install 'mia_lib[train]'"
    return ModuleNotFoundError(said, name=error.name)


class _Later(types.ModuleType):
    def __init__(self, name, absent):
        super().__init__(name)
        # Not in the module's own names: what is installed comes first.
        object.__setattr__(self, "_absent", absent)

    def __getattr__(self, attribute):
        try:
            found = importlib.import_module(self.__name__)
        except ModuleNotFoundError as error:
            if attribute in self._absent:
                return self._absent[attribute]
            raise named(error) from error
        return getattr(found, attribute)
