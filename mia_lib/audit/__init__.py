"""An audit of one model: observations in, every attack that they permit, one report out.

`observations` says what may be handed over, `files` reads it, `from_model` makes it from a model,
`view` is what an adversary sees of it, `methods` lists the attacks, `blind` those that never look
at the model, `copies` which records are one, `masks` what contradicts itself, `family` the figures
that decide, `verdict` what follows from them, `descriptive` the figures beside them, `prediction`
what shadow models would find, `conduct` does all of it, `comparison` does it for two models.
`report` keeps it, `sections` puts it into words, `document` writes them down, `picture` draws the
curve and the areas.
``python -m mia_lib.audit FILE -o REPORT``.

Taught in book/audit.ipynb.
"""

from mia_lib.audit.comparison import compare
from mia_lib.audit.conduct import permits, run
from mia_lib.audit.files import describe, load
from mia_lib.audit.from_model import observe
from mia_lib.audit.observations import Observations
from mia_lib.audit.picture import picture
from mia_lib.audit.report import Report

__all__ = [
    "Observations",
    "Report",
    "compare",
    "describe",
    "load",
    "observe",
    "permits",
    "picture",
    "run",
]
