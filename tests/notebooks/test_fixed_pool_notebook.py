"""The experiment notebook fixed_pool writes every row that its record has, builds its designs as it
says, finds what a mean of normal records has by derivation, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import data


def checked(**given):
    """The notebook up to its checks."""
    return begin("fixed_pool", 3, **given)


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    small = {"n_members": 50, "n_probes": 4, "n_models": 8, "epochs": 1, "n_draws": 20}
    small |= {"n_seeds": 1}
    folder = here / "MIA_RESULTS"
    assert missing_rows("fixed_pool", "synthetic-purchase", "paper", folder, **small) == []


def test_every_design_is_what_it_says():
    space = begin("fixed_pool", 4, n_members=100, n_probes=20, n_models=8)
    rng = np.random.default_rng(0)
    mixture = data.purchase_mixture(n_features=30, n_classes=3, rng=rng)
    made = space["designs"](mixture, rng)
    for x, y, member in made.values():
        assert len(x) == len(y) == member.shape[1] and len(member) == 8
        assert (x[:20] == made["pool"][0][:20]).all()
    pool, fresh, again = (made[name][2] for name in ("pool", "fresh", "again"))
    assert pool.shape[1] == 200 and (pool.sum(axis=0) == 4).all()
    assert (fresh[:, :20].sum(axis=0) == 4).all() and (fresh[:, 20:].sum(axis=0) == 1).all()
    assert (fresh[:, 20:].sum(axis=1) == 90).all()
    assert not again[:, :20].any() and again[:, 20:].all() and again.shape[1] == 120


def test_the_variance_of_means_of_normal_records_is_that_of_a_finite_population():
    """A model that is the mean of its n records: 1 - n / (N - 1) of what fresh records have."""
    space = begin("fixed_pool", 10, n_members=100, n_models=400, n_probes=2, n_draws=20)
    rng, n, big, found = np.random.default_rng(1), 100, 200, []
    half = np.arange(400)[:, None] < np.full(2, 200)
    for _ in range(60):
        pool = np.concatenate([[1.0, -1.0], rng.normal(size=big - 2)])
        member = np.array([rng.permutation(big) < n for _ in range(400)])
        means = np.repeat((member @ pool / n)[:, None], 2, axis=1)
        fresh = rng.normal(size=400)[:, None] / np.sqrt(n) + half * np.array([1.0, -1.0]) / n
        again = np.zeros((400, 2)), np.zeros((400, 2), bool)
        designs = {"pool": (means, member[:, :2]), "fresh": (fresh, half), "again": again}
        rows = space["ratios"](designs, rng)
        found.append(rows["OUT variance over that of fresh records"][0])
    assert np.mean(found) == pytest.approx(1 - n / (big - 1), abs=0.04)


@pytest.mark.parametrize(("data_set", "scale"), cases("fixed_pool"))
def test_every_choice_of_parameters_passes_the_checks(data_set, scale):
    checked(**values("fixed_pool", data_set, scale) | {"device": "cpu"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_classes", 1),
        ("n_members", 49),
        ("n_probes", 3),
        ("n_probes", 82),
        ("n_models", 9),
        ("n_draws", 19),
        ("epochs", 0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        checked(**{name: value})
