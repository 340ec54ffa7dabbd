"""Float32 products by the library that is the faster one: on which processors and for which
records, and that nothing but speed and last bits changes.
"""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
import torch

from mia_lib import machine, shadow, train
from mia_lib.train import Classifier, products

SETTING = torch.backends.mkldnn.matmul
WIDE, NARROW = np.zeros((2, 400)), np.zeros((2, 399))


@pytest.fixture(autouse=True)
def anew():
    """Nothing of this file outlives it: neither what was asked nor what was set."""
    products.helps.cache_clear()
    yield
    torch.backends.fp32_precision = "none"
    for setting in (torch.backends.mkldnn, SETTING, torch.backends.cuda.matmul):
        setting.fp32_precision = "none"
    products.helps.cache_clear()
    assert not products._inside and torch.get_float32_matmul_precision() == "highest"


@pytest.fixture
def used(monkeypatch):
    """As on a processor where it helps."""
    monkeypatch.setattr(products, "helps", lambda: True)


@products.at_full_speed
def setting_for(x, then=lambda: None):
    then()
    return SETTING.fp32_precision


@pytest.mark.parametrize(
    ("vendor", "capability", "kept", "wanted"),
    [
        ("AuthenticAMD", "AVX512", True, True),
        ("AuthenticAMD", "AVX512", False, False),
        ("AuthenticAMD", "AVX2", True, False),
        ("GenuineIntel", "AVX512", True, False),
        ("", "AVX512", True, False),
    ],
)
def test_only_amd_with_avx512_where_float32_is_kept(monkeypatch, vendor, capability, kept, wanted):
    monkeypatch.setattr(machine, "vendor", lambda: vendor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(products, "keeps_float32", lambda: kept)
    assert products.helps() is wanted
    assert setting_for(WIDE) == ("bf16" if wanted else "none")


def test_the_processor_s_maker_is_read_where_the_system_says_it(monkeypatch):
    text = "processor\t: 0\nvendor_id\t: AuthenticAMD\nempty\t:\nmodel name\t: AMD EPYC 9\n"
    monkeypatch.setattr(machine.Path, "read_text", lambda *_, **__: text)
    assert machine.vendor.__wrapped__() == "AuthenticAMD"
    assert machine.processor.__wrapped__() == "AMD EPYC 9"
    assert machine._of_cpuinfo("empty") == ""
    monkeypatch.setattr(machine.Path, "read_text", lambda *_, **__: "processor : 0\n")
    assert machine.vendor.__wrapped__() == "" and machine.processor.__wrapped__()


def test_the_product_that_is_looked_at_goes_to_onednn(monkeypatch):
    seen, exact = [], torch.bmm
    monkeypatch.setattr(
        torch, "bmm", lambda a, b: seen.append((SETTING.fp32_precision, a.dtype)) or exact(a, b)
    )
    kept = products.keeps_float32()
    assert seen == [("bf16", torch.float32)] and SETTING.fp32_precision == "none"
    assert kept or machine.vendor() != "AuthenticAMD"


def parts(a, count):
    """A tensor rounded to as many numbers of bfloat16 as are added up for it."""
    high = a.bfloat16().float()
    return high if count == 1 else high + parts(a - high, count - 1)


@pytest.mark.parametrize(
    "rounded",
    [
        lambda a, b: parts(a, 1) @ parts(b, 1),
        lambda a, b: a @ parts(b, 1),
        lambda a, b: parts(a, 1) @ b,
        lambda a, b: parts(a, 2) @ parts(b, 2) - (a - parts(a, 1)) @ (b - parts(b, 1)),
    ],
)
def test_a_product_that_rounds_is_noticed(monkeypatch, rounded):
    """To bfloat16, of one factor alone, and as three products of two parts each."""
    monkeypatch.setattr(torch, "bmm", rounded)
    assert not products.keeps_float32()


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_the_caller_s_defaults_do_not_decide(monkeypatch, kind):
    expected, own = products.keeps_float32(), torch.get_default_dtype()
    try:
        torch.set_default_dtype(kind)
        with torch.device("meta"), torch.autocast("cpu", torch.bfloat16):
            assert products.keeps_float32() == expected
    finally:
        torch.set_default_dtype(own)


def test_wide_records_alone_are_asked_for(used):
    assert setting_for(WIDE) == setting_for(x=WIDE) == "bf16"
    assert setting_for(np.zeros((1, 20, 20))) == setting_for(torch.zeros(0, 20, 20, 1)) == "bf16"
    for x in (NARROW, np.zeros(500), np.zeros(()), None, [[0.0] * 500], "x"):
        assert setting_for(x) == "none"


@pytest.mark.parametrize("before", ["ieee", "tf32", "bf16", "none"])
@pytest.mark.parametrize("broken_off", [False, True])
def test_the_setting_of_the_caller_comes_back(used, before, broken_off):
    def fails():
        raise KeyError

    SETTING.fp32_precision = before
    if broken_off:
        with pytest.raises(KeyError):
            setting_for(WIDE, fails)
    else:
        assert setting_for(WIDE, lambda: setting_for(WIDE)) == "bf16"
    assert SETTING.fp32_precision == before


@pytest.mark.parametrize("legacy", ["highest", "high", "medium"])
def test_the_older_form_of_the_setting_comes_back(used, legacy):
    torch.set_float32_matmul_precision(legacy)
    before = SETTING.fp32_precision
    assert setting_for(WIDE) == "bf16"
    assert torch.get_float32_matmul_precision() == legacy and SETTING.fp32_precision == before
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("wider", [torch.backends, torch.backends.mkldnn])
def test_a_setting_that_follows_a_wider_one_goes_on_following_it(used, wider):
    wider.fp32_precision = "tf32"
    assert setting_for(WIDE) == "bf16" and SETTING.fp32_precision == "tf32"
    wider.fp32_precision = "ieee"
    assert SETTING.fp32_precision == "ieee"
    wider.fp32_precision = "none"


def test_what_is_set_meanwhile_stays(used):
    def change():
        SETTING.fp32_precision = "tf32"

    setting_for(WIDE, change)
    assert SETTING.fp32_precision == "tf32"


def test_the_last_thread_to_leave_gives_the_setting_back(used):
    first_in, second_in, seen = Event(), Event(), []

    def stay():
        first_in.set()
        assert second_in.wait(10)

    def outlast():
        second_in.set()
        one.join(10)

    def second():
        assert first_in.wait(10)
        seen.append(setting_for(WIDE, outlast))

    one, other = Thread(target=setting_for, args=(WIDE, stay)), Thread(target=second)
    one.start(), other.start()
    one.join(10), other.join(10)
    assert seen == ["bf16"] and SETTING.fp32_precision == "none"


def test_many_threads_in_and_out_leave_what_was(used):
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(setting_for, [WIDE] * 2000)) == {"bf16"}
    assert SETTING.fp32_precision == "none"


def _child(queue):
    queue.put((SETTING.fp32_precision, setting_for(WIDE), SETTING.fp32_precision))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_process_forked_meanwhile_begins_anew(used):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def fork():
        process = context.Process(target=_child, args=(queue,))
        process.start()
        process.join(30)

    setting_for(WIDE, fork)
    assert queue.get(timeout=30) == ("none", "bf16", "none")


def problem(width=400):
    rng = np.random.default_rng(3)
    return rng.random((120, width)).astype(np.float32), rng.integers(0, 4, 120)


RECIPE = Classifier(hidden=(40, 30), epochs=3)
FITS = [
    RECIPE,
    replace(RECIPE, dropout=0.2),
    train.PrivateSGD(RECIPE, 1.0, 1.0),
    train.AdversarialRegularization(RECIPE, 1.0, np.arange(120) < 20),
    train.Distillation(RECIPE, 2.0),
    train.Hamp(RECIPE, 0.5),
    train.RelaxLoss(RECIPE, 0.5),
    train.L1Penalty(RECIPE, 0.01),
    train.PrivateImages(
        widths=(4,),
        groups=2,
        epochs=1,
        batch_size=20,
        learning_rate=0.1,
        noise_multiplier=1.0,
        max_norm=1.0,
    ),
]


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: type(fit).__name__)
@pytest.mark.parametrize("width", [400, 399])
def test_all_fits_and_their_answers_are_inside(monkeypatch, used, fit, width):
    seen = set()
    places = (torch, "bmm"), (torch, "baddbmm"), (torch.nn.functional, "linear")
    for place, name in (*places, (torch.Tensor, "__matmul__")):
        own = getattr(place, name)
        spy = lambda *a, own=own, **k: seen.add(SETTING.fp32_precision) or own(*a, **k)  # noqa: E731
        monkeypatch.setattr(place, name, spy)
    x, y = problem(width)
    x = x.reshape(120, -1, 20 if width == 400 else 19) if hasattr(fit, "widths") else x
    members = np.arange(120) >= np.array([[60], [60]])  # the reference of one fit is among others
    rngs = [np.random.default_rng(k) for k in range(2)]
    state = fit(x, y, members, rngs[0] if isinstance(fit, train.L1Penalty) else rngs)
    expected = {"bf16" if width == 400 else "none"}
    assert seen == expected
    seen.clear()
    fit.logits(state, x)
    assert seen == expected
    seen.clear()
    fit.features(state, x)
    assert seen == expected
    if fit is RECIPE:
        for follow in (train.epoch_losses, partial(train.epoch_logits, epochs=[1])):
            seen.clear()
            follow(fit, x, y, members, rngs)
            assert seen == expected
    assert SETTING.fp32_precision == "none"


def trained(fit=RECIPE, **choices):
    members = np.random.default_rng(1).random((5, 120)) < 0.5
    rngs = [np.random.default_rng([1, k]) for k in range(5)]
    return replace(fit, **choices)(*problem(), members, rngs)


def test_the_weights_are_those_of_the_other_library_but_for_their_last_bits(monkeypatch):
    # where the setting rounds, as with AMX, it is not used, and there is nothing to compare
    found, leaves = {}, (False, products.keeps_float32())
    for given, helps in zip((False, True), leaves):
        monkeypatch.setattr(products, "helps", lambda helps=helps: helps)
        found[given] = trained()
    for name, weights in found[True].items():
        np.testing.assert_allclose(weights, found[False][name], atol=1e-5)
        assert weights.dtype == np.float32


def test_float64_is_not_touched(monkeypatch):
    found = {}
    for helps in (False, True):
        monkeypatch.setattr(products, "helps", lambda helps=helps: helps)
        found[helps] = trained(dtype="float64")
    for name, weights in found[True].items():
        np.testing.assert_array_equal(weights, found[False][name])


def test_threads_give_the_bits_that_one_gives(used, tmp_path):
    x, y = problem()
    masks = shadow.half_masks(12, len(y), np.random.default_rng(0))
    given = {"seed": 1, "chunk": 1}
    alone = shadow.train(RECIPE, x, y, masks, tmp_path / "alone", **given)
    with ThreadPoolExecutor(2) as pool:
        beside = shadow.train(RECIPE, x, y, masks, tmp_path / "beside", executor=pool, **given)
    assert np.array_equal(alone.logits(), beside.logits())
    for s in range(12):
        for name, weights in alone.weights(s).items():
            assert np.array_equal(weights, beside.weights(s)[name])
