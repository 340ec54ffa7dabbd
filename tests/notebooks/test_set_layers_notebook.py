"""The experiment notebook set_layers writes every row that its records have, gives every test the
same sets, has nothing to find in its controls, and refuses bad values.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values

from mia_lib import data, lira, results, signals

# code cells until the checks, the records, the representations, the sets
CHECKED, DRAWN, SEEN, TESTED = 3, 5, 8, 13

SMALL = {"n_shadow": 6, "n_targets": 2, "n_learned": 2, "epochs": 1, "hidden": [4]}
SMALL |= {"draws": 1, "level_draws": 1, "n_steps": 1, "n_permutations": 19}


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    given = "set_layers", "synthetic-purchase", "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, **SMALL) == []


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIA_RUNS", str(tmp_path_factory.mktemp("runs")))
        small = SMALL | {"n_examples": 400, "set_sizes": [50], "n_targets": 3}
        yield begin("set_layers", TESTED, **small)


def test_a_representation_is_what_the_network_made_of_the_record(space):
    seen, made = space["seen"][1], space["inside"][1]
    assert [array.shape[0] for array in seen.values()] == [400] * 8
    np.testing.assert_allclose(seen["last"], made["logits"])
    np.testing.assert_allclose(seen["second-to-last"], made["layer"])
    own = np.exp(made["logits"] - made["logits"].max(1, keepdims=True))
    own /= own.sum(1, keepdims=True)
    np.testing.assert_allclose(seen["confidences"], own, atol=1e-6)
    np.testing.assert_allclose(seen["sorted confidences"], np.sort(own, axis=1), atol=1e-6)
    right = own[np.arange(400), space["y"]]
    np.testing.assert_allclose(seen["loss"][:, 0], -np.log(right), atol=1e-4)
    # the last layer reads the one before it: its outputs are an affine function of that
    ones = np.c_[made["layer"], np.ones(400)].astype(float)
    fit, *_ = np.linalg.lstsq(ones, made["logits"].astype(float), rcond=None)
    np.testing.assert_allclose(ones @ fit, made["logits"], atol=1e-4)


def test_sets_are_of_the_sides_that_they_are_said_to_be(space):
    masks = space["masks"]
    a, b = space["pair"](2, 50, np.random.default_rng(0), "members")
    assert not masks[2, a].any() and masks[2, b].all() and len(a) == len(b) == 50
    a, b = space["pair"](2, 50, np.random.default_rng(0), "none")
    assert not masks[2, a].any() and not masks[2, b].any() and not set(a) & set(b)


def test_the_second_control_asks_another_network_which_has_half_of_either_set(space):
    through, drawn = [], []

    def spy(k, a, b, rng):
        through.append(k)
        drawn.append((space["masks"][:, a].mean(1), space["masks"][:, b].mean(1)))
        return {"one": 0.5}

    for k in space["TARGETS"]:
        space["asked"](spy, "another", 50, 1, k)
    assert through == [1, 2, 0]
    for k, other, (outside, inside) in zip(space["TARGETS"], through, drawn):
        assert outside[k] == 0 and inside[k] == 1
        assert outside[other] == inside[other] == 0.5


@pytest.fixture(scope="module")
def resnets(tmp_path_factory):
    """Five stored ResNet-18 and their references, with images that say nothing."""
    blank = SimpleNamespace(x=np.zeros((50_000, 1, 1), np.uint8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIA_RUNS", str(tmp_path_factory.mktemp("runs")))
        patch.setattr(data, "load", lambda name: blank)
        given = values("set_layers", "cifar10-resnet18", "default") | {"n_examples": 1600}
        return begin("set_layers", SEEN, **given)


def test_a_resnet_has_the_members_of_its_number(resnets):
    y, masks = resnets["y"], resnets["masks"]
    for place, k in enumerate(data.variants("cifar10", "resnet18").models):
        right = resnets["inside"][k]["logits"].astype(float).argmax(axis=1) == y
        shares = [right[mask].mean() for mask in (masks[k], ~masks[k])]
        stored = resnets["other"]
        accuracies = stored.train_accuracy[place, -1], stored.test_accuracy[place, -1]
        np.testing.assert_allclose(shares, accuracies, atol=0.03)
        assert shares[0] - shares[1] > 0.06  # with another network's mask there is no gap
        assert abs(right[masks[k + 1]].mean() - right[~masks[k + 1]].mean()) < 0.03


def test_a_resnet_is_asked_about_the_images_that_its_layers_are_of(resnets):
    stored = data.variants("cifar10", "resnet18")
    own = data.signals("cifar10", 1)
    np.testing.assert_array_equal(resnets["rows"], own.rows[:1600])
    np.testing.assert_array_equal(resnets["y"], own.labels[own.rows[:1600]])
    for place, k in enumerate(stored.models):
        np.testing.assert_array_equal(resnets["inside"][k]["logits"], stored.logits[place, :1600])
        np.testing.assert_array_equal(resnets["inside"][k]["layer"], stored.layer[place, :1600])


def test_the_references_of_a_resnet_are_the_stored_networks_of_other_numbers(resnets):
    y, masks, phi = resnets["y"], resnets["masks"], resnets["phi"]
    k, rows = 3, np.arange(1600)
    own = signals.logit_confidence(resnets["inside"][k]["logits"].astype(float), y)
    others = np.arange(len(phi)) != k
    # of every record one reference more leaves, so that both sides have as many
    first = np.argmax(masks[others] != masks[k], axis=0)
    kept = np.ones((others.sum(), 1600), bool)
    kept[first, rows] = False
    order = np.argsort(~kept, axis=0, kind="stable")[:-1]
    shadow, inside = (np.take_along_axis(a[others], order, axis=0) for a in (phi, masks))
    assert (inside.sum(axis=0) == len(phi) // 2 - 1).all()
    by_hand = lira.offline(own, shadow, inside, variance="global")
    np.testing.assert_allclose(resnets["ratio"][k], by_hand, rtol=1e-6)


@pytest.mark.parametrize("dataset", ["mnist-resnet18", "cifar100-resnet18", "cifar10-wrn"])
def test_layers_are_stored_of_the_resnets_of_cifar10_alone(dataset):
    with pytest.raises(ValueError, match=f"^dataset: given '{dataset}', expected one of"):
        begin("set_layers", CHECKED, dataset=dataset)


def test_no_more_resnets_are_asked_than_there_are():
    given = values("set_layers", "cifar10-resnet18", "default") | {"n_targets": 6}
    with pytest.raises(ValueError, match="^n_learned, n_targets, .*given 5, 6, 5 from 0 on"):
        begin("set_layers", CHECKED, **given)


@pytest.mark.parametrize(("dataset", "scale"), cases("set_layers"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("set_layers", CHECKED, **values("set_layers", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 100),
        ("n_shadow", 5),
        ("n_targets", 17),
        ("n_learned", 9),
        ("first_target", -1),
        ("set_sizes", [50, 40]),
        ("set_sizes", [19]),
        ("n_steps", 0),
        ("draws", 0),
        ("learned_draws", 0),
        ("alpha", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^(n_learned, )?{name}.*: given .*, expected "):
        begin("set_layers", CHECKED, **{name: value})


def test_sets_that_the_records_do_not_fill_are_refused():
    with pytest.raises(ValueError, match="n_examples: given 300 records, expected at least 400"):
        begin("set_layers", DRAWN, n_examples=300, set_sizes=[100])


def test_what_the_page_says_of_mnist():
    """The sentences about the recorded networks of MNIST."""
    (record,) = results.find(notebook="set_layers", data="mnist", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    insides = "last", "second-to-last", "confidences"
    for name in insides:
        learned, within = (
            rows[f"power, {name}, {how}, n = 1000"] for how in ("learned", "within classes")
        )
        assert learned["low"] <= 0.05 and 0.1 < within["value"] < 1 / 3
    plain = rows["power, loss, plain, n = 1000"]
    assert plain["low"] > rows["power, loss, within classes, n = 1000"]["high"]
    assert all(
        plain["low"] > rows[f"power, {name}, within classes, n = 1000"]["high"] for name in insides
    )
    assert rows["power, likelihood ratio, plain, n = 1000"]["low"] > 0.9


def test_what_the_page_says_of_the_resnets():
    """The sentences about five ResNet-18 of CIFAR-10."""
    (record,) = results.find(notebook="set_layers", data="cifar10-resnet18", scale="paper")
    (others,) = results.find(notebook="set_layers", data="cifar10", scale="paper")
    rows, before = ({row["what"]: row for row in one["rows"]} for one in (record, others))
    assert (data.variants("cifar10", "resnet18").test_accuracy > 0.85).all()
    assert rows["gap of the loss"]["low"] > before["gap of the loss"]["high"]

    def powers(names, how, n):
        return np.array([rows[f"power, {name}, {how}, n = {n}"]["value"] for name in names])

    layers, sure = ("last", "second-to-last"), ("loss", "likelihood ratio")
    for n in (500, 1000):
        for how in ("learned", "learned without records", "plain on half"):
            assert (powers((*layers, "confidences"), how, n) <= 0.1).all()
        assert (powers(layers, "plain", n) <= 0.1).all()
        assert (powers(sure, "learned", n) == 1).all()
        assert (powers(("entropy",), "learned", n) > 0.8).all()
    assert (powers(("confidences",), "within classes", 500) > 0.5).all()
    assert (powers(layers, "within classes", 1000) > 0.5).all()
    for name, row in rows.items():
        if row["what"].startswith("power"):
            assert row["low"] <= before[name]["high"] and before[name]["low"] <= row["high"], name
        if row["value"] in (0, 1):
            assert row["high"] - row["low"] > 0.5
