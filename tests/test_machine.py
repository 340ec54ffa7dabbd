"""What the machine is, in terms that a store can keep. That other environments change it is in
tests/house/test_portable.py.
"""

import json

from mia_lib import machine


def test_instructions_are_text_that_json_keeps():
    found = machine.instructions()
    assert json.loads(json.dumps(found)) == found
    assert all(isinstance(what, str) and what for what in found.values())


def test_differences_name_what_differs_and_nothing_that_is_unknown():
    here = {"torch": "AVX512", "BLAS": "openblas Haswell", "processor": "one"}
    assert machine.differences(here, here) == ""
    assert machine.differences(None, here) == machine.differences({}, here) == ""
    found = machine.differences({**here, "processor": "two", "torch": "AVX2"}, here)
    assert found == "torch AVX2, here AVX512; processor two, here one"
    assert machine.differences({"torch": "AVX512"}, here) == ""
