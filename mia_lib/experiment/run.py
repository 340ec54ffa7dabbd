"""One run of an experiment notebook: its parameters, what it found, its record."""

import dataclasses
import time

import pandas as pd
import torch

from mia_lib import checks, intervals, plots, results, train
from mia_lib.experiment.ranges import USUAL
from mia_lib.experiment.seeds import over_seeds

# Parameters that the recipe calls by another name; its own `scale` is another thing.
RENAMED = {"precision": "dtype", "scale": "scale of the record"}


def begin(notebook, space):
    """Begin a run, in the cell before the parameters.

    Parameters
    ----------
    notebook : str
        The notebook's name, without its ending.
    space : dict
        The notebook's ``globals()``. Whatever it gains from here to `Run.check` is a parameter, but
        for CONSTANTS.

    Returns
    -------
    Run
        The clock runs, and pictures have the style of the book.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.

    Examples
    --------
    >>> space = {}
    >>> run = begin("lira", space)
    >>> space.update(n_models=8, delta=0.05, seed=3, n_seeds=2, scale="smoke", dataset="digits")
    >>> run.check(n_models=checks.integer)
    >>> run.parameters["n_models"], run.seeds
    (8, [3, 4])
    """
    plots.style()
    return Run(notebook, space)


@dataclasses.dataclass
class _Kept:
    """A figure: its values by seed, and what its row says."""

    found: list
    note: str
    n: int | None
    paper: object
    where: str | None


class Run:
    """One run of a notebook; made by `begin`.

    Attributes
    ----------
    notebook : str
    parameters : dict
        Names and values as they were given, once they are checked.
    seeds : list of int
        seed, seed + 1, ..., one for each repetition.
    written : pathlib.Path
        The record, once it is written.

    Notes
    -----
    Used in notebooks/lira_dp.ipynb.
    """

    def __init__(self, notebook, space):
        self.notebook, self.parameters, self.seeds = notebook, {}, []
        self._space, self._before = space, set(space)
        self._started, self._kept, self.written = time.monotonic(), {}, None

    def check(self, **ranges):
        """Check every parameter, in the cell after them.

        Parameters
        ----------
        **ranges : callable
            What each may be, such as `whole(1)`. `ranges.USUAL` has those of the names that most
            notebooks share.

        Raises
        ------
        ValueError
            The first value that does not fit, in one line; a parameter without a range, a range
            without a parameter.
        """
        found = {
            name: value
            for name, value in self._space.items()
            if name not in self._before
            and not (name.startswith("_") or name.isupper())
            and value is not self
        }
        for name in ranges.keys() - found.keys():
            checks.fail("ranges", f"one of {name!r}", "a parameter of that name")
        for name, value in found.items():
            if name not in ranges and name not in USUAL:
                checks.fail("ranges", f"none of {name!r}", "a range for each parameter")
            ranges.get(name, USUAL.get(name))(name, value)
        self.parameters = found
        first = found.get("seed", 0)
        self.seeds = list(range(first, first + found.get("n_seeds", 1)))

    def recipe(self, **changes):
        """The `train.Classifier` whose fields are the parameters of their names.

        Parameters
        ----------
        **changes : values
            Further fields, or others than the parameters say.

        Returns
        -------
        train.Classifier
            ``augment="none"`` stands for no augmentation. A GPU that is asked for and missing is
            noticed here.

        Raises
        ------
        ValueError
            A value that the recipe refuses.
        """
        given = {RENAMED.get(name, name): value for name, value in self.parameters.items()}
        fields = {field.name for field in dataclasses.fields(train.Classifier)}
        given = {name: value for name, value in given.items() if name in fields} | changes
        if "hidden" in given:
            given["hidden"] = checks.widths("hidden", given["hidden"])
        if given.get("augment") == "none":
            given["augment"] = None
        recipe = train.Classifier(**given)
        assert recipe.torch_device
        return recipe

    def keep(self, id, what, found, *, note="", n=None, paper=None, where=None):
        """Keep a figure of one seed; called once for each.

        Parameters
        ----------
        id : str
            The row of the inventory that it belongs to.
        what : str
            What it is: the name of its row in the record, the same for every seed.
        found : Estimate, float or None
            The value, with its interval if it has one. None: not measured.
        note : str
            What a reader has to know.
        n : int, optional
            What it was measured on, where that differs from what `write` is told.
        paper : float or str, optional
            What the paper reports.
        where : str, optional
            Where in the paper.

        Returns
        -------
        what was found
        """
        kept = self._kept.setdefault((id, what), _Kept([], note, n, paper, where))
        kept.found.append(found)
        return found

    def figure(self, what):
        """A kept figure over all seeds so far.

        Parameters
        ----------
        what : str
            The name of its row.

        Returns
        -------
        Estimate
            See `over_seeds`.

        Raises
        ------
        ValueError
            Nothing is kept under that name.
        """
        for (_, name), kept in self._kept.items():
            if name == what:
                return self._mean(kept)
        checks.fail("what", repr(what), "the name of a figure that was kept")

    def shown(self, prefix="", *, id=None):
        """The kept figures whose names begin so, for display.

        Parameters
        ----------
        prefix : str
        id : str, optional
            Only those of one row of the inventory.

        Returns
        -------
        pandas.DataFrame
            One line for each, with its interval.
        """
        found = {
            what: self._text(kept)
            for (of, what), kept in self._kept.items()
            if what.startswith(prefix) and id in (None, of)
        }
        return pd.DataFrame({"ours": found})

    def grid(self, prefix, *columns, id=None):
        """The kept figures named "COLUMN, LABEL" as a table, for display.

        Parameters
        ----------
        prefix : str
            With what the labels begin; it is not shown.
        *columns : str
            Which figures, such as "TPR at 1 %" and "AUC".
        id : str, optional
            Only those of one row of the inventory.

        Returns
        -------
        pandas.DataFrame
            A line for each label, "" where a figure was not kept.
        """
        lines = {}
        for (of, what), kept in self._kept.items():
            column, _, label = what.partition(", ")
            if column in columns and label.startswith(prefix) and id in (None, of):
                text = self._text(kept)
                below = kept.note.startswith(("< floor", "below the floor"))
                floor = " < floor" if below else ""
                lines.setdefault(label.removeprefix(prefix), {})[column] = text + floor
        return pd.DataFrame(lines, index=columns).T.fillna("")

    def rows(self, n=None, of="examples", *, interval="bootstrap over them", paper=None):
        """The rows of the record, one for each figure that was kept.

        Parameters
        ----------
        n : int, optional
            What a figure of one seed was measured on.
        of : str
            What n counts.
        interval : str
            How a figure of one seed came by its interval.
        paper : dict of str to (float or str, str), optional
            What the paper reports and where, by the name of the row.

        Returns
        -------
        list of dict
            As `results.row` makes them. With several seeds n counts seeds.
        """
        for (_, what), kept in self._kept.items():
            if paper and what in paper:
                kept.paper, kept.where = paper[what]
        return [
            self._row(id, what, kept, n, of, interval) for (id, what), kept in self._kept.items()
        ]

    def _row(self, id, what, kept, n, of, interval):
        mean = self._mean(kept)
        if len(kept.found) > 1:
            n, measured = len(kept.found), "n: seeds, t interval of their mean"
        elif kept.n is not None or n is None or len(self.seeds) > 1:  # the same for all seeds
            n, measured = kept.n, ""
        else:
            measured = f"n: {of}" if mean.low is None else f"n: {of}, {interval}"
        note = "; ".join(part for part in (measured, kept.note) if part)
        return results.row(id, what, mean, n=n, paper=kept.paper, where=kept.where, note=note)

    def _text(self, kept):
        mean = self._mean(kept)
        return "not measured" if mean.value is None else f"{mean:.3f}"

    def _mean(self, kept):
        if any(one is None for one in kept.found):
            return intervals.Estimate(None, None, None)
        return over_seeds(kept.found, self.parameters.get("delta", 0.05))

    def write(self, rows, *arrays, data=None):
        """Write the record, in the last cell.

        Parameters
        ----------
        rows : list of dict
            From `rows`, or made by `results.row`.
        *arrays : arrays
            The data, for their hash.
        data : str, optional
            The name of the data. Default: the parameter ``dataset``.

        Returns
        -------
        pandas.DataFrame
            Paper and ours, to end the notebook with; the file's path is the attribute ``written``.
        """
        parameters = self.parameters
        on_gpu = parameters.get("device") == "cuda"
        provenance = results.Provenance(
            self.notebook,
            data or parameters["dataset"],
            parameters["scale"],
            parameters,
            parameters["seed"],
            device=torch.cuda.get_device_name() if on_gpu else "cpu",
            data_hash=results.hash_arrays(*arrays) if arrays else None,
        )
        self.written = results.write(provenance, rows, time.monotonic() - self._started)
        print(f"{len(rows)} rows in {self.written.name}")
        table = results.table(results.read(self.written))
        return table[["id", "what", "paper", "where", "ours"]]
