"""Membership inference: attacks, statistics and audits, one idea per module.

Import the module that holds the idea: ``from mia_lib import signals, lira``.
"""

__version__ = "0.1.0"
