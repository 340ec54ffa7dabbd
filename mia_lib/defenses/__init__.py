"""Defences at the output, and what judging a defence needs.

Defences that change the training are in `mia_lib.train`: they are fits, so an adaptive attacker
trains shadow models with them. `answers` has those that change answers alone, `judging` what an
honest evaluation needs.

Taught in book/defenses.ipynb.
"""

from mia_lib.defenses.answers import (
    MembershipNetwork,
    fresh_answers,
    guarded_answers,
    memguard,
    rounded,
)
from mia_lib.defenses.judging import Equality, early_stopping_epoch, equality, mislabel

__all__ = [
    "Equality",
    "MembershipNetwork",
    "early_stopping_epoch",
    "equality",
    "fresh_answers",
    "guarded_answers",
    "memguard",
    "mislabel",
    "rounded",
]
