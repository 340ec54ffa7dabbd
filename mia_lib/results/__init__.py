"""Result records: what an experiment measured, beside what the paper reports, in one JSON file per
run.

A record names the notebook, data set, scale, parameters, seed, hashes of data and code, versions,
device, date, seconds and processor seconds, and has rows {id, what, paper, where, value, low, high,
n, note}. A value of null means "not measured". Pages read the records in notebooks/results and
never type a number. Every experiment notebook writes one, such as notebooks/lira.ipynb;
book/records.ipynb shows them all and says which were made by the code as it is now. What a paper
reports is read by `paper` from the files in book/papers, and not typed either.
"""

from mia_lib.disk import hash_arrays
from mia_lib.results.code import hash_code
from mia_lib.results.display import matching, sortable, table
from mia_lib.results.papers import paper
from mia_lib.results.picture import picture, picture_alt
from mia_lib.results.places import recorded
from mia_lib.results.record import Provenance, find, largest, read, row, write
from mia_lib.results.schema import SCHEMA, check
from mia_lib.results.today import as_of_today

__all__ = [
    "SCHEMA",
    "Provenance",
    "as_of_today",
    "check",
    "find",
    "hash_arrays",
    "hash_code",
    "largest",
    "matching",
    "paper",
    "picture",
    "picture_alt",
    "read",
    "recorded",
    "row",
    "sortable",
    "table",
    "write",
]
