"""The shift of the seeds reaches every training of the library and nothing else."""

import inspect

import numpy as np
import pytest

from mia_lib import attacks, data, generative, recurrent, reseed, shadow, train

N = 24


def inputs():
    rng = np.random.default_rng(0)
    return rng.random((N, 4)), np.arange(N) % 2, np.arange(N)[None] < 16


def trained(fit, x=None):
    own, y, members = inputs()
    state = fit(own if x is None else x, y, members, [np.random.default_rng(3)])
    return fit.logits(state, own if x is None else x)


RECIPE = train.Classifier(hidden=(3,), epochs=2, batch_size=8)
PRIVATE_IMAGES = train.PrivateImages(
    widths=(2,),
    groups=1,
    epochs=1,
    batch_size=8,
    learning_rate=0.1,
    noise_multiplier=1.0,
    max_norm=1.0,
)
REFERENCE = np.arange(N) >= 16


def logits_by_epoch():
    return train.epoch_logits(RECIPE, *inputs(), [np.random.default_rng(3)], [1, 2])


def gan(rng):
    return generative.js_gan(
        np.full((8, 8, 8), 0.5), generative.JsGanRecipe(epochs=1, batch_size=4), rng=rng
    )[1]


def quantiles():
    rng = np.random.default_rng(4)
    signal, member = rng.normal(size=(2, 40)), np.arange(40)[None] % 2 == np.arange(2)[:, None]
    return attacks.quantile_regression(
        signal, member, rng.random((40, 2)), level=0.5, n_steps=100, rng=rng
    )


TRAININGS = {
    "classifier": lambda: trained(RECIPE),
    "looped": lambda: trained(train.Classifier(hidden=(3,), epochs=2, stacked=False)),
    "adversarial": lambda: trained(train.AdversarialRegularization(RECIPE, 1.0, REFERENCE)),
    "distillation": lambda: trained(train.Distillation(RECIPE, 2.0)),
    "private": lambda: trained(train.PrivateSGD(RECIPE, 1.0, 1.0)),
    "private images": lambda: trained(PRIVATE_IMAGES, inputs()[0].reshape(N, 2, 2)),
    "by epoch": logits_by_epoch,
    "losses by epoch": lambda: train.epoch_losses(RECIPE, *inputs(), [np.random.default_rng(3)]),
    "texts": lambda: trained(
        recurrent.LstmClassifier(5, 2, embedding=2, hidden=(2,), epochs=1),
        np.random.default_rng(1).integers(1, 5, (N, 3)),
    ),
    "gan": lambda: gan(np.random.default_rng(5)).generate(3, np.random.default_rng(6)),
    "quantile regression": quantiles,
    "attack network": lambda: attacks.label_network(
        np.log(inputs()[0][:, :2]),
        inputs()[1],
        np.log(inputs()[0][:, 2:]),
        inputs()[1],
        np.arange(N) % 4 < 2,
        epochs=2,
        rng=np.random.default_rng(7),
    ),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_a_shift_changes_a_training_and_gives_the_same_again(name, monkeypatch):
    monkeypatch.delenv(reseed.VARIABLE, raising=False)
    plain = TRAININGS[name]()
    monkeypatch.setenv(reseed.VARIABLE, "0")
    assert np.array_equal(TRAININGS[name](), plain)
    monkeypatch.setenv(reseed.VARIABLE, "1")
    one = TRAININGS[name]()
    assert np.array_equal(TRAININGS[name](), one)
    monkeypatch.setenv(reseed.VARIABLE, "2")
    assert not np.array_equal(one, plain) and not np.array_equal(TRAININGS[name](), one)


FITS = {
    "Classifier": RECIPE,
    "AdversarialRegularization": train.AdversarialRegularization(RECIPE, 1.0, REFERENCE),
    "Distillation": train.Distillation(RECIPE, 2.0),
    "Hamp": train.Hamp(RECIPE, 0.5),
    "L1Penalty": train.L1Penalty(RECIPE, 0.01),
    "PrivateImages": PRIVATE_IMAGES,
    "PrivateSGD": train.PrivateSGD(RECIPE, 1.0, 1.0),
    "RelaxLoss": train.RelaxLoss(RECIPE, 0.5),
}
OTHERS = {"coins": np.ones((1, 3), bool), "fit": RECIPE, "epochs": [1, 2]}


def ways_to_train():
    """{name: function} of everything in `train` that takes training sets and generators."""
    found = {}
    for name in train.__all__:
        made = getattr(train, name)
        if not inspect.isclass(made):
            found[name] = made
            continue
        for method, function in vars(made).items():
            public = method == "__call__" or (method[0] != "_" and method != "prepared")
            if inspect.isfunction(function) and public:
                found[f"{name}.{method}"] = function
    return {
        name: function
        for name, function in found.items()
        if "members" in (given := inspect.signature(function).parameters)
        and given.keys() & {"rng", "rngs"}
    }


def numbers(result):
    """All arrays of a result behind one another."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if not isinstance(result, tuple):
        return np.ravel(result)
    return np.concatenate([numbers(part) for part in result])


@pytest.mark.parametrize("name", ways_to_train())
def test_no_way_to_train_is_left_out(name, monkeypatch):
    x, y, members = inputs()
    if name.startswith("PrivateImages"):
        x = x.reshape(N, 2, 2)
    function, found = ways_to_train()[name], []
    given = OTHERS | {"self": FITS.get(name.split(".")[0]), "x": x, "y": y, "members": members}
    for shift in ("1", "2"):
        monkeypatch.setenv(reseed.VARIABLE, shift)
        given |= {"rng": np.random.default_rng(3), "rngs": [np.random.default_rng(3)]}
        wanted = {part: given[part] for part in inspect.signature(function).parameters}
        found.append(numbers(function(**wanted)))
    assert not np.array_equal(*found)


def test_the_ways_to_train_are_found():
    assert {"Classifier.__call__", "PrivateSGD.audited", "epoch_logits"} <= ways_to_train().keys()


def test_data_and_masks_stay(monkeypatch):
    def drawn():
        rng = np.random.default_rng(1)
        world = data.synthetic_purchase(20, rng, n_classes=3, n_features=4)
        return world.x, shadow.half_masks(4, 20, rng), rng.random(5)

    plain = drawn()
    monkeypatch.setenv(reseed.VARIABLE, "3")
    assert all(np.array_equal(a, b) for a, b in zip(drawn(), plain))


def test_what_is_drawn_after_training_does_not_depend_on_the_shift(monkeypatch):
    after = []
    for shift in ("1", "2"):
        monkeypatch.setenv(reseed.VARIABLE, shift)
        rng = np.random.default_rng(1)
        RECIPE(*inputs(), [rng])
        gan(rng)
        after.append(rng.random())
    assert after[0] == after[1]


def test_a_shift_is_a_whole_number(monkeypatch):
    for bad in ("-1", "1.5", "many", "²"):
        monkeypatch.setenv(reseed.VARIABLE, bad)
        with pytest.raises(ValueError, match="MIA_RESEED: given .*expected"):
            reseed.shift()
    monkeypatch.setenv(reseed.VARIABLE, "")
    assert reseed.shift() == 0


def test_bad_generators_are_named_with_a_shift_too(monkeypatch):
    monkeypatch.setenv(reseed.VARIABLE, "1")
    with pytest.raises(ValueError, match=r"rngs\[0\]"):
        RECIPE(*inputs(), [7])


@pytest.mark.parametrize("shift", ["0", "1"])
@pytest.mark.parametrize("rngs", [None, np.random.default_rng(0)])
def test_what_is_no_sequence_of_generators_is_named(rngs, shift, monkeypatch):
    monkeypatch.setenv(reseed.VARIABLE, shift)
    expected = f"^rngs: given {type(rngs).__name__}, expected a sequence of one generator"
    for fit in (RECIPE, shadow.each(np.negative, np.negative)):
        with pytest.raises(ValueError, match=expected):
            fit(*inputs(), rngs)
