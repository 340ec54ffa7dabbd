"""Texts and token likelihoods: literal loops, another compressor's length, the true law of the
Markov source.
"""

import gzip

import numpy as np
import pandas as pd
import pytest

from mia_lib import text

REVIEWS = ["It's good.<br /><br />See it, see it!", "A BAD film; see nothing", "good film"]


def likelihoods(rng, shape):
    return np.log(rng.random(shape))


def test_vocabulary_counts_by_hand():
    words = text.vocabulary(REVIEWS, 100)
    assert words[:2] == text.SPECIAL
    counts = {"see": 3, "film": 2, "good": 2, "it": 2}
    assert words[2:6] == tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    assert list(words[6:]) == sorted(["it's", ".", ",", "!", "a", "bad", ";", "nothing"])
    assert text.vocabulary(REVIEWS, 4) == words[:4]
    assert text.vocabulary(REVIEWS, 5, drop=["film"]) == (*text.SPECIAL, "see", "good", "it")


def test_tokens_go_there_and_back():
    words = text.vocabulary(REVIEWS, 100)
    tokens = text.encode(REVIEWS, words, 9)
    assert tokens.shape == (3, 9) and (tokens[2] > 0).sum() == 2 and (tokens[1] > 0).sum() == 6
    assert text.decode(tokens, words) == [
        "it's good . see it , see it !",
        "a bad film ; see nothing",
        "good film",
    ]
    assert np.array_equal(text.encode(text.decode(tokens, words), words, 9), tokens)
    few = text.encode(REVIEWS, words[:4], 3, drop=["it's", "good"])  # knows "see" and "film" alone
    assert few.tolist() == [[1, 2, 1], [1, 1, 3], [3, 0, 0]]


def test_markov_source_says_what_its_law_says():
    source = text.markov_source(12, 4, np.random.default_rng(0))
    tokens = source.sample(40_000, 3, np.random.default_rng(1))
    assert tokens.min() >= 2
    assert np.bincount(tokens[:, 0], minlength=12) / 40_000 == pytest.approx(
        source.start, abs=0.015
    )
    seen = np.zeros((12, 12))
    for a, b in tokens[:, 1:]:
        seen[a, b] += 1
    often = seen.sum(1) > 3000
    assert often.sum() >= 3
    assert seen[often] / seen[often].sum(1, keepdims=True) == pytest.approx(
        source.transition[often], abs=0.04
    )
    found = source.log_likelihood(tokens[:5])
    for row, tokens_of_row in zip(found, tokens):
        expected = [source.start[tokens_of_row[0]]] + [
            source.transition[a, b] for a, b in zip(tokens_of_row, tokens_of_row[1:])
        ]
        assert row == pytest.approx(np.log(expected))


def test_markov_source_is_a_law_over_texts():
    source = text.markov_source(5, 2, np.random.default_rng(3))
    every = np.array(np.meshgrid(*[range(5)] * 3)).reshape(3, -1).T
    assert np.exp(source.log_likelihood(every).sum(1)).sum() == pytest.approx(1)
    law = np.sort(source.transition, 1)[:, ::-1]
    assert law[:, :3] == pytest.approx(np.tile([2 / 3, 1 / 3, 0], (5, 1)))


@pytest.mark.parametrize(
    "tokens", [[[0, 2]], [[-1, 0]], [[0.0, 1.0]], [[0, np.nan]], [0, 1], [[]], [[True]], [["a"]], 1]
)
def test_a_source_tells_nothing_of_what_is_no_text_of_its(tokens):
    source = text.MarkovSource([0.5, 0.5], np.eye(2))
    with pytest.raises(ValueError, match="^tokens: given .*, expected .*(0 ... 1|of shape)"):
        source.log_likelihood(tokens)
    assert source.log_likelihood(np.array([[1, 1]], np.uint8)).tolist() == [[np.log(0.5), 0]]


def test_source_that_must_end_on_its_last_token():
    source = text.MarkovSource(np.array([0.0, 0.0, 1.0]), np.array([[0, 0, 1.0]] * 3))
    assert (source.sample(50, 4, np.random.default_rng(0)) == 2).all()


def test_what_rounding_leaves_goes_to_no_impossible_token():
    class Late(np.random.Generator):
        def random(self, n):
            return np.full(n, 1 - 2e-10)

    row = [0.5, 0.5 - 5e-10, 0, 0]  # as near to 1 as a row has to be
    source = text.MarkovSource(np.array([1.0, 0, 0, 0]), np.array([row] * 4))
    assert (source.sample(5, 3, Late(np.random.PCG64(0)))[:, 1:] == 1).all()


def test_made_up_words_are_distinct():
    words = text.made_up_words(8000)
    assert len(words) == len(set(words)) == 8000 and words[:2] == text.SPECIAL


def test_features_against_a_literal_loop():
    rng = np.random.default_rng(4)
    many = likelihoods(rng, (3, 5, 10))
    reference, bits = likelihoods(rng, (5, 10)), 8.0 * rng.integers(10, 30, 5)
    found = text.sequence_features(many, bits, reference, shares=(0.05, 0.25, 1.0))
    assert len(found) == 2 + 6 + 3 and all(values.shape == (3, 5) for values in found.values())
    for s in range(3):
        for i in range(5):
            row = sorted(many[s, i])
            loss, loss_reference = -sum(row) / 10, -sum(reference[i]) / 10
            expected = {
                "loss": -loss,
                "perplexity": -(np.prod(np.exp(row)) ** (-1 / 10)),
                "min 5 %": row[0],
                "min 25 %": (row[0] + row[1]) / 2,
                "min 100 %": -loss,
                "max 5 %": row[-1],
                "max 25 %": (row[-1] + row[-2]) / 2,
                "max 100 %": -loss,
                "zlib ratio": sum(np.log2(np.exp(row))) / bits[i],
                "reference difference": loss_reference - loss,
                "reference ratio": -loss / loss_reference,
            }
            assert {name: values[s, i] for name, values in found.items()} == pytest.approx(expected)
            p = np.exp(-loss)
            assert text.logit_scaled(many)[s, i] == pytest.approx(np.log(p / (1 - p)))


def test_shares_of_a_length_that_does_not_divide():
    row = -np.arange(1.0, 8.0)[None]  # seven tokens
    assert text.min_k(row, 0.3)[0] == pytest.approx(-(7 + 6) / 2)  # 2.1 tokens are two
    assert text.min_k(row, 0.01)[0] == -7 and text.max_k(row, 0.01)[0] == -1
    ten = -np.arange(1.0, 11.0)[None]
    assert text.min_k(ten, 0.3)[0] == -9  # 0.3 x 10 is three in spite of rounding


def test_every_feature_is_larger_for_what_a_model_remembers():
    rng = np.random.default_rng(5)
    before = likelihoods(rng, (4, 10))
    after = before / 2  # every token twice as little surprising
    bits, reference = np.full(4, 80.0), likelihoods(rng, (4, 10))
    less, more = (text.sequence_features(values, bits, reference) for values in (before, after))
    for name in less:
        assert (more[name] > less[name]).all(), name


def test_zlib_bits_against_another_container_of_the_same_code():
    texts = ["to be or not to be " * 20, "x", "", "ümlaut " * 3]
    for one, bits in zip(texts, text.zlib_bits(texts)):
        # both hold the same deflate stream: gzip in 18 bytes of header and trailer, zlib in 6
        assert bits == 8 * (len(gzip.compress(one.encode(), 6, mtime=0)) - 18 + 6)
    assert (
        text.zlib_bits(texts)[0]
        < text.zlib_bits(["".join(np.random.default_rng(0).choice(list("abcdefghijk"), 380))])[0]
    )


def test_certain_texts_stay_finite():
    sure = np.zeros((1, 4))
    assert np.isfinite(text.logit_scaled(sure)).all()
    assert (
        text.logit_scaled(sure)[0]
        > text.logit_scaled(np.full((1, 4), -1e-20))[0]
        > text.logit_scaled(sure - 0.1)[0]
    )
    assert all(np.isfinite(values).all() for values in text.sequence_features(sure, [8.0]).values())


def test_bad_input():
    ok = np.full((2, 3), -1.0)
    for call, message in (
        (lambda: text.vocabulary("one string", 10), "texts: given 'one string'"),
        (lambda: text.vocabulary([" ", "<br />"], 10), "texts: given 2 texts without a word"),
        (lambda: text.vocabulary(REVIEWS, 2), "size"),
        (lambda: text.encode([], text.made_up_words(9), 3), "texts"),
        (
            lambda: text.encode(REVIEWS, ["a", "b", "c"], 3),
            "words: given a vocabulary that begins with",
        ),
        (lambda: text.encode(REVIEWS, text.made_up_words(9), 0), "length"),
        (lambda: text.decode([[9]], text.made_up_words(9)), "tokens 0 ... 8"),
        (lambda: text.decode([9], text.made_up_words(9)), "tokens: given shape"),
        (lambda: text.decode([[0.5]], text.made_up_words(9)), "tokens: given shape"),
        (lambda: text.MarkovSource([0.5, 0.6], np.eye(2)), "start: given a row that sums to 1.1"),
        (lambda: text.MarkovSource([0.5, 0.5], np.eye(2) * 2 - 0.5), "transition"),
        (lambda: text.MarkovSource([0.5, 0.5], np.eye(3)), "transition: given shape"),
        (lambda: text.markov_source(10, 9), "n_successors"),
        (lambda: text.markov_source(2), "n_tokens"),
        (lambda: text.made_up_words(10**6), "size"),
        (
            lambda: text.mean_log_likelihood(-ok),
            "log_likelihood: given a value of 1, expected logarithms",
        ),
        (lambda: text.mean_log_likelihood(ok[0]), "log_likelihood: given shape"),
        (lambda: text.mean_log_likelihood(ok * np.nan), "NaN"),
        (lambda: text.min_k(ok, 0), "share"),
        (lambda: text.max_k(ok, 1.5), "share"),
        (lambda: text.zlib_ratio(ok, [8.0]), "bits: given shape"),
        (lambda: text.zlib_ratio(ok, [8.0, 0.0]), "bits: given a length of 0"),
        (lambda: text.zlib_bits([1]), "texts"),
        (lambda: text.sequence_features(ok, reference=ok[:1]), "reference: given shape"),
        (
            lambda: text.sequence_features(ok, reference=ok * [[0], [1]]),
            "reference: given 1 texts without any loss",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_beginnings_are_long_enough_and_different():
    rng = np.random.default_rng(0)
    words = text.SPECIAL + tuple("abc")
    texts = [" ".join(rng.choice(list("abc"), rng.integers(1, 5))) for _ in range(60)]
    found = text.beginnings(texts, words, 3, 12, rng=np.random.default_rng(1))
    order, wanted = np.random.default_rng(1).permutation(60)[:24], []
    for i in order:
        tokens = [words.index(word) for word in texts[i].split()[:3]]
        if len(tokens) == 3 and tokens not in wanted:
            wanted.append(tokens)
    assert found.tolist() == wanted[:12] and len(wanted) > 5
    # a column of a table, whose rows have numbers of their own
    column = pd.Series(texts, index=np.arange(60)[::-1] + 5)
    again = text.beginnings(column, words, 3, 12, rng=np.random.default_rng(1))
    assert np.array_equal(again, found)
