"""Robust membership inference: the example against other examples, each against the reference
models' average.
"""

import numpy as np

from mia_lib import checks
from mia_lib.attacks import shadow_models

# The one value of gamma in this project, chosen on worlds that judge nothing else: on five fresh
# synthetic mixtures no larger value finds more at a false-positive rate of 1 %, and 2 finds less
# (notebooks/results/attack_settings--synthetic-purchase--seeds.json).
GAMMA = 1.0


def rmia(target, shadow, shadow_member, *, gamma=GAMMA, slope=None):
    """Share of the other examples that this one beats by a factor of gamma.

    Zarifzadeh et al. 2024: the ratio of an example is p(x | model) / p(x), where p(x) averages over
    reference models; the score counts the examples z with ratio(x) >= gamma ratio(z). Assumes a
    confidence, reference models, as few as one of them OUT if `slope` is given, and that the other
    examples are a sample of the population. Here these are all other examples of the call, of which
    some are members.

    Parameters
    ----------
    target : array (n,)
        log p_y of the target model in nats, at most 0: `attacks.loss`. n is at least 2.
    shadow : array (S, n)
        The same of S reference models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained reference model s.
    gamma : float
        At least 1. The larger it is, the more examples are tied, most of all at a score of 0.
    slope : float, optional
        a in [0, 1]. None is online: p(x) is the mean of the IN average and the OUT average. A
        number is offline: OUT models only, with ((1 + a) p_out + 1 - a) / 2 in place of that mean.

    Returns
    -------
    float64 array (n,)
        In [0, 1], in steps of 1 / (n - 1). Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, fewer than two examples, a positive log-probability, an example without a
        model on a side that is used, gamma or slope out of range, a target that is among the
        reference models.

    Notes
    -----
    Within one target the order is that of the ratio alone, ties apart; what the other examples add
    is a scale that all targets share. Taught in book/lira.ipynb.

    Examples
    --------
    >>> log_p = np.log([0.9, 0.5, 0.5])
    >>> rmia(log_p, np.log([[0.9, 0.4, 0.5], [0.3, 0.5, 0.5]]), np.array([[True] * 3, [False] * 3]),
    ...     gamma=1.2)
    array([1., 0., 0.])
    """
    gamma, slope = _options(gamma, slope)
    target, shadow, member = shadow_models.one_target(
        target, shadow, shadow_member, ("OUT",) if slope is not None else ("IN", "OUT")
    )
    target, shadow = _log_probabilities("target", target), _log_probabilities("shadow", shadow)
    average = _average(shadow_models.means(np.exp(shadow), member), slope)
    return _beaten(target - np.log(average), gamma)


def _every_target(signals, member, gamma=GAMMA, slope=None):
    gamma, slope = _options(gamma, slope)
    signals = _log_probabilities("signals", shadow_models.one_query(signals))
    means = shadow_models.means_without_each(np.exp(signals), member)
    ratios = signals - np.log(_average(means, slope))
    return np.stack([_beaten(row, gamma) for row in ratios])


rmia.every_target = _every_target


def _options(gamma, slope):
    gamma = checks.number("gamma", gamma, 1)
    return gamma, slope if slope is None else checks.number("slope", slope, 0, high=1)


def _log_probabilities(name, values):
    found = shadow_models.log_probabilities(name, values)
    if values.shape[-1] < 2:
        checks.fail(name, "one example", "at least two, to compare with each other")
    return found


def _average(means, slope):
    inside, outside = means
    return (inside + outside) / 2 if slope is None else ((1 + slope) * outside + 1 - slope) / 2


def _beaten(ratio, gamma):
    beaten = ratio - np.log(gamma)
    if gamma > 1:  # then nobody beats itself, also where rounding loses a small log gamma
        beaten = np.minimum(beaten, np.nextafter(ratio, -np.inf))
    # At gamma = 1 an example equals itself.
    count = np.searchsorted(np.sort(ratio), beaten, "right") - (gamma == 1)
    return count / (len(ratio) - 1)
