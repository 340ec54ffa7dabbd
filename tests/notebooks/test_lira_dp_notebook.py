"""The experiment notebook lira_dp writes every row that its records have and refuses bad values."""

import pytest
from notebook_runs import begin, call, cases, missing_rows, values

from mia_lib import results, train


def checked(**given):
    """The notebook up to its checks."""
    return begin("lira_dp", 3, **given)


@pytest.mark.parametrize("scale", ["paper", "seeds"])
def test_every_row_of_the_record_has_its_place(here, scale):
    small = {"n_examples": 200, "n_models": 6, "epochs": 1}
    small["n_seeds"] = 2 if scale == "seeds" else 1
    assert missing_rows("lira_dp", "digits", scale, here / "MIA_RESULTS", **small) == []


@pytest.mark.parametrize(("data", "scale"), cases("lira_dp"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("lira_dp", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", -1),
        ("n_models", 7),
        ("n_models", 4),
        ("n_pilots", 3),
        ("rate_factors", []),
        ("rate_factors", [1.0, 0.0]),
        ("variance", "local"),
        ("delta", 1.0),
        ("dp_delta", 0.0),
        ("seed", -1),
        ("n_seeds", 0),
        ("fprs", [0.0]),
        ("noises", []),
        ("clips", []),
        ("clips", [0.0]),
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("hidden", [0]),
        ("model", "resnet18"),
        ("widths", []),
        ("widths", [8, 12]),
        ("device", "tpu"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})


def test_networks_are_those_of_the_parameters_and_have_the_guarantee_of_the_others():
    for model, kind in (("mlp", train.PrivateSGD), ("cnn", train.PrivateImages)):
        space = begin("lira_dp", 5, model=model, widths=[8, 16], n_examples=200, clips=[1.0])
        fit = space["at_rate"]((0.8, 1.0), 0.3)
        assert type(fit) is kind
        assert (fit.noise_multiplier, fit.max_norm, fit.public_size) == (0.8, 1.0, 100)
        given = {name: getattr(fit.recipe, name) for name in ("epochs", "batch_size", "device")}
        assert given == {"epochs": 20, "batch_size": 64, "device": "cpu"}
        assert fit.recipe.learning_rate == 0.3
        assert fit.recipe.options.get("widths", (8, 16)) == (8, 16)
        assert space["promised"][0.8].epsilon(1e-5) == fit.guarantee(100).epsilon(1e-5)


def test_convolutional_networks_write_the_same_rows(here):
    small = {"n_examples": 100, "n_models": 6, "epochs": 1, "rate_factors": [1.0]}
    names = []
    for model in ("mlp", "cnn"):
        given = small | {"model": model, "widths": [8]}
        assert call("lira_dp", "digits", "smoke", **given) == 0
        record = results.read(here / "MIA_RESULTS" / "lira_dp--digits--smoke.json")
        names.append([row["what"] for row in record["rows"]])
    assert names[0] == names[1]


def test_convolutional_networks_need_images():
    with pytest.raises(ValueError, match="^model: given 'cnn' for records of shape .*, expected "):
        begin("lira_dp", 4, dataset="synthetic-purchase", model="cnn", n_examples=200)
