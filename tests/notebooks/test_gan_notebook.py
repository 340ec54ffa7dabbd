"""The experiment notebook gan writes every row that its records have and refuses bad values; its
parameter files pass its checks.
"""

import re

import pytest
from notebook_runs import begin, cases, missing_rows, values


def checked(**values):
    """The notebook up to its data set, which is not loaded where it would have to be fetched."""
    return begin(
        "gan", lambda space: 5 if space["dataset"] in ("digits", "nobody") else 4, **values
    )


def test_every_row_of_the_record_has_its_place(here):
    # one step an epoch
    small = {
        "n_members": 20,
        "batch_size": 20,
        "n_nonmembers": 60,
        "n_reference": 60,
        "n_synthetic": 100,
        "n_reconstruction": 4,
        "n_splits": 2,
        "n_seeds": 1,
        "n_common": 20,
        "subgroup_steps": 1,
        "privacy_epochs": 0,
        "privacy_delay": 1,
    }
    folder = here / "MIA_RESULTS"
    missing = missing_rows("gan", "digits", "seeds", folder, **small)
    # so few members spend a budget in other epochs; the other rows of each budget are there
    assert all(re.search(r", DP-cGAN after [1-9]\d* epochs$", what) for _, what in missing)
    assert (folder / "gan--digits--smoke--samples.png").is_file()


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
        ("n_nonmembers", -1),
        ("n_nonmembers", 10),
        ("models", []),
        ("models", ["gan"]),
        ("checkpoints", {"wgan_gp": [3, 1], "js_gan": [1], "priv_gan": [1]}),
        ("checkpoints", {"wgan_gp": [1]}),
        ("learning_rates", {"wgan_gp": 0.0, "js_gan": 1e-4, "priv_gan": 1e-4, "dp_cgan": 1e-4}),
        ("bandwidths", {"wgan_gp": 1.0}),
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
        ("classes", [0]),
        ("subgroups", 1),
        ("precision", "half"),
        ("batch_size", 0),
        ("noise_multiplier", 0.0),
        ("max_norm", 0.0),
        ("dp_delta", 0.0),
        ("dp_epochs", 0),
        ("device", "tpu"),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})


def test_more_members_than_there_are_records():
    with pytest.raises(ValueError, match="^n_members, n_reference, n_nonmembers: given 1500, "):
        checked(n_members=1500)
