"""The pages on the stored CIFAR-10 networks hold for a whole block too, not only for the models
that happen to be stored: their cells are executed with sixteen networks made of the first four.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from mia_lib import data
from mia_lib.data import stored_signals

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import signals as script  # noqa: E402  (the folder of scripts is not a package)

PAGES = ("signals_benchmark", "one_store")


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory):
    """A folder with one block: each network says of an image what one of four says that has the
    same membership of it, with some noise.
    """
    real = data.signals("cifar10", 4)
    folder = tmp_path_factory.mktemp("signals") / "folder"
    shutil.copytree(stored_signals.FOLDER, folder)
    rng, n = np.random.default_rng(0), real.phi.shape[1]
    member = script.masks(0, n)
    same = real.member[None] == member[:, None]  # (16, 4, n)
    source = (same + rng.random(same.shape)).argmax(axis=1)

    def taken(values, rows, spread):
        found = values[source[:, rows], np.arange(values.shape[1])].astype(float)
        return (found + spread * rng.normal(size=found.shape)).astype(np.float16)

    provenance = [{k: v for k, v in one.items() if k != "file"} for one in real.provenance]
    np.savez(
        folder / "cifar10-00.npz",
        phi=taken(real.phi, slice(None), 0.7),
        phi_mirror=taken(real.phi_mirror, slice(None), 0.7),
        logits=taken(real.logits, real.rows, 0.1),
        member=np.packbits(member, axis=1),
        train_accuracy=np.tile(real.train_accuracy, 4),
        test_accuracy=np.tile(real.test_accuracy, 4),
        provenance=np.array([json.dumps(one) for one in provenance * 4]),
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_with_sixteen_networks(page, sixteen, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(stored_signals, "FOLDER", sixteen)
    cells = json.loads((ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    known = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), known)  # the cells' assertions are the test
    assert known["S"] == len(known["stored"].phi) == 16
    if page == "signals_benchmark":
        assert "LiRA, online" in known["scores"]


def test_images_of_cifar_are_on_no_page_of_signals():
    for page in PAGES:
        text = (ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf-8")
        assert "imshow" not in text and "data.load(" not in text
