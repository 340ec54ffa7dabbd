"""Set-level attacks without a test: the mean score of a set against a threshold from sets of
non-members.

Taught in book/two_sample.ipynb.
"""

import numpy as np

from mia_lib import checks


def set_threshold(nonmember_score, size, fpr=0.01, *, n_draws=1000, rng=None):
    """The mean score that a set of non-members exceeds with probability fpr at most.

    Parameters
    ----------
    nonmember_score : array (n,)
        An attack's score of records known to be non-members, larger means more likely a member:
        minus the loss, minus the entropy, attack R, offline LiRA.
    size : int
        Records of a set, at most n.
    fpr : float
        In (0, 1); at least 1 / (n_draws + 1), the rate at which the largest draw is exceeded.
    n_draws : int
        Sets drawn from the n records, each without replacement, at least 1.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    float
        A set is said to hold members if its mean score is above this.

    Raises
    ------
    ValueError
        NaN, a size above n, fpr outside (0, 1) or below 1 / (n_draws + 1).

    Notes
    -----
    HR-MMD App. G.7. The threshold is the k-th largest mean of the draws, where k is the whole part
    of fpr (n_draws + 1). One more set drawn alike is above it with probability k / (n_draws + 1),
    over all n_draws + 1 of them, and less often with ties. Sets drawn from n records overlap:
    if size is not far below n their means vary too little, and sets of other records exceed the
    threshold more often. Run in notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> threshold = set_threshold(rng.normal(size=5000), 100, 0.1, rng=rng)
    >>> bool(0.08 < threshold < 0.18)
    True
    """
    score = checks.real_array("nonmember_score", nonmember_score, 1)
    size = checks.integer("size", size, 1, high=len(score))
    n_draws, rng = checks.integer("n_draws", n_draws, 1), checks.generator(rng)
    fpr = checks.number("fpr", fpr, 0, high=1, open_low=True, open_high=True)
    k = int(fpr * (n_draws + 1) * (1 + 1e-12))  # a whole number may be rounded downwards
    if k < 1:
        checks.fail("fpr", f"{fpr:g}", f"at least 1 / (n_draws + 1), {1 / (n_draws + 1):g}")
    means = np.sort(
        [score[rng.choice(len(score), size, replace=False)].mean() for _ in range(n_draws)]
    )
    return float(means[n_draws - k])
