"""Every model in turn as the target, with the others as its shadow models: all fits from one pass
over the signals.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks, model_checks
from mia_lib.lira import blocks, choices, gaussian, posterior, student

SIDES = ("IN", "OUT")


def leave_one_out(signals, member, attack=gaussian.online, **options):
    """Scores of all S models, each in turn the target of an attack whose shadow models are the
    others.

    An example with k IN and S - k OUT models leaves an IN target with k - 1 and S - k of them, an
    OUT target with k and S - k - 1. That difference alone gives membership away, even if the
    signals carry nothing. Here every target is scored with k - 1 IN and S - k - 1 OUT models: of
    the group that the target does not belong to, the lowest-numbered model is left out.

    Parameters
    ----------
    signals : array (S, n) or (S, n, Q)
        One signal for each model, example and query; finite. A memory map is read in blocks.
    member : bool array (S, n)
        True where example i trained model s.
    attack : entry of attacks.CATALOGUE, or callable
        An entry brings its own settings and scores all targets at once. So do `online`, `offline`
        and most attacks of `mia_lib.attacks`. Any other function ``attack(target, shadow,
        shadow_member, **options)`` that returns (n,) scores is called S times, with the S - 2
        models that remain for each example; which models those are differs from example to example,
        so a row of its ``shadow`` is not one model throughout. A function can bring its own form
        for all targets, ``attack.every_target(signals, member, **options)``, which has to equalise
        as described, and ``attack.needs``, the sides that it reads: "IN", "OUT" or both, which is
        what is assumed without it.
    **options
        Passed to the attack. They go before the settings of an entry.

    Returns
    -------
    array (S, n), float64
        The attack's scores, larger meaning more likely a member. Compare with `member`.

    Raises
    ------
    ValueError
        As for the attack; an example that leaves fewer than two models on a side that the attack
        uses; a model that is a copy of another.
    TypeError
        For an option that the attack does not have.

    Notes
    -----
    Beyond the result, the memory needed does not grow with the number of examples.

    If the signals carry nothing, targets of different examples are ranked by chance: pooled over n
    examples the expected AUC is 1/2 up to a term of order 1/n, where every example has equally many
    IN models, as those of `shadow.half_masks` have. With masks by coins, IN targets come more often
    from examples with many IN models, whose scores have another scale: for 16 models the AUC of
    nothing is up to 0.52. The term of order 1/n comes from targets of one and the same example,
    which take part in each other's fits. Among these alone the AUC of `online` is about 0.45, so
    pool the scores before they are judged, rather than averaging over examples. An attack that
    another model teaches ("shadow") has that model's masks: with exact halves it holds a record a
    little less often if the target does, so that few models show less than there is (of nothing an
    AUC of .43 to .49 for 4 models, .49 to .50 for 16). Taught in book/lira.ipynb.

    Examples
    --------
    >>> member = np.arange(8)[:, None] % 2 == np.zeros((1, 3), int)
    >>> leave_one_out(np.random.default_rng(0).normal(size=(8, 3)), member).shape
    (8, 3)
    """
    if not callable(attack) and not hasattr(attack, "every_target"):
        checks.fail(
            "attack",
            repr(attack),
            "lira.online, lira.offline or another function of the same arguments",
        )
    signals, member = model_checks.signals("signals", signals, (2, 3)), np.asarray(member)
    member = checks.boolean_array("member", member, shape=signals.shape[:2])
    needs = getattr(attack, "needs", SIDES)
    sides = [side for side in SIDES if side in needs]
    # A group of three is two once its target, or its lowest-numbered model, has left.
    model_checks.counts("member", member, 3, sides, "three models (two once one is left out)")
    # Models that nobody compares may well agree: two that are always right, say.
    if "shadow" in needs and len(member) < 2:
        checks.fail("signals", "one model", "at least two, of which another one teaches the attack")
    if sides or "shadow" in needs:
        model_checks.refuse_twins(signals.reshape(*member.shape, -1))
    if not hasattr(attack, "every_target"):
        return _score_each(signals, member, attack, options)
    result = attack.every_target(signals, member, **{**getattr(attack, "options", {}), **options})
    return checks.real_array("attack's scores", result, shape=member.shape)


def _online_every_target(signals, member, **options):
    return _likelihood_ratios("online", choices.ONLINE, signals, member, options)


def _offline_every_target(signals, member, **options):
    return _likelihood_ratios("offline", choices.OFFLINE, signals, member, options)


gaussian.online.every_target = _online_every_target
gaussian.offline.every_target = _offline_every_target
gaussian.offline.needs = choices.OFFLINE


def _likelihood_ratios(name, sides, signals, member, options):
    """Scores (S, n) of `online` or `offline`, whose models these are."""
    names = (*choices.names_of(sides), "priors")
    priors = options.pop("priors", None)
    for option in options:
        if option not in names:
            raise TypeError(
                f"{option}: given an option that {name} lacks, expected {', '.join(names)}"
            )
    signals, options = signals.reshape(*member.shape, -1), choices.checked(sides, **options)
    if options.variance == "bayesian" or priors is not None:
        priors = posterior.checked(priors, *signals.shape[1:], options)
        return _score_bayesian(signals, member, options, priors)
    return _score_all(signals, member, options)


def _score_each(signals, member, attack, options):
    """Leave-one-out for any attack: one call for each target, with the equalised models of each
    example.
    """
    model_checks.bounded("signals", signals)
    n_models, n = member.shape
    first_in, first_out = member.argmax(axis=0), (~member).argmax(axis=0)
    scores = np.empty((n_models, n))
    for s in range(n_models):
        left_out = np.zeros((n_models, n), dtype=bool)
        left_out[s] = left_out[np.where(member[s], first_out, first_in), np.arange(n)] = True
        rows = np.argsort(left_out, axis=0, kind="stable")[:-2]
        shadow = np.take_along_axis(
            signals, rows.reshape(*rows.shape, *[1] * (signals.ndim - 2)), axis=0
        )
        result = attack(signals[s], shadow, np.take_along_axis(member, rows, axis=0), **options)
        scores[s] = checks.real_array("attack's scores", result, shape=(n,))
    return scores


def _score_all(signals, member, options):
    """Leave-one-out for `online` and `offline`, all targets in one pass over the examples (two for
    global spreads).
    """
    levels = _global_variances(signals, member, options) if options.variance == "global" else None
    scores, near_floor = _score_pass(signals, member, options, levels)
    if levels is None and near_floor:
        # The floor depends on the target and takes a pass of its own, which is only needed if some
        # spread comes near it.
        levels = _global_variances(signals, member, options)
        scores, _ = _score_pass(signals, member, options, levels)
    return scores


def _score_pass(signals, member, options, levels):
    """Scores (S, n), and whether a floor could have mattered; `levels` are each target's global
    variances, {side: (1 or Q, S)}, or None.
    """
    scores = np.empty(member.shape[::-1])  # one example in a line, as they are made
    seen = {side: [] for side in options.sides}
    for rows, models, values in blocks.blocks("signals", signals, member):
        fits = {side: _fits_without_each(values[side], options) for side in options.sides}
        for side, fit in fits.items():
            seen[side].append((fit.variances.min(), fit.squares, len(rows) * fit.n_left))
        for own in SIDES:  # that the targets belong to
            gaussians = {}
            for side, fit in fits.items():
                level = None if levels is None else levels[side]
                given = fit[:2] if side == own else _without_first(fit)
                gaussians[side] = given[0], _variances(given[1], level, models[own], options)
            found = gaussian.likelihood_ratio(values[own], gaussians, options)
            scores[rows[:, None], models[own]] = _settled(found)
    return scores.T, any(_near_floor(*zip(*of_blocks)) for of_blocks in seen.values())


def _score_bayesian(signals, member, options, priors):
    """Scores (S, n) under posterior predictive laws, in two passes: priors of each target, then
    scores. Priors that were handed in are all targets'.
    """
    lines = _priors_without_each(signals, member, options) if priors is None else None
    scores = np.empty(member.shape[::-1])
    for rows, models, values, own, seen in _seen_without_each(signals, member, options):

        def place(table, targets=models[own]):
            return table.take(targets, axis=1).swapaxes(0, 1) if table.shape[1] > 1 else table

        laws = {}
        for side in options.sides:
            if lines is None:
                location, *parameters = priors[side]
                location = location[rows][..., None]
            else:
                line, other = lines[side], posterior.other_side(seen, side)
                location, parameters = place(line.intercept), line[2:]
                if other is not None:
                    location = location + place(line.slope) * other.means
            laws[side] = posterior.students(seen[side], location, *parameters, place)
        scores[rows[:, None], models[own]] = _settled(student.ratio(values[own], laws, options))
    return scores.T


def _settled(scores):
    """Scores to 36 bits. What a target leaves is summed in another order on its own side than on
    the other, and where signals have few values the last bits would order equal scores by
    membership.
    """
    mantissa, exponent = np.frexp(scores)
    return np.ldexp(np.round(mantissa * 2.0**36) / 2.0**36, exponent)


def _priors_without_each(signals, member, options):
    """{side: posterior.Line} of each target, from the models that every example leaves it."""
    n_models, n, n_queries = signals.shape
    shift = signals[0].mean(axis=0, dtype=np.float64)[None, :, None]
    sums = {side: {} for side in options.sides}
    for rows, models, _, own, seen in _seen_without_each(signals, member, options):
        targets = models[own]
        taken = np.zeros((len(rows), n_models))
        taken[np.arange(len(rows))[:, None], targets] = 1.0
        for side in options.sides:
            terms = posterior.contributions(seen[side], posterior.other_side(seen, side), shift)
            for name, term in terms.items():
                total = sums[side].setdefault(name, np.zeros((term.shape[1], n_models)))
                if term.shape[2] == 1:  # the same for all targets of an example
                    total += term[..., 0].T @ taken
                    continue
                for q, row in enumerate(total):
                    row += np.bincount(targets.ravel(), term[:, q].ravel(), n_models)
    return {side: posterior.estimated(sums[side], n, shift) for side in options.sides}


def _seen_without_each(signals, member, options):
    """Yield (rows, models, values, own, {side: posterior.Seen}) for the targets of a side, own."""
    for rows, models, values in blocks.blocks("signals", signals, member):
        fits = {side: _fits_without_each(values[side], options) for side in options.sides}
        shared = signals.shape[2] if options.shares_spread else 1
        for own in SIDES:
            seen = {}
            for side, fit in fits.items():
                centers, variances = fit[:2] if side == own else _without_first(fit)
                seen[side] = posterior.Seen(centers, variances * (fit.n_left * shared), fit.n_left)
            yield rows, models, values, own, seen


class _Fits(NamedTuple):
    """A group's Gaussians after each of its models in turn has left."""

    centers: np.ndarray  # (b, Q, c)
    variances: np.ndarray  # (b, Q or 1, c)
    squares: float  # of the whole group about its means, summed
    n_left: int  # models of an example


def _fits_without_each(values, options):
    """The `_Fits` of a group (b, Q, c)."""
    centers, squares, _, total = _without_each(values, options.center)
    n_left = values.shape[-1] - 1
    squares /= n_left
    if options.shares_spread and squares.shape[1] > 1:
        squares = squares.mean(axis=1, keepdims=True)
    return _Fits(centers, squares, total.sum(), n_left)


def _without_first(fit):
    """The group that the target is not in loses its lowest-numbered model, which comes first, so
    that all targets are compared with equally many.
    """
    return fit.centers[..., :1], fit.variances[..., :1]


def _near_floor(smallest, totals, counts):
    """Whether a variance of a side comes near a floor, by its blocks' smallest variances, sums of
    squares and numbers of values.

    Squares about a median are at most twice those about the mean, and leaving a model out lowers
    the latter: no target's global variance is larger than the bound.
    """
    bound = 2 * sum(totals) / max(sum(counts), 1)
    return bool(min(smallest) <= gaussian.FLOOR * bound)


def _variances(variances, level, targets, options):
    """What targets (b, c) are scored with: their own variances, kept above a floor, or the global
    ones of their models.
    """
    if level is None:
        return np.maximum(variances, gaussian.TINY)
    level = level.take(targets, axis=1).swapaxes(0, 1)
    if options.variance == "global":
        return np.maximum(level, gaussian.TINY)
    return gaussian.floored(variances, level)


def _global_variances(signals, member, options):
    """{side: (1 or Q, S)}: mean square residual about the centers, over what each target leaves."""
    n_models, _, n_queries = signals.shape
    shape = 1 if options.shares_spread else n_queries, n_models
    totals = {side: np.zeros(shape) for side in options.sides}
    counts = dict.fromkeys(options.sides, 0)
    for rows, models, values in blocks.blocks("signals", signals, member):
        for side in options.sides:
            n_left = values[side].shape[-1] - 1
            counts[side] += len(rows) * n_left
            residuals = _residuals_without_each(values[side], n_left, options)
            (other,) = set(SIDES) - {side}
            for q, total in enumerate(totals[side]):
                # A target of this side leaves its own residuals, any other the first model's.
                total += np.bincount(models[side].ravel(), residuals[:, q].ravel(), n_models)
                first = np.repeat(residuals[:, q, 0], models[other].shape[1])
                total += np.bincount(models[other].ravel(), first, n_models)
    return {side: totals[side] / max(counts[side], 1) for side in options.sides}


def _residuals_without_each(values, n_left, options):
    """Squares about the centers, (b, Q or 1, c), of a group that each of its models leaves."""
    centers, squares, means, _ = _without_each(values, options.center)
    if options.center == "median":
        squares += n_left * (centers - means) ** 2
    return squares.mean(axis=1, keepdims=True) if options.shares_spread else squares


def _without_each(values, center):
    """Fits of a group (b, Q, c) after each of its models in turn has left.

    Returns centers, squares about the means, and means, each (b, Q, c), and the whole group's
    squares (b, Q).
    """
    n_left = values.shape[-1] - 1
    first = values[..., :1]
    shifted = values - first
    offset = shifted.mean(axis=-1, keepdims=True)
    shifted -= offset
    squares = shifted * shifted
    total = squares.sum(axis=-1)
    # Without x, at distance d from the mean, the mean moves by d / (c - 1) and the squares lose d^2
    # c / (c - 1).
    squares *= -(n_left + 1) / n_left
    squares += total[..., None]
    means = shifted
    means *= -1 / n_left
    means += first + offset
    # That difference has lost its digits where one model makes up nearly all of the sum. Only one
    # model of a group can do so: fit the others directly.
    fragile = np.nonzero(squares.min(axis=-1) <= 1e-3 * total)
    if fragile[0].size:
        outlier = squares[fragile].argmin(axis=-1)
        others = np.arange(n_left) + (np.arange(n_left) >= outlier[:, None])
        rest = np.take_along_axis(values[fragile], others, axis=-1)
        means[*fragile, outlier], squares[*fragile, outlier] = gaussian.fit(
            rest, np.ones(rest.shape, dtype=bool)
        )
    return (means if center == "mean" else _medians_without_each(values)), squares, means, total


def _medians_without_each(values):
    """Median of what is left of a group (b, Q, c) after each of its models in turn has left, from
    one sort.
    """
    n_group = values.shape[-1]
    ordered = np.sort(values, axis=-1)
    middle = (n_group - 1) // 2
    low, pivot, high = (ordered[..., middle + step, None] for step in (-1, 0, 1))
    if n_group % 2 == 0:
        return np.where(values > pivot, pivot, high)
    return np.where(
        values < pivot,
        (pivot + high) / 2,
        np.where(values > pivot, (low + pivot) / 2, (low + high) / 2),
    )
