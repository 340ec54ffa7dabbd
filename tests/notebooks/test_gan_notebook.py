"""The experiment notebook gan refuses values that cannot be meant; its parameter files pass its
checks.
"""

import pytest
from notebook_runs import begin, cases, values


def checked(**values):
    """The notebook up to its data set, which is not loaded where it would have to be fetched."""
    return begin(
        "gan", lambda space: 5 if space["dataset"] in ("digits", "nobody") else 4, **values
    )


@pytest.mark.parametrize(("data", "scale"), cases("gan"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("gan", data, scale))


def test_there_are_files_of_every_data_set_and_scale():
    names = ("digits", "mnist", "cifar10", "skin-lesions")
    assert set(cases("gan")) == {
        (name, s) for name in names for s in ("smoke", "default", "seeds", "paper")
    }


def test_papers_numbers_of_members():
    wanted = {"mnist": 7000, "cifar10": 6000, "skin-lesions": 1000}
    assert {name: values("gan", name, "paper")["n_members"] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "nobody"),
        ("n_members", 5),
        ("n_members", 1500),
        ("n_nonmembers", -1),
        ("models", []),
        ("models", ["gan"]),
        ("checkpoints", {"wgan_gp": [3, 1], "js_gan": [1], "priv_gan": [1]}),
        ("checkpoints", {"wgan_gp": [1]}),
        ("learning_rates", {"wgan_gp": 0.0, "js_gan": 1e-4, "priv_gan": 1e-4, "dp_cgan": 1e-4}),
        ("epsilons", [2.0, 1.0]),
        ("epsilons", [0.0]),
        ("release_sizes", [1, 10]),
        ("queries", ["oracle"]),
        ("metric", "f1"),
        ("metric_prior", 0.0),
        ("prior", 1.0),
        ("bins", 1),
        ("box_share", 1.0),
        ("classes", [0, 10]),
        ("subgroups", 1),
        ("noise_multiplier", 0.0),
        ("dp_delta", 0.0),
        ("device", "tpu"),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name):
        checked(**{name: value})
