"""One word for one thing: parameters of public functions, and what their docstrings say of them."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from house.test_public_face import PROMISED, public_functions

# What is asked for by another name, and by which.
OTHER_WORDS = {
    "mask": "member, or masks where each row is a training set",
    "is_member": "member",
    "membership": "member",
    "steps": "n_steps",
    "models": "n_models",
    "permutations": "n_permutations",
    "seeds": "seed, or n_seeds",
}
BOOLEAN = ("member", "members", "masks", "shadow_member", "known_member")
FUNCTIONS = dict(public_functions())


def other_words(name):
    promised = PROMISED[name][0].split() if name in PROMISED else []
    asked = set(inspect.signature(FUNCTIONS[name]).parameters) - set(promised)
    return {f"{name} {word}" for word in asked & OTHER_WORDS.keys()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_parameter_has_the_library_s_word(name):
    assert not other_words(name), OTHER_WORDS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_who_is_a_member_is_said_in_booleans(name):
    function = FUNCTIONS[name]
    for word in BOOLEAN:
        if word in inspect.signature(function).parameters:
            said = re.findall(
                rf"^(?:\w+, )*{word}(?:, \w+)* : (.*)$", inspect.getdoc(function), re.MULTILINE
            )
            assert all("bool" in one for one in said), f"{word}: {said}"


LIBRARY = Path(__file__).resolve().parents[2] / "mia_lib"
FILES = sorted(LIBRARY.rglob("*.py"))
# Here delta is that of differential privacy, everywhere else the level of an interval or a test.
OF_PRIVACY = {
    "bayes/ceilings.py",
    "generative/dp.py",
    "generative/merf.py",
    "privacy/closed_forms.py",
    "privacy/composed.py",
    "privacy/guarantee.py",
    "train/private.py",
}


def deltas(text):
    """What the docstrings of a module say of an argument or a field called delta."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            said = re.search(
                r"^(?:\w+, )*delta(?:, \w+)* : .*\n((?:    .*\n?)+)",
                ast.get_docstring(node) or "",
                re.MULTILINE,
            )
            if said:
                yield " ".join(said.group(1).split())


def takes_delta(text):
    """Whether a function or a record of a module has an argument or a field of that name."""
    return any(
        (isinstance(node, ast.arg) and node.arg == "delta")
        or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "delta")
        for node in ast.walk(ast.parse(text))
    )


def test_what_is_said_of_delta_is_found():
    text = '''
def f(a, delta):
    """One.

    Parameters
    ----------
    a, delta : float
        The delta of
        differential privacy.
    """
'''
    assert list(deltas(text)) == ["The delta of differential privacy."] and takes_delta(text)
    assert not list(deltas("def f(dp_delta): pass")) and not takes_delta("def f(dp_delta): pass")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(LIBRARY).as_posix())
def test_delta_means_one_thing_in_a_file(path):
    text = path.read_text(encoding="utf-8")
    private = path.relative_to(LIBRARY).as_posix() in OF_PRIVACY
    assert takes_delta(text) or not private, "the list above names a file without a delta"
    for said in deltas(text):
        level = re.search("[Pp]robability|interval|level|limit|miss", said)
        of_privacy = re.search("differential privacy", said)
        assert (of_privacy or not level) if private else not of_privacy, said


def test_the_delta_of_privacy_has_another_name_beside_a_level():
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    named = {path.relative_to(LIBRARY).as_posix() for path in FILES if "dp_delta" in texts[path]}
    assert named and not named & OF_PRIVACY


def test_one_thing_is_called_balanced_accuracy():
    """The field of `metrics.Roc`; the accuracy of decisions has other names."""
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                name = node.name
            elif isinstance(node, ast.AnnAssign):
                name = ast.unparse(node.target)
            else:
                continue
            if name == "balanced_accuracy":
                found.append(path.relative_to(LIBRARY).as_posix())
    assert found == ["metrics/curve.py"]
