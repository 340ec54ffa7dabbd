"""The experiment notebook gan_one_record writes every row that its records have and refuses bad
values.
"""

import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import results


def checked(**given):
    """The notebook up to its check of values."""
    return begin("gan_one_record", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    sizes = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000]
    folder = here / "MIA_RESULTS"
    assert (
        missing_rows(
            "gan_one_record",
            "digits",
            "paper",
            folder,
            n_examples=60,
            n_networks=24,
            epochs=2,
            n_synthetic=50,
            sizes=sizes,
        )
        == []
    )


def test_what_the_chapter_says_of_mnist():
    (record,) = results.find(notebook="gan_one_record", data="mnist", scale="paper")
    called = {
        row["what"].partition("exposed, ")[2]: row["value"]
        for row in record["rows"]
        if row["what"].startswith("share of records called exposed")
    }
    unseen = [value for name, value in called.items() if "never seen" in name]
    assert len(unseen) == 6 and not any(unseen) and called["distance, JS-GAN"] == 0
    assert called["distance, WGAN-GP"] < called["classifier"] / 4
    assert record["parameters"]["n_networks"] == 64 and record["parameters"]["n_examples"] == 2_000


def test_roles_share_no_record_and_the_control_has_masks_of_its_own():
    space = begin("gan_one_record", 4, n_examples=60, n_reference=50)
    found = space["world"](0)
    rows = [tuple(one.ravel()) for role in ("inside", "never", "reference") for one in found[role]]
    assert len(rows) == 170 and len(set(rows)) == 170
    assert found["masks"].shape == (32, 60) and (found["masks"] != found["fake"]).any()


@pytest.mark.parametrize(("data", "scale"), cases("gan_one_record"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("gan_one_record", data, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 49),
        ("n_reference", 49),
        ("n_networks", 22),
        ("n_networks", 33),
        ("hidden", [0]),
        ("latent", 0),
        ("wgan_epochs", 0),
        ("js_epochs", 0),
        ("wgan_rate", 0.0),
        ("js_rate", -1.0),
        ("critic_steps", 0),
        ("epochs", 0),
        ("n_synthetic", 19),
        ("components", 0),
        ("sizes", [3, 1]),
        ("wanted", [1.0]),
        ("share", 0.0),
        ("fpr", 1.0),
        ("delta", 0.0),
        ("seed", -1),
        ("n_seeds", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}: given .*, expected "):
        checked(**{name: value})
