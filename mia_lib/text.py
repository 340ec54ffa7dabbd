"""Texts as tokens, a source of texts whose true law is known, and what an adversary reads from
token likelihoods.

Every feature is oriented so that larger speaks for a member. Natural logarithms, float64.

Run in notebooks/language_model.ipynb.
"""

import re
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from mia_lib import checks

SPECIAL = (
    "<pad>",
    "<unk>",
)  # tokens 0 and 1: filling behind short texts, and any word outside the vocabulary
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
_WORD = re.compile(r"\w+(?:'\w+)*|[.,!?;:]")
_TAG = re.compile(r"<[^<>]*>")


def split(text):
    """Lower-case words and marks of one text, in order; tags such as ``<br />`` are left out.

    Examples
    --------
    >>> split("It's good.<br />See it!")
    ["it's", 'good', '.', 'see', 'it', '!']
    """
    return _WORD.findall(_TAG.sub(" ", text).lower())


def vocabulary(texts, size, drop=()):
    """The most frequent words.

    Parameters
    ----------
    texts : sequence of str
    size : int
        V, `SPECIAL` included, at least 3; fewer come back if the texts have fewer words.
    drop : collection of str
        Words that are left out, such as scikit-learn's ``ENGLISH_STOP_WORDS``.

    Returns
    -------
    tuple of str
        Token t stands for entry t: padding, unknown, then words by falling frequency, equal ones in
        alphabetical order.

    Raises
    ------
    ValueError
        Texts without a word; one string instead of several.

    Notes
    -----
    Count over all texts, members and others alike, or the vocabulary itself tells who was a member.
    Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> vocabulary(["a b b", "b a c"], 4)
    ('<pad>', '<unk>', 'b', 'a')
    """
    size, counts = checks.integer("size", size, len(SPECIAL) + 1), Counter()
    for text in _texts(texts):
        counts.update(split(text))
    for word in drop:
        counts.pop(word, None)
    if not counts:
        checks.fail("texts", f"{len(texts)} texts without a word", "at least one word")
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return SPECIAL + tuple(ranked[: size - len(SPECIAL)])


def encode(texts, words, length, *, drop=()):
    """The first words of every text as tokens.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str
        From `vocabulary`.
    length : int
        T.
    drop : collection of str
        Words that are skipped.

    Returns
    -------
    (n, T) int64 array
        0 behind a text of fewer than T words, 1 for a word that `words` does not have.

    Raises
    ------
    ValueError
        No text, or a vocabulary that does not begin with `SPECIAL`.

    Notes
    -----
    `beginnings` draws texts and encodes them. Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> encode(["a b b", "b d"], ("<pad>", "<unk>", "b", "a"), 4)
    array([[3, 2, 2, 0],
           [2, 1, 0, 0]])
    """
    texts, length, drop = _texts(texts), checks.integer("length", length, 1), frozenset(drop)
    number = {word: token for token, word in enumerate(_words(words))}
    tokens = np.zeros((len(texts), length), np.int64)
    for row, text in zip(tokens, texts):
        kept = [number.get(word, 1) for word in split(text) if word not in drop][:length]
        row[: len(kept)] = kept
    return tokens


def beginnings(texts, words, length, n, *, rng=None):
    """The first words of texts that are long enough, drawn at random, no two of them equal.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str
        From `vocabulary`.
    length : int
        T; texts with fewer words are left out.
    n : int
        How many, at least 1. Only 2 n texts are looked at.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    (n, T) int64 array
        Tokens in the order of drawing; fewer rows where there are not enough such texts.

    Raises
    ------
    ValueError
        As for `encode`.

    Notes
    -----
    Equal texts are dropped because one of them could be a member and the other none. Run in
    notebooks/language_model.ipynb.

    Examples
    --------
    >>> found = beginnings(["a b b", "a b", "b", "b b"], ("<pad>", "<unk>", "b", "a"), 2, 3,
    ...     rng=np.random.default_rng(0))
    >>> sorted(found.tolist())
    [[2, 2], [3, 2]]
    """
    n, rng = checks.integer("n", n, 1), checks.generator(rng)
    drawn = rng.permutation(len(_texts(texts)))[: 2 * n]
    tokens = encode([texts[i] for i in drawn], words, length)
    tokens = tokens[(tokens > 0).all(1)]
    return tokens[np.sort(np.unique(tokens, axis=0, return_index=True)[1])][:n]


def decode(tokens, words):
    """Texts of tokens: words with a blank between each two, padding left out.

    Parameters
    ----------
    tokens : (n, T) int array
    words : sequence of str

    Returns
    -------
    list of n str

    Raises
    ------
    ValueError
        A token that stands for no word.

    Notes
    -----
    What a model has read, which is what `zlib_bits` must compress. Run in
    notebooks/language_model.ipynb.

    Examples
    --------
    >>> decode([[3, 2, 2, 0], [2, 1, 0, 0]], ("<pad>", "<unk>", "b", "a"))
    ['a b b', 'b <unk>']
    """
    words, tokens = _words(words), np.asarray(tokens)
    if tokens.ndim != 2 or tokens.dtype.kind not in "iu" or not tokens.size:
        checks.fail(
            "tokens",
            f"shape {tokens.shape} of dtype {tokens.dtype}",
            "whole numbers of shape (n, T)",
        )
    if tokens.min() < 0 or tokens.max() >= len(words):
        checks.fail(
            "tokens",
            f"tokens from {tokens.min()} to {tokens.max()}",
            f"tokens 0 ... {len(words) - 1}",
        )
    return [" ".join(words[token] for token in row if token) for row in tokens.tolist()]


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
        cumulative[:, -1] = 1.0  # the last possible token takes what rounding leaves
        for t in range(1, length):
            tokens[:, t] = (rng.random(n)[:, None] >= cumulative[tokens[:, t - 1]]).sum(1)
        return tokens

    def log_likelihood(self, tokens):
        """True log-likelihood of every token given those before it, (n, T); -inf for what the
        source cannot say.
        """
        tokens = np.asarray(tokens)
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


def made_up_words(size):
    """A vocabulary of `size` words that can be pronounced, so that made-up tokens become text that
    zlib can compress.

    Examples
    --------
    >>> made_up_words(5)
    ('<pad>', '<unk>', 'baba', 'babe', 'babi')
    """
    size = checks.integer("size", size, len(SPECIAL) + 1, high=len(SPECIAL) + 90**2)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    pairs = [divmod(i, len(syllables)) for i in range(size - len(SPECIAL))]
    return SPECIAL + tuple(syllables[a] + syllables[b] for a, b in pairs)


def mean_log_likelihood(log_likelihood):
    """Minus the loss of a text, the mean log-likelihood of its tokens.

    Parameters
    ----------
    log_likelihood : array (..., n, T)
        Of every token given those before it, at most 0, such as ``store.logits()`` of
        `recurrent.LanguageModel`.

    Returns
    -------
    float64 array (..., n)
        Nat per token, at most 0; the score of the LOSS attack. Its exponential, inverted, is the
        perplexity.

    Raises
    ------
    ValueError
        NaN, a value above 0.

    Notes
    -----
    Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> mean_log_likelihood([[-1.0, -3.0]])
    array([-2.])
    """
    return _log_likelihood(log_likelihood).mean(-1)


def logit_scaled(log_likelihood):
    """log p - log(1 - p) with p the geometric mean of a text's token probabilities: the statistic
    of LiRA for texts.

    Parameters
    ----------
    log_likelihood : array (..., n, T)

    Returns
    -------
    float64 array (..., n)
        Larger speaks for a member.

    Raises
    ------
    ValueError
        As for `mean_log_likelihood`.

    Notes
    -----
    Carlini et al. 2022, eq. 3 with the sequence's loss; p = 1 counts as 1 - 1e-45. Run in
    notebooks/language_model.ipynb.

    Examples
    --------
    >>> logit_scaled(np.log([[0.8, 0.8]])).round(6)  # log 4
    array([1.386294])
    """
    mean = np.minimum(mean_log_likelihood(log_likelihood), -1e-45)
    return mean - np.log(-np.expm1(mean))


def min_k(log_likelihood, share=0.2):
    """Mean log-likelihood of a text's least likely tokens.

    Parameters
    ----------
    log_likelihood : array (..., n, T)
    share : float
        Of the tokens, in (0, 1], rounded down to at least one token.

    Returns
    -------
    float64 array (..., n)
        At most 0; larger speaks for a member.

    Raises
    ------
    ValueError
        As for `mean_log_likelihood`; a share out of range.

    Notes
    -----
    Min-k % of Shi et al., ICLR 2024, arXiv:2310.16789. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> min_k([[-1.0, -5.0, -2.0, -3.0]], 0.5)
    array([-4.])
    """
    return _extreme(log_likelihood, share, slice(None, None))


def max_k(log_likelihood, share=0.2):
    """Mean log-likelihood of a text's most likely tokens; as `min_k` otherwise.

    Examples
    --------
    >>> max_k([[-1.0, -5.0, -2.0, -3.0]], 0.5)
    array([-1.5])
    """
    return _extreme(log_likelihood, share, slice(None, None, -1))


def zlib_bits(texts):
    """Length of every text after compression by zlib, in bits, (n,).

    Raises
    ------
    ValueError
        No text, or one string instead of several.

    Notes
    -----
    A measure of how hard a text is to predict that no model has touched (Carlini et al. 2021,
    arXiv:2012.07805). Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> bool(zlib_bits(["to be or not to be, to be or not to be"])[0] < 8 * 38)
    True
    """
    return np.array([8.0 * len(zlib.compress(text.encode())) for text in _texts(texts)])


def zlib_ratio(log_likelihood, bits):
    """Bits that the model needs for a text, per bit that zlib needs, with a minus sign.

    Parameters
    ----------
    log_likelihood : array (..., n, T)
    bits : array (n,)
        From `zlib_bits`.

    Returns
    -------
    float64 array (..., n)
        At most 0; larger speaks for a member.

    Raises
    ------
    ValueError
        As for `mean_log_likelihood`; lengths that are not positive or not one for each text.

    Notes
    -----
    Carlini et al. 2021, arXiv:2012.07805; the feature of HR-MMD Table 4. Run in
    notebooks/language_model.ipynb.

    Examples
    --------
    >>> zlib_ratio(np.log([[0.5, 0.25]]), [6.0])
    array([-0.5])
    """
    found = _log_likelihood(log_likelihood)
    bits = checks.real_array("bits", bits, shape=(found.shape[-2],))
    if bits.min() <= 0:
        checks.fail("bits", f"a length of {bits.min():g}", "positive lengths")
    return found.sum(-1) / np.log(2) / bits


def sequence_features(log_likelihood, bits=None, reference=None, *, shares=SHARES):
    """What the attacks on language models make of one text, side by side.

    Parameters
    ----------
    log_likelihood : array (..., n, T)
    bits : array (n,), optional
        From `zlib_bits`.
    reference : array (n, T), optional
        Log-likelihoods under a model that trained on none of the texts, or the mean over several
        such models.
    shares : sequence of float
        Of `min_k` and `max_k`.

    Returns
    -------
    dict of str to float64 array (..., n)
        "loss" (`mean_log_likelihood`), "perplexity" (with a minus sign), "min 5 %" and so on, "max
        5 %" and so on, and as far as what is given allows "zlib ratio", "reference difference" (of
        mean log-likelihoods) and "reference ratio" (of losses, with a minus sign). Larger speaks
        for a member.

    Raises
    ------
    ValueError
        As for the functions; a reference of another shape or without any loss.

    Notes
    -----
    The aggregated features of Maini et al., NeurIPS 2024, arXiv:2406.06443, which HR-MMD App. I
    takes over, as far as they need no perturbed texts. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> list(sequence_features(np.log([[0.5, 0.25]]), [6.0], shares=[0.5]))
    ['loss', 'perplexity', 'min 50 %', 'max 50 %', 'zlib ratio']
    """
    mean = mean_log_likelihood(log_likelihood)
    found = {"loss": mean, "perplexity": -np.exp(-mean)}
    for name, function in (("min", min_k), ("max", max_k)):
        found |= {f"{name} {100 * share:g} %": function(log_likelihood, share) for share in shares}
    if bits is not None:
        found["zlib ratio"] = zlib_ratio(log_likelihood, bits)
    if reference is not None:
        expected = np.shape(log_likelihood)[-2:]
        known = mean_log_likelihood(checks.real_array("reference", reference, shape=expected))
        if known.max() == 0:
            checks.fail(
                "reference",
                f"{int((known == 0).sum())} texts without any loss",
                "a loss above 0 for each text",
            )
        found["reference difference"] = mean - known
        found["reference ratio"] = -mean / known
    return found


def _extreme(log_likelihood, share, order):
    found = _log_likelihood(log_likelihood)
    share = checks.number("share", share, 0, high=1, open_low=True)
    count = max(1, int(share * found.shape[-1] + 1e-9))
    return np.sort(found, -1)[..., order][..., :count].mean(-1)


def _log_likelihood(value):
    found = checks.real_array("log_likelihood", value)
    if found.ndim < 2:
        checks.fail("log_likelihood", f"shape {found.shape}", "shape (..., n, T)")
    if found.max() > 0:
        checks.fail(
            "log_likelihood",
            f"a value of {found.max():g}",
            "logarithms of probabilities, at most 0",
        )
    return found


def _texts(texts):
    if (
        isinstance(texts, (str, bytes))
        or not len(texts)
        or not all(isinstance(text, str) for text in texts)
    ):
        checks.fail("texts", repr(texts)[:40], "a sequence of at least one str")
    return texts


def _words(words):
    words = tuple(words)
    if words[: len(SPECIAL)] != SPECIAL:
        checks.fail(
            "words", f"a vocabulary that begins with {words[:2]}", f"one that begins with {SPECIAL}"
        )
    return words
