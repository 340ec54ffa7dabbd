"""What every experiment notebook shares, so that its cells tell its own story.

`files` reads what a user brings; `ranges` says what each parameter may be, as data; `run` is one
run of a notebook from its checked parameters to its record; `records` draws the records, their
roles and labels; `rates` reads figures off models and curves; `laws` keeps the law of a release;
`seeds` puts the figures of several seeds together; `recipes` changes networks; `stored` opens those
of the stored signals; `work` keeps what is done, so that a run that was broken off goes on.

Used in notebooks/lira_dp.ipynb, the model for the others.
"""

from mia_lib.experiment.files import read_features
from mia_lib.experiment.laws import keep_law
from mia_lib.experiment.ranges import (
    anything,
    flag,
    number,
    one_of,
    rising,
    several,
    share,
    whole,
    word,
)
from mia_lib.experiment.rates import (
    accuracies,
    carried,
    loss_gap,
    percent,
    rate,
    rate_of_groups,
    signal,
)
from mia_lib.experiment.recipes import with_layers
from mia_lib.experiment.records import Drawn, deal, draw, evenly, noisy_labels, subsets
from mia_lib.experiment.run import Run, begin
from mia_lib.experiment.seeds import over_seeds
from mia_lib.experiment.stored import stored_network
from mia_lib.experiment.work import kept, kept_array, kept_arrays, kept_fit, work_folder

__all__ = [
    "Drawn",
    "Run",
    "accuracies",
    "anything",
    "begin",
    "carried",
    "deal",
    "draw",
    "evenly",
    "flag",
    "kept",
    "kept_array",
    "kept_arrays",
    "kept_fit",
    "keep_law",
    "loss_gap",
    "noisy_labels",
    "number",
    "one_of",
    "over_seeds",
    "percent",
    "rate",
    "rate_of_groups",
    "read_features",
    "rising",
    "several",
    "share",
    "signal",
    "stored_network",
    "subsets",
    "whole",
    "with_layers",
    "word",
    "work_folder",
]
