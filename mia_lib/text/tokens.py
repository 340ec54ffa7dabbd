"""Texts as tokens: words, vocabularies, and rows of numbers of one length.

Run in notebooks/language_model.ipynb.
"""

import re
from collections import Counter

import numpy as np

from mia_lib import checks

SPECIAL = (
    "<pad>",
    "<unk>",
)  # tokens 0 and 1: filling behind short texts, and any word outside the vocabulary
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
    for text in checked_texts(texts):
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
    texts, length, drop = checked_texts(texts), checks.integer("length", length, 1), frozenset(drop)
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
    texts = list(checked_texts(texts))
    drawn = rng.permutation(len(texts))[: 2 * n]
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
    words = _words(words)
    tokens = checked_tokens(tokens, len(words))
    return [" ".join(words[token] for token in row if token) for row in tokens.tolist()]


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


def checked_texts(texts):
    if (
        isinstance(texts, (str, bytes))
        or not len(texts)
        or not all(isinstance(text, str) for text in texts)
    ):
        checks.fail("texts", repr(texts)[:40], "a sequence of at least one str")
    return texts


def checked_tokens(tokens, n_tokens):
    """Whole numbers 0 ... n_tokens - 1 of shape (n, T), as an array."""
    tokens = np.asarray(tokens)
    if tokens.ndim != 2 or tokens.dtype.kind not in "iu" or not tokens.size:
        checks.fail(
            "tokens",
            f"shape {tokens.shape} of dtype {tokens.dtype}",
            "whole numbers of shape (n, T)",
        )
    if tokens.min() < 0 or tokens.max() >= n_tokens:
        checks.fail(
            "tokens",
            f"tokens from {tokens.min()} to {tokens.max()}",
            f"tokens 0 ... {n_tokens - 1}",
        )
    return tokens


def _words(words):
    words = tuple(words)
    if words[: len(SPECIAL)] != SPECIAL:
        checks.fail(
            "words", f"a vocabulary that begins with {words[:2]}", f"one that begins with {SPECIAL}"
        )
    return words
