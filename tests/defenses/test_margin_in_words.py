"""A finding names the margin that was tested, not its rounding."""

import pytest

from mia_lib import defenses


@pytest.mark.parametrize("margin, said", [(0.004, "0.4%"), (0.015, "1.5%"), (0.01, "1%")])
def test_margin(margin, said):
    found = defenses.equality([0.0001, 0.0002, -0.0001, 0.0], margin)
    assert found.words == f"equal within {said}"
