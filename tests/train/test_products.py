"""Float32 products by the library that is the faster one: which processors, and that nothing but
speed changes.
"""

import contextlib

import numpy as np
import pytest
import torch

from mia_lib import machine
from mia_lib.train import Classifier, products

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def asked_anew():
    products.helps.cache_clear()
    yield
    products.helps.cache_clear()


def pretend(monkeypatch, vendor, capability):
    monkeypatch.setattr(machine, "vendor", lambda: vendor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)


def settings():
    return torch.backends.mkldnn.matmul.fp32_precision, torch.get_float32_matmul_precision()


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
    pretend(monkeypatch, vendor, capability)
    monkeypatch.setattr(products, "keeps_float32", lambda: kept)
    assert products.helps() is wanted


def test_products_that_round_to_bfloat16_are_noticed(monkeypatch):
    exact = torch.bmm
    rounded = lambda a, b: exact(a.bfloat16().float(), b.bfloat16().float())  # noqa: E731
    monkeypatch.setattr(torch, "bmm", exact)
    if machine.vendor() == "AuthenticAMD":
        assert products.keeps_float32()
    monkeypatch.setattr(torch, "bmm", rounded)
    assert not products.keeps_float32()


@pytest.mark.parametrize("before", ["ieee", "tf32", "bf16", "none"])
@pytest.mark.parametrize("broken_off", [False, True])
def test_the_setting_of_the_caller_comes_back(monkeypatch, before, broken_off):
    monkeypatch.setattr(products, "helps", lambda: True)
    setting = torch.backends.mkldnn.matmul
    own = setting.fp32_precision
    try:
        setting.fp32_precision = before
        with pytest.raises(KeyError) if broken_off else contextlib.nullcontext():
            with products.at_full_speed(CPU):
                assert setting.fp32_precision == "bf16"
                if broken_off:
                    raise KeyError
        assert setting.fp32_precision == before
    finally:
        setting.fp32_precision = own


def test_nothing_is_set_where_it_does_not_help_or_on_another_device(monkeypatch):
    before = torch.backends.mkldnn.matmul.fp32_precision
    monkeypatch.setattr(products, "helps", lambda: False)
    with products.at_full_speed(CPU):
        assert torch.backends.mkldnn.matmul.fp32_precision == before
    monkeypatch.setattr(products, "helps", lambda: True)
    with products.at_full_speed(torch.device("cuda")):
        assert torch.backends.mkldnn.matmul.fp32_precision == before


@pytest.mark.parametrize("legacy", ["highest", "high", "medium"])
def test_training_leaves_the_settings_of_the_caller(monkeypatch, legacy):
    seen = []

    def helps():
        seen.append(True)
        return True

    monkeypatch.setattr(products, "helps", helps)
    own = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(legacy)
        before = settings()
        trained()
        assert seen and settings() == before
    finally:
        torch.set_float32_matmul_precision(own)


def trained(**choices):
    rng = np.random.default_rng(3)
    x, y = rng.random((300, 70)).astype(np.float32), rng.integers(0, 7, 300)
    recipe = Classifier(hidden=(40, 30), epochs=4, **choices)
    members = rng.random((5, 300)) < 0.5
    return recipe(x, y, members, [np.random.default_rng([1, k]) for k in range(5)])


def test_the_trained_weights_are_those_of_the_other_library_but_for_their_last_bits(monkeypatch):
    # where the setting rounds, as with AMX, it is not used, and there is nothing to compare
    leaves = (False, True) if products.keeps_float32() else (False, False)
    found = {}
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
