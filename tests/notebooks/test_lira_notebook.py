"""The experiment notebook lira writes every row that its records have and refuses bad values."""

import pytest
from notebook_runs import begin, cases, missing_rows, values

SMALL = {"n_examples": 100, "epochs": 1, "merlin_repeats": 1, "merlin_scales": [0.3]}


def checked(**given):
    """The notebook up to its draw of records."""
    return begin("lira", 5, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    missing = missing_rows("lira", "digits", "paper", here / "MIA_RESULTS", **SMALL)
    # the ratio of two rates is left out where one of them is 0 in a resample
    assert [what for _, what in missing if "global over per-example" not in what] == []


@pytest.mark.parametrize(("data", "scale"), cases("lira"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    begin("lira", 4, **values("lira", data, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 49),
        ("n_shadow", 6),
        ("n_shadow", 9),
        ("epochs", 0),
        ("n_seeds", 0),
        ("seed", -1),
        ("augment", "strong"),
        ("queries", 3),
        ("variance", "local"),
        ("attacks", []),
        ("attacks", ["merlin"]),
        ("ladder", 1),
        ("comparison", "no"),
        ("n_targets", 33),
        ("delta", 1.0),
        ("executor", "threads:2"),
        ("executor", "none:2"),
        ("executor", "dask"),
        ("executor", "processes:0"),
        ("merlin_scales", [0.0]),
        ("merlin_scales", []),
        ("merlin_repeats", 0),
        ("merlin_targets", 0),
        ("outlier_share", 0.0),
        ("model", "vgg"),
        ("activation", "gelu"),
        ("optimizer", "adagrad"),
        ("schedule", "step"),
        ("learning_rate", 0.0),
        ("device", "tpu"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})


@pytest.mark.parametrize("changes", [{"queries": 2}, {"augment": "weak"}])
def test_records_that_are_no_images_are_asked_about_once(changes):
    with pytest.raises(ValueError, match="^queries, augment: given"):
        checked(dataset="synthetic-purchase", n_examples=300, **changes)
