"""Training: stacked against looped and against autograd, schedules, batches, augmentation,
evaluation mode.
"""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mia_lib import models, train
from mia_lib.train import batches, looped, stacked
from mia_lib.train.recipe import Classifier


def records(n=90, d=7, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return rng.normal(size=(n, d)) + np.eye(n_classes, d)[y], y


def images(n=60, size=20, channels=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (n, size, size, channels), dtype=np.uint8), np.arange(n) % 5


def generators(k, seed=5):
    return [np.random.default_rng([seed, s]) for s in range(k)]


def masks(k, n, seed=1):
    return np.random.default_rng(seed).random((k, n)) < 0.5


def largest_difference(a, b):
    assert a.keys() == b.keys() and all(a[name].shape == b[name].shape for name in a)
    return max(np.abs(a[name] - b[name]).max() for name in a)


RECIPES = {
    "plain": {},
    "relu, deep": {"activation": "relu", "hidden": (12, 9)},
    "sigmoid, deep": {"activation": "sigmoid", "hidden": (12, 9), "learning_rate": 0.5},
    "tanh, deep, smoothed": {"hidden": (12, 9, 5), "label_smoothing": 0.2, "schedule": "constant"},
    "no hidden layer": {"hidden": (), "momentum": 0.0, "learning_rate": 0.5},
    "weight decay": {"weight_decay": 0.02, "schedule": "linear", "warmup": 0.3},
    "nesterov": {"nesterov": True, "weight_decay": 0.01},
    "adam": {"optimizer": "adam", "learning_rate": 0.01, "weight_decay": 0.01},
    "batches of different sizes": {"batch_size": 45},
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-4)])
def test_stacked_equals_looped(name, dtype, tolerance):
    x, y = records()
    options = {"hidden": (16,), "epochs": 4, "batch_size": 8, "dtype": dtype} | RECIPES[name]
    members = masks(5, len(x))
    assert len(set(members.sum(1))) > 1  # models make different numbers of steps
    one = Classifier(stacked=True, **options)(x, y, members, generators(5))
    other = Classifier(stacked=False, **options)(x, y, members, generators(5))
    assert largest_difference(one, other) < tolerance
    assert one["head.weight"].dtype == np.dtype(dtype)


def test_training_moves_the_weights_far_beyond_the_tolerance():
    x, y = records()
    rng = np.random.default_rng([5, 0])
    net = models.build("mlp", (7,), 4, rng=rng, hidden=(16,))
    state = Classifier(hidden=(16,), epochs=4, batch_size=8)(x, y, masks(1, len(x)), generators(1))
    assert np.abs(net.head.weight.detach().numpy() - state["head.weight"][0]).max() > 0.05


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_against_a_literal_autograd_loop(optimizer):
    """No code of the library in the reference: batches drawn and the update written out here."""
    x, y = records(n=40)
    recipe = Classifier(
        hidden=(6,),
        epochs=3,
        batch_size=10,
        learning_rate=0.05,
        momentum=0.8,
        optimizer=optimizer,
        label_smoothing=0.1,
        dtype="float64",
    )
    members = masks(2, 40)
    state = recipe(x, y, members, generators(2))
    for s in range(2):
        rng = np.random.default_rng([5, s])
        ids = np.flatnonzero(members[s])
        params = []
        for inputs, outputs in ((7, 6), (6, 4)):
            for shape in ((outputs, inputs), (outputs,)):
                draw = (2 * rng.random(shape, dtype=np.float32) - 1) * np.float32(
                    1 / np.sqrt(inputs)
                )
                params.append(torch.tensor(draw, dtype=torch.float64, requires_grad=True))
        steps = -(-3 * len(ids) // 10)
        order = np.concatenate([rng.permutation(ids) for _ in range(5)])
        first, second = ([torch.zeros_like(p) for p in params] for _ in range(2))
        for t in range(steps):
            batch = order[10 * t : 10 * t + 10]
            hidden = torch.tanh(torch.tensor(x[batch]) @ params[0].T + params[1])
            log_p = torch.log_softmax(hidden @ params[2].T + params[3], 1)
            target = 0.9 * torch.eye(4, dtype=torch.float64)[y[batch]] + 0.1 / 4
            gradients = torch.autograd.grad(-(target * log_p).sum(1).mean(), params)
            rate = 0.05 * (1 + np.cos(np.pi * t / steps)) / 2
            with torch.no_grad():
                for p, g, m, v in zip(params, gradients, first, second):
                    if optimizer == "sgd":
                        m.mul_(0.8).add_(g)
                        p -= rate * m
                    else:
                        m.mul_(0.9).add_(0.1 * g)
                        v.mul_(0.999).add_(0.001 * g * g)
                        p -= (
                            rate
                            * (m / (1 - 0.9 ** (t + 1)))
                            / ((v / (1 - 0.999 ** (t + 1))).sqrt() + 1e-8)
                        )
        names = ("layer0.weight", "layer0.bias", "head.weight", "head.bias")
        for name, parameter in zip(names, params):
            np.testing.assert_allclose(
                state[name][s], parameter.detach().numpy(), rtol=0, atol=1e-9
            )


def test_sub_stacks_and_chunks_do_not_change_a_model(monkeypatch):
    x, y = records()
    recipe = Classifier(hidden=(8,), epochs=3, batch_size=8, dtype="float64")
    members = masks(6, len(x))
    whole = recipe(x, y, members, generators(6))
    monkeypatch.setattr(stacked, "CACHE_BYTES", 1)  # one at a time
    assert stacked.stack_size(recipe, [7, 8, 4], 8, torch.device("cpu")) == 1
    assert largest_difference(whole, recipe(x, y, members, generators(6))) < 1e-12
    alone = recipe(x, y, members[2:3], generators(6)[2:3])
    assert largest_difference({name: array[2:3] for name, array in whole.items()}, alone) < 1e-12


@pytest.mark.parametrize(
    "recipe, data",
    [
        (Classifier(hidden=(8,), epochs=2), records),
        (Classifier(model="cnn", epochs=1, batch_size=8, augment="weak"), images),
        (Classifier(hidden=(8,), epochs=1, augment="weak"), images),
    ],
)
def test_bit_identical_again_and_independent_of_torchs_generator(recipe, data):
    x, y = data()
    torch.manual_seed(0)
    one = recipe(x, y, masks(2, len(x)), generators(2))
    torch.manual_seed(1)
    other = recipe(x, y, masks(2, len(x)), generators(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 50), st.floats(0.1, 7), st.integers(0, 5))
def test_every_pass_shows_every_member_once(n_members, batch_size, epochs, seed):
    recipe = Classifier(batch_size=batch_size, epochs=epochs)
    ids = np.arange(100, 100 + n_members)
    size, steps = batches.batch_size(recipe, n_members), batches.step_count(recipe, n_members)
    assert (
        size == min(batch_size, n_members)
        and (steps - 1) * size < epochs * n_members <= steps * size + 1e-9
    )
    stream = batches.Stream(ids, np.random.default_rng(seed))
    drawn = np.concatenate([stream.take(size) for _ in range(steps)])
    whole = len(drawn) // n_members * n_members
    assert (np.sort(drawn[:whole].reshape(-1, n_members), axis=1) == ids).all()
    assert len(set(drawn[whole:])) == len(drawn) - whole


def test_learning_rates_by_hand():
    def rates(**options):
        return batches.learning_rates(Classifier(learning_rate=2.0, **options), np.arange(6), 4)

    np.testing.assert_allclose(rates(schedule="constant"), [2, 2, 2, 2, 0, 0])
    np.testing.assert_allclose(
        rates(schedule="cosine"), [2, 1 + np.sqrt(0.5), 1, 1 - np.sqrt(0.5), 0, 0]
    )
    np.testing.assert_allclose(rates(schedule="linear", warmup=0.5), [1, 1.5, 1, 0.5, 0, 0])


def test_it_learns_and_generalises():
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    members = masks(2, len(x))
    recipe = Classifier(hidden=(32,), epochs=30)
    correct = recipe.logits(recipe(x / 16, y, members, generators(2)), x / 16).argmax(-1) == y
    assert correct[members].mean() > 0.99 and correct[~members].mean() > 0.92


@pytest.mark.parametrize(
    "recipe",
    [
        Classifier(
            model="wide_resnet",
            options={"depth": 10, "width": 1},
            epochs=1,
            batch_size=16,
            augment="weak",
        ),
        Classifier(model="resnet18", epochs=0.3, batch_size=16, learning_rate=0.01),
        Classifier(
            model="speednet",
            options={"widths": (8, 16, 16)},
            epochs=1,
            batch_size=16,
            augment="weak",
            nesterov=True,
            schedule="linear",
            warmup=0.2,
            label_smoothing=0.2,
            shift_rate=64.0,
            learning_rate=0.5,
        ),
        Classifier(model="cnn", epochs=1, batch_size=16, dtype="bfloat16"),
    ],
)
def test_convolutional_recipes_take_a_few_steps_and_are_evaluated_in_evaluation_mode(recipe):
    x, y = images()
    state = recipe(x, y, masks(2, len(x)), generators(2))
    logits = recipe.logits(state, x)
    assert logits.shape == (2, 60, 5) and logits.dtype == np.float32 and np.isfinite(logits).all()
    # an example's logits do not depend on what else is in the batch
    scale = np.abs(logits).max()
    tolerance = (2e-2 if recipe.dtype == "bfloat16" else 1e-4) * scale
    np.testing.assert_allclose(recipe.logits(state, x[7:8]), logits[:, 7:8], rtol=0, atol=tolerance)
    if "whitening.weight" in state:
        assert not np.array_equal(
            state["whitening.weight"][0], state["whitening.weight"][1]
        )  # each from its own members
    for name in state:
        if name.endswith("running_var"):
            assert not (state[name] == 1).all()  # the statistics were learned


@pytest.mark.simulation
def test_a_hundredth_of_cifar_with_the_papers_networks():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (500, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, 500)
    y[:10] = np.arange(10)
    members = masks(1, 500)
    recipes = [
        Classifier(
            model="wide_resnet",
            options={"depth": 28, "width": 2},
            epochs=0.3,
            batch_size=64,
            augment="weak",
        ),
        Classifier(
            model="speednet",
            epochs=0.5,
            batch_size=64,
            augment="weak",
            nesterov=True,
            learning_rate=0.3,
        ),
    ]
    for recipe in recipes:
        state = recipe(x, y, members, generators(1))
        assert np.isfinite(recipe.logits(state, x[:50])).all()


def test_augmentation_against_a_literal_pad_and_crop():
    x = torch.from_numpy(images(n=12, size=9)[0])
    crops = torch.from_numpy(np.random.default_rng(0).integers(0, [9, 9, 2], (30, 3)))
    index = torch.from_numpy(np.random.default_rng(1).integers(0, 12, 30))
    out = looped._augmented(x, index, crops).numpy()
    padded = np.pad(x.numpy(), ((0, 0), (4, 4), (4, 4), (0, 0)), mode="reflect")
    for b in range(30):
        down, right, mirror = crops[b].tolist()
        want = padded[index[b], down : down + 9, right : right + 9]
        # the crop's mirror image: all 81 shifts are equally likely, so mirroring before or after is
        # the same law
        options = (
            [want]
            if not mirror
            else [want[:, ::-1], padded[index[b], :, ::-1][down : down + 9, right : right + 9]]
        )
        assert any(np.array_equal(out[b], option) for option in options)


def test_augmented_crops_are_uniform():
    draws = looped._crops(np.random.default_rng(0), torch.zeros(1), 50, 100).numpy().reshape(-1, 3)
    assert draws.min() == 0 and draws.max(0).tolist() == [8, 8, 1]
    assert np.bincount(draws[:, 0]).min() > 400 and abs(draws[:, 2].mean() - 0.5) < 0.04


def test_normalisation_of_inputs():
    recipe = Classifier()
    assert torch.equal(
        recipe.normalised(torch.tensor([[0, 1]], dtype=torch.uint8)), torch.tensor([[0.0, 1.0]])
    )
    ends = torch.tensor([0, 255], dtype=torch.uint8).view(1, 1, 2, 1)
    assert recipe.normalised(ends).flatten().tolist() == [-1, 1]
    assert Classifier(center=8, scale=8).normalised(torch.tensor([[0.0, 16.0]])).tolist() == [
        [-1, 1]
    ]
    # 0/1 bytes train to the same weights as 0/1 numbers
    x = np.random.default_rng(0).integers(0, 2, (50, 6), dtype=np.uint8)
    y = np.arange(50) % 3
    recipe = Classifier(hidden=(5,), epochs=2)
    one, other = (recipe(data, y, masks(2, 50), generators(2)) for data in (x, x.astype(float)))
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_images_of_every_layout_reach_an_mlp():
    x, y = images(size=6)
    recipe = Classifier(hidden=(5,), epochs=1)
    grey = x[..., 0]
    one, other = (recipe(data, y, masks(1, 60), generators(1)) for data in (grey, grey[..., None]))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert recipe.logits(one, grey).shape == (1, 60, 5)


def test_classes_come_from_the_whole_label_vector():
    x, y = records()
    members = (y < 3)[None]
    assert Classifier(hidden=(4,), epochs=1)(x, y, members, generators(1))["head.weight"].shape == (
        1,
        4,
        4,
    )
    assert Classifier(hidden=(4,), epochs=1, n_classes=6)(x, y, members, generators(1))[
        "head.bias"
    ].shape == (1, 6)


BAD_RECIPES = [
    {"model": "vgg"},
    {"hidden": (0,)},
    {"hidden": 5},
    {"activation": "gelu"},
    {"epochs": 0},
    {"batch_size": 0},
    {"batch_size": 2.5},
    {"optimizer": "lbfgs"},
    {"learning_rate": -1.0},
    {"learning_rate": float("nan")},
    {"momentum": 1.0},
    {"weight_decay": -0.1},
    {"schedule": "step"},
    {"warmup": 1.0},
    {"label_smoothing": 1.0},
    {"augment": "strong"},
    {"scale": 0.0},
    {"center": "mean"},
    {"device": "tpu"},
    {"dtype": "float16"},
    {"n_classes": 1},
    {"nesterov": 1},
    {"shift_rate": -1.0},
    {"stacked": "yes"},
    {"options": {"depth": 3}},
]


@pytest.mark.parametrize("bad", BAD_RECIPES, ids=str)
def test_a_bad_recipe_names_the_field(bad):
    with pytest.raises(ValueError, match=f"^{next(iter(bad))}: given .*, expected "):
        Classifier(**bad)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "cnn", "stacked": True},
        {"augment": "weak", "stacked": True},
        {"dtype": "bfloat16", "stacked": True},
    ],
)
def test_what_cannot_be_stacked_says_so(options):
    with pytest.raises(ValueError, match="^stacked: given True"):
        Classifier(**options)


def test_nesterov_needs_momentum():
    for options in ({"momentum": 0.0}, {"optimizer": "adam"}):
        with pytest.raises(ValueError, match="nesterov"):
            Classifier(nesterov=True, **options)


def test_bad_data():
    x, y = records()
    recipe, members, rngs = Classifier(hidden=(4,), epochs=1), masks(2, 90), generators(2)
    broken = x.copy()
    broken[3, 2] = np.nan
    none = members.copy()
    none[1] = False
    for match, call in [
        ("x: given 1 NaN", lambda: recipe(broken, y, members, rngs)),
        ("x: given shape", lambda: recipe(x[:, 0], y, members, rngs)),
        ("y: given shape", lambda: recipe(x, y[:-1], members, rngs)),
        ("y: given smallest label -1", lambda: recipe(x, y - 1, members, rngs)),
        (
            "y: given largest label 3",
            lambda: dataclasses.replace(recipe, n_classes=3)(x, y, members, rngs),
        ),
        ("members: given shape", lambda: recipe(x, y, members[:, :-1], rngs)),
        ("members: given model 1 without members", lambda: recipe(x, y, none, rngs)),
        ("rngs: given 1 generators", lambda: recipe(x, y, members, rngs[:1])),
        (r"rngs\[0\]: given int", lambda: recipe(x, y, members, [0, 1])),
        ("x: given shape", lambda: Classifier(model="cnn")(x, y, members, rngs)),
        ("x: given shape", lambda: Classifier(augment="weak")(x, y, members, rngs)),
    ]:
        with pytest.raises(ValueError, match=f"^{match}"):
            call()


def test_examples_of_another_width_are_named():
    x, y = records()
    for recipe in (Classifier(hidden=(4,), epochs=1, stacked=way) for way in (True, False)):
        state = recipe(x, y, masks(1, 90), generators(1))
        for asked in (recipe.logits, recipe.features):
            with pytest.raises(ValueError, match=r"^x: given shape \(90, 3\), expected examples"):
                asked(state, x[:, :3])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_an_error_and_auto_falls_back():
    x, y = records()
    with pytest.raises(ValueError, match="^device: given 'cuda'"):
        Classifier(device="cuda", epochs=1)(x, y, masks(1, 90), generators(1))
    assert Classifier(device="auto").torch_device.type == "cpu"


def test_public_names():
    assert train.Classifier is Classifier


@pytest.mark.parametrize(
    "recipe",
    [Classifier(hidden=(6, 5), epochs=2), Classifier(model="cnn", epochs=1, batch_size=16)],
)
def test_features_are_what_the_last_layer_reads(recipe):
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 12, 12), dtype=np.float32), np.arange(40) % 3
    state = recipe(x, y, rng.random((2, 40)) < 0.5, [np.random.default_rng(s) for s in (1, 2)])
    features = recipe.features(state, x)
    by_hand = (
        np.einsum("knw,kcw->knc", features, state["head.weight"]) + state["head.bias"][:, None]
    )
    np.testing.assert_allclose(by_hand, recipe.logits(state, x), atol=1e-5)
