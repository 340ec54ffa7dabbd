"""Which choice moves a result more: that of the attack, or that of how the model was trained.

Both are asked on the same records and masks, so that what makes a record hard cancels. The page
that ranks attacks (book/which_attack.ipynb) names the strong attack, the weak one and the recipe
without a defence beforehand: ratios of the best to the worst after the fact would flatter both.
"""

import time

import numpy as np
import pandas as pd

from mia_lib import checks, lira
from mia_lib.compare.protocol import checked
from mia_lib.compare.ratio import tpr_ratio

ATTACK, RECIPE, UNDECIDED = "the attack", "the recipe", "undecided"
ROOM = 1.3  # of a letter's height, between the middles of two names beside an axis


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
        Two attacks, named before any score is seen.
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
        than exchanging the recipe under the strong attack does. "moves more" (str): "the attack"
        where the interval of "both" lies above 1, "the recipe" where it lies below, else
        "undecided".

    Raises
    ------
    ValueError
        An attack or a recipe that is not there; as `tpr_ratio`.

    Notes
    -----
    Both exchanges start from the strong attack on the plain recipe, so the quotient of their ratios
    is "both", and one interval decides. Every recipe is shown: which of the two moves more depends
    on which recipes are asked about. Ours.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random((4, 500)) < 0.5
    >>> x = rng.normal(size=(4, 500))
    >>> scores = {"plain": {"good": x + 2 * member, "poor": x}, "safe": {"good": x, "poor": x}}
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
            "moves more": ATTACK if both.low > 1 else RECIPE if both.high < 1 else UNDECIDED,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def names_beside(ax, x, y, names, *, colors=None, size=8):
    """Write names at the right of a picture, each joined to its point, none on another.

    Parameters
    ----------
    ax : matplotlib axes
        Its limits and scales are to be set before.
    x, y : sequences of k numbers
        The points.
    names : sequence of k str
    colors : sequence of k colours, optional
        None: the colour of the text.
    size : float
        Of the letters, in points.

    Returns
    -------
    list of matplotlib.text.Annotation
        As the names were given.

    Raises
    ------
    ValueError
        Not as many names as points.

    Notes
    -----
    The heights are those that move the names least in the sense of squares (isotonic regression),
    in the order of the points. In place of a legend, which makes the reader look to and fro.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> _ = ax.set(xlim=(0, 1), ylim=(0, 1))
    >>> low, high = names_beside(ax, [0.5, 0.5], [0.5, 0.5], ["a", "b"])
    >>> bool(low.xyann[1] < 0.5 < high.xyann[1])
    True
    """
    x, y = (checks.real_array(name, values, 1) for name, values in (("x", x), ("y", y)))
    if not len(x) == len(y) == len(names):
        given = f"{len(names)} names, {len(x)} and {len(y)} numbers"
        checks.fail("names", given, "as many as there are points")
    colors = [None] * len(names) if colors is None else colors
    to_axes = ax.transScale + ax.transLimits
    height = to_axes.transform(np.column_stack([x, y]))[:, 1]
    points = 72 * ax.get_position().height * ax.figure.get_size_inches()[1]
    found = []
    for place, name, color, at in zip(
        zip(x, y), names, colors, apart(height, ROOM * size / points)
    ):
        line = {"arrowstyle": "-", "linewidth": 0.6, "color": color or "grey", "shrinkB": 3}
        found.append(
            ax.annotate(
                name,
                place,
                (1.03, at),
                textcoords="axes fraction",
                va="center",
                fontsize=size,
                color=color,
                annotation_clip=False,
                arrowprops=line,
            )
        )
    return found


def apart(heights, gap):
    """Heights that are moved as little as it takes to lie a gap apart, in the same order.

    Parameters
    ----------
    heights : array (k,)
    gap : float

    Returns
    -------
    float64 array (k,)
        The least squares of the moves; equal heights keep the order in which they came.

    Examples
    --------
    >>> apart(np.array([1.0, 1.0, 5.0]), 0.5).tolist()
    [0.75, 1.25, 5.0]
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(order))
    blocks = []  # of means that do not fall: sum and count
    for height in heights[order] - steps:
        blocks.append([float(height), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = [total / count for total, count in blocks for _ in range(count)]
    found = np.empty(len(order))
    found[order] = np.array(level) + steps
    return found
