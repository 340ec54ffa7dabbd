"""Texts as tokens, a source of texts whose true law is known, and what an adversary reads from
token likelihoods.

Every feature is oriented so that larger speaks for a member. Natural logarithms, float64.

Run in notebooks/language_model.ipynb.
"""

from mia_lib.text.likelihood import (
    SHARES,
    logit_scaled,
    max_k,
    mean_log_likelihood,
    min_k,
    sequence_features,
    zlib_bits,
    zlib_ratio,
)
from mia_lib.text.markov import MarkovSource, markov_source
from mia_lib.text.tokens import (
    SPECIAL,
    beginnings,
    decode,
    encode,
    made_up_words,
    split,
    vocabulary,
)

__all__ = [
    "SHARES",
    "SPECIAL",
    "MarkovSource",
    "beginnings",
    "decode",
    "encode",
    "logit_scaled",
    "made_up_words",
    "markov_source",
    "max_k",
    "mean_log_likelihood",
    "min_k",
    "sequence_features",
    "split",
    "vocabulary",
    "zlib_bits",
    "zlib_ratio",
]
