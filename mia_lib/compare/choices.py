"""Which choice moves a result more: that of the attack, or that of how the model was trained.

Both are asked on the same records and masks, so that what makes a record hard cancels. The page
that ranks attacks (book/which_attack.ipynb) chose the strong attack, the weak one and the recipe
without a defence after figures of such attacks were known. A ratio of the best to the worst after
the fact is too large, so what the page finds describes this pair on these recipes and tests nothing
about attacks in general.
"""

import time

import numpy as np
import pandas as pd

from mia_lib import checks, lira
from mia_lib.compare.protocol import checked
from mia_lib.compare.ratio import tpr_ratio
from mia_lib.compare.verdicts import verdict

SIDES = {"the attack": (np.nextafter(1, 2), np.inf), "the recipe": (-np.inf, np.nextafter(1, 0))}
UNDECIDED = "undecided"


def shadow_models(attack, n_models):
    """How many of a target's shadow models an entry of the catalogue reads.

    Parameters
    ----------
    attack : attacks.Attack
    n_models : int
        S, the target among them.

    Returns
    -------
    int
        0; 1, of which any would do; or S - 1, where each record needs its own.

    Notes
    -----
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> from mia_lib import attacks
    >>> names = "LOSS", "Learned network", "LiRA, offline"
    >>> [shadow_models(attacks.named(name), 33) for name in names]
    [0, 1, 32]
    """
    if {"IN", "OUT"} & set(attack.needs):
        return n_models - 1
    return int("shadow" in attack.needs)


def scored(attack, outputs, labels, member, n_targets, **offered):
    """Scores of the first models, each attacked with all others as its shadow models.

    Parameters
    ----------
    attack : attacks.Attack
    outputs : array (S, n, K)
        Logits of all models.
    labels : int array (n,)
    member : bool array (S, n)
        Who is in which training set.
    n_targets : int
        T, how many of the models are targets.
    **offered
        What an attack may take beside these, such as `features` or `rng`; it is given what it asks
        for.

    Returns
    -------
    scores : float64 array (T, n)
        Larger means more likely a member.
    seconds : float
        Of the processor, for one target.

    Raises
    ------
    ValueError
        More targets than models, masks of another shape; as `lira.leave_one_out`.

    Notes
    -----
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> from mia_lib import attacks
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 30)) < 0.5
    >>> z, labels = rng.normal(size=(4, 30, 3)), rng.integers(3, size=30)
    >>> scored(attacks.named("LOSS"), z, labels, member, 2)[0].shape
    (2, 30)
    """
    outputs = np.asarray(outputs)
    member = checks.boolean_array("member", member, shape=outputs.shape[:2])
    if checks.integer("n_targets", n_targets, 1) > len(outputs):
        checks.fail("n_targets", str(n_targets), f"at most {len(outputs)}, the models there are")
    started = time.process_time()
    if not shadow_models(attack, len(outputs)):  # then the targets are all that is read
        outputs, member = outputs[:n_targets], member[:n_targets]
    more = attack.takes(labels=labels, **offered)
    found = lira.leave_one_out(attack.signal(outputs, labels), member, attack, **more)
    return found[:n_targets], (time.process_time() - started) / n_targets


def two_choices(scores, member, fpr, *, strong, weak, plain, delta=0.05, rng=None):
    """What changes a true-positive rate more, another attack or another recipe.

    Parameters
    ----------
    scores : dict of str to dict of str to array (S, n)
        By recipe, then by attack: scores of the same records under the same masks.
    member : bool array (S, n)
    fpr : float
        In (0, 1).
    strong, weak : str
        Two attacks. One that was chosen because it scored high, and one because it scored low,
        raise "attack" and "both"; the intervals do not allow for that choice.
    plain : str
        The recipe without a defence.
    delta : float
        Probability that one interval misses, each by itself.
    rng : numpy.random.Generator, optional
        None means fresh entropy. All ratios are given the same resamples.

    Returns
    -------
    pandas.DataFrame
        A row for each recipe. "attack": TPR of the strong attack over that of the weak one, on this
        recipe. "recipe": TPR of the strong attack on the plain recipe over that on this one. "both"
        (all three `Estimate`): TPR of the strong attack on this recipe over that of the weak attack
        on the plain one. Above 1, exchanging the attack on the plain recipe lowers the rate by more
        than exchanging the recipe under the strong attack does. "moves more" (str): by
        `compare.verdict`, "the attack" where the interval of "both" lies above 1, "the recipe"
        where it lies below 1, else "undecided".

    Raises
    ------
    ValueError
        An attack or a recipe that is not there; as `tpr_ratio`.

    Notes
    -----
    Both exchanges start from the strong attack on the plain recipe, so the quotient of their ratios
    is "both", and one interval decides. Every recipe is shown: which of the two moves more depends
    on which recipes are asked about. The rows share the weak attack's rate on the plain recipe, so
    they are not independent. A verdict on attacks in general needs `strong`, `weak` and `plain`
    that were named before any score was seen; book/which_attack.ipynb chose its three afterwards.
    Ours. Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 500)) < 0.5
    >>> x, y = rng.normal(size=(2, 4, 500))
    >>> scores = {"plain": {"good": x + 2 * member, "poor": x}, "safe": {"good": y, "poor": y}}
    >>> found = two_choices(scores, member, 0.1, strong="good", weak="poor", plain="plain", rng=rng)
    >>> found["moves more"].tolist()
    ['the attack', 'undecided']
    """
    for name, each in scores.items():
        for attack in (strong, weak):
            if attack not in each:
                checks.fail("scores", f"{name!r} without {attack!r}", "all attacks on all recipes")
    checks.choice("plain", plain, tuple(scores))
    _, member = checked({name: each[strong] for name, each in scores.items()}, member)
    seed = int(checks.generator(rng).integers(2**63))

    def ratio(ours, theirs):
        return tpr_ratio(ours, theirs, member, fpr, delta=delta, rng=np.random.default_rng(seed))

    rows = {}
    for name, each in scores.items():
        both = ratio(each[strong], scores[plain][weak])
        rows[name] = {
            "attack": ratio(each[strong], each[weak]),
            "recipe": ratio(scores[plain][strong], each[strong]),
            "both": both,
            "moves more": _moves_more(both),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _moves_more(both):
    sure = (side for side, region in SIDES.items() if verdict(both, region) == "confirmed")
    return next(sure, UNDECIDED)
