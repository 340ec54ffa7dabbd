"""The experiment notebook two_sample_levels refuses values that cannot be meant; its parameter
files pass its checks.
"""

import pytest
from notebook_runs import begin, cases, values


def checked(**values):
    """The notebook up to its data set."""
    return begin("two_sample_levels", 4, **values)


@pytest.mark.parametrize(("data", "scale"), cases("two_sample_levels"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("two_sample_levels", data, scale))


def test_there_are_files_of_every_scale():
    assert set(cases("two_sample_levels")) == {
        ("digits", scale) for scale in ("smoke", "default", "seeds", "paper")
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 500),
        ("n_members", 5),
        ("hidden", [128]),
        ("n_networks", 0),
        ("set_size", 8),
        ("large_size", 600),
        ("n_permutations", 5),
        ("shared_tests", 3),
        ("learning_rate", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name if name != "large_size" else "n_examples"):
        checked(**{name: value})
