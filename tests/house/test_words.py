"""One word for one thing: parameters of public functions, and what their docstrings say of them."""

import inspect
import re

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
