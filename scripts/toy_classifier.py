"""Train the binary classifier of MACE version 2, appendix E.3.3, and write what it says.

    scripts/toy_classifier.py --device cuda

One convolution of 512 filters, a layer of two rectified units, one output: the white box of its
appendix G is two numbers, from which the output follows. Members, others and the split by lesion
are those of the GANs on skin lesions (scripts/gans.py); cancerous are akiec, bcc and mel. Ten
networks at each of two learning rates, Keras's default and a tenth of it. A network both of whose
units are silent for every record counts like the others. The file is written once.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gans  # noqa: E402

from mia_lib import data, disk  # noqa: E402

FILE = gans.ROOT / "notebooks" / "toy" / "skin-lesions.npz"
EPOCHS = [0, 5, 10, 20, 40, 80]
RATES = [1e-3, 1e-4]
NETWORKS = 10  # at each rate
BATCH, FILTERS, SEED = 64, 512, 0
CANCEROUS = 0, 1, 4  # akiec, bcc, mel


class Toy(nn.Module):
    """Convolution, LeakyReLU of slope 0.2, two rectified units, one logit."""

    def __init__(self, side, filters):
        super().__init__()
        self.convolution = nn.Conv2d(3, filters, 5, stride=2)
        self.units = nn.Linear(filters * ((side - 5) // 2 + 1) ** 2, 2)
        self.output = nn.Linear(2, 1)
        for layer in (self.convolution, self.units, self.output):  # as Keras begins
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        seen = nn.functional.leaky_relu(self.convolution(x), 0.2).flatten(1)
        units = nn.functional.relu(self.units(seen))
        return self.output(units)[:, 0], units


def trained(x, y, n_members, rate, seed, device):
    """Logits (T, n) and units (T, 2, n) of one network after each of EPOCHS."""
    with torch.random.fork_rng(devices=[]):
        torch.random.default_generator.manual_seed(seed)
        net = Toy(x.shape[-1], FILTERS).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    draws, found = np.random.default_rng([SEED, 21, seed]), []
    for epoch in range(EPOCHS[-1] + 1):
        if epoch in EPOCHS:
            with torch.no_grad():
                parts = [net(part) for part in x.split(500)]
            logit, units = (torch.cat(one).cpu().numpy() for one in zip(*parts))
            found.append((logit, units.T))
        order = torch.from_numpy(draws.permutation(n_members)).to(device)
        for rows in order.split(BATCH) if epoch < EPOCHS[-1] else ():
            logit, _ = net(x[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(logit, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [np.stack(one) for one in zip(*found)]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args(arguments)
    if FILE.exists():
        return
    full = data.load("skin-lesions")
    rows = gans.dealt("skin-lesions", "", full, SEED)
    order = np.concatenate([rows["members"], rows["others"]])
    cancerous = np.isin(full.y[order], CANCEROUS)
    x = torch.from_numpy(gans.pixels(full, order).transpose(0, 3, 1, 2).copy()).to(given.device)
    y = torch.from_numpy(cancerous.astype(np.float32)).to(given.device)
    logits, units = [], []
    for rate in RATES:
        for seed in range(NETWORKS):
            one = trained(x, y, len(rows["members"]), rate, seed, given.device)
            logits.append(one[0])
            units.append(one[1])
            print(f"rate {rate:g}, network {seed}", flush=True)
    on_gpu = given.device == "cuda"
    about = {"device": torch.cuda.get_device_name() if on_gpu else "cpu", "batch_size": BATCH}
    about |= {"torch": torch.__version__, "numpy": np.__version__, "filters": FILTERS}
    about["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    arrays = {
        "epochs": np.array(EPOCHS),
        "rates": np.repeat(RATES, NETWORKS),
        "logits": np.array(logits, np.float16),
        "units": np.array(units, np.float16),
        "cancerous": cancerous,
        "rows": order,
        "n_members": np.array(len(rows["members"])),
        "provenance": np.array(json.dumps(about)),
    }
    FILE.parent.mkdir(exist_ok=True)
    disk.write(FILE, lambda stream: np.savez_compressed(stream, **arrays))


if __name__ == "__main__":
    sys.exit(main())
