"""What an adversary reads from token likelihoods.

Every feature is oriented so that larger speaks for a member. Natural logarithms, float64.

Run in notebooks/language_model.ipynb.
"""

import zlib

import numpy as np

from mia_lib import checks
from mia_lib.text.tokens import checked_texts

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


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
    return np.array([8.0 * len(zlib.compress(text.encode())) for text in checked_texts(texts)])


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
