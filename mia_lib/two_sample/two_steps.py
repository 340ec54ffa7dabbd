"""Two tests in a row: are the records alike, and if so, does the model treat them alike?

Run in notebooks/set_share.ipynb.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks
from mia_lib.two_sample.kernel_tests import median_kernel_test
from mia_lib.two_sample.permutation import TestResult
from mia_lib.two_sample.score_tests import mean_test

PERMUTATIONS = 499  # of the second step, and of the first as it comes


class TwoSteps(NamedTuple):
    """What the two-step test says.

    Run in notebooks/set_share.ipynb.

    Parameters
    ----------
    records : TestResult
        Of the first step, on the records themselves.
    members : TestResult
        Of the second step, on the scores; it is computed in any case.
    accused : bool
        The first step did not reject and the second did.
    """

    records: TestResult
    members: TestResult
    accused: bool


def two_step_test(raw_x, raw_y, score_x, score_y, *, alpha=0.05, test=median_kernel_test, rng=None):
    """Accuse a set of members only where its records are like those of the other set.

    Parameters
    ----------
    raw_x, raw_y : array (n_x, ...), (n_y, ...)
        Records that surely are no members, and those of the suspect set.
    score_x, score_y : array (n_x,), (n_y,)
        What an attack says of them, larger for members.
    alpha : float
        Level of either step, in [1 / 500, 1): the second has 499 permutations.
    test : callable
        ``test(raw_x, raw_y, rng=rng) -> TestResult``, the first step.
    rng : numpy.random.Generator, optional
        None means fresh entropy.

    Returns
    -------
    TwoSteps

    Raises
    ------
    ValueError
        As for `mean_test` and the first step; scores that are not one for each record; a level
        that no p-value of 499 permutations can reach.

    Notes
    -----
    HR-MMD App. D.2 and M, with the mean of any attack as the second step. The first step only sees
    what it has power for: a change of the records that it misses is accused of membership. Run in
    notebooks/set_share.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> raw, score = rng.normal(size=(2, 50, 3)), rng.normal(size=(2, 50))
    >>> two_step_test(*raw, score[0], score[1] + 2, rng=rng).accused
    True
    >>> two_step_test(raw[0], raw[1] + 2, score[0], score[1] + 2, rng=rng).accused
    False
    """
    alpha = checks.number("alpha", alpha, 0, high=1, open_low=True, open_high=True)
    if (PERMUTATIONS + 1) * alpha < 1:
        checks.fail("alpha", f"{alpha:g}", f"at least 1 / {PERMUTATIONS + 1}, the smallest p")
    rng = checks.generator(rng)
    for name, raw, score in (("x", raw_x, score_x), ("y", raw_y, score_y)):
        if np.shape(score) != (len(raw),):
            checks.fail(f"score_{name}", f"shape {np.shape(score)}", f"({len(raw)},) as raw_{name}")
    records = test(raw_x, raw_y, rng=rng)
    members = mean_test(score_x, score_y, "greater", n_permutations=PERMUTATIONS, rng=rng)
    accused = records.p_value > alpha and members.p_value <= alpha
    return TwoSteps(records, members, bool(accused))
