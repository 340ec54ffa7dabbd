"""Membership inference: attacks, statistics and audits, one idea per module.

Import the module that holds the idea: ``from mia_lib import signals, lira``. From the ground up:

- `checks`: errors of one line; `clock`: processor seconds, over all parts of a run; `extras`:
  libraries that the plain install leaves out; `machine`: what the last bits depend on
- `disk`: hashes and whole files; `intervals`; `masks`: who is in which training set; `plots`;
  `progress`; `reseed`: other seeds
- `signals`: what an adversary sees; `text`: tokens and their likelihoods; `models`: architectures;
  `model_checks`: what signals of shadow models must look like
- `data`: data sets by name; `metrics`: the ROC and the metric family; `privacy`: what a mechanism
  guarantees and what an audit certifies; `results`: records of runs and the papers' numbers
- `train`: one model or a stack of models, private and defended training
- `shadow`: many models, each on its own half, stored; `recurrent`: LSTMs
- `lira`: the likelihood-ratio attack; `bayes`: the Bayes-optimal adversary; `risk_score`: privacy
  risk scores; `defenses`; `generative`: GANs and queries of them
- `attacks`: all other attacks on single records; `two_sample`: tests of sets; `compare`: attacks
  under one protocol
- `audit`: every attack that a file permits; `claims`: the papers' claims, judged from the records;
  `experiment`: what the experiment notebooks share
"""

__version__ = "0.1.0"


def __getattr__(name):
    """A room that is not imported yet; where it needs what is not installed, what installs it."""
    import importlib

    if name.startswith("_"):
        raise AttributeError(f"module 'mia_lib' has no attribute {name!r}")
    try:
        return importlib.import_module(f"mia_lib.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"mia_lib.{name}":
            raise AttributeError(f"module 'mia_lib' has no attribute {name!r}") from None
        raise importlib.import_module("mia_lib.extras").named(error) from error
