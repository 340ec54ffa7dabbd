"""The loss beside its record's log-normaliser, the smallest family made with reference models."""

import numpy as np

from mia_lib.attacks import shadow_models


def base(target, shadow, shadow_member, *, offline=False):
    """Log-probability minus the logarithm of its record's mean probability over reference models.

    BASE of Lassila et al. 2025: ``log p_y - log mean_k p_y(k)``, k running over the reference
    models. It is the log-likelihood ratio of an exponential family whose log-normaliser belongs to
    the record: of its two sides only that one number is estimated.

    Parameters
    ----------
    target : array (n,)
        log p_y of the target model in nats, at most 0: `attacks.loss`.
    shadow : array (S, n)
        The same of S reference models, the target not among them.
    shadow_member : bool array (S, n)
        True where example i trained reference model s.
    offline : bool
        False: the mean is over all reference models, of which some trained on the example and some
        did not. True: over OUT models alone.

    Returns
    -------
    float64 array (n,)
        In nats. Larger means more likely a member.

    Raises
    ------
    ValueError
        Wrong shapes, a positive log-probability, an example without a model on a side that is used,
        a target that is among the reference models.

    Notes
    -----
    Within one target this is the order of `rmia` at gamma = 1 with the same reference models (as
    many IN as OUT; offline its ``slope=1``). Proof: exp(score) is then RMIA's ratio r, and RMIA's
    score of x counts the other examples z with r(z) <= r(x). If r(y) < r(x), every z that y beats
    is beaten by x as well, and x beats y in addition, while y does not beat x: x has the larger
    count. If r(y) = r(x), both counts are the same. Between targets the orders differ, because
    RMIA's count puts every target on one scale. Taught in book/one_family.ipynb.

    Examples
    --------
    >>> log_p = np.log([0.9, 0.5])
    >>> base(log_p, np.log([[0.9, 0.4], [0.3, 0.6]]), np.array([[True] * 2, [False] * 2])).round(3)
    array([0.405, 0.   ])
    """
    sides = ("OUT",) if offline else ("IN", "OUT")
    target, shadow, member = shadow_models.one_target(target, shadow, shadow_member, sides)
    target = shadow_models.log_probabilities("target", target)
    probability = np.exp(shadow_models.log_probabilities("shadow", shadow))
    means, n_in = shadow_models.means(probability, member), member.sum(axis=0)
    return target - np.log(_mean(means, n_in, len(member) - n_in, offline))


def _every_target(signals, member, *, offline=False):
    signals = shadow_models.log_probabilities("signals", shadow_models.one_query(signals))
    means, n_in = shadow_models.means_without_each(np.exp(signals), member), member.sum(axis=0)
    # Either side is one model short: of its own the target, of the other the lowest-numbered.
    return signals - np.log(_mean(means, n_in - 1, len(member) - n_in - 1, offline))


base.every_target = _every_target


def _mean(means, n_in, n_out, offline):
    """Mean over the models that are read, from the means of both sides and their numbers."""
    inside, outside = means
    return outside if offline else (n_in * inside + n_out * outside) / (n_in + n_out)
