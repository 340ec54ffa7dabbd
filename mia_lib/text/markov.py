"""A source of texts whose true law is known.

Run in notebooks/language_model.ipynb.
"""

from dataclasses import dataclass

import numpy as np

from mia_lib import checks
from mia_lib.text.tokens import SPECIAL, checked_tokens


@dataclass(frozen=True)
class MarkovSource:
    """Texts in which every word depends on the one before it, so that their true law is known.

    Parameters
    ----------
    start : ndarray (V,)
        Law of the first token.
    transition : ndarray (V, V)
        Row a: law of the token after a. Every row, and `start`, sums to one.

    Raises
    ------
    ValueError
        Shapes that do not fit, a negative probability, a law that does not sum to one.

    Notes
    -----
    No model can predict a new text better than the source does, on average; one that gives a text
    more than the source remembers it. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> turns = MarkovSource(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> turns.sample(1, 4, np.random.default_rng(0))
    array([[0, 1, 0, 1]])
    """

    start: np.ndarray
    transition: np.ndarray

    def __post_init__(self):
        start = checks.real_array("start", self.start, ndim=1)
        transition = checks.real_array(
            "transition", self.transition, shape=(len(start), len(start))
        )
        for name, laws in (("start", start), ("transition", transition)):
            checks.distributions(name, laws, tolerance=1e-9)
        for name, value in (("start", start), ("transition", transition)):
            object.__setattr__(self, name, value)

    def sample(self, n, length, rng=None):
        """Draw n texts of `length` tokens, (n, T) int64."""
        n, length, rng = (
            checks.integer("n", n, 1),
            checks.integer("length", length, 1),
            checks.generator(rng),
        )
        tokens = np.empty((n, length), np.int64)
        tokens[:, 0] = rng.choice(len(self.start), n, p=self.start)
        cumulative = np.cumsum(self.transition, 1)
        cumulative /= cumulative[:, -1:]  # the last possible token takes what rounding leaves
        for t in range(1, length):
            tokens[:, t] = (rng.random(n)[:, None] >= cumulative[tokens[:, t - 1]]).sum(1)
        return tokens

    def log_likelihood(self, tokens):
        """True log-likelihood of every token given those before it, (n, T); -inf for what the
        source cannot say. ValueError for anything but tokens (n, T) from 0 to V - 1.
        """
        tokens = checked_tokens(tokens, len(self.start))
        with np.errstate(divide="ignore"):
            first, later = (
                np.log(self.start)[tokens[:, :1]],
                np.log(self.transition)[tokens[:, :-1], tokens[:, 1:]],
            )
        return np.concatenate([first, later], 1)


def markov_source(n_tokens=200, n_successors=20, rng=None):
    """Draw a source in which each token has a few successors of very unequal probability, as words
    have.

    Parameters
    ----------
    n_tokens : int
        V, `SPECIAL` included, which are never said.
    n_successors : int
        Tokens that may follow a token, at most V - 2. The r-th likeliest has a probability
        proportional to 1/r.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    MarkovSource

    Raises
    ------
    ValueError
        A count out of range.

    Notes
    -----
    The first token has such a law too. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> markov_source(10, 3, np.random.default_rng(0)).sample(2, 5, np.random.default_rng(0)).shape
    (2, 5)
    """
    low = len(SPECIAL)
    n_tokens = checks.integer("n_tokens", n_tokens, low + 1)
    n_successors, rng = (
        checks.integer("n_successors", n_successors, 1, high=n_tokens - low),
        checks.generator(rng),
    )
    law = 1 / np.arange(1, n_successors + 1)
    laws = np.zeros((n_tokens + 1, n_tokens))
    for row in laws:
        row[low + rng.choice(n_tokens - low, n_successors, replace=False)] = law / law.sum()
    return MarkovSource(laws[0], laws[1:])
