"""The experiment notebook hr_mmd refuses values that cannot be meant, and every parameter file
passes its checks.
"""

import pytest
from notebook_runs import begin, cases, values


def checked(**values):
    """The notebook up to its checks."""
    return begin("hr_mmd", 3, **values)


def test_the_defaults_pass_and_no_name_means_every_representation():
    space = checked()
    assert space["representations"] == list(space["KNOWN"])
    assert (
        "names_before" not in space["parameters"]
        and space["parameters"]["n_targets"] == space["n_targets"]
    )


@pytest.mark.parametrize(("data", "scale"), cases("hr_mmd"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("hr_mmd", data, scale))


def test_there_are_files_of_every_scale():
    names = ("digits", "location30", "mnist", "cifar10", "imdb")
    assert set(cases("hr_mmd")) == {
        (name, scale) for name in names for scale in ("smoke", "default", "seeds", "paper")
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("model", "lstm"),
        ("model", "forest"),
        ("mixtures", [1.5]),
        ("text_length", 0),
        ("n_targets", 1),
        ("n_permutations", 5),
        ("draws", 0),
        ("set_sizes", [3]),
        ("set_sizes", []),
        ("proportions", [0.0]),
        ("proportions", [1.5]),
        ("representations", ["logits"]),
        ("learned", ["logits"]),
        ("defences", ["dropout"]),
        ("label_noise", 1.0),
        ("epsilon", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
        ("augment", "strong"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name):
        checked(**{name: value})


def test_defences_are_for_mlps():
    with pytest.raises(ValueError, match="defences"):
        checked(model="cnn")
