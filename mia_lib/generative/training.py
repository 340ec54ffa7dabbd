"""What all GANs share in training: batches, noise, epochs, checkpoints, resuming, and a stop where
the loss is not finite.

All that is random is drawn from one torch generator, whose state is stored with the networks and
optimizers: training that was killed goes on bit for bit.

Taught in book/generative.ipynb.
"""

import contextlib
import json
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import torch

from mia_lib import checks, clock, disk, models, progress, reseed
from mia_lib.generative import gan as gans

SAVE_EVERY = 60  # seconds between two states on disk, checkpoints apart
LATEST = "latest.npz"
# in place of LATEST while epochs are trained again that LATEST is past: nothing computed is lost
AGAIN = "again.npz"
FINITE = "a finite number: try a smaller learning_rate, another rng, or values of x that vary"
# to be raised whenever the same arguments give other numbers, so that no folder of older code is
# gone on with
REVISION = 1


class Run:
    """One GAN in training.

    Parameters
    ----------
    kind : str
        What the GAN is called.
    x : (n, ...) array
        The members, in [0, 1].
    recipe : GanRecipe
    folder : path, optional
    rng : numpy.random.Generator, optional
    n_classes : int
        Of a conditional GAN.
    stored : dict, optional
        What the result depends on beside recipe, records and seed, as JSON.
    """

    def __init__(self, kind, x, recipe, *, folder=None, rng=None, n_classes=0, stored=None):
        self.kind, self.recipe, self.n_classes = kind, recipe, n_classes
        self.stored, self.of = recipe.stored() | (stored or {}), recipe.made()
        x = gans.records("x", x, self.of.shape)
        self.device = models.torch_device(recipe.device)
        self.folder = None if folder is None else Path(folder)
        self.seed = seed_of(self.folder, rng)
        self.data_hash = disk.hash_arrays(x)
        self.x = torch.from_numpy(2 * x - 1).to(self.device)
        self.draws = torch.Generator(self.device).manual_seed(self.seed)
        self.made_by, self.networks, self.optimizers = {}, {}, {}

    def add(self, name, network):
        """Start a network and its Adam; the weights depend on the run's seed and the order of
        adding alone.
        """
        with torch.random.fork_rng(devices=[]):
            torch.random.default_generator.manual_seed(self.seed + 1 + len(self.networks))
            made = network().to(self.device)
        made.bfloat16 = self.recipe.precision == "bfloat16"
        self.networks[name], self.made_by[name] = made, network
        self.optimizers[name] = torch.optim.Adam(
            made.parameters(), lr=self.recipe.learning_rate, betas=self.recipe.betas, fused=True
        )
        return made, self.optimizers[name]

    def noise(self, n):
        """(n, latent) standard normal."""
        return torch.randn(n, self.of.latent, generator=self.draws, device=self.device)

    def batch(self, n, rows=None):
        """n members, drawn with replacement, from all or from some rows."""
        index = torch.randint(
            len(self.x) if rows is None else len(rows),
            (n,),
            generator=self.draws,
            device=self.device,
        )
        return self.x[index if rows is None else rows[index]]

    def train(self, step, n_steps, checkpoints, *, prepare=None, epsilon=None):
        """Run the epochs that are missing; a Gan for each checkpoint.

        Parameters
        ----------
        step : callable
            ``step(epoch)`` makes one step and returns its losses by name, as tensors.
        n_steps : int
            Steps an epoch.
        checkpoints : sequence of int or None
        prepare : callable, optional
            What comes before the first epoch.
        epsilon : callable, optional
            ``epsilon(epoch)``, the budget spent after so many epochs.

        Returns
        -------
        dict of int to Gan
        """
        epochs = self.recipe.epochs
        wanted = (
            [epochs]
            if checkpoints is None
            else sorted({checks.integer("checkpoints", e, 0, high=epochs) for e in checkpoints})
        )
        if not wanted:
            checks.fail("checkpoints", "no epoch", "at least one epoch")
        self._open()
        kept, history = {}, {}
        done = self._resume(wanted, history)
        self.elapsed = clock.stopwatch(torch.get_num_threads())
        if done is None:
            done = 0
            if prepare:
                prepare()
            self._keep(0, wanted, kept)
            if self.folder is not None:
                self._save(0, history)
        saved = time.monotonic()
        with progress.bar(max(epochs - done, 0), f"{self.kind} epochs") as bar:
            for epoch in range(done + 1, epochs + 1):
                means = self._epoch(step, n_steps, epoch)
                for name, value in means.items():
                    history.setdefault(name, []).append(value)
                kept_now = epoch in wanted or epoch == epochs
                save_now = self.folder is not None and (
                    kept_now or time.monotonic() - saved > SAVE_EVERY
                )
                if kept_now or save_now:
                    self._check_weights(epoch)
                self._keep(epoch, wanted, kept)
                if save_now:
                    self._save(epoch, history)
                    saved = time.monotonic()
                bar.set_postfix_str(
                    ", ".join(f"{name} loss {value:.3g}" for name, value in means.items())
                )
                bar.update()
        return {epoch: self._gan(epoch, kept, history, epsilon) for epoch in wanted}

    def _epoch(self, step, n_steps, epoch):
        total = {}
        for _ in range(n_steps):
            for name, loss in step(epoch).items():
                total[name] = total.get(name, 0) + loss.detach().double()
        means = {name: float(value) / n_steps for name, value in total.items()}
        for name, value in means.items():
            if not np.isfinite(value):
                checks.fail(f"{name} loss", f"{value} in epoch {epoch} of the {self.kind}", FINITE)
        return means

    def _check_weights(self, epoch):
        """A loss is taken before its step, so the last step may spoil the weights after a finite
        loss.
        """
        for name, tensor in self._weights().items():
            if not bool(torch.isfinite(tensor).all()):
                checks.fail(
                    f"weights of {name}",
                    f"nan or inf after epoch {epoch} of the {self.kind}",
                    FINITE,
                )

    def _keep(self, epoch, wanted, kept):
        if epoch not in wanted:
            return
        state = {
            name: tensor.detach().cpu().numpy().copy() for name, tensor in self._weights().items()
        }
        if self.folder is None:
            kept[epoch] = state
        else:
            disk.write_npz(self._file(epoch), state)

    def _gan(self, epoch, kept, history, epsilon):
        if epoch in kept:
            state = kept[epoch]
        else:
            state = read_npz(self._file(epoch))
        copies = {}
        for name, make in self.made_by.items():
            with torch.device("meta"):  # shapes only: nothing is drawn
                made = make().eval().requires_grad_(False)
            prefix = f"{name}/"
            own = {
                key.removeprefix(prefix): torch.from_numpy(state[key])
                for key in state
                if key.startswith(prefix)
            }
            made.load_state_dict(own, assign=True)
            copies[name] = made.to(self.device)
        return gans.Gan(
            kind=self.kind,
            generators=tuple(net for name, net in copies.items() if name.startswith("generator")),
            discriminators=tuple(
                net for name, net in copies.items() if name.startswith("discriminator")
            ),
            shape=self.of.shape,
            latent=self.of.latent,
            n_classes=self.n_classes,
            epoch=epoch,
            losses={name: np.array(values[:epoch]) for name, values in history.items()},
            epsilon=None if epsilon is None else epsilon(epoch),
        )

    def _weights(self):
        return {
            f"{name}/{key}": t
            for name, net in self.networks.items()
            for key, t in net.state_dict().items()
        }

    def _file(self, epoch):
        return (
            Path(os.devnull, "none")
            if self.folder is None
            else self.folder / f"epoch-{epoch:06d}.npz"
        )

    def _open(self):
        """Make the folder, or see that it belongs to the same training."""
        if self.folder is None:
            return
        manifest = {
            "revision": REVISION,
            "kind": self.kind,
            "seed": self.seed,
            "data": self.data_hash,
            "device": self.device.type,
            "networks": [str(net) for net in self.networks.values()],
            **self.stored,
        }
        file = self.folder / "manifest.json"
        if disk.begun(file, manifest, "folder") is None:
            disk.write_json(file, manifest)

    def _save(self, epoch, history):
        state = {
            f"weight/{name}": tensor.detach().cpu().numpy()
            for name, tensor in self._weights().items()
        }
        for name, optimizer in self.optimizers.items():
            for number, moments in optimizer.state_dict()["state"].items():
                state.update(
                    {
                        f"adam/{name}/{number}/{key}": t.detach().cpu().numpy()
                        for key, t in moments.items()
                    }
                )
        state["draws"] = self.draws.get_state().numpy()
        state["epoch"] = np.array(epoch)
        spent = np.nan if self.spent is None else self.spent + self.elapsed()
        state["processor_seconds"] = np.array(spent)
        state.update({f"loss/{name}": np.array(values) for name, values in history.items()})
        disk.write_npz(self.folder / (LATEST if epoch >= self.reached else AGAIN), state)
        if epoch >= self.reached:
            (self.folder / AGAIN).unlink(missing_ok=True)

    def _resume(self, wanted, history):
        """Load the latest state that is past no missing checkpoint and give its epoch; None where
        there is none.
        """
        states = []
        for path in () if self.folder is None else (self.folder / LATEST, self.folder / AGAIN):
            if path.exists():
                states.append(read_npz(path))
        self.reached = max((int(state["epoch"]) for state in states), default=0)
        missing = [epoch for epoch in wanted if not self._file(epoch).exists()]
        states = [state for state in states if all(epoch > state["epoch"] for epoch in missing)]
        self.spent = 0.0  # on the epochs that are gone on from
        if not states:
            if self.folder is not None:
                clock.made(self.folder)
            return None  # from the start: the same seed gives the same epochs again
        state = max(states, key=lambda state: state["epoch"])
        spent = float(state.get("processor_seconds", np.nan))  # old versions have not stored it
        self.spent = None if np.isnan(spent) else spent
        clock.found(self.folder, self.spent)
        for name, network in self.networks.items():
            prefix = f"weight/{name}/"
            own = {
                key.removeprefix(prefix): torch.from_numpy(state[key])
                for key in state
                if key.startswith(prefix)
            }
            network.load_state_dict(own)
            moments, prefix = {}, f"adam/{name}/"
            for key in state:
                if key.startswith(prefix):
                    number, what = key.removeprefix(prefix).split("/")
                    moments.setdefault(int(number), {})[what] = torch.from_numpy(state[key])
            optimizer = self.optimizers[name]
            optimizer.load_state_dict(
                {"state": moments, "param_groups": optimizer.state_dict()["param_groups"]}
            )
        self.draws.set_state(torch.from_numpy(state["draws"]))
        for key in state:
            if key.startswith("loss/"):
                history[key.removeprefix("loss/")] = state[key].tolist()
        return int(state["epoch"])


def seed_of(folder, rng):
    """What all that is random comes from: the folder's own seed where training has begun there and
    no generator is given.
    """
    file = None if folder is None else folder / "manifest.json"
    if rng is not None or file is None or not file.exists():
        return reseed.seed(int(checks.generator(rng).integers(2**62)))
    with whole(file):
        return checks.integer("seed", json.loads(file.read_text())["seed"])


def read_npz(path):
    """All arrays of a file that `disk.write_npz` wrote."""
    with whole(path), np.load(path, allow_pickle=False) as file:
        return dict(file)


@contextlib.contextmanager
def whole(file):
    """Around the reading of a file of a folder: one line where it was cut off or spoilt."""
    try:
        yield
    except (ValueError, TypeError, LookupError, EOFError, zipfile.BadZipFile):
        checks.fail("folder", f"{file}, which is damaged", "another folder")


def steps(n, batch_size):
    """Steps an epoch: as many full batches as the n records fill, at least one."""
    return max(1, n // batch_size)


def descend(optimizer, loss):
    """One step down the loss."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
